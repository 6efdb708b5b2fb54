//! Averages of the models on the way, which cost no privacy and have less noise.

/// Which model a training gives: the last, or a mean of those on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Average {
    /// The last one.
    Last,
    /// Each step keeps this share of the average so far.
    Exponential(f64),
    /// The plain mean of the second half of all steps.
    SecondHalf,
}

impl Average {
    /// How much of the average step `step` of `steps` (counted from 0) replaces by its model.
    pub(super) fn weight(self, step: u64, steps: u64) -> f64 {
        match self {
            Self::Last => 1.0,
            // The first models count less the older they are, and the very first does not count for ever.
            Self::Exponential(keep) => (1.0 - keep).max(1.0 / (step as f64 + 1.0)),
            Self::SecondHalf => 1.0 / ((step + 1).saturating_sub(steps / 2).max(1)) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn averaged(average: Average, models: &[f64]) -> f64 {
        let steps = models.len() as u64;
        models.iter().zip(0..).fold(0.0, |so_far, (model, step)| {
            let weight = average.weight(step, steps);
            so_far + weight * (model - so_far)
        })
    }

    #[test]
    fn averages_are_what_they_say() {
        let models = [1.0, 2.0, 3.0, 5.0, 7.0, 12.0];
        assert_eq!(averaged(Average::Last, &models), 12.0);
        assert_eq!(averaged(Average::SecondHalf, &models), 8.0);
        assert_eq!(averaged(Average::SecondHalf, &models[..1]), 1.0);
        // Up to 1/(1 - keep) steps it is the plain mean.
        assert!((averaged(Average::Exponential(0.9), &models) - 5.0).abs() < 1e-12);
        assert_eq!(averaged(Average::Exponential(0.5), &models[..3]), 0.5 * 3.0 + 0.5 * 1.5);
    }
}
