//! The sending API: from a survey and a value to an answer that is sent once, and can be accounted for.
//!
//! ```no_run
//! # fn example(transport: &impl throng_respondent::Transport) -> throng_respondent::Result<()> {
//! use throng_host::bundle::Bundle;
//! use throng_respondent::Respondent;
//!
//! let mut respondent = Respondent::open("state".as_ref())?;
//! respondent.set_epsilon_limit(throng_dp::Epsilon::new(20.0)?)?;
//! respondent.answer(&Bundle::read("survey.toml".as_ref())?, Some(42))?;
//! respondent.send(transport)?;
//! # Ok(())
//! # }
//! ```
//!
//! | question | type |
//! |---|---|
//! | how is a survey answered? | [`Respondent`] |
//! | what has been spent, and what would the next epoch add? | [`PersonalLedger`], [`Spending`], [`NextEpoch`] |
//! | how does a body reach its first hop? | [`Transport`], [`SendError`] |
//! | what became of what was sent? | [`Pass`], [`Fate`] |
//! | was it taken, and do all hops agree? | [`verify_receipt`], [`CheckedReceipt`], [`Verdict`] |
//! | what does the person see of it? | [`ShownAnswer`], [`page`] |
//!
//! The directory has, for its owner alone: `ledger` (what was spent, over all surveys), `secret` (what files
//! are named and authenticated by), `credential` (the person's own secret, where they enrolled with it or enrolment is
//! open), `surveys/` (the files of those that were answered), `permanent/` (coins of backstops and randomized labels) and
//! `outbox/` (what is sent, with receipts). It
//! is to be kept like the values themselves, and to be backed up as a whole.

mod enrolling;
mod error;
mod outbox;
pub mod page;
mod permanent;
mod personal_ledger;
mod receipts;
mod sending;
mod shown;
mod state_dir;
mod transport;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use getrandom::rand_core::CryptoRng;
pub use throng_dp::Value;
use throng_dp::{Epsilon, Mechanism};
use throng_encode::{Answer, Schedule, StoredBackstop};
use throng_survey::CheckedClaim;
use throng_wire::survey::{AnswerChanges, Enrolment, Survey};
use throng_wire::{Credential, EpochStatement, Place, Signed, SurveyHash};

use outbox::Outbox;
use permanent::{Drawer, Kept};
use sending::Retries;
use state_dir::{NamingSecret, SURVEYS, StateDir};
use throng_account::Refusal;
use throng_host::bundle::Bundle;
pub use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;
use throng_host::private_file;

use crate::error::Context;
pub use error::{Error, Result};
pub use outbox::{StoredAnswer, StoredBody};
pub use personal_ledger::{Entry, Given, NextEpoch, Permanent, PersonalLedger, Spending};
pub use receipts::{CheckedBody, CheckedReceipt, Verdict, verify_receipt};
pub use sending::{Fate, Pass};
pub use shown::{ShownAnswer, ShownBody};
pub use throng_encode::When;
use throng_host::{bail, ensure};
pub use transport::{SendError, Transport};

/// A person who answers surveys, with everything that has to be remembered for it.
#[derive(Debug)]
pub struct Respondent {
    state: StateDir,
    secret: NamingSecret,
    ledger: PersonalLedger,
    /// Where the credential is now, if not where it was when the answer was made.
    credential: Option<PathBuf>,
    retries: Retries,
}

/// A person's state, to be looked at only: nothing is written, and nobody who answers or sends is kept waiting.
#[derive(Debug)]
pub struct Onlooker(Respondent);

/// What changes something takes `&mut Respondent`, which there is none of.
impl Deref for Onlooker {
    type Target = Respondent;

    fn deref(&self) -> &Respondent {
        &self.0
    }
}

/// How to answer.
#[derive(Clone, Debug, Default)]
pub struct How {
    /// The label, in a survey that has some.
    pub label: Option<String>,
    /// In which epoch.
    pub when: When,
}

/// What came of answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// An answer was made, recorded, and put into the outbox.
    Now(StoredAnswer),
    /// The same, but it was drawn from the first report: in this survey that one counts for all epochs, whatever the value.
    AsFirst(StoredAnswer),
    /// This epoch of this survey has been answered; the answer is the one that was made then, whatever the
    /// value.
    Before(StoredAnswer),
}

impl Answered {
    /// The answer.
    pub fn answer(&self) -> &StoredAnswer {
        match self {
            Self::Now(answer) | Self::AsFirst(answer) | Self::Before(answer) => answer,
        }
    }
}

impl Respondent {
    /// Opens a state directory, making it if needed. It is locked until the respondent is dropped.
    pub fn open(state: &Path) -> Result<Self> {
        Self::open_with(state, &mut system_rng()?)
    }

    /// The same with other randomness.
    pub fn open_with(state: &Path, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        let state = StateDir::open(state)?;
        let secret = NamingSecret::read(&state)?;
        secret.iter().for_each(|secret| state.authenticate_by(secret));
        let ledger = if secret.is_some() { PersonalLedger::read(&state)? } else { None };
        let (secret, ledger) = match (secret, ledger) {
            (Some(secret), Some(ledger)) => (secret, ledger),
            // The secret is written first: alone it is what a crash at the very beginning leaves.
            (secret, None) if state.is_new()? => {
                let ledger = PersonalLedger::new(None);
                let secret = secret.map_or_else(
                    || {
                        let secret = NamingSecret::generate(rng);
                        secret.write(&state).map(|()| secret)
                    },
                    Ok,
                )?;
                state.authenticate_by(&secret);
                ledger.write(&state)?;
                (secret, ledger)
            }
            _ => bail!(
                Damaged,
                "ledger or secret is missing in the state directory, and something was answered with it; put back a copy of \
                 the whole directory. A fresh ledger would forget what was spent"
            ),
        };
        Outbox(&state).recover(&ledger)?;
        Ok(Self { state, secret, ledger, credential: None, retries: Retries::new() })
    }

    /// Looks at a state directory as it is now, also while another process uses it.
    pub fn look_at(state: &Path) -> Result<Onlooker> {
        let state = StateDir::look_at(state)?;
        let secret = NamingSecret::read(&state)?;
        secret.iter().for_each(|secret| state.authenticate_by(secret));
        let (Some(secret), Some(ledger)) = (secret, PersonalLedger::read(&state)?) else {
            bail!(
                Damaged,
                "ledger or secret is missing in the state directory; put back a copy of the whole directory"
            );
        };
        Ok(Onlooker(Self { state, secret, ledger, credential: None, retries: Retries::new() }))
    }

    /// What was spent so far, and the limit.
    pub fn ledger(&self) -> &PersonalLedger {
        &self.ledger
    }

    /// Sets the person's own limit, for this and all later answers. Without one nothing is answered.
    pub fn set_epsilon_limit(&mut self, limit: Epsilon) -> Result<()> {
        self.ledger.set_epsilon_limit(limit);
        self.ledger.write(&self.state)
    }

    /// Says where the credential is. Its path is remembered with every answer, and it is read whenever one is
    /// sent.
    pub fn use_credential(&mut self, path: &Path) -> Result<()> {
        self.credential = Some(std::path::absolute(path)?);
        Ok(())
    }

    /// Answers a survey in its next epoch with a value, or with nothing to say: makes what is sent and puts
    /// it into the outbox. Refused where the survey does not keep what it claims, or where the person's limit
    /// is reached. A value is a number, or in a survey of several attributes a `Vec` with one number or `None` for each.
    pub fn answer(&mut self, bundle: &Bundle, value: Option<impl Into<Value>>) -> Result<Answered> {
        self.answer_with(bundle, value, &How::default(), SystemClock.now_ms(), &mut system_rng()?)
    }

    /// The same under a label, in another epoch, at another time, with other randomness.
    pub fn answer_with(
        &mut self,
        bundle: &Bundle,
        value: Option<impl Into<Value>>,
        how: &How,
        now_ms: u64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Answered> {
        let value = value.map(Into::into);
        let survey = bundle.survey().survey();
        CheckedClaim::check(survey).map_err(refusal)?;
        let schedule = Schedule::new(survey, how.when, now_ms)?;
        let epoch = schedule.epoch();
        complete(bundle)?;
        self.remember(bundle, survey.epoch_at(now_ms / 1000))?;
        let hash = bundle.survey().hash();
        if let Some(answer) = Outbox(&self.state).find(&self.ledger, &hash, epoch)? {
            return Ok(Answered::Before(answer));
        }
        let credential = self.credential_for(survey, &hash, rng)?;

        // Value -> report -> fragments. Nothing is written before the ledger has agreed.
        let mechanism = survey.mechanism()?;
        let drawer = Drawer { state: &self.state, secret: &self.secret, ledger: &self.ledger };
        let changes = survey.answer_changes().unwrap_or_default();
        let backstop = drawer.backstop(&hash, changes, &mechanism, value.as_ref(), rng)?;
        let fragments = match &backstop {
            Some(backstop) => backstop.what.fragments(&mechanism, rng)?,
            None => mechanism.randomize(value.as_ref(), rng)?,
        };
        let label = drawer.label(&hash, survey, how.label.as_deref(), rng)?;
        let answer_name = drawer.answer_name(&hash, value.as_ref());
        let spending = spending(survey, &mechanism, backstop.as_ref(), answer_name, &label);
        self.ledger.check(&spending)?;
        let as_first =
            changes == AnswerChanges::Never && backstop.as_ref().is_some_and(|kept| !kept.is_new());
        if let Some(backstop) = &backstop {
            backstop.store(&self.state)?;
        }
        if epsilon_label(survey).is_some() {
            label.store(&self.state)?;
        }

        // Fragments -> bodies -> draft, ledger, outbox; in this order.
        let sealed =
            Answer::seal(bundle.survey(), bundle.key_lists(), label.what, &schedule, &fragments, rng)?;
        let lists = survey.places().filter_map(|place| Some((place, bundle.key_list_digest(place)?)));
        let lists: BTreeMap<_, _> = lists.collect();
        let answer = StoredAnswer::new(sealed, &survey.name, survey.epoch_end_s(epoch), credential, lists)?;
        let digest = Outbox(&self.state).write_draft(&answer)?;
        let mut ledger = self.ledger.clone();
        ledger.record(Entry { survey: hash, name: survey.name.clone(), epoch, answer: digest, spending });
        ledger.write(&self.state)?;
        self.ledger = ledger;
        Outbox(&self.state).commit(&answer)?;
        Ok(if as_first { Answered::AsFirst(answer) } else { Answered::Now(answer) })
    }

    /// Takes over newer files of a survey that was answered, so that statements can be checked that name a newer key list.
    pub fn update(&mut self, bundle: &Bundle, now_ms: u64) -> Result<()> {
        let survey = bundle.survey();
        let answered = self.ledger.entries().iter().any(|entry| entry.survey == survey.hash());
        ensure!(answered, Invalid, "{} was not answered with this state directory", survey.survey().name);
        complete(bundle)?;
        self.remember(bundle, survey.survey().epoch_at(now_ms / 1000))
    }

    /// Checks all receipts again, and the hops' statements as far as they are given. Needs no network.
    pub fn check(&self, statements: &[Signed<EpochStatement>]) -> Result<Vec<CheckedBody>> {
        let mut checked = Vec::new();
        for answer in Outbox(&self.state).all(&self.ledger)? {
            let answer = answer?;
            let bundle = self.bundle(&answer.survey)?;
            for body in &answer.bodies {
                let receipt = Outbox(&self.state).receipt(&answer, body.instance)?;
                checked.push(receipts::check_body(
                    &bundle,
                    &answer,
                    body.instance,
                    receipt.as_deref(),
                    statements,
                )?);
            }
        }
        Ok(checked)
    }

    /// All answers, by survey and epoch.
    fn answers(&self) -> Result<Vec<StoredAnswer>> {
        let all = Outbox(&self.state).all(&self.ledger)?;
        let mut answers = all.into_iter().collect::<Result<Vec<StoredAnswer>>>()?;
        answers.sort_by_key(|answer| (answer.survey, answer.epoch));
        Ok(answers)
    }

    /// Keeps the files of a survey, so that what was answered can be sent and checked without them. Files
    /// that take something back are refused.
    fn remember(&self, bundle: &Bundle, epoch: u64) -> Result<()> {
        let hash = bundle.survey().hash();
        let (name, answered) =
            (survey_file(&hash), self.ledger.entries().iter().any(|entry| entry.survey == hash));
        // What was answered was remembered before.
        let seen = if answered || self.state.has(&name)? { Some(self.bundle(&hash)?) } else { None };
        if let Some(seen) = &seen {
            bundle.follows(seen, epoch)?;
        }
        // Lists that answers were sealed by stay among them.
        let mut texts: Vec<String> = bundle.files_after(seen.as_ref())?.map(|(_, text)| text).into();
        texts.extend(bundle.names_text().map(str::to_owned));
        self.state.write_checked(&name, SURVEY, &serde_json::to_vec(&texts)?)
    }

    /// The answer for an epoch of a survey, if there is one.
    pub fn answer_of(&self, survey: &SurveyHash, epoch: u64) -> Result<Option<StoredAnswer>> {
        Outbox(&self.state).find(&self.ledger, survey, epoch)
    }

    /// The files of a survey that was answered.
    pub fn bundle(&self, survey: &SurveyHash) -> Result<Bundle> {
        let name = survey_file(survey);
        let path = self.state.path(&name);
        let read = || -> Result<Bundle> {
            let texts =
                self.state.read_checked(&name, SURVEY)?.ok_or_else(|| Error::damaged("it is missing"))?;
            let bundle = Bundle::of_texts(serde_json::from_slice(&texts)?, |part| format!("in its {part}"))?;
            complete(&bundle).map(|()| bundle)
        };
        let bundle = read().damaged(|| {
            format!("{} has the files of a survey that was answered; put back a copy of it", path.display())
        })?;
        ensure!(bundle.survey().hash() == *survey, Damaged, "{} is another survey", path.display());
        Ok(bundle)
    }

    /// Where the credential for a survey is, read once to find out now whether it can be. With open enrolment
    /// it is one of our own, made when it is needed first; so it is where the person enrolled with it.
    fn credential_for(
        &self,
        survey: &Survey,
        hash: &SurveyHash,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Option<PathBuf>> {
        match (survey.crowd.enrolment, &self.credential) {
            (Enrolment::Open, _) => {
                self.draw_credential(rng)?;
                self.credential(None)?;
                Ok(None)
            }
            (Enrolment::Credential, Some(path)) => {
                self.credential(Some(path))?;
                Ok(Some(path.clone()))
            }
            (Enrolment::Credential, None) => {
                ensure!(
                    self.has_enrolled(hash)?,
                    Invalid,
                    "this survey is for those who are enrolled: draw a secret of your own with --enrol DIR and hand in the \
                     files, or name the file of a credential that you were given with --credential"
                );
                self.credential(None)?;
                Ok(None)
            }
        }
    }

    /// Reads a credential: the one that was named last, the one of an answer, or our own.
    fn credential(&self, path: Option<&Path>) -> Result<Credential> {
        let Some(path) = path else {
            let text = self.state.read_checked(CREDENTIAL, CREDENTIAL)?;
            let text = text.ok_or_else(|| {
                Error::damaged("the state directory has lost its credential; put back a copy of it")
            })?;
            let text = str::from_utf8(&text).map_err(|error| Error::damaged(error.to_string()))?;
            return Ok(Credential::from_file(text)?);
        };
        let path = self.credential.as_deref().unwrap_or(path);
        let advice = "there is no credential to answer with; name its file with --credential";
        let text = private_file::read(path).context(advice)?;
        Credential::from_file(&text).with_context(|| format!("{advice}, as this is none: {}", path.display()))
    }
}

/// Finds out before anything is spent whether a survey can be sent to: keys of every party, addresses of the
/// first hops.
fn complete(bundle: &Bundle) -> Result<()> {
    for place in bundle.survey().survey().places() {
        if bundle.key_list_digest(place).is_none() {
            bail!(
                Invalid,
                "there is no key list of {place}: add what it signed to the .keys file beside the survey"
            );
        }
        if matches!(place, Place::Hop { hop: 1, .. }) {
            bundle.address(place)?;
        }
    }
    Ok(())
}

/// What an answer spends of the person's own limit.
fn spending(
    survey: &Survey,
    mechanism: &Mechanism,
    backstop: Option<&Kept<StoredBackstop>>,
    answer: Option<String>,
    label: &Kept<u32>,
) -> Spending {
    let floor = mechanism.floor().epsilon().value();
    let label_spent = epsilon_label(survey).map(|epsilon| Permanent { id: label.id.clone(), epsilon });
    let mut spending =
        Spending { epsilon_local: 0.0, permanent: label_spent.into_iter().collect(), given: None };
    match (backstop, survey.answer_changes(), mechanism.series()) {
        (Some(coins), Some(AnswerChanges::Allowed), Some(series)) => {
            spending.given = Some(Given::new(coins.id.clone(), answer, &series));
        }
        // Which answer was the first is in no file.
        (Some(first), ..) => spending.permanent.push(Permanent { id: first.id.clone(), epsilon: floor }),
        (None, ..) => spending.epsilon_local = floor,
    }
    spending
}

/// What a label is randomized with, where labels are not public.
fn epsilon_label(survey: &Survey) -> Option<f64> {
    survey.labels.as_ref().and_then(|labels| labels.epsilon_label)
}

/// A survey that does not keep what it claims is refused by a rule; anything else is a failure.
fn refusal(error: throng_survey::Error) -> Error {
    match error {
        throng_survey::Error::Claim(_) => Refusal(error.to_string()).into(),
        other => other.into(),
    }
}

/// Where the files of a survey are kept.
fn survey_file(survey: &SurveyHash) -> String {
    format!("{SURVEYS}/{survey}.survey")
}

const CREDENTIAL: &str = "credential";
const SURVEY: &str = "survey";
