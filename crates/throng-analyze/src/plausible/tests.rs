//! The laws are written out here once more, from what a respondent does: coins, samples, and where fragments go.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_dp::fragmenting::Assignment;
use throng_dp::{
    Attributes, Coins, CountSketch, Epsilon, Mechanism, OneHot, Record, SketchShape, Tally, Value,
};

use super::law::Law;
use super::tail::{least, most};
use super::*;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn one_hot(size: u64, of: f64) -> OneHot {
    OneHot::new(size, epsilon(of)).unwrap()
}

fn fragmented(size: u64, tau: u32) -> Mechanism {
    Mechanism::fragments(one_hot(size, 2.5), epsilon(1.2), tau).unwrap()
}

fn record() -> Mechanism {
    Mechanism::plain(Record::new(Attributes::new(&[2, 3]).unwrap(), epsilon(2.0)).unwrap())
}

fn sketch(shape: SketchShape, of: f64, rows: u32) -> Mechanism {
    Mechanism::plain(CountSketch::split(shape, epsilon(of), rows).unwrap())
}

fn small_sketch(rows: u32) -> Mechanism {
    sketch(SketchShape { domain: 4, rows: 3, cells: 2, seed: 1 }, 3.0, rows)
}

/// The probabilities of 0, 1, 2, ... fragments.
type Pmf = Vec<f64>;

fn convolve(one: &Pmf, other: &Pmf) -> Pmf {
    let mut sum = vec![0.0; one.len() + other.len() - 1];
    for (i, a) in one.iter().enumerate() {
        for (j, b) in other.iter().enumerate() {
            sum[i + j] += a * b;
        }
    }
    sum
}

fn mixture(parts: &[(f64, Pmf)]) -> Pmf {
    let mut sum = vec![0.0; parts.iter().map(|(_, pmf)| pmf.len()).max().unwrap()];
    for (weight, pmf) in parts {
        sum.iter_mut().zip(pmf).for_each(|(sum, mass)| *sum += weight * mass);
    }
    sum
}

/// `draws` coins that are set with one probability.
fn coins(draws: usize, set: f64) -> Pmf {
    (0..draws).fold(vec![1.0], |sum, _| convolve(&sum, &vec![1.0 - set, set]))
}

/// The fragments of one bit: coins of their own, or drawn from a backstop's bit.
fn bit(of: Coins, held: bool, draws: usize) -> Pmf {
    let toss = |flip: f64| if held { 1.0 - flip } else { flip };
    match of {
        Coins::Runs { coin, .. } => coins(draws, toss(coin.probability())),
        Coins::Fragments { backstop, fragment, .. } => {
            let (one, flip) = (toss(backstop.probability()), fragment.probability());
            mixture(&[(one, coins(draws, 1.0 - flip)), (1.0 - one, coins(draws, flip))])
        }
    }
}

/// All reports that a respondent may be asked for, each as likely: which attributes are flipped, and which of them are set.
fn reports(mechanism: &Mechanism, value: Option<u64>) -> Vec<(Vec<u32>, Vec<u32>)> {
    if let Some(sketch) = mechanism.sketch() {
        let (shape, r) = (sketch.shape(), throng_dp::BitRandomizer::differing_bits(sketch));
        let subsets = (0u32..1 << shape.rows).filter(|set| set.count_ones() == r);
        let report = |set: u32| {
            let rows: Vec<u32> = (0..shape.rows).filter(|row| set >> row & 1 == 1).collect();
            let cells = rows.iter().flat_map(|row| row * shape.cells..(row + 1) * shape.cells).collect();
            let held = value.map_or(Vec::new(), |value| {
                rows.iter().map(|&row| row * shape.cells + sketch.cell(row, value).unwrap()).collect()
            });
            (cells, held)
        };
        return subsets.map(report).collect();
    }
    let all: Vec<u32> = (0..mechanism.domain() as u32).collect();
    match mechanism.record() {
        // A record is two digits: of the first attribute, and of the second after those of the first.
        Some(_) => match value {
            None => vec![(all, Vec::new())],
            Some(value) => {
                [value as u32 % 2, 2 + value as u32 / 2].map(|bit| (all.clone(), vec![bit])).to_vec()
            }
        },
        None => vec![(all, value.map(|value| value as u32).into_iter().collect())],
    }
}

/// How many fragments of the attributes in `of` one respondent sends to the instances at some positions.
fn law_of(
    mechanism: &Mechanism,
    (tau, instances): (u32, u32),
    positions: &[u32],
    value: Option<u64>,
    of: &dyn Fn(u32) -> bool,
) -> Pmf {
    let reports = reports(mechanism, value);
    let weight = 1.0 / reports.len() as f64;
    let law = |(flipped, held): &(Vec<u32>, Vec<u32>)| {
        flipped.iter().filter(|&&attribute| of(attribute)).fold(vec![1.0], |sum, attribute| {
            let here = (0..tau).filter(|t| positions.contains(&((attribute + t) % instances))).count();
            convolve(&sum, &bit(mechanism.coins(), held.contains(attribute), here))
        })
    };
    mixture(&reports.iter().map(|report| (weight, law(report))).collect::<Vec<_>>())
}

/// The law of a sum over respondents, for all that they may hold together.
fn all_data(mechanism: &Mechanism, crowd: usize, one: &dyn Fn(Option<u64>) -> Pmf) -> Vec<Pmf> {
    let values = if mechanism.record().is_some() { 6 } else { mechanism.domain() };
    let laws: Vec<Pmf> = std::iter::once(None).chain((0..values).map(Some)).map(one).collect();
    let mut sums = vec![(0, vec![1.0])];
    for _ in 0..crowd {
        // In rising order of what they hold: who holds it does not matter.
        let more = |(least, sum): &(usize, Pmf)| -> Vec<(usize, Pmf)> {
            (*least..laws.len()).map(|held| (held, convolve(sum, &laws[held]))).collect()
        };
        sums = sums.iter().flat_map(more).collect();
    }
    sums.into_iter().map(|(_, sum)| sum).collect()
}

fn above(law: &Pmf, count: u64) -> f64 {
    law.iter().skip(count as usize + 1).sum()
}

fn below(law: &Pmf, count: u64) -> f64 {
    law.iter().take(count as usize).sum()
}

fn mechanisms() -> Vec<(Mechanism, u32, u32)> {
    vec![
        (Mechanism::plain(one_hot(5, 2.0)), 1, 1),
        (Mechanism::plain(one_hot(5, 2.0)), 1, 3),
        (Mechanism::plain(one_hot(2, 3.0)), 1, 4),
        (fragmented(4, 3), 3, 2),
        (fragmented(4, 2), 2, 3),
        (record(), 1, 2),
        (small_sketch(1), 1, 2),
        (small_sketch(2), 1, 3),
    ]
}

/// Three respondents, with everything that they may hold: no total is above or below what is said more often than is said,
/// at one instance or at several.
#[test]
fn totals_of_honest_crowds_stay_within_their_law() {
    const CROWD: usize = 3;
    for (mechanism, tau, instances) in mechanisms() {
        let assignment = Assignment::new(tau, instances).unwrap();
        let everywhere: Vec<u32> = (0..instances).collect();
        for positions in (0..instances).map(|at| vec![at]).chain([everywhere]) {
            let law = Law::new(&mechanism, assignment, &positions);
            let one = |value| law_of(&mechanism, (tau, instances), &positions, value, &|_| true);
            let data = all_data(&mechanism, CROWD, &one);
            let limit = CROWD as u64 * law.fragments_max();
            for probability in [0.3, 0.01, 1e-4, 1e-8] {
                let high = most(|s| CROWD as f64 * law.ln_holding(s), limit, probability);
                // Bodies have room for everything.
                let blank = law.ln_blank_in_bodies(1000);
                let low = least(|s| CROWD as f64 * blank(s), limit, probability);
                for total in &data {
                    assert!((total.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                    let (over, under) = (above(total, high), below(total, low));
                    assert!(over <= probability, "{mechanism:?} {positions:?}: {over} above {high}");
                    assert!(under <= probability, "{mechanism:?} {positions:?}: {under} below {low}");
                }
            }
        }
    }
}

/// In bodies that are too small some fragments are left out, and totals are lower than the coins say.
#[test]
fn what_does_not_fit_into_a_body_is_not_taken_for_lost() {
    let (mechanism, crowd) = (Mechanism::plain(one_hot(6, 0.8)), 12);
    let law = Law::new(&mechanism, Assignment::new(1, 1).unwrap(), &[0]);
    let whole = law_of(&mechanism, (1, 1), &[0], None, &|_| true);
    for bodies in 0..6usize {
        let mut cut = whole[..=bodies].to_vec();
        cut[bodies] += whole[bodies + 1..].iter().sum::<f64>();
        let total = (0..crowd).fold(vec![1.0], |sum, _| convolve(&sum, &cut));
        for probability in [0.1, 1e-3, 1e-6] {
            let blank = law.ln_blank_in_bodies(bodies as u64);
            let low = least(|s| f64::from(crowd) * blank(s), 72, probability);
            assert!(below(&total, low) <= probability, "{bodies}: {low}");
        }
    }
}

/// The counts of one value, and of one cell of a sketch, over everything that three respondents may hold.
#[test]
fn counts_of_honest_crowds_stay_within_their_law() {
    const CROWD: usize = 3;
    for (mechanism, tau, instances) in mechanisms() {
        let assignment = Assignment::new(tau, instances).unwrap();
        let everywhere: Vec<u32> = (0..instances).collect();
        let law = Law::new(&mechanism, assignment, &everywhere);
        for value in 0..mechanism.domain() as u32 {
            let cells: Vec<u32> = match mechanism.sketch() {
                Some(sketch) => {
                    let shape = sketch.shape();
                    (0..shape.rows)
                        .map(|row| row * shape.cells + sketch.cell(row, value.into()).unwrap())
                        .collect()
                }
                None => vec![value],
            };
            let of = |attribute| cells.contains(&attribute);
            let one = |held| law_of(&mechanism, (tau, instances), &everywhere, held, &of);
            let data = all_data(&mechanism, CROWD, &one);
            let certain = CROWD as u64 * law.bits() * u64::from(law.draws_max());
            let first = |attribute| attribute == cells[0];
            let one = |held| law_of(&mechanism, (tau, instances), &everywhere, held, &first);
            let of_cell = all_data(&mechanism, CROWD, &one);
            for probability in [0.3, 0.01, 1e-4] {
                let high = most(|s| CROWD as f64 * law.ln_value(law.draws_max(), s), certain, probability);
                data.iter().for_each(|sum| assert!(above(sum, high) <= probability, "{mechanism:?} {value}"));
                let draws = law.draws(cells[0]);
                let limit = CROWD as u64 * u64::from(draws);
                let high = most(|s| CROWD as f64 * law.ln_cell(draws, s), limit, probability);
                of_cell
                    .iter()
                    .for_each(|sum| assert!(above(sum, high) <= probability, "{mechanism:?} {value}"));
            }
            // What is called impossible is.
            assert!(data.iter().all(|sum| above(sum, certain) == 0.0));
        }
    }
}

/// The bounds are not idle: of the worst data, what is allowed is exceeded nearly as often as is said.
#[test]
fn limits_are_near_their_laws() {
    let (mechanism, crowd) = (Mechanism::plain(one_hot(6, 2.0)), 40usize);
    let law = Law::new(&mechanism, Assignment::new(1, 2).unwrap(), &[1]);
    let sum = |value, of: &dyn Fn(u32) -> bool| {
        let one = law_of(&mechanism, (1, 2), &[1], value, of);
        (0..crowd).fold(vec![1.0], |sum, _| convolve(&sum, &one))
    };
    let probability = 1e-6;
    let high = most(|s| crowd as f64 * law.ln_holding(s), 200, probability);
    let tail = above(&sum(Some(3), &|_| true), high - 2);
    assert!(tail > probability, "{high}: {tail}");
    let blank = law.ln_blank_in_bodies(6);
    let low = least(|s| crowd as f64 * blank(s), 200, probability);
    let tail = below(&sum(None, &|_| true), low + 2);
    assert!(tail > probability, "{low}: {tail}");
    let few = Mechanism::plain(one_hot(6, 0.6));
    let law = Law::new(&few, Assignment::new(1, 1).unwrap(), &[0]);
    let one = law_of(&few, (1, 1), &[0], Some(3), &|attribute| attribute == 3);
    let all = (0..crowd).fold(vec![1.0], |sum, _| convolve(&sum, &one));
    let high = most(|s| crowd as f64 * law.ln_value(1, s), 40, 0.001);
    assert!(high < 40 && above(&all, high - 2) > 0.001, "{high}");
}

/// What each instance counts of a crowd that keeps to the rules.
fn honest(
    mechanism: &Mechanism,
    (tau, instances): (u32, u32),
    crowd: u64,
    value: impl Fn(u64) -> Option<Value>,
    seed: u8,
) -> Vec<Tally> {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let mut tallies: Vec<Tally> = (0..instances).map(|_| mechanism.tally().unwrap()).collect();
    for person in 0..crowd {
        let fragments = mechanism.randomize(value(person).as_ref(), &mut rng).unwrap();
        let mut fragments = fragments.attributes().to_vec();
        fragments.sort_unstable();
        for same in fragments.chunk_by(|one, other| one == other) {
            // Which of a bit's fragments are set does not matter: their coins are alike.
            let turn = (person % u64::from(tau)) as u32;
            for (t, &attribute) in (0u32..).zip(same) {
                let position = (attribute + (t + turn) % tau) % instances;
                tallies[position as usize].add_fragment(attribute).unwrap();
            }
        }
    }
    tallies.iter_mut().for_each(|tally| tally.add_respondents(crowd));
    tallies
}

fn check(
    mechanism: &Mechanism,
    (tau, instances): (u32, u32),
    envelopes: u32,
    tallies: &[Tally],
) -> Plausibility {
    let assignment = Assignment::new(tau, instances).unwrap();
    let parts: Vec<InstanceCounts<'_>> = tallies
        .iter()
        .zip(0..)
        .map(|(tally, position)| InstanceCounts { instance: position + 1, position, tally })
        .collect();
    let mut sums = mechanism.tally().unwrap();
    tallies.iter().for_each(|tally| sums.merge(tally).unwrap());
    let estimates = mechanism.estimate(&sums.over(tallies[0].respondents())).unwrap();
    Plausibility::of(mechanism, assignment, envelopes, &parts, (&estimates, true))
}

/// 200 releases of crowds of every kind, of which all hold one value, or different ones, or none: with probability 2e-4
/// one of them is marked on a fresh seed; the seeds are fixed.
#[test]
fn honest_crowds_are_not_marked() {
    let shape = SketchShape { domain: 300, rows: 8, cells: 16, seed: 3 };
    let kinds = [
        (Mechanism::plain(one_hot(20, 3.0)), 1, 3),
        (fragmented(12, 4), 4, 3),
        (Mechanism::plain(Record::new(Attributes::new(&[4, 8]).unwrap(), epsilon(3.0)).unwrap()), 1, 2),
        (sketch(shape, 4.0, 2), 1, 2),
    ];
    for (mechanism, tau, instances) in kinds {
        for seed in 0..50u8 {
            let crowd = 20 + 5 * u64::from(seed);
            let value = |person: u64| {
                let held = match seed % 3 {
                    0 => 7,
                    1 => person % 12,
                    _ => return None,
                };
                Some(match mechanism.record() {
                    Some(_) => Value::from(vec![Some(held as u32 % 4), Some(held as u32 % 8)]),
                    None => Value::from(held),
                })
            };
            let tallies = honest(&mechanism, (tau, instances), crowd, value, seed);
            let found = check(&mechanism, (tau, instances), 200, &tallies);
            assert_eq!(found, Plausibility::default(), "{mechanism:?} {crowd}");
        }
    }
}

/// One liar in a sketch of 22 people fills every envelope with cells of one value.
#[test]
fn more_people_than_there_are_do_not_hold_a_value() {
    let shape = SketchShape { domain: 1000, rows: 64, cells: 256, seed: 9 };
    let mechanism = sketch(shape, 6.0, 1);
    let mut tallies = honest(&mechanism, (1, 3), 21, |person| Some(Value::from(person)), 5);
    let hashes = mechanism.sketch().unwrap();
    let mut left = [60; 3];
    for row in 0..shape.rows {
        let attribute = row * shape.cells + hashes.cell(row, 777).unwrap();
        let at = (attribute % 3) as usize;
        let sent = left[at].min(20);
        tallies[at].add_count(attribute, sent).unwrap();
        left[at] -= sent;
    }
    tallies.iter_mut().for_each(|tally| tally.add_respondents(1));
    let found = check(&mechanism, (1, 3), 60, &tallies);
    // And those that share cells with it in which the liar put more than there are people.
    assert!(found.withheld.values().all(|why| why.fragments > 22), "{found:?}");
    let why = found.withheld[&777];
    assert_eq!((why.mark, why.at_most, why.respondents), (Mark::Impossible, 22, 22));
    assert!(why.fragments >= 180, "{why:?}");
    assert!(found.doubts.iter().any(|doubt| doubt.name() == "cells"), "{found:?}");
    assert!(why.to_string().contains("where 22 honest respondents can send 22 at most"), "{why}");
}

/// A liar who adds more than there is room for in the law of an instance's total.
#[test]
fn totals_that_no_crowd_has_are_marked() {
    let mechanism = Mechanism::plain(one_hot(6, 4.0));
    let value = |person: u64| Some(Value::from(person % 6));
    let mut tallies = honest(&mechanism, (1, 2), 60, value, 3);
    assert_eq!(check(&mechanism, (1, 2), 40, &tallies), Plausibility::default());
    // At instance 1 all 60 could hold a value of its own, which 30 do; at both together they cannot.
    tallies[0].add_count(2, 30).unwrap();
    let found = check(&mechanism, (1, 2), 40, &tallies);
    assert!(found.withheld.is_empty());
    let [Doubt::TotalAbove { instance: None, respondents: 60, .. }] = found.doubts[..] else {
        panic!("{found:?}")
    };
    tallies[0].add_count(2, 60).unwrap();
    let found = check(&mechanism, (1, 2), 40, &tallies);
    assert_eq!(found.withheld.keys().copied().collect::<Vec<_>>(), [2]);
    assert_eq!(found.withheld[&2].mark, Mark::Impossible);
    assert!(matches!(found.doubts[0], Doubt::TotalAbove { instance: Some(1), respondents: 60, .. }));
    // Where hops lose what people sent.
    let mut lost = honest(&mechanism, (1, 2), 6000, value, 3);
    lost[1] = mechanism.tally().unwrap();
    lost[1].add_respondents(6000);
    let found = check(&mechanism, (1, 2), 40, &lost);
    assert!(matches!(found.doubts[..], [Doubt::TotalBelow { instance: 2, fragments: 0, .. }]), "{found:?}");
}

/// A count that all could have sent together, and hardly ever do: at epsilon_local 0.6 a bit of theirs is set with probability 0.65.
#[test]
fn counts_that_a_crowd_hardly_ever_sends_are_withheld() {
    let mechanism = Mechanism::plain(one_hot(4, 0.6));
    let mut tally = honest(&mechanism, (1, 1), 200, |_| Some(Value::from(1)), 7).remove(0);
    assert!(check(&mechanism, (1, 1), 4, &[tally.clone()]).withheld.is_empty());
    let missing = 190 - tally.count(1).unwrap();
    tally.add_count(1, missing).unwrap();
    let found = check(&mechanism, (1, 1), 4, &[tally]);
    assert_eq!(found.withheld[&1].mark, Mark::Implausible);
    assert_eq!((found.withheld[&1].fragments, found.withheld[&1].respondents), (190, 200));
}

/// From one fragment more than is said on: the limits of a release are the exact tails of the law at the share of
/// [`FALSE_ALARM`] that each has, but for a few counts that Chernoff's bound is above them.
#[test]
fn marks_begin_one_fragment_beyond_the_law() {
    let (size, crowd) = (6, 40);
    let mechanism = Mechanism::plain(one_hot(size, 2.0));
    let tallies = |total: u64, instances: u64| -> Vec<Tally> {
        let empty = (0..instances).map(|_| mechanism.tally().unwrap());
        let mut tallies: Vec<Tally> = empty.collect();
        for at in 0..total {
            tallies[(at % size % instances) as usize].add_fragment((at % size) as u32).unwrap();
        }
        tallies.iter_mut().for_each(|tally| tally.add_respondents(crowd));
        tallies
    };
    let sum = |value, instances: u32| {
        let all: Vec<u32> = (0..instances).collect();
        let one = law_of(&mechanism, (1, instances), &all, value, &|_| true);
        (0..crowd).fold(vec![1.0], |sum, _| convolve(&sum, &one))
    };
    for instances in [1, 2] {
        let share = FALSE_ALARM / 3.0 / (2 * instances + 1) as f64;
        let whole = |doubt: &Doubt| match *doubt {
            Doubt::TotalAbove { instance, fragments, at_most, .. }
                if instance.is_none() == (instances > 1) =>
            {
                Some((fragments, at_most))
            }
            _ => None,
        };
        let found = |total| check(&mechanism, (1, instances as u32), 40, &tallies(total, instances));
        let (first, (fragments, at_most)) =
            (0..240).find_map(|total| Some((total, found(total).doubts.iter().find_map(whole)?))).unwrap();
        assert_eq!((fragments, at_most), (first, first - 1));
        let law = sum(Some(3), instances as u32);
        assert!(above(&law, at_most) <= share && above(&law, at_most - 4) > share, "{at_most}");
    }
    let below_of = |total| match check(&mechanism, (1, 1), 40, &tallies(total, 1)).doubts[..] {
        [Doubt::TotalBelow { fragments, at_least, .. }] => Some((fragments, at_least)),
        _ => None,
    };
    let (last, (fragments, at_least)) =
        (0..40).rev().find_map(|total| Some((total, below_of(total)?))).unwrap();
    assert_eq!((fragments, at_least), (last, last + 1));
    let (law, share) = (sum(None, 1), FALSE_ALARM / 9.0);
    assert!(below(&law, at_least) <= share && below(&law, at_least + 4) > share, "{at_least}");
}

/// The share of one of 600 values, and of one of 1,000 in a sketch: 200 people who all hold it exceed the limit as rarely.
#[test]
fn every_value_has_its_share_of_false_alarms() {
    let shape = SketchShape { domain: 1000, rows: 4, cells: 64, seed: 9 };
    for mechanism in [Mechanism::plain(one_hot(600, 0.6)), sketch(shape, 0.6, 1)] {
        let cells: Vec<u32> = match mechanism.sketch() {
            Some(hashes) => (0..4).map(|row| row * 64 + hashes.cell(row, 7).unwrap()).collect(),
            None => vec![7],
        };
        let why = |count: u64| {
            let mut tally = mechanism.tally().unwrap();
            (0..count).zip(cells.iter().cycle()).for_each(|(_, &cell)| tally.add_fragment(cell).unwrap());
            tally.add_respondents(200);
            check(&mechanism, (1, 1), 600, &[tally]).withheld.get(&7).copied()
        };
        let (first, found) = (0..201).find_map(|count| Some((count, why(count)?))).unwrap();
        assert_eq!((found.mark, found.fragments, found.at_most), (Mark::Implausible, first, first - 1));
        let Coins::Runs { coin, .. } = mechanism.coins() else { panic!("one run") };
        let (law, share) =
            (coins(200, 1.0 - coin.probability()), FALSE_ALARM / 3.0 / mechanism.domain() as f64);
        assert!(above(&law, found.at_most) <= share, "{mechanism:?}: {found:?}");
        assert!(above(&law, found.at_most - 5) > share, "{mechanism:?}: {found:?}");
        assert_eq!(why(200).unwrap().mark, Mark::Implausible, "all of them can have sent one");
        let beyond = why(201).unwrap();
        assert_eq!((beyond.mark, beyond.at_most), (Mark::Impossible, 200));
    }
}

/// Instances that counted 60 and 20 people, of whom all hold a value: each count is held against its own crowd, and a sum
/// against the larger one. Crowds that are not the same people have no sum.
#[test]
fn instances_that_counted_different_crowds_are_not_held_against_one_another() {
    let mechanism = Mechanism::fragments(one_hot(4, 8.0), epsilon(6.0), 2).unwrap();
    let tallies = |counts: [u64; 2]| {
        let tally = |(count, respondents)| {
            let mut tally = mechanism.tally().unwrap();
            tally.add_count(0, count).unwrap();
            tally.add_respondents(respondents);
            tally
        };
        counts.into_iter().zip([60, 20]).map(tally).collect::<Vec<Tally>>()
    };
    assert_eq!(check(&mechanism, (2, 2), 40, &tallies([60, 20])), Plausibility::default());
    let why = check(&mechanism, (2, 2), 40, &tallies([30, 21])).withheld[&0];
    assert_eq!((why.mark, why.fragments, why.at_most, why.respondents), (Mark::Impossible, 21, 20, 20));
    // 60 hold a value at one instance, and 60 at the other.
    let plain = Mechanism::plain(one_hot(4, 8.0));
    let mut both: Vec<Tally> = (0..2).map(|_| plain.tally().unwrap()).collect();
    for (tally, value) in both.iter_mut().zip([0, 1]) {
        tally.add_count(value, 60).unwrap();
        tally.add_respondents(60);
    }
    assert_eq!(check(&plain, (1, 2), 40, &both).doubts.len(), 1);
    let parts: Vec<InstanceCounts<'_>> = both
        .iter()
        .zip(0..)
        .map(|(tally, position)| InstanceCounts { instance: position + 1, position, tally })
        .collect();
    let estimates = plain.estimate(&both[0]).unwrap();
    let assignment = Assignment::new(1, 2).unwrap();
    let apart = Plausibility::of(&plain, assignment, 40, &parts, (&estimates, false));
    assert_eq!(apart, Plausibility::default());
}
