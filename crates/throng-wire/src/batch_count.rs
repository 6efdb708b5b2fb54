//! Hash commitments to the number of envelopes in a batch: it is for the party that gets the batch, and for nobody else.
//!
//! Behind the last hop there is no chaff any more, so that the number of envelopes is the number of fragments, and without
//! cover it is that everywhere. That is something about all answers together, and statements are public. So a statement has
//! a commitment there: whoever has the batch also gets the number and a salt, and checks that the hop said so; whoever has
//! the statement alone learns nothing.

use std::fmt;

use crate::codec::Reader;
use crate::digest::Digest;

/// The number of envelopes in a batch, with the salt of the commitment to it. It travels in front of the envelopes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BatchCount {
    salt: [u8; 32],
    envelopes: u64,
}

impl BatchCount {
    /// Of a batch whose number the statement tells, or of a destroyed epoch, which has no envelopes.
    pub fn told(envelopes: u64) -> Self {
        Self { salt: [0; 32], envelopes }
    }

    /// Of a batch whose number the statement does not tell. The salt is drawn for this batch, and used for no other.
    pub fn salted(salt: [u8; 32], envelopes: u64) -> Self {
        Self { salt, envelopes }
    }

    /// How many envelopes there are.
    pub fn envelopes(&self) -> u64 {
        self.envelopes
    }

    /// SHA-256 of what it is, the salt and the number.
    pub fn commitment(&self) -> Digest {
        Digest::of(&[PURPOSE, &self.salt, &self.envelopes.to_be_bytes()].concat())
    }

    /// Salt (32; zeros where there is no commitment) and number (8).
    pub fn to_bytes(&self) -> [u8; BATCH_COUNT_LEN] {
        let mut bytes = [0; BATCH_COUNT_LEN];
        bytes[..32].copy_from_slice(&self.salt);
        bytes[32..].copy_from_slice(&self.envelopes.to_be_bytes());
        bytes
    }

    /// Reads these bytes. Any are a count; which batch it fits is another question.
    pub fn from_bytes(bytes: &[u8; BATCH_COUNT_LEN]) -> Self {
        let mut reader = Reader::new(bytes);
        let (salt, envelopes) = (reader.take().unwrap_or_default(), reader.take().unwrap_or_default());
        Self { salt, envelopes: u64::from_be_bytes(envelopes) }
    }
}

/// What it says is for those who hold the batch, and so for no log.
impl fmt::Debug for BatchCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BatchCount(..)")
    }
}

/// The bytes of a count.
pub const BATCH_COUNT_LEN: usize = 40;

const PURPOSE: &[u8] = b"throng-v1 batch count\0";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{ForwardedCount, Outcome};

    fn released(forwarded: ForwardedCount) -> Outcome {
        Outcome::Released { respondents: 3, received: Some(9), forwarded, batch: Digest::NONE }
    }

    #[test]
    fn a_commitment_opens_to_its_number_and_salt_alone() {
        let count = BatchCount::salted([7; 32], 700);
        let outcome = released(ForwardedCount::Committed(count.commitment()));
        assert!(count.fits(&outcome));
        let mut salt = [7; 32];
        for other in [BatchCount::salted(salt, 701), BatchCount::told(700)] {
            assert!(!other.fits(&outcome));
        }
        for at in 0..32 {
            salt[at] ^= 1;
            assert!(!BatchCount::salted(salt, 700).fits(&outcome), "byte {at} of the salt");
            salt[at] ^= 1;
        }
        assert_eq!(BatchCount::from_bytes(&count.to_bytes()), count);
        assert!(!format!("{count:?}").contains('7'));
    }

    #[test]
    fn a_number_that_is_told_has_no_salt() {
        assert!(BatchCount::told(700).fits(&released(ForwardedCount::Told(700))));
        assert!(!BatchCount::told(700).fits(&released(ForwardedCount::Told(701))));
        assert!(!BatchCount::salted([1; 32], 700).fits(&released(ForwardedCount::Told(700))));
        assert!(BatchCount::told(0).fits(&Outcome::Destroyed));
        assert!(!BatchCount::told(1).fits(&Outcome::Destroyed));
        assert!(!BatchCount::salted([1; 32], 0).fits(&Outcome::Destroyed));
    }

    /// Somebody who has a public statement alone, and tries all numbers of fragments that an epoch may have had.
    #[test]
    fn a_statement_alone_does_not_tell_how_many_fragments_there_were() {
        let guessed = |outcome: &Outcome| (0..2000).filter(|&n| BatchCount::told(n).fits(outcome)).collect();
        let told: Vec<u64> = guessed(&released(ForwardedCount::Told(1234)));
        assert_eq!(told, [1234], "the control: a statement that says the number");
        let bare: Vec<u64> =
            guessed(&released(ForwardedCount::Committed(BatchCount::told(1234).commitment())));
        assert_eq!(bare, [1234], "the control: a commitment without a salt is tried out");
        let count = BatchCount::salted([9; 32], 1234);
        let outcome = released(ForwardedCount::Committed(count.commitment()));
        let salted: Vec<u64> = guessed(&outcome);
        assert!(salted.is_empty() && count.fits(&outcome));
        // Nor whether two epochs had as many.
        let again = BatchCount::salted([10; 32], 1234);
        assert_ne!(again.commitment(), count.commitment());
    }
}
