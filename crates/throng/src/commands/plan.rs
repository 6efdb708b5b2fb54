//! `throng plan`: from a target guarantee to a survey file.

mod consent;
mod honest;
mod labels;
mod liar;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use throng_account::Error;
use throng_account::planner::cost::{self, Cost};
use throng_account::planner::{self, Choice, Distribution, Encoding, Plan, Question};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal, Replacement};
use throng_wire::envelope::{body_len, envelope_len};
use throng_wire::survey::{self, AnswerChanges, Attribute, Claim, Cover, Crowd, Delivery, Enrolment, Survey};

use super::stated::Stated;
use super::{Format, print};
use crate::analysis::lies::OneLiarShown;
use crate::cli::{EncodingArg, PlanArgs};
use crate::exit::Refusal;
use crate::out_dir::OutDir;
use crate::rounding::at_most;

/// Plans a survey, prints it, and writes its file where asked to.
pub fn run(args: &PlanArgs, format: Format) -> Result<()> {
    let planned = planned(args)?;
    if let Some(path) = &args.out {
        write(path, &planned.survey.to_toml()?)?;
    }
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&planned)? + "\n")),
        Format::Text => {
            let mut page = planned.to_text(&question(args)?)?;
            match &args.out {
                Some(path) => writeln!(page, "\nSurvey file: {}", path.display())?,
                None => writeln!(page, "\nWith --out FILE the survey file is written.")?,
            }
            print(&page)
        }
    }
}

/// Plans a survey.
pub(crate) fn planned(args: &PlanArgs) -> Result<Planned> {
    let question = question(args)?;
    let plan = planner::plan(&question).map_err(refusal)?;
    let survey = Survey { labels: labels::survey(args), ..survey(args, &question, &plan) };
    // What cannot be written down is no plan.
    survey.to_toml()?;
    let mut planned = Planned::of(&question, &plan, args.hops, survey)?;
    if let Some(share) = args.crowd_for_share {
        planned.respondents_for_share = planner::respondents_for_share(&question, share)?;
    }
    Ok(planned)
}

fn question(args: &PlanArgs) -> Result<Question> {
    let attributes = args.attribute.iter().map(|attribute| attribute.values);
    let width = attributes.fold(0_u64, u64::saturating_add);
    ensure!(
        args.answer_changes.is_none() || args.report_fragments > 1,
        "--answer-changes is about a backstop, which only report fragments have: give --report-fragments, too"
    );
    for attribute in &args.attribute {
        ensure!(attribute.values >= 2, "--attribute {}: give it at least 2 values", attribute.name);
    }
    Ok(Question {
        epsilon_central: Epsilon::new(args.epsilon_central).context("--epsilon-central")?,
        delta: Delta::new(args.delta).context("--delta")?,
        respondents: args.respondents,
        honest_fraction: args.honest_fraction.unwrap_or(1.0),
        domain: args.domain.unwrap_or(width),
        report_fragments: args.report_fragments,
        instances: args.instances,
        encoding: match args.encoding {
            _ if !args.attribute.is_empty() => {
                Choice::Record { attributes: u32::try_from(args.attribute.len()).context("--attribute")? }
            }
            None => Choice::Recommend,
            Some(EncodingArg::OneHot) => Choice::OneHot,
            Some(EncodingArg::Sketch) => Choice::Sketch,
        },
        distribution: match (&args.sample, args.zipf) {
            (Some(path), _) => Distribution::Sample(sample(path)?),
            (None, Some(exponent)) => Distribution::Zipf(exponent),
            (None, None) => Distribution::Uniform,
        },
        labels: labels::question(args)?,
    })
}

/// The counts of a CSV file: what follows the last comma of each line. A first line without one is a header.
fn sample(path: &Path) -> Result<Vec<u64>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut counts = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.rsplit(',').next().unwrap_or_default().trim().parse() {
            Ok(count) => counts.push(count),
            Err(_) if number == 0 => {}
            Err(_) => bail!("{}, line {}: no count after the last comma", path.display(), number + 1),
        }
    }
    Ok(counts)
}

/// A target that cannot be met is a refusal; a parameter that makes no sense is a failure.
pub(super) fn refusal(error: Error) -> anyhow::Error {
    match error {
        Error::Infeasible { .. } | Error::NotApplicable(_) | Error::TooManyFragments { .. } => {
            Refusal(error.to_string()).into()
        }
        other => other.into(),
    }
}

fn survey(args: &PlanArgs, question: &Question, plan: &Plan) -> Survey {
    let domain = question.domain;
    Survey {
        version: 1,
        name: args.name.clone(),
        question: args.question.clone(),
        epoch_s: args.epoch_s,
        encoding: match plan.encoding {
            Encoding::OneHot => survey::Encoding::OneHot { domain },
            Encoding::Sketch { rows, cells } => {
                survey::Encoding::Sketch { domain, rows, cells, seed: args.hash_seed }
            }
            Encoding::Record { .. } => survey::Encoding::Record {
                attributes: args
                    .attribute
                    .iter()
                    .map(|one| Attribute { name: one.name.clone(), values: one.values })
                    .collect(),
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
                answer_changes: args.answer_changes.map(Into::into),
            },
        },
        crowd: Crowd {
            respondents_min: question.respondents,
            honest_fraction: args.honest_fraction,
            enrolment: Enrolment::Credential,
        },
        delivery: Delivery {
            keep_sealed_s: None,
            // What it would be anyway, for those who look for it.
            keep_batches_s: Some(KEEP_BATCHES_S.max(args.epoch_s)),
            instances: question.instances,
            hops: args.hops,
            envelopes: plan.envelopes,
            cover: Cover::Chaff,
        },
        claim: Claim {
            epsilon_central: question.epsilon_central.value(),
            delta: question.delta.value(),
            neighbors: "removal".into(),
            bound: "exact".into(),
        },
        // What labels are about is said by the arguments alone.
        labels: None,
        // A draft: its parties are named before it is signed.
        parties: None,
    }
}

/// Whole or not at all.
fn write(path: &Path, text: &str) -> Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).context("--out needs the name of a file")?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    OutDir::open(folder)?.write(&[(name, text.as_bytes().to_vec())])
}

/// The plan as it is printed.
#[derive(Debug, Serialize)]
pub(crate) struct Planned {
    epsilon_central: f64,
    delta: f64,
    neighbors: &'static str,
    bound: &'static str,
    /// The same if all of the crowd are honest, and if half of them are.
    if_honest: [honest::IfHonest; 2],
    /// The same between two answers that somebody could have given.
    replacement: Between,
    /// What it is worth that somebody took part at all.
    absence: Stated,
    /// epsilon_local, or epsilon_backstop with report fragments.
    epsilon_floor: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_fragment: Option<f64>,
    /// Which instance a fragment goes to: `by-value`, fragment t of value j to instance number (j + t) mod K' of the K' that
    /// get fragments, counted from 0.
    routing: &'static str,
    overflow_delta: f64,
    fragments_per_respondent: f64,
    envelopes_per_instance: u32,
    envelope_bytes: u64,
    bytes_per_respondent: u64,
    /// Processor time on the machine that the planner's constants were measured on.
    respondent_ms: f64,
    /// Of all hops and the analyzer, for one respondent.
    servers_ms: f64,
    /// The same of Prio3Histogram over this domain; absent for records, which it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    prio3: Option<Prio3>,
    /// What to consider instead, and what it gives up; absent where nothing is clearly cheaper.
    #[serde(skip_serializing_if = "Option::is_none")]
    another_design: Option<String>,
    standard_error: f64,
    privacy_error: f64,
    collision_error: f64,
    /// Of a value that everybody holds; absent where nothing is sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_error: Option<f64>,
    simultaneous_error: f64,
    pub(crate) noise_threshold: f64,
    detectable_count: f64,
    /// What one respondent who lies can do to one estimate.
    one_liar: OneLiarShown,
    /// What the fragments alone say that one, two, ... bad instances and the analyzer can tie to a respondent.
    epsilon_if_instances_compromised: Vec<f64>,
    /// What these leave, as they see the release too.
    epsilon_with_release_if_instances_compromised: Vec<f64>,
    /// What one more report fragment would change; absent where that is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    one_more_fragment: Option<OneMore>,
    /// The crowd that `--crowd-for-share` asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    respondents_for_share: Option<u64>,
    reasons: Vec<String>,
    exceeded_probability: f64,
    consent: String,
    pub(crate) survey: Survey,
}

/// A guarantee between two answers.
#[derive(Debug, Serialize)]
struct Between {
    epsilon_central: f64,
    delta: f64,
}

/// The same plan with one more report fragment.
#[derive(Debug, Serialize)]
struct OneMore {
    envelopes_per_instance: u32,
    standard_error: f64,
    epsilon_if_one_instance_compromised: f64,
}

/// What another design would cost.
#[derive(Debug, Serialize)]
struct Prio3 {
    bytes_per_respondent: u64,
    respondent_ms: f64,
    servers_ms: f64,
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

impl Planned {
    fn of(question: &Question, plan: &Plan, hops: u32, survey: Survey) -> Result<Self> {
        let collusions = plan.exposure.collusions()?;
        let removal = CentralGuarantee::<Removal>::new(question.epsilon_central, question.delta);
        let replacement = CentralGuarantee::<Replacement>::from(removal);
        let liar = liar::of(&survey)?;
        let bytes = u64::from(question.instances) * body_len(hops, plan.envelopes);
        let cost = cost::throng(plan, question.instances, hops, bytes);
        let histogram = match plan.encoding {
            Encoding::OneHot | Encoding::Sketch { .. } => Some(question.domain),
            Encoding::Record { .. } => None,
        };
        Ok(Self {
            epsilon_central: question.epsilon_central.value(),
            delta: question.delta.value(),
            neighbors: "removal",
            bound: "exact",
            if_honest: honest::of(&survey)?,
            replacement: Between {
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
            envelope_bytes: envelope_len(hops),
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
            epsilon_if_instances_compromised: collusions.iter().map(|left| left.exposed.value()).collect(),
            epsilon_with_release_if_instances_compromised: collusions
                .iter()
                .map(|left| left.with_release.value())
                .collect(),
            one_more_fragment: planner::fragment_cost(question).ok().map(|cost| OneMore {
                envelopes_per_instance: cost.envelopes.1,
                standard_error: cost.standard_error.1,
                epsilon_if_one_instance_compromised: cost.exposed.1.value(),
            }),
            respondents_for_share: None,
            reasons: plan.reasons.clone(),
            exceeded_probability: consent::exceeded(&survey)?,
            consent: format!("{} {}", consent::summary(question, plan, &survey)?, liar::consent(&liar)),
            survey,
        })
    }

    fn to_text(&self, question: &Question) -> Result<String> {
        let mut text = String::new();
        let floor = if self.epsilon_fragment.is_some() { "epsilon_backstop" } else { "epsilon_local" };
        let mut line = |name: &str, value: String| writeln!(text, "{name:<28}{value}");
        line(
            "guarantee of a release",
            format!(
                "epsilon_central {}, delta {:e} (removal, exact bound)",
                self.epsilon_central, self.delta
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
        line("bad instances + analyzer", list(&self.epsilon_with_release_if_instances_compromised))?;
        if self.epsilon_fragment.is_some() {
            line("  fragments tied alone", list(&self.epsilon_if_instances_compromised))?;
        }
        line(
            "respondents",
            match self.survey.crowd.honest_fraction {
                Some(share) => format!("{}, of whom {} % honest", question.respondents, 100.0 * share),
                None => format!(
                    "{}, all of whom the guarantee counts on: state --honest-fraction if more than one operator is to sign",
                    question.respondents
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
                question.instances,
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
            format!("{:.0} over all {} values", self.simultaneous_error, question.domain),
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
        writeln!(text, "\nWhy:")?;
        for reason in &self.reasons {
            writeln!(text, "- {reason}")?;
        }
        if let Some(another) = &self.another_design {
            writeln!(text, "\nAnother design:\n{another}")?;
        }
        writeln!(text, "\nFor the consent form:\n{}", self.consent)?;
        Ok(text)
    }
}

/// How long batches wait for the next party, unless an epoch is longer: 30 days.
const KEEP_BATCHES_S: u64 = 30 * 86400;

/// What a backstop is worth over time, as the survey has it.
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
    use super::*;
    use throng_account::planner::ENVELOPES_MAX;

    /// The most that a plan asks for is what the planner's constant says it is.
    #[test]
    fn the_largest_body_of_a_plan_has_less_than_a_megabyte() {
        assert_eq!((body_len(2, ENVELOPES_MAX), body_len(16, ENVELOPES_MAX)), (107_049, 793_049));
    }
}
