//! The attribute fragments of one epoch, as they leave a mechanism and before they are spread over instances.

use std::fmt;

use zeroize::Zeroize;

/// The attribute fragments that a respondent sends in one epoch. Erased when dropped, and never shown.
///
/// An attribute occurs once for each of the draws in which its bit is set. A bit is drawn `tau` times, so it occurs at most
/// that often: both have to be known to whoever spreads them over instances.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fragments {
    attributes: Vec<u32>,
    tau: u32,
}

impl Fragments {
    /// These attributes, of bits that are drawn `tau` times each.
    pub fn new(attributes: Vec<u32>, tau: u32) -> Self {
        Self { attributes, tau }
    }

    /// One for each fragment.
    pub fn attributes(&self) -> &[u32] {
        &self.attributes
    }

    /// How often each bit is drawn.
    pub fn tau(&self) -> u32 {
        self.tau
    }

    /// Empties the buffer for fragments of bits that are drawn `tau` times, and hands it out.
    pub(crate) fn refill(&mut self, tau: u32) -> &mut Vec<u32> {
        self.tau = tau;
        self.attributes.clear();
        &mut self.attributes
    }
}

impl Zeroize for Fragments {
    fn zeroize(&mut self) {
        self.attributes.zeroize();
    }
}

impl Drop for Fragments {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl fmt::Debug for Fragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fragments(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_erased_and_not_shown() {
        let mut fragments = Fragments::new(vec![70_707, 3], 2);
        assert_eq!((fragments.attributes(), fragments.tau()), (&[70_707, 3][..], 2));
        assert_eq!(format!("{fragments:?}"), "Fragments(not shown)");
        fragments.refill(4).push(5);
        assert_eq!((fragments.attributes(), fragments.tau()), (&[5][..], 4));
        fragments.zeroize();
        assert!(fragments.attributes().is_empty());
    }
}
