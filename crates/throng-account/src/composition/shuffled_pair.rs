//! The pair of distributions that bounds a shuffled local randomizer (Feldman, McMillan and Talwar 2021, 2023).

use throng_dp::{Delta, Epsilon, Replacement};

use super::loss::{Atom, LossDistribution, LossPair};
use super::sampling::Share;
use crate::Error;

/// The reports of `crowd` respondents, each ε-replacement LDP, in random order.
///
/// # Privacy
/// One of them replaced: the others send C blanket reports, A ~ Bin(C, 1/2) of them alike, and the one joins A with
/// probability 1 − p in one world and p in the other, where p = 1/(1 + e^ε). Whatever is true of (A, C) is true of the
/// shuffled reports. Given C = c the pair gets harder to tell apart as c grows (one more coin), so blocks of c are
/// taken at their left ends; what the windows leave out counts as separating.
///
/// How many blanket reports there are depends on what is known of the randomizer: see the two constructors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShuffledPair {
    crowd: u64,
    epsilon_local: f64,
    blanket: Blanket,
}

/// How likely a report is drawn from the blanket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blanket {
    /// 2p.
    Sign,
    /// e^-ε.
    Any,
}

impl ShuffledPair {
    /// A crowd of at least one honest respondent, whose reports are randomized bits or the signed directions of
    /// LDP-SGD: C ~ Bin(crowd − 1, 2p).
    ///
    /// # Privacy
    /// Proved for every randomizer whose reports have, against one law U that does not depend on the value, a ratio
    /// from 2p to 2(1 − p): the uniform direction, for a direction with a randomized sign. Then a report is drawn from
    /// U with probability 2p. Given c such others, who are revealed, δ is E[(mean of Z over c + 1 draws from U)₊] with
    /// Z the difference of the victim's two ratios, the second times e^ε. Z has the mean 1 − e^ε, the midpoint of its
    /// range, so in the convex order nothing exceeds the fair coin between the ends of the range, and that is this
    /// pair. (The 2023 paper claimed it for every randomizer; its erratum withdraws that.)
    pub fn new(crowd: u64, epsilon_local: Epsilon) -> Result<Self, Error> {
        Self::checked(crowd, epsilon_local, Blanket::Sign)
    }

    /// A crowd of at least one honest respondent with any ε-LDP randomizer: C ~ Bin(crowd − 1, e^-ε) (2021, Theorem
    /// 3.1 and its proof).
    pub fn any_randomizer(crowd: u64, epsilon_local: Epsilon) -> Result<Self, Error> {
        Self::checked(crowd, epsilon_local, Blanket::Any)
    }

    fn checked(crowd: u64, epsilon_local: Epsilon, blanket: Blanket) -> Result<Self, Error> {
        if crowd == 0 {
            return Err(Error::Parameter {
                what: "the crowd",
                got: 0.0,
                expected: "give at least 1 respondent",
            });
        }
        if epsilon_local == Epsilon::INFINITE {
            return Err(Error::NotApplicable("without local privacy shuffling amplifies nothing".into()));
        }
        Ok(Self { crowd, epsilon_local: epsilon_local.value(), blanket })
    }

    /// What one report guarantees by itself.
    pub(super) fn epsilon_local(&self) -> f64 {
        self.epsilon_local
    }

    /// δ at ε for one batch under replacement, to about nine digits, from above.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Delta, Error> {
        let odds = epsilon.value().exp();
        let mut delta = 0.0;
        let left_out = self.atoms(DELTA_TAIL_EXPONENT, |excess, second| {
            // P − e^ε Q, with P/Q = 1 + excess.
            delta += second * (excess - epsilon.value().exp_m1()).max(0.0);
        })?;
        let delta =
            if self.epsilon_local <= epsilon.value() || odds.is_infinite() { 0.0 } else { delta + left_out };
        Ok(Delta::new(delta.min(1.0))?)
    }

    /// The Rényi divergence of `order` > 1 of one batch under replacement, without sampling, from above.
    ///
    /// Both directions are the same: the pair is symmetric.
    pub fn renyi(&self, order: f64) -> Result<Epsilon, Error> {
        self.renyi_sampled(order, 1.0)
    }

    /// The same if the crowd is a uniform `share` of all respondents: the divergence of the pair of [`Self::sampled`], which
    /// dominates the sampled step.
    pub fn renyi_sampled(&self, order: f64, share: f64) -> Result<Epsilon, Error> {
        if !(order > 1.0 && order <= ORDER_MAX) {
            return Err(Error::Parameter {
                what: "the order",
                got: order,
                expected: "give a number above 1, at most 10^4",
            });
        }
        let share = Share::new(share)?;
        let largest = share.sampled(self.epsilon_local);
        // E_Q[(P/Q)^order] as a sum of exponentials that is rescaled to its largest term as it grows.
        let mut moment = LogSum::default();
        let (mut second_mass, mut difference) = (0.0, 0.0);
        let exponent = DELTA_TAIL_EXPONENT + order * largest;
        let left_out = self.atoms(exponent, |excess, second| {
            let loss = (share.value() * excess).ln_1p();
            moment.add(second.ln() + order * loss);
            moment.add(second.ln() + (1.0 - order) * loss);
            second_mass += second;
            difference += second * share.value() * excess;
        })?;
        moment.add((1.0 - 2.0 * second_mass - difference).max(f64::MIN_POSITIVE).ln());
        // What was left out has a ratio of e^largest at most.
        moment.add(left_out.max(f64::MIN_POSITIVE).ln() + (order - 1.0) * largest);
        let divergence = moment.value().max(0.0) / (order - 1.0) + ROUNDING / (order - 1.0);
        Ok(Epsilon::new(divergence.min(largest))?)
    }

    /// The losses of one step in which the crowd is a uniform `share` of all respondents, at most `tail` left out.
    ///
    /// # Privacy
    /// Sampling a fixed number without replacement turns δ(ε) into share·δ(ε'), e^ε' = 1 + (e^ε − 1)/share, for ε ≥ 0
    /// under replacement (Balle, Barthe and Gaboardi 2018). Outcome by outcome: where P > Q it becomes share·P +
    /// (1 − share)·Q against Q, the same mirrored, and the rest has no loss.
    pub fn sampled(&self, share: f64, tail: f64) -> Result<LossPair<Replacement>, Error> {
        let share = Share::new(share)?.value();
        let mut losses = Losses::new();
        let (mut second_mass, mut difference) = (0.0, 0.0);
        let exponent = -(tail / (8.0 * share)).clamp(f64::MIN_POSITIVE, 0.1).ln();
        let left_out = self.atoms(exponent, |excess, second| {
            losses.add((share * excess).ln_1p(), second * (1.0 + share * excess), second);
            second_mass += second;
            difference += second * share * excess;
        })?;
        let rest = (1.0 - 2.0 * second_mass - difference).max(0.0);
        Ok(LossPair::symmetric(losses.finish(rest, share * left_out)))
    }

    /// Visits the outcomes with P > Q, as (P/Q − 1, Q), and returns a bound of the P-mass that it leaves out.
    fn atoms(&self, tail_exponent: f64, mut visit: impl FnMut(f64, f64)) -> Result<f64, Error> {
        let odds = (-self.epsilon_local).exp();
        let (p, q) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
        let gap = (0.5 * self.epsilon_local).tanh();
        if gap == 0.0 {
            return Ok(0.0);
        }
        let (share, rest) = match self.blanket {
            Blanket::Sign => (2.0 * p, gap),
            Blanket::Any => (odds, -(-self.epsilon_local).exp_m1()),
        };
        let blanket = BlanketReports::new(self.crowd - 1, share, rest, tail_exponent)?;
        let mut half = HalfBinomial::default();
        for (c, weight) in blanket.blocks(tail_exponent) {
            let n = (c + 1) as f64;
            half.fill(c + 1, tail_exponent);
            for (i, &mass) in half.masses.iter().enumerate() {
                let a = (half.first + i as u64) as f64;
                let second = p * a + q * (n - a);
                visit(gap * (2.0 * a - n) / second, weight * 2.0 * mass * second / n * (1.0 + ROUNDING));
            }
        }
        // Below the window of C, and above those of A, where P is at most twice the binomial.
        Ok(3.0 * (-tail_exponent).exp())
    }
}

/// How many of the others send a blanket report, in blocks of about equal counts.
pub(super) struct BlanketReports {
    pub(super) first: u64,
    pub(super) weights: Vec<f64>,
}

impl BlanketReports {
    pub(super) fn new(others: u64, share: f64, rest: f64, tail_exponent: f64) -> Result<Self, Error> {
        let mean = others as f64 * share;
        // Chernoff's bounds for sums of coins: e^(−t²/2μ) below, e^(−t²/(2μ + 2t/3)) above.
        let below = (2.0 * mean * tail_exponent).sqrt();
        let above =
            tail_exponent / 3.0 + (tail_exponent * tail_exponent / 9.0 + 2.0 * mean * tail_exponent).sqrt();
        let first = (mean - below).max(0.0).floor() as u64;
        let last = ((mean + above).ceil() as u64).min(others);
        let count = last - first.min(last) + 1;
        if count > COUNT_MAX {
            return Err(Error::NotApplicable("the order is too high for a crowd of this size".into()));
        }
        let mode = ((mean + share).floor() as u64).clamp(first, last);
        let mut weights = vec![0.0; count as usize];
        let at = (mode - first) as usize;
        weights[at] = 1.0;
        let odds = share / rest;
        for i in at + 1..weights.len() {
            let c = first + i as u64;
            weights[i] = weights[i - 1] * (others - c + 1) as f64 / c as f64 * odds;
        }
        for i in (0..at).rev() {
            let c = first + i as u64;
            weights[i] = weights[i + 1] * (c + 1) as f64 / ((others - c) as f64 * odds);
        }
        // Dividing by the window's mass moves what is above it into the window, where it is worse.
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        Ok(Self { first, weights })
    }

    /// Left ends and weights of blocks of at most 1/50000 of the count, or of what keeps the outcomes few enough.
    fn blocks(&self, tail_exponent: f64) -> impl Iterator<Item = (u64, f64)> {
        let count = self.weights.len() as f64;
        let outcomes = (0.5 * (self.first as f64 + count) * tail_exponent).sqrt() * count;
        let width = (self.first / 50_000).max((outcomes / OUTCOMES_MAX) as u64).max(1);
        self.weights
            .chunks(width as usize)
            .enumerate()
            .map(move |(i, block)| (self.first + i as u64 * width, block.iter().sum::<f64>()))
            .filter(|&(_, weight)| weight > 1e-300)
    }
}

/// The upper half of Bin(n, 1/2), up to a Hoeffding window.
#[derive(Default)]
pub(super) struct HalfBinomial {
    pub(super) first: u64,
    pub(super) masses: Vec<f64>,
}

impl HalfBinomial {
    pub(super) fn fill(&mut self, n: u64, tail_exponent: f64) {
        self.first = n / 2 + 1;
        let last =
            ((0.5 * (n as f64 + (2.0 * n as f64 * tail_exponent).sqrt())).ceil() as u64).clamp(self.first, n);
        self.masses.clear();
        // For an even n the middle belongs to neither half.
        let (mut mass, mut total) = (1.0, 0.0);
        if n.is_multiple_of(2) {
            total = 0.5;
            mass = (n / 2) as f64 / (n / 2 + 1) as f64;
        }
        for a in self.first..=last {
            self.masses.push(mass);
            total += mass;
            mass *= (n - a) as f64 / (a + 1) as f64;
        }
        self.masses.iter_mut().for_each(|mass| *mass *= 0.5 / total);
    }
}

/// Losses as they are while they are few, and on a fine grid when they become many.
struct Losses {
    atoms: Vec<[f64; 3]>,
    fine: Vec<f64>,
    step: f64,
}

impl Losses {
    fn new() -> Self {
        Self { atoms: Vec::new(), fine: Vec::new(), step: 0.0 }
    }

    fn add(&mut self, loss: f64, first: f64, second: f64) {
        if self.step == 0.0 {
            self.atoms.push([loss, first, second]);
            if self.atoms.len() == ATOMS_MAX {
                // The first of all have the smallest crowd and so the largest losses, or nearly.
                let largest = self.atoms.iter().map(|atom| atom[0]).fold(0.0, f64::max);
                self.step = largest / FINE;
                for [loss, first, second] in std::mem::take(&mut self.atoms) {
                    self.add(loss, first, second);
                }
            }
            return;
        }
        // Two outcomes on the grid that, taken together, are this one.
        let index = (loss / self.step).floor();
        let offset = (loss - index * self.step).clamp(0.0, self.step);
        let upper = first * -(-offset).exp_m1() / -(-self.step).exp_m1();
        let lower = (first - upper).max(0.0);
        let i = index as usize;
        if self.fine.len() < i + 2 {
            self.fine.resize(i + 2, 0.0);
        }
        self.fine[i] += lower;
        self.fine[i + 1] += upper;
    }

    /// Both signs of every loss, and `rest` without one.
    fn finish(self, rest: f64, infinity: f64) -> LossDistribution {
        let few = self.atoms.iter().map(|&[loss, first, second]| (loss, first, second));
        let step = self.step;
        let many = self.fine.iter().enumerate().map(|(i, &first)| {
            let loss = i as f64 * step;
            (loss, first, first * (-loss).exp())
        });
        let atoms = few.chain(many).flat_map(|(loss, first, second)| {
            [Atom { loss, mass: first }, Atom { loss: -loss, mass: second }]
        });
        LossDistribution::new(
            atoms.chain([Atom { loss: 0.0, mass: rest }]).filter(|atom| atom.mass > 0.0),
            infinity,
        )
    }
}

/// ln of a sum of exponentials, none of which may overflow.
struct LogSum {
    largest: f64,
    scaled: f64,
}

impl Default for LogSum {
    fn default() -> Self {
        Self { largest: f64::NEG_INFINITY, scaled: 0.0 }
    }
}

impl LogSum {
    fn add(&mut self, exponent: f64) {
        if exponent > self.largest {
            self.scaled = self.scaled * (self.largest - exponent).exp() + 1.0;
            self.largest = exponent;
        } else {
            self.scaled += (exponent - self.largest).exp();
        }
    }

    fn value(&self) -> f64 {
        self.largest + self.scaled.ln()
    }
}

/// Above the accumulated rounding of the recurrences for binomial masses.
const ROUNDING: f64 = 1e-10;
/// For one question about δ: e^-80 is left out.
const DELTA_TAIL_EXPONENT: f64 = 80.0;
const ORDER_MAX: f64 = 1e4;
/// Above the number of blanket reports that have to be told apart at any crowd and order up to about 10^10 and 10^4.
const COUNT_MAX: u64 = 1 << 26;
const OUTCOMES_MAX: f64 = 16_777_216.0;
const ATOMS_MAX: usize = 1 << 14;
const FINE: f64 = 4096.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair itself, outcome by outcome: (A, C) with A ~ Bin(C, 1/2) plus the one.
    fn outcomes(crowd: u64, epsilon: f64, share: f64) -> (Vec<f64>, Vec<f64>) {
        let choose = |n: u64, k: u64| (1..=k).fold(1.0, |product, i| product * (n - k + i) as f64 / i as f64);
        let p = 1.0 / (1.0 + epsilon.exp());
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for c in 0..crowd {
            let blanket =
                choose(crowd - 1, c) * share.powi(c as i32) * (1.0 - share).powi((crowd - 1 - c) as i32);
            let alike = |a: u64| if a <= c { blanket * choose(c, a) * 0.5f64.powi(c as i32) } else { 0.0 };
            for a in 0..=c + 1 {
                let before = if a == 0 { 0.0 } else { alike(a - 1) };
                first.push((1.0 - p) * before + p * alike(a));
                second.push(p * before + (1.0 - p) * alike(a));
            }
        }
        (first, second)
    }

    fn hockey_stick(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
        p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    fn pair(crowd: u64, epsilon: f64) -> ShuffledPair {
        ShuffledPair::new(crowd, Epsilon::new(epsilon).unwrap()).unwrap()
    }

    #[test]
    fn delta_and_divergence_match_all_outcomes() {
        for crowd in [1, 2, 3, 10, 57, 200] {
            for e0 in [0.001, 0.5, 1.9, 4.0, 9.0] {
                let (p, q) = outcomes(crowd, e0, 2.0 / (1.0 + e0.exp()));
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                for share in [0.0, 0.1, 0.3, 0.7, 0.95, 1.0, 1.1] {
                    let e = share * e0;
                    let exact = hockey_stick(&p, &q, e);
                    let ours = pair(crowd, e0).delta(Epsilon::new(e).unwrap()).unwrap().value();
                    assert!(ours >= exact * (1.0 - 1e-12) - 1e-15, "{crowd} {e0} {e}: {ours:e} {exact:e}");
                    assert!(ours <= exact * (1.0 + 1e-8) + 1e-15, "{crowd} {e0} {e}: {ours:e} {exact:e}");
                }
                // Beyond, the reference itself overflows.
                for order in [1.1, 2.0, 8.0, 100.0].into_iter().filter(|order| order * e0 < 500.0) {
                    let moment: f64 = p
                        .iter()
                        .zip(&q)
                        .filter(|&(&p, &q)| p > 0.0 && q > 0.0)
                        .map(|(p, q)| (order * p.ln() + (1.0 - order) * q.ln()).exp())
                        .sum();
                    let exact = moment.ln() / (order - 1.0);
                    let ours = pair(crowd, e0).renyi(order).unwrap().value();
                    assert!(
                        ours >= exact - 1e-13 && ours <= exact * (1.0 + 1e-9) + 1e-8,
                        "{crowd} {e0} {order}: {ours} {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn any_randomizer_has_half_of_the_blanket() {
        for crowd in [1, 2, 10, 57, 200] {
            for e0 in [0.5f64, 1.9, 4.0] {
                let (p, q) = outcomes(crowd, e0, (-e0).exp());
                let any = ShuffledPair::any_randomizer(crowd, Epsilon::new(e0).unwrap()).unwrap();
                for share in [0.0, 0.1, 0.3, 0.7, 0.95] {
                    let e = share * e0;
                    let exact = hockey_stick(&p, &q, e);
                    let ours = any.delta(Epsilon::new(e).unwrap()).unwrap().value();
                    assert!(
                        ours >= exact * (1.0 - 1e-12) - 1e-15 && ours <= exact * (1.0 + 1e-8) + 1e-15,
                        "{crowd} {e0} {e}: {ours:e} {exact:e}"
                    );
                }
            }
        }
    }

    /// The directions of LDP-SGD for two values at an angle, by all shuffled batches: where both would send the same
    /// sign (A, B) and where not (C, D), each with its ratio to the uniform direction. Others hold what is worst for
    /// the victim, or anything.
    #[test]
    fn signed_directions_at_any_angle_are_bounded() {
        for e0 in [0.7f64, 2.0] {
            let p = 1.0 / (1.0 + e0.exp());
            let (high, low) = (2.0 * (1.0 - p), 2.0 * p);
            for angle in [0.1, 0.5, 0.9, 1.0] {
                let uniform = [0.5 * (1.0 - angle), 0.5 * (1.0 - angle), 0.5 * angle, 0.5 * angle];
                let law = |ratios: [f64; 4]| [0, 1, 2, 3].map(|i| ratios[i] * uniform[i]);
                let (here, there) = (law([high, low, high, low]), law([high, low, low, high]));
                for others in [law([low, high, high, low]), law([low, high, low, high]), here] {
                    for crowd in [2u64, 4, 7] {
                        let (first, second) = (batch(here, others, crowd), batch(there, others, crowd));
                        for share in [0.0, 0.1, 0.4, 0.8] {
                            let e = share * e0;
                            let exact =
                                hockey_stick(&first, &second, e).max(hockey_stick(&second, &first, e));
                            let ours = pair(crowd, e0).delta(Epsilon::new(e).unwrap()).unwrap().value();
                            assert!(exact <= ours + 1e-14, "{e0} {angle} {crowd} {e}: {exact} {ours}");
                        }
                    }
                }
            }
        }
    }

    /// The law of how many of a batch fall into each of four regions: one respondent, and crowd − 1 others.
    fn batch(one: [f64; 4], other: [f64; 4], crowd: u64) -> Vec<f64> {
        let size = crowd as usize + 1;
        let mut law = vec![0.0; size.pow(3)];
        law[0] = 1.0;
        for member in std::iter::once(one).chain(std::iter::repeat_n(other, crowd as usize - 1)) {
            let mut next = vec![0.0; law.len()];
            for (at, mass) in law.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                // The fourth region is what is left.
                for (step, chance) in [1, size, size * size, 0].into_iter().zip(member) {
                    next[at + step] += mass * chance;
                }
            }
            law = next;
        }
        law
    }

    /// Sampling, by the formula: δ'(ε') = share·δ(ε), e^ε = 1 + (e^ε' − 1)/share.
    #[test]
    fn sampled_losses_have_the_curve_of_the_formula() {
        for (crowd, e0) in [(1, 1.0), (30, 1.9), (2000, 1.9), (40_000, 3.0)] {
            for share in [1.0, 0.3, 0.01] {
                let sampled = pair(crowd, e0).sampled(share, 1e-20).unwrap();
                for e in [0.0, 1e-4, 1e-3, 3e-3, 0.01, 0.1, 0.5] {
                    let before = Epsilon::new((f64::exp_m1(e) / share).ln_1p()).unwrap();
                    let exact = share * pair(crowd, e0).delta(before).unwrap().value();
                    let ours = sampled.delta(Epsilon::new(e).unwrap()).unwrap().value();
                    assert!(ours >= exact * (1.0 - 1e-9) - 1e-20, "{crowd} {share} {e}: {ours:e} {exact:e}");
                    assert!(ours <= exact * 1.002 + 1e-15, "{crowd} {share} {e}: {ours:e} {exact:e}");
                }
            }
        }
    }

    /// A sampled step by all outcomes: the victim is asked with probability `share`, and else somebody whose report is
    /// anything between the victim's two. No such mixture exceeds the pair, and the pair is summed up rightly.
    #[test]
    fn sampled_divergences_bound_every_mixture() {
        let moment = |p: &[f64], q: &[f64], order: f64| -> f64 {
            let both = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
            let sum: f64 = both.map(|(p, q)| p * ((order - 1.0) * (p / q).ln()).exp()).sum();
            sum.ln() / (order - 1.0)
        };
        for (crowd, e0, share, order) in [
            (1, 1.0, 0.3, 2.0),
            (2, 2.0, 0.5, 3.5),
            (5, 1.9, 0.1, 8.0),
            (20, 3.0, 0.05, 30.0),
            (57, 1.9, 1.0, 5.0),
        ] {
            let (p, q) = outcomes(crowd, e0, 2.0 / (1.0 + e0.exp()));
            let ours = pair(crowd, e0).renyi_sampled(order, share).unwrap().value();
            let mixed = |one: &[f64], other: &[f64], weight: f64| -> Vec<f64> {
                one.iter().zip(other).map(|(one, other)| weight * one + (1.0 - weight) * other).collect()
            };
            for between in [0.0, 0.3, 0.5, 1.0] {
                let absent = mixed(&p, &q, between);
                let (here, there) = (mixed(&p, &absent, share), mixed(&q, &absent, share));
                let truth = moment(&here, &there, order).max(moment(&there, &here, order));
                assert!(ours >= truth - 1e-12, "{crowd} {e0} {share} {order} {between}: {ours} {truth}");
            }
            // The larger side of every outcome is mixed with the smaller: the pair itself, but for its common part.
            let larger: Vec<f64> =
                p.iter().zip(&q).map(|(p, q)| q.max(share * p + (1.0 - share) * q)).collect();
            let (up, down): (Vec<f64>, Vec<f64>) = larger.iter().zip(&q).filter(|(l, q)| l > q).unzip();
            let rest = 1.0 - up.iter().sum::<f64>() - down.iter().sum::<f64>();
            let (first, second) = ([&up[..], &down, &[rest]].concat(), [&down[..], &up, &[rest]].concat());
            let exact = moment(&first, &second, order);
            assert!(
                (ours - exact).abs() < 1e-9 * (1.0 + exact),
                "{crowd} {e0} {share} {order}: {ours} {exact}"
            );
        }
    }

    #[test]
    fn extreme_crowds_neither_hang_nor_lie() {
        for (crowd, e0) in
            [(1u64 << 33, 12.0), (10_000_000_000, 0.5), (10_000_000_000, 25.0), (2, 25.0), (1000, 0.0)]
        {
            let loss = pair(crowd, e0);
            let delta = loss.delta(Epsilon::new(0.0005).unwrap()).unwrap().value();
            let renyi = loss.renyi(2.0).unwrap().value();
            assert!((0.0..=1.0).contains(&delta) && renyi <= e0, "{crowd} {e0}: {delta} {renyi}");
            assert!(pair(crowd / 2, e0).renyi(2.0).unwrap().value() >= renyi);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(ShuffledPair::new(0, Epsilon::ZERO).is_err());
        assert!(matches!(ShuffledPair::new(5, Epsilon::INFINITE), Err(Error::NotApplicable(_))));
        for order in [1.0, 0.5, f64::NAN, f64::INFINITY] {
            assert!(matches!(pair(5, 1.0).renyi(order), Err(Error::Parameter { .. })));
        }
        for share in [0.0, 1.1, f64::NAN] {
            assert!(matches!(pair(5, 1.0).sampled(share, 1e-10), Err(Error::Parameter { .. })));
        }
    }
}
