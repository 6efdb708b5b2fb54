//! What a simulated survey promises, and the mechanism that keeps it.

use anyhow::{Context, Result, ensure};
use throng_account::bound::Bound;
use throng_account::planner::{ENVELOPES_MAX, Traffic};
use throng_dp::fragmenting::fragment_epsilon;
use throng_dp::sampling::Bernoulli;
use throng_dp::{
    BitRandomizer, Coins, CountSketch, Delta, Encoding, Epsilon, Mechanism, OneHot, SketchShape,
};
use throng_wire::Survey;
use throng_wire::envelope::{INDEX_LEN, body_len};

use crate::cli::{EncodingArg, SimulateArgs};
use crate::commands::plan::refusal;
use throng_account::Refusal;
use throng_simulate::dataset::Dataset;

/// The promises of a survey with a crowd of known size.
#[derive(Debug)]
pub struct Guarantees {
    /// What respondents and analyzer run.
    pub mechanism: Mechanism,
    /// What a release guarantees.
    pub epsilon_central: Epsilon,
    /// The allowance beside it: `throng_dp::Delta` says what that is.
    pub delta: Delta,
    /// The bound that proves it.
    pub bound: &'static str,
    /// How many of the respondents it relies on.
    pub honest: u64,
    /// What a respondent sends in an epoch, in bytes; `None` if that would be too many envelopes.
    pub bytes_per_respondent: Option<u64>,
}

impl Guarantees {
    /// A survey file with the data's crowd.
    pub(super) fn of_survey(survey: &Survey, args: &SimulateArgs, data: &Dataset) -> Result<Self> {
        ensure!(
            survey.domain() == data.domain(),
            "the survey asks for one of {} values and the data has {}; plan a survey for this data",
            survey.domain(),
            data.domain()
        );
        if data.respondents() < survey.crowd.respondents_min {
            return Err(Refusal(format!(
                "{} respondents where the survey asks for {}: the epoch would be destroyed; take the data of a larger \
                 crowd, or plan a survey for this one",
                data.respondents(),
                survey.crowd.respondents_min
            ))
            .into());
        }
        let mechanism = survey.mechanism()?;
        let bound = Bound::named(args.bound.as_deref().unwrap_or(&survey.claim.bound))?;
        let honest = honest(data, survey.honest_fraction());
        let delta = Delta::new(survey.claim.delta)?;
        let epsilon_central = central(bound, honest, &mechanism, delta)?;
        let bytes = survey.body_len();
        let bytes_per_respondent = Some(u64::from(survey.delivery.instances) * bytes);
        Ok(Self { mechanism, epsilon_central, delta, bound: bound.name, honest, bytes_per_respondent })
    }

    /// Flags: a target, or an epsilon_local whose guarantee is asked for.
    pub(super) fn of_args(args: &SimulateArgs, data: &Dataset) -> Result<Self> {
        let delta = Delta::new(args.delta).context("--delta")?;
        ensure!(
            args.honest_fraction > 0.0 && args.honest_fraction <= 1.0,
            "--honest-fraction: give a number above 0 and at most 1"
        );
        let honest = honest(data, args.honest_fraction);
        let bound = Bound::named(args.bound.as_deref().unwrap_or("exact")).context("--bound")?;
        let target = args.epsilon_central.map(Epsilon::new).transpose().context("--epsilon-central")?;
        let shape = match args.encoding {
            EncodingArg::OneHot => None,
            EncodingArg::Sketch => Some(SketchShape {
                domain: data.domain(),
                rows: args.sketch_rows,
                cells: args.sketch_cells,
                seed: args.hash_seed,
            }),
        };
        let rows = shape.map(|shape| shape.rows);
        let floor = match (args.epsilon_local, target) {
            (Some(local), _) => Epsilon::new(local).context("--epsilon-local")?,
            (None, Some(target)) => bound.epsilon_local(honest, target, delta, rows).map_err(refusal)?,
            (None, None) => {
                anyhow::bail!("say what to promise: --epsilon-central E, --epsilon-local E or --survey FILE")
            }
        };
        let mechanism = mechanism(args, data, shape, floor)?;
        let epsilon_central = match (args.epsilon_local, target) {
            (None, Some(target)) => target,
            (_, target) => {
                let reached = central(bound, honest, &mechanism, delta)?;
                if target.is_some_and(|target| reached > target) {
                    return Err(Refusal(format!(
                        "epsilon_local {floor} guarantees only epsilon_central {reached} under the bound {}; leave out \
                         --epsilon-local, or raise --epsilon-central",
                        bound.name
                    ))
                    .into());
                }
                reached
            }
        };
        let bytes_per_respondent = bytes(args, data, &mechanism, epsilon_central, delta)?;
        Ok(Self { mechanism, epsilon_central, delta, bound: bound.name, honest, bytes_per_respondent })
    }
}

fn honest(data: &Dataset, fraction: f64) -> u64 {
    if fraction == 1.0 { data.respondents() } else { (data.respondents() as f64 * fraction).floor() as u64 }
}

fn mechanism(
    args: &SimulateArgs,
    data: &Dataset,
    shape: Option<SketchShape>,
    floor: Epsilon,
) -> Result<Mechanism> {
    let tau = args.report_fragments;
    ensure!(tau > 0, "--report-fragments: give at least 1; 1 means none");
    ensure!(
        tau > 1 || args.epsilon_fragment.is_none(),
        "--epsilon-fragment: a report in one fragment has epsilon_local; leave it out, or add --report-fragments T"
    );
    let fragment = match args.epsilon_fragment {
        Some(epsilon) => Epsilon::new(epsilon).context("--epsilon-fragment")?,
        None => fragment_epsilon(floor, tau)?,
    };
    let encoding: Encoding = match shape {
        None => OneHot::new(data.domain(), floor)?.into(),
        Some(shape) => CountSketch::new(shape, floor)?.into(),
    };
    Ok(if tau == 1 { Mechanism::plain(encoding) } else { Mechanism::fragments(encoding, fragment, tau)? })
}

/// The guarantee of a release in which every instance counts the same respondents, as here: that of the first coin. A real
/// release is stated by `Terms`, which does not count on that.
fn central(bound: &Bound, honest: u64, mechanism: &Mechanism, delta: Delta) -> Result<Epsilon> {
    let rows = mechanism.sketch().map(|sketch| sketch.shape().rows);
    bound.epsilon_central(honest, first_coin(mechanism).epsilon(), delta, rows).map_err(refusal)
}

fn first_coin(mechanism: &Mechanism) -> Bernoulli {
    match mechanism.coins() {
        Coins::Runs { coin, .. } => coin,
        Coins::Fragments { backstop, .. } => backstop,
    }
}

/// As the planner counts: enough envelopes that their number says nothing.
fn bytes(
    args: &SimulateArgs,
    data: &Dataset,
    mechanism: &Mechanism,
    central: Epsilon,
    delta: Delta,
) -> Result<Option<u64>> {
    let traffic = Traffic {
        width: mechanism.sketch().map_or(data.domain(), BitRandomizer::width),
        coin: first_coin(mechanism),
        fragments: match mechanism.coins() {
            Coins::Runs { .. } => None,
            Coins::Fragments { fragment, tau, .. } => Some((fragment, tau)),
        },
        instances: args.instances,
    };
    let bodies = data.respondents() as f64 * f64::from(args.instances);
    let miss = (delta.value() / 100.0 / (bodies * (1.0 + central.value().exp()))).min(1.0);
    let envelopes = traffic.envelopes(Delta::new(miss)?, ENVELOPES_MAX);
    Ok(envelopes.ok().map(|envelopes| u64::from(args.instances) * body_len(INDEX_LEN, args.hops, envelopes)))
}
