//! Enrolment: a secret that the person draws themself, and that never leaves the state directory.

use getrandom::rand_core::CryptoRng;
use throng_survey::CheckedClaim;
use throng_wire::survey::Enrolment;
use throng_wire::{Credential, EnrolmentFile, SurveyHash};

use super::outbox::Outbox;
use super::state_dir::SURVEYS;
use super::{CREDENTIAL, Respondent, complete, refusal};
use crate::error::Result;
use throng_host::bundle::Bundle;
use throng_host::ensure;

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

    /// Finds out whether a survey keeps what it claims and can be sent to, before anybody is asked for anything.
    pub fn would_take(&self, bundle: &Bundle) -> Result<()> {
        CheckedClaim::check(bundle.survey().survey()).map_err(refusal)?;
        complete(bundle)
    }

    /// Whether the person enrolled for a survey with their own secret.
    pub(super) fn has_enrolled(&self, survey: &SurveyHash) -> Result<bool> {
        self.state.has(&enrolled(survey))
    }

    /// Makes the person's own secret, once: one that was used and is gone is not made anew.
    pub(super) fn draw_credential(&self, rng: &mut (impl CryptoRng + ?Sized)) -> Result<()> {
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
