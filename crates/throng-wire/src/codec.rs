//! Decoding of fixed-length records.

use crate::digest::SurveyHash;
use crate::route::Route;

/// A cursor over a record, which takes fields from its front.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// From the first byte on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next N bytes, if there are as many.
    pub fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*first)
    }

    /// The next bytes as a route.
    pub fn route(&mut self) -> Option<Route> {
        Some(Route {
            survey: SurveyHash::new(self.take()?),
            label: u32::from_be_bytes(self.take()?),
            epoch: u64::from_be_bytes(self.take()?),
            instance: u32::from_be_bytes(self.take()?),
        })
    }

    /// Whether nothing is left.
    pub fn end(&self) -> bool {
        self.rest.is_empty()
    }
}
