//! The sending API: from a survey and a value to an answer that is sent once, and can be accounted for.
//!
//! ```
//! # fn main() -> throng_respondent::Result<()> {
//! use throng_respondent::{Bundle, Epsilon, Respondent};
//!
//! # let desk = throng_testing::desk::Desk::today();
//! # std::env::set_current_dir(&desk.folder)?;
//! let survey = Bundle::read("survey.toml")?;
//! let mut respondent = Respondent::open("my-answers")?;
//! respondent.set_epsilon_limit(Epsilon::new(20.0)?)?;
//! let answer = respondent.answer(&survey, 42)?;
//! // Now `respondent.send()?` would send it, each body at its time.
//!
//! // Somebody else has nothing to say. What they send looks the same.
//! # Respondent::open("another")?.set_epsilon_limit(Epsilon::new(20.0)?)?;
//! let nothing = Respondent::open("another")?.abstain(&survey)?;
//! assert_eq!(nothing.bodies.len(), answer.bodies.len());
//! assert_eq!(nothing.bodies[0].length, answer.bodies[0].length);
//! # Ok(())
//! # }
//! ```
//!
//! | question | type |
//! |---|---|
//! | how is a survey answered? | [`Respondent`], [`AnswerOptions`] |
//! | what is made, stored and sent? | [`Answer`], [`Body`] |
//! | why is there no answer, and what can be done? | [`Error`], [`Refusal`], [`ErrorKind`] |
//! | what has been spent, and what would the next epoch add? | [`PersonalLedger`], [`Spending`], [`NextEpoch`] |
//! | how does a body reach its first hop? | [`Transport`], [`SendError`] |
//! | what became of what was sent? | [`Pass`], [`Fate`]; for the person [`AnswerStatus`], [`BodyStatus`] |
//! | was it taken, and do all hops agree? | [`verify_receipt`], [`BodyCheck`], [`ReceiptCheck`], [`Verdict`] |
//! | what does the person see of it? | `page::RespondentPage`, with the feature `page` |
//!
//! The directory has, for its owner alone: `ledger` (what was spent, over all surveys), `secret` (what files
//! are named and authenticated by), `credential` (the person's own secret, where they enrolled with it or enrolment is
//! open), `surveys/` (the files of those that were answered), `permanent/` (coins of backstops and randomized labels) and
//! `outbox/` (what is sent, with receipts). It
//! is to be kept like the values themselves, and to be backed up as a whole.

mod answer;
mod answering;
mod credentials;
mod error;
mod outbox;
#[cfg(feature = "page")]
pub mod page;
mod permanent;
mod personal_ledger;
mod receipts;
mod sending;
mod state_dir;
mod status;
mod transport;

use std::ops::Deref;
use std::path::{Path, PathBuf};

use getrandom::rand_core::CryptoRng;
use throng_wire::{EpochStatement, Place, Signed, SurveyHash};

use outbox::Outbox;
use sending::Retries;
use state_dir::{NamingSecret, SURVEYS, StateDir};
pub use throng_host::clock::{Clock, SystemClock};
use throng_host::entropy::system_rng;
use throng_host::{bail, ensure};

use crate::error::Context;
pub use answer::{Answer, AnswerOptions, Origin};
pub use error::{Error, Refusal, Result};
pub use personal_ledger::{ChangingAnswer, Entry, NextEpoch, PermanentDraw, PersonalLedger, Spending};
pub use receipts::{BodyCheck, ReceiptCheck, Verdict, verify_receipt};
pub use sending::{Fate, Pass};
pub use status::{AnswerStatus, BodyStatus};
pub use throng_dp::{Epsilon, Value};
pub use throng_encode::{Body, EpochChoice};
pub use throng_host::ErrorKind;
pub use throng_host::bundle::Bundle;
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

/// A read-only view of a person's state: nothing is written, and nobody who answers or sends is kept waiting.
#[derive(Debug)]
pub struct Onlooker(Respondent);

/// Whatever changes something takes `&mut Respondent`, which this does not give.
impl Deref for Onlooker {
    type Target = Respondent;

    fn deref(&self) -> &Respondent {
        &self.0
    }
}

impl Respondent {
    /// Opens a state directory, making it if needed. It is locked until the respondent is dropped.
    pub fn open(state: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(state, &mut system_rng()?)
    }

    /// The same with other randomness.
    pub fn open_with(state: impl AsRef<Path>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        let state = StateDir::open(state.as_ref())?;
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
    pub fn look_at(state: impl AsRef<Path>) -> Result<Onlooker> {
        let state = StateDir::look_at(state.as_ref())?;
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
    pub fn use_credential(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.credential = Some(std::path::absolute(path)?);
        Ok(())
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
    pub fn check(&self, statements: &[Signed<EpochStatement>]) -> Result<Vec<BodyCheck>> {
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
    fn answers(&self) -> Result<Vec<Answer>> {
        let all = Outbox(&self.state).all(&self.ledger)?;
        let mut answers = all.into_iter().collect::<Result<Vec<Answer>>>()?;
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
    pub fn answer_of(&self, survey: &SurveyHash, epoch: u64) -> Result<Option<Answer>> {
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

/// Where the files of a survey are kept.
fn survey_file(survey: &SurveyHash) -> String {
    format!("{SURVEYS}/{survey}.survey")
}

const SURVEY: &str = "survey";
