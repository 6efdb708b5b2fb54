//! Privacy amplification by shuffling: what a crowd adds to the local guarantee of each of its members.
//!
//! Paper: Sections II.D, III and IV. One bound per file, from the paper's own to the exact one:
//!
//! | file | bound | holds for |
//! |---|---|---|
//! | [`lemma`] | the paper's working bound, Lemma abcfd | one randomized bit |
//! | [`theorem`] | its simplification, Theorem att-frag-privacy | one randomized bit |
//! | [`blanket`] | Balle et al. 2019 | any local randomizer |
//! | [`clones`] | Feldman, McMillan, Talwar 2021 and 2023 | any local randomizer; a randomized bit |
//! | [`exact`] | no bound but the number itself | one randomized bit, and what is built of it |
//!
//! Every bound is asked with the number n of honest respondents in the crowd, and refuses where its proof does
//! not reach. None answers with more than the local guarantee.

pub mod blanket;
pub mod clones;
pub mod exact;
pub mod lemma;
mod randomized_bit;
mod search;
pub mod theorem;

pub use randomized_bit::noise_std;

use throng_dp::{CentralGuarantee, Delta, Epsilon, Neighbors};

use crate::Error;

/// A crowd needs someone in it, and its size has to be exact as a floating-point number.
pub(crate) fn check_crowd(n: u64) -> Result<(), Error> {
    if n == 0 {
        let expected = "give at least one honest respondent";
        return Err(Error::Parameter { what: "the crowd", got: 0.0, expected });
    }
    if n > CROWD_MAX {
        let expected = "give at most 10^12 respondents";
        return Err(Error::Parameter { what: "the crowd", got: n as f64, expected });
    }
    Ok(())
}

/// How many of the others truly hold a 1.
fn check_others(n: u64, a: u64) -> Result<(), Error> {
    check_crowd(n)?;
    if a >= n {
        let expected = "give at most n - 1: the victim is one of the n";
        return Err(Error::Parameter { what: "the number of others with a 1", got: a as f64, expected });
    }
    Ok(())
}

/// The local guarantee has to be finite.
pub(crate) fn check_local(epsilon: Epsilon) -> Result<(), Error> {
    if epsilon.value().is_finite() {
        return Ok(());
    }
    let expected = "give a finite epsilon: without a local guarantee a crowd has nothing to amplify";
    Err(Error::Parameter { what: "epsilon_local", got: epsilon.value(), expected })
}

/// Bounds that contain ln(1/δ) have nothing to say about δ = 0.
fn check_positive(delta: Delta) -> Result<(), Error> {
    if delta > Delta::ZERO {
        return Ok(());
    }
    let reason =
        "this bound holds for delta above 0 only; with delta = 0 the local guarantee is all there is";
    Err(Error::NotApplicable(reason.into()))
}

/// (ε, δ), where ε never needs to exceed what each report guarantees by itself.
fn guarantee<N: Neighbors>(epsilon: f64, local: Epsilon, delta: Delta) -> Result<CentralGuarantee<N>, Error> {
    Ok(CentralGuarantee::new(Epsilon::new(epsilon)?.min(local), delta))
}

const CROWD_MAX: u64 = 1_000_000_000_000;
