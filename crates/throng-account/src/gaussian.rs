//! The central Gaussian mechanism: the baseline that shuffled reports are measured against.
//!
//! Paper: Section VII compares every histogram with a trusted curator who adds Gaussian noise. The curve here is the
//! exact one (Balle and Wang 2018); [`sigma_as_paper`] is what the paper used instead.

use throng_dp::normal::{density, upper_quantile, upper_tail};
use throng_dp::{Delta, Epsilon};

use crate::Error;

/// A statistic that one respondent moves by at most `sensitivity`, published with normal noise.
///
/// # Privacy
/// With μ = sensitivity/sigma, δ(ε) = Q(ε/μ − μ/2) − e^ε Q(ε/μ + μ/2), Q the normal upper tail: exact, and an
/// equality for the worst pair. Removal or replacement, according to which of the two the sensitivity is stated
/// for, which is why the answers carry no neighbor relation. Rounding errors are bounded and added to δ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    sigma: f64,
    sensitivity: f64,
}

impl Gaussian {
    /// Noise of standard deviation `sigma`.
    pub fn new(sigma: f64, sensitivity: f64) -> Result<Self, Error> {
        let mechanism =
            Self { sigma: positive("sigma", sigma)?, sensitivity: positive("the sensitivity", sensitivity)? };
        positive("the ratio of sensitivity to sigma", mechanism.mu())?;
        Ok(mechanism)
    }

    /// The least noise that gives (ε, δ).
    pub fn calibrated(epsilon: Epsilon, delta: Delta, sensitivity: f64) -> Result<Self, Error> {
        let sensitivity = positive("the sensitivity", sensitivity)?;
        let target = attainable(delta)?;
        if epsilon == Epsilon::INFINITE {
            return Err(Error::NotApplicable("an infinite epsilon needs no noise; give a finite one".into()));
        }
        // δ grows with μ: double to bracket, then halve the bracket and keep the safe end.
        let mut safe = 1.0;
        while hockey_stick(safe, epsilon.value()) > target {
            safe /= 2.0;
        }
        let mut unsafe_end = safe * 2.0;
        while hockey_stick(unsafe_end, epsilon.value()) <= target {
            (safe, unsafe_end) = (unsafe_end, unsafe_end * 2.0);
        }
        let (mu, _) = bisect(safe, unsafe_end, |mu| hockey_stick(mu, epsilon.value()) <= target);
        Self::new((sensitivity / mu).next_up(), sensitivity)
    }

    /// The standard deviation of the noise.
    pub fn sigma(self) -> f64 {
        self.sigma
    }

    /// The smallest δ at ε.
    pub fn delta(self, epsilon: Epsilon) -> Result<Delta, Error> {
        if epsilon == Epsilon::INFINITE {
            return Ok(Delta::ZERO);
        }
        Ok(Delta::new(hockey_stick(self.mu(), epsilon.value()))?)
    }

    /// The smallest ε at δ.
    pub fn epsilon(self, delta: Delta) -> Result<Epsilon, Error> {
        let target = attainable(delta)?;
        let mu = self.mu();
        if hockey_stick(mu, 0.0) <= target {
            return Ok(Epsilon::ZERO);
        }
        // The first term alone is δ here, but for rounding.
        let mut safe = mu * (upper_quantile(target.min(0.5)) + 0.5 * mu);
        while hockey_stick(mu, safe) > target {
            safe = safe * 1.01 + f64::MIN_POSITIVE;
        }
        let (epsilon, _) = bisect(safe, 0.0, |epsilon| hockey_stick(mu, epsilon) <= target);
        Ok(Epsilon::new(epsilon)?)
    }

    /// `steps` independent releases of the same kind, exactly: one release with 1/sqrt(steps) of the noise.
    pub fn repeated(self, steps: u64) -> Result<Self, Error> {
        if steps == 0 {
            return Err(Error::Parameter {
                what: "the number of steps",
                got: 0.0,
                expected: "give at least 1",
            });
        }
        Self::new((self.sigma / (steps as f64).sqrt()).next_down(), self.sensitivity)
    }

    /// How many standard deviations apart the two worlds are, rounded up.
    fn mu(self) -> f64 {
        (self.sensitivity / self.sigma).next_up()
    }
}

/// The noise that the paper's tables used for "(ε_c, δ_c)". A baseline for comparison with the printed tables only.
///
/// # Privacy
/// **Not (ε_c, δ_c) in the sense of the LDP columns.** It is calibrated for replacement (sensitivity √2) at
/// (2ε_c, 2δ_c), with Q(x) ≤ e^(−x²/2), and then called (ε_c, δ_c) for removal, which does not follow: under removal
/// at δ_c the printed "ε_c = 1" is 1.17 to 1.21. For a guarantee, use [`Gaussian::calibrated`] with sensitivity 1.
/// # Paper
/// The Gaussian columns of Section VII: 2ε_c·s/√2 − √2/(2s) = sqrt(2 ln(1/(2δ_c))).
pub fn sigma_as_paper(epsilon_central: Epsilon, delta: Delta) -> Result<f64, Error> {
    let (e, d) = (2.0 * epsilon_central.value(), 2.0 * delta.value());
    if !(e > 0.0 && e.is_finite()) {
        return Err(Error::NotApplicable(
            "the paper's rule divides by epsilon; give a finite epsilon above 0".into(),
        ));
    }
    if !(d > 0.0 && d <= 1.0) {
        return Err(Error::NotApplicable("the paper's rule needs 0 < delta <= 1/2".into()));
    }
    // With x = s/√2: e x − 1/(2x) = q.
    let q = (-2.0 * d.ln()).sqrt();
    Ok(std::f64::consts::SQRT_2 * (q + (q * q + 2.0 * e).sqrt()) / (2.0 * e))
}

/// δ(ε) of two unit normals `mu` apart, with every rounding error added. Never above 1.
fn hockey_stick(mu: f64, epsilon: f64) -> f64 {
    let (near, far) = (epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu);
    if near < -1.0 {
        // Most of the mass is lost: no cancellation.
        return (upper_tail(near) - density(near) * mills(far).0 + 1e-15).clamp(0.0, 1.0);
    }
    // e^ε times the density at `far` is the density at `near`, so both terms share one factor and what is
    // subtracted are two Mills ratios, each good to 30 units in the last place. When they are too close for that,
    // the trapezoid over their slopes is above the difference, because the ratio is completely monotone.
    let ((near_ratio, near_slope), (far_ratio, far_slope)) = (mills(near), mills(far));
    let difference = near_ratio - far_ratio + 30.0 * f64::EPSILON * near_ratio;
    let trapezoid = 0.5 * mu * (near_slope + far_slope) * (1.0 + 1e-12);
    // The density's relative error is that of its exponent.
    let relative = (8.0 + 4.0 * (epsilon / mu + mu) * near.abs()) * f64::EPSILON;
    (density(near) * difference.min(trapezoid) * (1.0 + relative)).clamp(0.0, 1.0)
}

/// The Mills ratio Q(x)/φ(x) and how steeply it falls, 1 − x·Q(x)/φ(x), for x above −1.
fn mills(x: f64) -> (f64, f64) {
    if x < 4.0 {
        let ratio = upper_tail(x) / density(x);
        return (ratio, 1.0 - x * ratio);
    }
    // Laplace's continued fraction 1/(x + 1/(x + 2/(x + ...))); sixty levels are exact to the last digit from 4 on.
    let mut tail = x;
    for k in (2..=60).rev() {
        tail = x + f64::from(k) / tail;
    }
    let ratio = 1.0 / (x + 1.0 / tail);
    (ratio, ratio / tail)
}

/// Halves the bracket between a number that is `safe` and one that is not until they are neighbors.
fn bisect(mut safe: f64, mut unsafe_end: f64, is_safe: impl Fn(f64) -> bool) -> (f64, f64) {
    for _ in 0..200 {
        let middle = 0.5 * (safe + unsafe_end);
        if middle == safe || middle == unsafe_end {
            break;
        }
        if is_safe(middle) {
            safe = middle;
        } else {
            unsafe_end = middle;
        }
    }
    (safe, unsafe_end)
}

fn attainable(delta: Delta) -> Result<f64, Error> {
    let delta = delta.value();
    if delta == 0.0 {
        return Err(Error::NotApplicable("normal noise never gives delta = 0; give a delta above 0".into()));
    }
    if delta == 1.0 {
        return Err(Error::NotApplicable("delta = 1 promises nothing; give a delta below 1".into()));
    }
    Ok(delta)
}

fn positive(what: &'static str, got: f64) -> Result<f64, Error> {
    if got.is_finite() && got > 0.0 {
        Ok(got)
    } else {
        Err(Error::Parameter { what, got, expected: "give a finite number above 0" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{delta, epsilon};

    /// From mpmath at 60 digits: 180 bisections of Q(ε/μ − μ/2) − e^ε Q(ε/μ + μ/2) = δ in μ; σ = 1/μ.
    #[test]
    fn calibrated_noise_matches_sixty_digits_from_the_safe_side() {
        for (e, d, sigma) in [
            (0.0005, 1e-3, 323.38126056444014),
            (0.0005, 5e-8, 6124.581108902434),
            (0.0005, 1e-15, 12771.495479664363),
            (0.05, 1e-3, 30.01032878052347),
            (0.05, 5e-8, 82.55482305722153),
            (0.05, 1e-15, 140.6838321684151),
            (1.0, 1e-3, 2.574657018637206),
            (1.0, 5e-8, 4.808702405850101),
            (1.0, 1e-15, 7.487009467986596),
            (5.0, 1e-3, 0.6898423270003575),
            (5.0, 5e-8, 1.085717516345444),
            (5.0, 1e-15, 1.5855487295111332),
            (25.0, 1e-3, 0.21163095539377855),
            (25.0, 5e-8, 0.2781648514477483),
            (25.0, 1e-15, 0.36552288595846566),
        ] {
            let ours = Gaussian::calibrated(epsilon(e), delta(d), 1.0).unwrap();
            let excess = ours.sigma() / sigma - 1.0;
            assert!((0.0..1e-8).contains(&excess), "{e} {d}: {} {excess:e}", ours.sigma());
            let scaled = Gaussian::calibrated(epsilon(e), delta(d), 2.5).unwrap();
            assert!((scaled.sigma() / (2.5 * ours.sigma()) - 1.0).abs() < 1e-14);
            assert!(ours.delta(epsilon(e)).unwrap().value() <= d * (1.0 + 1e-9));
        }
    }

    /// From mpmath at 60 digits, by bisection in ε.
    #[test]
    fn epsilon_matches_sixty_digits_from_the_safe_side() {
        for (sigma, d, e) in [
            (0.05, 1e-3, 260.8753317531011),
            (0.05, 1e-6, 294.1717862576445),
            (0.05, 1e-15, 357.9851329440283),
            (0.5, 1e-3, 7.581279924570114),
            (0.5, 1e-6, 10.99715121422065),
            (0.5, 1e-15, 17.479458492636287),
            (1.0, 1e-3, 3.1386705485829394),
            (1.0, 1e-6, 4.886554117462212),
            (1.0, 1e-15, 8.165579695504254),
            (20.0, 1e-3, 0.0840176626554241),
            (20.0, 1e-6, 0.1892131727264496),
            (20.0, 1e-15, 0.3658786412495459),
            (3000.0, 1e-3, 0.0),
            (3000.0, 1e-6, 0.0007891736319054329),
            (3000.0, 1e-15, 0.002199825667367087),
        ] {
            let ours = Gaussian::new(sigma, 1.0).unwrap().epsilon(delta(d)).unwrap().value();
            assert!(ours >= e && ours <= e * (1.0 + 1e-9), "{sigma} {d}: {ours}");
        }
    }

    /// The Gaussian columns of accounting.md, Section 2 (map, horse, child; heavy is as map).
    #[test]
    fn both_columns_of_the_table_are_reproduced() {
        for (d, cells) in [
            (
                5e-10,
                [
                    (0.05, 100.3, 91.2),
                    (0.25, 21.3, 18.3),
                    (0.5, 10.91, 9.21),
                    (0.75, 7.39, 6.18),
                    (1.0, 5.61, 4.66),
                ],
            ),
            (
                5e-8,
                [
                    (0.05, 82.6, 80.4),
                    (0.25, 17.89, 16.18),
                    (0.5, 9.26, 8.15),
                    (0.75, 6.31, 5.47),
                    (1.0, 4.81, 4.14),
                ],
            ),
            (
                5e-9,
                [
                    (0.05, 91.8, 86.0),
                    (0.25, 19.64, 17.28),
                    (0.5, 10.11, 8.70),
                    (0.75, 6.87, 5.84),
                    (1.0, 5.22, 4.41),
                ],
            ),
        ] {
            for (e, analytic, paper) in cells {
                let ours = Gaussian::calibrated(epsilon(e), delta(d), 1.0).unwrap().sigma();
                assert!((ours / analytic - 1.0).abs() < 2e-3, "{d} {e}: {ours}");
                let ours = sigma_as_paper(epsilon(e), delta(d)).unwrap();
                assert!((ours / paper - 1.0).abs() < 2e-3, "{d} {e}: {ours}");
            }
        }
        // What the paper's noise for "1" really gives under removal: 1.21, 1.17, 1.20.
        for (d, real) in [(5e-10, 1.21), (5e-8, 1.17), (5e-9, 1.20)] {
            let paper = Gaussian::new(sigma_as_paper(epsilon(1.0), delta(d)).unwrap(), 1.0).unwrap();
            assert!((paper.epsilon(delta(d)).unwrap().value() - real).abs() < 0.006);
        }
    }

    #[test]
    fn delta_falls_with_epsilon_and_with_noise_everywhere() {
        let mut sigma = 1e-3;
        while sigma < 1e9 {
            let (here, more) = (Gaussian::new(sigma, 1.0).unwrap(), Gaussian::new(sigma * 1.3, 1.0).unwrap());
            let mut last = 1.0;
            for i in 0..200 {
                let e = epsilon(if i == 0 { 0.0 } else { 1e-6 * 1.12f64.powi(i) });
                let d = here.delta(e).unwrap().value();
                assert!(d <= last && d >= more.delta(e).unwrap().value(), "{sigma} {e}");
                last = d;
            }
            sigma *= 1.7;
        }
    }

    #[test]
    fn extremes_neither_hang_nor_lie() {
        for e in [0.0, 1e-12, 0.0005, 25.0, 1e4] {
            for d in [0.9, 1e-3, 1e-15, 1e-100, 1e-300] {
                let sigma = Gaussian::calibrated(epsilon(e), delta(d), 1.0).unwrap().sigma();
                let back = Gaussian::new(sigma, 1.0).unwrap().epsilon(delta(d)).unwrap().value();
                assert!(sigma.is_finite() && back <= e * (1.0 + 1e-6) + 1e-11, "{e} {d}: {sigma} {back}");
            }
        }
        let quarter = Gaussian::new(3.0, 1.0).unwrap().repeated(4).unwrap();
        assert!((quarter.sigma() - 1.5).abs() < 1e-14);
    }

    #[test]
    fn nonsense_and_impossible_targets_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Gaussian::new(bad, 1.0), Err(Error::Parameter { .. })));
            assert!(matches!(
                Gaussian::calibrated(epsilon(1.0), delta(0.1), bad),
                Err(Error::Parameter { .. })
            ));
        }
        for bad in [0.0, 1.0] {
            assert!(matches!(
                Gaussian::calibrated(epsilon(1.0), delta(bad), 1.0),
                Err(Error::NotApplicable(_))
            ));
            assert!(matches!(
                Gaussian::new(1.0, 1.0).unwrap().epsilon(delta(bad)),
                Err(Error::NotApplicable(_))
            ));
        }
        assert!(matches!(sigma_as_paper(Epsilon::ZERO, delta(0.1)), Err(Error::NotApplicable(_))));
        assert!(matches!(sigma_as_paper(epsilon(1.0), delta(0.6)), Err(Error::NotApplicable(_))));
        assert!(matches!(sigma_as_paper(epsilon(1.0), Delta::ZERO), Err(Error::NotApplicable(_))));
    }
}
