//! The smallest and largest crowds, what is refused, and that order does not matter.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use throng_account::Refusal;
use throng_dp::{Mechanism, SketchShape, Tally, Value};
use throng_simulate::simulation::{Mode, Simulation};

use crate::{MODES, fragmented, fragmented_sketch, mechanisms, one_hot, repeated, simulate, sketch};

/// A domain of 1, a single respondent, values that nobody holds and a crowd that all holds the same.
#[test]
fn the_smallest_surveys_work_in_every_mechanism() {
    for counts in [vec![1], vec![1000], vec![0, 1], vec![0, 0, 0, 500], vec![1, 0, 0, 0, 0, 0, 1]] {
        for (name, mechanism) in mechanisms(counts.len() as u64, 2) {
            for mode in MODES {
                let simulated = simulate(&mechanism, &counts, mode, 3);
                let estimates = &simulated.estimates;
                assert_eq!(estimates.counts().len(), counts.len());
                assert_eq!(estimates.respondents(), counts.iter().sum::<u64>());
                // With collisions a deviation is not normal, but it is never beyond what theory's Bennett bound says
                // with a chance of 1e-9.
                let spread = mechanism.spread_of(&counts);
                for (estimate, &count) in estimates.counts().iter().zip(&counts) {
                    let off = (estimate - count as f64).abs();
                    let range = counts.iter().max().map_or(0.0, |&largest| largest as f64);
                    let allowed = spread.deviation(count as f64, 1e-9) + range;
                    assert!(off <= allowed, "{name}, {mode:?}, {counts:?}: {estimate}");
                }
            }
        }
    }
}

/// At an epsilon without noise the answer is the truth, so a count that is lost or doubled shows.
#[test]
fn without_noise_the_truth_comes_back() {
    let counts: Vec<u64> = (0..9000).map(|value| [3, 0, 70, 1][value % 4]).collect();
    let respondents: u64 = counts.iter().sum();
    for (mechanism, draws) in [
        (one_hot(9000, 70.0), 1),
        (repeated(9000, 210.0, 3), 3),
        (fragmented(9000, 70.0, 70.0, 5), 5),
        (sketch(SketchShape { domain: 9000, rows: 3, cells: 4, seed: 1 }, 140.0, 2), 2),
    ] {
        for mode in MODES {
            let simulated = simulate(&mechanism, &counts, mode, 1);
            assert_eq!(simulated.fragments, draws * respondents);
            if mechanism.sketch().is_none() {
                let rounded: Vec<u64> =
                    simulated.estimates.counts().iter().map(|c| c.round() as u64).collect();
                assert_eq!(rounded, counts);
            }
        }
    }
}

/// Beyond 2^32 in every sum, with and without a second layer of coins; 6.5 deviations have a chance of 1e-10 each.
#[test]
fn counts_beyond_32_bits_are_right() {
    let counts = [30_000_000_000, 0, 4_294_967_296, 1, 4_294_967_295];
    for mechanism in [one_hot(5, 2.0), repeated(5, 4.0, 2), fragmented(5, 3.0, 1.0, 16)] {
        let spread = mechanism.spread_of(&counts);
        for seed in 0..20 {
            let simulated = simulate(&mechanism, &counts, Mode::Aggregate, seed);
            for (estimate, &count) in simulated.estimates.counts().iter().zip(&counts) {
                let deviations = (estimate - count as f64) / spread.variance(count as f64).sqrt();
                assert!(deviations.abs() < 6.5, "{estimate} for {count}: {deviations} deviations");
            }
        }
    }
    // In a sketch of one value there are no collisions, so the noise is all.
    let shape = SketchShape { domain: 1, rows: 3, cells: 4, seed: 1 };
    for mechanism in [sketch(shape, 2.0, 1), sketch(shape, 4.0, 2), fragmented_sketch(shape, 3.0, 1, 1.0, 16)]
    {
        let counts = [40_000_000_001];
        let spread = mechanism.spread_of(&counts);
        let mut squares = 0.0;
        for seed in 0..20 {
            let simulated = simulate(&mechanism, &counts, Mode::Aggregate, seed);
            let deviations = (simulated.estimates.counts()[0] - counts[0] as f64) / spread.noise.sqrt();
            assert!(deviations.abs() < 6.5, "{deviations} deviations");
            squares += deviations * deviations;
        }
        // Chi-square with 20 degrees of freedom: below 2.4 or above 80 with a chance of 1e-6.
        assert!((2.4..80.0).contains(&squares), "{squares}");
    }
}

#[test]
fn the_largest_crowd_is_two_to_the_52() {
    let most = 1 << 52;
    let (mechanism, twice) = (one_hot(2, 1.0), repeated(2, 2.0, 2));
    let run = |mechanism: &Mechanism, counts: &[u64]| {
        Simulation { mechanism, counts, mode: Mode::Aggregate, seed: 1, threads: 1 }.run(|_| ())
    };
    let simulated = run(&mechanism, &[most - 5, 5]).unwrap();
    let deviation = (most as f64 * mechanism.coins().noise().variance()).sqrt();
    let off = (simulated.estimates.counts()[0] - (most - 5) as f64).abs();
    assert!(off < 6.5 * deviation, "{off} with a deviation of {deviation}");
    for (mechanism, counts) in [
        (&mechanism, [most - 5, 6]),
        (&mechanism, [u64::MAX, 1]),
        (&mechanism, [u64::MAX, u64::MAX]),
        (&twice, [most / 2, 1]),
    ] {
        let error = run(mechanism, &counts).unwrap_err();
        assert!(error.to_string().contains("2^52; scale the crowd down"), "{error}");
        assert!(!error.is::<Refusal>());
    }
    assert!(run(&twice, &[most / 2, 0]).is_ok());
}

#[test]
fn respondent_mode_refuses_what_would_take_hours() {
    // Half of 10^6 bits arrive set: 499,000 fragments for each of 20,050 respondents are just above 10^10.
    let mechanism = one_hot(1_000_000, 0.004);
    assert!((mechanism.fragments_expected() - 499_000.0).abs() < 1.0);
    let mut counts = vec![0; 1_000_000];
    for (respondents, refused) in [(20_039, false), (20_041, true)] {
        counts[3] = respondents;
        let simulation =
            |mode| Simulation { mechanism: &mechanism, counts: &counts, mode, seed: 1, threads: 1 };
        assert_eq!(simulation(Mode::Respondent).check().is_err(), refused);
        assert!(simulation(Mode::Aggregate).check().is_ok());
    }
    let simulation =
        Simulation { mechanism: &mechanism, counts: &counts, mode: Mode::Respondent, seed: 1, threads: 1 };
    let error = simulation.run(|_| ()).unwrap_err();
    assert!(error.is::<Refusal>());
    let message = error.to_string();
    assert!(message.contains("1.0e10 fragments") && message.contains("--mode aggregate"), "{message}");
}

#[test]
fn another_domain_and_an_empty_crowd_are_refused() {
    for (name, mechanism) in mechanisms(3, 1) {
        for mode in MODES {
            let run = |counts: &[u64]| {
                let error =
                    Simulation { mechanism: &mechanism, counts, mode, seed: 1, threads: 1 }.run(|_| ());
                error.unwrap_err().to_string()
            };
            for counts in [&[1, 2][..], &[1, 2, 3, 0], &[]] {
                assert!(run(counts).contains("the survey 3; they must be the same"), "{name}");
            }
            assert!(run(&[0, 0, 0]).contains("nobody holds any value"), "{name}");
        }
    }
}

/// What an analyzer counts does not depend on the order in which fragments arrive, nor on how they are cut in batches.
#[test]
fn a_shuffled_crowd_gives_the_same_tally() {
    let counts = [30u64, 0, 1, 3, 90, 17, 0];
    for (name, mechanism) in mechanisms(7, 4) {
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        let mut all = Vec::new();
        for (value, &count) in (0..).zip(&counts) {
            for _ in 0..count {
                let fragments = mechanism.randomize(Some(&Value::One(value)), &mut rng).unwrap();
                all.extend_from_slice(fragments.attributes());
            }
        }
        let mut in_order = mechanism.tally().unwrap();
        in_order.add_fragments(&all).unwrap();
        in_order.add_respondents(141);

        // Fisher and Yates; the bias of a remainder does not matter here.
        for i in (1..all.len()).rev() {
            all.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
        }
        let mut parts: Vec<Tally> = Vec::new();
        for batch in all.chunks(all.len() / 3 + 1) {
            let mut part = mechanism.tally().unwrap();
            batch.iter().for_each(|&fragment| part.add_fragments(&[fragment]).unwrap());
            part.add_respondents(47);
            parts.push(part);
        }
        let mut shuffled = parts.pop().unwrap();
        parts.iter().for_each(|part| shuffled.merge(part).unwrap());
        assert_eq!(shuffled, in_order, "{name}");
        let estimates = |tally| mechanism.estimate(tally).unwrap();
        assert_eq!(estimates(&shuffled), estimates(&in_order), "{name}");
    }
}

#[test]
fn progress_and_steps_fit_the_mode() {
    let (bits, rows) =
        (one_hot(3, 1.0), sketch(SketchShape { domain: 3, rows: 5, cells: 4, seed: 1 }, 1.0, 1));
    let counts = [4, 0, 5];
    let steps = |mechanism, mode| {
        let simulation = Simulation { mechanism, counts: &counts, mode, seed: 1, threads: 1 };
        (simulation.steps(), simulation.step_noun())
    };
    assert_eq!(steps(&bits, Mode::Aggregate), (3, "values"));
    assert_eq!(steps(&rows, Mode::Aggregate), (5, "rows"));
    assert_eq!(steps(&bits, Mode::Respondent), (9, "respondents"));
    assert_eq!(steps(&rows, Mode::Respondent), (9, "respondents"));
}
