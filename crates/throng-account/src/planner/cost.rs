//! The cost of an answer for its respondent and the servers, beside that of Prio3: so that a planner can say when another
//! design serves better.
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
    /// Whether this is clearly cheaper in some respect, and clearly dearer in none.
    fn is_clearly_below(&self, other: &Self) -> bool {
        let ratios = self.ratios(other);
        ratios.iter().any(|&ratio| ratio < 1.0 / CLEARLY) && ratios.iter().all(|&ratio| ratio <= CLEARLY)
    }

    /// The respondent's time, the bytes and the servers' time, as multiples of another's.
    fn ratios(&self, other: &Self) -> [f64; 3] {
        [
            self.respondent_us / other.respondent_us,
            self.bytes as f64 / other.bytes as f64,
            self.servers_us / other.servers_us,
        ]
    }
}

/// What to consider instead of a plan that costs this much: a sentence where Prio3 would be clearly cheaper over the same
/// domain, with what it gives up.
pub fn another_design(planned: &Cost, domain: u64) -> Option<String> {
    let other = prio3(domain);
    let [respondent, bytes, servers] = other.ratios(planned);
    other.is_clearly_below(planned).then(|| {
        format!(
            "Over {domain} values Prio3Histogram would take {respondent:.2} times a respondent's processor time, \
             {bytes:.2} times the bytes and {servers:.2} times the servers' time; given up would be the local floor (no \
             noise is added on a respondent's device), and the sum is made by two aggregators, of which one must be \
             honest: together they would see every answer."
        )
    })
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
const SEAL_US: f64 = 52.0;

/// One layer opened.
const OPEN_US: f64 = 37.0;

/// Sharding, encoding and two seals: a constant, and for each value.
const PRIO3_RESPONDENT_US: (f64, f64) = (125.0, 0.47);

/// A constant, for the square root of the domain, and for each value.
const PRIO3_BYTES: (f64, f64, f64) = (340.0, 65.0, 16.0);

/// Both aggregators: opening, verifying the proof, adding up.
const PRIO3_SERVERS_US: (f64, f64) = (115.0, 0.36);

#[cfg(test)]
mod tests {
    use super::super::{Choice, Distribution, Question, plan};
    use super::*;
    use throng_dp::{Delta, Epsilon};

    fn planned(domain: u64, instances: u32, hops: u32) -> Cost {
        let plan = plan(&Question {
            epsilon_central: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            respondents: 1_000_000,
            honest_fraction: 1.0,
            domain,
            report_fragments: 1,
            instances,
            encoding: Choice::Recommend,
            distribution: Distribution::Uniform,
            labels: None,
        })
        .unwrap();
        // Sizes as docs/wire-format.md has them.
        let envelope = 58 + 49 * (u64::from(hops) - 1);
        let bytes = u64::from(instances) * (49 + envelope * u64::from(plan.envelopes));
        throng(&plan, instances, hops, bytes)
    }

    #[test]
    fn prio3_is_cheaper_for_few_values_and_dearer_for_many() {
        for domain in [2, 10, 100] {
            let sentence = another_design(&planned(domain, 3, 2), domain).unwrap();
            assert!(
                sentence.contains("the local floor") && sentence.contains("one must be honest"),
                "{sentence}"
            );
        }
        for domain in [10_000, 87_680, 1_000_000] {
            assert_eq!(another_design(&planned(domain, 3, 2), domain), None, "{domain}");
        }
    }

    /// What the bench printed, within a third: a step of a power of two in Prio3's proof is not in the model.
    #[test]
    fn the_model_is_what_was_measured() {
        for (domain, prio, ours) in MEASURED {
            let pairs = [(prio3(domain), prio), (planned(domain, 3, 2), ours)];
            for (model, measured) in pairs {
                let ratios = model.ratios(&measured);
                assert!(ratios.iter().all(|ratio| (0.75..1.34).contains(ratio)), "{domain}: {model:?}");
            }
        }
    }

    /// One seal for a body; each envelope one for every stop after hop 1.
    #[test]
    fn seals_and_opens_are_counted() {
        let (one, two, three) = (planned(100, 1, 1), planned(100, 1, 2), planned(100, 1, 3));
        let envelopes = (two.respondent_us - one.respondent_us) / SEAL_US;
        assert!((three.respondent_us - two.respondent_us - envelopes * SEAL_US).abs() < 1e-6);
        assert!((one.respondent_us - (1.0 + envelopes) * SEAL_US).abs() < 1e-6);
        assert!((one.servers_us - (1.0 + envelopes) * OPEN_US).abs() < 1e-6);
        assert!((three.servers_us - two.servers_us - envelopes * OPEN_US).abs() < 1e-6);
    }

    /// k, Prio3, ours.
    const MEASURED: [(u64, Cost, Cost); 3] = [
        (
            100,
            Cost { respondent_us: 195.6, bytes: 2_594, servers_us: 154.9 },
            Cost { respondent_us: 1_775.1, bytes: 1_752, servers_us: 688.5 },
        ),
        (
            10_000,
            Cost { respondent_us: 4_940.5, bytes: 166_882, servers_us: 4_351.8 },
            Cost { respondent_us: 3_304.9, bytes: 3_357, servers_us: 1_358.4 },
        ),
        (
            87_680,
            Cost { respondent_us: 37_651.2, bytes: 1_422_338, servers_us: 32_122.1 },
            Cost { respondent_us: 5_654.2, bytes: 5_925, servers_us: 2_619.7 },
        ),
    ];
}
