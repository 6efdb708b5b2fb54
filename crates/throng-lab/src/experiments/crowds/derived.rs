//! Data-derived crowd IDs: one bit of a hash of the value labels the report, and costs a part of its budget.

use anyhow::Result;
use throng_account::amplification::exact;
use throng_account::label::Label;
use throng_dp::estimate::BitNoise;
use throng_dp::sampling::Bernoulli;
use throng_dp::{CountSketch, Delta, Epsilon, Mechanism, OneHot, SketchShape};

use super::Part;
use crate::experiments::conclusion::concluded;
use crate::experiments::lab::root_mean;
use crate::experiments::{Figure, Image, Lab, Row};
use throng_plot::plot::{Axis, Plot, Series, Style};
use throng_simulate::dataset::Dataset;
use throng_simulate::simulation::binomial::Binomial;

pub(super) fn run(lab: &Lab, flights: &Dataset) -> Result<Part> {
    lab.say("crowd IDs that are made from the data");
    let bits = hash_bits(flights.domain())?;
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for total in BUDGETS {
        let whole = Split::measure(lab, flights, &bits, total, 0.0)?;
        rows.push(whole.row(total, &whole));
        let mut splits = Vec::new();
        for share in SHARES {
            let split = Split::measure(lab, flights, &bits, total, share)?;
            rows.extend([split.row(total, &whole), split.central_row(total, &whole)]);
            splits.push(split);
        }
        curves.push((total, whole, splits));
    }
    let ratio = |whole: &Split, split: &Split| split.rmse / whole.rmse;
    let all = || curves.iter().flat_map(|(_, whole, splits)| splits.iter().map(move |one| ratio(whole, one)));
    let (best, worst) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let (total, whole, splits) = &curves[curves.len() - 1];
    let half = &splits[SHARES.len() / 2];
    let text = vec![format!(
        "Crowd IDs made from the data. Let one bit of a hash of the route be the label. It halves the crowd in which each \
         route is looked for, but it says something about the secret, so it has to be randomized out of the same budget. \
         Over {} splits of budgets of epsilon_local {}, the error was between {best:.2} and {worst:.1} times that of one \
         report with the whole budget: {}, although the analyzer here uses both labels as well as it can. And a \
         label stands beside its report in the open, so no crowd hides it: with {:.0} % of epsilon_local {total} spent on \
         it, Throng can promise epsilon_central {:.2}, and without it {:.4}.",
        all().count(),
        BUDGETS.map(|budget| budget.to_string()).join(" and "),
        concluded(best > 1.0, "never better", "not always worse"),
        100.0 * half.share,
        half.epsilon_central,
        whole.epsilon_central,
    )];
    Ok(Part { text, rows, figures: vec![figure(&curves)] })
}

/// The public hash: one bit for each value.
fn hash_bits(domain: u64) -> Result<Vec<bool>> {
    let shape = SketchShape { domain, rows: 1, cells: 2, seed: 5 };
    let hash = CountSketch::new(shape, Epsilon::new(1.0)?)?;
    (0..domain).map(|value| Ok(hash.cell(0, value)? == 1)).collect()
}

/// A budget of which a share is spent on the crowd ID, measured.
struct Split {
    share: f64,
    rmse: f64,
    expected: f64,
    epsilon_central: f64,
}

impl Split {
    fn measure(lab: &Lab, flights: &Dataset, bits: &[bool], total: f64, share: f64) -> Result<Self> {
        let epsilon_report = Epsilon::new(total * (1.0 - share))?;
        let mechanism = Mechanism::plain(OneHot::new(flights.domain(), epsilon_report)?);
        let report = mechanism.coins().noise();
        let guaranteed = |crowd| exact::epsilon_certified(crowd, epsilon_report, Delta::new(DELTA)?);
        if share == 0.0 {
            let accuracy = lab.measure(flights, &mechanism)?.accuracy;
            let epsilon_central = guaranteed(flights.respondents())?.epsilon().value();
            return Ok(Self {
                share,
                rmse: accuracy.rmse,
                expected: accuracy.rmse_expected,
                epsilon_central,
            });
        }
        let epsilon_id = Epsilon::new(total * share)?;
        let labelled = LabelledReports::collect(lab, flights, bits, &mechanism, id_flip(epsilon_id)?)?;
        let (rmse, expected) = labelled.errors(flights, bits, &report);
        // The crowd is those with the same ID, and the ID has only its own coin.
        let crowd = labelled.sizes[0].min(labelled.sizes[1]) as u64;
        let epsilon_central = Label::Randomized(epsilon_id).local(guaranteed(crowd)?.epsilon()).value();
        Ok(Self { share, rmse, expected, epsilon_central })
    }

    fn row(&self, total: f64, whole: &Self) -> Row {
        let cell = |what: &str| format!("epsilon_local {total}, {what}: RMSE");
        let row = if self.share == 0.0 {
            Row::order(TABLE, cell("all on the report"), true, "as theory says")
        } else {
            let cell = cell(&format!("{:.0} % on the crowd ID", 100.0 * self.share));
            Row::order(TABLE, cell, self.rmse > whole.rmse, "worse than one report with the whole budget")
        };
        row.theory(self.rmse, self.expected, 0.05).throng(self.rmse)
    }

    fn central_row(&self, total: f64, whole: &Self) -> Row {
        Row::order(
            TABLE,
            format!(
                "epsilon_local {total}, {:.0} % on the crowd ID: epsilon_central",
                100.0 * self.share
            ),
            self.epsilon_central > whole.epsilon_central && self.epsilon_central >= total * self.share,
            "more than without an ID, and at least what the ID costs",
        )
        .throng(self.epsilon_central)
        .note(
            "An ID stands beside each report, so only its own coin protects it: its epsilon is local, and added as it is to \
             what the crowd makes of the rest. This is what Throng can prove, not a lower bound.",
        )
    }
}

/// The coin that flips an ID of this budget.
///
/// Removal: the ID of the empty report is a fair coin. With a flip probability of p the largest ratio to that is
/// 1/(2p), so p = e^-ε/2. That is less noise than what hides one ID from the other, and the best that IDs can get.
fn id_flip(epsilon: Epsilon) -> Result<Bernoulli> {
    // 1/(1 + e^x) = e^-ε/2.
    let x = (2.0 * epsilon.value().exp() - 1.0).ln();
    Ok(Bernoulli::flip(Epsilon::new(x)?)?)
}

/// The reports of a crowd by their randomized IDs.
struct LabelledReports {
    flip: f64,
    /// How many reports have each ID.
    sizes: [f64; 2],
    /// How many hold each value, estimated from the reports of each ID.
    estimates: [Vec<f64>; 2],
}

impl LabelledReports {
    fn collect(
        lab: &Lab,
        flights: &Dataset,
        bits: &[bool],
        mechanism: &Mechanism,
        flip: Bernoulli,
    ) -> Result<Self> {
        let mut rng = lab.rng(1 << 32);
        let mut held = [Vec::new(), Vec::new()];
        for (&count, &bit) in flights.counts().iter().zip(bits) {
            let moved = Binomial::new(count, flip.probability()).draw(&mut rng);
            held[usize::from(bit)].push(count - moved);
            held[usize::from(!bit)].push(moved);
        }
        let estimate = |id: usize| -> Result<Vec<f64>> {
            let measured = lab.measure_crowd(&held[id], mechanism, 1 + id as u64)?;
            Ok(measured.estimates.counts().to_vec())
        };
        let estimates = [estimate(0)?, estimate(1)?];
        let sizes = held.map(|held| held.iter().sum::<u64>() as f64);
        Ok(Self { flip: flip.probability(), sizes, estimates })
    }

    /// The error of the best combination of both IDs, measured and expected.
    ///
    /// Reports with the value's own ID hold it with the share 1 − p of the holders, the others with p; the noise of
    /// either estimate grows with the number of its reports. So weights are share over number (least squares).
    fn errors(&self, flights: &Dataset, bits: &[bool], report: &BitNoise) -> (f64, f64) {
        let (mut errors, mut expected) = (Vec::new(), Vec::new());
        for (value, (&count, &bit)) in flights.counts().iter().zip(bits).enumerate() {
            let (own, other) = (usize::from(bit), usize::from(!bit));
            let (kept, moved) = (1.0 - self.flip, self.flip);
            let weights = [kept / self.sizes[own], moved / self.sizes[other]];
            let scale = 1.0 / (weights[0] * kept + weights[1] * moved);
            let sum = weights[0] * self.estimates[own][value] + weights[1] * self.estimates[other][value];
            errors.push((scale * sum - count as f64).powi(2));
            let noise = weights[0].powi(2) * self.sizes[own] + weights[1].powi(2) * self.sizes[other];
            let ids = (weights[0] - weights[1]).powi(2) * count as f64 * kept * moved;
            expected.push(scale * scale * (noise * report.variance() + ids));
        }
        (root_mean(errors), root_mean(expected))
    }
}

fn figure(curves: &[(f64, Split, Vec<Split>)]) -> Figure {
    let mut series = Vec::new();
    for (total, whole, splits) in curves {
        let points = |height: fn(&Split) -> f64| {
            [whole].into_iter().chain(splits).map(move |one| (100.0 * one.share, height(one) / height(whole)))
        };
        series.push(Series {
            name: format!("epsilon_local {total}"),
            points: points(|split| split.rmse).collect(),
            style: Style::Line,
        });
    }
    let end = 100.0 * SHARES[SHARES.len() - 1];
    series.push(Series {
        name: "no crowd ID".into(),
        points: vec![(0.0, 1.0), (end, 1.0)],
        style: Style::Dashed,
    });
    let plot = Plot {
        title: "Error with a crowd ID made from the data".into(),
        x: Axis::linear("share of the budget spent on the crowd ID, in %"),
        y: Axis::log("RMSE, as a multiple of that without ID"),
        series,
    };
    let caption = "Below the dashed line a crowd ID would help. No split gets there.";
    Figure { name: "crowds-derived".into(), caption: caption.into(), image: Image::Plot(plot) }
}

const TABLE: &str = "crowds-derived";
/// Of these budgets ...
const BUDGETS: [f64; 2] = [2.0, 6.0];
/// ... these shares are spent on the ID.
const SHARES: [f64; 5] = [0.05, 0.1, 0.25, 0.5, 0.75];
const DELTA: f64 = 1e-9;
