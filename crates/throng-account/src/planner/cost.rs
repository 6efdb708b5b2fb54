//! What an answer costs its respondent and the servers, beside what it would cost with Prio3: so that a planner can say
//! when another design serves better.
//!
//! The constants are processor time of one core, measured in one run by `cargo bench -p throng --bench prio`, which prints
//! this model beside what it measures. Another machine is faster or slower in all of them about alike: what the
//! planner decides by are ratios.

use super::Plan;

/// What one answer costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The respondent's processor time, in microseconds.
    pub respondent_us: f64,
    /// What the respondent sends.
    pub bytes: u64,
    /// The processor time of all servers together, in microseconds.
    pub servers_us: f64,
}

impl Cost {
    /// Whether this is cheaper by more than [`CLEARLY`] in some respect, and dearer in none.
    pub fn is_clearly_below(&self, other: &Self) -> bool {
        let pairs = [
            (self.respondent_us, other.respondent_us),
            (self.bytes as f64, other.bytes as f64),
            (self.servers_us, other.servers_us),
        ];
        pairs.iter().all(|(own, other)| own <= other) && pairs.iter().any(|(own, other)| CLEARLY * own < *other)
    }
}

/// What an answer costs under a plan, with chaff. How many bytes it has is for the wire format to say.
///
/// A body is sealed once, and each of its b envelopes once for the analyzer and for every hop from the second on. The
/// first hop opens the body, each later one all envelopes, the analyzer the fragments alone: with one hop it is the
/// analyzer who finds the chaff.
pub fn throng(plan: &Plan, instances: u32, hops: u32, bytes: u64) -> Cost {
    let (instances, hops, envelopes) = (f64::from(instances), f64::from(hops), f64::from(plan.envelopes));
    let seals = instances * (1.0 + envelopes * hops);
    let last = if hops > 1.0 { plan.fragments } else { instances * envelopes };
    let opens = instances * (1.0 + envelopes * (hops - 1.0)) + last;
    Cost { respondent_us: seals * SEAL_US, bytes, servers_us: opens * OPEN_US }
}

/// What an answer costs with Prio3Histogram, two aggregators and HPKE, over a domain of this many values.
///
/// All of it grows with the domain k: one aggregator gets k numbers of 16 bytes and a proof of about 4 sqrt(k) more, the
/// other a seed that it expands to as many.
pub fn prio3(domain: u64) -> Cost {
    let values = domain as f64;
    let proof = values.sqrt();
    Cost {
        respondent_us: PRIO3_RESPONDENT_US.0 + PRIO3_RESPONDENT_US.1 * values,
        bytes: (PRIO3_BYTES.0 + PRIO3_BYTES.1 * proof + PRIO3_BYTES.2 * values) as u64,
        servers_us: PRIO3_SERVERS_US.0 + PRIO3_SERVERS_US.1 * values,
    }
}

/// From which factor on a cost is said to be lower. Below it, a faster library or another machine could turn it around.
pub const CLEARLY: f64 = 2.0;

/// One layer sealed, with its part of randomizing and shuffling.
const SEAL_US: f64 = 45.0;

/// One layer opened.
const OPEN_US: f64 = 31.0;

/// Sharding, encoding and two seals: a constant, and for each value.
const PRIO3_RESPONDENT_US: (f64, f64) = (100.0, 0.5);

/// A constant, for the square root of the domain, and for each value.
const PRIO3_BYTES: (f64, f64, f64) = (300.0, 64.0, 16.0);

/// Both aggregators: opening, verifying the proof, adding up.
const PRIO3_SERVERS_US: (f64, f64) = (100.0, 0.5);
