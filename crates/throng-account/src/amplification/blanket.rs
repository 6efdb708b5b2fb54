//! The privacy blanket of Balle, Bell, Gascón and Nissim 2019, for any local randomizer.

use throng_dp::{CentralGuarantee, Delta, Epsilon, Replacement};

use super::{check_crowd, check_local, check_positive, guarantee, search};
use crate::Error;

/// Which inequality bounds the sums of the generic blanket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inequality {
    /// See [`hoeffding_epsilon`].
    Hoeffding,
    /// See [`bennett_epsilon`].
    Bennett,
}

impl Inequality {
    /// ε_central of n shuffled reports of any ε_local-LDP randomizer.
    pub fn epsilon(
        self,
        n: u64,
        epsilon_local: Epsilon,
        delta: Delta,
    ) -> Result<CentralGuarantee<Replacement>, Error> {
        match self {
            Self::Hoeffding => hoeffding_epsilon(n, epsilon_local, delta),
            Self::Bennett => bennett_epsilon(n, epsilon_local, delta),
        }
    }
}

/// ε_central of n shuffled reports of any ε_local-LDP randomizer, by Hoeffding's inequality.
///
/// # Privacy
/// Replacement, for whole reports. With γ = e^-ε_local, a = e^ε − 1 and b = (e^ε + 1)(e^ε_local − e^-ε_local),
/// δ = b²/(4aγn)·(1 − γ(1 − exp(−2a²/b²)))^n.
/// # Paper
/// Lemma gen-amplif is its asymptotic form; Table central_no_attr was computed from it ([`central_no_attr`]).
pub fn hoeffding_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Replacement>, Error> {
    invert(n, epsilon_local, delta, Blanket::hoeffding_ln_delta)
}

/// δ at a given ε, by Hoeffding's inequality. See [`hoeffding_epsilon`].
pub fn hoeffding_delta(n: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
    delta(n, epsilon_local, epsilon, Blanket::hoeffding_ln_delta)
}

/// ε_central of n shuffled reports of any ε_local-LDP randomizer, by Bennett's inequality.
///
/// # Privacy
/// Replacement, for whole reports. With γ and a as for Hoeffding, b = e^ε_local (1 − e^(ε − 2ε_local)) and
/// c = e^ε_local (e^2ε + 1) − 2γe^(ε − 2ε_local), φ(u) = (1 + u) ln(1 + u) − u,
/// δ = b/(γn ln(1 + ab/c))·E[exp(−M c φ(ab/c)/b²)] for M ~ Bin(n, γ). The expectation is a generating function
/// and needs no sum.
pub fn bennett_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Replacement>, Error> {
    invert(n, epsilon_local, delta, Blanket::bennett_ln_delta)
}

/// δ at a given ε, by Bennett's inequality. See [`bennett_epsilon`].
pub fn bennett_delta(n: u64, epsilon_local: Epsilon, epsilon: Epsilon) -> Result<Delta, Error> {
    delta(n, epsilon_local, epsilon, Blanket::bennett_ln_delta)
}

/// The number that the paper's Table central_no_attr prints: half of Hoeffding's ε at 2ε_local and 2δ.
///
/// # Privacy
/// None: this is a bare number and not a guarantee. It treats (2ε, 2δ)-replacement as (ε, δ)-removal, which is
/// the converse of what holds. For a guarantee see [`super::exact::rappor_whole_epsilon`].
/// # Paper
/// Table central_no_attr, reverse-engineered: it reproduces all four printed cells of its first column (one of
/// them truncated instead of rounded).
pub fn central_no_attr(n: u64, epsilon_local: Epsilon, delta: Delta) -> Result<Epsilon, Error> {
    let twice = Delta::new((2.0 * delta.value()).min(1.0))?;
    let replacement = hoeffding_epsilon(n, epsilon_local.times(2), twice)?;
    Ok(replacement.epsilon().share(2)?.min(epsilon_local))
}

/// What both inequalities start from: a report is drawn from the blanket, whatever the value, with probability γ.
struct Blanket {
    n: f64,
    local: f64,
    gamma: f64,
}

impl Blanket {
    fn new(n: u64, epsilon_local: Epsilon) -> Result<Self, Error> {
        check_crowd(n)?;
        check_local(epsilon_local)?;
        let local = epsilon_local.value();
        Ok(Self { n: n as f64, local, gamma: (-local).exp() })
    }

    fn hoeffding_ln_delta(&self, epsilon: f64) -> f64 {
        let a = epsilon.exp_m1();
        let b = (epsilon.exp() + 1.0) * 2.0 * self.local.sinh();
        let exponent = 2.0 * (a / b).powi(2);
        (b * b / (4.0 * a)).ln() + self.ln_blanket(exponent)
    }

    fn bennett_ln_delta(&self, epsilon: f64) -> f64 {
        let a = epsilon.exp_m1();
        let b = -self.local.exp() * (epsilon - 2.0 * self.local).exp_m1();
        let c = self.local.exp() * ((2.0 * epsilon).exp() + 1.0)
            - 2.0 * self.gamma * (epsilon - 2.0 * self.local).exp();
        let u = a * b / c;
        // φ(u) ≥ u²/2 − u³/6: the series is used where the closed form cancels, and cut so that it is below φ.
        let phi = if u < 1e-4 { u * u * (0.5 - u / 6.0) } else { (1.0 + u) * u.ln_1p() - u };
        (b / u.ln_1p()).ln() + self.ln_blanket(c / (b * b) * phi)
    }

    /// ln(E[e^-tM]/(γn)) for M ~ Bin(n, γ).
    fn ln_blanket(&self, t: f64) -> f64 {
        self.n * (self.gamma * (-t).exp_m1()).ln_1p() + self.local - self.n.ln()
    }
}

fn delta(
    n: u64,
    epsilon_local: Epsilon,
    epsilon: Epsilon,
    ln_delta: impl Fn(&Blanket, f64) -> f64,
) -> Result<Delta, Error> {
    let blanket = Blanket::new(n, epsilon_local)?;
    if epsilon >= epsilon_local {
        return Ok(Delta::ZERO);
    }
    let delta = ln_delta(&blanket, epsilon.value()).exp();
    // Not a number where e^ε_local overflows or ε is 0: there the inequality says nothing.
    Ok(Delta::new(if delta < 1.0 { delta } else { 1.0 })?)
}

fn invert(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
    ln_delta: impl Fn(&Blanket, f64) -> f64,
) -> Result<CentralGuarantee<Replacement>, Error> {
    check_positive(delta)?;
    let blanket = Blanket::new(n, epsilon_local)?;
    let target = delta.value().ln();
    // The inequalities need not be monotone in ε, but each point at which one holds is a guarantee.
    let epsilon = search::smallest(0.0, blanket.local, |epsilon| ln_delta(&blanket, epsilon) <= target);
    guarantee(epsilon, epsilon_local, delta)
}
