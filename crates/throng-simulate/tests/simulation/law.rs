//! Tiny surveys, whose whole law can be computed: every outcome comes up as often as it should, in both modes.

use std::collections::HashMap;

use throng_dp::{BitRandomizer, Coins, Mechanism, SketchShape};
use throng_simulate::simulation::{Mode, sketches};

use crate::statistics::{assert_law, assert_same_law};
use crate::{MODES, fragmented, fragmented_sketch, in_one_pool, one_hot, repeated, simulate, sketch};

/// How many fragments arrive, and for each value the sum of its cells over all rows.
type Outcome = Vec<u32>;
type Law = HashMap<Outcome, f64>;
/// An outcome as it shows in a result: fragments, and estimates in millionths.
type RoundedOutcome = (u64, Vec<i64>);

/// Three values, one of which nobody holds, and three respondents. The sketches have rows in which values collide.
fn tiny() -> (Vec<u64>, Vec<(&'static str, Mechanism)>) {
    let shape = |rows, cells, seed| SketchShape { domain: 3, rows, cells, seed };
    let mechanisms = vec![
        ("one-hot", one_hot(3, 1.0)),
        ("one-hot, strong noise", one_hot(3, 0.01)),
        ("repeated runs", repeated(3, 3.0, 2)),
        ("report fragments", fragmented(3, 1.5, 1.0, 2)),
        ("sketch", sketch(shape(3, 2, 1), 1.0, 1)),
        ("sketch of one row", sketch(shape(1, 3, 2), 1.0, 1)),
        ("sketch, two of three rows", sketch(shape(3, 2, 3), 2.0, 2)),
        ("sketch, three of five rows", sketch(shape(5, 2, 4), 9.0, 3)),
        ("sketch, four of seven rows", sketch(shape(7, 2, 5), 16.0, 4)),
        ("sketch, all rows", sketch(shape(3, 2, 6), 6.0, 3)),
        ("fragmented sketch", fragmented_sketch(shape(3, 2, 7), 4.0, 2, 2.0, 2)),
    ];
    (vec![2, 0, 1], mechanisms)
}

#[test]
fn both_modes_draw_every_outcome_as_often_as_the_law_says() {
    in_one_pool(|| {
        let (counts, mechanisms) = tiny();
        for (name, mechanism) in &mechanisms {
            let law = law(mechanism, &counts);
            let [aggregate, respondent] = MODES.map(|mode| {
                let seen = draws(|seed| simulate(mechanism, &counts, mode, seed));
                assert_law(&seen, &law, &format!("{name}, {mode:?}"));
                seen
            });
            assert_same_law(&aggregate, &respondent, name);
        }
    });
}

#[test]
fn a_single_respondent_and_a_crowd_on_one_value_have_their_law() {
    in_one_pool(|| {
        let shape = |domain, rows, cells| SketchShape { domain, rows, cells, seed: 3 };
        for counts in [vec![1], vec![4], vec![0, 1], vec![0, 0, 5]] {
            let domain = counts.len() as u64;
            for (name, mechanism) in [
                ("one-hot", one_hot(domain, 0.7)),
                ("report fragments", fragmented(domain, 1.5, 1.0, 3)),
                ("sketch", sketch(shape(domain, 3, 2), 1.0, 2)),
            ] {
                let law = law(&mechanism, &counts);
                for mode in MODES {
                    let seen = draws(|seed| simulate(&mechanism, &counts, mode, seed));
                    assert_law(&seen, &law, &format!("{name}, {counts:?}, {mode:?}"));
                }
            }
        }
    });
}

/// The joint law of two sketches that are simulated together: respondents pick the same rows in both. With all rows in
/// every report nothing is picked, so the two are independent, and their joint law is the product.
#[test]
fn sketches_that_are_simulated_together_have_noise_of_their_own() {
    in_one_pool(|| {
        let counts = [1, 1];
        let shape = SketchShape { domain: 2, rows: 2, cells: 2, seed: 4 };
        let (one, two) = (sketch(shape, 1.0, 2), fragmented_sketch(shape, 3.0, 2, 2.0, 2));
        for pair in [[&one, &one], [&one, &two]] {
            let laws = pair.map(|mechanism| law(mechanism, &counts));
            let joint: HashMap<(RoundedOutcome, RoundedOutcome), f64> = laws[0]
                .iter()
                .flat_map(|(a, p)| laws[1].iter().map(move |(b, q)| ((a.clone(), b.clone()), p * q)))
                .collect();
            let mut seen = HashMap::new();
            for seed in 0..DRAWS {
                let both = sketches(&pair, &counts, seed, 1, |_| ()).unwrap();
                let shown: Vec<RoundedOutcome> =
                    both.iter().map(|one| shown(one.fragments, one.estimates.counts())).collect();
                *seen.entry((shown[0].clone(), shown[1].clone())).or_default() += 1;
            }
            assert_law(&seen, &joint, "two sketches");
        }
    });
}

/// Marginal laws of many cells: more values than share a stream (8,192) and more respondents than do (16,384), counts
/// on both sides of what is prepared in advance (64), and pairs of values at several distances.
#[test]
fn cells_of_a_large_survey_have_their_law_and_are_independent() {
    let pattern = [0, 1, 2, 3, 0, 0, 63, 64, 65, 7];
    let counts: Vec<u64> = (0..20_000).map(|value| pattern[value % pattern.len()]).collect();
    let respondents: u64 = counts.iter().sum();
    let domain = counts.len() as u64;
    for (name, mechanism) in [
        ("one-hot", one_hot(domain, 12.5)),
        ("repeated runs", repeated(domain, 25.0, 2)),
        ("report fragments", fragmented(domain, 12.5, 12.0, 2)),
    ] {
        let noise = mechanism.coins().noise();
        let bit = |held: bool| draws_of_bit(mechanism.coins(), held);
        for mode in MODES {
            let simulated = simulate(&mechanism, &counts, mode, 1);
            let estimates = simulated.estimates.counts();
            for (place, &count) in pattern.iter().enumerate() {
                let cells = estimates.iter().skip(place).step_by(pattern.len());
                let sum = |estimate: &f64| {
                    noise_sum(*estimate, respondents, noise.flip(), mechanism.coins().draws())
                };
                let mut seen = HashMap::new();
                for estimate in cells {
                    *seen.entry(sum(estimate)).or_default() += 1;
                }
                let law = sum_law(&bit(true), count, &bit(false), respondents - count);
                assert_law(&seen, &law, &format!("{name}, {mode:?}, {count} hold it"));
            }
            // Correlations over 20,000 pairs have a deviation of 1/sqrt(20,000); 6 of them have a chance of 2e-9.
            // At a distance of 8,192 the values have the same place in the next stream.
            let deviation = (respondents as f64 * noise.variance()).sqrt();
            let errors: Vec<f64> =
                estimates.iter().zip(&counts).map(|(e, &c)| (e - c as f64) / deviation).collect();
            for distance in [1, 2, 10, 8192] {
                let pairs = errors.iter().zip(&errors[distance..]);
                let correlation = pairs.map(|(a, b)| a * b).sum::<f64>() / (errors.len() - distance) as f64;
                let allowed = 6.0 / ((errors.len() - distance) as f64).sqrt();
                assert!(correlation.abs() < allowed, "{name}, {mode:?}, {distance}: {correlation}");
            }
        }
    }
}

/// Two million counts with a mean above 10 each, where the sampler is one of rejection: enough to see a hat or a squeeze
/// that is off by a percent.
#[test]
fn large_counts_have_the_binomial_law() {
    let mut counts = vec![0; 2_000_000];
    let respondents = 100_000;
    counts[0] = respondents;
    for local in [9.03, 8.1, 7.1] {
        let mechanism = one_hot(counts.len() as u64, local);
        let simulated = simulate(&mechanism, &counts, Mode::Aggregate, 1);
        let flip = mechanism.coins().noise().flip();
        let mut seen = HashMap::new();
        for estimate in &simulated.estimates.counts()[1..] {
            *seen.entry(noise_sum(*estimate, respondents, flip, 1)).or_default() += 1;
        }
        let law = sum_law(&[], 0, &[1.0 - flip, flip], respondents);
        assert_law(&seen, &law, &format!("epsilon {local}, mean {:.1}", respondents as f64 * flip));
    }
}

fn draws(
    run: impl Fn(u64) -> throng_simulate::simulation::SimulationOutcome,
) -> HashMap<RoundedOutcome, u64> {
    let mut seen = HashMap::new();
    for seed in 0..DRAWS {
        let simulated = run(seed);
        *seen.entry(shown(simulated.fragments, simulated.estimates.counts())).or_default() += 1;
    }
    seen
}

fn shown(fragments: u64, estimates: &[f64]) -> RoundedOutcome {
    (fragments, estimates.iter().map(|estimate| (estimate * 1e6).round() as i64).collect())
}

/// The law of results, from the law of what one respondent adds and the textbook's estimator.
fn law(mechanism: &Mechanism, counts: &[u64]) -> HashMap<RoundedOutcome, f64> {
    let mut law = Law::from([(vec![0; counts.len() + 1], 1.0)]);
    for (value, &count) in counts.iter().enumerate() {
        let one = respondent(mechanism, value);
        for _ in 0..count {
            law = convolve(&law, &one);
        }
    }
    let noise = mechanism.coins().noise();
    let n = counts.iter().sum::<u64>() as f64;
    let estimate = |outcome: &Outcome| -> Vec<f64> {
        let sums = outcome[1..].iter().map(|&sum| f64::from(sum));
        match mechanism.sketch() {
            None => sums.map(|sum| noise.count(sum, n)).collect(),
            Some(sketch) => {
                let (r, m) = (f64::from(sketch.differing_bits()), f64::from(sketch.shape().cells));
                let holders = noise.count(f64::from(outcome[0]), m * n * r) / r;
                sums.map(|sum| (noise.count(sum, n * r) / r - holders / m) * m / (m - 1.0)).collect()
            }
        }
    };
    let mut results = HashMap::new();
    for (outcome, probability) in &law {
        *results.entry(shown(outcome[0].into(), &estimate(outcome))).or_default() += probability;
    }
    results
}

/// What one respondent adds.
fn respondent(mechanism: &Mechanism, held: usize) -> Law {
    let domain = mechanism.domain() as usize;
    let (coins, identity) = (mechanism.coins(), (0..domain as u32).collect::<Vec<_>>());
    let Some(sketch) = mechanism.sketch() else { return row(coins, domain as u32, &identity, held) };
    let SketchShape { rows, cells, .. } = sketch.shape();
    let row_law = |at: u32| {
        let hashed: Vec<u32> = (0..domain).map(|value| sketch.cell(at, value as u64).unwrap()).collect();
        row(coins, cells, &hashed, held)
    };
    // Every set of rows of the right size is as likely as every other.
    let sets: Vec<u32> =
        (0..1u32 << rows).filter(|set| set.count_ones() == sketch.differing_bits()).collect();
    let mut law = Law::new();
    for set in &sets {
        let start = Law::from([(vec![0; domain + 1], 1.0 / sets.len() as f64)]);
        let picked = (0..rows).filter(|at| set >> at & 1 == 1);
        let of_set = picked.fold(start, |law, at| convolve(&law, &row_law(at)));
        for (outcome, probability) in of_set {
            *law.entry(outcome).or_default() += probability;
        }
    }
    law
}

/// What a respondent adds in one row, where `hashed` says which cell each value has.
fn row(coins: Coins, cells: u32, hashed: &[u32], held: usize) -> Law {
    let mut law = Law::from([(vec![0; hashed.len() + 1], 1.0)]);
    for cell in 0..cells {
        let ones = draws_of_bit(coins, hashed[held] == cell);
        let outcome = |ones: usize| -> Outcome {
            let of_value = hashed.iter().map(|&at| if at == cell { ones as u32 } else { 0 });
            [ones as u32].into_iter().chain(of_value).collect()
        };
        let one = ones.iter().enumerate().map(|(ones, &probability)| (outcome(ones), probability)).collect();
        law = convolve(&law, &one);
    }
    law
}

fn convolve(one: &Law, other: &Law) -> Law {
    let mut law = Law::new();
    for (a, p) in one {
        for (b, q) in other {
            let sum = a.iter().zip(b).map(|(a, b)| a + b).collect();
            *law.entry(sum).or_default() += p * q;
        }
    }
    law
}

/// The probability that 0, 1, 2, ... of the draws of one bit arrive set.
fn draws_of_bit(coins: Coins, bit: bool) -> Vec<f64> {
    let set = |flip: f64, bit: bool| if bit { 1.0 - flip } else { flip };
    match coins {
        Coins::Runs { coin, runs } => binomial(runs, set(coin.probability(), bit)),
        Coins::Fragments { backstop, fragment, tau } => {
            let stored = set(backstop.probability(), bit);
            let if_set = binomial(tau, set(fragment.probability(), true));
            let if_clear = binomial(tau, set(fragment.probability(), false));
            if_set.iter().zip(if_clear).map(|(a, b)| stored * a + (1.0 - stored) * b).collect()
        }
    }
}

/// By Pascal's triangle: no formula in common with the sampler.
fn binomial(n: u32, p: f64) -> Vec<f64> {
    (0..n).fold(vec![1.0], |law, _| sum_of(&law, &[1.0 - p, p]))
}

fn sum_of(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut law = vec![0.0; one.len() + other.len() - 1];
    for (i, a) in one.iter().enumerate() {
        for (j, b) in other.iter().enumerate() {
            law[i + j] += a * b;
        }
    }
    law
}

/// The law of a sum over so many set and so many clear bits, by squaring; sums beyond 400 have no weight here.
fn sum_law(set: &[f64], holders: u64, clear: &[f64], others: u64) -> HashMap<u64, f64> {
    let power = |law: &[f64], mut times: u64| {
        let (mut base, mut product) = (law.to_vec(), vec![1.0]);
        while times > 0 {
            if times & 1 == 1 {
                product = sum_of(&product, &base);
                product.truncate(400);
            }
            base = sum_of(&base, &base);
            base.truncate(400);
            times >>= 1;
        }
        product
    };
    let mut law = sum_of(&power(set, holders), &power(clear, others));
    law.truncate(400);
    (0..).zip(law).filter(|(_, probability)| *probability > 0.0).collect()
}

/// The sum that an estimate was made from.
fn noise_sum(estimate: f64, respondents: u64, flip: f64, draws: u32) -> u64 {
    let sum = (estimate * (1.0 - 2.0 * flip) + respondents as f64 * flip) * f64::from(draws);
    assert!((sum - sum.round()).abs() < 1e-3, "{sum} is no whole number");
    sum.round() as u64
}

/// Enough for some hundred bins.
const DRAWS: u64 = 6000;
