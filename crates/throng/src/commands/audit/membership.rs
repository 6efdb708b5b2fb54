//! `throng audit membership`: whom was a model trained on?

use anyhow::{Result, ensure};
use indicatif::HumanCount;
use serde::Serialize;

use super::{AuditSettings, conclude};
use crate::cli::audit::MembershipArgs;
use crate::commands::{Format, learn};
use throng_account::rounding::{at_least, at_most};
use throng_lab::audit::membership::{ModelAttack, audit, unlearnable};
use throng_lab::audit::verdict::percent;
use throng_lab::learning::{Choices, ProtocolName};

pub(super) fn run(args: &MembershipArgs, format: Format) -> Result<()> {
    let sure = AuditSettings::check(&args.sureness)?;
    ensure!(
        args.training.protocol != ProtocolName::Plain,
        "--protocol plain promises nothing that could be broken; use local or central"
    );
    let mut choices = Choices::from(&args.training);
    if args.broken {
        choices.epsilon_central = choices.epsilon_central.or(Some(1.0));
    }
    let (data, set) = if args.broken {
        (unlearnable(sure.seed)?, None)
    } else {
        let source = learn::source(&args.training)?;
        (source.open()?, source.pictures())
    };
    eprintln!("trains on half of {} examples of {}", HumanCount(data.training.len() as u64), data.name);
    let attacked = audit(data, set, &choices, sure.confidence, args.broken, sure.seed)?;
    let result = MembershipResult { seed: sure.seed, attacked };
    let verdict = result.attacked.verdict;
    let broken = "members can be told from others better than epsilon_central allows";
    conclude(&result, || text(&result.attacked, sure), verdict, broken, format)
}

/// The result of `throng audit membership`. The names are stable.
#[derive(Debug, Serialize)]
struct MembershipResult {
    seed: u64,
    #[serde(flatten)]
    attacked: ModelAttack,
}

fn text(attacked: &ModelAttack, sure: AuditSettings) -> String {
    let ModelAttack { attack, .. } = attacked;
    let confidence = percent(attack.confidence);
    let lines = [
        ("data", attacked.data.clone()),
        (
            "model",
            format!(
                "{} steps on {} members, {:.1} % right about others' examples",
                HumanCount(attacked.steps),
                HumanCount(attacked.members as u64),
                100.0 * attacked.accuracy
            ),
        ),
        (
            "promised",
            format!(
                "epsilon_central {:.4}, delta {:e} (replacement)",
                at_most(attacked.epsilon_central),
                attacked.delta
            ),
        ),
        (
            "attack",
            format!(
                "TPR - FPR {:.4} at the best threshold, {:.4} on average if nothing leaks; p = {:.3}, AUC {:.4}",
                attack.advantage, attack.null_mean, attack.p_value, attack.auc
            ),
        ),
        (
            "found",
            format!(
                "epsilon {:.4} at a confidence of {confidence}; {:.4} as the paper computes it, {:.4} tightly, without one",
                at_least(attack.epsilon_limit),
                attack.epsilon_as_paper,
                attack.epsilon_tight
            ),
        ),
    ];
    let mut text: String = lines.iter().map(|(label, line)| format!("{label:<12}{line}\n")).collect();
    text += &format!(
        "\nverdict: {}. {}\n{NOTE}\nseed {}: the same again with --seed {}\n",
        attacked.verdict.word(),
        if attacked.verdict.is_broken() {
            format!(
                "Members can be told from others better than the promise allows.\nThe confidence of {confidence} is that of the \
                 limits at one threshold, as if losses were independent: it is none of this verdict."
            )
        } else {
            "The attack finds no more than is promised.".to_owned()
        },
        sure.seed,
        sure.seed
    );
    text
}

const NOTE: &str = "\
The losses of one model are no independent trials: what was found is a comparison with the promise, and no
certified lower bound. Another attack may find more.";
