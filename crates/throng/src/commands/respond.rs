//! `throng respond`: answer a survey, send what waits, show and check what was sent.

mod text;

use std::io::{Read, stdin};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use throng_dp::Epsilon;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{EpochStatement, Signed};
use zeroize::Zeroizing;

use super::{Format, print};
use crate::bundle::Bundle;
use crate::cli::{EpochArg, RespondArgs, ValueArg};
use crate::entropy::system_rng;
use crate::net::Sender;
use crate::net::client::Limits;
use crate::respondent::{
    Answered, CheckedBody, Clock, How, Pass, Respondent, ShownAnswer, SystemClock, Transport, When,
};

/// Does what was asked, in this order: limit, answer, send, show or check.
pub fn run(args: &RespondArgs, format: Format) -> Result<()> {
    let limit = args.epsilon_limit.map(Epsilon::new).transpose().context("--epsilon-limit")?;
    let sends = match args.survey {
        Some(_) => !args.no_wait,
        None => !args.show && !args.check && limit.is_none(),
    };
    // Found out before anything is spent.
    let transport = if sends { Some(Sender::new(Limits::default())?) } else { None };
    let value = args.value.as_ref().map(value).transpose()?;
    let bundle = args.survey.as_deref().map(Bundle::read).transpose()?;

    let mut respondent = Respondent::open(&args.state)?;
    if let Some(limit) = limit {
        respondent.set_epsilon_limit(limit)?;
    }
    if let Some(path) = &args.credential {
        respondent.use_credential(path)?;
    }
    if args.check {
        return check(&respondent, &args.statement, format);
    }
    let mut notes = Vec::new();
    let answered = match &bundle {
        Some(bundle) => Some(answer(&mut respondent, bundle, value, args, &mut notes)?),
        None => None,
    };
    let failed = match &transport {
        Some(transport) => send(&mut respondent, transport, args, &mut notes).err(),
        None => None,
    };

    let now_ms = SystemClock.now_ms();
    let answers = match &answered {
        Some(answered) if !args.show => vec![respondent.show_answer(answered.answer(), now_ms)?],
        _ => respondent.show(now_ms)?,
    };
    let result = Responded {
        answers,
        epsilon_spent: respondent.ledger().spent()?.value(),
        epsilon_limit: respondent.ledger().epsilon_limit(),
        notes,
    };
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&result)? + "\n"))?,
        Format::Text => print(&text::page(&result, args.show)?)?,
    }
    failed.map_or(Ok(()), Err)
}

/// The value as typed, or as it comes from standard input. Errors do not repeat it.
fn value(typed: &ValueArg) -> Result<u64> {
    let mut text = Zeroizing::new(typed.0.clone());
    if *text == "-" {
        text.clear();
        stdin()
            .lock()
            .take(100)
            .read_to_string(&mut text)
            .context("cannot read the value from standard input")?;
    }
    match text.trim().parse() {
        Ok(value) => Ok(value),
        Err(_) => bail!("--value takes a number from 0 on, or - to read it from standard input"),
    }
}

fn answer(
    respondent: &mut Respondent,
    bundle: &Bundle,
    value: Option<u64>,
    args: &RespondArgs,
    notes: &mut Vec<String>,
) -> Result<Answered> {
    let when = match args.epoch {
        EpochArg::Next => When::NextEpoch,
        EpochArg::Current => When::CurrentEpoch,
    };
    let how = How { label: args.label.clone(), when };
    notes.extend(bundle.survey().survey().warnings().iter().map(|warning| format!("warning: {warning}")));
    let answered = respondent.answer_with(bundle, value, &how, SystemClock.now_ms(), &mut system_rng()?)?;
    if let Answered::Before(answer) = &answered {
        notes.push(format!(
            "Epoch {} was answered before. What was made then is sent, and nothing else, whatever the value.",
            answer.epoch
        ));
    }
    Ok(answered)
}

/// Sends what is due, and unless told otherwise waits for the rest.
fn send(
    respondent: &mut Respondent,
    transport: &dyn Transport,
    args: &RespondArgs,
    notes: &mut Vec<String>,
) -> Result<()> {
    let rng = &mut system_rng()?;
    if args.no_wait {
        let pass = respondent.send_due(transport, SystemClock.now_ms(), rng)?;
        notes.extend(pass.retried.iter().cloned());
        return pass.result();
    }
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{pos} of {len} bodies acknowledged; {msg}")?);
    let sent =
        respondent.send_with(transport, &SystemClock, |pass, now_ms| progress(&bar, pass, now_ms), rng);
    bar.finish_and_clear();
    sent
}

fn progress(bar: &ProgressBar, pass: &Pass, now_ms: u64) {
    bar.set_length(pass.acknowledged + pass.waiting);
    bar.set_position(pass.acknowledged);
    let wait_s = pass.next_ms.map_or(0, |next| next.saturating_sub(now_ms).div_ceil(1000));
    bar.set_message(match pass.retried.last() {
        Some(reason) => format!("again in {wait_s} s: {reason}"),
        None => format!("next one in {wait_s} s (times are random; Ctrl-C and `throng respond` go on later)"),
    });
}

fn check(respondent: &Respondent, files: &[PathBuf], format: Format) -> Result<()> {
    let mut statements = Vec::new();
    for path in files {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let (records, rest) = bytes.as_chunks::<STATEMENT_LEN>();
        ensure!(
            rest.is_empty() && !records.is_empty(),
            "{} has no epoch statements: they are {STATEMENT_LEN} bytes each",
            path.display()
        );
        for record in records {
            let statement = Signed::<EpochStatement>::from_bytes(record);
            statements.push(statement.with_context(|| format!("in {}", path.display()))?);
        }
    }
    let bodies = respondent.check(&statements)?;
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&bodies)? + "\n"))?,
        Format::Text => print(&text::checked(&bodies)?)?,
    }
    let wrong = bodies.iter().filter(|body: &&CheckedBody| body.contradiction).count();
    ensure!(
        wrong == 0,
        "{wrong} of {} bodies have a receipt or a statement that does not hold",
        bodies.len()
    );
    Ok(())
}

/// What `throng respond` prints.
#[derive(Debug, Serialize)]
struct Responded {
    answers: Vec<ShownAnswer>,
    /// What all answers to all surveys spent together (local, removal).
    epsilon_spent: f64,
    /// The person's own limit.
    epsilon_limit: f64,
    notes: Vec<String>,
}
