//! Simulation of a survey on a crowd whose truth is known, in two modes.
//!
//! `respondent` draws every respondent's fragments with the encoder that a real one runs, and counts them with the
//! analyzer's code: cost grows with the fragments sent. `aggregate` draws the analyzer's counts at once from the law
//! that they have: cost grows with the domain (and with the cells of a sketch), not with the crowd. In both, the
//! estimates are made by the estimator of the mechanism.
//!
//! All randomness comes from one seed, cut into streams that belong to pieces of the work and not to threads: the same
//! seed gives the same result on any machine and any number of threads.
//!
//! The samplers of `respondent` are exact. Those of `aggregate` are exact up to the rounding of doubles: see
//! [`binomial`].

pub mod binomial;
mod cells;
mod gaussian;
mod one_hot;
mod respondents;
mod rows;
mod streams;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use throng_dp::{Estimates, Mechanism};

pub use gaussian::gaussian;
use streams::Streams;
use throng_account::Refusal;

crate::choices! {
    /// How a crowd is simulated.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Mode {
        /// The analyzer's counts, each drawn at once from its law
        Aggregate = "aggregate",
        /// Every respondent's fragments, one by one
        Respondent = "respondent",
    }
}

/// A crowd and the survey it answers.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    /// What respondents and analyzer run.
    pub mechanism: &'a Mechanism,
    /// How many respondents hold each value of the domain.
    pub counts: &'a [u64],
    /// How it is simulated.
    pub mode: Mode,
    /// What all randomness comes from.
    pub seed: u64,
    /// How many threads to use.
    pub threads: usize,
}

/// What the analyzer knows at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationOutcome {
    /// The estimated counts, with their errors.
    pub estimates: Estimates,
    /// How many fragments arrived.
    pub fragments: u64,
}

impl Simulation<'_> {
    /// Runs it. `progress` is told, from any thread, how much more of [`Simulation::steps`] is done.
    pub fn run(&self, progress: impl Fn(u64) + Sync) -> Result<SimulationOutcome> {
        self.run_while(|more| {
            progress(more);
            Ok(())
        })
    }

    /// The same for as long as `progress` says so: it is also asked, with 0, before each piece of work, and where it fails
    /// nothing further is done.
    pub fn run_while(&self, progress: impl Fn(u64) -> Result<()> + Sync) -> Result<SimulationOutcome> {
        self.check()?;
        let (streams, progress) = (Streams::new(self.seed), &progress);
        on_threads(self.threads, || match (self.mode, self.mechanism.sketch()) {
            (Mode::Respondent, _) => respondents::run(self, &streams, progress),
            (Mode::Aggregate, None) => one_hot::run(self, &streams, progress),
            (Mode::Aggregate, Some(_)) => rows::run(self.counts, &[self.mechanism], &streams, progress)?
                .pop()
                .context("one mechanism gives one result"),
        })
    }

    /// How many steps a progress bar has.
    pub fn steps(&self) -> u64 {
        match (self.mode, self.mechanism.sketch()) {
            (Mode::Respondent, _) => self.respondents(),
            (Mode::Aggregate, None) => self.counts.len() as u64,
            (Mode::Aggregate, Some(sketch)) => u64::from(sketch.shape().rows),
        }
    }

    /// What a step is.
    pub fn step_noun(&self) -> &'static str {
        match (self.mode, self.mechanism.sketch()) {
            (Mode::Respondent, _) => "respondents",
            (Mode::Aggregate, None) => "values",
            (Mode::Aggregate, Some(_)) => "rows",
        }
    }

    /// How many take part.
    pub fn respondents(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether it can be run; [`Simulation::run`] asks the same before it starts.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.mechanism.record().is_none(),
            "the survey asks for records of several attributes; data here has one value for each respondent, so plan a \
             survey of one attribute with --domain"
        );
        ensure!(
            self.counts.len() as u64 == self.mechanism.domain(),
            "the data has {} values and the survey {}; they must be the same",
            self.counts.len(),
            self.mechanism.domain()
        );
        let respondents = self.counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
        let draws = u64::from(self.mechanism.coins().draws());
        let within = respondents.and_then(|n| n.checked_mul(draws)).is_some_and(|n| n <= TRIALS_MAX);
        ensure!(
            within,
            "the crowd is too large to simulate: respondents times report fragments may be at most 2^52; scale the \
             crowd down"
        );
        ensure!(
            self.respondents() > 0,
            "nobody holds any value, so nobody would answer; give some a respondent"
        );
        let fragments = self.respondents() as f64 * self.mechanism.fragments_expected();
        if self.mode == Mode::Respondent && fragments > FRAGMENTS_MAX {
            return Err(Refusal(format!(
                "respondent mode would draw {fragments:.1e} fragments, more than {FRAGMENTS_MAX:.0e}; use --mode \
                 aggregate, a larger epsilon or fewer respondents"
            ))
            .into());
        }
        Ok(())
    }
}

/// Several sketches of one shape on the same crowd, in aggregate mode: much faster than one after the other. Respondents
/// pick the same rows in all of them; the noise of each is its own.
pub fn sketches(
    mechanisms: &[&Mechanism],
    counts: &[u64],
    seed: u64,
    threads: usize,
    progress: impl Fn(u64) + Sync,
) -> Result<Vec<SimulationOutcome>> {
    for mechanism in mechanisms {
        Simulation { mechanism, counts, mode: Mode::Aggregate, seed, threads }.check()?;
    }
    let streams = Streams::new(seed);
    let progress = |more| {
        progress(more);
        Ok(())
    };
    on_threads(threads, || rows::run(counts, mechanisms, &streams, &progress))
}

/// Works on `threads` threads. Whoever runs many small simulations calls from a pool of that size, which is used as it is:
/// to start threads takes longer than to simulate a small crowd.
fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if rayon::current_thread_index().is_some() && rayon::current_num_threads() == threads {
        return work();
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.context("cannot start the threads; use fewer")?.install(work)
}

/// Beyond this a run takes hours, and says nothing that the aggregate does not.
const FRAGMENTS_MAX: f64 = 1e10;
/// Numbers of trials are exact as doubles up to 2^53.
const TRIALS_MAX: u64 = 1 << 52;

#[cfg(test)]
mod tests {
    use throng_dp::{Epsilon, OneHot};

    use super::*;

    /// The crowd that draws just so many fragments is simulated one by one, and one more is refused, whoever it is about.
    #[test]
    fn one_by_one_is_refused_from_the_first_fragment_too_many() {
        let mechanism = Mechanism::plain(OneHot::new(2, Epsilon::new(1.0).unwrap()).unwrap());
        let most = (FRAGMENTS_MAX / mechanism.fragments_expected()) as u64;
        let check = |respondents: u64, mode| {
            let counts = &[respondents, 0];
            Simulation { mechanism: &mechanism, counts, mode, seed: 1, threads: 1 }.check()
        };
        check(most, Mode::Respondent).unwrap();
        let refused = check(most + 2, Mode::Respondent).unwrap_err();
        assert!(refused.is::<Refusal>() && refused.to_string().contains("--mode aggregate"), "{refused}");
        check(most + 2, Mode::Aggregate).unwrap();
    }
}
