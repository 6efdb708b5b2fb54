//! The run-time choice of a mechanism: what a survey names, as one type.

use rand_core::CryptoRng;

use crate::estimate::{BitNoise, Estimates, Part, Spread, Tally};
use crate::fragmenting::ReportFragments;
use crate::randomizer::count_sketch::CountSketch;
use crate::randomizer::one_hot::OneHot;
use crate::randomizer::repeated::Repeated;
use crate::randomizer::{BitRandomizer, Estimator, Randomizer};
use crate::sampling::Bernoulli;
use crate::{Error, LocalGuarantee, Removal};

/// A mechanism that counts how many respondents hold each value of a domain.
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// One bit per value.
    OneHot(OneHot),
    /// Several runs of that under one budget.
    RepeatedOneHot(Repeated<OneHot>),
    /// One bit per value, in report fragments behind a backstop.
    FragmentedOneHot(ReportFragments<OneHot>),
    /// One cell in each of a few sampled rows of a sketch.
    Sketch(CountSketch),
    /// The same, in report fragments behind a backstop.
    FragmentedSketch(ReportFragments<CountSketch>),
}

/// The coins between a bit and the analyzer's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coins {
    /// Independent runs, each with a coin of its own.
    Runs {
        /// The coin of each run.
        coin: Bernoulli,
        /// How many runs; nearly always one.
        runs: u32,
    },
    /// Fragments that share a backstop.
    Fragments {
        /// The coin that the backstop was drawn with.
        backstop: Bernoulli,
        /// The coin of each fragment.
        fragment: Bernoulli,
        /// How many fragments: tau.
        tau: u32,
    },
}

/// Calls the same method on whichever mechanism it is.
macro_rules! each {
    ($self:ident, $mechanism:ident => $call:expr) => {
        match $self {
            Mechanism::OneHot($mechanism) => $call,
            Mechanism::RepeatedOneHot($mechanism) => $call,
            Mechanism::FragmentedOneHot($mechanism) => $call,
            Mechanism::Sketch($mechanism) => $call,
            Mechanism::FragmentedSketch($mechanism) => $call,
        }
    };
}

impl Mechanism {
    /// How many values there are; they are numbered from 0.
    pub fn domain(&self) -> u64 {
        match self {
            Self::OneHot(one_hot) => one_hot.size(),
            Self::RepeatedOneHot(repeated) => repeated.run().size(),
            Self::FragmentedOneHot(fragments) => fragments.backstop().size(),
            Self::Sketch(_) | Self::FragmentedSketch(_) => self.sketch().map_or(0, |s| s.shape().domain),
        }
    }

    /// The number of attributes over which fragments are counted.
    pub fn attributes(&self) -> u64 {
        self.sketch().map_or(self.domain(), BitRandomizer::attributes)
    }

    /// The sketch that values are hashed into, where there is one.
    pub fn sketch(&self) -> Option<&CountSketch> {
        match self {
            Self::Sketch(sketch) => Some(sketch),
            Self::FragmentedSketch(fragments) => Some(fragments.backstop()),
            Self::OneHot(_) | Self::RepeatedOneHot(_) | Self::FragmentedOneHot(_) => None,
        }
    }

    /// What all that a respondent sends in one epoch says together.
    pub fn guarantee(&self) -> LocalGuarantee<Removal> {
        each!(self, mechanism => mechanism.guarantee())
    }

    /// What everything that a respondent ever sends about one value says: with report fragments the backstop's
    /// guarantee, over all epochs; without them every epoch says this much again.
    pub fn floor(&self) -> LocalGuarantee<Removal> {
        match self {
            Self::FragmentedOneHot(fragments) => fragments.backstop().guarantee(),
            Self::FragmentedSketch(fragments) => fragments.backstop().guarantee(),
            Self::OneHot(_) | Self::RepeatedOneHot(_) | Self::Sketch(_) => self.guarantee(),
        }
    }

    /// What one exposed report fragment says; without report fragments that is the whole report.
    pub fn fragment_guarantee(&self) -> Result<LocalGuarantee<Removal>, Error> {
        match self {
            Self::FragmentedOneHot(fragments) => fragments.exposed(1),
            Self::FragmentedSketch(fragments) => fragments.exposed(1),
            Self::OneHot(_) | Self::RepeatedOneHot(_) | Self::Sketch(_) => Ok(self.guarantee()),
        }
    }

    /// The coins between a bit and the analyzer's sums.
    pub fn coins(&self) -> Coins {
        match self {
            Self::OneHot(one_hot) => Coins::Runs { coin: one_hot.coin(), runs: 1 },
            Self::RepeatedOneHot(repeated) => {
                Coins::Runs { coin: repeated.run().coin(), runs: repeated.runs() }
            }
            Self::FragmentedOneHot(fragments) => fragments.coins(),
            Self::Sketch(sketch) => Coins::Runs { coin: sketch.coin(), runs: 1 },
            Self::FragmentedSketch(fragments) => fragments.coins(),
        }
    }

    /// How many attribute fragments a report on a value has, on average.
    pub fn fragments_expected(&self) -> f64 {
        let (width, bits) = match self.sketch() {
            Some(sketch) => (sketch.width(), sketch.differing_bits()),
            None => (self.domain(), 1),
        };
        let flip = self.coins().noise().flip();
        let per_row = (width as f64 - 1.0) * flip + (1.0 - flip);
        f64::from(self.coins().draws()) * f64::from(bits) * per_row
    }

    /// How far estimates are off when the truth is known: how many respondents hold each value, all of whom answer.
    pub fn spread_of(&self, truth: &[u64]) -> Spread {
        let noise = self.coins().noise();
        let respondents: f64 = truth.iter().map(|&count| count as f64).sum();
        match self.sketch() {
            Some(sketch) => sketch.spread_of(truth, &noise),
            None => Spread::constant(respondents * noise.variance(), noise.range()),
        }
    }

    /// At the respondent: the attribute fragments of a report on a value, or of the empty report R_0, into a buffer
    /// that is cleared first. Fragments of several draws follow one another, so an attribute may occur more than once.
    pub fn randomize_into(
        &self,
        value: Option<u64>,
        fragments: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        let outside = |_| Error::OutsideDomain { size: self.domain() };
        let narrow = || value.map(u32::try_from).transpose().map_err(outside);
        match self {
            Self::OneHot(one_hot) => {
                return one_hot.randomize_into(narrow()?.as_ref(), fragments, rng);
            }
            Self::RepeatedOneHot(repeated) => {
                replace(fragments, repeated.randomize(narrow()?.as_ref(), rng)?.iter().flatten());
            }
            Self::FragmentedOneHot(tau) => {
                replace(fragments, tau.randomize(narrow()?.as_ref(), rng)?.iter().flatten());
            }
            Self::Sketch(sketch) => replace(fragments, &sketch.randomize(value.as_ref(), rng)?.bits),
            Self::FragmentedSketch(tau) => {
                let reports = tau.randomize(value.as_ref(), rng)?;
                replace(fragments, reports.iter().flat_map(|report| &report.bits));
            }
        }
        Ok(())
    }

    /// At the analyzer: sums over no fragment yet.
    pub fn tally(&self) -> Result<Tally, Error> {
        each!(self, mechanism => mechanism.tally())
    }

    /// At the analyzer: what the sums say about the crowd.
    pub fn estimate(&self, tally: &Tally) -> Result<Estimates, Error> {
        each!(self, mechanism => mechanism.estimate(tally))
    }

    /// The same from the sums of some shuffler instances alone: scaled up, with wider errors. The tally's respondents are
    /// those of one instance, each of whom sends fragments to all.
    pub fn estimate_in_part(&self, tally: &Tally, part: Part) -> Result<Estimates, Error> {
        let noise = self.coins().noise_in_part(part);
        match self {
            Self::OneHot(one_hot) => one_hot.estimate_through(tally, &noise),
            Self::RepeatedOneHot(repeated) => repeated.run().estimate_through(tally, &noise),
            Self::FragmentedOneHot(fragments) => fragments.backstop().estimate_through(tally, &noise),
            Self::Sketch(sketch) => sketch.estimate_through(tally, &noise),
            Self::FragmentedSketch(fragments) => fragments.backstop().estimate_through(tally, &noise),
        }
    }
}

impl Coins {
    /// What they amount to for an estimator.
    pub fn noise(&self) -> BitNoise {
        self.noise_in_part(Part::ALL)
    }

    /// The same where only a part of the fragments arrives.
    pub fn noise_in_part(&self, part: Part) -> BitNoise {
        match *self {
            Self::Runs { coin, runs } => BitNoise::repeated_in_part(coin, runs, part),
            Self::Fragments { backstop, fragment, tau } => {
                BitNoise::fragmented_in_part(backstop, fragment, tau, part)
            }
        }
    }

    /// How often each bit is sent.
    pub fn draws(&self) -> u32 {
        match *self {
            Self::Runs { runs, .. } => runs,
            Self::Fragments { tau, .. } => tau,
        }
    }
}

fn replace<'a>(fragments: &mut Vec<u32>, by: impl IntoIterator<Item = &'a u32>) {
    fragments.clear();
    fragments.extend(by);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rng;
    use crate::{Epsilon, SketchShape};

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    fn mechanisms() -> Vec<Mechanism> {
        let one_hot = OneHot::new(50, epsilon(3.0)).unwrap();
        let shape = SketchShape { domain: 50, rows: 8, cells: 16, seed: 3 };
        let sketch = CountSketch::split(shape, epsilon(4.0), 2).unwrap();
        vec![
            Mechanism::OneHot(one_hot.clone()),
            Mechanism::RepeatedOneHot(
                Repeated::split(epsilon(3.0), 2, |epsilon| OneHot::new(50, epsilon)).unwrap(),
            ),
            Mechanism::FragmentedOneHot(ReportFragments::new(one_hot, epsilon(2.0), 3).unwrap()),
            Mechanism::Sketch(sketch.clone()),
            Mechanism::FragmentedSketch(ReportFragments::new(sketch, epsilon(2.0), 3).unwrap()),
        ]
    }

    /// Mean number of fragments over 4,000 reports: off by 6 standard errors with a chance of 2e-9 each. (A report
    /// has at most 150 fragments, all independent but those behind one backstop; the variance is measured.)
    #[test]
    fn reports_have_the_expected_number_of_fragments() {
        for mechanism in mechanisms() {
            let mut rng = rng(5);
            let mut fragments = vec![9; 9];
            let counts: Vec<f64> = (0..4000u64)
                .map(|i| {
                    mechanism.randomize_into(Some(i % 50), &mut fragments, &mut rng).unwrap();
                    assert!(fragments.iter().all(|&a| u64::from(a) < mechanism.attributes()));
                    fragments.len() as f64
                })
                .collect();
            let mean = counts.iter().sum::<f64>() / 4000.0;
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 4000.0;
            let expected = mechanism.fragments_expected();
            assert!((mean - expected).abs() < 6.0 * (variance / 4000.0).sqrt(), "{mean} for {expected}");
        }
    }

    #[test]
    fn estimates_come_back_from_fragments() {
        for mechanism in mechanisms() {
            let mut rng = rng(6);
            let mut tally = mechanism.tally().unwrap();
            let mut fragments = Vec::new();
            for i in 0..3000 {
                let value = if i % 3 == 0 { None } else { Some(7) };
                mechanism.randomize_into(value, &mut fragments, &mut rng).unwrap();
                tally.add_fragments(&fragments).unwrap();
                tally.add_respondents(1);
            }
            let estimates = mechanism.estimate(&tally).unwrap();
            assert_eq!(estimates.counts().len() as u64, mechanism.domain());
            assert!((estimates.counts()[7] - 2000.0).abs() < 7.0 * estimates.noise_floor());
            assert!(estimates.counts()[8].abs() < 7.0 * estimates.noise_floor());
        }
    }

    #[test]
    fn guarantees_are_those_of_the_parts() {
        let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-9, "{got} for {expected}");
        let [one_hot, repeated, fragmented, sketch, hashed] = mechanisms().try_into().unwrap();
        for whole in [&one_hot, &repeated] {
            near(whole.guarantee().epsilon().value(), 3.0);
            assert_eq!(whole.fragment_guarantee().unwrap(), whole.guarantee());
        }
        near(sketch.guarantee().epsilon().value(), 4.0);
        // tanh(x/2) tanh(y/2) = tanh(e/2), for each of the bits that differ.
        let exposed = |x: f64, y: f64| 2.0 * ((x / 2.0).tanh() * (y / 2.0).tanh()).atanh();
        near(fragmented.fragment_guarantee().unwrap().epsilon().value(), exposed(3.0, 2.0));
        near(fragmented.guarantee().epsilon().value(), exposed(3.0, 6.0));
        near(fragmented.floor().epsilon().value(), 3.0);
        near(hashed.floor().epsilon().value(), 4.0);
        assert_eq!(repeated.floor(), repeated.guarantee());
        near(hashed.fragment_guarantee().unwrap().epsilon().value(), 2.0 * exposed(2.0, 2.0));
    }

    #[test]
    fn values_outside_the_domain_are_refused() {
        for mechanism in mechanisms() {
            for value in [50, 1 << 33] {
                let refused = mechanism.randomize_into(Some(value), &mut Vec::new(), &mut rng(1));
                assert_eq!(refused, Err(Error::OutsideDomain { size: 50 }));
            }
        }
    }
}
