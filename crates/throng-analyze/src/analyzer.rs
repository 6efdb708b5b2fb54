//! What an analyzer runs: anonymous fragments -> tally -> estimates.

use throng_dp::{Error, Estimates, Mechanism, Tally};
use throng_wire::Survey;

/// The analyzer's half of a survey: counts fragments that belong to nobody.
///
/// ```
/// use throng_analyze::Analyzer;
/// use throng_dp::{Epsilon, Mechanism, OneHot};
///
/// let mut analyzer = Analyzer::new(Mechanism::plain(OneHot::new(3, Epsilon::new(30.0)?)?))?;
/// analyzer.add_fragments(&[2, 0, 2])?;
/// analyzer.add_respondents(3);
/// assert_eq!(analyzer.estimates()?.counts().iter().map(|count| count.round()).collect::<Vec<_>>(), [1.0, 0.0, 2.0]);
/// # Ok::<(), throng_dp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Analyzer {
    mechanism: Mechanism,
    tally: Tally,
}

impl Analyzer {
    /// An analyzer that has seen no fragment yet.
    pub fn new(mechanism: Mechanism) -> Result<Self, Error> {
        let tally = mechanism.tally()?;
        Ok(Self { mechanism, tally })
    }

    /// The same for a survey.
    pub fn of_survey(survey: &Survey) -> Result<Self, Error> {
        Self::new(survey.mechanism()?)
    }

    /// How often each attribute was set.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Counts that so many respondents took part; their fragments come in any order.
    pub fn add_respondents(&mut self, respondents: u64) {
        self.tally.add_respondents(respondents);
    }

    /// Counts fragments, all or, if one of them is not of this survey, none.
    pub fn add_fragments(&mut self, attributes: &[u32]) -> Result<(), Error> {
        self.tally.add_fragments(attributes)
    }

    /// Counts many fragments of one attribute.
    pub fn add_count(&mut self, attribute: u32, fragments: u64) -> Result<(), Error> {
        self.tally.add_count(attribute, fragments)
    }

    /// Adds what another analyzer counted of the same crowd.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.tally.merge(&other.tally)
    }

    /// What the counts say about the crowd.
    pub fn estimates(&self) -> Result<Estimates, Error> {
        self.mechanism.estimate(&self.tally)
    }
}
