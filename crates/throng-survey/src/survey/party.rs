//! Who runs a survey: the analyzer and the hops, each with the key that its signatures are checked by.

use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::verifying_key::VerifyingKey;

/// Everyone who runs a survey. A draft may still lack some of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parties {
    /// Who opens fragments and estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analyzer: Option<Party>,
    /// The independent shuffles, in order: instance 1 first.
    pub instances: Vec<Instance>,
}

/// One independent shuffle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Its shufflers, in the order in which envelopes pass them: hop 1 first, which respondents send to.
    pub hops: Vec<Party>,
}

/// One party. Its address and its sealing keys change, so they stand in files that it signs, not here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// Who runs it: the name of an organisation or person.
    pub operator: String,
    /// Whose law it is under, such as `CH` or `US-CA`.
    pub jurisdiction: String,
    /// The Ed25519 public key of its signatures: 64 hexadecimal digits.
    pub signing_key: VerifyingKey,
}

impl Parties {
    /// The party at a place.
    pub fn at(&self, place: Place) -> Option<&Party> {
        match place {
            Place::Analyzer => self.analyzer.as_ref(),
            Place::Hop { instance, hop } => {
                let index = |number: u32| Some(number.checked_sub(1)? as usize);
                self.instances.get(index(instance)?)?.hops.get(index(hop)?)
            }
        }
    }

    /// Every party that is named, with its place: the analyzer, then hop by hop.
    pub fn iter(&self) -> impl Iterator<Item = (Place, &Party)> {
        let hops = (1..).zip(&self.instances).flat_map(|(instance, hops)| {
            (1..).zip(&hops.hops).map(move |(hop, party)| (Place::Hop { instance, hop }, party))
        });
        self.analyzer.iter().map(|party| (Place::Analyzer, party)).chain(hops)
    }
}
