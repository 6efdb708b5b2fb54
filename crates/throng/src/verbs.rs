//! The verbs of the library: plan, account and simulate, each one call.

use thiserror::Error;
use throng_account::bound::BOUNDS;
use throng_dp::{Delta, Epsilon};

/// What a central guarantee is asked about: one randomized bit of every respondent of a crowd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crowd {
    /// How many honest respondents hide one another.
    pub respondents: u64,
    /// What each report guarantees by itself (removal).
    pub epsilon_local: f64,
    /// The allowance of the central guarantee.
    pub delta: f64,
}

/// What one bound says.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundResult {
    /// Its name, the same everywhere: exact, fmt23, clones21, blanket, lemma, theorem.
    pub bound: &'static str,
    /// epsilon_central (removal), or why the bound does not apply.
    pub epsilon_central: Result<f64, throng_account::Error>,
}

/// What a crowd guarantees centrally, under every bound: the exact one first, the paper's simplest last.
pub fn account(crowd: &Crowd) -> Result<Vec<BoundResult>, Error> {
    let (local, delta) = (Epsilon::new(crowd.epsilon_local)?, Delta::new(crowd.delta)?);
    let say = |bound: &throng_account::bound::Bound| BoundResult {
        bound: bound.name,
        epsilon_central: (bound.central)(crowd.respondents, local, delta).map(Epsilon::value),
    };
    Ok(BOUNDS.iter().map(say).collect())
}

/// Runs a survey on a crowd whose truth is known: `counts` has how many respondents hold each value.
#[cfg(feature = "lab")]
pub fn simulate(
    survey: &throng_survey::Survey,
    counts: &[u64],
    seed: u64,
) -> Result<throng_dp::Estimates, Error> {
    use throng_simulate::simulation::{Mode, Simulation};
    let mechanism = survey.mechanism()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let simulation = Simulation { mechanism: &mechanism, counts, mode: Mode::Aggregate, seed, threads };
    let simulated = simulation.run(|_| ()).map_err(|error| Error::Simulation(format!("{error:#}")))?;
    Ok(simulated.estimates)
}

/// Why a verb did not do what it says.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid parameter, and what it has to be.
    #[error(transparent)]
    Parameter(#[from] throng_dp::Error),
    /// A survey that is refused, or is not possible, and what to change.
    #[error(transparent)]
    Survey(#[from] throng_survey::Error),
    /// A simulation that does not fit its survey, and what to change.
    #[error("{0}")]
    Simulation(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_answers_or_says_why_not() {
        let crowd = Crowd { respondents: 10_000, epsilon_local: 2.0, delta: 1e-6 };
        let all = account(&crowd).unwrap();
        assert_eq!(all.len(), BOUNDS.len());
        let exact = all[0].epsilon_central.clone().unwrap();
        assert!(exact > 0.0 && exact < 2.0, "{exact}");
        for other in all.iter().filter_map(|one| one.epsilon_central.clone().ok()) {
            assert!(exact <= other + 1e-9, "the certified one is the tightest: {exact} {other}");
        }
        assert!(account(&Crowd { delta: 2.0, ..crowd }).is_err());
    }
}
