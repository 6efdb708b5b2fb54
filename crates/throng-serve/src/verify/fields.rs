//! Every field of `release.json`, beside what it has to be.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};
use throng_wire::{Route, SignedSurvey};

use super::Verdict;
use super::rebuilt_release::{ROUNDED, RebuiltRelease};
use crate::analysis::published::{
    EstimateLine, KEYS, LEDGER, RELEASE, SIGNATURES, STATEMENTS, SURVEY, TABLE,
};

/// How a field is compared. One that is not listed here has to be exactly as it is made again.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// A part of a promise: saying more than our accountant finds is allowed, saying less is not.
    AtLeast,
    /// Errors: as they are made again; with a sketch at least so much.
    Error,
    /// The analyzer's word.
    Word,
    /// The names of the files, which have to be there.
    Files,
}

/// The fields that are not simply equal, and the check that each stands under.
const RULES: &[(&str, Rule)] = &[
    ("epsilon_central", Rule::AtLeast),
    ("epsilon_local", Rule::AtLeast),
    ("epsilon_if_instances_compromised", Rule::AtLeast),
    ("epsilon_with_release_if_instances_compromised", Rule::AtLeast),
    ("epsilon_spent", Rule::AtLeast),
    ("noise_floor", Rule::Error),
    ("noise_threshold", Rule::Error),
    ("significant", Rule::Error),
    ("top", Rule::Error),
    ("missing", Rule::Error),
    ("noise_threshold_with_liars", Rule::Error),
    ("significant_with_liars", Rule::Error),
    // What cannot come from the crowd was seen in counts that are not published.
    ("doubts", Rule::Word),
    ("withheld", Rule::Word),
    ("withheld_values", Rule::Word),
    ("rejected", Rule::Word),
    ("instances_sealed", Rule::Word),
    ("epsilon_budget", Rule::Word),
    ("files", Rule::Files),
];

/// Groups of fields that one line speaks of when all of them hold; the last one is of all others.
const GROUPS: &[(&str, &str, &[&str])] = &[
    (
        "crowd",
        "who took part at which instance is what the hops signed",
        &[
            "epoch",
            "respondents",
            "respondents_estimated",
            "instances",
            "instances_present",
            "instances_respondents",
            "instances_outside",
            "instances_destroyed",
        ],
    ),
    (
        "guarantee",
        "our accountant finds no more than release.json says",
        &["epsilon_central", "delta", "honest_respondents", "neighbors", "bound"],
    ),
    (
        "whatever fails",
        "the local floor, and what colluding instances leave, are those of the survey's parameters",
        &[
            "epsilon_local",
            "backstop",
            "epsilon_if_instances_compromised",
            "epsilon_with_release_if_instances_compromised",
        ],
    ),
    ("spent", "as the ledger's lines come to", &["population", "epsilon_spent", "delta_budget"]),
    (
        "errors",
        "they follow from the parameters, the crowd and the counts",
        &["noise_floor", "noise_threshold", "beta", "confidence"],
    ),
    ("estimates", "release.json and estimates.csv agree", &["domain", "significant", "top"]),
    ("files", "all that are named are there", &["files"]),
    ("everything else", "as it has to be", &[]),
];

/// Which epoch of which channel it says it is of. The instance is left open.
pub(super) fn channel(
    release: &Map<String, Value>,
    survey: &SignedSurvey,
    verdict: &mut Verdict,
) -> Option<Route> {
    let said = release.get("survey").and_then(Value::as_str).unwrap_or_default();
    if said != survey.hash().to_string() {
        verdict.failed(
            "survey",
            format!("release.json is of the survey {said:?}, and the files beside it are not"),
        );
        return None;
    }
    let Some(epoch) = release.get("epoch").and_then(Value::as_u64) else {
        verdict.failed("epoch", "release.json names none".into());
        return None;
    };
    let label = release.get("label").and_then(Value::as_str);
    let Ok(label) = survey.survey().label_number(label) else {
        verdict.failed("label", "release.json names a label that the survey does not have, or none".into());
        return None;
    };
    Some(Route { survey: survey.hash(), label, epoch, instance: 0 })
}

/// The fields of a release that are the analyzer's word: another value would not be noticed.
pub(super) fn words(release: &Map<String, Value>) -> Vec<String> {
    let words = RULES.iter().filter(|(_, rule)| *rule == Rule::Word).map(|(name, _)| *name);
    words.filter(|name| release.contains_key(*name)).map(str::to_owned).collect()
}

/// Compares all fields, and the table.
pub(super) fn compare(
    dir: &Path,
    release: &Map<String, Value>,
    rebuilt: &RebuiltRelease,
    verdict: &mut Verdict,
) {
    let names: BTreeSet<&str> = release.keys().chain(rebuilt.fields.keys()).map(String::as_str).collect();
    let grouped = |name: &str| GROUPS.iter().any(|(_, _, fields)| fields.contains(&name));
    for (group, holds, fields) in GROUPS {
        let mut good = true;
        for name in names.iter().filter(|name| fields.contains(name) || fields.is_empty() && !grouped(name)) {
            if let Err(reason) = compare_field(dir, name, release.get(*name), rebuilt) {
                verdict.failed(group, format!("{name}: {reason}"));
                good = false;
            }
        }
        if *group == "estimates"
            && let Err(reason) = compare_table(rebuilt)
        {
            verdict.failed(group, reason);
            good = false;
        }
        // The crowd had its line when it was worked out from the statements.
        if good && *group != "crowd" {
            verdict.ok(group, (*holds).into());
        }
    }
}

fn compare_field(
    dir: &Path,
    name: &str,
    said: Option<&Value>,
    rebuilt: &RebuiltRelease,
) -> Result<(), String> {
    let rule = RULES.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule);
    let said = said.ok_or("release.json does not have it")?;
    let found = rebuilt.fields.get(name).ok_or("it is none of the fields of a release")?;
    let differs = || format!("release.json says {said}, and it has to be {found}");
    let holds = match rule {
        None => same(said, found, &close),
        Some(Rule::AtLeast) => same(said, found, &|said, found| said >= found - TOLERANCE * found.abs()),
        Some(Rule::Error) if name == "top" => top_holds(said, found, rebuilt.is_sketch),
        Some(Rule::Error) if name == "significant" => {
            let listed = rebuilt.published.iter().filter(|line| line.significant).count();
            said.as_u64() == Some(listed as u64)
        }
        Some(Rule::Error) if name == "missing" => {
            let missing = |line: &&EstimateLine| line.estimate.is_none() && line.mark == "missing";
            said.as_u64() == Some(rebuilt.published.iter().filter(missing).count() as u64)
        }
        Some(Rule::Error) if name == "significant_with_liars" && rebuilt.is_sketch => true,
        Some(Rule::Error) if rebuilt.is_sketch => {
            same(said, found, &|said, found| said >= found - TOLERANCE * found.abs())
        }
        Some(Rule::Error) => same(said, found, &close),
        Some(Rule::Word) => true,
        Some(Rule::Files) => return files_hold(dir, said),
    };
    if holds { Ok(()) } else { Err(differs()) }
}

/// Whether two values are alike in form, and all their numbers by this rule.
fn same(said: &Value, found: &Value, numbers: &dyn Fn(f64, f64) -> bool) -> bool {
    match (said, found) {
        (Value::Number(said), Value::Number(found)) => match (said.as_f64(), found.as_f64()) {
            (Some(said), Some(found)) => numbers(said, found),
            _ => false,
        },
        (Value::Array(said), Value::Array(found)) => {
            said.len() == found.len()
                && said.iter().zip(found).all(|(said, found)| same(said, found, numbers))
        }
        (Value::Object(said), Value::Object(found)) => {
            said.len() == found.len()
                && said
                    .iter()
                    .all(|(key, said)| found.get(key).is_some_and(|found| same(said, found, numbers)))
        }
        _ => said == found,
    }
}

/// The ranked values: in this order, with these counts; the errors as they have to be, or with a sketch at least those of
/// the coins.
fn top_holds(said: &Value, found: &Value, is_sketch: bool) -> bool {
    if !is_sketch {
        return same(said, found, &close);
    }
    let (Some(said), Some(found)) = (said.as_array(), found.as_array()) else { return false };
    said.len() == found.len()
        && said.iter().zip(found).all(|(said, found)| {
            let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
            ["value", "name"].iter().all(|name| said.get(*name) == found.get(*name))
                && close(number(said, "estimate"), number(found, "estimate"))
                && number(said, "standard_error") >= number(found, "standard_error") * (1.0 - TOLERANCE)
                && number(said, "low") <= number(said, "estimate")
                && number(said, "high") >= number(said, "estimate")
        })
}

/// The table beside the one that its counts lead to.
fn compare_table(rebuilt: &RebuiltRelease) -> Result<(), String> {
    let threshold = rebuilt.fields.get("noise_threshold").and_then(Value::as_f64).unwrap_or_default();
    for (said, found) in rebuilt.published.iter().zip(&rebuilt.lines) {
        let wrong = |what: &str| Err(format!("{TABLE}, value {}: {what}", said.value));
        if said.name != found.name {
            return wrong("it has another name in the survey");
        }
        // What is missing or withheld has no numbers.
        let (Some(estimate), Some(error)) = (found.estimate, found.standard_error) else {
            match (said.standard_error, said.significant) {
                (None, false) => continue,
                _ => return wrong("it has no estimate, and an error or a signal all the same"),
            }
        };
        let least = error - ROUNDED;
        let holds = |said: f64| said >= least && (rebuilt.is_sketch || said <= least + 2.0 * ROUNDED);
        if !said.standard_error.is_some_and(holds) {
            return wrong(&format!("its standard error has to be {error:.3}"));
        }
        let near = (estimate - threshold).abs() <= 2.0 * ROUNDED;
        if said.significant != found.significant && !near && !rebuilt.is_sketch {
            return wrong("whether it stands out of the noise does not follow from its estimate");
        }
    }
    Ok(())
}

/// All files that are named are there, and none of those that a check needs is left out.
fn files_hold(dir: &Path, said: &Value) -> Result<(), String> {
    let names: Vec<&str> = said.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for name in &names {
        if name.contains(['/', '\\']) || !dir.join(name).is_file() {
            return Err(format!("{name:?} is not there"));
        }
    }
    for needed in [RELEASE, TABLE, SURVEY, SIGNATURES, KEYS, STATEMENTS, LEDGER] {
        if !names.contains(&needed) {
            return Err(format!("{needed} is not named"));
        }
    }
    Ok(())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

/// Machines round the same computation alike to about so much.
const TOLERANCE: f64 = 1e-9;
