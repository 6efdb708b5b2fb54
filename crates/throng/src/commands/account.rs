//! `throng account`: what given parameters guarantee, under every bound that applies.

#[cfg(feature = "lab")]
mod curve;
mod rows;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use throng_account::Error;
use throng_account::absence::Presence;
use throng_account::amplification::noise_std;
use throng_account::attacker::Exposure;
use throng_account::bound::{BOUNDS, Bound};
use throng_account::deletion::Deletion;
use throng_account::terms::Terms;
use throng_dp::estimate::BitNoise;
use throng_dp::fragmenting::fragment_epsilon;
use throng_dp::sampling::Bernoulli;
use throng_dp::{Absence, CentralGuarantee, Coins, Delta, Epsilon, Neighbors, Removal, Replacement};
use throng_survey::StatedGuarantee;

use super::{Format, print};
use crate::cli::{AccountArgs, TradeoffAxis};
use throng_account::rounding::{at_most, at_most_to};

/// Answers one question, or a file of them.
pub fn run(args: &AccountArgs, format: Format) -> Result<()> {
    if let Some(path) = &args.rows {
        return rows::run(path);
    }
    let asked = AccountRequest::check(args)?;
    if let Some(path) = &args.plot {
        plot(&asked, args.against, path)?;
    }
    let account = Account::of(&asked)?;
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&account)? + "\n")),
        Format::Text => print(&account.to_text()?),
    }
}

/// Draws the trade-off.
#[cfg(feature = "lab")]
fn plot(asked: &AccountRequest, against: TradeoffAxis, path: &Path) -> Result<()> {
    curve::plot(asked, against)?.write(path)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Says that it cannot.
#[cfg(not(feature = "lab"))]
fn plot(_: &AccountRequest, _: TradeoffAxis, _: &Path) -> Result<()> {
    bail!(
        "this program draws no plots: leave out --plot, or use one that was built with its default features"
    )
}

/// The flags, checked.
struct AccountRequest {
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

impl AccountRequest {
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
        ensure!(
            args.plot.is_none() || args.report_fragments == 1,
            "--plot is about one fragment for each bit: leave out --report-fragments"
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

impl AccountRequest {
    /// Whether the fragments of a bit are counted by several instances, perhaps over different people.
    fn is_spread(&self) -> bool {
        self.fragments > 1 && self.instances > 1
    }

    /// What a bound says of an epsilon_local, which is that of the backstop where there are report fragments.
    fn central(&self, bound: &'static Bound, local: Epsilon) -> Result<Epsilon, Error> {
        if !self.is_spread() {
            return (bound.central)(self.honest, local, self.delta);
        }
        let fragment = match self.epsilon_fragment {
            Some(epsilon) => epsilon,
            None => fragment_epsilon(local, self.fragments)?,
        };
        let coins = Coins::Fragments {
            backstop: Bernoulli::flip(local)?,
            fragment: Bernoulli::flip(fragment)?,
            tau: self.fragments,
        };
        let terms = Terms {
            coins,
            answers_kept: false,
            // Counts alone: nothing overflows, and nobody is deleted.
            width: 1,
            rows: None,
            instances: self.instances,
            receiving: self.instances,
            envelopes: 1,
            honest_fraction: 1.0,
            deletion: None,
            claimed: CentralGuarantee::new(local, self.delta),
            bound,
        };
        terms.counts_epsilon(self.honest, self.delta)
    }

    /// The largest epsilon_local that keeps an epsilon_central, or one a little smaller.
    fn local(&self, bound: &'static Bound, central: Epsilon) -> Result<Epsilon, Error> {
        let one_count = (bound.local)(self.honest, central, self.delta)?;
        if !self.is_spread() {
            return Ok(one_count);
        }
        if self.epsilon_fragment.is_some() {
            return Err(Error::NotApplicable(
                "over several instances --epsilon-fragment decides by itself what is kept: give --epsilon-local, or leave it \
                 out"
                    .into(),
            ));
        }
        // With more of the backstop, fragments of equal variance say more, too. A whole epoch says no more than the backstop.
        // What fragments say may be less than what one count of the backstop says.
        let (mut low, mut high) = (central.value(), one_count.value().max(central.value()));
        while high < LOCAL_MAX && self.central(bound, Epsilon::new(high)?)? <= central {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..LOCAL_STEPS {
            let middle = f64::midpoint(low, high);
            if self.central(bound, Epsilon::new(middle)?)? <= central { low = middle } else { high = middle }
        }
        Ok(Epsilon::new(low)?)
    }
}

/// Bisections for an epsilon_local: four digits of it.
const LOCAL_STEPS: usize = 16;

/// Beyond this no epsilon_local is looked for: nothing is randomized any more.
const LOCAL_MAX: f64 = 40.0;

/// The answer.
#[derive(Debug, Serialize)]
struct Account {
    respondents: u64,
    honest_respondents: u64,
    delta: f64,
    neighbors: &'static str,
    bounds: Vec<Answer>,
    /// How report fragments over several instances are accounted for; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    report_fragments: Option<&'static str>,
    /// Who the respondents of a labelled crowd are; absent without deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    labelled_crowd: Option<String>,
    /// Of the exact bound, under the other relations.
    other_neighbors: Vec<StatedGuarantee>,
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
    fn of(asked: &AccountRequest) -> Result<Self> {
        let answers: Vec<Answer> = BOUNDS
            .iter()
            .map(|bound| {
                let pair = match asked.side {
                    Side::Local(local) => asked.central(bound, local).map(|central| (local, central)),
                    Side::Central(central) => asked.local(bound, central).map(|local| (local, central)),
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
            report_fragments: asked.is_spread().then_some(SPREAD),
            labelled_crowd: asked.deletion.map(|deletion| labelled_crowd(asked.respondents, &deletion)),
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
        if let Some(sentence) = self.report_fragments {
            writeln!(text, "\n{sentence}")?;
        }
        if let Some(sentence) = &self.labelled_crowd {
            writeln!(text, "\n{sentence}")?;
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

/// Said of report fragments over several instances.
const SPREAD: &str = "Of several instances, which may count different people, each fragment of a bit is one count in the crowd of its \
                      instance: as many counts at epsilon_fragment, composed exactly under the exact bound and added up under \
                      the others, and never more than epsilon_local, which is that of the backstop.";

/// Said of a labelled crowd: those who hide each other are those whom an instance goes on with.
fn labelled_crowd(kept: u64, deletion: &Deletion) -> String {
    let (shift, uploads) = (deletion.shift(), kept.saturating_add(deletion.shift()));
    format!(
        "Of a labelled crowd the respondents are those whom every instance keeps, {kept} at least: each deletes about {shift} \
         more, so that takes about {uploads} who upload."
    )
}

/// The standard deviation of a count, in respondents, with the noise of report fragments if there are any.
fn count_error(asked: &AccountRequest, local: Epsilon) -> Result<f64> {
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
fn others(asked: &AccountRequest, exact: &Answer) -> Result<Vec<StatedGuarantee>> {
    let (Some(local), Some(central)) = (exact.epsilon_local, exact.epsilon_central) else {
        return Ok(vec![]);
    };
    let removal = CentralGuarantee::<Removal>::new(Epsilon::new(central)?, asked.delta);
    let absent = match asked.deletion {
        None => StatedGuarantee::nothing::<Absence>(
            "not hidden, as the first hop of each instance signs how many took part; labelled crowds delete some \
             (--epsilon-deletion)",
        ),
        Some(_) if asked.honest < asked.respondents => StatedGuarantee::nothing::<Absence>(
            "nothing is claimed unless all respondents are honest (--honest-fraction 1)",
        ),
        Some(_) if asked.is_spread() => StatedGuarantee::nothing::<Absence>(
            "nothing is claimed for report fragments over several instances",
        ),
        Some(deletion) => {
            let presence = Presence {
                crowd: asked.respondents,
                epsilon: Epsilon::new(local)?,
                receiving: asked.instances,
                instances: asked.instances,
                deletion,
            };
            StatedGuarantee::kept(presence.guarantee(asked.delta)?)
        }
    };
    Ok(vec![StatedGuarantee::kept(CentralGuarantee::<Replacement>::from(removal)), absent])
}

fn compromises(asked: &AccountRequest, floor: Epsilon) -> Result<Vec<Compromise>> {
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
