//! Bisection: where a monotone bound crosses its target, always answered from the safe side.

/// Close to the smallest x in [lo, hi] at which `holds`, given that it holds at `hi` and from some point on.
///
/// The answer is a point that was tried and held, or `hi`.
pub(super) fn smallest(lo: f64, hi: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if lo >= hi || holds(lo) {
        return lo.min(hi);
    }
    bisect(hi, lo, holds)
}

/// Close to the largest x in [lo, hi] at which `holds`, given that it holds at `lo` and up to some point.
///
/// The answer is a point that was tried and held, or `lo`.
pub(super) fn largest(lo: f64, hi: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if lo >= hi || holds(hi) {
        return hi.max(lo);
    }
    bisect(lo, hi, holds)
}

/// Halves the gap between a point that holds and one that does not until they agree to eleven digits.
fn bisect(mut good: f64, mut bad: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS_MAX {
        if (good - bad).abs() <= TOLERANCE * good.abs() {
            break;
        }
        let middle = 0.5 * (good + bad);
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

const TOLERANCE: f64 = 1e-11;

/// Enough for eleven digits of the smallest number that anyone could mean.
const STEPS_MAX: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_from_the_safe_side() {
        for target in [1e-9, 0.1, 0.5, 0.999] {
            let x = smallest(0.0, 1.0, |x| x >= target);
            assert!(x >= target && x <= target * (1.0 + 2e-11), "{x}");
            let x = largest(0.0, 1.0, |x| x <= target);
            assert!(x <= target && x >= target * (1.0 - 2e-11), "{x}");
        }
        assert_eq!(smallest(0.0, 1.0, |_| false), 1.0);
        assert_eq!(smallest(0.0, 1.0, |_| true), 0.0);
        assert_eq!(largest(0.0, 1.0, |_| false), 0.0);
        assert_eq!(largest(0.0, 1.0, |_| true), 1.0);
    }
}
