//! Lower bounds on ε from an attack: what an event says that two worlds show with different frequencies.
//!
//! Under (ε, δ) no event is likelier in one world than e^ε times as likely as in the other, plus δ. So an event whose two
//! probabilities are known refutes every smaller ε: audits and attacks measure with it.

use throng_dp::Delta;

/// The smallest ε that explains an event of probability `likelier` in one world and `other` in the other one, at δ: with
/// likelier ≤ e^ε·other + δ, and the same of the complement. 0 if any ε does.
///
/// With a lower limit of the one and an upper limit of the other it is a lower limit of ε, as sure as both of them
/// together.
pub fn refuted(likelier: f64, other: f64, delta: Delta) -> f64 {
    let event = (likelier - delta.value()) / other;
    let complement = (1.0 - other - delta.value()) / (1.0 - likelier);
    // Where the limits say nothing both quotients may be 0/0.
    event.max(complement).max(1.0).ln()
}

/// The probability from which a frequency is `z` standard deviations away, which is on the other side of it from `z`: an
/// approximate limit, for choosing what to measure (E. B. Wilson 1927).
pub fn wilson(frequency: f64, trials: f64, z: f64) -> f64 {
    let square = z * z / trials;
    let spread = z * (frequency * (1.0 - frequency) / trials + 0.25 * square / trials).sqrt();
    ((frequency + 0.5 * square + spread) / (1.0 + square)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn randomized_response_refutes_its_own_epsilon_in_both_directions() {
        for epsilon in [0.1, 1.0, 8.0] {
            let keep = 1.0 / (1.0 + f64::exp(-epsilon));
            // Both, the event alone, the complement alone.
            let pairs =
                [(keep, 1.0 - keep), (0.5, 0.5 * f64::exp(-epsilon)), (1.0 - 0.5 * f64::exp(-epsilon), 0.5)];
            for (likelier, other) in pairs {
                let found = refuted(likelier, other, Delta::ZERO);
                assert!((found / epsilon - 1.0).abs() < 1e-10, "{epsilon}: {found}");
                // δ explains a part of it.
                assert!(refuted(likelier, other, Delta::new(0.01).unwrap()) < epsilon);
            }
        }
        assert_eq!(refuted(1.0, 0.1, Delta::ZERO), f64::INFINITY);
        assert_eq!(refuted(0.2, 0.5, Delta::ZERO), 0.0);
        assert_eq!(refuted(0.0, 0.0, Delta::ZERO), 0.0);
        assert_eq!(refuted(0.3, 0.2, Delta::new(0.11).unwrap()), 0.0);
    }

    #[test]
    fn a_frequency_is_z_deviations_from_its_limits() {
        for (frequency, trials) in [(0.0, 10.0), (0.3, 50.0), (1.0, 1000.0)] {
            for z in [-4.0, -1.0, 2.0] {
                let limit: f64 = wilson(frequency, trials, z);
                let deviation = (limit * (1.0 - limit) / trials).sqrt();
                assert!((limit - frequency - z * deviation).abs() < 1e-12 || limit == frequency, "{limit}");
            }
        }
    }
}
