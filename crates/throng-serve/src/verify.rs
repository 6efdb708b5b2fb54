//! What anyone can check of a published release, without the analyzer: signatures, the crowd, the guarantee, the errors,
//! and what was spent, all computed again from the files beside it; and what nobody can check from outside.

mod fields;
mod rebuilt_release;
mod statements;
mod verdict;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use throng_survey::CheckedClaim;
use throng_wire::{SignedSurvey, SurveyHash};

use crate::analysis::published::{KEYS, LEDGER, NAMES, RELEASE, SIGNATURES, STATEMENTS, SURVEY, TABLE};
use crate::error::{Context, Error, Result};
use throng_host::bundle::KeyLists;
use throng_host::ensure;
pub use verdict::{Check, Mark, Verdict};

/// A release as it was published: the texts of its files. A missing one fails the checks that need it.
struct Files {
    /// All fields of `release.json` as they are, and not as a `ReleaseSummary`: that type reads past a field that it does not know, and
    /// stops at the first that is missing or of another form. A check names each of them.
    release: Map<String, Value>,
    survey: Result<String>,
    signatures: Result<String>,
    names: Result<String>,
    keys: Result<String>,
    statements: Result<Vec<u8>>,
    ledger: Result<String>,
    table: Result<Vec<u8>>,
}

impl Files {
    /// Refused where there is no release at all: then there is nothing to check.
    fn read(dir: &Path) -> Result<Self> {
        let bytes = |name: &str| {
            let path = dir.join(name);
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let text = |name: &str| {
            String::from_utf8(bytes(name)?)
                .map_err(|error| Error::invalid(error.to_string()))
                .with_context(|| format!("{} is no text", dir.join(name).display()))
        };
        let release = serde_json::from_slice(&bytes(RELEASE)?).with_context(|| {
            format!("{} is not what `throng release` writes", dir.join(RELEASE).display())
        })?;
        Ok(Self {
            release,
            survey: text(SURVEY),
            signatures: text(SIGNATURES),
            names: text(NAMES),
            keys: text(KEYS),
            statements: bytes(STATEMENTS),
            ledger: text(LEDGER),
            table: bytes(TABLE),
        })
    }
}

/// Checks the release in a directory. `trusted` is the hash of the survey that respondents were shown, from somewhere else.
pub fn verify(dir: &Path, trusted: Option<SurveyHash>) -> Result<Verdict> {
    let files = Files::read(dir)?;
    let mut verdict = Verdict::new();
    let Some(survey) = check_survey(&files, trusted, &mut verdict) else { return Ok(verdict) };
    let Some(route) = fields::channel(&files.release, &survey, &mut verdict) else { return Ok(verdict) };
    let keys = files.keys.as_deref().map_err(|error| format!("{error:#}"));
    let keys = match keys.and_then(|text| KeyLists::read(&survey, text).map_err(|error| format!("{error:#}")))
    {
        Ok(keys) => keys,
        Err(reason) => {
            verdict.failed("key lists", reason);
            KeyLists::default()
        }
    };
    let parts = statements::check(&survey, route, &files.statements, &keys, &mut verdict)?;
    if parts.is_empty() {
        verdict.failed("crowd", "no instance has statements that show a crowd".into());
        return Ok(verdict);
    }
    let Some(rebuilt) = rebuilt_release::rebuild(&survey, &parts, &files, &mut verdict)? else {
        return Ok(verdict);
    };
    fields::compare(dir, &files.release, &rebuilt, &mut verdict);
    verdict.note_outside(&survey, &rebuilt);
    verdict.promise = Some(rebuilt.promise);
    verdict.fields_not_checked = fields::words(&files.release);
    Ok(verdict)
}

/// The survey, if all its parties signed it and it keeps what it claims.
fn check_survey(files: &Files, trusted: Option<SurveyHash>, verdict: &mut Verdict) -> Option<SignedSurvey> {
    let read = || -> Result<SignedSurvey> {
        let [survey, signatures, names] =
            [&files.survey, &files.signatures, &files.names].map(|text| match text {
                Ok(text) => Ok(text.as_str()),
                Err(error) => Err(Error::invalid(format!("{error:#}"))),
            });
        let survey = SignedSurvey::from_files(survey?, signatures?)?;
        if survey.survey().names_file().is_some() { Ok(survey.with_names(names?)?) } else { Ok(survey) }
    };
    let survey = match read() {
        Ok(survey) => survey,
        Err(error) => {
            verdict.failed("survey signatures", format!("{error:#}"));
            return None;
        }
    };
    let (hash, parties) = (survey.hash(), survey.survey().places().count());
    verdict.ok("survey signatures", format!("all {parties} parties signed the survey {hash}"));
    match trusted {
        Some(trusted) if trusted == hash => verdict.ok("survey hash", "it is the one that you trust".into()),
        Some(trusted) => {
            verdict.failed("survey hash", format!("the survey is {hash}, and not {trusted}, which you trust"));
        }
        None => verdict.outside(
            "survey hash",
            "that respondents were shown this survey: compare its hash with one that you have from elsewhere \
             (--survey-hash or --survey)"
                .into(),
        ),
    }
    match CheckedClaim::check(survey.survey()) {
        Ok(claim) => verdict.ok(
            "claim",
            format!(
                "for the smallest crowd that is released our accountant finds epsilon_central {:.4}, and {:.4} is claimed",
                claim.central.epsilon().value(),
                claim.claimed.epsilon().value()
            ),
        ),
        Err(error) => {
            verdict.failed("claim", error.to_string());
            return None;
        }
    }
    Some(survey)
}

/// The hash of a survey from a file of one's own, whose signatures are beside it.
pub fn hash_of(survey: &Path) -> Result<SurveyHash> {
    let read =
        |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let signed = SignedSurvey::from_files(&read(survey)?, &read(&survey.with_extension("signatures"))?);
    Ok(signed.with_context(|| survey.display().to_string())?.hash())
}

/// The hash of a survey as it is printed.
pub fn parse_hash(text: &str) -> Result<SurveyHash> {
    ensure!(
        text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        Invalid,
        "{text:?} is no survey hash: it has 64 hexadecimal digits"
    );
    let lower = serde_json::Value::String(text.to_ascii_lowercase());
    Ok(serde_json::from_value(lower)?)
}
