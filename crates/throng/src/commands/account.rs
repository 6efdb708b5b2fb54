//! `throng account`: what given parameters guarantee, under every bound that applies.

mod curve;
pub mod questions;
mod rows;

use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use throng_account::absence::Presence;
use throng_account::amplification::noise_std;
use throng_account::attacker::Exposure;
use throng_account::bound::BOUNDS;
use throng_account::deletion::Deletion;
use throng_dp::estimate::BitNoise;
use throng_dp::fragmenting::fragment_epsilon;
use throng_dp::sampling::Bernoulli;
use throng_dp::{Absence, CentralGuarantee, Delta, Epsilon, Neighbors, Removal, Replacement};

use super::{Format, print};
use crate::cli::AccountArgs;
use crate::rounding::{at_most, at_most_to};

/// Answers one question, or a file of them.
pub fn run(args: &AccountArgs, format: Format) -> Result<()> {
    if let Some(path) = &args.rows {
        return rows::run(path);
    }
    let asked = Asked::check(args)?;
    if let Some(path) = &args.plot {
        curve::plot(&asked, args.against)?.write(path)?;
        eprintln!("wrote {}", path.display());
    }
    let account = Account::of(&asked)?;
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&account)? + "\n")),
        Format::Text => print(&account.to_text()?),
    }
}

/// The flags, checked.
struct Asked {
    respondents: u64,
    honest: u64,
    delta: Delta,
    side: Side,
    fragments: u32,
    epsilon_fragment: Option<Epsilon>,
    instances: u32,
    /// What each instance deletes of a labelled crowd.
    deletion: Option<Deletion>,
}

/// Which epsilon is given.
#[derive(Clone, Copy)]
enum Side {
    Local(Epsilon),
    Central(Epsilon),
}

impl Asked {
    fn check(args: &AccountArgs) -> Result<Self> {
        let respondents =
            args.respondents.context("give --respondents, or --rows for a file of questions")?;
        let delta = Delta::new(args.delta.context("give --delta, for example --delta 1e-8")?)?;
        ensure!(
            args.honest_fraction > 0.0 && args.honest_fraction <= 1.0,
            "--honest-fraction is {}; give a number above 0 and at most 1",
            args.honest_fraction
        );
        let side = match (args.epsilon_local, args.epsilon_central) {
            (Some(local), None) => Side::Local(Epsilon::new(local).context("--epsilon-local")?),
            (None, Some(central)) => Side::Central(Epsilon::new(central).context("--epsilon-central")?),
            _ => bail!(
                "give either --epsilon-local (what does it guarantee?) or --epsilon-central (what may it be?)"
            ),
        };
        ensure!(
            args.report_fragments >= 1 && args.instances >= 1,
            "--report-fragments and --instances are at least 1"
        );
        Ok(Self {
            respondents,
            honest: (respondents as f64 * args.honest_fraction) as u64,
            delta,
            side,
            fragments: args.report_fragments,
            epsilon_fragment: args
                .epsilon_fragment
                .map(Epsilon::new)
                .transpose()
                .context("--epsilon-fragment")?,
            instances: args.instances,
            deletion: match (args.epsilon_deletion, args.delta_deletion) {
                (Some(epsilon), Some(delta)) => Some(Deletion::new(
                    Epsilon::new(epsilon).context("--epsilon-deletion")?,
                    Delta::new(delta).context("--delta-deletion")?,
                )?),
                _ => None,
            },
        })
    }
}

/// The answer.
#[derive(Debug, Serialize)]
struct Account {
    respondents: u64,
    honest_respondents: u64,
    delta: f64,
    neighbors: &'static str,
    bounds: Vec<Answer>,
    /// Where the bounds hold, if that is not everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'static str>,
    /// Of the exact bound, under the other relations.
    other_neighbors: Vec<Other>,
    if_compromised: Vec<Compromise>,
}

/// What one bound says.
#[derive(Debug, Serialize)]
struct Answer {
    bound: &'static str,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_local: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_central: Option<f64>,
    /// The standard deviation of a count, in respondents.
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_std: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_applicable: Option<String>,
}

/// A guarantee under another neighbor relation, or why there is none.
#[derive(Debug, Serialize)]
struct Other {
    neighbors: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_central: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_claimed: Option<String>,
}

/// What is left when some instances work together with the analyzer.
#[derive(Debug, Serialize)]
struct Compromise {
    bad_instances: u32,
    of_instances: u32,
    exposed_fragments: u32,
    epsilon_exposed: f64,
    epsilon_with_release: f64,
}

impl Account {
    fn of(asked: &Asked) -> Result<Self> {
        let answers: Vec<Answer> = BOUNDS
            .iter()
            .map(|bound| {
                let pair = match asked.side {
                    Side::Local(local) => {
                        (bound.central)(asked.honest, local, asked.delta).map(|c| (local, c))
                    }
                    Side::Central(central) => {
                        (bound.local)(asked.honest, central, asked.delta).map(|l| (l, central))
                    }
                };
                let (name, source) = (bound.name, bound.source);
                let mut answer = Answer {
                    bound: name,
                    source,
                    epsilon_local: None,
                    epsilon_central: None,
                    noise_std: None,
                    not_applicable: None,
                };
                match pair {
                    Ok((local, central)) => {
                        answer.epsilon_local = Some(local.value());
                        answer.epsilon_central = Some(central.value());
                        answer.noise_std = count_error(asked, local).ok();
                    }
                    Err(error) => answer.not_applicable = Some(error.to_string()),
                }
                answer
            })
            .collect();
        ensure!(
            answers.iter().any(|answer| answer.not_applicable.is_none()),
            "no bound applies: {}",
            answers[0].not_applicable.as_deref().unwrap_or_default()
        );
        let if_compromised = match answers[0].epsilon_local {
            Some(floor) => compromises(asked, Epsilon::new(floor)?)?,
            None => Vec::new(),
        };
        Ok(Self {
            respondents: asked.respondents,
            honest_respondents: asked.honest,
            delta: asked.delta.value(),
            neighbors: "removal",
            condition: (asked.fragments > 1 && asked.instances > 1).then_some(ONE_INSTANCE),
            other_neighbors: others(asked, &answers[0])?,
            bounds: answers,
            if_compromised,
        })
    }

    fn to_text(&self) -> Result<String> {
        let mut text = format!(
            "{} respondents, {} of them honest, delta {:e}, removal neighbors\n\n{:<10}{:>15}{:>17}{:>14}  {}\n",
            self.respondents,
            self.honest_respondents,
            self.delta,
            "bound",
            "epsilon_local",
            "epsilon_central",
            "count error",
            "from"
        );
        for answer in &self.bounds {
            match (answer.epsilon_local, answer.epsilon_central) {
                (Some(local), Some(central)) => writeln!(
                    text,
                    "{:<10}{:>15.4}{:>17.6}{:>14.2}  {}",
                    answer.bound,
                    at_most(local),
                    at_most_to(6, central),
                    answer.noise_std.unwrap_or(f64::NAN),
                    answer.source
                )?,
                _ => {
                    let reason = answer.not_applicable.as_deref().unwrap_or_default();
                    writeln!(text, "{:<10}{reason}", answer.bound)?;
                }
            }
        }
        if let Some(condition) = self.condition {
            writeln!(text, "\n{condition}")?;
        }
        if !self.other_neighbors.is_empty() {
            writeln!(text, "\nThe exact bound under other neighbors:")?;
        }
        for other in &self.other_neighbors {
            let what = match other.neighbors {
                Replacement::NAME => "two answers that somebody could have given",
                _ => "somebody took part, or did not",
            };
            match (other.epsilon_central, other.delta) {
                (Some(epsilon), Some(delta)) => writeln!(
                    text,
                    "  {what} ({}): epsilon_central {:.6}, delta {:e}",
                    other.neighbors,
                    at_most_to(6, epsilon),
                    Delta::new(delta)?.to_three_digits()
                )?,
                _ => writeln!(
                    text,
                    "  {what} ({}): {}",
                    other.neighbors,
                    other.not_claimed.as_deref().unwrap_or_default()
                )?,
            }
        }
        if !self.if_compromised.is_empty() {
            writeln!(
                text,
                "\nIf instances work together with the analyzer, which has the release, a respondent keeps (exact bound's \
                 epsilon_local):"
            )?;
            for left in &self.if_compromised {
                writeln!(
                    text,
                    "  {} of {} instances: epsilon {:.4}; {} fragment{} of a bit exposed, by {} epsilon {:.4}",
                    left.bad_instances,
                    left.of_instances,
                    at_most(left.epsilon_with_release),
                    left.exposed_fragments,
                    if left.exposed_fragments == 1 { "" } else { "s" },
                    if left.exposed_fragments == 1 { "itself" } else { "themselves" },
                    at_most(left.epsilon_exposed)
                )?;
            }
        }
        Ok(text)
    }
}

/// Said of report fragments over several instances, of which the backstop's bound is not proved.
const ONE_INSTANCE: &str = "These bounds are for report fragments that one instance counts, over the same respondents. Of \
                            several instances, which may count different people, `throng plan` states what holds, and so does \
                            the row frag_epochs_eps.";

/// The standard deviation of a count, in respondents, with the noise of report fragments if there are any.
fn count_error(asked: &Asked, local: Epsilon) -> Result<f64> {
    if asked.fragments == 1 {
        return Ok(noise_std(asked.respondents, local)?);
    }
    let fragment = match asked.epsilon_fragment {
        Some(epsilon) => epsilon,
        None => fragment_epsilon(local, asked.fragments)?,
    };
    let noise = BitNoise::fragmented(Bernoulli::flip(local)?, Bernoulli::flip(fragment)?, asked.fragments);
    Ok((asked.respondents as f64 * noise.variance()).sqrt())
}

/// What the exact bound's parameters say under replacement and under absence.
fn others(asked: &Asked, exact: &Answer) -> Result<Vec<Other>> {
    let (Some(local), Some(central)) = (exact.epsilon_local, exact.epsilon_central) else {
        return Ok(vec![]);
    };
    let removal = CentralGuarantee::<Removal>::new(Epsilon::new(central)?, asked.delta);
    let replacement = CentralGuarantee::<Replacement>::from(removal);
    let two_answers = Other {
        neighbors: Replacement::NAME,
        epsilon_central: Some(replacement.epsilon().value()),
        delta: Some(replacement.delta().value()),
        not_claimed: None,
    };
    let mut absent =
        Other { neighbors: Absence::NAME, epsilon_central: None, delta: None, not_claimed: None };
    match asked.deletion {
        None => {
            absent.not_claimed = Some(
                "worth nothing, as the first hop of each instance signs how many took part; labelled crowds delete some \
                 (--epsilon-deletion)"
                    .into(),
            );
        }
        Some(_) if asked.honest < asked.respondents => {
            absent.not_claimed =
                Some("nothing is claimed unless all respondents are honest (--honest-fraction 1)".into());
        }
        Some(_) if asked.fragments > 1 && asked.instances > 1 => {
            absent.not_claimed =
                Some("nothing is claimed for report fragments over several instances".into());
        }
        Some(deletion) => {
            let presence = Presence {
                crowd: asked.respondents,
                epsilon: Epsilon::new(local)?,
                receiving: asked.instances,
                instances: asked.instances,
                deletion,
            };
            let kept = presence.guarantee(asked.delta)?;
            (absent.epsilon_central, absent.delta) =
                (Some(kept.epsilon().value()), Some(kept.delta().value()));
        }
    }
    Ok(vec![two_answers, absent])
}

fn compromises(asked: &Asked, floor: Epsilon) -> Result<Vec<Compromise>> {
    let fragments = match (asked.fragments, asked.epsilon_fragment) {
        (1, _) => None,
        (tau, Some(epsilon)) => Some((epsilon, tau)),
        (tau, None) => Some((fragment_epsilon(floor, tau)?, tau)),
    };
    let central = CentralGuarantee::new(floor, asked.delta);
    let exposure =
        Exposure { epsilon_floor: floor, fragments, instances: asked.instances, cover: true, central };
    let collusions = exposure.collusions()?.into_iter().map(|left| Compromise {
        bad_instances: left.bad,
        of_instances: asked.instances,
        exposed_fragments: left.fragments,
        epsilon_exposed: left.exposed.value(),
        epsilon_with_release: left.with_release.value(),
    });
    Ok(collusions.collect())
}
