//! A line of the ledger of releases, as it is written and published.

use std::num::ParseFloatError;

use crate::error::{Error, Result};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use throng_account::ledger::{Entry, HonestCrowd, Spending};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerLine {
    /// Whose budget it is.
    pub(super) population: String,
    survey: String,
    epoch: u64,
    spending: StoredSpending,
}

impl LedgerLine {
    /// That of an entry.
    pub(super) fn of(population: &str, entry: &Entry) -> Self {
        Self {
            population: population.to_owned(),
            survey: entry.survey.clone(),
            epoch: entry.epoch,
            spending: StoredSpending::of(&entry.spending),
        }
    }

    /// One as it is written.
    pub(super) fn parse(text: &str) -> Result<Self> {
        Ok(serde_json::from_str(text)?)
    }

    /// The same as text, without a line feed.
    pub(super) fn to_text(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Whose budget it is, and what was spent.
    pub(super) fn read(self) -> Result<(String, Entry)> {
        let entry = Entry { survey: self.survey, epoch: self.epoch, spending: self.spending.read()? };
        Ok((self.population, entry))
    }
}

/// A spending as it is stored. Privacy parameters are text, so that they are read as exactly the numbers that they were.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum StoredSpending {
    Bits {
        crowd: StoredCrowd,
        epsilon_local: String,
        moved: u32,
    },
    Backstop {
        crowd: StoredCrowd,
        epsilon_backstop: String,
        epsilon_fragment: String,
        fragments: u32,
        answers_kept: bool,
    },
    Guarantee(StoredGuarantee),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCrowd {
    honest: u64,
    miss: String,
    /// What deletion was said to cost, in ledgers that were written when it was: under removal by R_0 it costs nothing.
    #[serde(default, skip_serializing, rename = "deletion")]
    _deletion: Option<IgnoredAny>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredGuarantee {
    epsilon: String,
    delta: String,
}

impl StoredSpending {
    fn of(spending: &Spending) -> Self {
        let crowd = |crowd: HonestCrowd| StoredCrowd {
            honest: crowd.honest,
            miss: crowd.miss.value().to_string(),
            _deletion: None,
        };
        match *spending {
            Spending::Bits { crowd: hiding, epsilon_local, moved } => {
                Self::Bits { crowd: crowd(hiding), epsilon_local: epsilon_local.value().to_string(), moved }
            }
            Spending::Backstop {
                crowd: hiding,
                epsilon_backstop,
                epsilon_fragment,
                fragments,
                answers_kept,
            } => Self::Backstop {
                crowd: crowd(hiding),
                epsilon_backstop: epsilon_backstop.value().to_string(),
                epsilon_fragment: epsilon_fragment.value().to_string(),
                fragments,
                answers_kept,
            },
            Spending::Guarantee(known) => Self::Guarantee(StoredGuarantee::of(known)),
        }
    }

    fn read(self) -> Result<Spending> {
        Ok(match self {
            Self::Bits { crowd, epsilon_local, moved } => {
                Spending::Bits { crowd: crowd.read()?, epsilon_local: epsilon(&epsilon_local)?, moved }
            }
            Self::Backstop { crowd, epsilon_backstop, epsilon_fragment, fragments, answers_kept } => {
                Spending::Backstop {
                    crowd: crowd.read()?,
                    epsilon_backstop: epsilon(&epsilon_backstop)?,
                    epsilon_fragment: epsilon(&epsilon_fragment)?,
                    fragments,
                    answers_kept,
                }
            }
            Self::Guarantee(known) => Spending::Guarantee(known.read()?),
        })
    }
}

impl StoredCrowd {
    fn read(self) -> Result<HonestCrowd> {
        Ok(HonestCrowd { honest: self.honest, miss: Delta::new(number(&self.miss)?)? })
    }
}

impl StoredGuarantee {
    fn of(guarantee: CentralGuarantee<Removal>) -> Self {
        Self {
            epsilon: guarantee.epsilon().value().to_string(),
            delta: guarantee.delta().value().to_string(),
        }
    }

    fn read(self) -> Result<CentralGuarantee<Removal>> {
        Ok(CentralGuarantee::new(epsilon(&self.epsilon)?, Delta::new(number(&self.delta)?)?))
    }
}

fn epsilon(text: &str) -> Result<Epsilon> {
    Ok(Epsilon::new(number(text)?)?)
}

fn number(text: &str) -> Result<f64> {
    text.parse().map_err(|error: ParseFloatError| Error::damaged(error.to_string()))
}
