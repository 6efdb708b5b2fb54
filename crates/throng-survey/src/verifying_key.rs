//! Ed25519 public keys (RFC 8032) as bytes. Whoever verifies signatures does it elsewhere, by a library for it.

use crate::hex_form;

/// A public signing key, as a survey pins it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VerifyingKey([u8; 32]);

impl VerifyingKey {
    /// The key of these bytes. Refuses a point of small order (anyone can sign for it) and a y that is not reduced (a second
    /// spelling).
    pub fn new(bytes: [u8; 32]) -> Option<Self> {
        let mut y = bytes;
        y[31] &= 0x7f;
        let reduced = y[0] < 0xed || y[31] != 0x7f || y[1..31].iter().any(|&byte| byte != 0xff);
        (reduced && !SMALL_ORDER.contains(&y)).then_some(Self(bytes))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn from_array(bytes: [u8; 32]) -> Option<Self> {
        Self::new(bytes)
    }
}

hex_form!(VerifyingKey, 32, "an Ed25519 public key");

/// The y of all points whose order divides 8: 0, 1, -1 and the two of order 8.
const SMALL_ORDER: [[u8; 32]; 5] = [
    [0; 32],
    {
        let mut one = [0; 32];
        one[0] = 1;
        one
    },
    {
        let mut minus_one = [0xff; 32];
        minus_one[0] = 0xec;
        minus_one[31] = 0x7f;
        minus_one
    },
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
        0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a,
        0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    #[test]
    fn weak_keys_are_refused() {
        for mut y in SMALL_ORDER {
            assert!(hex::encode(&y).parse::<VerifyingKey>().is_err());
            y[31] |= 0x80;
            assert!(hex::encode(&y).parse::<VerifyingKey>().is_err());
        }
        for low in 0xed..=0xff {
            let mut y = [0xff; 32];
            (y[0], y[31]) = (low, 0x7f);
            assert!(hex::encode(&y).parse::<VerifyingKey>().is_err(), "{low:x}");
        }
    }
}
