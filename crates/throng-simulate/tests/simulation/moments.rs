//! Means, variances and covariances of estimates over many seeds, against theory and between the modes.

use throng_dp::SketchShape;
use throng_simulate::simulation::{Mode, sketches};

use crate::statistics::{assert_mean, assert_same_mean, assert_variance};
use crate::{MODES, fragmented_sketch, in_one_pool, mechanisms, simulate, sketch};

/// Values that nobody, one and many hold.
const COUNTS: [u64; 7] = [40, 0, 1, 3, 100, 17, 0];
const RUNS: u64 = 2500;

/// Theory's errors of a sketch are over the choice of hash functions, so every run has others.
#[test]
fn estimates_are_unbiased_with_the_variance_of_theory() {
    in_one_pool(|| {
        let names: Vec<&str> = mechanisms(7, 0).iter().map(|(name, _)| *name).collect();
        let (mut errors, mut fragments) =
            (vec![[Vec::new(), Vec::new()]; names.len()], vec![[Vec::new(), Vec::new()]; names.len()]);
        for seed in 0..RUNS {
            for (at, (_, mechanism)) in mechanisms(7, seed).iter().enumerate() {
                for (mode, place) in MODES.into_iter().zip(0..) {
                    let simulated = simulate(mechanism, &COUNTS, mode, seed);
                    errors[at][place].push(errors_of(simulated.estimates.counts()));
                    fragments[at][place].push(simulated.fragments as f64 / 161.0);
                }
            }
        }
        for (at, (name, mechanism)) in mechanisms(7, 0).iter().enumerate() {
            let spread = mechanism.spread_of(&COUNTS);
            for (mode, place) in MODES.iter().zip(0..) {
                let errors = &errors[at][place];
                for (value, &count) in COUNTS.iter().enumerate() {
                    let what = format!("{name}, {mode:?}, {count} of 161");
                    let of_value = errors.iter().map(|errors| errors[value]);
                    assert_mean(of_value.clone(), 0.0, &what);
                    assert_variance(of_value, spread.variance(count as f64), &what);
                }
                let fragments = fragments[at][place].iter().copied();
                assert_mean(
                    fragments,
                    mechanism.fragments_expected(),
                    &format!("{name}, {mode:?}, fragments"),
                );
            }
            // Covariances: none where every value has a bit of its own; the same in both modes where cells are shared.
            for (one, other) in [(0, 1), (0, 4), (1, 6), (3, 5)] {
                let what = format!("{name}, values {one} and {other}");
                let products =
                    |place: usize| errors[at][place].iter().map(move |errors| errors[one] * errors[other]);
                assert_same_mean(products(0), products(1), &what);
                if mechanism.sketch().is_none() {
                    assert_mean(products(0), 0.0, &what);
                    assert_mean(products(1), 0.0, &what);
                }
            }
        }
    });
}

/// Sketches that are simulated together: each has the variance of theory, whatever its place among them, and with all
/// rows in every report their errors have nothing in common but the hash functions, which a difference takes away.
#[test]
fn sketches_together_are_as_good_as_each_alone() {
    in_one_pool(|| {
        let mechanisms = |seed| {
            let shape = SketchShape { domain: 7, rows: 5, cells: 6, seed };
            [sketch(shape, 2.0, 2), fragmented_sketch(shape, 6.0, 2, 2.0, 3), sketch(shape, 2.0, 2)]
        };
        let mut errors = vec![Vec::new(); 3];
        for seed in 0..RUNS {
            let mechanisms = mechanisms(seed);
            let together = sketches(&mechanisms.each_ref(), &COUNTS, seed, 1, |_| ()).unwrap();
            assert_eq!(together[0], simulate(&mechanisms[0], &COUNTS, Mode::Aggregate, seed));
            assert_ne!(together[0], together[2], "the same mechanism twice has its noise twice");
            for (errors, one) in errors.iter_mut().zip(&together) {
                errors.push(errors_of(one.estimates.counts()));
            }
        }
        let mechanisms = mechanisms(0);
        for (place, mechanism) in mechanisms.iter().enumerate() {
            let spread = mechanism.spread_of(&COUNTS);
            for (value, &count) in COUNTS.iter().enumerate() {
                let of_value = errors[place].iter().map(|errors| errors[value]);
                assert_mean(of_value.clone(), 0.0, "together");
                assert_variance(of_value, spread.variance(count as f64), "together");
            }
        }
        // Rows and hashes are shared and cancel in the difference, whose variance is twice that of the noise alone (noise
        // of everyone's coins: n·v/r·m/(m - 1)). Shared noise would leave nothing.
        let noise = mechanisms[0].spread_of(&COUNTS).noise;
        for value in 0..COUNTS.len() {
            let difference = errors[0].iter().zip(&errors[2]).map(|(one, other)| one[value] - other[value]);
            assert_variance(difference, 2.0 * noise, "the difference of two");
        }
    });
}

/// More respondents than share a stream, in a sketch with fixed hash functions: means are those of the collisions.
#[test]
fn large_crowds_in_a_sketch_agree_between_modes() {
    in_one_pool(|| {
        let shape = SketchShape { domain: 5, rows: 11, cells: 16, seed: 9 };
        let counts = [20_000, 9_000, 0, 3_000, 1];
        for mechanism in
            [sketch(shape, 6.0, 1), sketch(shape, 15.0, 3), fragmented_sketch(shape, 6.0, 1, 6.0, 2)]
        {
            let runs = |mode, seeds: std::ops::Range<u64>| -> Vec<Vec<f64>> {
                let estimates = |seed| simulate(&mechanism, &counts, mode, seed).estimates.counts().to_vec();
                seeds.map(estimates).collect()
            };
            let (one, other) = (runs(Mode::Aggregate, 0..400), runs(Mode::Respondent, 0..60));
            for value in 0..counts.len() {
                assert_same_mean(one.iter().map(|e| e[value]), other.iter().map(|e| e[value]), "mean");
                let center = one.iter().map(|e| e[value]).sum::<f64>() / 400.0;
                let squares = |runs: &'_ [Vec<f64>]| -> Vec<f64> {
                    runs.iter().map(|e| (e[value] - center).powi(2)).collect()
                };
                let (one, other) = (squares(&one), squares(&other));
                assert_same_mean(one.iter().copied(), other.iter().copied(), "variance");
            }
        }
    });
}

fn errors_of(estimates: &[f64]) -> Vec<f64> {
    estimates.iter().zip(COUNTS).map(|(estimate, count)| estimate - count as f64).collect()
}
