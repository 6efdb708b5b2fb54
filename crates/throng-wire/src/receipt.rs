//! Receipts, which hop 1 gives for a body once it is durable.

use crate::codec::Reader;
use crate::digest::Digest;
use crate::place::Place;
use crate::route::Route;
use crate::survey::Survey;

/// A receipt: this body was taken for this route. It names no respondent, and its time is coarse. How it is signed says
/// [`ReceiptTree`](crate::ReceiptTree).
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

impl Receipt {
    /// Its bytes.
    pub fn to_bytes(&self) -> [u8; RECEIPT_LEN] {
        let mut bytes = [0; RECEIPT_LEN];
        bytes[..48].copy_from_slice(&self.route.to_bytes());
        bytes[48..80].copy_from_slice(self.body.as_bytes());
        bytes[80..].copy_from_slice(&self.time_bucket.to_be_bytes());
        bytes
    }

    /// Reads its bytes.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            route: reader.route()?,
            body: Digest::new(reader.take()?),
            time_bucket: u64::from_be_bytes(reader.take()?),
        })
    }

    /// Who signs it.
    pub fn party(&self) -> Place {
        Place::Hop { instance: self.route.instance, hop: 1 }
    }
}

/// The length of a receipt without the proof that it was signed, which follows.
pub const RECEIPT_LEN: usize = 88;

const BUCKET_S: u64 = 3600;
