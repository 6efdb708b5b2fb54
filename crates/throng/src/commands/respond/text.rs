//! What `throng respond` says to a person.

use std::fmt::Write as _;

use anyhow::Result;

use super::RespondResult;
use throng_account::rounding::{at_least, at_most};
use throng_respondent::{AnswerStatus, BodyCheck};

/// All answers, briefly or with everything there is to say, and what was spent.
pub(super) fn page(result: &RespondResult, whole: bool) -> Result<String> {
    let mut text = String::new();
    for note in &result.notes {
        writeln!(text, "{note}")?;
    }
    for answer in &result.answers {
        if whole { long(&mut text, answer)? } else { short(&mut text, answer)? }
    }
    if result.answers.is_empty() {
        writeln!(text, "Nothing was answered yet.")?;
    }
    let spent = at_most(result.epsilon_spent);
    match result.epsilon_limit {
        Some(limit) => writeln!(
            text,
            "Over all surveys you have spent epsilon {spent:.4} of your limit of {limit}; {:.4} is left.",
            at_least((limit - result.epsilon_spent).max(0.0))
        )?,
        None => writeln!(
            text,
            "Over all surveys you have spent epsilon {spent:.4}. You have set no limit yet; your first answer asks for one."
        )?,
    }
    Ok(text)
}

fn short(text: &mut String, answer: &AnswerStatus) -> Result<()> {
    heading(text, answer)?;
    for body in &answer.bodies {
        writeln!(text, "  instance {}: {} bytes, {}", body.instance, body.bytes, body.fate_in_words)?;
    }
    writeln!(
        text,
        "  whatever fails, in one epoch: epsilon {:.4}; what is released: epsilon_central {}, delta {:e} (removal)",
        at_most(answer.epsilon_floor),
        answer.promise.central.epsilon_central,
        answer.promise.central.delta
    )?;
    Ok(())
}

fn long(text: &mut String, answer: &AnswerStatus) -> Result<()> {
    heading(text, answer)?;
    if !answer.question.is_empty() {
        writeln!(text, "  {:?}", answer.question)?;
    }
    if let Some(label) = &answer.label {
        writeln!(text, "  sent under the label {label}")?;
    }
    writeln!(text, "  survey {}", answer.survey_hash)?;
    for body in &answer.bodies {
        writeln!(
            text,
            "  instance {}, {}: {} envelopes in {} bytes, for {}",
            body.instance, body.operator, body.envelopes, body.bytes, body.send_at
        )?;
        writeln!(text, "    SHA-256 {}", body.sha256)?;
        match &body.first_bytes {
            Some(bytes) => writeln!(text, "    begins  {bytes}")?,
            None => writeln!(text, "    the epoch is over, and the bytes were dropped")?,
        }
        writeln!(text, "    {}", body.fate_in_words)?;
    }
    for sentence in &answer.guarantee {
        writeln!(text, "  - {sentence}")?;
    }
    Ok(())
}

fn heading(text: &mut String, answer: &AnswerStatus) -> Result<()> {
    writeln!(
        text,
        "{}, epoch {} ({} to {})",
        answer.survey, answer.epoch, answer.epoch_start, answer.epoch_end
    )?;
    Ok(())
}

/// What a check found.
pub(super) fn checked(bodies: &[BodyCheck]) -> Result<String> {
    let mut text = String::new();
    for body in bodies {
        let verdict = if body.contradiction { "does not hold" } else { "holds" };
        writeln!(text, "{}, epoch {}, instance {}: {verdict}", body.survey, body.epoch, body.instance)?;
        for finding in &body.findings {
            writeln!(text, "  - {finding}")?;
        }
    }
    if bodies.is_empty() {
        writeln!(text, "Nothing was answered yet.")?;
    }
    Ok(text)
}
