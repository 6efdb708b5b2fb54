//! What an analyzer does not count, by reason.

/// Why envelopes of a batch were not counted, and how many. No envelope is fatal to its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// Of another length than the survey says.
    pub length: u64,
    /// Sealed to a key that is not there.
    pub key: u64,
    /// The seal does not open here.
    pub seal: u64,
    /// What is inside is not what a respondent writes.
    pub content: u64,
    /// Duplicates of an envelope of the same batch.
    pub duplicates: u64,
    /// Fragments of attributes that are bound to other instances: whoever keeps to the survey sends them there.
    pub foreign: u64,
    /// Chaff, which is no fault: it comes here if an instance has a single hop.
    pub chaff: u64,
}

impl Rejected {
    /// All of them, in the order in which they are stored.
    pub fn to_array(self) -> [u64; REASONS] {
        let Self { length, key, seal, content, duplicates, foreign, chaff } = self;
        [length, key, seal, content, duplicates, foreign, chaff]
    }

    /// From the order in which they are stored.
    pub fn from_array(all: [u64; REASONS]) -> Self {
        let [length, key, seal, content, duplicates, foreign, chaff] = all;
        Self { length, key, seal, content, duplicates, foreign, chaff }
    }

    /// The sums over two batches.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (mut all, other) = (self.to_array(), other.to_array());
        all.iter_mut().zip(other).for_each(|(sum, more)| *sum += more);
        Self::from_array(all)
    }
}

/// How many reasons there are not to count an envelope.
pub const REASONS: usize = 7;
