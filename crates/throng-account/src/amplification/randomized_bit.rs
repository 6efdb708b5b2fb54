//! One bit under symmetric randomized response: the pair of laws that every bound for fragments starts from.

use throng_dp::Epsilon;

use super::{check_crowd, check_local};
use crate::Error;

/// The standard deviation of the estimated count of one attribute over n reports, sqrt(n·pq)/(1 − 2p).
pub fn noise_std(n: u64, epsilon_local: Epsilon) -> Result<f64, Error> {
    check_crowd(n)?;
    check_local(epsilon_local)?;
    if epsilon_local == Epsilon::ZERO {
        return Err(throng_dp::Error::NoSignal(0.0).into());
    }
    // pq = 1/(4 cosh²(ε/2)) and 1 − 2p = tanh(ε/2).
    Ok((n as f64).sqrt() / (2.0 * (epsilon_local.value() / 2.0).sinh()))
}

/// A bit that is flipped with probability p = 1/(1 + e^ε_local); q = 1 − p.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomizedBit {
    pub(super) epsilon: f64,
    pub(super) p: f64,
    pub(super) q: f64,
}

/// How much an outcome f(k) of the others' noise counts for, and f(k − 1) against, when the victim's report is
/// added to it: H_ε = Σ_k (α f(k) − β f(k − 1))₊.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// q − e^ε p.
    pub(super) alpha: f64,
    /// e^ε q − p.
    pub(super) beta: f64,
}

impl RandomizedBit {
    pub(super) fn new(epsilon: f64) -> Self {
        let odds = (-epsilon).exp();
        Self { epsilon, p: odds / (1.0 + odds), q: 1.0 / (1.0 + odds) }
    }

    /// None if ε is at least ε_local: then the bit alone is ε-private, and δ = 0.
    pub(super) fn weights(&self, epsilon: f64) -> Option<Weights> {
        // As products of positive factors, so that neither cancels when the epsilons are small or close.
        let alpha = -self.q * (epsilon - self.epsilon).exp_m1();
        let beta = -self.q * epsilon.exp() * (-epsilon - self.epsilon).exp_m1();
        (alpha > 0.0).then_some(Weights { alpha, beta })
    }

    /// Flips so rare that p and its products leave the range of a double: no crowd amplifies them.
    pub(super) fn is_noiseless(&self) -> bool {
        self.epsilon > NOISELESS
    }
}

/// e^-300 is 10^-130: a crowd of 10^12 does not flip one such bit in the age of the universe.
const NOISELESS: f64 = 300.0;
