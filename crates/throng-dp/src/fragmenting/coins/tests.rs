//! The law of a pair, what an answer changes, and what is stored.

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::One;

use super::*;
use crate::randomizer::count_sketch::{CountSketch, SketchShape};
use crate::randomizer::one_hot::OneHot;
use crate::randomizer::record::Record;
use crate::randomizer::set_valued::{SetValued, Spend};
use crate::testing::{Script, assert_share, epsilon, rng};
use crate::{Attributes, Binary};

fn one_hot(size: u64, backstop: f64) -> ReportFragments<OneHot> {
    ReportFragments::new(OneHot::new(size, epsilon(backstop)).unwrap(), epsilon(1.0), 2).unwrap()
}

/// The law of (r0, r1), counted in thresholds: below s both are 1, from there to 2^128 − s only r1 is, above neither. The
/// function is asked on both sides of each threshold, and passes over what is below the first.
#[test]
fn a_pair_has_exactly_its_law() {
    let rest = |threshold: u128, us: &[u128]| {
        let words = us.iter().flat_map(|u| [(u >> 64) as u64, *u as u64]);
        rest_of_pair(threshold, &mut Script::new(words))
    };
    for value in [0.001, 1.0, 5.25, 20.0] {
        let s = Bernoulli::flip(epsilon(value)).unwrap().threshold();
        let end = s.wrapping_neg();
        assert!(rest(s, &[s]) && rest(s, &[end - 1]), "from s on r1 is 1");
        assert!(!rest(s, &[end]) && !rest(s, &[u128::MAX]), "from 2^128 − s on it is 0");
        assert!(
            rest(s, &[0, s - 1, end - 1]) && !rest(s, &[s - 1, 0, end]),
            "what is below s is drawn again"
        );
        // So of 2^128 − s equally likely u, 2^128 − 2s give r1 = 1; and r0 = 1 has probability s/2^128.
        let whole = BigUint::one() << 128u32;
        let (s, all) = (BigUint::from(s), |count: BigUint| Ratio::new(count, whole.clone()));
        let given = Ratio::new(&whole - &s - &s, &whole - &s);
        let both = all(s.clone());
        let only_second = all(&whole - &s) * given;
        assert_eq!(&both + &only_second, all(&whole - &s), "r1 = 1 has probability q, exactly");
    }
    assert!(rest(0, &[u128::MAX]), "without flips r1 is always 1");
}

/// All nine outcomes of two pairs, over 200,000 draws of coins (ALPHA for all of them together).
#[test]
fn pairs_of_two_attributes_are_independent_and_coupled() {
    for value in [1.0, 4.0] {
        let mechanism = one_hot(2, value);
        let p = mechanism.backstop().coin().probability();
        let (mut rng, draws) = (rng(31), 200_000);
        let mut seen = [[0u64; 3]; 3];
        for _ in 0..draws {
            let coins = mechanism.draw_coins(&mut rng).unwrap();
            let of = |attribute: u32| {
                let set = |value: Option<&u32>| {
                    mechanism.backstop_of(&coins, value).unwrap().report().contains(&attribute)
                };
                let (r0, r1) = (set(None), set(Some(&attribute)));
                assert!(r1 || !r0, "r1 is 1 where r0 is");
                usize::from(r0) + usize::from(r1)
            };
            seen[of(0)][of(1)] += 1;
        }
        let law = [p, 1.0 - 2.0 * p, p];
        for (a, row) in seen.iter().enumerate() {
            for (b, &count) in row.iter().enumerate() {
                assert_share(count, draws, law[a] * law[b], 18);
            }
        }
    }
}

/// A change of answer changes the bits of the old and the new value, and no other; coming back brings the same backstop.
#[test]
fn another_answer_changes_its_own_bits_alone() {
    let mechanism = one_hot(60, 1.0);
    let mut rng = rng(32);
    let mut kept = 0;
    for _ in 0..50 {
        let coins = mechanism.draw_coins(&mut rng).unwrap();
        let backstop =
            |value: Option<u32>| mechanism.backstop_of(&coins, value.as_ref()).unwrap().report().clone();
        let silent = backstop(None);
        assert_eq!(silent, *coins.silent());
        for value in 0..60 {
            let set = backstop(Some(value));
            assert_eq!(set, backstop(Some(value)));
            let other = |bits: &[u32]| bits.iter().copied().filter(|&bit| bit != value).collect::<Vec<_>>();
            assert_eq!(other(&set), other(&silent));
            assert!(set.contains(&value) || !silent.contains(&value));
            kept += u64::from(set.contains(&value));
        }
    }
    assert_share(kept, 50 * 60, 1.0 - mechanism.backstop().coin().probability(), 1);
}

/// Rows of a sketch and the attribute of a record are drawn with the coins: whatever is answered, and nothing too.
#[test]
fn what_was_sampled_stays_whatever_is_answered() {
    let (mut rng, sharp) = (rng(33), epsilon(40.0));
    let shape = SketchShape { domain: 1000, rows: 16, cells: 32, seed: 1 };
    let sketch =
        ReportFragments::new(CountSketch::split(shape, epsilon(80.0), 2).unwrap(), sharp, 2).unwrap();
    let layout = Attributes::new(&[4, 5, 6]).unwrap();
    let record = ReportFragments::new(Record::new(layout, sharp).unwrap(), sharp, 2).unwrap();
    let mut sampled = [0; 3];
    for _ in 0..30 {
        // At epsilon 40 nothing is flipped.
        let coins = sketch.draw_coins(&mut rng).unwrap();
        assert!(coins.silent().bits.is_empty() && coins.silent().rows.len() == 2);
        for value in [3, 999, 3] {
            let set = sketch.backstop_of(&coins, Some(&value)).unwrap();
            let cell = |&row: &u32| row * 32 + sketch.backstop().cell(row, value).unwrap();
            assert_eq!(set.report().rows, coins.silent().rows);
            assert_eq!(set.report().bits, coins.silent().rows.iter().map(cell).collect::<Vec<_>>());
        }
        let coins = record.draw_coins(&mut rng).unwrap();
        let set =
            |answer: [Option<u32>; 3]| record.backstop_of(&coins, Some(&answer)).unwrap().report().clone();
        let own = [[1], [4 + 2], [9 + 3]].iter().position(|bits| set([Some(1), Some(2), Some(3)]) == bits);
        let own = own.expect("one attribute is sampled");
        sampled[own] += 1;
        // Where another attribute is missing, or all others are, it is still about this one.
        let mut alone = [None; 3];
        alone[own] = Some(0);
        assert_eq!(set(alone), [[0, 4, 9][own]]);
        let mut missing = [Some(0); 3];
        missing[own] = None;
        assert!(set(missing).is_empty() && set([None; 3]).is_empty());
    }
    assert!(sampled.iter().all(|&times| times > 0), "{sampled:?}");
}

/// Which attribute of a record is sampled is drawn apart from every bit: the sample shows in what is sent (ALPHA for all four).
#[test]
fn what_is_sampled_says_nothing_of_a_bit() {
    let mechanism = one_hot(4, 1.0);
    let p = mechanism.backstop().coin().probability();
    let (mut rng, draws) = (rng(35), 20_000);
    let mut both = [0u64; 4];
    for _ in 0..draws {
        let coins = mechanism.draw_coins(&mut rng).unwrap();
        let first = coins.pick(2) == 0;
        (0..4).for_each(|bit| both[bit as usize] += u64::from(first && coins.rest(bit)));
    }
    // r1 given r0 = 0 is 1 with probability (q - p)/q.
    both.iter().for_each(|&count| assert_share(count, draws, 0.5 * (1.0 - 2.0 * p) / (1.0 - p), 4));
}

#[test]
fn a_sampled_set_and_one_bit_have_coins_too() {
    let mut rng = rng(34);
    let split = SetValued::new(9, 2, Spend::Split, epsilon(80.0)).unwrap();
    let split = ReportFragments::new(split, epsilon(40.0), 1).unwrap();
    let coins = split.draw_coins(&mut rng).unwrap();
    assert_eq!(*split.backstop_of(&coins, Some(&[7, 3])).unwrap().report(), [3, 7]);
    assert_eq!(split.series().bits, 2);
    let sample = SetValued::new(9, 2, Spend::Sample, epsilon(40.0)).unwrap();
    let sample = ReportFragments::new(sample, epsilon(40.0), 1).unwrap();
    let coins = sample.draw_coins(&mut rng).unwrap();
    let of = |bits: &[u32]| sample.backstop_of(&coins, Some(bits)).unwrap().report().clone();
    assert_eq!(of(&[3, 7]).len(), 1);
    assert_eq!(of(&[3, 7]) == [7], of(&[1, 8]) == [8], "always the same slot");
    let bit = ReportFragments::new(Binary::new(epsilon(40.0)).unwrap(), epsilon(40.0), 1).unwrap();
    let coins = bit.draw_coins(&mut rng).unwrap();
    let of = |value| *bit.backstop_of(&coins, value).unwrap().report();
    assert_eq!([of(None), of(Some(&false)), of(Some(&true))], [false, false, true]);
}

#[test]
fn stored_coins_are_the_same_and_those_of_others_are_refused() {
    let mechanism = one_hot(40, 2.0);
    let coins = mechanism.draw_coins(&mut rng(35)).unwrap();
    let again = |silent: Vec<u32>, threshold| {
        PermanentCoins::from_stored(silent, Zeroizing::new(*coins.key()), threshold)
    };
    let stored = again(coins.silent().clone(), coins.threshold());
    for value in 0..40 {
        let of = |coins| mechanism.backstop_of(coins, Some(&value)).unwrap().report().clone();
        assert_eq!(of(&stored), of(&coins));
    }
    for foreign in [again(vec![40], coins.threshold()), again(vec![], coins.threshold() - 1)] {
        assert_eq!(mechanism.backstop_of(&foreign, None).unwrap_err(), Error::ForeignBackstop);
    }
    assert_eq!(mechanism.backstop_of(&coins, Some(&40)).unwrap_err(), Error::OutsideDomain { size: 40 });
    assert_eq!(format!("{coins:?}"), "PermanentCoins(..)", "coins are never printed");
    // Another key is another rest of the pairs.
    let other =
        PermanentCoins::from_stored(coins.silent().clone(), Zeroizing::new([7; 32]), coins.threshold());
    let differ = (0..40).filter(|value| {
        let of = |coins| mechanism.backstop_of(coins, Some(value)).unwrap().report().clone();
        of(&other) != of(&coins)
    });
    assert!(differ.count() > 0);
}

#[test]
fn a_series_costs_what_it_says() {
    let series =
        AnswerSeries { epsilon_backstop: epsilon(5.0), epsilon_fragment: epsilon(0.5), tau: 4, bits: 1 };
    let of = |epochs, answers: &[u32]| series.epsilon(epochs, answers.iter().copied()).value();
    assert_eq!(of(3, &[]), 0.0, "nothing to say costs nothing");
    assert_eq!([of(1, &[1]), of(2, &[2]), of(3, &[3]), of(100, &[100])], [2.0, 4.0, 5.0, 5.0]);
    // Seven epochs with one answer and one with another: both are seen.
    assert_eq!(of(8, &[7, 1]), (5.0 + 2.0) + 2.0);
    assert_eq!(of(8, &[7]), 5.0 + 2.0, "an epoch of silence shows that there was an answer before");
    assert_eq!(of(8, &[1]), 2.0);
    let split = AnswerSeries { bits: 3, ..series };
    assert_eq!(split.epsilon(8, [7, 1]).value(), 3.0 * 9.0);
    // Every further epoch costs something or nothing, never less than nothing.
    for epochs in 1..12 {
        for m in 0..=epochs {
            for other in 0..=epochs - m {
                let now = of(epochs, &[m, other]);
                assert!(of(epochs + 1, &[m, other]) >= now && of(epochs + 1, &[m + 1, other]) >= now);
            }
        }
    }
}
