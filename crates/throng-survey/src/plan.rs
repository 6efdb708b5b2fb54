//! Planning: from a target guarantee to a survey, with what it costs, how exact it is, and why.

mod consent;
mod honest;
mod labels;
mod target;

use std::fmt;

use serde::Serialize;
use throng_account::planner::cost::{self, Cost};
use throng_account::planner::{self, Choice, Encoding, Plan, Question};
use throng_account::{CancelToken, Error as AccountError, TO_THE_END};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal, Replacement};

use crate::lengths::envelope_len;
use crate::liar::{self, OneLiarJson};
use crate::survey::{self, AnswerChanges, Claim, Cover, Crowd, Delivery, Enrolment};
use crate::{CentralPromise, CollusionPromise, Error, StatedGuarantee, Survey};
use throng_account::rounding::at_most;

pub use honest::HonestShare;
pub use target::{Domain, EncodingChoice, LabelTarget, Target};

/// Plans a survey: the one with the smallest error that keeps the target's guarantee.
///
/// ```
/// use throng_survey::plan::{Domain, Target, plan};
///
/// let target = Target { respondents: 100_000, asked: Domain::Values(500), ..Target::default() };
/// let planned = plan(&target)?;
/// assert_eq!(planned.survey.claim.epsilon_central, 1.0);
/// assert!(planned.standard_error < 100.0);
/// # Ok::<(), throng_survey::Error>(())
/// ```
pub fn plan(target: &Target) -> Result<SurveyPlan, Error> {
    plan_while(target, TO_THE_END)
}

/// The same for as long as `go_on` says yes.
pub fn plan_while(target: &Target, go_on: CancelToken<'_>) -> Result<SurveyPlan, Error> {
    let question = question(target)?;
    let plan = planner::plan_while(&question, go_on).map_err(unmet)?;
    let survey = Survey { labels: labels::survey(target), ..survey(target, &question, &plan) };
    // What cannot be written down is no plan.
    survey.to_toml()?;
    let mut planned = SurveyPlan::of(&question, &plan, target.hops, survey, go_on)?;
    if let Some(share) = target.crowd_for_share {
        planned.respondents_for_share = planner::respondents_for_share(&question, share, go_on)?;
    }
    Ok(planned)
}

/// A plan: the survey, what it guarantees and costs, and why. Its fields are the JSON that `throng plan` prints, and its text
/// is what the command shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurveyPlan {
    /// What one release guarantees.
    #[serde(flatten)]
    pub central: CentralPromise,
    /// The same if all of the crowd are honest, and if half of them are.
    pub if_honest: [HonestShare; 2],
    /// The same between two answers that somebody could have given (replacement).
    pub replacement: ReplacementPromise,
    /// What a release says about whether somebody took part at all (absence).
    pub absence: StatedGuarantee,
    /// epsilon_local, or epsilon_backstop with report fragments.
    pub epsilon_floor: f64,
    /// What one report fragment is randomized with; absent without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon_fragment: Option<f64>,
    /// Which instance a fragment goes to: `by-value`, fragment t of value j to instance number (j + t) mod K' of the K' that
    /// get fragments, counted from 0.
    pub routing: &'static str,
    /// The part of delta that overflowing bodies take.
    pub overflow_delta: f64,
    /// How many envelopes of a respondent hold a fragment, on average.
    pub fragments_per_respondent: f64,
    /// How many envelopes every respondent sends to every instance.
    pub envelopes_per_instance: u32,
    /// The length of an envelope.
    pub envelope_bytes: u64,
    /// What a respondent sends in an epoch.
    pub bytes_per_respondent: u64,
    /// The respondent's processor time in an epoch, on the machine that the planner's constants were measured on.
    pub respondent_ms: f64,
    /// The processor time of all hops and the analyzer, for one respondent.
    pub servers_ms: f64,
    /// The same of Prio3Histogram over this domain; absent for records, which it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prio3: Option<Prio3>,
    /// What to consider instead, and what it gives up; absent where nothing is clearly cheaper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub another_design: Option<String>,
    /// The standard error of a count, in respondents.
    pub standard_error: f64,
    /// The part of it that coins make.
    pub privacy_error: f64,
    /// The part of it that collisions make.
    pub collision_error: f64,
    /// The error that sampling adds for a value that everybody holds; absent where nothing is sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_error: Option<f64>,
    /// The largest error over all counts, exceeded with a probability of 5 % at most.
    pub simultaneous_error: f64,
    /// Where noise ends: some value that nobody holds exceeds this with a probability of 5 % at most.
    pub noise_threshold: f64,
    /// How many have to hold a value so that it can be told from zero, with a probability of 95 %.
    pub detectable_count: f64,
    /// What one respondent who lies can do to one estimate.
    pub one_liar: OneLiarJson,
    /// What collusion leaves.
    #[serde(flatten)]
    pub collusion: CollusionPromise,
    /// What one more report fragment would change; absent where there is no such plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_more_fragment: Option<OneMoreFragment>,
    /// The crowd that `--crowd-for-share` asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respondents_for_share: Option<u64>,
    /// Why the plan is as it is.
    pub reasons: Vec<String>,
    /// The probability that a release tells more than `epsilon_central`, at most.
    pub exceeded_probability: f64,
    /// A few sentences for people who are asked.
    pub consent: String,
    /// The survey: a draft without parties.
    pub survey: Survey,
}

/// A guarantee between two answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplacementPromise {
    /// The privacy loss of one release.
    pub epsilon_central: f64,
    /// The allowance beside it.
    pub delta: f64,
}

/// The same plan with one more report fragment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneMoreFragment {
    /// How many envelopes every respondent sends to every instance.
    pub envelopes_per_instance: u32,
    /// The standard error of a count, in respondents.
    pub standard_error: f64,
    /// The loss of the fragments alone that one bad instance and the analyzer can tie to a respondent.
    pub epsilon_if_one_instance_compromised: f64,
}

/// The cost of the same count by Prio3Histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prio3 {
    /// What a respondent sends in an epoch.
    pub bytes_per_respondent: u64,
    /// The respondent's processor time.
    pub respondent_ms: f64,
    /// The processor time of all servers together, for one respondent.
    pub servers_ms: f64,
}

impl From<Cost> for Prio3 {
    fn from(cost: Cost) -> Self {
        Self {
            bytes_per_respondent: cost.bytes,
            respondent_ms: cost.respondent_us / 1e3,
            servers_ms: cost.servers_us / 1e3,
        }
    }
}

impl SurveyPlan {
    fn of(
        question: &Question,
        plan: &Plan,
        hops: u32,
        survey: Survey,
        go_on: CancelToken<'_>,
    ) -> Result<Self, Error> {
        let removal = CentralGuarantee::<Removal>::new(question.epsilon_central, question.delta);
        let replacement = CentralGuarantee::<Replacement>::from(removal);
        let liar = liar::of(&survey)?;
        let bytes = u64::from(question.instances) * survey.body_len();
        let cost = cost::throng(plan, question.instances, hops, bytes);
        let histogram = match plan.encoding {
            Encoding::OneHot | Encoding::Sketch { .. } => Some(question.domain),
            Encoding::Record { .. } => None,
        };
        Ok(Self {
            central: (&survey.claim).into(),
            if_honest: honest::of(&survey, go_on)?,
            replacement: ReplacementPromise {
                epsilon_central: replacement.epsilon().value(),
                delta: replacement.delta().to_three_digits(),
            },
            absence: labels::absence(&survey)?,
            epsilon_floor: plan.exposure.epsilon_floor.value(),
            epsilon_fragment: plan.exposure.fragments.map(|(epsilon, _)| epsilon.value()),
            routing: "by-value",
            overflow_delta: plan.overflow.value(),
            fragments_per_respondent: plan.fragments,
            envelopes_per_instance: plan.envelopes,
            envelope_bytes: envelope_len(survey.payload_len(), hops),
            bytes_per_respondent: bytes,
            respondent_ms: cost.respondent_us / 1e3,
            servers_ms: cost.servers_us / 1e3,
            prio3: histogram.map(|domain| cost::prio3(domain).into()),
            another_design: histogram.and_then(|domain| cost::another_design(&cost, domain)),
            standard_error: plan.accuracy.standard_error,
            privacy_error: plan.accuracy.privacy_error,
            collision_error: plan.accuracy.collision_error,
            sampling_error: Some(plan.accuracy.sampling_error).filter(|&error| error > 0.0),
            simultaneous_error: plan.accuracy.simultaneous_error,
            noise_threshold: plan.accuracy.threshold,
            detectable_count: plan.accuracy.detectable,
            one_liar: liar.into(),
            collusion: CollusionPromise::of(&plan.exposure)?,
            one_more_fragment: planner::fragment_cost(question, go_on).ok().map(|cost| OneMoreFragment {
                envelopes_per_instance: cost.envelopes.1,
                standard_error: cost.standard_error.1,
                epsilon_if_one_instance_compromised: cost.exposed.1.value(),
            }),
            respondents_for_share: None,
            reasons: plan.reasons.clone(),
            exceeded_probability: consent::exceeded(&survey, go_on)?,
            consent: format!(
                "{} {}",
                consent::summary(question, plan, &survey, go_on)?,
                liar::consent(&liar)
            ),
            survey,
        })
    }
}

/// The page that `throng plan` prints.
impl fmt::Display for SurveyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let floor = if self.epsilon_fragment.is_some() { "epsilon_backstop" } else { "epsilon_local" };
        let mut line = |name: &str, value: String| writeln!(f, "{name:<28}{value}");
        line(
            "guarantee of a release",
            format!(
                "epsilon_central {}, delta {:e} (removal, exact bound)",
                self.central.epsilon_central, self.central.delta
            ),
        )?;
        line(
            "  a larger loss",
            format!("with probability {} at most", consent::one_in(self.exceeded_probability)),
        )?;
        for (name, kept) in ["  if all are honest", "  if half of them are"].into_iter().zip(&self.if_honest)
        {
            line(name, kept.in_words())?;
        }
        line(
            "  between two answers",
            format!(
                "epsilon_central {}, delta {:e} (replacement)",
                self.replacement.epsilon_central, self.replacement.delta
            ),
        )?;
        line("  of having taken part", labels::absence_in_words(&self.absence))?;
        line("whatever fails in an epoch", format!("{floor} {} (removal)", self.epsilon_floor))?;
        if let Some(fragment) = self.epsilon_fragment {
            line("each report fragment", format!("epsilon_fragment {fragment}"))?;
            line("over several epochs", over_epochs(&self.survey).into())?;
        }
        let list = |epsilons: &[f64]| {
            let list: Vec<String> =
                epsilons.iter().map(|&epsilon| format!("{:.4}", at_most(epsilon))).collect();
            format!("1 to {}: epsilon {}", list.len(), list.join(", "))
        };
        line(
            "bad instances + analyzer",
            list(&self.collusion.epsilon_with_release_if_instances_compromised),
        )?;
        if self.epsilon_fragment.is_some() {
            line("  fragments tied alone", list(&self.collusion.epsilon_if_instances_compromised))?;
        }
        line(
            "respondents",
            match self.survey.crowd.honest_fraction {
                Some(share) => {
                    format!("{}, of whom {} % honest", self.survey.crowd.respondents_min, 100.0 * share)
                }
                None => format!(
                    "{}, all of whom the guarantee counts on: state --honest-fraction if more than one operator is to sign",
                    self.survey.crowd.respondents_min
                ),
            },
        )?;
        if let Some(labels) = &self.survey.labels {
            line("of each label", labels::in_words(labels))?;
        }
        line(
            "each of them sends",
            format!(
                "{} envelopes of {} bytes to each of {} instances, {} bytes in all; {:.2} hold a fragment",
                self.envelopes_per_instance,
                self.envelope_bytes,
                self.survey.delivery.instances,
                self.bytes_per_respondent,
                self.fragments_per_respondent
            ),
        )?;
        line(
            "processor time for that",
            format!(
                "about {:.1} ms of each respondent, {:.1} ms of all servers together",
                self.respondent_ms, self.servers_ms
            ),
        )?;
        line(
            "error of a count",
            format!(
                "{:.1} respondents (privacy {:.1}, collisions {:.1})",
                self.standard_error, self.privacy_error, self.collision_error
            ),
        )?;
        if let Some(sampling) = self.sampling_error {
            line(
                "one sampled attribute",
                format!("adds {sampling:.1} for a value that everybody holds, less for rarer ones"),
            )?;
        }
        line(
            "largest error, 95 %",
            format!("{:.0} over all {} values", self.simultaneous_error, self.survey.domain()),
        )?;
        line(
            "noise ends at",
            format!("{:.0} (a value nobody holds exceeds it in 5 % of surveys)", self.noise_threshold),
        )?;
        line("smallest count seen", format!("{:.0} (told from zero with 95 %)", self.detectable_count))?;
        line(
            "one liar",
            liar::in_words(&self.one_liar.into(), self.envelopes_per_instance, self.noise_threshold),
        )?;
        if let Some(more) = &self.one_more_fragment {
            let envelopes = more.envelopes_per_instance;
            line(
                "one more report fragment",
                format!(
                    "{envelopes} envelopes, error {:.1}, tied at one bad instance: epsilon {:.4}",
                    more.standard_error,
                    at_most(more.epsilon_if_one_instance_compromised)
                ),
            )?;
        }
        if let Some(respondents) = self.respondents_for_share {
            line("crowd for that share", format!("{respondents} respondents"))?;
        }
        writeln!(f, "\nWhy:")?;
        for reason in &self.reasons {
            writeln!(f, "- {reason}")?;
        }
        if let Some(another) = &self.another_design {
            writeln!(f, "\nAnother design:\n{another}")?;
        }
        writeln!(f, "\nFor the consent form:\n{}", self.consent)?;
        Ok(())
    }
}

fn question(target: &Target) -> Result<Question, Error> {
    let refused = |field, reason: String| Err(Error::Target { field, reason });
    if target.answer_changes.is_some() && target.report_fragments <= 1 {
        return refused(
            "answer_changes",
            "it is about a backstop, which only report fragments have: give more than one of them".into(),
        );
    }
    let domain = match &target.asked {
        Domain::Values(count) => *count,
        Domain::Record(attributes) => {
            if let Some(few) = attributes.iter().find(|attribute| attribute.values < 2) {
                return refused("asked", format!("give the attribute {} at least 2 values", few.name));
            }
            survey::sum_of_values(attributes)
        }
    };
    Ok(Question {
        epsilon_central: Epsilon::new(target.epsilon_central).map_err(target::wrong("epsilon_central"))?,
        delta: Delta::new(target.delta).map_err(target::wrong("delta"))?,
        respondents: target.respondents,
        honest_fraction: target.honest_fraction.unwrap_or(1.0),
        domain,
        report_fragments: target.report_fragments,
        instances: target.instances,
        encoding: match (&target.asked, target.encoding) {
            (Domain::Record(attributes), _) => Choice::Record {
                attributes: u32::try_from(attributes.len()).map_err(target::wrong("asked"))?,
            },
            (Domain::Values(_), None) => Choice::Recommend,
            (Domain::Values(_), Some(EncodingChoice::OneHot)) => Choice::OneHot,
            (Domain::Values(_), Some(EncodingChoice::Sketch)) => Choice::Sketch,
        },
        distribution: target.distribution.clone(),
        labels: labels::question(target)?,
    })
}

/// Tells a target that cannot be met from a parameter that makes no sense.
fn unmet(error: AccountError) -> Error {
    match error {
        AccountError::Infeasible { .. }
        | AccountError::NotApplicable(_)
        | AccountError::TooManyFragments { .. } => Error::Unmet(error),
        other => Error::Account(other),
    }
}

fn survey(target: &Target, question: &Question, plan: &Plan) -> Survey {
    let domain = question.domain;
    Survey {
        version: 1,
        name: target.name.clone(),
        question: target.question.clone(),
        epoch_s: target.epoch_s,
        mode: None,
        values: None,
        encoding: match plan.encoding {
            Encoding::OneHot => survey::Encoding::OneHot { domain },
            Encoding::Sketch { rows, cells } => {
                survey::Encoding::Sketch { domain, rows, cells, seed: target.hash_seed }
            }
            Encoding::Record { .. } => survey::Encoding::Record {
                attributes: match &target.asked {
                    Domain::Record(attributes) => attributes.clone(),
                    Domain::Values(_) => Vec::new(),
                },
            },
        },
        randomizer: match plan.exposure.fragments {
            None => {
                survey::Randomizer::AttributeFragments { epsilon_local: plan.exposure.epsilon_floor.value() }
            }
            Some((epsilon, fragments)) => survey::Randomizer::ReportFragments {
                epsilon_backstop: plan.exposure.epsilon_floor.value(),
                epsilon_fragment: epsilon.value(),
                fragments,
                answer_changes: target.answer_changes,
            },
        },
        crowd: Crowd {
            respondents_min: question.respondents,
            honest_fraction: target.honest_fraction,
            enrolment: Enrolment::Credential,
        },
        delivery: Delivery {
            keep_sealed_s: None,
            // What it would be anyway, for those who look for it.
            keep_batches_s: Some(KEEP_BATCHES_S.max(target.epoch_s)),
            instances: question.instances,
            hops: target.hops,
            envelopes: plan.envelopes,
            cover: Cover::Chaff,
        },
        claim: Claim {
            epsilon_central: question.epsilon_central.value(),
            delta: question.delta.value(),
            neighbors: "removal".into(),
            bound: "exact".into(),
        },
        // What labels are about is said by the target alone.
        labels: None,
        // A draft: its parties are named before it is signed.
        parties: None,
    }
}

/// How long batches wait for the next party, unless an epoch is longer: 30 days.
const KEEP_BATCHES_S: u64 = 30 * 86400;

/// The guarantee of a backstop over several epochs, in words.
fn over_epochs(survey: &Survey) -> &'static str {
    match survey.answer_changes() {
        Some(AnswerChanges::Never) => {
            "epsilon_backstop for all of them together: the first report counts, whatever is answered later"
        }
        Some(AnswerChanges::Allowed) | None => {
            "epsilon_backstop for an answer that stays the same; one that changes says more, up to all fragments of its epochs \
             (with --answer-changes never the first report counts)"
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lengths::{INDEX_LEN, body_len};
    use throng_account::planner::ENVELOPES_MAX;

    /// The most that a plan asks for is what the planner's constant says it is.
    #[test]
    fn the_largest_body_of_a_plan_has_less_than_a_megabyte() {
        assert_eq!(
            (body_len(INDEX_LEN, 2, ENVELOPES_MAX), body_len(INDEX_LEN, 16, ENVELOPES_MAX)),
            (107_049, 793_049)
        );
    }
}
