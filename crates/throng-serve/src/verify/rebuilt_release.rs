//! The release as it has to be, from the survey, the statements, the ledger's lines and the counts of the table.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use throng_account::ledger::{Booking, Ledger};
use throng_analyze::{Crowd, InstanceTally, Release};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};
use throng_survey::Promise;
use throng_wire::SignedSurvey;

use super::{Files, Verdict};
use crate::analysis::published::{EstimateLine, LEDGER, TABLE};
use crate::analysis::{DisplayOptions, ReleaseLedger, ReleaseSummary, promised};
use crate::error::{Context, Error, Result};
use throng_host::{bail, ensure};

/// A release that was made again.
pub(super) struct RebuiltRelease {
    /// All its fields, as JSON has them.
    pub(super) fields: Map<String, Value>,
    /// The lines of its table, as it has to be.
    pub(super) lines: Vec<EstimateLine>,
    /// The lines that were published.
    pub(super) published: Vec<EstimateLine>,
    /// What it promises.
    pub(super) promise: Promise,
    /// Whether collisions in a sketch add to the errors, which nobody can work out again.
    pub(super) is_sketch: bool,
}

/// Makes it again, with the ledger and the table checked on the way.
pub(super) fn rebuild(
    survey: &SignedSurvey,
    parts: &[InstanceTally],
    files: &Files,
    verdict: &mut Verdict,
) -> Result<Option<RebuiltRelease>> {
    let made = || -> Result<_> {
        let crowd = Crowd::of(survey.survey(), parts)?;
        let (kept, entry) = promised(survey, &crowd)?;
        Ok((crowd, kept, entry))
    };
    let (crowd, kept, entry) = match made() {
        Ok(made) => made,
        Err(error) => {
            verdict.failed("guarantee", format!("{error:#}"));
            return Ok(None);
        }
    };
    let text = |name: &str| files.release.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| {
        let number = files.release.get(name).and_then(Value::as_f64);
        number.ok_or_else(|| Error::invalid(format!("{name} is no number")))
    };
    let population = text("population");
    let budget = || -> Result<CentralGuarantee<Removal>> {
        let (epsilon, delta) = (number("epsilon_budget")?, number("delta_budget")?);
        Ok(CentralGuarantee::new(Epsilon::new(epsilon)?, Delta::new(delta)?))
    };
    let budget = match budget() {
        Ok(budget) => budget,
        Err(error) => {
            verdict.failed("ledger", format!("{error:#}"));
            return Ok(None);
        }
    };
    let recorded = || -> Result<Booking> {
        let lines = match &files.ledger {
            Ok(lines) => lines,
            Err(error) => bail!(Invalid, "{error:#}"),
        };
        let mut ledger = ReleaseLedger::of_excerpt(lines, budget)?;
        let before = ledger.entries(population).to_vec();
        ensure!(
            ledger.populations().all(|name| name == population) && !before.is_empty(),
            Invalid,
            "the lines of {LEDGER} are not about the population {population:?}"
        );
        let recorded = ledger.record(population, entry.clone())?;
        ensure!(
            ledger.entries(population) == before,
            Invalid,
            "{LEDGER} has no line for this release that spends as much as it does"
        );
        Ok(recorded)
    };
    let (recorded, in_ledger) = match recorded() {
        Ok(recorded) => {
            verdict.ok(
                "ledger",
                format!(
                    "its lines have this release, and come to epsilon {:.4} of {} at delta {:e} (the analyzer's word)",
                    recorded.spent().epsilon().value(),
                    budget.epsilon(),
                    budget.delta().value()
                ),
            );
            (recorded, true)
        }
        Err(error) => {
            verdict.failed("ledger", format!("{error:#}"));
            // The rest can still be checked, under a budget that allows everything.
            let any = CentralGuarantee::new(Epsilon::new(1e6)?, budget.delta());
            match Ledger::new(any).record(population, entry) {
                Ok(recorded) => (recorded, false),
                Err(_) => return Ok(None),
            }
        }
    };
    let release = Release::new(survey.survey(), parts, kept, &recorded)?;
    let is_sketch = release.estimates().spread().collisions.is_some();
    let published = match table(files, release.estimates().counts().len()) {
        Ok(lines) => lines,
        Err(error) => {
            verdict.failed("table", format!("{error:#}"));
            return Ok(None);
        }
    };
    let missing = |line: &&EstimateLine| match line.mark.as_str() {
        // Withheld, which is the analyzer's word.
        "impossible" | "implausible" => line.estimate.is_some(),
        _ => line.estimate.is_none() != release.estimates().count(line.value as usize).is_none(),
    };
    if let Some(line) = published.iter().find(missing) {
        let what = if line.estimate.is_none() {
            "is left out, and its instance came"
        } else {
            "has an estimate, and its instance did not come"
        };
        // The rest is compared all the same: an instance that is not here is named there.
        verdict.failed("table", format!("{TABLE}, value {}: it {what}", line.value));
    }
    let release = release.with_counts(counts(&published, &files.release));
    let top = files.release.get("top").and_then(Value::as_array).map_or(0, Vec::len);
    let confidence = number("confidence").unwrap_or_default();
    let liars = files.release.get("liars").and_then(Value::as_u64).unwrap_or_default();
    let wanted = DisplayOptions { top, confidence, liars };
    let mut made = match ReleaseSummary::of(survey.survey(), &release, (population, budget), wanted) {
        Ok(made) => made,
        Err(error) => {
            verdict.failed("errors", format!("{error:#}"));
            return Ok(None);
        }
    };
    let (estimates, threshold) = (release.estimates(), made.noise_threshold);
    let line = |value: usize| {
        let estimate = estimates.count(value);
        EstimateLine {
            value: value as u64,
            name: survey.survey().value_name(value as u64),
            estimate,
            standard_error: estimate.map(|_| estimates.standard_error(value)),
            significant: estimate.is_some_and(|estimate| estimate > threshold),
            mark: String::new(),
        }
    };
    let lines = (0..estimates.counts().len()).map(line).collect();
    made.files = Vec::new();
    let Value::Object(mut fields) = serde_json::to_value(&made)? else {
        bail!(Invalid, "a release is an object")
    };
    if !in_ledger {
        // Said already: nothing is known of what was spent.
        fields.remove("epsilon_spent");
        if let Some(said) = files.release.get("epsilon_spent") {
            fields.insert("epsilon_spent".into(), said.clone());
        }
    }
    verdict.ok(
        "crowd",
        format!(
            "the guarantee counts on {} respondents, the fewest of {} instances",
            crowd.respondents,
            crowd.present.len() + crowd.outside.len()
        ),
    );
    Ok(Some(RebuiltRelease { fields, lines, published, promise: made.promise, is_sketch }))
}

/// The lines of the table, one for each value.
fn table(files: &Files, values: usize) -> Result<Vec<EstimateLine>> {
    let bytes = match &files.table {
        Ok(bytes) => bytes,
        Err(error) => bail!(Invalid, "{error:#}"),
    };
    let lines: Result<Vec<EstimateLine>, _> = csv::Reader::from_reader(&bytes[..]).deserialize().collect();
    let lines = lines.with_context(|| format!("in {TABLE}"))?;
    ensure!(
        lines.len() == values && lines.iter().enumerate().all(|(at, line)| line.value == at as u64),
        Invalid,
        "{TABLE} has {} lines, and the survey has {values} values, each of which has one in order",
        lines.len()
    );
    Ok(lines)
}

/// The counts: of the table, with all digits where the release has them, so that ranks are the same. A value that is not
/// ranked, and is equal to one that is as far as the table shows, is no more than that: else it would be ranked.
fn counts(table: &[EstimateLine], release: &Map<String, Value>) -> Vec<f64> {
    let mut counts: Vec<f64> = table.iter().map(|line| line.estimate.unwrap_or(f64::NAN)).collect();
    let top = release.get("top").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (mut ranked, mut least) = (Vec::new(), BTreeMap::new());
    for line in top {
        let value = line.get("value").and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok());
        let exact = line.get("estimate").and_then(Value::as_f64);
        if let (Some(value), Some(exact)) = (value, exact)
            && let Some(shown) = counts.get(value)
            && (shown - exact).abs() <= ROUNDED
        {
            ranked.push((value, exact));
            let least = least.entry(shown.to_bits()).or_insert(exact);
            *least = least.min(exact);
        }
    }
    for count in &mut counts {
        *count = least.get(&count.to_bits()).copied().unwrap_or(*count);
    }
    ranked.into_iter().for_each(|(value, exact)| counts[value] = exact);
    counts
}

/// The table has three digits behind the point.
pub(super) const ROUNDED: f64 = 0.000_501;
