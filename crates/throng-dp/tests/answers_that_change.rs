//! Behind a backstop, over several epochs, with any answers: the true privacy loss, summed over all outcomes.
//!
//! Written from the definition of the mechanism: the law of what is drawn once, the vectors that each answer has given
//! that, and coins for every fragment. None of our formulas is used for the truth.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use throng_dp::fragmenting::exposed_epsilon;
use throng_dp::{AnswerSeries, Epsilon};

/// What may have been drawn once and for all, with its probability, and the vector that every answer then has. Answer 0
/// is having nothing to say. Vectors are bit masks over `width` attributes.
struct PermanentLaw {
    width: u32,
    states: Vec<(f64, Vec<u32>)>,
}

/// Coins of the backstop and of each fragment, and how many fragments.
#[derive(Clone, Copy)]
struct Coins {
    backstop: f64,
    fragment: f64,
    tau: u32,
}

impl Coins {
    fn flips(self) -> (f64, f64) {
        let flip = |epsilon: f64| 1.0 / (1.0 + epsilon.exp());
        (flip(self.backstop), flip(self.fragment))
    }

    fn series(self, bits: u32) -> AnswerSeries {
        let epsilon = |value| Epsilon::new(value).unwrap();
        let (epsilon_backstop, epsilon_fragment) = (epsilon(self.backstop), epsilon(self.fragment));
        AnswerSeries { epsilon_backstop, epsilon_fragment, tau: self.tau, bits }
    }
}

impl PermanentLaw {
    /// One permanent pair for each attribute: u below p gives (1, 1), u above 1 − p gives (0, 0), else (0, 1). `answers`
    /// are the attributes that each answer sets, for each sample; samples are equally likely.
    fn pairs(width: u32, samples: &[Vec<Vec<u32>>], coins: Coins) -> Self {
        let (p, _) = coins.flips();
        let law = [p, 1.0 - 2.0 * p, p];
        let mut states = Vec::new();
        for answers in samples {
            for code in 0..3u32.pow(width) {
                let pair = |attribute: u32| (code / 3u32.pow(attribute) % 3) as usize;
                let probability: f64 = (0..width).map(|attribute| law[pair(attribute)]).product();
                let silent: u32 = (0..width).filter(|&a| pair(a) == 2).map(|a| 1 << a).sum();
                let of = |set: &Vec<u32>| {
                    set.iter().filter(|&&a| pair(a) >= 1).fold(silent, |mask, a| mask | 1 << a)
                };
                let vectors = std::iter::once(silent).chain(answers.iter().map(of)).collect();
                states.push((probability / samples.len() as f64, vectors));
            }
        }
        Self { width, states }
    }

    /// One-hot answers 1..=k.
    fn one_hot(k: u32, coins: Coins) -> Self {
        Self::pairs(k, &[(0..k).map(|value| vec![value]).collect()], coins)
    }

    /// What it was before: a backstop of its own for every answer, that of silence included.
    fn backstop_for_each_value(k: u32, coins: Coins) -> Self {
        let (p, _) = coins.flips();
        let mut states = vec![(1.0, Vec::new())];
        for answer in 0..=k {
            let truth = if answer == 0 { 0 } else { 1 << (answer - 1) };
            states = states
                .into_iter()
                .flat_map(|(probability, vectors)| {
                    (0..1u32 << k).map(move |vector: u32| {
                        let flipped = (vector ^ truth).count_ones() as i32;
                        let of_vector = p.powi(flipped) * (1.0 - p).powi(k as i32 - flipped);
                        let mut all: Vec<u32> = vectors.clone();
                        all.push(vector);
                        (probability * of_vector, all)
                    })
                })
                .collect();
        }
        Self { width: k, states }
    }

    /// The law of all fragments of all epochs: of tau vectors in each.
    fn law(&self, answers: &[u32], coins: Coins) -> Vec<f64> {
        let (_, p) = coins.flips();
        let bits = self.width * coins.tau;
        let outcomes = 1usize << (bits as usize * answers.len());
        let mut law = vec![0.0; outcomes];
        for (probability, vectors) in &self.states {
            // The law of one epoch given this state, for each answer; then epoch by epoch.
            let of_epoch = |answer: u32| -> Vec<f64> {
                let once = vectors[answer as usize];
                let sent = (0..coins.tau).fold(0u32, |all, _| all << self.width | once);
                let flipped = |seen: u32| (seen ^ sent).count_ones() as i32;
                let chance = |seen| p.powi(flipped(seen)) * (1.0 - p).powi(bits as i32 - flipped(seen));
                (0..1u32 << bits).map(chance).collect()
            };
            let mut given = vec![*probability];
            for &answer in answers {
                let epoch = of_epoch(answer);
                given = given.iter().flat_map(|&before| epoch.iter().map(move |now| before * now)).collect();
            }
            law.iter_mut().zip(given).for_each(|(sum, more)| *sum += more);
        }
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        law
    }
}

/// The largest log ratio of two laws, in either direction: the true pure epsilon.
fn pure(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| (l / r).ln().abs()).fold(0.0, f64::max)
}

/// The true delta at an epsilon, in the worse direction.
fn delta(left: &[f64], right: &[f64], epsilon: f64) -> f64 {
    let one = |l: &[f64], r: &[f64]| -> f64 {
        l.iter().zip(r).map(|(l, r)| (l - epsilon.exp() * r).max(0.0)).sum()
    };
    one(left, right).max(one(right, left))
}

/// All sequences of answers 0..=k over so many epochs.
fn sequences(k: u32, epochs: u32) -> Vec<Vec<u32>> {
    let answers = k + 1;
    (0..answers.pow(epochs))
        .map(|code| (0..epochs).map(|epoch| code / answers.pow(epoch) % answers).collect())
        .collect()
}

/// How often each answer but silence was given.
fn times(k: u32, answers: &[u32]) -> Vec<u32> {
    (1..=k).map(|value| answers.iter().filter(|&&answer| answer == value).count() as u32).collect()
}

const COINS: [(f64, f64); 5] = [(1.0, 2.0), (3.0, 0.5), (0.5, 4.0), (2.0, 1.0), (4.0, 3.0)];

/// One-hot over one to three values, one or two fragments, up to three epochs: every sequence of answers against silence,
/// and of a constant answer the exact value.
#[test]
fn any_answers_against_silence_say_no_more_than_is_promised() {
    let mut nearest: f64 = 0.0;
    for (k, tau, epochs) in [
        (1, 1, 1),
        (1, 1, 2),
        (1, 1, 3),
        (1, 2, 3),
        (2, 1, 2),
        (2, 1, 3),
        (2, 2, 2),
        (2, 2, 3),
        (3, 1, 3),
        (3, 2, 2),
    ] {
        for (backstop, fragment) in COINS {
            let coins = Coins { backstop, fragment, tau };
            let (drawn, series) = (PermanentLaw::one_hot(k, coins), coins.series(1));
            let silent = drawn.law(&vec![0; epochs as usize], coins);
            for answers in sequences(k, epochs) {
                let truth = pure(&drawn.law(&answers, coins), &silent);
                let given = times(k, &answers);
                let promised = series.epsilon(epochs, given.iter().copied()).value();
                assert!(truth <= promised + 1e-9, "{answers:?}: {truth} of {promised}");
                if promised > 0.0 {
                    nearest = nearest.max(truth / promised);
                }
                // x = e^(tau eps_f (2m - T)), E = e^eps_b: the exact loss of each answer; they add up.
                let a = f64::from(tau) * fragment;
                let exact = |m: &u32| {
                    let (m, all, big) = (f64::from(*m), f64::from(epochs), backstop.exp());
                    let x = (a * (2.0 * m - all)).exp();
                    if m == 0.0 { 0.0 } else { ((x + 1.0 + (big - 1.0) * (a * m).exp()) / (x + big)).ln() }
                };
                let exact: f64 = given.iter().map(exact).sum();
                assert!((truth - exact).abs() < 1e-9, "{answers:?}: {truth}, by the formula {exact}");
                if given.contains(&epochs) {
                    let exposed =
                        exposed_epsilon(series.epsilon_backstop, series.epsilon_fragment, tau * epochs);
                    assert!((truth - exposed.value()).abs() < 1e-9, "{answers:?}: {truth} {exposed}");
                    assert!(truth <= backstop);
                }
            }
        }
    }
    assert!(nearest > 0.99, "nowhere nearly reached: {nearest}");
}

/// Any two sequences of answers: for each attribute as many epochs as they differ in, or a backstop and the epochs in
/// which either of them is not the constant that it is compared with.
#[test]
fn any_two_sequences_are_as_far_apart_as_is_proved() {
    let mut nearest: f64 = 0.0;
    for (k, tau, epochs) in [(1, 1, 3), (1, 2, 3), (2, 1, 2), (2, 2, 2), (2, 1, 3), (3, 1, 2)] {
        for (backstop, fragment) in COINS {
            let coins = Coins { backstop, fragment, tau };
            let drawn = PermanentLaw::one_hot(k, coins);
            let all = sequences(k, epochs);
            let laws: Vec<_> = all.iter().map(|answers| drawn.law(answers, coins)).collect();
            for (left, of_left) in all.iter().zip(&laws) {
                for (right, of_right) in all.iter().zip(&laws) {
                    let truth = pure(of_left, of_right);
                    let a = f64::from(tau) * fragment;
                    let bound: f64 = (1..=k)
                        .map(|value| {
                            let bits = |answers: &[u32]| -> Vec<bool> {
                                answers.iter().map(|&answer| answer == value).collect()
                            };
                            let (x, y) = (bits(left), bits(right));
                            let differ = x.iter().zip(&y).filter(|(x, y)| x != y).count();
                            let not = |bits: &[bool], c: bool| bits.iter().filter(|&&bit| bit != c).count();
                            let by_way = [false, true].map(|c| not(&x, c) + not(&y, !c));
                            let by_way = by_way[0].min(by_way[1]);
                            (a * differ as f64).min(backstop + a * by_way as f64)
                        })
                        .sum();
                    assert!(truth <= bound + 1e-9, "{left:?} {right:?}: {truth} of {bound}");
                    if bound > 0.0 {
                        nearest = nearest.max(truth / bound);
                    }
                }
            }
        }
    }
    assert!(nearest > 0.99, "nowhere nearly reached: {nearest}");
}

/// Two rows of a sketch, with answers that share a cell in one of them; and records of two attributes, of which one was
/// sampled for good, with answers that have a value in common or lack one.
#[test]
fn sketches_of_two_rows_and_records_keep_the_promise() {
    let sketch = vec![vec![vec![0, 2], vec![0, 3], vec![1, 3]]];
    let record = vec![vec![vec![0], vec![0], vec![]], vec![vec![2], vec![3], vec![3]]];
    for (samples, bits) in [(sketch, 2), (record, 1)] {
        for (backstop, fragment) in COINS {
            let coins = Coins { backstop, fragment, tau: 1 };
            let drawn = PermanentLaw::pairs(4, &samples, coins);
            for epochs in 1..=3u32 {
                let silent = drawn.law(&vec![0; epochs as usize], coins);
                for answers in sequences(3, epochs) {
                    let truth = pure(&drawn.law(&answers, coins), &silent);
                    let promised = coins.series(bits).epsilon(epochs, times(3, &answers)).value();
                    assert!(truth <= promised + 1e-9, "{answers:?}: {truth} of {promised}");
                    if bits == 2 && epochs == 1 && answers != [0] {
                        // Both bits count: a promise for one of them would be broken.
                        assert!(truth > coins.series(1).epsilon(1, [1]).value() * 1.2, "{truth}");
                    }
                }
            }
        }
    }
}

/// The control: a backstop for every value, "nothing to say" included, breaks what was said of it. One who is silent and
/// then answers has drawn two backstops, and was promised 2 in all; the other stays silent behind one.
#[test]
fn a_backstop_for_each_value_broke_its_promise() {
    let coins = Coins { backstop: 1.0, fragment: 2.0, tau: 2 };
    let old = PermanentLaw::backstop_for_each_value(2, coins);
    let silent = old.law(&[0, 0], coins);
    let worst = |drawn: &PermanentLaw, epsilon: f64| {
        let against = drawn.law(&[0, 0], coins);
        let all =
            sequences(2, 2).into_iter().map(|answers| delta(&drawn.law(&answers, coins), &against, epsilon));
        all.fold(0.0, f64::max)
    };
    let first = delta(&old.law(&[0, 1], coins), &silent, 2.0);
    assert!((0.29..0.31).contains(&first), "{first}");
    // With one backstop and an answer that stays, both kept it; the pairs keep what is promised now.
    assert!(delta(&old.law(&[1, 1], coins), &silent, 1.0) == 0.0);
    let new = PermanentLaw::one_hot(2, coins);
    assert_eq!(worst(&new, coins.series(1).epsilon(2, [1, 1]).value()), 0.0);
    let promised = coins.series(1).epsilon(2, [1]).value();
    assert!(pure(&old.law(&[0, 1], coins), &silent) > promised, "the old one breaks the new promise as well");
}
