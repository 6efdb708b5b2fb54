//! What a party needs for so many people: cores, memory, disks and rows, from constants that were measured.
//!
//! The constants are of one core of an AMD EPYC; each says what measured it. Another processor has others: measure again.

use std::fmt;

/// What is asked of a party in one epoch of a day.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Respondents a day.
    pub respondents: f64,
    /// Envelopes of each body.
    pub envelopes: f64,
    /// How many times the average the busiest second has.
    pub peak: f64,
    /// In how many hours a batch has to be done.
    pub hours: f64,
}

/// What a first hop needs for it, and how many cores a later one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    /// Uploads in the busiest second.
    pub uploads_per_s: f64,
    /// Cores of replicas for these uploads.
    pub intake_cores: f64,
    /// Cores of executors for opening bodies and shuffling envelopes.
    pub executor_cores: f64,
    /// The same of a later hop, which opens every envelope. An analyzer opens those that are no chaff.
    pub later_cores: f64,
    /// Gigabytes that executors hold, one task on each core.
    pub executor_memory_gb: f64,
    /// Gigabytes of objects while a batch is worked on: bodies, spool, buckets and batch.
    pub objects_gb: f64,
    /// Rows of who has answered, which are dropped at the end of the epoch.
    pub rows: f64,
    /// Gigabytes of these rows.
    pub database_gb: f64,
    /// Transactions in the busiest second.
    pub transactions_per_s: f64,
    /// Hours that the driver takes to read, permute, hash and write the batch.
    pub driver_hours: f64,
}

impl Load {
    /// What it takes.
    pub fn need(&self) -> Need {
        let uploads_per_s = self.respondents / 86_400.0 * self.peak;
        let bodies = self.respondents * (BODY_OVERHEAD + self.envelopes * ENVELOPE);
        let batch = self.respondents * self.envelopes * ENVELOPE;
        let opening_s = self.respondents * (OPEN_S + self.envelopes * SHUFFLE_S);
        let executor_cores = opening_s / (self.hours * 3600.0);
        Need {
            uploads_per_s,
            intake_cores: uploads_per_s * INTAKE_S,
            executor_cores,
            later_cores: self.respondents * self.envelopes * (OPEN_S + SHUFFLE_S) / (self.hours * 3600.0),
            executor_memory_gb: executor_cores.ceil() * TASK_GB,
            objects_gb: (bodies + 3.0 * batch) / 1e9,
            rows: self.respondents,
            database_gb: self.respondents * ROW / 1e9,
            transactions_per_s: uploads_per_s.min(GROUPS_PER_S * (uploads_per_s * INTAKE_S).ceil()),
            driver_hours: self.respondents * self.envelopes * DRIVER_S / 3600.0,
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "uploads in the busiest second   {:>12.0}", self.uploads_per_s)?;
        writeln!(f, "cores of replicas               {:>12.1}", self.intake_cores)?;
        writeln!(f, "cores of executors              {:>12.1}", self.executor_cores)?;
        writeln!(f, "cores of a later hop            {:>12.1}", self.later_cores)?;
        writeln!(f, "memory of executors, GB         {:>12.1}", self.executor_memory_gb)?;
        writeln!(f, "objects, GB                     {:>12.0}", self.objects_gb)?;
        writeln!(f, "rows of an epoch                {:>12.2e}", self.rows)?;
        writeln!(f, "database, GB                    {:>12.1}", self.database_gb)?;
        writeln!(f, "transactions a second           {:>12.0}", self.transactions_per_s)?;
        write!(f, "hours of the driver             {:>12.2}", self.driver_hours)
    }
}

/// A layer of an envelope, as hop 2 gets it, with what is in it.
const ENVELOPE: f64 = 107.0;
/// What a body has besides its envelopes: its own seal, and the record that it is stored as.
const BODY_OVERHEAD: f64 = 93.0;
/// Seconds of one core to open a layer, with all that the cluster does for it (`cargo bench --profile dev --bench batch`: 19.0 s for a
/// million). Hop 1 opens one for each body.
const OPEN_S: f64 = 19e-6;
/// Seconds of one core to throw, sort and permute an envelope (the same bench: 0.31 s for half a million).
const SHUFFLE_S: f64 = 0.62e-6;
/// Seconds of one core for an upload: 21.4 us for TLS, token, hash and receipt (docs/performance.md, `throng serve shuffler`, on another machine),
/// and 5.3 us for segment and rows in groups of 5,000, database included (one run beside other work).
const INTAKE_S: f64 = 26.7e-6;
/// What an executor of one core holds at most (the same bench: 113 MiB).
const TASK_GB: f64 = 0.12;
/// Bytes of a row with its index, as PostgreSQL 15 says.
const ROW: f64 = 123.0;
/// Groups of a hundred that one replica commits in a second (14.5 ms each, one run beside other work).
const GROUPS_PER_S: f64 = 70.0;
/// Seconds of the driver for each envelope: to hash, read, permute and write (the same bench: 1.38 s for a million, and 0.10 s for half a million).
const DRIVER_S: f64 = 1.6e-6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_the_people_need_ten_times_as_much() {
        let load = Load { respondents: 1e8, envelopes: 10.0, peak: 10.0, hours: 4.0 };
        let (one, ten) = (load.need(), Load { respondents: 1e9, ..load }.need());
        assert!((one.uploads_per_s - 11_574.0).abs() < 1.0);
        for (one, ten) in
            [(one.executor_cores, ten.executor_cores), (one.objects_gb, ten.objects_gb), (one.rows, ten.rows)]
        {
            assert!((ten / one - 10.0).abs() < 1e-9);
        }
        assert!(Load { hours: 8.0, ..load }.need().executor_cores < one.executor_cores);
    }
}
