//! `throng keygen`: the keys of a party, and what it signs with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use throng_wire::survey::shows_as_written;
use throng_wire::{KeyList, Survey};

use super::{Format, print};
use crate::cli::keygen::{
    AddressArgs, BundleArgs, CredentialsArgs, EnrolArgs, IdentityArgs, KeygenArgs, KeygenStep, PlaceArgs,
    RotateArgs, ScheduleArgs, SignArgs,
};
use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;
use throng_host::keygen::{Party, Schedule, Signer, bundle, credentials, enrolled};

/// Runs the command.
pub fn run(args: &KeygenArgs, format: Format) -> Result<()> {
    let (json, text) = match &args.step {
        None => identity(&args.identity)?,
        Some(KeygenStep::Sign(args)) => sign(args)?,
        Some(KeygenStep::Rotate(args)) => rotate(args)?,
        Some(KeygenStep::Address(args)) => address(args)?,
        Some(KeygenStep::Bundle(args)) => bundled(args)?,
        Some(KeygenStep::Enrol(args)) => enrol(args)?,
        Some(KeygenStep::Credentials(args)) => draw_all(args)?,
    };
    match format {
        Format::Text => print(&text),
        Format::Json => print(&format!("{json:#}\n")),
    }
}

/// What is printed: as JSON, and for a person.
type Printout = (Value, String);

fn identity(args: &IdentityArgs) -> Result<Printout> {
    let out = args.out.as_deref().context("--out is missing: where should the keys be?")?;
    let operator = line(args.operator.as_deref(), "--operator", "who runs it")?;
    let jurisdiction = line(args.jurisdiction.as_deref(), "--jurisdiction", "whose law it is under")?;
    let party = Party::create(out, &mut system_rng()?)?;
    let (key, certificate) = (party.signing_key().public(), party.identity().digest());
    // A text in JSON is one in TOML too, as long as it has no control characters.
    let lines = format!(
        "operator = {}\njurisdiction = {}\nsigning_key = \"{key}\"\n",
        Value::from(operator),
        Value::from(jurisdiction)
    );
    let text = format!(
        "An identity is in {}. Keep signing.key and tls.key secret.\n\n\
         For the survey, as the analyzer:\n\n[parties.analyzer]\n{lines}\n\
         or as a hop, below the [[parties.instances]] of its instance and in the order of the cascade:\n\n\
         [[parties.instances.hops]]\n{lines}",
        out.display()
    );
    let json = json!({
        "out": out, "files": Party::FILES, "operator": operator, "jurisdiction": jurisdiction,
        "signing_key": key, "certificate": certificate,
    });
    Ok((json, text))
}

fn sign(args: &SignArgs) -> Result<Printout> {
    let (survey, party) = read(&args.place)?;
    let place = args.place.place;
    let schedule = schedule(&args.schedule, &survey)?;
    let first_epoch = args.first_epoch.unwrap_or_else(|| survey.epoch_at(SystemClock.now_s()));
    let (address, list) = Signer::new(&party, &survey, place)?.sign(
        &args.place.out,
        &args.url,
        first_epoch,
        schedule,
        &mut system_rng()?,
    )?;
    for warning in survey.warnings() {
        eprintln!("note: {warning}");
    }
    let mut text = format!("{place} has signed the survey {} ({}).\n", survey.name, address.survey);
    writeln!(text, "address   {}, serial {}", address.url, address.serial)?;
    describe(&mut text, &list)?;
    writeln!(
        text,
        "Give approval, address and key-list in {} to whoever publishes the survey; layer.keys is secret.",
        args.place.out.display()
    )?;
    let json = json!({ "out": args.place.out, "files": Signer::FILES, "address": address, "key_list": list });
    Ok((json, text))
}

fn rotate(args: &RotateArgs) -> Result<Printout> {
    let (survey, party) = read(&args.place)?;
    let place = args.place.place;
    let schedule = schedule(&args.schedule, &survey)?;
    let epoch = survey.epoch_at(SystemClock.now_s());
    let list =
        Signer::new(&party, &survey, place)?.rotate(&args.place.out, epoch, schedule, &mut system_rng()?)?;
    let mut text = format!("{place} has a new layer key.\n");
    describe(&mut text, &list)?;
    writeln!(
        text,
        "Give key-list in {} to whoever publishes the survey. A party that runs takes it over, and erases old keys by itself.",
        args.place.out.display()
    )?;
    Ok((json!({ "out": args.place.out, "key_list": list }), text))
}

fn address(args: &AddressArgs) -> Result<Printout> {
    let (survey, party) = read(&args.place)?;
    let place = args.place.place;
    let address = Signer::new(&party, &survey, place)?.readdress(&args.place.out, &args.url)?;
    let text = format!("{place} answers at {}, serial {}.\n", address.url, address.serial);
    Ok((json!({ "out": args.place.out, "address": address }), text))
}

fn bundled(args: &BundleArgs) -> Result<Printout> {
    let survey = survey(&args.survey)?;
    let bundle = bundle(&args.survey, &args.parties, survey.epoch_at(SystemClock.now_s()))?;
    let warnings: Vec<String> = bundle.warnings().iter().map(ToString::to_string).collect();
    for warning in &warnings {
        eprintln!("note: {warning}");
    }
    let files = ["signatures", "addresses", "keys"].map(|extension| args.survey.with_extension(extension));
    let hash = bundle.survey().hash();
    let parties = survey.places().count();
    let mut text = format!("The survey {} ({hash}) is signed by its {parties} parties.\n", survey.name);
    for file in &files {
        writeln!(text, "{}", file.display())?;
    }
    let json = json!({ "survey": hash, "parties": parties, "files": files, "warnings": warnings });
    Ok((json, text))
}

fn enrol(args: &EnrolArgs) -> Result<Printout> {
    let survey = survey(&args.survey)?;
    let lists = enrolled(&survey, args.place, &args.handed_in, &args.out)?;
    let mut text = String::new();
    for (place, respondents) in &lists {
        writeln!(
            text,
            "{respondents} respondents are enrolled at {place}: {place}.credentials is in {}.",
            args.out.display()
        )?;
        let least = survey.crowd.respondents_min;
        if *respondents < least {
            eprintln!(
                "note: an epoch of {} needs {least} respondents, and {place} has {respondents}",
                survey.name
            );
        }
    }
    if lists.values().collect::<BTreeSet<_>>().len() > 1 {
        eprintln!("note: the first hops have different numbers of respondents; each should be on every list");
    }
    let counts: BTreeMap<String, u64> =
        lists.iter().map(|(place, count)| (place.to_string(), *count)).collect();
    Ok((json!({ "out": args.out, "lists": counts }), text))
}

fn draw_all(args: &CredentialsArgs) -> Result<Printout> {
    let survey = survey(&args.survey)?;
    credentials(&survey, args.count, &args.out, &mut system_rng()?)?;
    eprintln!(
        "warning: this drew the secrets of all respondents in one place, for trials. Whoever reads them can answer in \
         anyone's name, tie their names at all first hops together, and fill a crowd. In a real survey respondents draw \
         their own: throng respond --enrol, then throng keygen enrol"
    );
    let out = args.out.display();
    let text = format!(
        "{} credentials are in {out}/respondents: give each to one respondent, and erase it here.\n\
         The lists are in {out}: give instance-I-hop-1.credentials to the first hop of instance I.\n",
        args.count
    );
    Ok((json!({ "out": args.out, "credentials": args.count, "lists": survey.delivery.instances }), text))
}

fn read(args: &PlaceArgs) -> Result<(Survey, Party)> {
    Ok((survey(&args.survey)?, Party::read(args.identity.as_deref().unwrap_or(&args.out))?))
}

fn survey(path: &Path) -> Result<Survey> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Survey::from_toml(&text).with_context(|| format!("in {}", path.display()))
}

fn schedule(args: &ScheduleArgs, survey: &Survey) -> Result<Schedule> {
    let usual = Schedule::of(survey);
    let epochs = args.epochs.unwrap_or(usual.epochs);
    let overlap = args.overlap.unwrap_or((epochs / 10).max(1));
    ensure!(epochs >= 2, "--epochs has to be at least 2: a key shares an epoch with the next one");
    ensure!(overlap < epochs, "--overlap has to be less than --epochs, which is {epochs}");
    Ok(Schedule { epochs, overlap })
}

fn describe(text: &mut String, list: &KeyList) -> Result<()> {
    writeln!(text, "key list  serial {}", list.serial)?;
    for key in &list.keys {
        let (first, last) = (key.lifetime.first_epoch, key.lifetime.last_epoch);
        writeln!(text, "          key {} for epochs {first} to {last}", key.id)?;
    }
    Ok(())
}

/// A text for the survey: one line, as the survey asks for.
fn line<'a>(text: Option<&'a str>, flag: &str, otherwise: &'a str) -> Result<&'a str> {
    let Some(text) = text else { return Ok(otherwise) };
    ensure!(
        !text.trim().is_empty() && shows_as_written(text),
        "{flag} is one line of text that shows as it is written, and not empty"
    );
    Ok(text)
}
