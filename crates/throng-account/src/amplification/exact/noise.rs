//! D_a for any data of the others, in time that does not depend on the size of the crowd.

use throng_dp::{Delta, Epsilon};

use super::others_zero;
use super::tilt::Tilt;
use crate::Error;
use crate::amplification::randomized_bit::RandomizedBit;
use crate::amplification::{check_crowd, check_local, check_others};

/// δ by which the victim's 0 stands out from a 1 when `a` of the n − 1 others truly hold a 1. The other
/// direction (1 from 0) is the same with n − 1 − a in place of a.
///
/// # Privacy
/// An upper bound on D_a, off by less than one part in 10^8.
pub fn delta_a(n: u64, a: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
    check_others(n, a)?;
    check_local(epsilon_local)?;
    let bit = RandomizedBit::new(epsilon_local.value());
    Ok(Delta::new(Noise::new(&bit, epsilon.value()).left(n, a))?)
}

/// The largest [`delta_a`] over every a, one by one.
pub fn delta_max_over_a(n: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    if n > BRUTE_FORCE_MAX {
        let reason = format!(
            "trying every a is for crowds of at most {BRUTE_FORCE_MAX}, and this is {n}; ask for a certified bound",
        );
        return Err(Error::NotApplicable(reason));
    }
    let bit = RandomizedBit::new(epsilon_local.value());
    let mut noise = Noise::new(&bit, epsilon.value());
    let worst = (0..n).map(|a| noise.left(n, a)).fold(0.0, f64::max);
    Ok(Delta::new(worst)?)
}

/// D_a at one ε for any crowd and any a: what they have in common is worked out once.
pub(super) struct Noise<'a> {
    bit: &'a RandomizedBit,
    epsilon: f64,
    /// None where δ is 0, or where nothing hides.
    tilt: Option<Tilt>,
}

impl<'a> Noise<'a> {
    pub(super) fn new(bit: &'a RandomizedBit, epsilon: f64) -> Self {
        let w = bit.weights(epsilon).filter(|_| !bit.is_noiseless());
        Self { bit, epsilon, tilt: w.map(|w| Tilt::new(w, (bit.p, bit.q))) }
    }

    /// α, the δ of the victim's own bit without any noise; None where δ is 0.
    pub(super) fn alone(&self) -> Option<f64> {
        self.bit.weights(self.epsilon).map(|w| w.alpha)
    }

    /// D_a in a crowd of n, the victim included, from above.
    pub(super) fn left(&mut self, n: u64, a: u64) -> f64 {
        if a == 0 && n as f64 * self.bit.p < WALK_MAX {
            others_zero(n, self.bit, self.epsilon)
        } else {
            self.by_transform(n, a)
        }
    }

    fn by_transform(&mut self, n: u64, a: u64) -> f64 {
        match &mut self.tilt {
            Some(tilt) => tilt.divergence(n - 1 - a, a),
            None if self.bit.weights(self.epsilon).is_none() => 0.0,
            None => 1.0,
        }
    }
}

/// With more flips than this, a walk over them takes longer than a transform.
const WALK_MAX: f64 = 1e5;

/// Beyond this, trying every a takes longer than anyone waits.
const BRUTE_FORCE_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The walk and the transform share nothing but α and β.
    #[test]
    fn the_transform_agrees_with_the_walk_where_both_apply() {
        for n in [1, 2, 3, 17, 1000, 100_000, 200_000_000, 10_000_000_000] {
            for local in [0.0005, 0.3, 2.0, 5.6, 9.0, 13.0, 25.0] {
                let bit = RandomizedBit::new(local);
                let deviation = (n as f64 * bit.p * bit.q).sqrt();
                // From no privacy loss at all to about twelve deviations, and close to ε_local.
                for x in [0.0, 1e-3, 0.1, 1.0, 3.0, 6.0, 12.0] {
                    let epsilon = x * (local / 2.0).tanh() / deviation;
                    check(n, &bit, epsilon);
                }
                for share in [0.1, 0.5, 0.9, 0.999_999] {
                    check(n, &bit, share * local);
                }
            }
        }
    }

    fn check(n: u64, bit: &RandomizedBit, epsilon: f64) {
        let (walk, transform) = (others_zero(n, bit, epsilon), Noise::new(bit, epsilon).by_transform(n, 0));
        if walk < 1e-290 {
            return;
        }
        let off = transform / walk - 1.0;
        // Both are rounded up; far out in the tail of a large crowd more is added.
        let slack = 1e-8 * (1.0 - walk.ln() / 30.0);
        assert!(
            off.abs() < slack,
            "n {n}, {bit:?}, ε {epsilon}: {walk:e} against {transform:e}, off {off:e}"
        );
    }
}
