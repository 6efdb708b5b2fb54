//! Verdicts of audits.

use serde::Serialize;

/// Whether a promise stands after an attack on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was found. That proves nothing: another attack may do better.
    Kept,
    /// What was seen contradicts the promise, at the stated confidence.
    Broken,
}

impl Verdict {
    /// Broken if anything is.
    pub fn of(broken: bool) -> Self {
        if broken { Self::Broken } else { Self::Kept }
    }

    /// Broken if one of them is.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        Self::of(verdicts.into_iter().any(Self::is_broken))
    }

    /// Whether the promise is contradicted.
    pub fn is_broken(self) -> bool {
        self == Self::Broken
    }

    /// The word for it in a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "BROKEN",
        }
    }
}

/// A confidence as people write it: "99.9 %".
pub fn percent(confidence: f64) -> String {
    // As many nines as there are, without the rounding of doubles.
    let text = format!("{:.10}", 100.0 * confidence);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_promise_breaks_all() {
        assert_eq!(Verdict::all([Verdict::Kept, Verdict::Broken]), Verdict::Broken);
        assert_eq!(Verdict::all([Verdict::Kept; 3]), Verdict::Kept);
        assert_eq!(Verdict::all([]), Verdict::Kept);
    }

    #[test]
    fn confidences_are_written_in_full() {
        assert_eq!([0.95, 0.999, 0.999_999].map(percent), ["95 %", "99.9 %", "99.9999 %"]);
    }
}
