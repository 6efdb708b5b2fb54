//! What a release says about data poisoning (lies): what one liar can do, what cannot come from the crowd, and what holds
//! with some liars.

use indicatif::HumanCount;
use serde::{Deserialize, Serialize};
use throng_analyze::Release;
use throng_analyze::plausible::{FALSE_ALARM, Mark};
use throng_wire::survey::Survey;

use crate::error::Result;
pub use throng_survey::liar::{OneLiarJson, up_to_tenths};

/// What is said of lies in a release. The names are stable. All of it follows from what is released and from public numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lies {
    /// What one liar can do to one estimate.
    pub one_liar: OneLiarJson,
    /// How many liars are allowed for in what is said `with_liars`.
    pub liars: u64,
    /// A value that no honest respondent holds exceeds this with so many liars, with probability `beta` at most.
    pub noise_threshold_with_liars: f64,
    /// How many values exceed it.
    pub significant_with_liars: u64,
    /// The probability that anything is withheld or in doubt in a release of an honest crowd.
    pub false_alarm: f64,
    /// Reasons to doubt the whole release; none where all is well.
    pub doubts: Vec<DoubtJson>,
    /// How many estimates are withheld, since they cannot come from the crowd.
    pub withheld_values: u64,
    /// The first of them.
    pub withheld: Vec<WithheldValue>,
}

/// Why a release is doubted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoubtJson {
    /// `total-above`, `total-below` or `cells`.
    pub mark: String,
    /// A sentence.
    pub reason: String,
}

/// A value whose estimate is not given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithheldValue {
    /// Its number.
    pub value: usize,
    /// What it is called.
    pub name: String,
    /// Impossible or implausible.
    pub mark: Mark,
    /// Why.
    pub reason: String,
}

impl Lies {
    /// What is to be said of a release in which noise ends at `threshold`, and some liars are allowed for.
    pub fn of(survey: &Survey, release: &Release, threshold: f64, liars: u64) -> Self {
        let (plausibility, values) = (release.plausibility(), 0..release.estimates().counts().len());
        let with_liars = release.one_liar().threshold(threshold, liars);
        let above = |&value: &usize| release.given(value).is_some_and(|count| count > with_liars);
        let doubts = plausibility.doubts.iter();
        let withheld =
            plausibility.withheld.iter().take(WITHHELD_LISTED).map(|(&value, why)| WithheldValue {
                value,
                name: survey.value_name(value as u64),
                mark: why.mark,
                reason: why.to_string(),
            });
        Self {
            one_liar: release.one_liar().into(),
            liars,
            noise_threshold_with_liars: with_liars,
            significant_with_liars: values.filter(above).count() as u64,
            false_alarm: FALSE_ALARM,
            doubts: doubts
                .map(|one| DoubtJson { mark: one.name().to_owned(), reason: one.to_string() })
                .collect(),
            withheld_values: plausibility.withheld.len() as u64,
            withheld: withheld.collect(),
        }
    }

    /// Lines of text: a word, and what is said.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let OneLiarJson { envelopes, estimate_up_max, estimate_down_max } = self.one_liar;
        let mut lines = vec![(
            "one liar",
            format!(
                "can have {} envelopes counted for one value: its estimate is up to {:.1} too high, or {:.1} too low",
                HumanCount(envelopes),
                up_to_tenths(estimate_up_max),
                up_to_tenths(estimate_down_max)
            ),
        )];
        if self.liars > 0 {
            lines.push((
                "with liars",
                format!(
                    "values above {:.1}, where noise and {} end: {}",
                    up_to_tenths(self.noise_threshold_with_liars),
                    liars(self.liars),
                    HumanCount(self.significant_with_liars)
                ),
            ));
        }
        lines.extend(
            self.doubts.iter().map(|doubt| ("in doubt", format!("({}) {}", doubt.mark, doubt.reason))),
        );
        for value in &self.withheld {
            lines.push(("withheld", format!("{} ({}): {}", value.name, value.mark.name(), value.reason)));
        }
        let more = self.withheld_values - self.withheld.len() as u64;
        if more > 0 {
            lines.push(("withheld", format!("{} more, as the table says", HumanCount(more))));
        }
        lines
    }

    /// How a value is marked whose estimate is given: above the noise, and yet liars could have made it, one of them or as
    /// many as are allowed for.
    pub fn mark(&self, estimate: f64, noise_threshold: f64) -> Option<Mark> {
        let one = self.one_liar.estimate_up_max * self.liars.max(1) as f64;
        (estimate > noise_threshold && estimate <= noise_threshold + one).then_some(Mark::Liars)
    }

    /// That mark in words.
    pub fn could_be_made(&self) -> String {
        format!("({} could have made it)", liars(self.liars.max(1)))
    }
}

/// A number of them.
pub fn liars(count: u64) -> String {
    match count {
        1 => "one liar".into(),
        count => format!("{} liars", HumanCount(count)),
    }
}

/// The mark of a value in a table; nothing if there is none.
pub fn mark_of(release: &Release, lies: &Lies, value: usize, noise_threshold: f64) -> &'static str {
    match (release.plausibility().withheld.get(&value), release.given(value)) {
        (Some(withheld), _) => withheld.mark.name(),
        (None, Some(estimate)) => lies.mark(estimate, noise_threshold).map_or("", Mark::name),
        (None, None) => "missing",
    }
}

/// The range of a value with as many liars as are allowed for.
pub fn interval_with_liars(
    release: &Release,
    liars: u64,
    value: usize,
    confidence: f64,
) -> Result<(f64, f64)> {
    let range = release.one_liar().interval(release.estimates(), value, confidence, liars)?;
    Ok((*range.start(), *range.end()))
}

/// All are in the table; so many are in the JSON and the text.
const WITHHELD_LISTED: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn lies(liars: u64) -> Lies {
        let withheld = WithheldValue {
            value: 777,
            name: "777".into(),
            mark: Mark::Impossible,
            reason: "180 fragments".into(),
        };
        Lies {
            one_liar: OneLiarJson { envelopes: 9, estimate_up_max: 9.5, estimate_down_max: 1.26 },
            liars,
            noise_threshold_with_liars: 5.0 + 9.5 * liars as f64,
            significant_with_liars: 1,
            false_alarm: FALSE_ALARM,
            doubts: vec![DoubtJson { mark: "total-above".into(), reason: "Too many.".into() }],
            withheld_values: 3,
            withheld: vec![withheld],
        }
    }

    /// Noise ends at 5, and one liar adds 9.5.
    #[test]
    fn what_liars_could_have_made_is_marked() {
        let marks = |liars: u64, estimates: [f64; 4]| estimates.map(|one| lies(liars).mark(one, 5.0));
        let some = Some(Mark::Liars);
        assert_eq!(marks(0, [4.9, 5.1, 14.4, 14.6]), [None, some, some, None]);
        assert_eq!(marks(1, [4.9, 5.1, 14.4, 14.6]), [None, some, some, None]);
        assert_eq!(marks(3, [4.9, 14.6, 33.4, 33.6]), [None, some, some, None]);
        assert_eq!(lies(0).could_be_made(), "(one liar could have made it)");
        assert_eq!(lies(3).could_be_made(), "(3 liars could have made it)");
    }

    #[test]
    fn lies_are_spoken_of_in_words() {
        let said = |liars| -> Vec<String> {
            lies(liars).lines().into_iter().map(|(label, text)| format!("{label}: {text}")).collect()
        };
        assert_eq!(
            said(0),
            [
                "one liar: can have 9 envelopes counted for one value: its estimate is up to 9.5 too high, or 1.3 too low",
                "in doubt: (total-above) Too many.",
                "withheld: 777 (impossible): 180 fragments",
                "withheld: 2 more, as the table says",
            ]
        );
        assert_eq!(said(2)[1], "with liars: values above 24.0, where noise and 2 liars end: 1");
    }
}
