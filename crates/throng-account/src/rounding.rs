//! Directed rounding of printed bounds: to the weaker promise, never to the nearest number.

/// An upper bound, rounded up to four places.
pub fn at_most(value: f64) -> f64 {
    at_most_to(4, value)
}

/// An upper bound, rounded up to `places` places.
pub fn at_most_to(places: i32, value: f64) -> f64 {
    let scale = 10.0_f64.powi(places);
    let near = (value * scale).round();
    if near / scale >= value { near / scale } else { (near + 1.0) / scale }
}

/// A lower bound, rounded down to four places.
pub fn at_least(value: f64) -> f64 {
    -at_most(-value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_never_printed_stronger_than_it_is() {
        for (value, most, least) in [
            (1.0, "1.0000", "1.0000"),
            (1.1, "1.1000", "1.1000"),
            (0.1, "0.1000", "0.1000"),
            (2.345_61, "2.3457", "2.3456"),
            (2.345_69, "2.3457", "2.3456"),
            (0.000_01, "0.0001", "0.0000"),
            (39.5, "39.5000", "39.5000"),
        ] {
            assert_eq!(
                (format!("{:.4}", at_most(value)), format!("{:.4}", at_least(value).abs())),
                (most.into(), least.into())
            );
        }
        for step in 1..20_000 {
            let value = f64::from(step) * 0.001_234_567_89;
            assert!(at_most(value) >= value && at_most(value) < value + 1.001e-4);
            assert!(at_most_to(6, value) >= value && at_most_to(6, value) < value + 1.001e-6);
            assert!(at_least(value) <= value && at_least(value) > value - 1.001e-4);
        }
    }
}
