//! Real data: what a crowd can be asked, and what comes back. This is the story to read first.

mod answers;

use std::path::Path;

use anyhow::{Result, ensure};

use super::conclusion::beside_a_trusted_party;
use super::lab::people;
use super::{Figure, Image, Lab, Row, Section};
use answers::Answers;
use throng_analyze::{log_spaced, ranks};
use throng_plot::plot::{Plot, Series, Style};
use throng_plot::rank_plot::rank_plot;
use throng_simulate::dataset::{Dataset, Records};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    let mut section = Section {
        name: "real-data",
        title: "What four crowds said".into(),
        text: vec![introduction()],
        rows: vec![],
        figures: vec![],
        seconds: 0.0,
    };
    for question in QUESTIONS {
        match question.load(lab.data.as_deref())? {
            Some(full) => question.ask(lab, &full, &mut section)?,
            None => section.text.push(question.missing(lab.data.as_deref())),
        }
    }
    Ok(section)
}

fn introduction() -> String {
    format!(
        "Everyone below holds one value of a long list: a route, a name, a word, a degree. Each of them writes down one bit \
         per value, a one for their own, flips every bit by chance, and sends the ones that are left through three \
         shufflers. Nobody learns who sent what, and no single shuffler has to be trusted; only the sums mean something. \
         epsilon_central says how much a release may tell about any one person: {} is a common promise, {} a very strong \
         one (delta is {DELTA:e}). A value stands out if its estimate is higher than chance alone makes that of any value that nobody \
         holds, with 95 % confidence over the whole list.",
        CENTRAL[0], CENTRAL[1]
    )
}

/// A crowd and what it is asked.
struct Question {
    name: &'static str,
    title: &'static str,
    source: Source,
    /// One who answers, all of them, and what they hold.
    who: &'static str,
    everyone: &'static str,
    what: &'static str,
    /// How many of the most frequent values have to be found at the weaker promise: all, unless some are too close.
    top_found_min: usize,
}

enum Source {
    Flights,
    Census(&'static str),
    /// A file that the user may have, and how many respondents are simulated at most.
    File(&'static str, u64),
}

impl Question {
    fn load(&self, folder: Option<&Path>) -> Result<Option<Dataset>> {
        match self.source {
            Source::Flights => Dataset::built_in("flights").map(Some),
            Source::Census(column) => {
                let records = Records::census()?;
                let at = records.names().iter().position(|name| name == column);
                ensure!(at.is_some(), "the census has no column {column}");
                Ok(at.map(|at| records.attribute(at)))
            }
            Source::File(name, _) => {
                let path = folder.map(|folder| folder.join(name)).filter(|path| path.is_file());
                path.map(|path| Dataset::open_csv(&path, None)).transpose()
            }
        }
    }

    fn missing(&self, folder: Option<&Path>) -> String {
        let Source::File(name, _) = self.source else { return String::new() };
        let why = match folder {
            None => "no folder with data was named (--data)".to_owned(),
            Some(_) => format!("the folder that was named has no file {name}"),
        };
        format!("{}: not measured, because {why}.", self.title)
    }

    fn respondents_max(&self) -> u64 {
        match self.source {
            Source::File(_, respondents_max) => respondents_max,
            Source::Flights | Source::Census(_) => u64::MAX,
        }
    }

    fn ask(&self, lab: &Lab, full: &Dataset, section: &mut Section) -> Result<()> {
        let data = &full.scaled_down(self.respondents_max())?;
        let mut all = Vec::new();
        for central in CENTRAL {
            lab.say(format!("{} at epsilon_central {central}", self.title));
            all.push(Answers::collect(lab, data, central, DELTA)?);
        }
        section.text.push(self.text(data, full.respondents(), &all));
        for answers in &all {
            section.rows.extend(self.rows(data, answers));
        }
        let weak = &all[0];
        let title = format!("{}: {} {}", self.title, people(data.respondents() as f64), self.everyone);
        let mut plot = rank_plot(title, data.counts(), &weak.estimates, weak.threshold);
        plot.series[0].name = format!("epsilon_central {}", weak.central);
        plot.series[3].name = noise_ends(weak);
        self.add_strong(&mut plot, data, &all[1]);
        section.figures.push(Figure {
            name: format!("real-data-{}", self.name),
            caption: format!(
                "Every {} by how many hold it. Dots are estimates, the line is the truth; below the dashed lines, estimates \
                 are noise.",
                self.what
            ),
            image: Image::Plot(plot),
        });
        Ok(())
    }

    /// The estimates under the stronger promise, below the others.
    fn add_strong(&self, plot: &mut Plot, data: &Dataset, strong: &Answers) {
        let by_rank = ranks(data.counts());
        let points = log_spaced(by_rank.len())
            .map(|rank| ((rank + 1) as f64, strong.estimates.counts()[by_rank[rank]]))
            .collect();
        let name = format!("epsilon_central {}", strong.central);
        plot.series.insert(0, Series { name, points, style: Style::Points });
        let last = by_rank.len().max(2) as f64;
        plot.series.push(Series {
            name: noise_ends(strong),
            points: vec![(1.0, strong.threshold), (last, strong.threshold)],
            style: Style::Dashed,
        });
        // One line of noise for each promise is enough: where it ends.
        plot.series.retain(|series| !series.name.starts_with("noise floor"));
    }

    fn text(&self, data: &Dataset, counted: u64, all: &[Answers]) -> String {
        let mut text = format!(
            "{}: {} {}, {} {}s.",
            self.title,
            people(data.respondents() as f64),
            self.everyone,
            people(data.domain() as f64),
            self.what
        );
        if counted > data.respondents() {
            let counted = people(counted as f64);
            text += &format!(
                " (The file counts {counted}; they are scaled down in proportion, so that rare ones are gone.)"
            );
        }
        for answers in all {
            text += &format!(
                " At epsilon_central {}, {} {}s stand out, and {:.1} % of all hold one of them; a count is off by {:.1} on \
                 average.",
                answers.central,
                people(answers.standing_out() as f64),
                self.what,
                100.0 * answers.covered(data),
                answers.rmse,
            );
        }
        let weak = &all[0];
        let top: Vec<String> = weak
            .top(TOP)
            .into_iter()
            .map(|value| {
                let (estimate, truth) = (weak.estimates.counts()[value], data.counts()[value]);
                format!("{}: {} ({})", data.label(value), people(estimate), people(truth as f64))
            })
            .collect();
        text + &format!(
            " The first {} at epsilon_central {}, with the truth in brackets: {}. Each {} sends {:.1} fragments on average, and \
             {} bytes always, so that sizes tell nothing.",
            top.len(),
            weak.central,
            top.join(", "),
            self.who,
            weak.fragments,
            people(weak.bytes as f64),
        )
    }

    fn rows(&self, data: &Dataset, answers: &Answers) -> Vec<Row> {
        let row = |what: &str, holds: bool, statement: &str, value: f64| {
            let cell = format!("{}, epsilon_central {}: {what}", self.name, answers.central);
            Row::order("real-data", cell, holds, statement).throng(value)
        };
        let held = data.counts().iter().filter(|&&count| count > 0).count();
        let found = answers.top_found(data, TOP);
        let found_min = if answers.central == CENTRAL[0] { self.top_found_min } else { 0 };
        // There are 16 degrees only, whose mean error varies by a fifth.
        let tolerance = 0.05 + 2.0 / (data.domain() as f64).sqrt();
        vec![
            row(
                "RMSE",
                answers.expected > answers.sigma,
                beside_a_trusted_party([answers.rmse, answers.gaussian], [answers.expected, answers.sigma]),
                answers.rmse,
            )
            .theory(answers.rmse, answers.expected, tolerance)
            .gaussian(answers.gaussian),
            row(
                "values that stand out",
                answers.wrong(data) == 0 && answers.standing_out() <= held,
                "none of them is one that nobody holds",
                answers.standing_out() as f64,
            ),
            row(
                "share of all who hold one of these, in %",
                answers.covered(data) > 0.5,
                "more than half",
                100.0 * answers.covered(data),
            ),
            row(
                &format!("of the {TOP} most frequent among the first {TOP}"),
                found >= found_min,
                &format!("at least {found_min}"),
                found as f64,
            ),
            row(
                "largest error",
                answers.largest_error <= answers.error_bound,
                "within the bound that holds for all values at once",
                answers.largest_error,
            ),
            row("fragments per respondent", answers.fragments < 10.0, "fewer than ten", answers.fragments),
            row("bytes per respondent", answers.bytes < 10_000, "below ten thousand", answers.bytes as f64),
        ]
    }
}

fn noise_ends(answers: &Answers) -> String {
    format!("noise of {} ends at {:.0}", answers.central, answers.threshold)
}

const QUESTIONS: [Question; 4] = [
    Question {
        name: "flights",
        title: "Flight routes",
        source: Source::Flights,
        who: "flight",
        everyone: "flights",
        what: "route",
        top_found_min: 9,
    },
    Question {
        name: "names",
        title: "First names",
        source: Source::File("us_first_names_1880_2016.csv.gz", u64::MAX),
        who: "person",
        everyone: "people",
        what: "name",
        top_found_min: TOP,
    },
    Question {
        name: "words",
        title: "English words",
        // One word each, not the hundreds of billions of occurrences in the file.
        source: Source::File("english_words_unigrams.csv.gz", 200_000_000),
        who: "writer",
        everyone: "writers",
        what: "word",
        top_found_min: TOP,
    },
    Question {
        name: "education",
        title: "Education in a census",
        source: Source::Census("Education"),
        who: "respondent",
        everyone: "respondents",
        what: "degree",
        top_found_min: 9,
    },
];
/// A common promise, and a strong one.
const CENTRAL: [f64; 2] = [1.0, 0.1];
const DELTA: f64 = 1e-10;
const TOP: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_missing_is_said_and_the_rest_is_measured() {
        let section = run(&Lab::for_tests(None)).unwrap();
        assert_eq!((section.figures.len(), section.text.len()), (2, 5));
        assert!(section.text.iter().filter(|text| text.contains("not measured")).count() == 2);
        for row in &section.rows {
            assert!(row.agrees, "{row:?}");
        }
        let flights = section.rows.iter().find(|row| row.cell.ends_with("1: values that stand out")).unwrap();
        assert!(flights.throng.unwrap() > 4000.0);
    }

    #[test]
    fn files_that_are_there_are_used() {
        let folder = tempfile::tempdir().unwrap();
        let names: String = (1..=400).map(|rank| format!("Name{rank},{}\n", 2_000_000 / rank)).collect();
        fs::write(folder.path().join("us_first_names_1880_2016.csv.gz"), format!("value,count\n{names}"))
            .unwrap();
        let section = run(&Lab::for_tests(Some(folder.path().into()))).unwrap();
        assert_eq!(section.figures.len(), 3);
        let texts = |part: &str| section.text.iter().filter(|text| text.contains(part)).count();
        assert_eq!((texts("not measured"), texts("no file english_words"), texts("Name1: ")), (1, 1, 1));
        for row in &section.rows {
            assert!(row.agrees, "{row:?}");
        }
    }
}
