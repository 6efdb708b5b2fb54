//! Addresses of parties. They may change during a survey, so each stands in a signed file of its own.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::digest::{Digest, SurveyHash};
use crate::origin::Origin;
use crate::place::Place;
use crate::signed::{json_document, refused};

/// A party's address file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// The survey.
    pub survey: SurveyHash,
    /// Whose address it is.
    pub party: Place,
    /// Which version of this file: the highest counts.
    pub serial: u64,
    /// Where it answers: an [`Origin`], `https://host[:port]`, or `http://` on the same machine.
    pub url: String,
    /// SHA-256 of the certificate (DER) that it shows in TLS, as server and as client. Absent without TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Digest>,
}

json_document!(Address, "address");

impl Address {
    /// Scheme, host and port of where it answers.
    pub fn origin(&self) -> Result<Origin, Error> {
        self.url.parse()
    }

    fn check(&self) -> Result<(), Error> {
        if self.origin()?.tls() != self.certificate.is_some() {
            return Err(refused::<Self>("a certificate belongs to an https:// address, and to no other"));
        }
        Ok(())
    }
}
