//! The dominating pair of a shuffled randomizer whose reports stay within known ratios of one law.

use std::collections::BTreeMap;

use throng_dp::{Delta, Epsilon, Replacement};

use super::loss::LossPair;
use super::shuffled_pair::{BlanketReports, HalfBinomial};
use crate::Error;
use crate::binomial::Binomial;

/// The reports of `crowd` respondents in random order, where the probability of any report on any value is between `low`
/// and `high` times what it is under one law U that does not depend on the value.
///
/// # Privacy
/// Replacement, proved as follows.
/// 1. *Blanket.* Each of the others draws their report from U with probability `low`; whoever does not is revealed. With
///    r and r' the ratios to U of the victim's two laws and c blanket reports, δ(ε) is E[(mean of Z over c + 1
///    independent draws from U)₊], Z = r − e^ε r' (Balle, Bell, Gascón and Nissim 2019).
/// 2. *Ratios.* r and r' have the mean 1 and lie between `low` and `high`. In the convex order no such variable exceeds the
///    one that is `high` with probability q = (1 − low)/(high − low) and `low` else, and replacing both by these, each
///    drawn given its own old value, keeps the conditional mean of Z: Z grows in the convex order.
/// 3. *Coupling.* For convex f, f(r − e^ε r') is submodular in (r, r'), so among all couplings of two given laws the
///    opposite one has the largest mean (Lorentz 1953, Tchen 1980). With q ≤ 1/2 it is: Z is high − e^ε low and
///    low − e^ε high, with probability q each, and low − e^ε low else. Sums of independent copies keep the convex order.
/// 4. A mean of more independent draws is smaller in the convex order, so δ falls in c and blocks of c are taken at
///    their left ends. Given c and the number K of draws that are not low − e^ε low, the sum is
///    ½(high − low)(1 + e^ε)·D − (e^ε − 1)(low·(c + 1) + ½(high − low)·K) for a fair walk D of K steps. It rises as the
///    second K falls and, in the convex order, as the first one grows: blocks of K are taken at one end here and at the
///    other there. What the windows leave out counts as separating.
///
/// A fair coin between two ratios, q = 1/2, is [`super::ShuffledPair::new`]; PrivUnit has a smaller q and therefore a
/// larger blanket at the same ε. For two gradients with opposite caps and others who are blanket or revealed it is tight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPair {
    crowd: u64,
    low: f64,
    high: f64,
}

impl BoundedPair {
    /// A crowd of at least one honest respondent, and the ratios.
    pub fn new(crowd: u64, low: f64, high: f64) -> Result<Self, Error> {
        let refuse = |what, got, expected| Err(Error::Parameter { what, got, expected });
        if crowd == 0 {
            return refuse("the crowd", 0.0, "give at least 1 respondent");
        }
        if !(low > 0.0 && low <= 1.0) {
            return refuse("the lower ratio", low, "give a number above 0, at most 1");
        }
        // Only then are two opposite caps disjoint; the last digit may be missing.
        if !(high.is_finite() && high >= (2.0 - low) * (1.0 - 1e-12)) {
            return refuse("the higher ratio", high, "give at least 2 minus the lower one");
        }
        Ok(Self { crowd, low, high })
    }

    /// What one report guarantees by itself.
    pub(super) fn epsilon_local(&self) -> f64 {
        (self.high / self.low).ln()
    }

    /// δ at ε for one batch under replacement, from above: exact but for the blocks, which move ε by about one part in
    /// a thousand.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Delta, Error> {
        Ok(Delta::new(Walks::new(self, BLOCKS, DELTA_TAIL_EXPONENT)?.delta(epsilon.value()))?)
    }

    /// The losses of one step in which the crowd is a uniform `share` of all respondents, at most `tail` left out. See
    /// [`super::ShuffledPair::sampled`].
    pub fn sampled(&self, share: f64, tail: f64) -> Result<LossPair<Replacement>, Error> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::Parameter {
                what: "the sampled share",
                got: share,
                expected: "give a number in (0, 1]",
            });
        }
        let left_out = tail / (8.0 * share * (1.0 + 2.0 * self.high));
        let walks = Walks::new(self, BLOCKS, -left_out.clamp(f64::MIN_POSITIVE, 0.1).ln())?;
        let curve = |epsilon: Epsilon| {
            let before = (epsilon.value().exp_m1() / share).ln_1p();
            Ok(Delta::new((share * walks.delta(before) * (1.0 + 1e-14)).min(1.0))?)
        };
        LossPair::from_curve(&curve, tail)
    }
}

/// The fair walks of all blocks of c and K.
struct Walks {
    low: f64,
    gap: f64,
    epsilon_local: f64,
    /// By c: the number of draws, and the blocks of K with their probabilities, both included.
    draws: Vec<(f64, Vec<(usize, f64)>)>,
    blocks: Vec<Block>,
    /// What each window leaves out, at most.
    tail: f64,
    /// The width of a block of K, for each draw.
    slack: f64,
}

/// A block of K.
struct Block {
    /// Its left end.
    first: f64,
    /// E[(D − x)₊] at its right end.
    excess: Excess,
}

impl Walks {
    /// With blocks of c and of K of these sizes, in standard deviations.
    fn new(
        pair: &BoundedPair,
        (blanket_block, moving_block): (f64, f64),
        tail_exponent: f64,
    ) -> Result<Self, Error> {
        // A ratio of mean 1 that is never below 1 is 1.
        let gap = if pair.low == 1.0 { 0.0 } else { pair.high - pair.low };
        let mut walks = Self {
            low: pair.low,
            gap,
            epsilon_local: pair.epsilon_local(),
            draws: Vec::new(),
            blocks: Vec::new(),
            tail: (-tail_exponent).exp(),
            slack: 0.0,
        };
        if gap == 0.0 {
            return Ok(walks);
        }
        let moving = (2.0 * (1.0 - pair.low) / gap).min(1.0);
        let rest = ((pair.high + pair.low - 2.0) / gap).max(0.0);
        let blanket = BlanketReports::new(pair.crowd - 1, pair.low, 1.0 - pair.low, tail_exponent)?;
        let trials = (pair.crowd - 1) as f64;
        let width = block_width(trials * pair.low * (1.0 - pair.low), blanket_block);
        let width_moving = block_width((trials * pair.low + 1.0) * moving * rest, moving_block);
        walks.slack = (width_moving - 1) as f64 / (blanket.first + 1) as f64;
        // Blocks of K lie on one grid, so that all c share their walks.
        let mut places = BTreeMap::new();
        for (i, weights) in blanket.weights.chunks(width as usize).enumerate() {
            let n = blanket.first + i as u64 * width + 1;
            let weight: f64 = weights.iter().sum();
            if weight < 1e-300 {
                continue;
            }
            let window = Binomial::new(n, moving, rest).window(walks.tail);
            let mut blocks: Vec<(usize, f64)> = Vec::new();
            for (j, mass) in window.pmf.iter().enumerate() {
                let count = places.len();
                let index = *places.entry((window.start + j as u64) / width_moving).or_insert(count);
                match blocks.last_mut().filter(|last| last.0 == index) {
                    Some(last) => last.1 += weight * mass,
                    None => blocks.push((index, weight * mass)),
                }
            }
            walks.draws.push((n as f64, blocks));
        }
        let mut half = HalfBinomial::default();
        let mut blocks: Vec<(usize, Block)> = places
            .into_iter()
            .map(|(place, index)| {
                let (first, last) = (place * width_moving, (place + 1) * width_moving - 1);
                let excess = Excess::new(last, tail_exponent, &mut half);
                (index, Block { first: first as f64, excess })
            })
            .collect();
        blocks.sort_by_key(|&(index, _)| index);
        walks.blocks = blocks.into_iter().map(|(_, block)| block).collect();
        Ok(walks)
    }

    fn delta(&self, epsilon: f64) -> f64 {
        if self.gap == 0.0 || epsilon >= self.epsilon_local {
            return 0.0;
        }
        // The sum of Z is slope·D − drift.
        let slope = 0.5 * self.gap * (1.0 + epsilon.exp());
        let excess = epsilon.exp_m1();
        let mut delta = 0.0;
        for (n, blocks) in &self.draws {
            let mut sum = 0.0;
            for &(index, weight) in blocks {
                let block = &self.blocks[index];
                let drift = excess * (self.low * n + 0.5 * self.gap * block.first);
                sum += weight * block.excess.at(drift / slope * (1.0 - 1e-14));
            }
            delta += sum * slope / n;
        }
        // Too few blanket reports; and K or D outside of their windows, where the mean of Z is at most `high`, and as much
        // more as the two ends of a block of K make.
        let high = self.low + self.gap;
        let left_out = self.tail * (1.0 + 2.0 * high + slope * self.slack);
        (delta * (1.0 + ROUNDING) + left_out).min(1.0)
    }
}

/// E[(D − x)₊] for a fair walk of K steps and x ≥ 0, but for what a window leaves out: convex in x, so that the chords
/// between any points are above it, and a polygon, so that those between all integers are exact.
struct Excess {
    step: f64,
    values: Vec<f64>,
}

impl Excess {
    fn new(steps: u64, tail_exponent: f64, half: &mut HalfBinomial) -> Self {
        if steps == 0 {
            return Self { step: 1.0, values: Vec::new() };
        }
        half.fill(steps, tail_exponent);
        // The largest D in the window.
        let top = 2 * (half.first + half.masses.len() as u64 - 1) - steps;
        let every = top / POINTS_MAX + 1;
        let mut values = vec![0.0; (top / every + 2) as usize];
        // E[(D − x)₊] = E[(D − x − 1)₊] + Pr[D > x] for an integer x.
        let (mut excess, mut above) = (0.0, 0.0);
        for x in (0..top).rev() {
            // D = x + 1 has the parity of the number of steps, or cannot be.
            if (x + 1 + steps).is_multiple_of(2) {
                above += half.masses[((x + 1 + steps) / 2 - half.first) as usize];
            }
            excess += above;
            if x.is_multiple_of(every) {
                values[(x / every) as usize] = excess;
            }
        }
        Self { step: every as f64, values }
    }

    fn at(&self, x: f64) -> f64 {
        let place = x / self.step;
        let index = place as usize;
        match (self.values.get(index), self.values.get(index + 1)) {
            (Some(here), Some(next)) => here + (next - here) * (place - index as f64),
            _ => 0.0,
        }
    }
}

/// Outcomes that are taken together: a share of the deviation, at least one.
fn block_width(variance: f64, share: f64) -> u64 {
    ((variance.sqrt() * share) as u64).max(1)
}

/// Blocks of c and of K, in standard deviations.
const BLOCKS: (f64, f64) = (0.15, 0.1);
/// Above the accumulated rounding of binomial masses and their sums.
const ROUNDING: f64 = 1e-9;
/// For one question about δ: e^-80 is left out.
const DELTA_TAIL_EXPONENT: f64 = 80.0;
const POINTS_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composition::ShuffledPair;
    use crate::testing::epsilon;

    /// The ratios of a cap with a share q of U at a local ε.
    fn pair(crowd: u64, local: f64, q: f64) -> BoundedPair {
        let p = 1.0 / (1.0 + (1.0 - q) / q * (-local).exp());
        BoundedPair::new(crowd, (1.0 - p) / (1.0 - q), p / q).unwrap()
    }

    fn hockey_stick(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
        p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    /// How many of independent members fall into each of four regions, as masses of all such counts: all multisets.
    fn batch(members: &[[f64; 4]]) -> Vec<f64> {
        let size = members.len() + 1;
        let mut law = vec![0.0; size.pow(3)];
        law[0] = 1.0;
        for member in members {
            let mut next = vec![0.0; law.len()];
            for (at, mass) in law.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                for (step, chance) in [1, size, size * size, 0].into_iter().zip(member) {
                    if *chance > 0.0 {
                        next[at + step] += mass * chance;
                    }
                }
            }
            law = next;
        }
        law
    }

    /// Opposite caps, and others who are blanket or revealed: all multisets of the three outcomes.
    #[test]
    fn delta_matches_all_multisets_of_three_outcomes() {
        for (local, q) in [(0.5, 0.45), (1.9, 0.22), (1.9, 0.5), (4.0, 0.05)] {
            for crowd in [1u64, 2, 3, 8, 20] {
                let ours = pair(crowd, local, q);
                let law = |here: f64, there: f64| [here * q, there * q, ours.low * (1.0 - 2.0 * q), 0.0];
                let (one, other) = (law(ours.high, ours.low), law(ours.low, ours.high));
                let blanket = [q, q, 1.0 - 2.0 * q, 0.0];
                for e in [0.0, 0.05, 0.3, 0.7, 0.97].map(|share| share * local) {
                    let mut exact = 0.0;
                    for c in 0..crowd {
                        let binomial = Binomial::new(crowd - 1, ours.low, 1.0 - ours.low).ln_pmf(c).exp();
                        let others = vec![blanket; c as usize];
                        let with = |victim| batch(&[others.clone(), vec![victim]].concat());
                        exact += binomial * hockey_stick(&with(one), &with(other), e);
                    }
                    let ours = ours.delta(epsilon(e)).unwrap().value();
                    assert!(
                        ours >= exact * (1.0 - 1e-11) - 1e-15,
                        "{local} {q} {crowd} {e}: {ours:e} {exact:e}"
                    );
                    assert!(
                        ours <= exact * (1.0 + 1e-7) + 1e-13,
                        "{local} {q} {crowd} {e}: {ours:e} {exact:e}"
                    );
                }
            }
        }
    }

    /// The true mechanism for two gradients at any angle: their caps share some of their directions. Others hold one of
    /// the two gradients, or one whose cap is elsewhere; a short gradient mixes with its opposite.
    #[test]
    fn caps_at_any_angle_are_bounded() {
        for (local, q) in [(0.7f64, 0.4), (1.9, 0.22), (3.0, 0.1)] {
            for shared in [0.0, 0.2, 0.7, 1.0] {
                // In both caps, in the first alone, in the second alone, in neither.
                let both = shared * q;
                let regions = [both, q - both, q - both, 1.0 - 2.0 * q + both];
                for crowd in [1u64, 2, 4, 7] {
                    let ours = pair(crowd, local, q);
                    let (low, high) = (ours.low, ours.high);
                    let law = |ratios: [f64; 4]| [0, 1, 2, 3].map(|i| ratios[i] * regions[i]);
                    let (one, other) = (law([high, high, low, low]), law([high, low, high, low]));
                    // A third cap has no room beside two large ones.
                    let room = regions[3] >= q;
                    let apart = (1.0 - low * (1.0 - regions[3])) / regions[3];
                    let elsewhere = if room { law([low, low, low, apart]) } else { other };
                    let short = [0, 1, 2, 3].map(|i| 0.8 * one[i] + 0.2 * other[i]);
                    for crowd_of in [one, other, elsewhere] {
                        for (here, there) in [(one, other), (one, elsewhere), (short, other)] {
                            let with =
                                |victim| batch(&[vec![crowd_of; crowd as usize - 1], vec![victim]].concat());
                            let (first, second) = (with(here), with(there));
                            for e in [0.0, 0.1, 0.4, 0.8].map(|share| share * local) {
                                let exact =
                                    hockey_stick(&first, &second, e).max(hockey_stick(&second, &first, e));
                                let bound = ours.delta(epsilon(e)).unwrap().value();
                                assert!(
                                    exact <= bound + 1e-13,
                                    "{local} {q} {shared} {crowd} {e}: {exact:e} {bound:e}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    /// Blocks and chords cost next to nothing: for a fair coin the other computation is exact to nine digits.
    #[test]
    fn large_crowds_agree_with_the_pair_of_a_fair_coin() {
        for (crowd, local) in [(300u64, 1.0), (10_000, 1.9), (60_000, 1.9), (2_000_000, 3.0)] {
            let (ours, exact) = (pair(crowd, local, 0.5), ShuffledPair::new(crowd, epsilon(local)).unwrap());
            for d in [0.5, 2.0, 4.0, 6.0] {
                // About d standard deviations of the loss.
                let e = d * 2.0 / (crowd as f64 * 2.0 / (1.0 + local.exp())).sqrt();
                let (ours, below) = (ours.delta(epsilon(e)), exact.delta(epsilon(e)));
                let (ours, below) = (ours.unwrap().value(), below.unwrap().value());
                let wider = exact.delta(epsilon(e * 0.998)).unwrap().value();
                assert!(ours >= below * (1.0 - 1e-8), "{crowd} {local} {e}: {ours:e} {below:e}");
                assert!(ours <= wider + 1e-30, "{crowd} {local} {e}: {ours:e} {below:e} {wider:e}");
            }
        }
    }

    /// Blocks of either kind, wide ones too, can only make δ larger, and not by much.
    #[test]
    fn blocks_are_taken_at_their_unfavourable_ends() {
        for (local, q) in [(0.7, 0.4), (1.9, 0.22), (3.0, 0.1)] {
            let pair = pair(4_000, local, q);
            let single = Walks::new(&pair, (0.0, 0.0), 30.0).unwrap();
            for blocks in [(0.0, 0.8), (0.8, 0.0), BLOCKS] {
                let ours = Walks::new(&pair, blocks, 30.0).unwrap();
                assert!(ours.blocks.len() < single.blocks.len() || ours.draws.len() < single.draws.len());
                for e in [0.002, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4] {
                    let (ours, exact) = (ours.delta(e), single.delta(e));
                    assert!(ours >= exact, "{local} {blocks:?} {e}: {ours:e} {exact:e}");
                    assert!(ours <= exact * 2.5 + 1e-11, "{local} {blocks:?} {e}: {ours:e} {exact:e}");
                }
            }
        }
    }

    #[test]
    fn no_crowd_is_worse_than_with_any_randomizer() {
        for (local, q) in [(0.5, 0.45), (1.9, 0.22), (4.0, 0.05)] {
            for crowd in [1u64, 2, 10, 1000, 60_000] {
                let any = ShuffledPair::any_randomizer(crowd, epsilon(local)).unwrap();
                for e in [0.001, 0.01, 0.05, 0.2, 0.5, 0.95].map(|share| share * local) {
                    let (ours, any) = (pair(crowd, local, q).delta(epsilon(e)), any.delta(epsilon(e)));
                    let (ours, any) = (ours.unwrap().value(), any.unwrap().value());
                    assert!(ours <= any * (1.0 + 1e-9) + 1e-30, "{local} {q} {crowd} {e}: {ours:e} {any:e}");
                }
            }
        }
    }

    /// A curve that was sampled and connected is the formula's, but for the chords between its points.
    #[test]
    fn sampled_losses_have_the_curve_of_the_formula() {
        for (crowd, local, q) in [(1, 1.0, 0.4), (30, 1.9, 0.22), (2000, 1.9, 0.22), (40_000, 3.0, 0.1)] {
            for share in [1.0, 0.3, 0.01] {
                let pair = pair(crowd, local, q);
                let sampled = pair.sampled(share, 1e-20).unwrap();
                for e in [0.0, 1e-4, 1e-3, 3e-3, 0.01, 0.1, 0.5] {
                    let before = epsilon((f64::exp_m1(e) / share).ln_1p());
                    let exact = share * pair.delta(before).unwrap().value();
                    let ours = sampled.delta(epsilon(e)).unwrap().value();
                    assert!(ours >= exact * (1.0 - 1e-9) - 1e-20, "{crowd} {share} {e}: {ours:e} {exact:e}");
                    assert!(ours <= exact * 1.01 + 1e-12, "{crowd} {share} {e}: {ours:e} {exact:e}");
                }
            }
        }
    }

    #[test]
    fn extremes_neither_hang_nor_lie() {
        for (crowd, local, q) in
            [(10_000_000_000u64, 1.9, 0.22), (10_000_000_000, 20.0, 0.0215), (2, 20.0, 0.0215)]
        {
            let delta = pair(crowd, local, q).delta(epsilon(0.001)).unwrap().value();
            let fewer = pair(crowd / 2, local, q).delta(epsilon(0.001)).unwrap().value();
            assert!((0.0..=1.0).contains(&delta) && fewer >= delta, "{crowd} {local}: {delta:e} {fewer:e}");
        }
        let nothing = BoundedPair::new(5, 1.0, 1.0).unwrap();
        assert_eq!(nothing.delta(Epsilon::ZERO).unwrap(), Delta::ZERO);
        assert_eq!(pair(5, 1.0, 0.3).delta(epsilon(1.0 + 1e-9)).unwrap(), Delta::ZERO);
    }

    #[test]
    fn nonsense_is_refused() {
        for (crowd, low, high) in [
            (0, 0.5, 2.0),
            (5, 0.0, 2.0),
            (5, 1.1, 2.0),
            (5, 0.5, 1.2),
            (5, 0.5, f64::INFINITY),
            (5, f64::NAN, 2.0),
        ] {
            assert!(matches!(BoundedPair::new(crowd, low, high), Err(Error::Parameter { .. })));
        }
        assert!(pair(5, 1.0, 0.3).sampled(0.0, 1e-10).is_err());
    }
}
