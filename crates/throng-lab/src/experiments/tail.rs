//! How far down the tail of the heavy-hitter data each way of reporting reaches, at equal epsilon_central.

use anyhow::Result;
use throng_account::amplification::exact;
use throng_account::bound::Bound;
use throng_dp::{Delta, Epsilon, SketchShape};

use super::lab::{Data, Lab, Reconstruction, exact_local, gaussian_sigma, one_hot, sketch};
use super::unified::HASH_SEED;
use super::{Figure, Image, Row, Section};
use throng_analyze::{log_spaced, ranks};
use throng_plot::plot::{Axis, Plot, Series, Style};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    let data = Data::Heavy;
    let (dataset, delta) = (data.load()?, data.delta());
    let (n, domain) = (dataset.respondents(), dataset.domain());
    let truth = dataset.counts();
    let order = ranks(truth);
    let mut section =
        Section::new("tail", "The tail: how many values stand out of the noise, at equal guarantees");
    for central in [0.05, 1.0] {
        lab.say(format!("tail at epsilon_central {central}"));
        let epsilon = Epsilon::new(central)?;
        let fragments = exact_local(n, central, delta)?;
        // A whole report is one message of the shuffler, so a generic bound at twice epsilon_local (its replacement
        // guarantee) is what the literature had; the exact bound for whole reports is ours.
        let generic = whole_report_generic(n, epsilon, delta)?;
        let whole = exact::rappor_whole_epsilon_local(n, epsilon, delta)?;
        let shape = SketchShape::new(domain, HASH_SEED);
        let proved = exact::cms_revealed_epsilon_local(n, epsilon, delta, shape.rows)?;
        let hashed = sketch(shape, proved, proved, 1)?;
        let ways = [
            ("trusted party", f64::INFINITY, lab.measure_gaussian(&dataset, gaussian_sigma(central, delta)?)),
            (
                "attribute fragments",
                fragments.value(),
                lab.measure(&dataset, &one_hot(domain, fragments, fragments, 1)?)?,
            ),
            (
                "whole reports, exact bound",
                whole.value(),
                lab.measure(&dataset, &one_hot(domain, whole, whole, 1)?)?,
            ),
            (
                "whole reports, generic bound",
                generic.value(),
                lab.measure(&dataset, &one_hot(domain, generic, generic, 1)?)?,
            ),
            ("sketch, rows visible", proved.value(), lab.measure(&dataset, &hashed)?),
        ];
        let mut shares = Vec::new();
        let (mut series, mut masses) = (Vec::new(), Vec::new());
        for (name, local, measured) in &ways {
            let recovered = Recovery::of(measured, truth, &order)?;
            let cell = |what: &str| format!("epsilon_central {central}, {name}: {what}");
            let best = shares.get(1).copied().unwrap_or(f64::INFINITY);
            let fragments_win = *name == "trusted party" || recovered.mass <= best + 1e-12;
            let statement = "attribute fragments recover most, after the trusted party";
            section.rows.push(
                Row::order(TABLE, cell("% of values recovered"), fragments_win, statement)
                    .throng(100.0 * recovered.values)
                    .note(if local.is_finite() {
                        format!("epsilon_local {local:.3}")
                    } else {
                        "no local guarantee".into()
                    }),
            );
            section.rows.push(
                Row::order(
                    TABLE,
                    cell("% of respondents whose value is recovered"),
                    fragments_win,
                    statement,
                )
                .throng(100.0 * recovered.mass),
            );
            shares.push(recovered.mass);
            series.push(Series { name: (*name).into(), points: recovered.by_rank, style: Style::Line });
            masses.push(Series { name: (*name).into(), points: recovered.mass_to_rank, style: Style::Line });
        }
        section.text.push(format!(
            "At epsilon_central {central}, values that stand out of the noise (none by chance, with probability 99.9 %) \
             are held by {:.1} % of the respondents with attribute fragments, {:.1} % with whole reports under a generic \
             bound, {:.1} % with a sketch, and {:.1} % with a trusted party.",
            100.0 * shares[1],
            100.0 * shares[3],
            100.0 * shares[4],
            100.0 * shares[0]
        ));
        for (name, what, series) in [
            ("values", "share of the values around each rank that are recovered", series),
            ("mass", "share of all respondents whose value is recovered, up to each rank", masses),
        ] {
            section.figures.push(Figure {
                name: format!("tail-{name}-{}", central.to_string().replace('.', "-")),
                caption: format!("epsilon_central {central}: {what}"),
                image: Image::Plot(Plot {
                    title: format!("Recovered at epsilon_central {central}"),
                    x: Axis::log("true rank"),
                    y: Axis::linear("share recovered"),
                    series,
                }),
            });
        }
    }
    Ok(section)
}

/// The largest epsilon_local of whole reports under the generic bound: removal epsilon is replacement 2 epsilon.
fn whole_report_generic(n: u64, central: Epsilon, delta: Delta) -> Result<Epsilon> {
    let replacement = Bound::named("blanket")?.epsilon_local(n, central, delta, None)?;
    Ok(Epsilon::new(replacement.value() / 2.0)?)
}

/// What stands out of the noise.
struct Recovery {
    /// The share of the values that somebody holds.
    values: f64,
    /// The share of the respondents who hold them.
    mass: f64,
    /// The share recovered around each rank.
    by_rank: Vec<(f64, f64)>,
    /// The share of the respondents who hold a recovered value of at most this rank.
    mass_to_rank: Vec<(f64, f64)>,
}

impl Recovery {
    fn of(measured: &Reconstruction, truth: &[u64], order: &[usize]) -> Result<Self> {
        let threshold = measured.estimates.heavy_hitters(0.001)?.threshold;
        let seen = |value: usize| measured.estimates.counts()[value] > threshold && truth[value] > 0;
        let held: Vec<usize> = order.iter().copied().filter(|&value| truth[value] > 0).collect();
        let recovered = held.iter().filter(|&&value| seen(value)).count();
        let mass: u64 = held.iter().filter(|&&value| seen(value)).map(|&value| truth[value]).sum();
        let ends: Vec<usize> =
            log_spaced(held.len()).filter(|end| end.is_multiple_of(2) || *end > 500).collect();
        let by_rank = ends.windows(2).map(|pair| {
            // A window of a tenth of a decade or so: enough values for a share.
            let from = (pair[0] * 9 / 10).saturating_sub(4);
            let to = (pair[1] * 11 / 10 + 5).min(held.len());
            let found = held[from..to].iter().filter(|&&value| seen(value)).count();
            ((pair[0] + 1) as f64, found as f64 / (to - from) as f64)
        });
        let total = truth.iter().sum::<u64>() as f64;
        let mut sums = Vec::with_capacity(held.len());
        let mut sum = 0;
        for &value in &held {
            sum += if seen(value) { truth[value] } else { 0 };
            sums.push(sum as f64 / total);
        }
        Ok(Self {
            values: recovered as f64 / held.len().max(1) as f64,
            mass: mass as f64 / total,
            by_rank: by_rank.collect(),
            mass_to_rank: log_spaced(held.len()).map(|rank| ((rank + 1) as f64, sums[rank])).collect(),
        })
    }
}

const TABLE: &str = "tail";
