//! The payload of an envelope: one fragment, which the analyzer alone can read.

use crate::seal::Rejection;

/// One attribute that a respondent's randomized report has set. Which report fragment it is from is not said: the
/// guarantee covers the sums over all of them, and more would be told by their numbers.
///
/// On the wire it is a payload of the survey's length, which is 8 in version 1: the attribute's index (4, big-endian), and
/// zero bytes, kept for later versions.
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

    /// The payload of a survey with payloads of this length.
    pub(crate) fn to_payload(self, payload_len: usize) -> Vec<u8> {
        let mut bytes = self.attribute.to_be_bytes().to_vec();
        bytes.resize(payload_len, 0);
        bytes
    }

    /// Reads a payload of a survey with payloads of this length and this many attributes.
    pub(crate) fn from_payload(bytes: &[u8], payload_len: usize, attributes: u64) -> Result<Self, Rejection> {
        let (index, zeros) = bytes.split_first_chunk().ok_or(Rejection::Length)?;
        if bytes.len() != payload_len {
            return Err(Rejection::Length);
        }
        let attribute = u32::from_be_bytes(*index);
        if zeros.iter().any(|&byte| byte != 0) || u64::from(attribute) >= attributes {
            return Err(Rejection::Content);
        }
        Ok(Self { attribute })
    }
}

/// A fragment is what someone said: it is not printed by accident.
impl std::fmt::Debug for Fragment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fragment(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn indices_end_with_the_encoding() {
        let last = Fragment::new(783);
        assert_eq!(last.to_payload(8), [0, 0, 3, 15, 0, 0, 0, 0]);
        assert_eq!(Fragment::from_payload(&last.to_payload(8), 8, 784), Ok(last));
        assert_eq!(Fragment::from_payload(&last.to_payload(8), 8, 783), Err(Rejection::Content));
        let largest = Fragment::new(u32::MAX);
        assert_eq!(Fragment::from_payload(&largest.to_payload(8), 8, 1 << 32), Ok(largest));
    }

    /// A payload is as long as the survey says, and what is not used of it is zero.
    #[test]
    fn payloads_have_the_length_of_the_survey() {
        let fragment = Fragment::new(7);
        for payload_len in [4, 8, 30] {
            let payload = fragment.to_payload(payload_len);
            assert_eq!(payload.len(), payload_len);
            assert_eq!(Fragment::from_payload(&payload, payload_len, 8), Ok(fragment));
            assert_eq!(Fragment::from_payload(&payload, payload_len + 1, 8), Err(Rejection::Length));
            for at in 4..payload_len {
                let mut other = payload.clone();
                other[at] = 1;
                assert_eq!(Fragment::from_payload(&other, payload_len, 8), Err(Rejection::Content), "{at}");
            }
        }
        assert_eq!(Fragment::from_payload(&[0; 3], 3, 8), Err(Rejection::Length));
    }

    /// What somebody said is not in a log because somebody else printed a struct: no digit of it.
    #[test]
    fn a_fragment_that_is_printed_shows_nothing() {
        for attribute in [0, 7, 783, u32::MAX] {
            let fragment = Fragment::new(attribute);
            let wrapped = crate::peel::AnalyzerContent::Fragment(fragment);
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
            if let Ok(fragment) = Fragment::from_payload(&bytes, 8, 1 << 32) {
                prop_assert_eq!(fragment.to_payload(8), bytes);
            }
        }

        #[test]
        fn fragments_read_back(attribute: u32) {
            let fragment = Fragment::new(attribute);
            prop_assert_eq!(Fragment::from_payload(&fragment.to_payload(8), 8, 1 << 32), Ok(fragment));
        }
    }
}
