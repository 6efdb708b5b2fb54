//! Routes: the survey, crowd label, epoch and instance that an envelope belongs to, and the stops on the way. They are its
//! associated data.

use crate::digest::SurveyHash;
use crate::place::Place;

/// What an envelope is bound to, besides the stop that opens it. An envelope that is moved to any other route opens
/// for nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The survey.
    pub survey: SurveyHash,
    /// The crowd label: its number in the survey's list, from 1, or 0 in a survey without labels.
    pub label: u32,
    /// The epoch.
    pub epoch: u64,
    /// The instance, from 1.
    pub instance: u32,
}

/// Who opens a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// A hop of the instance, from 1.
    Hop(u32),
    /// The analyzer.
    Analyzer,
}

impl Route {
    /// The party at a stop.
    pub fn place(&self, stop: Stop) -> Place {
        match stop {
            Stop::Hop(hop) => Place::Hop { instance: self.instance, hop },
            Stop::Analyzer => Place::Analyzer,
        }
    }

    /// Survey (32), label (4), epoch (8), instance (4): how a route begins in associated data and signed records.
    pub fn to_bytes(self) -> [u8; ROUTE_LEN] {
        let mut bytes = [0; ROUTE_LEN];
        bytes[..32].copy_from_slice(self.survey.as_bytes());
        bytes[32..36].copy_from_slice(&self.label.to_be_bytes());
        bytes[36..44].copy_from_slice(&self.epoch.to_be_bytes());
        bytes[44..].copy_from_slice(&self.instance.to_be_bytes());
        bytes
    }
}

impl Stop {
    /// The hop's number; 0 is the analyzer.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Hop(hop) => hop,
            Self::Analyzer => 0,
        }
    }
}

/// The length of a route in bytes.
pub const ROUTE_LEN: usize = 48;
