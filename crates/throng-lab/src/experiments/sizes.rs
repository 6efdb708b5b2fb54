//! The size of a sketch: that of a large deployment, a tuned one, and no sketch at all.
//!
//! Paper: Sections II.B and VII, which take 1,024 rows of 65,536 cells from a deployment and vary neither.

use anyhow::{Context, Result};
use throng_account::amplification::exact;
use throng_account::planner::{self, Choice, Distribution, Encoding, Question};
use throng_dp::{Delta, Epsilon, Mechanism, SketchShape};

use super::conclusion::concluded;
use super::lab::{exact_local, one_hot, people, root_mean, sketch};
use super::{Figure, Image, Lab, Row, Section};
use throng_analyze::ranks;
use throng_plot::plot::{Axis, Plot, Series, Style};
use throng_simulate::dataset::{Dataset, Generator};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    let heavy = Generator::HeavyHitters { share: 0.5, respondents: 2_000_000, domain: 50_000 };
    let crowds = [
        Crowd {
            name: "heavy hitters",
            noun: "respondents",
            data: Dataset::generate(&heavy)?,
            central: &[1.0, 0.25],
        },
        Crowd { name: "flights", noun: "flights", data: Dataset::built_in("flights")?, central: &[0.25] },
    ];
    run_on(lab, &crowds, DEPLOYED)
}

fn run_on(lab: &Lab, crowds: &[Crowd], deployed: Size) -> Result<Section> {
    let (mut rows, mut figures) = (Vec::new(), Vec::new());
    let mut text = vec![format!(
        "When there are very many possible values, a report can be hashed to one cell of a small table: a sketch. A large \
         deployment uses {} tables (hash functions) of {} cells, and the paper takes its size. Every respondent reports on \
         one table, and Throng assumes that everyone sees which one, because that can be proved: so only those who drew \
         the same table hide each other. Many tables mean small crowds and much noise, few tables or cells mean that \
         values share cells. At the same promise (delta {DELTA:e}) we compared four ways: one bit per value; the sketch with the smallest mean error of all that are smaller than that; the sketch that \
         throng plan chooses; and the deployed size.",
        people(f64::from(deployed.rows)),
        people(f64::from(deployed.cells)),
    )];
    let (mut gains_nothing, mut more_rows) = (true, true);
    for crowd in crowds {
        let mut cells = Vec::new();
        for &central in crowd.central {
            lab.say(format!("sketch sizes: {} at epsilon_central {central}", crowd.name));
            let locals = crowd.epsilons_local(central)?;
            let ways = [
                Way::OneHot,
                Way::Smallest(crowd.smallest_error(&locals)?),
                Way::Planned(crowd.planned(central)?),
                Way::Deployed(deployed),
            ];
            let measured: Vec<EncodingMeasurement> =
                ways.into_iter().map(|way| crowd.measure(lab, central, way)).collect::<Result<_>>()?;
            if let [one_hot, sketches @ ..] = &measured[..] {
                let is_worse =
                    |one: &EncodingMeasurement| one.rmse > one_hot.rmse && one.fragments > one_hot.fragments;
                gains_nothing &= sketches.iter().all(is_worse);
            }
            if let [_, Way::Smallest(smallest), Way::Planned(planned), _] = ways {
                more_rows &= planned.rows > smallest.rows;
            }
            for (at, one) in measured.iter().enumerate() {
                rows.extend(one.rows(crowd, central, &measured[..at]));
            }
            if cells.is_empty() {
                figures.push(crowd.figure(central, &locals, &measured)?);
            }
            cells.push((central, measured));
        }
        text.push(crowd.text(&cells));
    }
    let one_bit = concluded(
        gains_nothing,
        "Where every value can have its own bit, a sketch gains nothing: one bit per value has no collisions, the whole \
         crowd hides each bit, and fewer fragments are sent.",
        "Where every value can have its own bit there are no collisions and the whole crowd hides each bit; even so, not \
         every sketch has a larger error and sends more fragments here.",
    );
    let rows_taken = concluded(more_rows, "takes more rows than", "does not always take more rows than");
    text.push(format!(
        "{one_bit} A sketch is for domains that cannot be listed, and then its size should follow from the crowd and the \
         promise. The plan {rows_taken} the smallest mean error asks for: it weighs the worst case, in which a rare value \
         that shares its cell with a popular one, in one of few rows, looks popular itself."
    ));
    let title = "How large should a sketch be?".into();
    Ok(Section { name: "sketch-sizes", title, text, rows, figures, seconds: 0.0 })
}

/// A dataset, with words for it.
struct Crowd {
    name: &'static str,
    noun: &'static str,
    data: Dataset,
    /// The guarantees that it is measured at.
    central: &'static [f64],
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Size {
    rows: u32,
    cells: u32,
}

/// How values are written as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    OneHot,
    /// The sketch with the least expected error over all values.
    Smallest(Size),
    /// The sketch that `throng plan` chooses.
    Planned(Size),
    Deployed(Size),
}

/// One way, measured.
struct EncodingMeasurement {
    way: Way,
    epsilon_local: f64,
    rmse: f64,
    expected: f64,
    /// The part of the expected error that coins cause.
    privacy: f64,
    /// The part that values in the same cell cause.
    collisions: f64,
    fragments: f64,
    /// How many of the most frequent values are among as many with the largest estimates.
    found: usize,
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::OneHot => "one bit per value".into(),
            Self::Smallest(size) => format!("best sketch {} x {}", size.rows, size.cells),
            Self::Planned(size) => format!("planned sketch {} x {}", size.rows, size.cells),
            Self::Deployed(size) => format!("deployed sketch {} x {}", size.rows, size.cells),
        }
    }

    fn mechanism(self, data: &Dataset, central: f64) -> Result<Mechanism> {
        let local = self.epsilon_local(data, central)?;
        match self.size() {
            None => one_hot(data.domain(), local, local, 1),
            Some(size) => sketch(size.shape(data.domain()), local, local, 1),
        }
    }

    /// The largest that is proved to keep the promise: at the full crowd, or among those with the same row.
    fn epsilon_local(self, data: &Dataset, central: f64) -> Result<Epsilon> {
        match self.size() {
            None => exact_local(data.respondents(), central, Delta::new(DELTA)?),
            Some(size) => epsilon_local(data, central, size.rows),
        }
    }

    fn size(self) -> Option<Size> {
        match self {
            Self::OneHot => None,
            Self::Smallest(size) | Self::Planned(size) | Self::Deployed(size) => Some(size),
        }
    }
}

impl Size {
    fn shape(self, domain: u64) -> SketchShape {
        SketchShape { domain, rows: self.rows, cells: self.cells, seed: 1 }
    }
}

impl Crowd {
    /// For each number of rows, what a report may say.
    fn epsilons_local(&self, central: f64) -> Result<Vec<(u32, Epsilon)>> {
        ROWS.into_iter().map(|rows| Ok((rows, epsilon_local(&self.data, central, rows)?))).collect()
    }

    /// The size with the least expected error over all values. With a cell for each value it would be no sketch.
    fn smallest_error(&self, locals: &[(u32, Epsilon)]) -> Result<Size> {
        let mut best: Option<(f64, Size)> = None;
        for &(rows, local) in locals {
            for cells in self.fewer_than_values(&CELLS) {
                let size = Size { rows, cells };
                let mechanism = sketch(size.shape(self.data.domain()), local, local, 1)?;
                let error = self.expected(size, &mechanism);
                if best.is_none_or(|(least, _)| error < least) {
                    best = Some((error, size));
                }
            }
        }
        Ok(best.context("every sketch that is tried has more cells than there are values")?.1)
    }

    fn fewer_than_values(&self, cells: &[u32]) -> impl Iterator<Item = u32> {
        cells.iter().copied().filter(|&cells| u64::from(cells) < self.data.domain())
    }

    /// What `throng plan` chooses, when it has to choose a sketch and knows the distribution.
    fn planned(&self, central: f64) -> Result<Size> {
        let question = Question {
            epsilon_central: Epsilon::new(central)?,
            delta: Delta::new(DELTA)?,
            respondents: self.data.respondents(),
            honest_fraction: 1.0,
            domain: self.data.domain(),
            report_fragments: 1,
            instances: 3,
            encoding: Choice::Sketch,
            distribution: Distribution::Sample(self.data.counts().to_vec()),
            labels: None,
        };
        match planner::plan(&question)?.encoding {
            Encoding::Sketch { rows, cells } => Ok(Size { rows, cells }),
            Encoding::OneHot | Encoding::Record { .. } => None.context("a sketch was asked for"),
        }
    }

    fn measure(&self, lab: &Lab, central: f64, way: Way) -> Result<EncodingMeasurement> {
        let mechanism = way.mechanism(&self.data, central)?;
        let counts = self.data.counts();
        let measured = lab.measure(&self.data, &mechanism)?;
        let spread = mechanism.spread_of(counts);
        let collisions = match spread.collisions {
            None => 0.0,
            Some(_) => root_mean(counts.iter().map(|&count| spread.variance(count as f64) - spread.noise)),
        };
        Ok(EncodingMeasurement {
            way,
            epsilon_local: mechanism.guarantee().epsilon().value(),
            rmse: measured.accuracy.rmse,
            expected: measured.accuracy.rmse_expected,
            privacy: spread.noise.sqrt(),
            collisions,
            fragments: mechanism.fragments_expected(),
            found: found(counts, measured.estimates.counts()),
        })
    }

    fn text(&self, cells: &[(f64, Vec<EncodingMeasurement>)]) -> String {
        let mut text = format!(
            "{}: {} {} over {} values.",
            capital(self.name),
            people(self.data.respondents() as f64),
            self.noun,
            people(self.data.domain() as f64)
        );
        for (central, measured) in cells {
            let one = |one: &EncodingMeasurement| {
                format!(
                    "{}: error {:.1}, {} fragments per respondent, {} of the top {TOP} found",
                    one.way.name(),
                    one.rmse,
                    fragments(one.fragments),
                    one.found
                )
            };
            let all: Vec<String> = measured.iter().map(one).collect();
            text += &format!(" At epsilon_central {central}, {}.", all.join("; "));
        }
        text
    }

    /// What theory expects of sketches of all sizes, at one guarantee.
    fn figure(
        &self,
        central: f64,
        locals: &[(u32, Epsilon)],
        measured: &[EncodingMeasurement],
    ) -> Result<Figure> {
        let mut series = Vec::new();
        for cells in self.fewer_than_values(&CELLS_DRAWN) {
            let mut points = Vec::new();
            for &(rows, local) in locals {
                let size = Size { rows, cells };
                let mechanism = sketch(size.shape(self.data.domain()), local, local, 1)?;
                points.push((f64::from(rows), self.expected(size, &mechanism)));
            }
            let name = format!("{} cells", people(f64::from(cells)));
            series.push(Series { name, points, style: Style::Line });
        }
        let last = f64::from(ROWS[ROWS.len() - 1]);
        for one in measured {
            let (points, style) = match one.way.size() {
                None => (vec![(1.0, one.rmse), (last, one.rmse)], Style::Dashed),
                Some(size) => (vec![(f64::from(size.rows), one.rmse)], Style::Points),
            };
            series.push(Series { name: one.way.name(), points, style });
        }
        let plot = Plot {
            title: format!("Error by the size of the sketch: {}, epsilon_central {central}", self.name),
            x: Axis::log("rows (hash functions)"),
            y: Axis::log(format!("RMSE, in {}", self.noun)),
            series,
        };
        Ok(Figure {
            name: format!("sketch-sizes-{}", self.name.replace(' ', "-")),
            caption: "Lines are what theory expects, dots what we measured. To the left collisions err, to the right the \
                      noise of small crowds."
                .into(),
            image: Image::Plot(plot),
        })
    }

    /// The error that theory expects, averaged over hash functions.
    fn expected(&self, size: Size, mechanism: &Mechanism) -> f64 {
        let noise = mechanism.coins().noise();
        let (h, m) = (f64::from(size.rows), f64::from(size.cells));
        let n = self.data.respondents() as f64;
        let squares: f64 = self.data.counts().iter().map(|&count| (count as f64).powi(2)).sum();
        // [(n − c)(1 − 1/H) + (F₂ − c²)/H]/(m − 1), on average over the values.
        let variance = |count: f64| {
            let collisions = (n - count) * (1.0 - 1.0 / h) + (squares - count * count) / h;
            n * noise.variance() * m / (m - 1.0) + collisions / (m - 1.0)
        };
        root_mean(self.data.counts().iter().map(|&count| variance(count as f64)))
    }
}

impl EncodingMeasurement {
    /// The cells, each claimed to be worse than those of the ways before.
    fn rows(&self, crowd: &Crowd, central: f64, better: &[Self]) -> Vec<Row> {
        let cell =
            |what: &str| format!("{}, epsilon_central {central}, {}: {what}", crowd.name, self.way.name());
        let row = |what: &str, holds: bool, statement: &str, value: f64| {
            Row::order("sketch-sizes", cell(what), holds, statement).throng(value)
        };
        let is_worse = better.iter().all(|one| one.rmse < self.rmse);
        let one_hot = better.first().unwrap_or(self);
        let statement = if better.is_empty() { "as theory says" } else { "worse than those above" };
        let tolerance = if self.way == Way::OneHot { 0.05 } else { 0.25 };
        let parts = (self.privacy.powi(2) + self.collisions.powi(2)).sqrt();
        vec![
            row("RMSE", is_worse, statement, self.rmse).theory(self.rmse, self.expected, tolerance),
            row(
                "privacy part of it",
                (parts / self.expected - 1.0).abs() < 0.01,
                "with the collisions it makes the expected error",
                self.privacy,
            ),
            row(
                "collisions part of it",
                (self.way == Way::OneHot) == (self.collisions == 0.0),
                "none without a sketch, some with one",
                self.collisions,
            ),
            row(
                "fragments per respondent",
                self.fragments >= one_hot.fragments,
                "fewest with one bit per value",
                self.fragments,
            ),
            row(
                &format!("of the top {TOP} found"),
                self.found <= one_hot.found,
                "no more than with one bit per value",
                self.found as f64,
            ),
            row(
                "epsilon_local",
                self.epsilon_local <= one_hot.epsilon_local,
                "no more than with one bit per value: a row is a smaller crowd",
                self.epsilon_local,
            ),
        ]
    }
}

/// The largest that is proved to keep the promise among those with the same row.
fn epsilon_local(data: &Dataset, central: f64, rows: u32) -> Result<Epsilon> {
    let (epsilon, delta) = (Epsilon::new(central)?, Delta::new(DELTA)?);
    Ok(exact::cms_revealed_epsilon_local(data.respondents(), epsilon, delta, rows)?)
}

/// How many of the most frequent values are among those with the largest estimates. Values that tie with the last
/// count as well.
fn found(truth: &[u64], estimates: &[f64]) -> usize {
    let top = TOP.min(truth.len());
    let least = truth[ranks(truth)[top - 1]];
    let mut values: Vec<usize> = (0..truth.len()).collect();
    values.sort_by(|&a, &b| estimates[b].total_cmp(&estimates[a]));
    values[..top].iter().filter(|&&value| truth[value] >= least).count()
}

fn fragments(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { people(number) }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The size that the paper takes from a deployment.
const DEPLOYED: Size = Size { rows: 1024, cells: 65_536 };
const DELTA: f64 = 1e-9;
const TOP: usize = 1000;
/// The sizes that are tried ...
const ROWS: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const CELLS: [u32; 7] = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
/// ... and drawn.
const CELLS_DRAWN: [u32; 3] = [1024, 4096, 32_768];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_is_found_or_not() {
        assert_eq!(found(&[5, 0, 3], &[1.0, 2.0, 3.0]), 3);
        let truth: Vec<u64> = (0..2000).collect();
        let exact: Vec<f64> = (0..2000).map(f64::from).collect();
        let wrong: Vec<f64> = (0..2000).rev().map(f64::from).collect();
        assert_eq!((found(&truth, &exact), found(&truth, &wrong)), (1000, 0));
    }

    #[test]
    fn one_bit_per_value_is_best_and_a_deployed_size_does_not_fit_every_crowd() {
        let heavy = Generator::HeavyHitters { share: 0.5, respondents: 400_000, domain: 5_000 };
        let data = Dataset::generate(&heavy).unwrap();
        let crowd = Crowd { name: "heavy hitters", noun: "respondents", data, central: &[1.0] };
        let deployed = Size { rows: 1024, cells: 4096 };
        let section = run_on(&Lab::for_tests(None), &[crowd], deployed).unwrap();
        for row in &section.rows {
            assert!(row.agrees, "{row:?}");
        }
        let errors: Vec<f64> = section
            .rows
            .iter()
            .filter(|row| row.cell.ends_with("RMSE"))
            .filter_map(|row| row.throng)
            .collect();
        assert!(errors[0] * 1.5 < errors[1] && errors[1] * 1.5 < errors[3], "{errors:?}");
    }
}
