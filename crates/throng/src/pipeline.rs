//! All stages of a survey in memory, on one page: value -> report -> fragments -> tally -> estimates.
//!
//! The stages are the ones that respondents and analyzer run. What will lie between them, sealing and shuffling,
//! is not here: a tally does not depend on the order in which fragments arrive.

use std::panic::resume_unwind;
use std::thread;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_dp::{BitRandomizer, Error, Estimates, Estimator, Tally};

/// What one worker's generator starts from: random bytes of the operating system wherever privacy matters.
pub type Seed = [u8; 32];

/// What the analyzer knows at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// How often each attribute was set.
    pub tally: Tally,
    /// What that says about the crowd.
    pub estimates: Estimates,
}

/// Asks every respondent for one report and estimates how many hold each value.
///
/// `values` has one entry per respondent. There is one worker per seed, and the same seeds give the same
/// outcome. `progress` is told, from any worker, how many more respondents have answered.
pub fn run<M, V>(
    mechanism: &M,
    values: &V,
    seeds: &[Seed],
    progress: impl Fn(u64) + Sync,
) -> Result<Outcome, Error>
where
    M: BitRandomizer<Value: Sized> + Sync,
    V: Iterator<Item = M::Value> + Clone + Send,
{
    if seeds.is_empty() {
        return Err(Error::ZeroCount("the number of workers"));
    }
    let progress = &progress;
    let parts: Vec<Result<Tally, Error>> = thread::scope(|scope| {
        let workers: Vec<_> = seeds
            .iter()
            .enumerate()
            .map(|(worker, &seed)| {
                let part = values.clone().skip(worker).step_by(seeds.len());
                scope.spawn(move || tally_of(mechanism, part, seed, progress))
            })
            .collect();
        // A worker that panicked takes the survey down with it: part of a crowd is not a result.
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut tally = mechanism.tally()?;
    for part in parts {
        tally.merge(&part?)?;
    }
    let estimates = mechanism.estimate(&tally)?;
    Ok(Outcome { tally, estimates })
}

/// The reports of one worker's respondents, one after the other, in counts.
fn tally_of<M: BitRandomizer<Value: Sized>>(
    mechanism: &M,
    values: impl Iterator<Item = M::Value>,
    seed: Seed,
    progress: &impl Fn(u64),
) -> Result<Tally, Error> {
    let mut rng = ChaCha20Rng::from_seed(seed);
    let mut tally = mechanism.tally()?;
    for value in values {
        // At the respondent: the value becomes a report, and only that goes on.
        let report = mechanism.randomize(Some(&value), &mut rng)?;
        // At the analyzer: fragments that belong to nobody.
        tally.add_fragments(mechanism.fragments(&report))?;
        tally.add_respondents(1);
        if tally.respondents().is_multiple_of(PROGRESS_STEP) {
            progress(PROGRESS_STEP);
        }
    }
    progress(tally.respondents() % PROGRESS_STEP);
    Ok(tally)
}

/// Often enough for a bar to move on a slow survey, rarely enough to cost nothing on a fast one.
const PROGRESS_STEP: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Picture;
    use std::sync::atomic::{AtomicU64, Ordering};
    use throng_dp::{Epsilon, OneHot};

    const SEEDS: [Seed; 3] = [[1; 32], [2; 32], [3; 32]];

    /// 80 x 64 pixels, three quarters of them black.
    fn picture() -> Picture {
        let pixels = (0..5120u32).map(|at| if at % 80 < 60 { 0 } else { (at % 251) as u8 }).collect();
        Picture::new(80, 64, pixels).unwrap()
    }

    fn survey(picture: &Picture, seeds: &[Seed]) -> Outcome {
        let mechanism = OneHot::new(picture.domain(), Epsilon::new(4.0).unwrap()).unwrap();
        run(&mechanism, &picture.values(), seeds, |_| ()).unwrap()
    }

    #[test]
    fn estimates_are_as_good_as_theory_says() {
        // About 160,000 respondents, so each count is normal with a standard error of about 54. The chance
        // that one of 5120 is off by 6 of those is 1e-5; the RMSE has a relative deviation of 1/sqrt(2 *
        // 5120) = 1 %.
        let picture = picture();
        let estimates = survey(&picture, &SEEDS).estimates;
        assert_eq!(estimates.respondents(), picture.luminosity());
        let errors: Vec<f64> =
            estimates.counts().iter().zip(picture.pixels()).map(|(c, &t)| c - f64::from(t)).collect();
        let standard_error = estimates.noise_floor();
        assert!(errors.iter().all(|error| error.abs() < 6.0 * standard_error));
        let rmse = (errors.iter().map(|error| error * error).sum::<f64>() / 5120.0).sqrt();
        assert!((rmse / standard_error - 1.0).abs() < 0.05, "{rmse} {standard_error}");
    }

    #[test]
    fn the_same_seeds_give_the_same_bytes() {
        let picture = picture();
        let png = |seeds| picture.redrawn(survey(&picture, seeds).estimates.counts()).to_png().unwrap();
        assert_eq!(png(&SEEDS), png(&SEEDS));
        assert_ne!(png(&SEEDS), png(&SEEDS[1..]));
    }

    #[test]
    fn everyone_answers_once_and_progress_says_so() {
        let picture = Picture::new(3, 1, vec![255, 0, 31]).unwrap();
        let mechanism = OneHot::new(3, Epsilon::new(25.0).unwrap()).unwrap();
        for workers in 1..=3 {
            let seen = AtomicU64::new(0);
            let progress = |more| {
                seen.fetch_add(more, Ordering::Relaxed);
            };
            let outcome = run(&mechanism, &picture.values(), &SEEDS[..workers], progress).unwrap();
            assert_eq!(outcome.tally.counts().collect::<Vec<_>>(), [255, 0, 31]);
            assert_eq!((outcome.tally.respondents(), seen.into_inner()), (286, 286));
        }
    }

    #[test]
    fn a_survey_without_workers_or_with_foreign_values_fails() {
        let mechanism = OneHot::new(2, Epsilon::new(1.0).unwrap()).unwrap();
        assert!(run(&mechanism, &[0].into_iter(), &[], |_| ()).is_err());
        assert!(run(&mechanism, &[0, 2].into_iter(), &SEEDS, |_| ()).is_err());
    }
}
