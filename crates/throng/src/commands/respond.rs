//! `throng respond`: enrol, answer a survey, send what waits, show and check what was sent, in a browser too.

mod asking;
mod enrol;
mod page;
mod sender;
mod text;

use std::io::{Read, stdin};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use throng_dp::{Epsilon, Value};
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::survey::{Attribute, Encoding, value_meant};
use throng_wire::{EpochStatement, Signed, Survey};
use zeroize::Zeroizing;

use super::{Format, print};
use crate::cli::{EpochArg, RespondArgs, ValueArg};
use throng_account::rounding::at_most;
use throng_host::bundle::Bundle;
use throng_host::entropy::system_rng;
use throng_host::net::Sender;
use throng_host::net::client::Limits;
use throng_respondent::{
    Answer, AnswerOptions, AnswerStatus, BodyCheck, Clock, EpochChoice, Origin, Pass, Respondent,
    SystemClock, Transport,
};

/// Does what was asked, in this order: limit, answer, send, show or check. Answering and sending are two programs of one
/// process (exec): the one that waits, perhaps for two epochs, has never seen the value.
pub fn run(args: &RespondArgs, format: Format) -> Result<()> {
    if args.page {
        return page::serve(args, format);
    }
    let bundle = args.survey.as_deref().map(Bundle::read).transpose()?;
    if let (Some(out), Some(bundle)) = (&args.enrol, &bundle) {
        return enrol::run(args, bundle, out, format);
    }
    let limit = args.epsilon_limit.map(Epsilon::new).transpose().context("--epsilon-limit")?;
    let answering = bundle.as_ref().filter(|_| !args.check);
    let sends = match answering {
        Some(_) => !args.no_wait,
        None => !args.show && !args.check && limit.is_none() || args.made.is_some(),
    };
    // Found out before anything is spent.
    let transport = if sends { Some(Sender::new(Limits::default())?) } else { None };
    let typed = match (answering, &args.value) {
        (Some(bundle), Some(typed)) => Some(value(typed, bundle.survey().survey())?),
        _ => None,
    };
    let asks = answering.is_some() && args.value.is_none() && !args.absent;
    ensure!(
        !asks || asking::somebody(),
        "there is no terminal to ask for your answer on: give it with --value - on standard input, or say --absent"
    );

    let mut respondent = Respondent::open(&args.state)?;
    if let Some(limit) = limit {
        respondent.set_epsilon_limit(limit)?;
    }
    if let Some(path) = &args.credential {
        respondent.use_credential(path)?;
    }
    if args.check {
        if let Some(bundle) = &bundle {
            respondent.update(bundle, SystemClock.now_ms())?;
        }
        return check(&respondent, &args.statement, format);
    }
    let made = match (answering, &args.made) {
        (Some(bundle), _) => {
            let value = ask(&mut respondent, bundle, typed, asks)?;
            let answer = answer(&mut respondent, bundle, value, args)?;
            if transport.is_some() {
                // Whoever opens the directory next finds it free.
                drop(respondent);
                sender::become_sender(args, &answer, format)?;
                respondent = Respondent::open(&args.state)?;
            }
            Some(answer)
        }
        (None, Some(made)) => Some(made.find(&respondent)?),
        (None, None) => None,
    };
    let mut notes = match &made {
        Some(answer) => notes(&respondent, answer)?,
        None => Vec::new(),
    };
    let failed = match &transport {
        Some(transport) => send(&mut respondent, transport, args, &mut notes).err(),
        None => None,
    };

    let now_ms = SystemClock.now_ms();
    let answers = match &made {
        Some(answer) if !args.show => vec![respondent.show_answer(answer, now_ms)?],
        _ => respondent.show(now_ms)?,
    };
    let result = RespondResult {
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

/// Asks on the terminal for what was not said: the limit, before the first answer, and the answer. Not for a survey that
/// will be refused.
fn ask(
    respondent: &mut Respondent,
    bundle: &Bundle,
    typed: Option<Value>,
    asks: bool,
) -> Result<Option<Value>> {
    let survey = bundle.survey().survey();
    let unlimited = respondent.ledger().epsilon_limit().is_none();
    if !asking::somebody() || !(unlimited || asks) {
        return Ok(typed);
    }
    respondent.would_take(bundle)?;
    if unlimited {
        respondent.set_epsilon_limit(asking::limit(survey)?)?;
    }
    if !asks {
        return Ok(typed);
    }
    // What it costs is said while it can still be declined. Who was asked for a limit knows what the first answer spends.
    let costs = match respondent.ledger().next_epoch(&bundle.survey().hash())? {
        Some(next) => Some(next.in_words()),
        None if unlimited => None,
        None => Some(asking::spends(survey)?),
    };
    asking::value(survey, costs.as_deref()).map(Some)
}

/// The value as typed, or as it comes from standard input. Errors do not repeat it.
fn value(typed: &ValueArg, survey: &Survey) -> Result<Value> {
    let (encoding, names) = (&survey.encoding, survey.value_names());
    if typed.0 == "-" {
        // As large as it may become, so that no copies are left behind while it grows.
        let mut text = Zeroizing::new(String::with_capacity(VALUE_LEN_MAX + 1));
        let mut input = stdin().lock().take(VALUE_LEN_MAX as u64 + 1);
        input.read_to_string(&mut text).context("cannot read the value from standard input")?;
        // A value that is cut off could be another value.
        ensure!(text.len() <= VALUE_LEN_MAX, "standard input is longer than any value");
        parse(text.trim(), encoding, names)
    } else {
        parse(typed.0.trim(), encoding, names)
    }
}

/// A name or a number, or in a survey of several attributes one for each, in order, with commas between them and - where one
/// is missing. A name with a comma in it cannot stand among others; its number can.
fn parse(text: &str, encoding: &Encoding, names: Option<&[String]>) -> Result<Value> {
    match encoding {
        Encoding::OneHot { .. } | Encoding::Sketch { .. } => match (value_meant(text, names), names) {
            (Some(value), _) => Ok(Value::from(value)),
            (None, None) => bail!("--value takes a number from 0 on, or - to read it from standard input"),
            (None, Some(_)) => bail!(
                "--value takes the name of a value or its number from 0 on (with # before it, if it is also a name), or - to \
                 read it from standard input"
            ),
        },
        Encoding::Record { attributes } => {
            let names: Vec<&str> = attributes.iter().map(|attribute| attribute.name.as_str()).collect();
            let one = |part: &str, attribute: &Attribute| match part.trim() {
                "-" => Some(None),
                value => u32::try_from(value_meant(value, attribute.names.as_deref())?).ok().map(Some),
            };
            let mut record = Zeroizing::new(Vec::with_capacity(attributes.len()));
            let parts = text.split(',').count();
            for (part, attribute) in text.split(',').zip(attributes) {
                record.extend(one(part, attribute));
            }
            ensure!(
                parts == attributes.len() && record.len() == parts,
                "--value takes a number from 0 on or a name, or - for none, for each of {}, with commas between them; a single - \
                 reads them from standard input",
                names.join(",")
            );
            Ok(Value::Record(std::mem::take(&mut *record)))
        }
    }
}

fn answer(
    respondent: &mut Respondent,
    bundle: &Bundle,
    value: Option<Value>,
    args: &RespondArgs,
) -> Result<Answer> {
    let when = match args.epoch {
        EpochArg::Next => EpochChoice::NextEpoch,
        EpochArg::Current => EpochChoice::CurrentEpoch,
    };
    let options = AnswerOptions { label: args.label.clone(), when };
    let (now_ms, rng) = (SystemClock.now_ms(), &mut system_rng()?);
    let answer = match value {
        Some(value) => respondent.answer_with(bundle, value, &options, now_ms, rng)?,
        None => respondent.abstain_with(bundle, &options, now_ms, rng)?,
    };
    // It is said now: sending may take hours.
    let added = added(respondent, bundle.survey().survey(), &answer)?;
    for told in drawn_before(&answer).into_iter().chain(added) {
        eprintln!("{told}");
    }
    Ok(answer)
}

/// What there is to say about an answer that was made: here, or by the program that this process was before.
fn notes(respondent: &Respondent, answer: &Answer) -> Result<Vec<String>> {
    let bundle = respondent.bundle(&answer.survey)?;
    let mut notes: Vec<String> =
        bundle.warnings().iter().map(|warning| format!("warning: {warning}")).collect();
    notes.extend(drawn_before(answer));
    notes.extend(added(respondent, bundle.survey().survey(), answer)?);
    Ok(notes)
}

/// Where the value that was given is in nothing that is sent.
fn drawn_before(answer: &Answer) -> Option<String> {
    match answer.origin {
        Origin::Before => Some(format!(
            "Epoch {} was answered before. What was made then is sent, and nothing else, whatever the value.",
            answer.epoch
        )),
        Origin::First => Some(
            "In this survey the first report counts: this epoch is drawn from it, whatever the value.".into(),
        ),
        Origin::Now => None,
    }
}

/// Behind a backstop an epoch adds what the epochs before make of it.
fn added(respondent: &Respondent, survey: &Survey, answer: &Answer) -> Result<Option<String>> {
    if answer.origin == Origin::Before || survey.answer_changes().is_none() {
        return Ok(None);
    }
    let added = respondent.ledger().added(&answer.survey, answer.epoch)?.unwrap_or_default();
    Ok(Some(format!("This epoch adds epsilon {:.4} (removal) to what you have spent.", at_most(added))))
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
        return Ok(pass.result()?);
    }
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template("{pos} of {len} bodies acknowledged; {msg}")?);
    let sent =
        respondent.send_with(transport, &SystemClock, |pass, now_ms| progress(&bar, pass, now_ms), rng);
    bar.finish_and_clear();
    Ok(sent?)
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
    let wrong = bodies.iter().filter(|body: &&BodyCheck| body.contradiction).count();
    ensure!(
        wrong == 0,
        "{wrong} of {} bodies have a receipt or a statement that does not hold",
        bodies.len()
    );
    Ok(())
}

/// What `throng respond` prints.
#[derive(Debug, Serialize)]
struct RespondResult {
    answers: Vec<AnswerStatus>,
    /// What all answers to all surveys spent together (local, removal).
    epsilon_spent: f64,
    /// The person's own limit, once there is one.
    epsilon_limit: Option<f64>,
    notes: Vec<String>,
}

/// A record of some thousand attributes.
const VALUE_LEN_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_testing::parsing::check_text;

    fn record(names: &[&str]) -> Encoding {
        let attribute = |name: &&str| Attribute { name: (*name).to_owned(), values: 9, names: None };
        Encoding::Record { attributes: names.iter().map(attribute).collect() }
    }

    #[test]
    fn values_are_read_as_the_survey_asks_for_them() {
        let one = parse("42", &Encoding::OneHot { domain: 5 }, None).unwrap();
        assert_eq!(one.one(), Ok(42), "whether it is in the domain is for the encoder to say");
        let three = record(&["age", "sex", "county"]);
        for (text, values) in [
            ("3,1,-", [Some(3), Some(1), None]),
            ("-, 0 ,7", [None, Some(0), Some(7)]),
            ("-,-,-", [None; 3]),
            ("4294967295,0,0", [Some(u32::MAX), Some(0), Some(0)]),
        ] {
            assert_eq!(parse(text, &three, None).unwrap().record(), Ok(&values[..]), "{text}");
        }
        assert_eq!(parse("-", &record(&["age"]), None).unwrap().record(), Ok(&[None][..]));
        assert_eq!(parse("8", &record(&["age"]), None).unwrap().record(), Ok(&[Some(8)][..]));
    }

    /// Whatever is taken means one value, which has a text that means the same.
    #[test]
    fn any_text_is_refused_or_means_one_value() {
        let (one_hot, three) = (Encoding::OneHot { domain: 5 }, record(&["age", "sex", "county"]));
        check_text("42", |text| {
            let value = parse(text, &one_hot, None).ok()?.one().unwrap();
            assert_eq!(parse(&value.to_string(), &one_hot, None).unwrap().one(), Ok(value));
            Some(text.to_owned())
        });
        check_text("3,-,4294967295", |text| {
            let read = parse(text, &three, None).ok()?;
            let values = read.record().unwrap();
            let part = |value: &Option<u32>| value.map_or("-".to_owned(), |value| value.to_string());
            let again = values.iter().map(part).collect::<Vec<_>>().join(",");
            assert_eq!(parse(&again, &three, None).unwrap().record(), Ok(values));
            Some(text.to_owned())
        });
    }

    /// A person types what they see; what could mean two values means none, and is not repeated either.
    #[test]
    fn values_are_read_by_their_names() {
        let one_hot = Encoding::OneHot { domain: 3 };
        let dishes = ["Lentil soup", "Bread, butter", "0"].map(str::to_owned);
        for (text, value) in [("Lentil soup", 0), ("Bread, butter", 1), ("1", 1), ("#0", 0), ("2", 2)] {
            assert_eq!(parse(text, &one_hot, Some(&dishes)).unwrap().one(), Ok(value), "{text}");
        }
        for text in ["0", "Lentil", "lentil soup", "#", ""] {
            let error = format!("{:?}", parse(text, &one_hot, Some(&dishes)).unwrap_err());
            assert!(
                error.contains("--value takes the name") && !error.to_lowercase().contains("lentil"),
                "{error}"
            );
        }
        let names = Some(["f", "m"].map(str::to_owned).to_vec());
        let sex = Attribute { name: "sex".to_owned(), values: 2, names };
        let age = Attribute { name: "age".to_owned(), values: 9, names: None };
        let both = Encoding::Record { attributes: vec![sex, age] };
        for (text, values) in
            [("m,3", [Some(1), Some(3)]), (" f , -", [Some(0), None]), ("1,8", [Some(1), Some(8)])]
        {
            assert_eq!(parse(text, &both, None).unwrap().record(), Ok(&values[..]), "{text}");
        }
        assert!(parse("x,3", &both, None).is_err() && parse("m,f", &both, None).is_err());
    }

    #[test]
    fn what_is_no_value_is_refused_and_not_repeated() {
        let (one_hot, three) = (Encoding::OneHot { domain: 5 }, record(&["age", "sex", "county"]));
        for (encoding, texts) in [
            (&one_hot, &["7777,1", "-7777", "x7777", "", "7777777777777777777777"][..]),
            (
                &three,
                &["7777", "7777,1", "7777,1,2,3", "7777,,1", "7777,1,", "-7777,1,2", "7777,1,7777777777"],
            ),
        ] {
            for text in texts {
                let error = format!("{:?}", parse(text, encoding, None).unwrap_err());
                assert!(!error.contains("7777") && error.contains("--value takes"), "{text}: {error}");
                assert_eq!(error.contains("age,sex,county"), encoding == &three, "{error}");
            }
        }
    }
}
