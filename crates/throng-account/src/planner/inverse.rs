//! The planner's inverse questions: what crowd do I need, what does one more fragment cost?

use throng_dp::Epsilon;

use super::{Choice, Plan, Question, one_hot, plan_while, record, sketch};
use crate::Error;
use crate::attacker::{Coalition, RemainingPrivacy};
use crate::patience::CancelToken;

/// The least crowd (of the form 1, 2 or 5 times a power of ten) in which a value held by `share` of it can be told
/// from zero, or `None` below 10^11.
pub fn respondents_for_share(
    question: &Question,
    share: f64,
    go_on: CancelToken<'_>,
) -> Result<Option<u64>, Error> {
    question.check()?;
    if !(share > 0.0 && share <= 1.0) {
        return Err(Error::Parameter {
            what: "the share of the crowd",
            got: share,
            expected: "give a number above 0 and at most 1",
        });
    }
    least_crowd(&Question { respondents: 1, ..question.clone() }, share, go_on)
}

/// What one more report fragment changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FragmentCost {
    /// Envelopes per instance, before and after.
    pub envelopes: (u32, u32),
    /// The standard error, before and after.
    pub standard_error: (f64, f64),
    /// What the fragments alone say that one compromised instance and the analyzer tie to somebody, before and after.
    pub exposed: (Epsilon, Epsilon),
}

/// Compares a plan with the same plan with one more report fragment.
pub fn fragment_cost(question: &Question, go_on: CancelToken<'_>) -> Result<FragmentCost, Error> {
    let more = Question { report_fragments: question.report_fragments.saturating_add(1), ..question.clone() };
    let (before, after) = (plan_while(question, go_on)?, plan_while(&more, go_on)?);
    let exposed = |plan: &Plan| -> Result<Epsilon, Error> {
        Ok(match plan.exposure.left(Coalition::AnalyzerAndInstances(1))? {
            RemainingPrivacy::Local { exposed, .. } => exposed.epsilon(),
            RemainingPrivacy::Central(central) => central.epsilon(),
            RemainingPrivacy::ParticipationOnly => Epsilon::ZERO,
        })
    };
    Ok(FragmentCost {
        envelopes: (before.envelopes, after.envelopes),
        standard_error: (before.accuracy.standard_error, after.accuracy.standard_error),
        exposed: (exposed(&before)?, exposed(&after)?),
    })
}

/// The least crowd, not below the question's own, that can tell a share of itself from zero.
pub(super) fn least_crowd(
    question: &Question,
    share: f64,
    go_on: CancelToken<'_>,
) -> Result<Option<u64>, Error> {
    let crowds: Vec<u64> = steps().filter(|&n| n >= question.respondents).collect();
    first(&crowds, |&respondents| {
        let larger = Question { respondents, ..question.clone() };
        let enough = |count| count <= share * respondents as f64;
        Ok(larger.honest() >= 2 && detectable(&larger, go_on)?.is_some_and(enough))
    })
}

/// The least epsilon_central, in steps of 1, 2, 5, at which the question's crowd can tell anything from zero.
pub(super) fn least_epsilon(question: &Question, go_on: CancelToken<'_>) -> Result<Option<Epsilon>, Error> {
    let mut epsilons = Vec::new();
    for step in [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0] {
        epsilons.extend(Some(Epsilon::new(step)?).filter(|&epsilon| epsilon > question.epsilon_central));
    }
    first(&epsilons, |&epsilon_central| {
        let weaker = Question { epsilon_central, ..question.clone() };
        Ok(detectable(&weaker, go_on)?.is_some_and(|count| count <= question.respondents as f64))
    })
}

/// The first of the steps that is `enough`, by halving: from there on all are. What is answered was tried.
fn first<T: Copy>(steps: &[T], enough: impl Fn(&T) -> Result<bool, Error>) -> Result<Option<T>, Error> {
    let (mut low, mut high, mut found) = (0, steps.len(), None);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(&steps[middle])? {
            (high, found) = (middle, Some(steps[middle]));
        } else {
            low = middle + 1;
        }
    }
    Ok(found)
}

/// The smallest count that a plan could tell from zero, whether or not it is feasible otherwise.
fn detectable(question: &Question, go_on: CancelToken<'_>) -> Result<Option<f64>, Error> {
    let plan = match question.encoding {
        Choice::Sketch => sketch::best(question, go_on),
        Choice::OneHot => one_hot(question, go_on),
        Choice::Record { attributes } => record(question, attributes, go_on),
        Choice::Recommend => one_hot(question, go_on).or_else(|_| sketch::best(question, go_on)),
    };
    match plan {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        plan => Ok(plan.ok().map(|plan| plan.accuracy.detectable)),
    }
}

/// 2, 5, 10, 20, 50, ..., 10^11.
fn steps() -> impl Iterator<Item = u64> {
    let powers = (0..11).map(|exponent| 10u64.pow(exponent));
    powers.flat_map(|power| [2 * power, 5 * power, 10 * power])
}
