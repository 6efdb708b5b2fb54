//! Every release, what it spent, and what is left.

use std::collections::BTreeSet;
use std::fs;
use std::sync::PoisonError;
use std::time::SystemTime;

use axum::extract::State;
use serde_json::{Value, json};
use throng_account::ledger::{Entry, Ledger, Spending};

use super::{DashboardState, Json, SharedState, problem};
use crate::analysis::ReleaseLedger;
use crate::error::Result;
use throng_host::net::Problem;

/// The ledger as it was worked out last, and the file that it was worked out from.
pub(super) type CachedLedger = (Option<(u64, SystemTime)>, Value);

/// `GET /api/ledger`
pub(super) async fn all(State(serving): State<SharedState>) -> Result<Json<Value>, Problem> {
    serving.work(|serving| serving.ledger().map(Json).map_err(|error| problem(&error))).await
}

impl DashboardState {
    /// Losses take a while to compose, so they are worked out again only when the file has changed; links to releases
    /// are looked up every time.
    fn ledger(&self) -> Result<Value> {
        let file = fs::metadata(self.dashboard.data.join("ledger"));
        let stamp = file.and_then(|file| Ok((file.len(), file.modified()?))).ok();
        let mut known = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ledger = match &*known {
            Some((of, ledger)) if *of == stamp => ledger.clone(),
            _ => {
                let ledger = self.composed()?;
                *known = Some((stamp, ledger.clone()));
                ledger
            }
        };
        drop(known);
        let releases = ledger["populations"].as_array_mut().into_iter().flatten();
        for line in releases.flat_map(|one| one["releases"].as_array_mut().into_iter().flatten()) {
            let shown = self.survey(line["survey"].as_str().unwrap_or_default()).ok();
            line["name"] = json!(shown.map(|shown| shown.survey.survey().name.clone()));
            let published = shown.map(|shown| self.releases.of(shown.survey.hash())).transpose()?;
            let of_epoch =
                published.iter().flatten().filter(|name| Some(name.epoch) == line["epoch"].as_u64());
            line["labels"] = of_epoch.map(|name| name.label).collect();
        }
        Ok(ledger)
    }

    fn composed(&self) -> Result<Value> {
        let budget = self.dashboard.budget;
        // Without its lock, which `throng release` waits for: to compose all takes a while.
        let ledger = ReleaseLedger::look_at(&self.dashboard.data, &self.dashboard.key, budget)?;
        let named = self.dashboard.surveys.iter().map(|shown| shown.population.as_str());
        let populations: BTreeSet<&str> = ledger.populations().chain(named).collect();
        let mut all = Vec::new();
        for population in populations {
            let entries = ledger.entries(population);
            let lines: Result<Vec<Value>> = entries.iter().map(|entry| line(budget, entry)).collect();
            all.push(json!({
                "population": population,
                "epsilon_spent": ledger.spent(population)?.epsilon().value(),
                "epsilon_left": ledger.left(population)?.value(),
                "releases": lines?,
            }));
        }
        Ok(json!({
            "epsilon_budget": budget.epsilon().value(),
            "delta_budget": budget.delta().value(),
            "populations": all,
        }))
    }
}

/// A release, and what it would have spent alone, at the budget's delta.
fn line(budget: throng_dp::CentralGuarantee<throng_dp::Removal>, entry: &Entry) -> Result<Value> {
    let mut alone = Ledger::new(budget);
    alone.restore("alone", entry.clone())?;
    // What overflows can be more than the budget's delta: then nothing is said of it alone.
    let epsilon = alone.spent("alone").ok().map(|spent| spent.epsilon().value());
    let (kind, honest) = match &entry.spending {
        Spending::Bits { crowd, .. } => ("bits", Some(crowd.honest)),
        Spending::Backstop { crowd, .. } => ("backstop", Some(crowd.honest)),
        Spending::Guarantee(_) => ("guarantee", None),
    };
    Ok(json!({
        "survey": entry.survey,
        "epoch": entry.epoch,
        "kind": kind,
        "honest_respondents": honest,
        "epsilon_alone": epsilon,
    }))
}
