//! What is asked, of whom, and how far it is: states of epochs and parties, and no number that depends on a person.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use axum::extract::State;
use serde::Serialize;
use throng_dp::Coins;
use throng_survey::{CentralPromise, LocalPromise, floor};
use throng_wire::survey::{Cover, Encoding, Enrolment};
use throng_wire::{Place, Route, SurveyHash};

use super::{DashboardState, DashboardSurvey, Json, SharedState, problem};
use crate::analysis::{ReleaseName, SealedFiles, TallyFiles};
use crate::error::Result;
use crate::operate::contacts::Contact;
use crate::operate::vitals::Readiness;
use throng_host::clock::{Clock, SystemClock};
use throng_host::net::Problem;

/// Whether a batch that was taken was counted or destroyed. Such a file never changes, so it is looked at once.
pub(super) type Outcomes = BTreeMap<(SurveyHash, u32, u64, u32), Outcome>;

/// `GET /api/surveys`
pub(super) async fn all(State(serving): State<SharedState>) -> Result<Json<Surveys>, Problem> {
    serving
        .work(|serving| serving.surveys(SystemClock.now_s()).map(Json).map_err(|error| problem(&error)))
        .await
}

/// All surveys of an analyzer, and how it is.
#[derive(Serialize)]
pub(super) struct Surveys {
    now_s: u64,
    /// Whether the analyzer can do its work.
    ready: bool,
    /// If not, why.
    wrong: Vec<String>,
    surveys: Vec<SurveyPage>,
}

#[derive(Serialize)]
struct SurveyPage {
    survey: String,
    name: String,
    question: String,
    population: String,
    domain: u64,
    encoding: &'static str,
    respondents_min: u64,
    honest_fraction: f64,
    enrolment: Enrolment,
    labels: Vec<String>,
    /// Trust profiles: the instances that the fragments of a label go to, where not to all.
    profiles: BTreeMap<String, Vec<u32>>,
    /// What one release is claimed to guarantee.
    #[serde(flatten)]
    claim: CentralPromise,
    /// What is left whatever fails.
    #[serde(flatten)]
    local: LocalPromise,
    instances: u32,
    hops: u32,
    envelopes: u32,
    cover: Cover,
    epoch_s: u64,
    epoch: u64,
    epoch_begins_s: u64,
    epoch_ends_s: u64,
    /// What parties share, or should look at again.
    warnings: Vec<String>,
    analyzer: PartyLine,
    paths: Vec<PathLine>,
    epochs: Vec<EpochLine>,
}

/// Who a party is.
#[derive(Serialize)]
struct PartyLine {
    place: Place,
    operator: String,
    jurisdiction: String,
}

/// An instance, as the analyzer sees it.
#[derive(Serialize)]
struct PathLine {
    instance: u32,
    /// The newest epoch that all of its hops have signed a statement about.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch_signed: Option<u64>,
    hops: Vec<HopLine>,
}

/// A hop, and whether it answers the analyzer.
#[derive(Serialize)]
struct HopLine {
    #[serde(flatten)]
    party: PartyLine,
    state: ContactStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    heard_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum ContactStatus {
    /// It was not asked yet.
    Unknown,
    /// It answers.
    Answers,
    /// It does not.
    Fails,
}

/// An epoch of a channel.
#[derive(Serialize)]
struct EpochLine {
    label: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    label_name: Option<String>,
    epoch: u64,
    begins_s: u64,
    ends_s: u64,
    state: EpochState,
    /// What became of it at each instance.
    instances: Vec<Outcome>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum EpochState {
    /// It lasts; nobody but the first hops knows how many have answered.
    Collecting,
    /// It is over, and batches are on their way.
    Waiting,
    /// The crowd was large enough at an instance; what it gave waits sealed until a release is asked for.
    Sealed,
    /// It is in the ledger and open; there is no release yet.
    Reached,
    /// Nobody asked for a release in time, and what waited sealed was erased.
    Erased,
    /// What an instance gave cannot be read any more, so there is no release of the others.
    Damaged,
    /// Too few have answered, and every instance destroyed it.
    Destroyed,
    /// There is a release.
    Released,
}

/// What became of an epoch at an instance, as its hops have signed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Missing,
    /// Its batch waits, and nobody has opened it.
    Sealed,
    /// Its batch was erased, and nobody had opened it.
    Erased,
    Counted,
    Destroyed,
    /// There is a tally, and it cannot be read.
    Damaged,
}

impl DashboardState {
    fn surveys(&self, now_s: u64) -> Result<Surveys> {
        let Readiness { ready, wrong } = self.dashboard.vitals.readiness();
        let surveys = self.dashboard.surveys.iter().map(|one| self.survey_page(one, now_s));
        Ok(Surveys { now_s, ready, wrong, surveys: surveys.collect::<Result<_>>()? })
    }

    fn survey_page(&self, shown: &DashboardSurvey, now_s: u64) -> Result<SurveyPage> {
        let survey = shown.survey.survey();
        let epoch = survey.epoch_at(now_s);
        let labels = survey.labels.as_ref().map(|labels| labels.names.clone()).unwrap_or_default();
        let epochs = self.epochs(shown, &labels, epoch)?;
        Ok(SurveyPage {
            survey: shown.survey.hash().to_string(),
            name: survey.name.clone(),
            question: survey.question.clone(),
            population: shown.population.clone(),
            domain: survey.domain(),
            encoding: match survey.encoding {
                Encoding::OneHot { .. } => "one-hot",
                Encoding::Sketch { .. } => "sketch",
                Encoding::Record { .. } => "record",
            },
            respondents_min: survey.crowd.respondents_min,
            honest_fraction: survey.honest_fraction(),
            enrolment: survey.crowd.enrolment,
            labels,
            profiles: survey.labels.as_ref().and_then(|labels| labels.profiles.clone()).unwrap_or_default(),
            claim: (&survey.claim).into(),
            local: LocalPromise {
                epsilon_local: floor(survey)?.epsilon().value(),
                backstop: matches!(survey.mechanism()?.coins(), Coins::Fragments { .. }),
            },
            instances: survey.delivery.instances,
            hops: survey.delivery.hops,
            envelopes: survey.delivery.envelopes,
            cover: survey.delivery.cover,
            epoch_s: survey.epoch_s,
            epoch,
            epoch_begins_s: epoch * survey.epoch_s,
            epoch_ends_s: survey.epoch_end_s(epoch),
            warnings: survey.warnings().iter().map(ToString::to_string).collect(),
            analyzer: party(shown, Place::Analyzer),
            paths: (1..=survey.delivery.instances).map(|one| self.path(shown, one, &epochs)).collect(),
            epochs,
        })
    }

    fn path(&self, shown: &DashboardSurvey, instance: u32, epochs: &[EpochLine]) -> PathLine {
        // A batch is taken with the statements of all hops, each of them checked.
        let signed = |line: &&EpochLine| {
            let outcome = line.instances.get(instance as usize - 1);
            matches!(outcome, Some(Outcome::Sealed | Outcome::Erased | Outcome::Counted | Outcome::Destroyed))
        };
        PathLine {
            instance,
            epoch_signed: epochs.iter().filter(signed).map(|line| line.epoch).max(),
            hops: (1..=shown.survey.survey().delivery.hops)
                .map(|hop| self.hop(shown, Place::hop(instance, hop)))
                .collect(),
        }
    }

    fn hop(&self, shown: &DashboardSurvey, place: Place) -> HopLine {
        let Contact { heard_s, failing } = self.dashboard.contacts.of(shown.survey.hash(), place);
        let state = match (&failing, heard_s) {
            (Some(_), _) => ContactStatus::Fails,
            (None, Some(_)) => ContactStatus::Answers,
            (None, None) => ContactStatus::Unknown,
        };
        HopLine {
            party: party(shown, place),
            state,
            heard_s,
            reason: failing.map(|reason| reason.to_string()),
        }
    }

    /// The newest epochs of every label, the newest first.
    fn epochs(&self, shown: &DashboardSurvey, labels: &[String], current: u64) -> Result<Vec<EpochLine>> {
        let (survey, hash) = (shown.survey.survey(), shown.survey.hash());
        let files =
            (TallyFiles::new(&self.dashboard.data, hash), SealedFiles::new(&self.dashboard.data, hash));
        let (tallies, sealed) = &files;
        let released: BTreeSet<ReleaseName> = self.releases.of(hash)?.into_iter().collect();
        let mut lines = Vec::new();
        for label in survey.label_numbers() {
            let mut epochs = tallies.epochs(label)?;
            epochs.extend(sealed.epochs(label)?);
            // One that is over and of which no hop has said anything is waited for all the same.
            let oldest = epochs.first().map_or(current, |&oldest| oldest).min(current.saturating_sub(1));
            epochs.extend((oldest.max(shown.first_epoch)..=current).rev().take(EPOCHS_SHOWN));
            let newest = epochs.iter().rev().take(EPOCHS_SHOWN).copied();
            // Epochs that were destroyed do not push releases out of sight.
            let with_release = released.iter().rev().filter(|name| name.label == label);
            let with_release = with_release.take(EPOCHS_SHOWN).map(|name| name.epoch);
            for epoch in newest.chain(with_release).collect::<BTreeSet<u64>>() {
                let instances: Vec<Outcome> = (1..=survey.delivery.instances)
                    .map(|instance| self.outcome(&files, Route { survey: hash, label, epoch, instance }))
                    .collect();
                let state = match () {
                    () if released.contains(&ReleaseName { epoch, label }) => EpochState::Released,
                    () if epoch >= current => EpochState::Collecting,
                    () if instances.contains(&Outcome::Damaged) => EpochState::Damaged,
                    () if instances.contains(&Outcome::Counted) => EpochState::Reached,
                    () if instances.contains(&Outcome::Sealed) => EpochState::Sealed,
                    () if instances.contains(&Outcome::Missing) => EpochState::Waiting,
                    () if instances.contains(&Outcome::Erased) => EpochState::Erased,
                    () => EpochState::Destroyed,
                };
                let label_name = (label as usize).checked_sub(1).and_then(|at| labels.get(at).cloned());
                let (begins_s, ends_s) = (epoch * survey.epoch_s, survey.epoch_end_s(epoch));
                lines.push(EpochLine { label, label_name, epoch, begins_s, ends_s, state, instances });
            }
        }
        lines.sort_by_key(|line| (std::cmp::Reverse(line.epoch), line.label));
        Ok(lines)
    }

    /// What became of a batch: whether it waits, was counted, or was erased. That much of it may be known.
    fn outcome(&self, (tallies, sealed): &(TallyFiles, SealedFiles), route: Route) -> Outcome {
        let key = (route.survey, route.label, route.epoch, route.instance);
        let known = |outcomes: &Outcomes| outcomes.get(&key).copied();
        if let Some(outcome) = known(&self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)) {
            return outcome;
        }
        let outcome = match tallies.was_counted(&route) {
            Ok(Some(true)) => Outcome::Counted,
            Ok(Some(false)) => Outcome::Destroyed,
            // These may be otherwise the next time.
            Ok(None) if sealed.waits(&route) => return Outcome::Sealed,
            Ok(None) if matches!(sealed.erased(&route), Ok(Some(_))) => return Outcome::Erased,
            Ok(None) => return Outcome::Missing,
            Err(_) => return Outcome::Damaged,
        };
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(key, outcome);
        outcome
    }
}

fn party(shown: &DashboardSurvey, place: Place) -> PartyLine {
    let party = shown.survey.survey().party(place);
    PartyLine {
        place,
        operator: party.map(|party| party.operator.clone()).unwrap_or_default(),
        jurisdiction: party.map(|party| party.jurisdiction.clone()).unwrap_or_default(),
    }
}

/// For each label.
const EPOCHS_SHOWN: usize = 12;
