//! Table real-1-crowd: how many of the most frequent values are found again.

use std::collections::HashSet;

use anyhow::Result;
use throng_account::amplification::{exact, lemma};
use throng_account::gaussian::sigma_as_paper;
use throng_dp::fragmenting::{exposed_epsilon, fragment_epsilon, fragment_epsilon_as_paper};
use throng_dp::{Epsilon, Estimates, Mechanism, SketchShape};

use super::conclusion::concluded;
use super::fragments::{Floors, TAUS, on_grid_note};
use super::lab::{Data, Lab, Reconstruction, exact_local, gaussian_sigma, on_paper_grid, one_hot, sketch};
use super::unified::{HASH_SEED, SKETCH_THEORY};
use super::{Figure, Image, Row, Section};
use throng_analyze::{log_spaced, ranks};
use throng_plot::plot::{Axis, Plot, Series, Style};
use throng_simulate::dataset::{Dataset, Generator};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    let data = Data::Heavy;
    let (dataset, delta) = (data.load()?, data.delta());
    let (n, domain) = (dataset.respondents(), dataset.domain());
    let top = Top::of(dataset.counts());
    let mut section =
        Section::new("heavy-hitters", "Heavy hitters: which of the top 10,000 values are found again");
    let mut found: [Vec<(f64, f64)>; 5] = Default::default();
    for printed in &PRINTED {
        let central = Epsilon::new(printed.central)?;
        let at = |what: &str| format!("epsilon_central {}: {what}", printed.central);
        lab.say(at("one bit per value"));
        let sigma = gaussian_sigma(printed.central, delta)?;
        section.rows.push(
            Row::exact(
                TABLE,
                at("sigma of the trusted party"),
                printed.sigma,
                sigma_as_paper(central, delta)?,
                0.01,
            )
            .gaussian(sigma),
        );
        let baseline = lab.measure_gaussian(&dataset, sigma);
        let trusted = top.found(&baseline.estimates);
        found[4].push((printed.central, trusted));

        let lemma = lemma::epsilon_local(n, central, delta)?.value();
        let floors = TAUS.map(|tau| Floors::of(n, printed.central, delta, printed.local, tau));
        let floors: Vec<Floors> = floors.into_iter().collect::<Result<_>>()?;
        section.rows.push(on_grid_note(
            Row::exact(TABLE, at("epsilon_local"), printed.local, lemma, 0.01).throng(floors[0].ours.value()),
        ));
        for ((&tau, floors), &(all, one)) in TAUS.iter().zip(&floors).skip(1).zip(&printed.exposed) {
            for (name, paper, exposed) in [("epsilon_infinity", all, tau), ("epsilon_1", one, 1)] {
                let rule = exposed_epsilon(floors.paper, floors.paper_fragment, exposed).value();
                let ours = exposed_epsilon(floors.ours, floors.our_fragment, exposed).value();
                let cell = at(&format!("tau {tau}, {name}"));
                section.rows.push(on_grid_note(Row::exact(TABLE, cell, paper, rule, 0.01).throng(ours)));
            }
        }

        // One bit per value.
        for (&tau, floors) in TAUS.iter().zip(&floors) {
            let by_paper = one_hot(domain, floors.paper, floors.paper_fragment, tau)?;
            let by_us = one_hot(domain, floors.ours, floors.our_fragment, tau)?;
            if tau == 1 {
                let bits = Row::exact(
                    TABLE,
                    at("bits, one-hot"),
                    printed.bits.0,
                    by_paper.fragments_expected(),
                    0.01,
                );
                section.rows.push(bits.throng(by_us.fragments_expected()));
            }
            let (paper, throng) = (lab.measure(&dataset, &by_paper)?, lab.measure(&dataset, &by_us)?);
            let (by_rule, ours) = (top.found(&paper.estimates), top.found(&throng.estimates));
            if tau == 1 {
                found[0].push((printed.central, by_rule));
                found[1].push((printed.central, ours));
            }
            section.rows.push(
                Row::order(
                    TABLE,
                    at(&format!("one-hot, tau {tau}: found of the top 10,000")),
                    ours >= by_rule,
                    "at least as many as by the paper's accounting",
                )
                .rule(by_rule)
                .throng(ours)
                .gaussian(trusted)
                .theory(paper.accuracy.rmse, paper.accuracy.rmse_expected, 0.02)
                .theory(throng.accuracy.rmse, throng.accuracy.rmse_expected, 0.02),
            );
        }

        // Sketches, all in one go.
        lab.say(at("sketches"));
        let shape = SketchShape::new(domain, HASH_SEED);
        let proved = exact::cms_revealed_epsilon_local(n, central, delta, shape.rows)?;
        let mechanisms = sketches(shape, Epsilon::new(printed.local)?, proved)?;
        let bits = mechanisms[0].fragments_expected();
        section.rows.push(
            Row::exact(TABLE, at("bits, sketch"), printed.bits.1, bits, 0.01)
                .throng(mechanisms[1].fragments_expected()),
        );
        let measured = lab.measure_sketches(&dataset, &mechanisms.iter().collect::<Vec<_>>())?;
        for (&tau, pair) in TAUS.iter().zip(measured.chunks(2)) {
            let [paper, throng] = pair else { continue };
            let (by_rule, ours) = (top.found(&paper.estimates), top.found(&throng.estimates));
            let single = if tau == 1 { Some((by_rule, ours)) } else { None };
            if let Some((by_rule, ours)) = single {
                found[2].push((printed.central, by_rule));
                found[3].push((printed.central, ours));
            }
            let one_hot = found[1].last().map_or(0.0, |point| point.1);
            section.rows.push(sketch_row(
                at(&format!("sketch, tau {tau}: found of the top 10,000")),
                by_rule,
                ours,
                one_hot,
                paper,
                throng,
            ));
        }
        if printed.central == 1.0 {
            section.figures.push(scatter(&dataset, &measured[0], lab, &floors[0], domain)?);
        }
    }
    lab.say("other shares of the heavy hitters");
    for share in [0.2, 0.5, 0.8] {
        section.rows.push(other_share(lab, share)?);
    }
    section.text = story(&found);
    section.figures.push(found_plot(found));
    Ok(section)
}

/// The paper does not say what share of the respondents holds one of the hundred heavy hitters: how much does it matter?
fn other_share(lab: &Lab, share: f64) -> Result<Row> {
    let (respondents, domain) = (Generator::RESPONDENTS, Generator::DOMAIN);
    let dataset = Dataset::generate(&Generator::HeavyHitters { share, respondents, domain })?;
    let ours = exact_local(respondents, 1.0, Data::Heavy.delta())?;
    let measured = lab.measure(&dataset, &one_hot(domain, ours, ours, 1)?)?;
    let baseline = lab.measure_gaussian(&dataset, gaussian_sigma(1.0, Data::Heavy.delta())?);
    let top = Top::of(dataset.counts());
    let (found, trusted) = (top.found(&measured.estimates), top.found(&baseline.estimates));
    let cell = format!("epsilon_central 1, share of the heavy hitters {share}: found of the top 10,000");
    let near = found > 0.97 * trusted;
    Ok(Row::order(TABLE, cell, near, "at least 97 % of what a trusted party finds")
        .throng(found)
        .gaussian(trusted))
}

/// For each tau, the sketch by the paper's rule and the one with a proved guarantee.
fn sketches(shape: SketchShape, paper: Epsilon, proved: Epsilon) -> Result<Vec<Mechanism>> {
    let mut mechanisms = Vec::new();
    for tau in TAUS {
        let fragment = on_paper_grid(fragment_epsilon_as_paper(paper, tau)?)?;
        mechanisms.push(sketch(shape, paper, fragment, tau)?);
        mechanisms.push(sketch(shape, proved, fragment_epsilon(proved, tau)?, tau)?);
    }
    Ok(mechanisms)
}

fn sketch_row(
    cell: String,
    by_rule: f64,
    ours: f64,
    one_hot: f64,
    paper: &Reconstruction,
    throng: &Reconstruction,
) -> Row {
    Row::order(TABLE, cell, ours.max(by_rule) <= one_hot, "no more than with one bit per value")
        .rule(by_rule)
        .throng(ours)
        .note("The paper's epsilon_local has no proved central guarantee for a sketch; ours has, with the hash function visible.")
        .theory(paper.accuracy.rmse, paper.accuracy.rmse_expected, SKETCH_THEORY)
        .theory(throng.accuracy.rmse, throng.accuracy.rmse_expected, SKETCH_THEORY)
}

/// The most frequent values of the truth.
struct Top(HashSet<usize>);

impl Top {
    fn of(truth: &[u64]) -> Self {
        Self(ranks(truth).into_iter().take(TOP).collect())
    }

    /// How many of them are among as many of the largest estimates.
    fn found(&self, estimates: &Estimates) -> f64 {
        let counts = estimates.counts();
        let mut values: Vec<usize> = (0..counts.len()).collect();
        let order = |&a: &usize, &b: &usize| counts[b].total_cmp(&counts[a]).then(a.cmp(&b));
        if values.len() > TOP {
            values.select_nth_unstable_by(TOP, order);
            values.truncate(TOP);
        }
        values.iter().filter(|value| self.0.contains(value)).count() as f64
    }
}

fn story(found: &[Vec<(f64, f64)>; 5]) -> Vec<String> {
    let at = |curve: &[(f64, f64)]| {
        curve.iter().map(|point| format!("{:.0}", point.1)).collect::<Vec<_>>().join(", ")
    };
    let less =
        |sketch: usize| found[sketch].iter().zip(&found[1]).all(|(sketch, one_hot)| sketch.1 < one_hot.1);
    let sketches_find_less = less(2) && less(3);
    vec![
        "Two hundred million respondents, 1.8 million values: a hundred heavy hitters and a power law. A value is found \
         if it is one of the 10,000 most frequent and among the 10,000 largest estimates."
            .into(),
        format!(
            "At epsilon_central 0.0025, 0.01, 0.05, 0.25 and 1 the paper's accounting finds {}; exact accounting of the \
             same guarantee finds {}; a trusted party finds {}.",
            at(&found[0]),
            at(&found[1]),
            at(&found[4])
        ),
        format!(
            "A sketch of 1,024 x 65,536 finds {} at the paper's epsilon_local, for which no central guarantee is known, \
             and {} with a proved one{}.",
            at(&found[2]),
            at(&found[3]),
            concluded(sketches_find_less, ": collisions with the heavy hitters drown the tail", "")
        ),
        "The paper prints no numbers for what is found, only curves. Its share of the heavy hitters is not published; \
         half of the respondents is our choice."
            .into(),
    ]
}

fn found_plot(found: [Vec<(f64, f64)>; 5]) -> Figure {
    let names = [
        "one-hot, the paper's accounting",
        "one-hot, Throng",
        "sketch, no proof",
        "sketch, proved",
        "trusted party",
    ];
    let series = found.into_iter().zip(names).map(|(points, name)| Series {
        name: name.into(),
        points,
        style: if name == "trusted party" { Style::Dashed } else { Style::Line },
    });
    Figure {
        name: "heavy-hitters-found".into(),
        caption: "Values of the top 10,000 that are found, against the central guarantee".into(),
        image: Image::Plot(Plot {
            title: "Found of the top 10,000".into(),
            x: Axis::log("epsilon_central"),
            y: Axis::linear("values found"),
            series: series.collect(),
        }),
    }
}

/// True against estimated counts by rank, as the paper draws them.
fn scatter(
    dataset: &Dataset,
    sketched: &Reconstruction,
    lab: &Lab,
    floors: &Floors,
    domain: u64,
) -> Result<Figure> {
    let throng = lab.measure(dataset, &one_hot(domain, floors.ours, floors.our_fragment, 1)?)?;
    let order = ranks(dataset.counts());
    let points = |counts: &dyn Fn(usize) -> f64| {
        log_spaced(order.len()).map(|rank| ((rank + 1) as f64, counts(order[rank]))).collect()
    };
    let series = vec![
        Series {
            name: "sketch".into(),
            points: points(&|v| sketched.estimates.counts()[v]),
            style: Style::Points,
        },
        Series {
            name: "one-hot, Throng".into(),
            points: points(&|v| throng.estimates.counts()[v]),
            style: Style::Points,
        },
        Series { name: "truth".into(), points: points(&|v| dataset.counts()[v] as f64), style: Style::Line },
    ];
    Ok(Figure {
        name: "heavy-hitters-ranks".into(),
        caption: "epsilon_central 1: estimated counts by true rank".into(),
        image: Image::Plot(Plot {
            title: "Heavy hitters at epsilon_central 1".into(),
            x: Axis::log("true rank"),
            y: Axis::log("respondents"),
            series,
        }),
    })
}

/// A row of the table as printed.
struct HeavyHittersRow {
    central: f64,
    sigma: f64,
    local: f64,
    /// epsilon_infinity and epsilon_1 for tau = 4, 16, 256.
    exposed: [(f64, f64); 3],
    /// One-hot and sketch.
    bits: (f64, f64),
}

const TABLE: &str = "real-1-crowd";
const TOP: usize = 10_000;

/// From its second row on, the table prints one epsilon_infinity for all tau.
const PRINTED: [HeavyHittersRow; 5] = [
    HeavyHittersRow {
        central: 0.0025,
        sigma: 1821.02,
        local: 1.78,
        exposed: [(1.45, 0.47), (1.50, 0.13), (1.52, 0.01)],
        bits: (256_589.00, 9457.76),
    },
    HeavyHittersRow {
        central: 0.01,
        sigma: 455.34,
        local: 4.07,
        exposed: [(4.07, 2.47), (4.07, 1.30), (4.07, 0.11)],
        bits: (29_856.75, 1101.36),
    },
    HeavyHittersRow {
        central: 0.05,
        sigma: 91.16,
        local: 7.235,
        exposed: [(7.235, 5.63), (7.235, 4.40), (7.235, 1.72)],
        bits: (1281.93, 48.21),
    },
    HeavyHittersRow {
        central: 0.25,
        sigma: 18.32,
        local: 10.40,
        exposed: [(10.40, 8.79), (10.40, 7.56), (10.40, 4.85)],
        bits: (55.11, 2.99),
    },
    HeavyHittersRow {
        central: 1.0,
        sigma: 4.66,
        local: 12.99,
        exposed: [(12.99, 11.38), (12.99, 10.15), (12.99, 7.44)],
        bits: (5.06, 1.15),
    },
];
