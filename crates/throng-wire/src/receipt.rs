//! What hop 1 signs when it has taken a body and cannot lose it any more.

use crate::Error;
use crate::codec::Reader;
use crate::digest::{Digest, SurveyHash};
use crate::place::Place;
use crate::route::Route;
use crate::signed::{Document, refused};
use crate::survey::Survey;

/// A receipt: this body was taken for this route. It names no respondent, and its time is coarse.
///
/// Bytes: survey (32), label (4), epoch (8), instance (4), SHA-256 of the body as it was sent (32), time bucket (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What the body was sent for.
    pub route: Route,
    /// SHA-256 of the body as it was sent.
    pub body: Digest,
    /// When it was taken: seconds since 1970-01-01T00:00:00Z, rounded down by [`time_bucket`].
    pub time_bucket: u64,
}

/// The coarse time that a receipt shows: rounded down to an hour, or to an epoch where epochs are shorter.
pub fn time_bucket(survey: &Survey, now_s: u64) -> u64 {
    let bucket_s = survey.epoch_s.clamp(1, BUCKET_S);
    now_s - now_s % bucket_s
}

impl Document for Receipt {
    const KIND: &'static str = "receipt";

    fn canonical(&self) -> Result<Vec<u8>, Error> {
        Ok([&self.route.to_bytes()[..], self.body.as_bytes(), &self.time_bucket.to_be_bytes()].concat())
    }

    fn from_canonical(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let read = (|| {
            let receipt = Self {
                route: reader.route()?,
                body: Digest::new(reader.take()?),
                time_bucket: u64::from_be_bytes(reader.take()?),
            };
            reader.end().then_some(receipt)
        })();
        read.ok_or_else(|| refused::<Self>("a receipt has 88 bytes and a signature"))
    }

    fn survey(&self) -> SurveyHash {
        self.route.survey
    }

    fn party(&self) -> Place {
        Place::Hop { instance: self.route.instance, hop: 1 }
    }
}

const BUCKET_S: u64 = 3600;
