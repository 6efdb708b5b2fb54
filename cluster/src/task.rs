//! A task: a small piece of batch work, as the driver sends it to executors.
//!
//! It names objects, ranges and a route, and holds no key and no seed: executors have the layer keys of their party in files,
//! and the order of a batch is drawn by the driver alone. So plans, schedulers and their logs tell nobody anything that the
//! object storage does not.

use serde::{Deserialize, Serialize};
use throng_dp::fragmenting::Assignment;
use throng_wire::{Digest, Place, Route, SurveyHash};

/// What an executor is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Of which program: others are refused.
    pub version: String,
    /// The prefix of the hop's or analyzer's objects.
    pub prefix: String,
    /// The work.
    pub work: Work,
}

/// One kind of work for each stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Hop 1 opens bodies: envelopes to `spool`, in the order of the input. Answers [`OpenedBodies`].
    Bodies {
        /// What is opened.
        layer: Layer,
        /// Segments of framed bodies.
        input: Vec<Range>,
        /// The object of what is left.
        spool: String,
    },
    /// A later hop opens envelopes: what is left to `spool`, in the order of the input. Answers how many are left.
    Envelopes {
        /// What is opened.
        layer: Layer,
        /// Which hop it is, from 2.
        hop: u32,
        /// Records of one length.
        input: Vec<Range>,
        /// The object of what is left.
        spool: String,
    },
    /// Throws records into buckets, which stand one after another in `output`. Answers how many each has.
    Scatter {
        /// Records of one length.
        input: Vec<Range>,
        /// Which of them are left out: ranges of their places among all of this input.
        dropped: Vec<(u64, u64)>,
        /// How many bytes each has.
        length: u64,
        /// What decides the bucket. It says nothing about the place in it.
        key: [u8; 32],
        /// How many buckets there are, as a power of two.
        bits: u32,
        /// The object.
        output: String,
    },
    /// Sorts the records of one bucket and drops duplicates. Answers how many are left.
    Merge {
        /// The parts of the bucket.
        input: Vec<Range>,
        /// How many bytes each record has.
        length: u64,
        /// The object.
        output: String,
    },
    /// The analyzer opens the last layer: a name and a finding of every envelope, by bucket, to `output`. Answers how many each
    /// bucket has.
    Fragments {
        /// What is opened.
        layer: Layer,
        /// Records of one length.
        input: Vec<Range>,
        /// How many attributes the survey has.
        attributes: u64,
        /// How fragments are assigned to instances, and the position of this one.
        bound: Option<Bound>,
        /// How many buckets there are, as a power of two.
        bits: u32,
        /// The object.
        output: String,
    },
    /// Counts the findings of one bucket, each envelope once. Answers [`Counts`].
    Count {
        /// The parts of the bucket.
        input: Vec<Range>,
    },
}

/// Some bytes of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The object, below the prefix.
    pub name: String,
    /// From here.
    pub start: u64,
    /// To here.
    pub end: u64,
    /// Their SHA-256, where it is known beforehand.
    pub digest: Option<[u8; 32]>,
}

impl Range {
    /// How many bytes it is.
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The layer that is opened: whose, and what it is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    survey: [u8; 32],
    label: u32,
    epoch: u64,
    instance: u32,
}

impl Layer {
    /// The layer of a route.
    pub fn new(route: Route) -> Self {
        let Route { survey, label, epoch, instance } = route;
        Self { survey: *survey.as_bytes(), label, epoch, instance }
    }

    /// The route.
    pub fn route(&self) -> Route {
        let Self { survey, label, epoch, instance } = *self;
        Route { survey: SurveyHash::new(survey), label, epoch, instance }
    }

    /// The place of the hop of this number on it; 0 is the analyzer.
    pub fn place(&self, hop: u32) -> Place {
        match hop {
            0 => Place::Analyzer,
            hop => Place::Hop { instance: self.instance, hop },
        }
    }
}

/// How fragments are assigned to instances, and the position of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    tau: u32,
    instances: u32,
    position: u32,
}

impl Bound {
    /// The same, for a task.
    pub fn new((assignment, position): (Assignment, u32)) -> Self {
        Self { tau: assignment.tau(), instances: assignment.instances(), position }
    }

    /// Whether those who keep to the survey send fragments of an attribute here.
    pub fn has(&self, attribute: u32) -> bool {
        Assignment::new(self.tau, self.instances)
            .is_ok_and(|assignment| assignment.fragments(attribute, self.position) > 0)
    }
}

/// What hop 1 found in some segments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedBodies {
    /// The SHA-256 of every body, in the order of the input.
    pub digests: Vec<[u8; 32]>,
    /// How many envelopes each that opened had.
    pub envelopes: Vec<u32>,
}

/// What the analyzer found in a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// How often each attribute was found that is there.
    pub attributes: Vec<(u32, u64)>,
    /// What was not counted, as [`throng_batch::Rejected`] stores it.
    pub rejected: [u64; throng_batch::REASONS],
}

impl Task {
    /// A task of this program.
    pub fn new(prefix: &str, work: Work) -> Self {
        Self { version: VERSION.to_owned(), prefix: prefix.to_owned(), work }
    }

    /// How it is sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }

    /// What was sent. A task of another version is refused by name, whatever else is in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TaskError> {
        let (version, _) = postcard::take_from_bytes::<String>(bytes).map_err(|_| TaskError::Garbled)?;
        if version != VERSION {
            return Err(TaskError::Version(version));
        }
        postcard::from_bytes(bytes).map_err(|_| TaskError::Garbled)
    }
}

/// Why a task, or the answer to one, is not read.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// It comes from another program.
    #[error(
        "the driver is version {0}, and this executor is {VERSION}: run one version everywhere (upgrade executors first, then the scheduler, then drivers)"
    )]
    Version(String),
    /// It is something else.
    #[error(
        "a task or its answer is garbled; look whether driver, scheduler and executors are of one version"
    )]
    Garbled,
}

/// How an answer is sent.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    // Into memory, and of types that have nothing to refuse.
    postcard::to_stdvec(value).unwrap_or_default()
}

/// What was answered.
pub fn from_bytes<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, TaskError> {
    postcard::from_bytes(bytes).map_err(|_| TaskError::Garbled)
}

/// The SHA-256 of a range, for whoever has it as bytes.
pub fn digest_of(bytes: &[u8]) -> [u8; 32] {
    *Digest::of(bytes).as_bytes()
}

/// The version that driver and executors have to share.
pub const VERSION: &str = concat!("throng-cluster ", env!("CARGO_PKG_VERSION"), " tasks 1");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_of_another_version_is_refused_by_name() {
        let range = Range { name: "a".into(), start: 1, end: 3, digest: None };
        let task = Task::new("prefix", Work::Count { input: vec![range] });
        assert_eq!(Task::from_bytes(&task.to_bytes()).unwrap(), task);
        let old = Task { version: "throng-cluster 0.0.1 tasks 1".into(), ..task.clone() };
        let error = Task::from_bytes(&old.to_bytes()).unwrap_err();
        assert!(error.to_string().contains("0.0.1") && matches!(error, TaskError::Version(_)));
        let bytes = task.to_bytes();
        (0..bytes.len()).for_each(|cut| assert!(Task::from_bytes(&bytes[..cut]).is_err()));
    }
}
