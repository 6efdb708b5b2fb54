//! Composition: what several releases about the same respondents guarantee together.
//!
//! Three ways, from loose to tight. [`basic`] adds. [`advanced`] is the paper's Theorem advc, for many equal
//! releases. [`Composition`] convolves privacy loss distributions (PLD) and loses next to nothing; LDP-SGD
//! ([`LdpSgd`]), the DP-SGD of a trusted party ([`DpSgd`]) and releases that move several counts
//! ([`curves_epsilon`]) go through it.

mod bounded_pair;
mod chernoff;
mod connect;
mod convolve;
mod count;
mod dp_sgd;
mod fold;
mod loss;
mod sampling;
mod sgd;
mod shuffled_pair;
mod sketch_rows;
mod two_stage;

use throng_dp::{CentralGuarantee, Delta, Epsilon, Neighbors, Removal, Replacement};

use crate::Error;
use crate::gaussian::Gaussian;
pub use bounded_pair::BoundedPair;
pub use connect::Curve;
pub use dp_sgd::DpSgd;
pub use fold::Composition;
pub use loss::LossPair;
pub use sgd::{LdpSgd, LocalSpending};
pub use shuffled_pair::ShuffledPair;
pub use sketch_rows::cms_split_revealed_epsilon;
pub use two_stage::two_stage_delta;

/// The sum of all guarantees, which holds for any releases, each chosen after seeing the ones before.
pub fn basic<N: Neighbors>(releases: impl IntoIterator<Item = CentralGuarantee<N>>) -> CentralGuarantee<N> {
    let nothing = CentralGuarantee::new(Epsilon::ZERO, Delta::ZERO);
    releases.into_iter().fold(nothing, |sum, release| sum + release)
}

/// `releases` releases that each have the guarantee of `one`, at an additional failure probability `slack`.
///
/// # Privacy
/// (kε²/2 + sqrt(k)·ε·sqrt(2 ln(sqrt(kπ/2)·ε/δ')), δ' + kδ) for k releases and a slack of δ' (Bun and Steinke
/// 2016, Corollary 8.11). Proved where the logarithm is not negative, and refused elsewhere. For few releases the
/// sum ([`basic`]) is smaller; the caller takes the smaller one.
/// # Paper
/// Section II.D, Theorem advc.
pub fn advanced<N: Neighbors>(
    one: CentralGuarantee<N>,
    releases: u64,
    slack: Delta,
) -> Result<CentralGuarantee<N>, Error> {
    if releases == 0 {
        return Err(Error::Parameter {
            what: "the number of releases",
            got: 0.0,
            expected: "give at least 1",
        });
    }
    let (k, epsilon, slack_value) = (releases as f64, one.epsilon().value(), slack.value());
    let inside = (k * std::f64::consts::FRAC_PI_2).sqrt() * epsilon / slack_value;
    // Also false for 0/0, which is NaN.
    if !(inside >= 1.0 && inside.is_finite()) {
        return Err(Error::NotApplicable(format!(
            "advanced composition needs 0 < delta' <= sqrt(k pi/2) epsilon, which is {}",
            inside * slack_value
        )));
    }
    let total = 0.5 * k * epsilon * epsilon + k.sqrt() * epsilon * (2.0 * inside.ln()).sqrt();
    let delta = (k * one.delta().value() * (1.0 + f64::EPSILON)).min(1.0);
    Ok(CentralGuarantee::new(Epsilon::new(total * (1.0 + 1e-14))?, slack + Delta::new(delta)?))
}

/// The ε at `delta` of several releases, each given by its exact trade-off δ(ε) and how often it is made.
///
/// # Privacy
/// All under the relation `N`. At every ε from 0 up, each curve has to be an upper bound of the release's δ, for both
/// directions of the relation. The answer is then an upper bound for all of them together, adaptively chosen. It is for split
/// attributes, several LDP runs and several hash functions, where one respondent moves several counts.
pub fn curves_epsilon<N: Neighbors>(
    curves: &[(Curve<'_>, u64)],
    delta: Delta,
) -> Result<CentralGuarantee<N>, Error> {
    let releases: f64 = curves.iter().map(|&(_, times)| times as f64).sum();
    let tail = tail_share(delta, releases);
    let mut all = Composition::new();
    for &(curve, times) in curves {
        all = all.with(LossPair::from_curve(curve, tail)?, times);
    }
    all.guarantee(delta)
}

/// The ε of one respondent who moves `counts` counts of n randomized bits each: split attributes, several LDP runs, or
/// several epochs without a backstop.
///
/// # Privacy
/// Removal, certified: the exact trade-off of one count, composed. A sampled attribute in a union of domains moves one
/// count only, and has the exact bound itself.
pub fn counts_epsilon(
    n: u64,
    epsilon_each: Epsilon,
    counts: u64,
    delta: Delta,
) -> Result<CentralGuarantee<Removal>, Error> {
    let all = equal_counts::<Removal>(n, epsilon_each, counts, delta)?;
    // What the bits guarantee by themselves, which the composition may exceed by its rounding.
    let local = Epsilon::new((epsilon_each.value() * counts as f64).next_up())?;
    Ok(CentralGuarantee::new(all.epsilon().min(local), delta))
}

/// The ε between two values of one respondent, of one-hot reports in attribute fragments.
///
/// # Privacy
/// Replacement, certified: the count of the one value and that of the other move, which are independent; the exact
/// trade-off of a count covers both directions and whatever the others hold, and is composed with itself. It is far
/// below the conversion from removal, (2ε, (1 + e^ε) δ), which holds of any mechanism.
pub fn replacement_epsilon(
    n: u64,
    epsilon_local: Epsilon,
    delta: Delta,
) -> Result<CentralGuarantee<Replacement>, Error> {
    let both = equal_counts::<Replacement>(n, epsilon_local, 2, delta)?;
    Ok(CentralGuarantee::new(both.epsilon().min(epsilon_local.times(2)), delta))
}

/// `counts` counts of n bits each, composed.
fn equal_counts<N: Neighbors>(
    n: u64,
    epsilon: Epsilon,
    counts: u64,
    delta: Delta,
) -> Result<CentralGuarantee<N>, Error> {
    let one = LossPair::count(n, epsilon, tail_share(delta, counts as f64))?;
    Composition::new().with(one, counts).guarantee(delta)
}

/// The ε of `steps` Gaussian releases, by the same convolution as everything else: a check of it against the exact
/// answer, [`Gaussian::repeated`].
pub fn gaussian_epsilon(one: Gaussian, steps: u64, delta: Delta) -> Result<Epsilon, Error> {
    Ok(curves_epsilon::<Removal>(&[(&|epsilon| one.delta(epsilon), steps)], delta)?.epsilon())
}

/// What each of `releases` curves may move from its far end to "no guarantee at all": together a millionth of δ.
pub(crate) fn tail_share(delta: Delta, releases: f64) -> f64 {
    (1e-6 * delta.value() / releases.max(1.0)).max(f64::MIN_POSITIVE)
}
