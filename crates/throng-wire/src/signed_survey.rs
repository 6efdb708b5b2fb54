//! A survey that everyone who runs it has signed: the only one that is answered or run.

use serde::{Deserialize, Serialize};

use crate::digest::SurveyHash;
use crate::place::Place;
use crate::signed::{Document, Signed, TextDocument, json_document};
use crate::survey::Survey;
use crate::{Error, signature::SigningKey};

/// One party's word that it runs this survey as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The survey.
    pub survey: SurveyHash,
    /// Who approves.
    pub party: Place,
}

json_document!(Approval, "survey");

impl Approval {
    /// A party's signature of a survey. Refused where the survey is a draft or pins another key for the party.
    pub fn sign(survey: &Survey, party: Place, key: &SigningKey) -> Result<Signed<Self>, Error> {
        survey.ready()?;
        let pinned = survey.party(party).ok_or(Error::UnknownParty(party))?;
        if pinned.signing_key != key.public() {
            return Err(Error::Signature { kind: "survey", party });
        }
        Signed::new(Self { survey: survey.hash()?, party }, key)
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// A complete survey with the signatures of all its parties checked, and its hash.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedSurvey {
    survey: Survey,
    hash: SurveyHash,
}

impl SignedSurvey {
    /// Checks the signatures: one of every party, and no other.
    pub fn new(survey: Survey, approvals: &[Signed<Approval>]) -> Result<Self, Error> {
        survey.ready()?;
        let signed = Self { hash: survey.hash()?, survey };
        let mut missing: Vec<Place> = signed.survey.places().collect();
        for approval in approvals {
            let party = approval.verify(&signed)?.party;
            match missing.iter().position(|&place| place == party) {
                Some(index) => missing.remove(index),
                None => return Err(crate::signed::refused::<Approval>("a party has signed twice")),
            };
        }
        if missing.is_empty() { Ok(signed) } else { Err(Error::Unsigned(missing)) }
    }

    /// Reads a survey file and its signature file.
    pub fn from_files(survey: &str, signatures: &str) -> Result<Self, Error> {
        Self::new(Survey::from_toml(survey)?, &text_documents(signatures)?)
    }

    /// The same survey with the names that its file of names has, as [`Survey::with_names`] reads it.
    pub fn with_names(self, text: &str) -> Result<Self, Error> {
        Ok(Self { survey: self.survey.with_names(text)?, hash: self.hash })
    }

    /// The survey.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Its hash.
    pub fn hash(&self) -> SurveyHash {
        self.hash
    }
}

impl<T: Document> Signed<T> {
    /// What it says, if it belongs to this survey and the party whose key the survey pins has signed it.
    pub fn verify(&self, survey: &SignedSurvey) -> Result<&T, Error> {
        let party = self.claimed_party();
        if self.claimed_survey() != survey.hash() {
            return Err(Error::OtherSurvey { kind: T::KIND, party });
        }
        let pinned = survey.survey().party(party).ok_or(Error::UnknownParty(party))?;
        self.verify_by(&pinned.signing_key)
    }
}

fn text_documents<T: TextDocument>(text: &str) -> Result<Vec<Signed<T>>, Error> {
    Signed::all_from_text(text)
}
