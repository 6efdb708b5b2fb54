//! The run-time choice of a mechanism: what a survey names, as one type.

use std::ops::Range;

use rand_core::CryptoRng;

use crate::assignment::Assignment;
use crate::encoding::Encoding;
use crate::estimate::{Coins, Estimates, InstanceSums, LevelledSums, Spread, Tally};
use crate::fragmenting::{AnswerSeries, ReportFragments};
use crate::fragments::Fragments;
use crate::randomizer::count_sketch::CountSketch;
use crate::randomizer::record::Record;
use crate::randomizer::repetition::Repetition;
use crate::randomizer::{BitRandomizer, Estimator, Randomizer};
use crate::{Epsilon, Error, LocalGuarantee, Removal, Value};

/// A mechanism that counts how many respondents hold each value of a domain: an encoding, and how often its coins are
/// tossed.
#[derive(Clone, Debug)]
pub enum Mechanism {
    /// Independent reports, each with coins of its own; nearly always one.
    Runs(Repetition<Encoding>),
    /// Report fragments behind a backstop. Of a record the backstop is drawn for one sampled attribute.
    Fragments(ReportFragments<Encoding>),
}

impl Mechanism {
    /// One report of an encoding.
    pub fn plain(encoding: impl Into<Encoding>) -> Self {
        Self::Runs(Repetition::once(encoding.into()))
    }

    /// Several runs under one budget, each made by `encoding` from its share.
    pub fn runs<E: Into<Encoding>>(
        epsilon: Epsilon,
        runs: u32,
        encoding: impl FnOnce(Epsilon) -> Result<E, Error>,
    ) -> Result<Self, Error> {
        Ok(Self::Runs(Repetition::split(epsilon, runs, |share| Ok(encoding(share)?.into()))?))
    }

    /// `tau` report fragments of ε_fragment each, behind `backstop`.
    pub fn fragments(
        backstop: impl Into<Encoding>,
        epsilon_fragment: Epsilon,
        tau: u32,
    ) -> Result<Self, Error> {
        Ok(Self::Fragments(ReportFragments::new(backstop.into(), epsilon_fragment, tau)?))
    }

    /// How values become bits; behind a backstop, those of the backstop.
    pub fn encoding(&self) -> &Encoding {
        match self {
            Self::Runs(runs) => runs.run(),
            Self::Fragments(fragments) => fragments.backstop(),
        }
    }

    /// How many values there are; they are numbered from 0, those of a later attribute after those of all before it.
    pub fn domain(&self) -> u64 {
        self.encoding().domain()
    }

    /// The number of attributes over which fragments are counted.
    pub fn attributes(&self) -> u64 {
        self.encoding().attributes()
    }

    /// The sketch that values are hashed into, where there is one.
    pub fn sketch(&self) -> Option<&CountSketch> {
        self.encoding().sketch()
    }

    /// The mechanism of records with several attributes, where that is what a value is.
    pub fn record(&self) -> Option<&Record> {
        self.encoding().record()
    }

    /// The guarantee of all that a respondent sends in one epoch.
    pub fn guarantee(&self) -> LocalGuarantee<Removal> {
        match self {
            Self::Runs(runs) => runs.guarantee(),
            Self::Fragments(fragments) => fragments.guarantee(),
        }
    }

    /// The guarantee of all that a respondent ever sends while the answer stays the same. With report fragments it is the
    /// backstop's, over all epochs; without them every epoch spends it again. For answers that change see
    /// [`Mechanism::series`].
    pub fn floor(&self) -> LocalGuarantee<Removal> {
        match self {
            Self::Runs(runs) => runs.guarantee(),
            Self::Fragments(fragments) => fragments.backstop().guarantee(),
        }
    }

    /// The guarantee of answers that change from epoch to epoch; `None` without report fragments, where every epoch spends
    /// again.
    pub fn series(&self) -> Option<AnswerSeries> {
        match self {
            Self::Runs(_) => None,
            Self::Fragments(fragments) => Some(fragments.series()),
        }
    }

    /// The guarantee of one exposed report fragment; without report fragments that is the whole report.
    pub fn fragment_guarantee(&self) -> Result<LocalGuarantee<Removal>, Error> {
        match self {
            Self::Runs(runs) => Ok(runs.guarantee()),
            Self::Fragments(fragments) => fragments.exposed(1),
        }
    }

    /// The coins between a bit and the analyzer's sums.
    pub fn coins(&self) -> Coins {
        match self {
            Self::Runs(runs) => Coins::Runs { coin: runs.run().coin(), runs: runs.runs() },
            Self::Fragments(fragments) => fragments.coins(),
        }
    }

    /// How many attribute fragments a report on a value (on a record in which nothing is missing) has, on average.
    pub fn fragments_expected(&self) -> f64 {
        let (width, bits) = match self.sketch() {
            Some(sketch) => (sketch.width(), sketch.differing_bits()),
            None => (self.domain(), 1),
        };
        let flip = self.coins().noise().flip();
        let per_row = (width as f64 - 1.0) * flip + (1.0 - flip);
        f64::from(self.coins().draws()) * f64::from(bits) * per_row
    }

    /// How far estimates are off when the truth is known: how many respondents hold each value, all of whom answer. Of
    /// records the crowd is taken to be as large as the attribute that most of them have.
    pub fn spread_of(&self, truth: &[u64]) -> Spread {
        let noise = self.coins().noise();
        let sum = |counts: &[u64]| counts.iter().map(|&count| count as f64).sum::<f64>();
        match (self.sketch(), self.record()) {
            (Some(sketch), _) => sketch.spread_of(truth, &noise),
            (None, Some(record)) => {
                let layout = record.layout();
                let part = |range: Range<u64>| truth.get(range.start as usize..range.end as usize);
                let ranges = (0..layout.count() as usize).map(|attribute| layout.range(attribute));
                let respondents = ranges.filter_map(part).map(sum).fold(0.0, f64::max);
                noise.spread(respondents, layout.count())
            }
            (None, None) => noise.spread(sum(truth), 1),
        }
    }

    /// At the respondent: the attribute fragments of a report on a value, or, of `None`, of the empty report R_0. Fragments of
    /// several draws follow one another, so an attribute may occur more than once.
    ///
    /// Behind a backstop this draws one and forgets it: right for a survey of a single epoch, and for no other.
    ///
    /// ```
    /// use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
    /// use throng_dp::{Epsilon, Mechanism, OneHot, Value};
    ///
    /// let mechanism = Mechanism::plain(OneHot::new(1000, Epsilon::new(20.0)?)?);
    /// let mut rng = ChaCha20Rng::from_seed([7; 32]); // a respondent uses the operating system's
    /// let fragments = mechanism.randomize(Some(&Value::from(42)), &mut rng)?;
    /// assert_eq!(fragments.attributes(), [42]); // at epsilon 20 hardly any bit is flipped
    ///
    /// let mut tally = mechanism.tally()?; // at the analyzer
    /// tally.add_fragments(fragments.attributes())?;
    /// tally.add_respondents(1);
    /// assert_eq!(mechanism.estimate(&tally)?.counts()[42].round(), 1.0);
    /// # Ok::<(), throng_dp::Error>(())
    /// ```
    pub fn randomize(
        &self,
        value: Option<&Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Fragments, Error> {
        let mut fragments = Fragments::default();
        self.randomize_into(value, &mut fragments, rng)?;
        Ok(fragments)
    }

    /// The same into a buffer that is used again and again.
    pub fn randomize_into(
        &self,
        value: Option<&Value>,
        fragments: &mut Fragments,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        let attributes = fragments.refill(self.coins().draws());
        let reports = match self {
            Self::Runs(runs) if runs.runs() == 1 => return runs.run().bits_into(value, attributes, rng),
            Self::Runs(runs) => runs.randomize(value, rng)?,
            Self::Fragments(tau) => tau.randomize(value, rng)?,
        };
        reports.iter().for_each(|report| attributes.extend_from_slice(report.bits()));
        Ok(())
    }

    /// At the analyzer: sums over no fragment yet.
    pub fn tally(&self) -> Result<Tally, Error> {
        self.encoding().tally()
    }

    /// At the analyzer: what the sums say about the crowd.
    pub fn estimate(&self, tally: &Tally) -> Result<Estimates, Error> {
        match self {
            Self::Runs(runs) => runs.estimate(tally),
            Self::Fragments(fragments) => fragments.estimate(tally),
        }
    }

    /// The same from the sums of several instances, which may have counted different respondents. Some instances may be
    /// missing. `instances` is how many receive fragments.
    ///
    /// # Utility
    /// An estimate is about the respondents of the instances that its fragments are at (about their mean, if they are at
    /// several), without bias. Errors are stated for the attributes with the fewest fragments and the most respondents, so
    /// others' are smaller than stated. Values of which nothing is here are missing. A sketch needs the same number of
    /// fragments of every cell.
    pub fn estimate_from(&self, parts: &[InstanceSums<'_>], instances: u32) -> Result<Estimates, Error> {
        let coins = self.coins();
        let assignment = Assignment::new(coins.draws(), instances)?;
        let right = self.attributes() as usize;
        if let Some(part) = parts.iter().find(|part| part.tally.attributes() != right) {
            return Err(Error::TallyMismatch { left: part.tally.attributes(), right });
        }
        // With which probability somebody sets a fragment of an attribute that they do not hold: of a sketch, if its row is
        // sampled.
        let flip = coins.noise().flip();
        let set = self.sketch().map_or(flip, |sketch| {
            flip * f64::from(sketch.differing_bits()) / f64::from(sketch.shape().rows)
        });
        let LevelledSums { respondents, draws, sums, even } = LevelledSums::of(&assignment, set, parts)?;
        if self.sketch().is_some() && !even {
            return Err(Error::PartOfSketch);
        }
        self.encoding().estimate_sums(&sums, respondents, &coins.noise_of(draws))
    }

    /// Whether estimates can be made from these instances alone, given by their positions among those that receive
    /// fragments. A sketch needs the same number of fragments of every cell.
    pub fn estimable(&self, positions: &[u32], instances: u32) -> Result<bool, Error> {
        let assignment = Assignment::new(self.coins().draws(), instances)?;
        let here = |class| positions.iter().map(|&at| assignment.fragments(class, at)).sum::<u32>();
        let first = here(0);
        Ok(self.sketch().is_none() || first > 0 && (1..instances).all(|class| here(class) == first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{epsilon, rng};
    use crate::{Attributes, OneHot, SketchShape};

    fn mechanisms() -> Vec<Mechanism> {
        let one_hot = OneHot::new(50, epsilon(3.0)).unwrap();
        let shape = SketchShape { domain: 50, rows: 8, cells: 16, seed: 3 };
        let sketch = CountSketch::split(shape, epsilon(4.0), 2).unwrap();
        let record = Record::new(Attributes::new(&[20, 30]).unwrap(), epsilon(3.0)).unwrap();
        vec![
            Mechanism::plain(one_hot.clone()),
            Mechanism::runs(epsilon(3.0), 2, |epsilon| OneHot::new(50, epsilon)).unwrap(),
            Mechanism::fragments(one_hot, epsilon(2.0), 3).unwrap(),
            Mechanism::plain(sketch.clone()),
            Mechanism::fragments(sketch, epsilon(2.0), 3).unwrap(),
            Mechanism::plain(record.clone()),
            Mechanism::fragments(record, epsilon(2.0), 3).unwrap(),
        ]
    }

    /// A value of either kind; of records the second attribute is `value` modulo 30.
    fn value(mechanism: &Mechanism, value: u64) -> Value {
        match mechanism.record() {
            Some(_) => Value::from(vec![Some((value % 20) as u32), Some((value % 30) as u32)]),
            None => Value::from(value),
        }
    }

    /// Mean number of fragments over 4,000 reports: off by 6 standard errors with a chance of 2e-9 each. (A report
    /// has at most 150 fragments, all independent but those behind one backstop; the variance is measured.)
    #[test]
    fn reports_have_the_expected_number_of_fragments() {
        for mechanism in mechanisms() {
            let mut rng = rng(5);
            let mut fragments = Fragments::new(vec![9; 9], 9);
            let counts: Vec<f64> = (0..4000u64)
                .map(|i| {
                    let value = value(&mechanism, i % 50);
                    mechanism.randomize_into(Some(&value), &mut fragments, &mut rng).unwrap();
                    assert_eq!(fragments.tau(), mechanism.coins().draws());
                    let attributes = fragments.attributes();
                    assert!(attributes.iter().all(|&a| u64::from(a) < mechanism.attributes()));
                    attributes.len() as f64
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
            let mut fragments = Fragments::default();
            for i in 0..3000 {
                let value = if i % 3 == 0 { None } else { Some(value(&mechanism, 7)) };
                mechanism.randomize_into(value.as_ref(), &mut fragments, &mut rng).unwrap();
                tally.add_fragments(fragments.attributes()).unwrap();
                tally.add_respondents(1);
            }
            let estimates = mechanism.estimate(&tally).unwrap();
            assert_eq!(estimates.counts().len() as u64, mechanism.domain());
            assert!((estimates.counts()[7] - 2000.0).abs() < 7.0 * estimates.standard_error(7));
            assert!(estimates.counts()[8].abs() < 7.0 * estimates.noise_floor());
            if mechanism.record().is_some() {
                assert!((estimates.counts()[27] - 2000.0).abs() < 7.0 * estimates.standard_error(27));
            }
        }
    }

    /// Half of the respondents sample the second attribute: counts are doubled, noise is four times as large, and every
    /// holder adds 1. So say the estimates, and so does what is known beforehand.
    #[test]
    fn records_are_off_by_their_noise_and_their_sample() {
        for mechanism in mechanisms().iter().filter(|mechanism| mechanism.record().is_some()) {
            let noise = mechanism.coins().noise();
            // All 600 have the first attribute, 500 of them the second.
            let mut truth = vec![0; 50];
            (truth[3], truth[4], truth[20], truth[49]) = (250, 350, 499, 1);
            let spread = mechanism.spread_of(&truth);
            assert!((spread.variance(0.0) / (4.0 * 600.0 * noise.variance()) - 1.0).abs() < 1e-12);
            assert!((spread.variance(499.0) - spread.variance(0.0) - 499.0).abs() < 1e-9);
            assert!((spread.range * 0.5 / noise.range() - 1.0).abs() < 1e-12);
            let mut tally = mechanism.tally().unwrap();
            tally.add_respondents(600);
            assert_eq!(mechanism.estimate(&tally).unwrap().spread(), spread);
            assert_eq!((mechanism.domain(), mechanism.attributes()), (50, 50));
        }
    }

    #[test]
    fn guarantees_are_those_of_the_parts() {
        let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-9, "{got} for {expected}");
        let [one_hot, repeated, fragmented, sketch, hashed, record, sampled] =
            mechanisms().try_into().unwrap();
        for whole in [&one_hot, &repeated, &record] {
            near(whole.guarantee().epsilon().value(), 3.0);
            assert_eq!(whole.fragment_guarantee().unwrap(), whole.guarantee());
        }
        near(sketch.guarantee().epsilon().value(), 4.0);
        // tanh(x/2) tanh(y/2) = tanh(e/2), for each of the bits that differ.
        let exposed = |x: f64, y: f64| 2.0 * ((x / 2.0).tanh() * (y / 2.0).tanh()).atanh();
        // One bit of a record differs from the reference, as one of a one-hot vector does.
        for tau in [&fragmented, &sampled] {
            near(tau.fragment_guarantee().unwrap().epsilon().value(), exposed(3.0, 2.0));
            near(tau.guarantee().epsilon().value(), exposed(3.0, 6.0));
            near(tau.floor().epsilon().value(), 3.0);
        }
        near(hashed.floor().epsilon().value(), 4.0);
        assert_eq!(repeated.floor(), repeated.guarantee());
        near(hashed.fragment_guarantee().unwrap().epsilon().value(), 2.0 * exposed(2.0, 2.0));
    }

    #[test]
    fn values_outside_the_domain_are_refused() {
        for mechanism in mechanisms() {
            let refused = |value| mechanism.randomize(Some(&value), &mut rng(1)).unwrap_err();
            if mechanism.record().is_some() {
                assert_eq!(refused(vec![Some(0), Some(30)].into()), Error::OutsideDomain { size: 30 });
                assert_eq!(refused(vec![Some(0)].into()), Error::RecordLength { got: 1, expected: 2 });
                assert!(matches!(refused(Value::One(0)), Error::ValueKind(_)));
            } else {
                for value in [50, 1 << 33] {
                    assert_eq!(refused(Value::One(value)), Error::OutsideDomain { size: 50 });
                }
                assert!(matches!(refused(vec![Some(0)].into()), Error::ValueKind(_)));
            }
        }
    }
}
