//! Who a party is within a survey: the analyzer, or a hop of an instance.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// A party's place. Instances and hops are numbered from 1, in the order of the survey file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Who opens fragments and estimates. Written `analyzer`.
    Analyzer,
    /// One shuffler on the path of an instance. Written `instance-1-hop-2`.
    Hop {
        /// The instance.
        instance: u32,
        /// The place in its cascade.
        hop: u32,
    },
}

/// A text that names no party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a party: write analyzer, or instance-I-hop-H with numbers from 1")]
pub struct ParsePlaceError;

impl Place {
    /// A hop's place.
    pub fn hop(instance: u32, hop: u32) -> Self {
        Self::Hop { instance, hop }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Analyzer => f.write_str("analyzer"),
            Self::Hop { instance, hop } => write!(f, "instance-{instance}-hop-{hop}"),
        }
    }
}

impl FromStr for Place {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let place = match text.strip_prefix("instance-").and_then(|rest| rest.split_once("-hop-")) {
            None => Self::Analyzer,
            Some((instance, hop)) => Self::Hop {
                instance: instance.parse().map_err(|_| ParsePlaceError)?,
                hop: hop.parse().map_err(|_| ParsePlaceError)?,
            },
        };
        // One spelling each: no leading zeros, no signs, nothing numbered 0.
        let numbered = !matches!(place, Self::Hop { instance: 0, .. } | Self::Hop { hop: 0, .. });
        if numbered && place.to_string() == text { Ok(place) } else { Err(ParsePlaceError) }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <std::borrow::Cow<'_, str>>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_one_spelling() {
        for (place, text) in [(Place::Analyzer, "analyzer"), (Place::hop(3, 2), "instance-3-hop-2")] {
            assert_eq!(place.to_string(), text);
            assert_eq!(text.parse(), Ok(place));
        }
        for other in [
            "",
            "Analyzer",
            "analyzer ",
            "instance-0-hop-1",
            "instance-1-hop-0",
            "instance-01-hop-1",
            "instance-+1-hop-1",
            "instance-1-hop-",
            "instance-1",
            "instance-4294967296-hop-1",
            "hop-1",
        ] {
            assert_eq!(other.parse::<Place>(), Err(ParsePlaceError), "{other:?}");
        }
    }
}
