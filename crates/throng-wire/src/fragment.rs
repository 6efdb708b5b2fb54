//! What the analyzer finds in an envelope.

use crate::envelope::FRAGMENT_LEN;
use crate::seal::Rejection;

/// One attribute that a respondent's randomized report has set. Which report fragment it is from is not said: the
/// guarantee covers the sums over all of them, and more would be told by their numbers.
///
/// On the wire it has 8 bytes: the attribute's index (4, big-endian), and 4 zero bytes, kept for later versions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fragment {
    attribute: u32,
}

impl Fragment {
    /// A fragment for an attribute of the survey's encoding.
    pub fn new(attribute: u32) -> Self {
        Self { attribute }
    }

    /// The attribute.
    pub fn attribute(self) -> u32 {
        self.attribute
    }

    pub(crate) fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&self.attribute.to_be_bytes());
        bytes
    }

    /// Reads a fragment of a survey with this many attributes.
    pub(crate) fn from_bytes(bytes: &[u8], attributes: u64) -> Result<Self, Rejection> {
        let bytes: [u8; LEN] = bytes.try_into().map_err(|_| Rejection::Length)?;
        let [a, b, c, d, 0, 0, 0, 0] = bytes else { return Err(Rejection::Content) };
        let attribute = u32::from_be_bytes([a, b, c, d]);
        if u64::from(attribute) < attributes { Ok(Self { attribute }) } else { Err(Rejection::Content) }
    }
}

/// A fragment is what someone said: it is not printed by accident.
impl std::fmt::Debug for Fragment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fragment(not shown)")
    }
}

const LEN: usize = FRAGMENT_LEN as usize;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn indices_end_with_the_encoding() {
        let last = Fragment::new(783);
        assert_eq!(last.to_bytes(), [0, 0, 3, 15, 0, 0, 0, 0]);
        assert_eq!(Fragment::from_bytes(&last.to_bytes(), 784), Ok(last));
        assert_eq!(Fragment::from_bytes(&last.to_bytes(), 783), Err(Rejection::Content));
        let largest = Fragment::new(u32::MAX);
        assert_eq!(Fragment::from_bytes(&largest.to_bytes(), 1 << 32), Ok(largest));
    }

    /// What somebody said is not in a log because somebody else printed a struct: no digit of it.
    #[test]
    fn a_fragment_that_is_printed_shows_nothing() {
        for attribute in [0, 7, 783, u32::MAX] {
            let fragment = Fragment::new(attribute);
            let wrapped = crate::peel::Opened::Fragment(fragment);
            for text in [
                format!("{fragment:?}"),
                format!("{fragment:#?}"),
                format!("{wrapped:?}"),
                format!("{:?}", Some([fragment])),
            ] {
                assert!(
                    text.contains("not shown") && !text.contains(|char: char| char.is_ascii_digit()),
                    "{text}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn fragments_have_one_form(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            if let Ok(fragment) = Fragment::from_bytes(&bytes, 1 << 32) {
                prop_assert_eq!(&fragment.to_bytes()[..], bytes);
            }
        }

        #[test]
        fn fragments_read_back(attribute: u32) {
            let fragment = Fragment::new(attribute);
            prop_assert_eq!(Fragment::from_bytes(&fragment.to_bytes(), 1 << 32), Ok(fragment));
        }
    }
}
