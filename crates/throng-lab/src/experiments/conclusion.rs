//! Conclusions in words, which follow from the numbers that they stand beside.

/// One sentence if the numbers say so, and another if they do not.
pub(super) fn concluded<T>(holds: bool, so: T, not_so: T) -> T {
    if holds { so } else { not_so }
}

/// An error beside that of a trusted party: what was measured, and what theory expects of both.
pub(super) fn beside_a_trusted_party(measured: [f64; 2], expected: [f64; 2]) -> &'static str {
    let more = |[ours, trusted]: [f64; 2]| ours > trusted;
    match (more(measured), more(expected)) {
        (true, true) => "more than a trusted party would need, and nobody has to be one",
        (false, true) => {
            "no more than a trusted party's in this run, by chance: theory expects more; nobody has to be one"
        }
        (true, false) => "more than a trusted party's in this run, by chance: theory expects no more",
        (false, false) => "no more than a trusted party would need, and nobody has to be one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conclusion_is_drawn_only_where_it_holds() {
        assert_eq!(concluded(1.0 < 2.0, "one is best", "one is not best"), "one is best");
        assert_eq!(concluded(2.0 < 1.0, "one is best", "one is not best"), "one is not best");
    }

    #[test]
    fn words_about_a_trusted_party_follow_the_numbers() {
        // 16 degrees of a census at epsilon_central 0.1, as they once came out.
        let lucky = beside_a_trusted_party([32.07, 48.48], [56.1, 54.2]);
        assert!(lucky.starts_with("no more") && lucky.contains("by chance"), "{lucky}");
        let usual = beside_a_trusted_party([56.15, 53.7], [56.1, 54.2]);
        assert!(usual.starts_with("more") && !usual.contains("chance"), "{usual}");
        assert!(
            beside_a_trusted_party([3.0, 2.0], [1.0, 2.0])
                .starts_with("more than a trusted party's in this run")
        );
        assert!(
            beside_a_trusted_party([1.0, 2.0], [1.0, 2.0]).starts_with("no more than a trusted party would")
        );
    }
}
