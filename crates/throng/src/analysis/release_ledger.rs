//! The ledger of releases on disk: a line for every release, written before it is made.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use throng_account::ledger::{Entry, Hiding, Ledger, Recorded, Spending};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use super::create_private;
use crate::exit::Refusal;

/// The ledger of an analyzer, for as long as it is open its alone.
pub struct ReleaseLedger {
    path: PathBuf,
    ledger: Ledger,
    /// Held until it is dropped.
    _lock: File,
}

impl ReleaseLedger {
    /// Reads the ledger in an analyzer's data directory; the budget is that of each population.
    pub fn open(data: &Path, budget: CentralGuarantee<Removal>) -> Result<Self> {
        create_private(data)?;
        let lock = data.join("ledger.lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock)
            .and_then(|file| file.lock().map(|()| file))
            .with_context(|| format!("cannot lock {}", lock.display()))?;
        let path = data.join("ledger");
        let Written { ledger, whole, all } = Written::read(&path, budget)?;
        if whole < all {
            let file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(whole)?;
            file.sync_all()?;
        }
        Ok(Self { path, ledger, _lock: lock })
    }

    /// What is written there now, to be looked at only: nobody who makes a release is kept waiting, and nothing is changed.
    pub fn look_at(data: &Path, budget: CentralGuarantee<Removal>) -> Result<Ledger> {
        Ok(Written::read(&data.join("ledger"), budget)?.ledger)
    }

    /// The lines about a population as they are published with a release, and what they come to at the budget's delta.
    pub fn excerpt(&self, population: &str) -> Result<(String, CentralGuarantee<Removal>)> {
        let text =
            fs::read_to_string(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
        let mut lines = String::new();
        for line in text.lines() {
            let read: Line = serde_json::from_str(line)?;
            if read.population == population {
                lines += line;
                lines.push('\n');
            }
        }
        Ok((lines, self.ledger.spent(population)?))
    }

    /// A ledger of lines as they were published.
    pub fn of_excerpt(lines: &str, budget: CentralGuarantee<Removal>) -> Result<Ledger> {
        anyhow::ensure!(lines.is_empty() || lines.ends_with('\n'), "its last line is not finished");
        Ok(Written::of(lines, budget, Path::new("the ledger"))?.ledger)
    }

    /// What is in it.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Records a release. When this returns it is on disk; a release that would exceed the budget is refused.
    pub fn record(&mut self, population: &str, entry: Entry) -> Result<Recorded> {
        let before = self.ledger.entries(population).to_vec();
        let line = Line {
            population: population.to_owned(),
            survey: entry.survey.clone(),
            epoch: entry.epoch,
            spending: StoredSpending::of(&entry.spending),
        };
        // Memory follows the disk: what could not be written is not recorded.
        let mut ledger = self.ledger.clone();
        let recorded = ledger.record(population, entry).map_err(|error| match error {
            throng_account::Error::Refused(reason) => anyhow!(Refusal(reason)),
            other => other.into(),
        })?;
        if ledger.entries(population) != before {
            let text = serde_json::to_string(&line)? + "\n";
            (|| {
                let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
                file.write_all(text.as_bytes())?;
                file.sync_all()?;
                let dir = self.path.parent().unwrap_or(Path::new("."));
                File::open(dir)?.sync_all()
            })()
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        }
        self.ledger = ledger;
        Ok(recorded)
    }
}

/// What a file has.
struct Written {
    ledger: Ledger,
    /// How many of its bytes are whole lines: one that does not end was not written whole, and nothing was released for it.
    whole: u64,
    /// How many bytes there are.
    all: u64,
}

impl Written {
    fn read(path: &Path, budget: CentralGuarantee<Removal>) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        Self::of(&text, budget, path)
    }

    fn of(text: &str, budget: CentralGuarantee<Removal>, path: &Path) -> Result<Self> {
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut ledger = Ledger::new(budget);
        for (number, line) in (1..).zip(text[..whole].lines()) {
            let damaged = || format!("{}, line {number}: put back a copy of the file", path.display());
            let line: Line = serde_json::from_str(line).with_context(damaged)?;
            let spending = line.spending.read().with_context(damaged)?;
            let entry = Entry { survey: line.survey, epoch: line.epoch, spending };
            ledger.restore(&line.population, entry).with_context(damaged)?;
        }
        Ok(Self { ledger, whole: whole as u64, all: text.len() as u64 })
    }
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    population: String,
    survey: String,
    epoch: u64,
    spending: StoredSpending,
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
        let crowd = |crowd: Hiding| StoredCrowd {
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
    fn read(self) -> Result<Hiding> {
        Ok(Hiding { honest: self.honest, miss: Delta::new(self.miss.parse()?)? })
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
        Ok(CentralGuarantee::new(epsilon(&self.epsilon)?, Delta::new(self.delta.parse()?)?))
    }
}

fn epsilon(text: &str) -> Result<Epsilon> {
    Ok(Epsilon::new(text.parse()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;
    use std::os::unix::fs::PermissionsExt;

    fn guarantee(epsilon: f64, delta: f64) -> CentralGuarantee<Removal> {
        CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    fn entries() -> Vec<Entry> {
        let third = Epsilon::new(1.0 / 3.0).unwrap();
        let crowd = Hiding { honest: 90, miss: Delta::new(1.1e-13).unwrap() };
        let spendings = [
            Spending::Bits { crowd, epsilon_local: third, moved: 1 },
            Spending::Backstop {
                crowd,
                epsilon_backstop: third,
                epsilon_fragment: Epsilon::new(0.1 + 0.2).unwrap(),
                fragments: 4,
                answers_kept: false,
            },
            Spending::Guarantee(guarantee(0.2, 5e-324)),
        ];
        let entry = |(epoch, spending)| Entry { survey: format!("s{epoch}"), epoch, spending };
        (1..).zip(spendings).map(entry).collect()
    }

    #[test]
    fn what_was_recorded_is_there_after_a_start() {
        let dir = tempfile::tempdir().unwrap();
        let budget = guarantee(3.0, 1e-6);
        for entry in entries() {
            ReleaseLedger::open(dir.path(), budget).unwrap().record("people", entry).unwrap();
        }
        let mut again = ReleaseLedger::open(dir.path(), budget).unwrap();
        assert_eq!(again.ledger().entries("people"), entries());
        let text = fs::read_to_string(dir.path().join("ledger")).unwrap();
        again.record("people", entries().remove(0)).unwrap();
        drop(again);
        assert_eq!(fs::read_to_string(dir.path().join("ledger")).unwrap(), text, "the same release again");
        // A line that was not written whole is none; one that was changed is an error.
        fs::write(dir.path().join("ledger"), format!("{text}{{\"popul")).unwrap();
        assert_eq!(ReleaseLedger::open(dir.path(), budget).unwrap().ledger().entries("people"), entries());
        assert_eq!(fs::read_to_string(dir.path().join("ledger")).unwrap(), text);
        fs::write(dir.path().join("ledger"), text.replacen("\"epoch\":2", "\"epoch\":-2", 1)).unwrap();
        let error = ReleaseLedger::open(dir.path(), budget).err().unwrap();
        assert!(format!("{error:#}").contains("line 2"), "{error:#}");
    }

    /// Of a ledger that says what a deletion cost, the rest is read.
    #[test]
    fn what_deletion_was_said_to_cost_is_no_longer_counted() {
        let dir = tempfile::tempdir().unwrap();
        let budget = guarantee(3.0, 1e-6);
        ReleaseLedger::open(dir.path(), budget).unwrap().record("people", entries().remove(0)).unwrap();
        let file = dir.path().join("ledger");
        let text = fs::read_to_string(&file).unwrap();
        let miss = "\"miss\":\"0.00000000000011\"";
        assert!(text.contains(miss) && !text.contains("deletion"), "{text}");
        let old = format!("{miss},\"deletion\":{{\"epsilon\":\"0.3\",\"delta\":\"1e-9\"}}");
        fs::write(&file, text.replace(miss, &old)).unwrap();
        let again = ReleaseLedger::open(dir.path(), budget).unwrap();
        assert_eq!(again.ledger().entries("people"), &entries()[..1]);
    }

    /// Whoever looks on waits for nobody, and leaves a line alone that is just being written.
    #[test]
    fn a_ledger_can_be_looked_at_while_another_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let budget = guarantee(3.0, 1e-6);
        assert_eq!(ReleaseLedger::look_at(dir.path(), budget).unwrap().populations().count(), 0);
        assert!(!dir.path().join("ledger").exists(), "nothing is made");
        let mut held = ReleaseLedger::open(dir.path(), budget).unwrap();
        held.record("people", entries().remove(0)).unwrap();
        let file = dir.path().join("ledger");
        let text = fs::read_to_string(&file).unwrap() + "{\"popul";
        fs::write(&file, &text).unwrap();
        let seen = ReleaseLedger::look_at(dir.path(), budget).unwrap();
        assert_eq!(seen.entries("people"), &entries()[..1]);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn the_ledger_can_refuse_and_forgets_nothing_under_a_smaller_budget() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two, _] = entries().try_into().unwrap();
        let mut ledger = ReleaseLedger::open(dir.path(), guarantee(0.25, 1e-6)).unwrap();
        ledger.record("people", one.clone()).unwrap();
        let error = ledger.record("people", two.clone()).unwrap_err();
        assert_eq!(exit::code(&error), exit::REFUSED, "{error:#}");
        drop(ledger);
        let mut smaller = ReleaseLedger::open(dir.path(), guarantee(0.1, 1e-6)).unwrap();
        assert_eq!(smaller.ledger().entries("people"), [one]);
        assert!(smaller.record("people", two.clone()).is_err());
        smaller.record("others", two).unwrap_err();
        assert_eq!(fs::metadata(dir.path().join("ledger")).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
