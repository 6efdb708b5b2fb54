//! Natural crowds: flights by the airport they start from, which everybody can see, with their destination as the
//! secret. How many start from a small airport is nobody's business either, so every instance drops some reports.

mod printed;

use std::array;
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use chacha20::ChaCha20Rng;
use throng_account::absence::Presence;
use throng_account::deletion::Deletion;
use throng_dp::estimate::BitNoise;
use throng_dp::sampling::below;
use throng_dp::{Absence, BitRandomizer, CentralGuarantee, Delta, Epsilon, OneHot, Removal};

use super::Part;
use throng_simulate::dataset::Dataset;
use crate::experiments::lab::{exact_local, people, root_mean};
use crate::experiments::{Figure, Image, Lab, Row};
use throng_plot::plot::{Axis, Plot, Series, Style};
use throng_account::rounding::at_most_to;

pub(super) fn run(lab: &Lab, flights: &Dataset) -> Result<Part> {
    lab.say("natural crowds: deleting reports at random");
    let crowds = Crowds::by_origin(flights)?;
    let deletion = Deletion::new(Epsilon::new(EPSILON_CR)?, Delta::new(DELTA_CR)?)?;
    let labels = crowds.origins.len() as u64;
    let loss_max = deletion.loss_max(labels * INSTANCES as u64, DELTA_CR)?;
    // Fewer than the crowd of the instance that holds a value's count are relied on: as many as no instance dropped, but
    // for a probability of DELTA_CR.
    let helpers = CROWD_MIN - (INSTANCES as u64 - 1) * loss_max;
    let local = exact_local(helpers, EPSILON_CENTRAL, Delta::new(DELTA)?)?;
    let one_hot = OneHot::new(crowds.destinations as u64, local)?;
    let outcomes = crowds.collect(lab, &one_hot, &deletion)?;

    let measured = Measurement::of(&crowds, &outcomes, &one_hot, &deletion);
    let release = CentralGuarantee::<Removal>::new(
        Epsilon::new(EPSILON_CENTRAL)?,
        Delta::new(DELTA)? + Delta::new(DELTA_CR)?,
    );
    // Who took part is another question: two worlds with other uploads. Nothing is added across.
    let presence = Presence {
        crowd: CROWD_MIN,
        epsilon: local,
        receiving: INSTANCES as u32,
        instances: INSTANCES as u32,
        deletion,
    };
    let absence = presence.guarantee(Delta::new(DELTA)?)?;

    let mut rows = losses(&measured, &deletion, labels)?;
    rows.extend(survivors(&crowds, &outcomes, loss_max));
    rows.extend(errors(&measured));
    rows.extend(guarantees(&release, &absence, &deletion));
    let (printed_rows, printed_text) = printed::compare(lab)?;
    rows.extend(printed_rows);

    let released = outcomes.iter().filter(|one| one.sums.is_some()).count();
    let covered: u64 =
        crowds.sizes().zip(&outcomes).filter(|(_, one)| one.sums.is_some()).map(|(size, _)| size).sum();
    let text = vec![
        format!(
            "Natural crowds. Each of {} flights of a year is a respondent: the airport where it starts is public and \
             labels its crowd, the destination is the secret. There are {labels} crowds, from {} flights to {}. A \
             crowd is analyzed only if at least {} reports are left at each of {INSTANCES} shuffler instances, after \
             each has dropped {} of them more or less (discrete noise, epsilon {EPSILON_CR}, delta {DELTA_CR:e}), so that \
             not even the number of flights is given away. {released} crowds pass, with {:.1} % of all flights.",
            people(flights.respondents() as f64),
            people(crowds.sizes().min().unwrap_or(0) as f64),
            people(crowds.sizes().max().unwrap_or(0) as f64),
            people(CROWD_MIN as f64),
            deletion.shift(),
            100.0 * covered as f64 / flights.respondents() as f64,
        ),
        format!(
            "What that costs: the counts of destinations are off by {:.1} flights without deletion and by {:.1} with \
             it, {:.1} if the analyzer adds back the {} that are missing on average. What a flight's \
             destination is worth (removal) is epsilon_central {EPSILON_CENTRAL} with the sizes of the crowds as without them: \
             what is dropped does not depend on it. What it buys: that there was a flight at all (absence) is \
             epsilon_central {:.2}, with the sizes of the crowds at three instances and up to four counts that move; \
             without deletion it would not be hidden.",
            measured.whole,
            measured.deleted,
            measured.added_back,
            deletion.shift(),
            at_most_to(2, absence.epsilon().value()),
        ),
        printed_text,
    ];
    Ok(Part { text, rows, figures: figures(&crowds, &outcomes, &measured, &deletion, loss_max) })
}

/// The flights of a year, by where they start and where they go.
struct Crowds {
    origins: Vec<String>,
    destinations: usize,
    /// For each origin, how many flights go to each destination.
    counts: Vec<Vec<u64>>,
}

/// What is left of one crowd.
struct Outcome {
    /// How many reports each instance dropped.
    drops: [u64; INSTANCES],
    /// What the analyzer counted, if enough were left: with all reports, and with those that were not dropped.
    sums: Option<Sums>,
}

struct Sums {
    whole: Vec<u64>,
    deleted: Vec<u64>,
}

impl Crowds {
    fn by_origin(flights: &Dataset) -> Result<Self> {
        let mut by_origin: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
        for (route, &count) in flights.counts().iter().enumerate() {
            let label = flights.label(route);
            let (origin, destination) =
                label.split_once('-').context("a route is called ORIGIN-DESTINATION")?;
            by_origin.entry(origin.into()).or_default().push((destination.into(), count));
        }
        let mut places = BTreeMap::new();
        for (destination, _) in by_origin.values().flatten() {
            let next = places.len();
            places.entry(destination.clone()).or_insert(next);
        }
        let mut counts = vec![vec![0; places.len()]; by_origin.len()];
        for (crowd, routes) in counts.iter_mut().zip(by_origin.values()) {
            for (destination, count) in routes {
                crowd[places[destination]] += count;
            }
        }
        Ok(Self { origins: by_origin.into_keys().collect(), destinations: places.len(), counts })
    }

    fn sizes(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().map(|counts| counts.iter().sum())
    }

    fn collect(&self, lab: &Lab, one_hot: &OneHot, deletion: &Deletion) -> Result<Vec<Outcome>> {
        let piece = |(counts, piece): (&Vec<u64>, u64)| {
            lab.progress.tick();
            collect(counts, one_hot, deletion, &mut lab.rng(piece))
        };
        self.counts.iter().zip(0..).map(piece).collect()
    }
}

/// Every respondent of one crowd reports, every value's fragments go to one instance, and every instance drops.
fn collect(counts: &[u64], one_hot: &OneHot, deletion: &Deletion, rng: &mut ChaCha20Rng) -> Result<Outcome> {
    let size: u64 = counts.iter().sum();
    let noise = deletion.noise()?;
    let drops: [u64; INSTANCES] = array::from_fn(|_| noise.drops(size, noise.draw(rng)));
    if drops.iter().any(|dropped| size - dropped < CROWD_MIN) {
        return Ok(Outcome { drops, sums: None });
    }
    let mut sums = Sums { whole: vec![0; counts.len()], deleted: vec![0; counts.len()] };
    let (mut to_come, mut to_drop, mut fragments) = (size, drops, Vec::new());
    for (value, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            // A uniformly random subset of the right size: each is dropped with the share that is still to drop.
            let dropped = to_drop.map(|to_drop| below(to_come, rng) < to_drop);
            for (to_drop, dropped) in to_drop.iter_mut().zip(dropped) {
                *to_drop -= u64::from(dropped);
            }
            to_come -= 1;
            one_hot.randomize_into(Some(&(value as u32)), &mut fragments, rng)?;
            for &fragment in &fragments {
                sums.whole[fragment as usize] += 1;
                let instance = fragment as usize % INSTANCES;
                sums.deleted[fragment as usize] += u64::from(!dropped[instance]);
            }
        }
    }
    Ok(Outcome { drops, sums: Some(sums) })
}

/// How far off the histograms of all released crowds are.
struct Measurement {
    /// The mean and the largest number of reports that an instance dropped from a crowd that has enough to drop.
    mean_loss: f64,
    largest_loss: u64,
    losses: usize,
    /// The root mean squared error of all counts, with all reports.
    whole: f64,
    whole_expected: f64,
    /// With those that were not dropped.
    deleted: f64,
    /// The same, scaled up by what is dropped on average.
    added_back: f64,
    /// For each released crowd its size and the last of these errors, and what theory says without deletion.
    by_crowd: Vec<(f64, f64)>,
    noise: BitNoise,
}

impl Measurement {
    fn of(crowds: &Crowds, outcomes: &[Outcome], one_hot: &OneHot, deletion: &Deletion) -> Self {
        let noise = BitNoise::single(one_hot.coin());
        let (mut whole, mut deleted, mut added_back) = (Vec::new(), Vec::new(), Vec::new());
        let (mut expected, mut by_crowd, mut losses) = (Vec::new(), Vec::new(), Vec::new());
        for ((counts, outcome), size) in crowds.counts.iter().zip(outcomes).zip(crowds.sizes()) {
            // Of a crowd that is smaller than what is to be dropped nothing is left, and nothing to be learnt.
            if size > deletion.shift() * 3 {
                losses.extend(outcome.drops);
            }
            let Some(sums) = &outcome.sums else { continue };
            let dropped = outcome.drops.iter().sum::<u64>() as f64 / INSTANCES as f64;
            let left = size as f64 - dropped;
            // The analyzer does not know the size, but what is dropped on average.
            let scale = (left + deletion.shift() as f64) / left;
            let before = added_back.len();
            for (value, &count) in counts.iter().enumerate() {
                let error = |estimate: f64| (estimate - count as f64).powi(2);
                let remaining = noise.count(sums.deleted[value] as f64, left);
                whole.push(error(noise.count(sums.whole[value] as f64, size as f64)));
                deleted.push(error(remaining));
                added_back.push(error(scale * remaining));
                expected.push(size as f64 * noise.variance());
            }
            by_crowd.push((size as f64, root_mean(added_back[before..].iter().copied())));
        }
        Self {
            mean_loss: losses.iter().sum::<u64>() as f64 / losses.len().max(1) as f64,
            largest_loss: losses.iter().copied().max().unwrap_or(0),
            losses: losses.len(),
            whole: root_mean(whole),
            whole_expected: root_mean(expected),
            deleted: root_mean(deleted),
            added_back: root_mean(added_back),
            by_crowd,
            noise,
        }
    }
}

fn losses(measured: &Measurement, deletion: &Deletion, labels: u64) -> Result<Vec<Row>> {
    // The noise has variance 2a/(1 − a)² with a = e^(−ε/2); six deviations of a mean are missed with a chance of 2e-9.
    let a = (-0.5 * EPSILON_CR).exp();
    let deviation = (2.0 * a).sqrt() / (1.0 - a) / (measured.losses as f64).sqrt();
    let off = (measured.mean_loss - deletion.shift() as f64).abs();
    let bound = deletion.loss_max(labels * INSTANCES as u64, DELTA_CR)?;
    let as_paper = 4.0 / EPSILON_CR * (2.0 * labels as f64 / DELTA_CR).ln();
    let table = "crowds-losses";
    Ok(vec![
        Row::order(
            table,
            "reports that an instance drops from a crowd, on average",
            off <= 6.0 * deviation,
            format!("within {:.1} of the shift {}", 6.0 * deviation, deletion.shift()),
        )
        .throng(measured.mean_loss),
        Row::order(
            table,
            format!("the most that any of {labels} crowds loses at any of {INSTANCES} instances"),
            measured.largest_loss <= bound,
            format!("at most the bound for all of them together, {bound}"),
        )
        .throng(measured.largest_loss as f64),
        Row::order(
            table,
            format!("the bound on that, but for a probability of {DELTA_CR:e}"),
            (bound as f64) < as_paper,
            "below that of the paper's Theorem V.2",
        )
        .rule(as_paper)
        .throng(bound as f64),
    ])
}

fn survivors(crowds: &Crowds, outcomes: &[Outcome], loss_max: u64) -> Vec<Row> {
    let table = "crowds-survivors";
    let sizes: Vec<u64> = crowds.sizes().collect();
    let pairs = || sizes.iter().zip(outcomes);
    let released = pairs().filter(|(_, one)| one.sums.is_some()).count();
    let large = sizes.iter().filter(|&&size| size >= CROWD_MIN).count();
    let too_small = pairs().filter(|&(&size, one)| size < CROWD_MIN && one.sums.is_some()).count();
    let lost = pairs().filter(|&(&size, one)| size >= CROWD_MIN + loss_max && one.sums.is_none()).count();
    vec![
        Row::order(
            table,
            format!("crowds that pass a threshold of {CROWD_MIN}"),
            released <= large && too_small == 0,
            format!("none of the {} smaller ones is among them", sizes.len() - large),
        )
        .throng(released as f64),
        Row::order(
            table,
            "crowds above the threshold by more than the largest loss that do not pass",
            lost == 0,
            "none",
        )
        .throng(lost as f64),
    ]
}

fn errors(measured: &Measurement) -> Vec<Row> {
    let table = "crowds-errors";
    let cell = |what: &str| format!("destinations of each released crowd, {what}: RMSE");
    vec![
        Row::order(table, cell("no deletion"), true, "as theory says")
            .theory(measured.whole, measured.whole_expected, 0.05)
            .throng(measured.whole),
        Row::order(
            table,
            cell("with deletion"),
            measured.deleted > measured.whole,
            "worse than without deletion",
        )
        .throng(measured.deleted),
        Row::order(
            table,
            cell("with deletion, the missing added back"),
            measured.added_back < measured.deleted,
            "better than not adding them back",
        )
        .throng(measured.added_back),
    ]
}

fn guarantees(
    release: &CentralGuarantee<Removal>,
    absence: &CentralGuarantee<Absence>,
    deletion: &Deletion,
) -> Vec<Row> {
    let table = "crowds-guarantee";
    let sum = (INSTANCES + 1) as f64 * EPSILON_CENTRAL + 0.5 * EPSILON_CR * INSTANCES as f64;
    vec![
        Row::order(
            table,
            "histograms and the sizes of their crowds: epsilon_central (removal)",
            release.epsilon().value() == EPSILON_CENTRAL,
            "that of the histograms alone",
        )
        .throng(release.epsilon().value())
        .note(
            "Removal: the flight has a destination, or sends the report of none. The same respondents upload in both worlds, \
             and what is dropped does not depend on what they say: deletion costs nothing.",
        ),
        Row::order(
            table,
            "the same: delta",
            release.delta().value() <= DELTA + 1.001 * DELTA_CR,
            "that of the histograms, and one delta_cr for crowds that lose more than is counted on",
        )
        .throng(release.delta().value()),
        Row::order(
            table,
            "the same: epsilon_central (absence)",
            absence.epsilon().value() < sum,
            "below the sum of four counts and half of epsilon_cr for each instance",
        )
        .throng(absence.epsilon().value())
        .note(
            "Absence: there was a flight, or there was none. At each instance somebody else is kept in its place, so its own \
             count moves and at each instance one of somebody else's; and each instance's deletion is paid for. At the delta \
             of the histograms.",
        ),
        Row::order(
            table,
            "one deletion by itself: delta over what it promises",
            deletion.actual_delta().value() <= DELTA_CR,
            "at most 1, summed over all outcomes",
        )
        .throng(deletion.actual_delta().value() / DELTA_CR),
    ]
}

fn figures(
    crowds: &Crowds,
    outcomes: &[Outcome],
    measured: &Measurement,
    deletion: &Deletion,
    loss_max: u64,
) -> Vec<Figure> {
    let sizes: Vec<f64> = crowds.sizes().map(|size| size as f64).collect();
    let largest = sizes.iter().copied().fold(1.0, f64::max);
    let smallest = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let level = |name: String, height: f64, from: f64| Series {
        name,
        points: vec![(from, height), (largest, height)],
        style: Style::Dashed,
    };
    let dropped =
        sizes.iter().zip(outcomes).flat_map(|(&size, one)| one.drops.map(|drop| (size, drop as f64)));
    let losses = Plot {
        title: "Reports that each instance drops from each crowd".into(),
        x: Axis::log("flights from the airport"),
        y: Axis::linear("reports dropped"),
        series: vec![
            Series { name: "one instance".into(), points: dropped.collect(), style: Style::Points },
            level(format!("on average: {}", deletion.shift()), deletion.shift() as f64, smallest),
            level(format!("hardly ever more than {loss_max}"), loss_max as f64, smallest),
        ],
    };
    let theory = |size: f64| (size, (size * measured.noise.variance()).sqrt());
    let errors = Plot {
        title: "Error of the destinations of each crowd".into(),
        x: Axis::log("flights from the airport"),
        y: Axis::log("RMSE, in flights"),
        series: vec![
            Series {
                name: "measured, with deletion".into(),
                points: measured.by_crowd.clone(),
                style: Style::Points,
            },
            Series {
                name: "theory, without deletion".into(),
                points: vec![theory(CROWD_MIN as f64), theory(largest)],
                style: Style::Line,
            },
        ],
    };
    vec![
        Figure {
            name: "crowds-losses".into(),
            caption: "A crowd of two loses two reports, and a crowd of four hundred thousand about as many as one of \
                      a thousand: what is left says next to nothing about one flight."
                .into(),
            image: Image::Plot(losses),
        },
        Figure {
            name: "crowds-errors".into(),
            caption: "Every dot is an airport. Small crowds have small errors, because less noise is added up; deletion \
                      shows only where the noise is smallest."
                .into(),
            image: Image::Plot(errors),
        },
    ]
}

/// Through how many shuffler instances a report's fragments go.
const INSTANCES: usize = 3;
/// The fewest reports that have to be left of a crowd, at each instance.
const CROWD_MIN: u64 = 5000;
/// What the histograms alone guarantee.
const EPSILON_CENTRAL: f64 = 1.0;
const DELTA: f64 = 1e-8;
/// What one deletion guarantees when a respondent moves from one crowd to another.
const EPSILON_CR: f64 = 0.2;
const DELTA_CR: f64 = 1e-9;
