//! Signed documents. What they say can be reached only through the check of who signed it.

use throng_survey::{Digest, Place, SurveyHash, VerifyingKey};

use crate::signature::{Signature, SigningKey};
use crate::{Error, hex};

/// Something that one party of a survey says and signs. It has exactly one sequence of bytes.
pub trait Document: Sized {
    /// What it is, as its signature says it.
    const KIND: &'static str;

    /// Its bytes.
    fn canonical(&self) -> Result<Vec<u8>, Error>;

    /// Reads its bytes. `Signed` makes sure that they are the canonical ones.
    fn from_canonical(bytes: &[u8]) -> Result<Self, Error>;

    /// The survey that it belongs to.
    fn survey(&self) -> SurveyHash;

    /// Who signs it.
    fn party(&self) -> Place;
}

/// A document that is JSON and stands in a text file.
pub trait TextDocument: Document {}

/// A document with a signature, not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed<T> {
    document: T,
    canonical: Vec<u8>,
    signature: Signature,
}

impl<T: Document> Signed<T> {
    /// Signs a document.
    pub fn new(document: T, key: &SigningKey) -> Result<Self, Error> {
        let canonical = document.canonical()?;
        let signature = key.sign(T::KIND, &canonical);
        Ok(Self { document, canonical, signature })
    }

    /// What it says, if this key has signed it.
    pub(crate) fn verify_by(&self, key: &VerifyingKey) -> Result<&T, Error> {
        if self.signature.verify(key, T::KIND, &self.canonical) {
            Ok(&self.document)
        } else {
            Err(Error::Signature { kind: T::KIND, party: self.document.party() })
        }
    }

    /// What it says, for one who has checked it before. Nothing is checked.
    pub fn claimed(&self) -> &T {
        &self.document
    }

    /// Who it says it is by, to find it among others. Nothing is checked.
    pub fn claimed_party(&self) -> Place {
        self.document.party()
    }

    /// The survey that it says it belongs to, to find it among others. Nothing is checked.
    pub fn claimed_survey(&self) -> SurveyHash {
        self.document.survey()
    }

    /// The hash of what is said, the same whoever asks: two who compare it know whether they were told the same.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.canonical)
    }

    /// The bytes of a record: the document's, then the signature's 64.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.canonical, &self.signature.as_bytes()[..]].concat()
    }

    /// Reads a record.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let short = || refused::<T>("it is too short");
        let (canonical, signature) = bytes.split_last_chunk::<64>().ok_or_else(short)?;
        Self::from_parts(canonical, Signature::new(*signature))
    }

    fn from_parts(canonical: &[u8], signature: Signature) -> Result<Self, Error> {
        let document = T::from_canonical(canonical)?;
        if document.canonical()? != canonical {
            return Err(refused::<T>("it is not in its canonical form"));
        }
        Ok(Self { document, canonical: canonical.to_vec(), signature })
    }
}

impl<T: TextDocument> Signed<T> {
    /// The text of a file: a line with the canonical JSON, and one with the signature.
    pub fn to_text(&self) -> String {
        // Canonical JSON is UTF-8 without line breaks: both are escaped in texts.
        format!("{}\n{}\n", String::from_utf8_lossy(&self.canonical), self.signature)
    }

    /// Reads a file: two lines, exactly.
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let mut all = Self::all_from_text(text)?;
        match all.pop() {
            Some(one) if all.is_empty() => Ok(one),
            _ => Err(refused::<T>("one document is expected")),
        }
    }

    /// Reads a file of several documents, one after another.
    pub fn all_from_text(text: &str) -> Result<Vec<Self>, Error> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        if !lines.len().is_multiple_of(2) {
            return Err(refused::<T>("each document is a line of JSON and a line with its signature"));
        }
        let line = |line: &'_ str| line.strip_suffix('\n').map(str::to_owned);
        lines
            .chunks_exact(2)
            .map(|pair| {
                let (canonical, signature) =
                    line(pair[0]).zip(line(pair[1])).ok_or_else(|| refused::<T>("a line is not finished"))?;
                let signature =
                    hex::decode(&signature).ok_or(throng_survey::Error::Hex("an Ed25519 signature"))?;
                Self::from_parts(canonical.as_bytes(), Signature::new(signature))
            })
            .collect()
    }
}

/// A document that is not what it should be.
pub(crate) fn refused<T: Document>(reason: &str) -> Error {
    Error::Document { kind: T::KIND, reason: reason.to_owned() }
}

/// Makes a type with serde's traits and the fields `survey` and `party` a document of canonical JSON.
macro_rules! json_document {
    ($name:ident, $kind:literal) => {
        impl crate::signed::Document for $name {
            const KIND: &'static str = $kind;

            fn canonical(&self) -> Result<Vec<u8>, crate::Error> {
                self.check()?;
                Ok(throng_survey::jcs::to_string(self)?.into_bytes())
            }

            fn from_canonical(bytes: &[u8]) -> Result<Self, crate::Error> {
                let document: Self = serde_json::from_slice(bytes)
                    .map_err(|error| crate::signed::refused::<Self>(&error.to_string()))?;
                document.check()?;
                Ok(document)
            }

            fn survey(&self) -> throng_survey::SurveyHash {
                self.survey
            }

            fn party(&self) -> throng_survey::Place {
                self.party
            }
        }

        impl crate::signed::TextDocument for $name {}
    };
}
pub(crate) use json_document;
