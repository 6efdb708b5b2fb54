//! Several runs of one randomizer on the same value, under one budget.

use rand_core::CryptoRng;

use super::{BitRandomizer, Estimator, Randomizer, check_tally};
use crate::estimate::{BitNoise, Estimates, Tally};
use crate::{Epsilon, Error, LocalGuarantee};

/// A report made of `runs` independent reports, each with an equal share of the budget.
///
/// # Privacy
/// The sum of the runs' guarantees (basic composition, which is tight here).
/// # Utility
/// Unbiased, with variance n·v(ε/runs)/runs: far worse than one run, which is what the paper's table shows.
/// # Paper
/// Section VII, Table horse_1_report ("one, two or five LDP runs").
#[derive(Clone, Debug)]
pub struct Repetition<R> {
    run: R,
    runs: u32,
}

impl<R: BitRandomizer> Repetition<R> {
    /// Splits a budget over `runs`, each made by `run` from its share.
    pub fn split(
        epsilon: Epsilon,
        runs: u32,
        run: impl FnOnce(Epsilon) -> Result<R, Error>,
    ) -> Result<Self, Error> {
        check_parts("the number of runs", runs)?;
        Ok(Self { run: run(epsilon.share(runs)?)?, runs })
    }

    /// A single run: the mechanism itself.
    pub fn once(run: R) -> Self {
        Self { run, runs: 1 }
    }

    /// The mechanism of one run.
    pub fn run(&self) -> &R {
        &self.run
    }

    /// How many runs.
    pub fn runs(&self) -> u32 {
        self.runs
    }
}

impl<R: BitRandomizer> Randomizer for Repetition<R> {
    type Value = R::Value;
    type Report = Vec<R::Report>;
    type Neighbors = R::Neighbors;

    fn guarantee(&self) -> LocalGuarantee<R::Neighbors> {
        self.run.guarantee().times(self.runs)
    }

    fn randomize(
        &self,
        value: Option<&R::Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<R::Report>, Error> {
        (0..self.runs).map(|_| self.run.randomize(value, rng)).collect()
    }
}

impl<R: BitRandomizer> Estimator for Repetition<R> {
    type Tally = Tally;
    type Estimate = Estimates;

    fn tally(&self) -> Result<Tally, Error> {
        self.run.tally()
    }

    fn add(&self, tally: &mut Tally, report: &Vec<R::Report>) -> Result<(), Error> {
        add_parts(&self.run, tally, report, self.runs)
    }

    fn estimate(&self, tally: &Tally) -> Result<Estimates, Error> {
        check_tally(&self.run, tally)?;
        self.run.estimate_through(tally, &BitNoise::repeated(self.run.coin(), self.runs))
    }
}

/// Counts one respondent's report of several parts, all of them or none.
pub(crate) fn add_parts<R: BitRandomizer>(
    mechanism: &R,
    tally: &mut Tally,
    parts: &[R::Report],
    expected: u32,
) -> Result<(), Error> {
    if parts.len() != expected as usize {
        return Err(Error::ReportParts { got: parts.len(), expected });
    }
    if !parts.iter().all(|part| mechanism.fits(part)) {
        return Err(Error::ForeignReport);
    }
    check_tally(mechanism, tally)?;
    let fragments: Vec<u32> = parts.iter().flat_map(|part| mechanism.fragments(part)).copied().collect();
    tally.add_fragments(&fragments)?;
    tally.add_respondents(1);
    Ok(())
}

/// A report of very many parts would not fit in memory; nobody needs one.
pub(crate) fn check_parts(what: &'static str, parts: u32) -> Result<(), Error> {
    let (got, limit) = (u64::from(parts), 1 << 16);
    if got > limit { Err(Error::TooLarge { what, got, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{check_estimator, check_randomizer, subsets};
    use crate::randomizer::one_hot::OneHot;
    use crate::randomizer::set_valued::{SetValued, Spend};
    use crate::randomizer::{ExactDistribution, Probability};
    use crate::testing::epsilon;

    #[test]
    fn runs_share_the_budget() {
        for runs in [1, 2, 5] {
            let repeated = Repetition::split(epsilon(8.55), runs, |e| OneHot::new(100, e)).unwrap();
            let spent = repeated.guarantee().epsilon().value();
            assert!(spent <= 8.55 && spent > 8.55 - 1e-12);
        }
        assert!(Repetition::split(epsilon(8.55), 0, |e| OneHot::new(100, e)).is_err());
    }

    impl ExactDistribution for Repetition<OneHot> {
        fn probability(&self, value: Option<&u32>, report: &Vec<Vec<u32>>) -> Result<Probability, Error> {
            let runs: Result<Vec<_>, _> = report.iter().map(|run| self.run.probability(value, run)).collect();
            Ok(runs?.into_iter().product())
        }
    }

    #[test]
    fn keeps_the_contract() {
        let repeated = Repetition::split(epsilon(2.0), 2, |e| OneHot::new(2, e)).unwrap();
        let pairs: Vec<Vec<Vec<u32>>> = subsets(2)
            .into_iter()
            .flat_map(|first| subsets(2).into_iter().map(move |second| vec![first.clone(), second]))
            .collect();
        check_randomizer(&repeated, &[&0, &1], &pairs);
        assert!(Repetition::split(epsilon(8.0), u32::MAX, |e| OneHot::new(2, e)).is_err());
    }

    #[test]
    fn counts_are_unbiased_with_the_stated_variance() {
        let value = |i: u64| if i < 90 { Some(&1) } else { None };
        let repeated = |_| Repetition::split(epsilon(4.0), 3, |e| OneHot::new(2, e)).unwrap();
        check_estimator(repeated, 150, value, &[0.0, 90.0]);
        // Runs that sample an attribute each: the sampling error falls with the number of runs too.
        let record = |_: u64| Some([0, 1].as_slice());
        let repeated =
            |_| Repetition::split(epsilon(9.0), 3, |e| SetValued::new(3, 2, Spend::Sample, e)).unwrap();
        check_estimator(repeated, 150, record, &[150.0, 150.0, 0.0]);
    }

    #[test]
    fn a_report_with_missing_runs_is_not_counted() {
        let repeated = Repetition::split(epsilon(4.0), 2, |e| OneHot::new(3, e)).unwrap();
        let mut tally = repeated.tally().unwrap();
        assert!(matches!(repeated.add(&mut tally, &vec![vec![0]]), Err(Error::ReportParts { .. })));
        assert!(repeated.add(&mut tally, &vec![vec![0], vec![3]]).is_err());
        assert_eq!(tally, repeated.tally().unwrap());
    }

    #[test]
    fn one_run_is_best() {
        // Horse at epsilon 8.55, sqrt(n e^x/(e^x - 1)²/runs) with x = 8.55/runs. (After clipping to [0, 255] the
        // paper's RMSE grows from 13 to 88 and 141.)
        let errors: Vec<f64> = [1, 2, 5]
            .map(|runs| {
                let repeated = Repetition::split(epsilon(8.55), runs, |e| OneHot::new(4, e)).unwrap();
                let mut tally = repeated.tally().unwrap();
                tally.add_respondents(1_914_589);
                repeated.estimate(&tally).unwrap().noise_floor()
            })
            .to_vec();
        for (error, expected) in errors.iter().zip([19.254, 117.03, 321.27]) {
            assert!((error / expected - 1.0).abs() < 1e-4, "{errors:?}");
        }
    }
}
