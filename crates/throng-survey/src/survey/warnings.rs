//! Warnings about a survey that may run, but whose parties are not as separate as its guarantee needs.

use std::collections::BTreeMap;
use std::fmt;

use super::{Enrolment, Survey};
use crate::place::Place;

/// Something that respondents should know before they answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Parties that should be independent have something in common.
    Shared {
        /// What they have in common.
        what: Overlap,
        /// The operator, jurisdiction, key, host or certificate.
        value: String,
        /// Which parties.
        places: Vec<Place>,
    },
    /// Anyone can answer as many people (a Sybil attack): the crowd may be one person and their inventions.
    OpenEnrolment,
    /// The only hop of an instance knows who sent each envelope that the analyzer opens.
    OneHop,
}

/// What parties can have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overlap {
    /// One organisation can be made to show both.
    Operator,
    /// One court can order both.
    Jurisdiction,
    /// One key signs for both, so they are one party.
    SigningKey,
    /// Whoever has the machine, or its name, has both.
    Host,
    /// One key answers for both, so they are one process.
    Certificate,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared { what, value, places } => {
                let shared = match what {
                    Overlap::Operator => format!("the operator {value}"),
                    Overlap::Jurisdiction => format!("the jurisdiction {value}"),
                    Overlap::SigningKey => format!("the signing key {value}"),
                    // Warnings are logged, and logs have no addresses in them.
                    Overlap::Host => "a host".to_owned(),
                    Overlap::Certificate => "a certificate".to_owned(),
                };
                let places: Vec<String> = places.iter().map(Place::to_string).collect();
                write!(f, "{} share {shared}: they may act as one", places.join(", "))
            }
            Self::OpenEnrolment => {
                f.write_str("enrolment is open: nothing stops one person from answering as many")
            }
            Self::OneHop => f.write_str(
                "each instance has one hop: together with the analyzer it can tie fragments to respondents",
            ),
        }
    }
}

impl Warning {
    /// One for each thing that several parties share. Names are compared without case and surrounding spaces.
    pub fn shared(of_parties: impl IntoIterator<Item = (Overlap, String, Place)>) -> Vec<Self> {
        let mut found: BTreeMap<(Overlap, String), (String, Vec<Place>)> = BTreeMap::new();
        for (what, value, place) in of_parties {
            let same = (what, value.trim().to_lowercase());
            found.entry(same).or_insert_with(|| (value, Vec::new())).1.push(place);
        }
        found
            .into_iter()
            .filter(|(_, (_, places))| places.len() > 1)
            .map(|((what, _), (value, places))| Self::Shared { what, value, places })
            .collect()
    }
}

impl Survey {
    /// Everything to be warned about that the survey itself shows: operators, jurisdictions and keys that several parties
    /// share, open enrolment, a single hop.
    pub fn warnings(&self) -> Vec<Warning> {
        let parties = self.parties.iter().flat_map(|parties| parties.iter());
        let mut warnings = Warning::shared(parties.flat_map(|(place, party)| {
            [
                (Overlap::Operator, party.operator.clone(), place),
                (Overlap::Jurisdiction, party.jurisdiction.clone(), place),
                (Overlap::SigningKey, party.signing_key.to_string(), place),
            ]
        }));
        if self.crowd.enrolment == Enrolment::Open {
            warnings.push(Warning::OpenEnrolment);
        }
        if self.delivery.hops == 1 {
            warnings.push(Warning::OneHop);
        }
        warnings
    }
}
