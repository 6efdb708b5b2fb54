//! Certified bounds: they hold for all data of the others at once, by the covering lemma.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::noise::Noise;
use super::{others_zero_epsilon, others_zero_epsilon_local};
use crate::amplification::clones::Pair;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{check_crowd, check_local, guarantee};
use crate::memo::Memo;
use crate::{Error, TO_THE_END};

/// ε_central of one attribute's shuffled bits, whatever the others hold.
///
/// # Privacy
/// Removal: a value and its absence (the reference report R_0) differ in one bit, and the bits of a respondent
/// are unlinkable. Certified by [`certify`] for every a; above the largest exact ε over a by what 0.1% of the
/// crowd is worth, mostly 0.05% (and more where so few bits are flipped that ε falls steeply in n).
pub fn epsilon_certified(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Removal>, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    let asked = (n, epsilon_local.value().to_bits(), delta.value().to_bits());
    let epsilon = EPSILONS.once(asked, TO_THE_END, || {
        let bit = RandomizedBit::new(epsilon_local.value());
        let start = others_zero_epsilon(smaller_crowd(n), &bit, delta.value());
        Ok(first_certified(start, bit.epsilon, EPSILON_STEP, |epsilon| {
            covering(n, &bit, epsilon, delta.value()).is_some()
        }))
    })?;
    guarantee(epsilon, epsilon_local, delta)
}

/// The largest ε_local that is certified to have the given ε_central, whatever the others hold.
///
/// Computed for a crowd of 0.999n with all others 0, then certified for n: this costs 0.001 in ε_local.
pub fn epsilon_local_certified(n: u64, epsilon_central: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    check_crowd(n)?;
    check_local(epsilon_central)?;
    let (central, delta) = (epsilon_central.value(), delta.value());
    let certified = |local: f64| covering(n, &RandomizedBit::new(local), central, delta).is_some();
    let start = others_zero_epsilon_local(smaller_crowd(n), central, delta);
    // Without any amplification, ε_local = ε_central holds at δ = 0.
    Ok(Epsilon::new(first_certified(start, central, EPSILON_STEP, certified))?)
}

/// Whether (ε, δ) holds for one attribute's shuffled bits, whatever the others hold. A yes is proved; a no can
/// also mean that (ε, δ) is too close to the best there is.
///
/// # Privacy
/// Covering lemma: for every a in [a₁, a₂] the noise Bin(n − 1 − a, p) − Bin(a, p) is
/// Bin(n − 1 − a₂, p) − Bin(a₁, p) plus independent noise, so by post-processing D_a(n) ≤ D_{a₁}(n − (a₂ − a₁)).
/// So a few hundred blocks cover all a from 0 to n − 1, both directions included.
pub fn certify(n: u64, epsilon_local: Epsilon, epsilon: Epsilon, delta: Delta) -> Result<bool, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    let bit = RandomizedBit::new(epsilon_local.value());
    Ok(covering(n, &bit, epsilon.value(), delta.value()).is_some())
}

/// The privacy curve of one attribute's shuffled bits: for every ε a δ that holds whatever the others hold.
///
/// # Privacy
/// Removal. The curve covers both directions, so the pair of laws that has it as its trade-off is symmetric and
/// dominates the mechanism: compose that.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    n: u64,
    bit: RandomizedBit,
}

impl Curve {
    /// The curve of n bits of ε_local each.
    pub fn new(n: u64, epsilon_local: Epsilon) -> Result<Self, Error> {
        check_crowd(n)?;
        check_local(epsilon_local)?;
        Ok(Self { n, bit: RandomizedBit::new(epsilon_local.value()) })
    }

    /// The certified δ at ε. It is 0 from ε_local on.
    pub fn delta(&self, epsilon: Epsilon) -> Result<Delta, Error> {
        if self.bit.epsilon < COINS_MAX {
            // Reports that are coins or revealed hide alike whatever the data are: this loses less than a covering.
            let coins = Pair::coins(self.n, 1.0, self.bit.epsilon);
            return Ok(Delta::new(coins.delta(epsilon.value()))?);
        }
        let mut noise = Noise::new(&self.bit, epsilon.value());
        Ok(Delta::new(certified_delta(self.n, self.n / 1000, &mut noise))?)
    }
}

/// A δ that holds for all a, by a covering whose blocks are at least `width` + 1 wide.
///
/// The largest D over the blocks. Blocks grow as long as they do not raise it, so this takes n/width evaluations
/// at most a few times over.
pub(super) fn certified_delta(n: u64, width: u64, noise: &mut Noise<'_>) -> f64 {
    let Some(alpha) = noise.alone() else { return 0.0 };
    let (mut a, mut block, mut most) = (0, width, 0.0f64);
    while a < n {
        block = block.min(n - 1 - a);
        let value = noise.left(n - block, a);
        if value > most && block > width {
            block = width.max(block / 2);
            continue;
        }
        most = most.max(value);
        a += block + 1;
        block += block / 2 + 1;
    }
    // At worst there is no noise at all, and the victim's own bit has δ = α.
    most.min(alpha)
}

/// The blocks that prove D_a(ε) ≤ δ for all a, or None.
fn covering(n: u64, bit: &RandomizedBit, epsilon: f64, delta: f64) -> Option<u32> {
    if bit.weights(epsilon).is_none_or(|w| w.alpha <= delta) {
        return Some(0);
    }
    let mut noise = Noise::new(bit, epsilon);
    let (mut a, mut width, mut blocks) = (0, n / 1000, 0);
    for _ in 0..EVALUATIONS_MAX {
        width = width.min(n - 1 - a);
        if noise.left(n - width, a) <= delta {
            blocks += 1;
            a += width + 1;
            if a >= n {
                return Some(blocks);
            }
            width += width / 2 + 1;
        } else if width == 0 {
            return None;
        } else {
            width /= 2;
        }
    }
    None
}

/// The first value from `start` towards `end` that is certified, given that `end` holds.
///
/// It is `start` itself, but for lattice effects in small crowds: there steps double from `step` (relative to
/// `start`) until one is certified, and the last is then refined.
pub(super) fn first_certified(start: f64, end: f64, step: f64, certified: impl Fn(f64) -> bool) -> f64 {
    if start == end || certified(start) {
        return start;
    }
    let step = if start > 0.0 { step * start } else { 1e-6 * end };
    let (mut bad, mut good, mut moved) = (start, end, step);
    while moved < (end - start).abs() {
        let value = if end > start { start + moved } else { start - moved };
        if certified(value) {
            good = value;
            break;
        }
        bad = value;
        moved *= 2.0;
    }
    for _ in 0..REFINEMENTS {
        let middle = 0.5 * (bad + good);
        if certified(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// A crowd of 0.999n: what is given away lets blocks be wide.
fn smaller_crowd(n: u64) -> u64 {
    n - n / 1000
}

/// A plan, its consent text and its check ask the same of [`epsilon_certified`] several times.
static EPSILONS: Memo<(u64, u64, u64), f64> = Memo::new(32);

/// A crowd with slack is covered with a few hundred evaluations, and a small one block by block; more than this
/// is a no.
const EVALUATIONS_MAX: u32 = 20_000;

/// Up to this ε_local, taking reports for coins loses at most 0.2% of the crowd.
const COINS_MAX: f64 = 0.004;

/// First steps towards what is certified, where the start is not: finer than the covering's own cost.
pub(super) const EPSILON_STEP: f64 = 5e-4;
const REFINEMENTS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amplification::exact::delta_max_over_a;

    /// Below and above where coins take over from coverings, against every a.
    #[test]
    fn curves_are_just_above_every_a_where_coins_take_over() {
        for n in [1, 2, 60, 2000] {
            for local in [0.0005, 0.0039, 0.0041] {
                let local = Epsilon::new(local).unwrap();
                let curve = Curve::new(n, local).unwrap();
                for share in [0.0, 0.01, 0.1, 0.5, 1.0] {
                    let epsilon = Epsilon::new(share * local.value() / (n as f64).sqrt()).unwrap();
                    let most = delta_max_over_a(n, local, epsilon).unwrap().value();
                    let ours = curve.delta(epsilon).unwrap().value();
                    assert!(
                        ours >= most * (1.0 - 1e-8) && ours <= most * 1.01,
                        "{n} {local} {epsilon}: {ours:e} {most:e}"
                    );
                }
            }
        }
    }
}
