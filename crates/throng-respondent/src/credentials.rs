//! Credentials: a secret that the person draws themself to enrol with, and that never leaves the state directory, or a file
//! that they were given.

use std::path::{Path, PathBuf};

use getrandom::rand_core::CryptoRng;
use throng_wire::survey::{Enrolment, Survey};
use throng_wire::{Credential, EnrolmentFile, SurveyHash};

use super::Respondent;
use super::outbox::Outbox;
use super::state_dir::SURVEYS;
use crate::error::{Context, Error, Result};
use throng_host::bundle::Bundle;
use throng_host::{ensure, private_file};

impl Respondent {
    /// What each first hop of a survey has to know so that this person may answer. Their secret is drawn if there is none;
    /// asked again, the same is said again. Refused where the survey would not be answered.
    pub fn enrol(
        &mut self,
        bundle: &Bundle,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<EnrolmentFile>> {
        let (survey, hash) = (bundle.survey().survey(), bundle.survey().hash());
        ensure!(
            survey.crowd.enrolment == Enrolment::Credential,
            Invalid,
            "the enrolment of {} is open: answer without it",
            survey.name
        );
        self.would_take(bundle)?;
        self.draw_credential(rng)?;
        let own = self.credential(None)?;
        // That it is there is all that counts: without it the person enrols again, to the same files.
        self.state.write(&enrolled(&hash), b"throng-v1 enrolled\n")?;
        Ok((1..=survey.delivery.instances)
            .map(|instance| EnrolmentFile::new(&own, &hash, instance))
            .collect())
    }

    /// Where the credential for a survey is, read once to find out now whether it can be. With open enrolment
    /// it is one of our own, made when it is needed first; so it is where the person enrolled with it.
    pub(super) fn credential_for(
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
                if !self.has_enrolled(hash)? {
                    return Err(Error::NotEnrolled);
                }
                self.credential(None)?;
                Ok(None)
            }
        }
    }

    /// Reads a credential: the one that was named last, the one of an answer, or our own.
    pub(super) fn credential(&self, path: Option<&Path>) -> Result<Credential> {
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

    /// Whether the person enrolled for a survey with their own secret.
    fn has_enrolled(&self, survey: &SurveyHash) -> Result<bool> {
        self.state.has(&enrolled(survey))
    }

    /// Makes the person's own secret, once: one that was used and is gone is not made anew.
    fn draw_credential(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<()> {
        if self.state.has(CREDENTIAL)? {
            return Ok(());
        }
        let answered = Outbox(&self.state).all(&self.ledger)?.into_iter().any(|answer| {
            // Of one that cannot be read this is not known.
            answer.is_ok_and(|answer| answer.credential.is_none())
        });
        let enrolled = self.state.names(SURVEYS)?.iter().any(|name| name.ends_with(ENROLLED));
        ensure!(
            !answered && !enrolled,
            Damaged,
            "{} is missing, with which you enrolled or answered; put back a copy of it. With another one you would be \
             counted twice, or not at all",
            self.state.path(CREDENTIAL).display()
        );
        let text = Credential::generate(rng).to_file();
        self.state.write_checked(CREDENTIAL, CREDENTIAL, text.as_bytes())
    }
}

fn enrolled(survey: &SurveyHash) -> String {
    format!("{SURVEYS}/{survey}{ENROLLED}")
}

const ENROLLED: &str = ".enrolled";
const CREDENTIAL: &str = "credential";
