//! Machine learning (the paper's Section VII.C): its table, curves and attack, its theorem, and what can be had beyond it.
//!
//! Each part says which trainings it needs, all of them are run, each once, and then each part writes its section. Finished
//! runs are kept in the directory for results, so that hours of work go on after a stop.

mod augmented_training;
mod baselines;
mod bench;
mod cifar;
mod convex;
mod cost;
mod curves;
mod drawn;
mod job;
mod membership;
mod paper;
mod pretrain;
mod recipes;
mod run_log;
mod source;
mod table;
mod targets;
mod tuning;

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};

use self::bench::{Bench, Results};
use self::job::Job;
use self::source::Place;
use super::lab::people;
use super::{Agreement, Lab, Row, Section};
use crate::learning::PublicPictures;
use throng_simulate::dataset::PictureSet;

throng_simulate::choices! {
    /// What is measured.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Part {
        /// Accuracy against privacy for three data sets (Table res)
        Table = "table",
        /// Accuracy against steps until it no longer rises (Figure MLResl)
        Curves = "curves",
        /// What losses tell about who was trained on (Table membership_inference)
        Membership = "membership",
        /// How fast a convex model is learned (Theorem learning); needs no data
        Convex = "convex",
        /// The same networks without privacy, and by a trusted party
        Baselines = "baselines",
        /// What can be had at epsilon_central 1
        Targets = "targets",
        /// CIFAR-10 without public data, and after --only pretrain with it
        Cifar = "cifar",
        /// Learning rates on held-out training examples; only if named
        Tuning = "tuning",
        /// Train a network on public pictures for CIFAR-10, and keep it in --out; only if named
        Pretrain = "pretrain",
    }
}

/// How thoroughly.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to measure; nothing means all that does not have to be named.
    pub only: Vec<Part>,
    /// How many runs each mean is over; if nobody says, as many as can be waited for.
    pub runs: Option<u64>,
    /// How many examples simulate a batch for the paper's network.
    pub examples: u64,
    /// A few steps on small drawn pictures, to see that everything works.
    pub quick: bool,
}

/// What all parts have to know.
#[derive(Clone, Debug)]
struct Scale {
    runs: u64,
    /// Runs of less than a minute.
    short_runs: u64,
    quick: bool,
    examples: u64,
    /// How many respondents are left for a network that was trained before, and on what it was.
    learned_respondents: u64,
    learned_from: Option<PublicPictures>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct LearningResults {
    /// One for each part.
    pub sections: Vec<Section>,
    /// How long all trainings took that it is made of, whenever they were run.
    pub training_seconds: f64,
}

/// The name on the command line.
pub const NAME: &str = "learning";
/// What it measures, in one line.
pub const ABOUT: &str = "training by LDP-SGD: table, curves, membership, convex case (hours; not in all)";

/// Measures some parts. `out` is where finished runs are kept.
pub fn run(lab: &Lab, options: &Options, out: Option<&Path>) -> Result<LearningResults> {
    ensure!(options.runs != Some(0), "no runs make no mean; give --runs 1 or more");
    ensure!(
        (1..=2_000).contains(&options.examples) && 2_000 % options.examples == 0,
        "{} examples cannot simulate a batch of 2,000; give --examples 500 or another divisor of 2,000",
        options.examples
    );
    let mut place =
        Place { data: lab.data.clone(), out: out.map(Path::to_owned), quick: options.quick, network: None };
    let mut sections = Vec::new();
    let parts = options.parts();
    if parts.contains(&Part::Pretrain) {
        let begun = Instant::now();
        let section = pretrain::section(lab, &place)?;
        sections.push(Section { seconds: begun.elapsed().as_secs_f64(), ..section });
    }
    place.find_network()?;
    let public = place.network.as_ref().map(|network| network.name.public);
    let scale = Scale {
        runs: options.runs(3),
        short_runs: options.runs(10),
        quick: options.quick,
        examples: options.examples,
        learned_respondents: public.map_or(50_000, PublicPictures::respondents_left),
        learned_from: public,
    };
    let jobs: Vec<Vec<Job>> = parts.iter().map(|part| part.jobs(&scale)).collect::<Result<_>>()?;
    let begun = Instant::now();
    let results = Bench::new(lab, &place)?.run(jobs.concat())?;
    let seconds = begun.elapsed().as_secs_f64();
    let measured = sections.len();
    for (part, jobs) in parts.into_iter().zip(jobs) {
        if let Some(mut section) = part.section(&scale, &results)? {
            section.text.extend(results.missing(&jobs));
            sections.push(section);
        }
    }
    // Parts share runs, so that none has a time of its own.
    let share = seconds / (sections.len() - measured).max(1) as f64;
    sections[measured..].iter_mut().for_each(|section| section.seconds = share);
    if options.quick {
        for section in &mut sections {
            section.text.insert(0, QUICK.into());
        }
    }
    Ok(LearningResults { sections, training_seconds: results.seconds() })
}

impl Options {
    fn runs(&self, default: u64) -> u64 {
        self.runs.unwrap_or(if self.quick { 2 } else { default })
    }

    fn parts(&self) -> Vec<Part> {
        let all = Part::ALL.iter().copied();
        match self.only.as_slice() {
            [] => all.filter(|part| !matches!(part, Part::Tuning | Part::Pretrain)).collect(),
            named => all.filter(|part| named.contains(part)).collect(),
        }
    }
}

impl Part {
    fn jobs(self, scale: &Scale) -> Result<Vec<Job>> {
        match self {
            Self::Table => table::jobs(scale),
            Self::Curves => curves::jobs(scale),
            Self::Membership => membership::jobs(scale),
            Self::Convex => convex::jobs(scale),
            Self::Baselines => baselines::jobs(scale),
            Self::Targets => targets::jobs(scale),
            Self::Cifar => cifar::jobs(scale),
            Self::Tuning => tuning::jobs(scale),
            Self::Pretrain => Ok(Vec::new()),
        }
    }

    fn section(self, scale: &Scale, results: &Results) -> Result<Option<Section>> {
        match self {
            Self::Table => table::section(scale, results).map(Some),
            Self::Curves => curves::section(scale, results).map(Some),
            Self::Membership => membership::section(scale, results).map(Some),
            Self::Convex => convex::section(scale, results).map(Some),
            Self::Baselines => baselines::section(scale, results).map(Some),
            Self::Targets => targets::section(scale, results).map(Some),
            Self::Cifar => cifar::section(scale, results).map(Some),
            Self::Tuning => tuning::section(scale, results).map(Some),
            Self::Pretrain => Ok(None),
        }
    }
}

impl Scale {
    /// What a set is called where CIFAR-10 is seen through learned features: with what they are learned from.
    fn title(&self, set: PictureSet) -> String {
        match (set, self.learned_from) {
            (PictureSet::Cifar10, Some(PublicPictures::StandIn)) => format!(
                "CIFAR-10 stand-in (features of data_batch_5, n = {})",
                people(self.learned_respondents as f64)
            ),
            (PictureSet::Cifar10, Some(PublicPictures::Cifar100)) => {
                "CIFAR-10 (features of CIFAR-100)".into()
            }
            (set, _) => paper::title(set).into(),
        }
    }

    /// Where settings come from.
    fn settings_from(&self) -> String {
        "Settings are the defaults of throng learn. Many equal those of a prototype that looked at test examples: tanh, clipping at \
         0.05, the averaging of models and most learning rates. Rates are scaled to other noise and other numbers of reports. The part \
         tuning tries half and twice the rates on training examples that were held out; tanh, clipping and averaging were not tried \
         again. Models are then trained on all training examples and judged on the test set."
            .into()
    }
}

/// An accuracy in % beside the paper's: the paper prints neither its steps nor its learning rate, so it should agree in scale.
fn accuracy(scale: &Scale, table: &'static str, cell: String, paper: f64, ours: f64) -> Row {
    Row {
        should_agree: Agreement::Scale,
        agrees: scale.quick || 100.0 - ours <= ERRORS_MOST * (100.0 - paper),
        tolerance: format!("at most {ERRORS_MOST} times the errors of the paper"),
        ..Row::scale(table, cell, paper, ours, 1.0)
    }
}

/// How many times as many errors as the paper's are in scale.
const ERRORS_MOST: f64 = 2.0;
const QUICK: &str = "A SMOKE RUN: a few steps on small drawn pictures. It shows that everything works; no number that was \
                     measured means anything, and none was judged.";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    impl Scale {
        pub(super) fn for_tests() -> Self {
            Self {
                runs: 2,
                short_runs: 2,
                quick: true,
                examples: 500,
                learned_respondents: 50_000,
                learned_from: None,
            }
        }
    }

    fn options(only: &[Part], quick: bool) -> Options {
        Options { only: only.to_vec(), runs: Some(1), examples: 500, quick }
    }

    fn paper<'a>(sections: &'a [Section], table: &'a str) -> impl Iterator<Item = f64> {
        let rows = sections.iter().flat_map(|section| &section.rows);
        rows.filter(move |row| row.table == table).filter_map(|row| row.paper)
    }

    #[test]
    fn every_part_has_its_cells_beside_the_papers() {
        let out = tempfile::tempdir().unwrap();
        let lab = Lab::for_tests(None);
        let all = run(&lab, &options(&[], true), Some(out.path())).unwrap();
        assert!(all.training_seconds > 0.0);
        let first = all.sections;
        let names: Vec<&str> = first.iter().map(|section| section.name).collect();
        let parts = ["table", "curves", "membership", "convex", "baselines", "targets", "cifar"];
        assert_eq!(names, parts.map(|part| format!("learning-{part}")));
        for section in &first {
            assert!(
                section.text[0].starts_with("A SMOKE RUN") && !section.rows.is_empty(),
                "{}",
                section.name
            );
            for row in &section.rows {
                assert!(row.agrees, "{row:?}");
            }
        }
        let printed: Vec<f64> = paper(&first, "res").collect();
        assert_eq!(printed.len(), 27 + 3);
        for known in [66.6, 93.9, 76.4, 76.1, 80.5, 73.0, 98.0] {
            assert!(printed.contains(&known), "{known}");
        }
        let attacked: Vec<f64> = paper(&first, "membership_inference").collect();
        assert!(
            [0.0017, 0.0130, 0.01306, 0.01228, 27.0, 9.5, 0.0097, 71.4, 9.0]
                .iter()
                .all(|known| attacked.contains(known))
        );
        assert!(
            [95.0, 78.0, 70.0].iter().all(|&known| paper(&first, "MLResl").any(|printed| printed == known))
        );
        let figures = first.iter().map(|section| section.figures.len()).collect::<Vec<_>>();
        assert_eq!(figures, [0, 3, 3, 4, 0, 0, 0]);

        // A second time nothing is run: what is kept is as it was, and gives the same.
        let path = out.path().join(run_log::RUNS);
        let runs = || fs::read_to_string(&path).unwrap();
        let before = runs();
        let again = run(&lab, &options(&[], true), Some(out.path())).unwrap().sections;
        assert_eq!(before, runs());
        for (first, again) in first.iter().zip(&again) {
            assert!(first.rows == again.rows, "{}", first.name);
        }
        // A run that is gone is made again, and is the same.
        let is_long =
            |name: &str| name.contains("pixels-sign-1.9-m10000-s500-t2000") && !name.contains("half");
        let named = |line: &str| {
            let json: serde_json::Value = serde_json::from_str(line).unwrap();
            (json["name"].as_str().unwrap().to_owned(), json["result"]["points"].clone())
        };
        let gone = before.lines().map(named).find(|(name, _)| is_long(name)).unwrap();
        let others: String =
            before.lines().filter(|line| named(line).0 != gone.0).map(|line| format!("{line}\n")).collect();
        fs::write(&path, &others).unwrap();
        run(&lab, &options(&[Part::Table], true), Some(out.path())).unwrap();
        let made_again = runs();
        assert_eq!(made_again.strip_prefix(&others).unwrap().lines().map(named).collect::<Vec<_>>(), [gone]);
    }

    #[test]
    fn without_data_the_accounting_is_left_and_what_is_missing_is_said() {
        let sections = run(&Lab::for_tests(None), &options(&[Part::Table, Part::Membership], false), None)
            .unwrap()
            .sections;
        let table = &sections[0];
        assert!(table.text.iter().filter(|text| text.contains("no folder with data was named")).count() == 3);
        let steps = table.rows.iter().filter(|row| row.table == "res: steps").count();
        assert_eq!((steps, paper(&sections, "res").count(), sections[1].rows.len()), (27, 3, 0));
        let certified = table.rows.iter().find(|row| {
            row.table == "res: certified epsilon_central"
                && row.cell.starts_with("MNIST, batch 10,000")
                && row.cell.contains("18:")
        });
        // 500 people with 20 reports each; of as many distinct people the independent reference has 0.421.
        let certified = certified.unwrap();
        assert!(
            certified.cell.ends_with("batch simulated") && certified.throng.unwrap() > 18.0,
            "{certified:?}"
        );
        let note = certified.note.as_deref().unwrap();
        assert!(note.contains("10,000 distinct respondents would have 0.42"), "{note}");
    }

    #[test]
    fn nonsense_is_refused() {
        let refusal = |options: &Options| run(&Lab::for_tests(None), options, None).unwrap_err().to_string();
        assert!(refusal(&Options { runs: Some(0), ..options(&[], true) }).contains("--runs 1"));
        assert!(refusal(&Options { examples: 300, ..options(&[], true) }).contains("--examples 500"));
    }
}
