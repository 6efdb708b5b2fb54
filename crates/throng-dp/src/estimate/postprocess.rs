//! Post-processing, as separate, named steps. Each gives up unbiasedness for a property that counts should have;
//! none costs privacy.

/// Moves every count into a range: what the paper does before it measures errors of pictures (0 to 255).
pub fn clip(counts: &[f64], low: f64, high: f64) -> Vec<f64> {
    counts.iter().map(|count| count.max(low).min(high)).collect()
}

/// Replaces negative counts by zero.
pub fn non_negative(counts: &[f64]) -> Vec<f64> {
    clip(counts, 0.0, f64::INFINITY)
}

/// The nearest non-negative counts that sum to `total` (norm-sub: projection onto the simplex).
///
/// One number is subtracted from all counts and what falls below zero is set to zero; the number is chosen such
/// that the rest sums to `total`.
pub fn norm_sub(counts: &[f64], total: f64) -> Vec<f64> {
    if total <= 0.0 {
        return vec![0.0; counts.len()];
    }
    let mut falling = counts.to_vec();
    falling.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut offset = 0.0;
    for (kept, count) in falling.iter().enumerate() {
        sum += count;
        let candidate = (sum - total) / (kept + 1) as f64;
        // The largest set of counts that all stay positive is the right one.
        if kept > 0 && *count <= candidate {
            break;
        }
        offset = candidate;
    }
    counts.iter().map(|count| (count - offset).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_step_does_what_its_name_says() {
        assert_eq!(clip(&[-3.0, 7.0, 300.0], 0.0, 255.0), [0.0, 7.0, 255.0]);
        assert_eq!(non_negative(&[-3.0, 7.0]), [0.0, 7.0]);
        assert_eq!(norm_sub(&[5.0, 3.0, -4.0], 6.0), [4.0, 2.0, 0.0]);
        assert_eq!(norm_sub(&[1.0, 1.0], 4.0), [2.0, 2.0]);
        assert_eq!(norm_sub(&[], 4.0), [0.0; 0]);
        assert_eq!(norm_sub(&[1.0, 2.0], 0.0), [0.0, 0.0]);
        assert!(norm_sub(&[3e16, 1.0], 1.0).iter().all(|count| count.is_finite()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Optimality (KKT): the sum is right, and all kept counts moved by the same amount, at least as far as
        /// any that was set to zero.
        #[test]
        fn norm_sub_is_the_projection(
            counts in prop::collection::vec(-50.0..50.0f64, 1..40),
            total in 0.1..200.0f64,
        ) {
            let projected = norm_sub(&counts, total);
            prop_assert!((projected.iter().sum::<f64>() - total).abs() < 1e-9 * total.max(1.0));
            let moved: Vec<f64> = counts.iter().zip(&projected).map(|(c, p)| c - p).collect();
            let offset = projected.iter().zip(&moved).find(|(p, _)| **p > 0.0).map(|(_, m)| *m).unwrap();
            for (p, m) in projected.iter().zip(&moved) {
                prop_assert!(*p >= 0.0);
                if *p > 0.0 {
                    prop_assert!((m - offset).abs() < 1e-9);
                } else {
                    prop_assert!(*m <= offset + 1e-9);
                }
            }
        }
    }
}
