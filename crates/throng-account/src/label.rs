//! Natural crowds: the privacy cost of a label on a report.
//!
//! Paper: Section V. A label that the survey lists (a language, an app version) splits the respondents into crowds of
//! their own, and tells whoever sees a report which crowd it is from.

use throng_dp::Epsilon;

use crate::Error;
use crate::deletion::Deletion;

/// What is known about a label before a report carries it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    /// Everyone knows it anyway: it costs nothing.
    Public,
    /// The respondent randomizes it with this epsilon.
    Randomized(Epsilon),
    /// It is the respondent's secret, and sent as it is.
    Private,
}

impl Label {
    /// What a labelled report guarantees by itself: epsilon_local + epsilon_label. Nothing, if the label is a secret.
    pub fn local(self, epsilon_local: Epsilon) -> Epsilon {
        match self {
            Self::Public => epsilon_local,
            Self::Randomized(epsilon_label) => epsilon_local + epsilon_label,
            Self::Private => Epsilon::INFINITE,
        }
    }
}

/// How many of `honest` respondents each instance keeps, but for a probability of `failure` that one of them keeps fewer.
///
/// Every count is held by one instance, and hides its respondents in the crowd that this one kept: what others deleted does not
/// matter to it. So one loss is taken off, which none of the instances exceeds.
pub fn kept_by_each(honest: u64, deletion: &Deletion, instances: u32, failure: f64) -> Result<u64, Error> {
    Ok(honest.saturating_sub(deletion.loss_max(u64::from(instances), failure)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::epsilon;
    use throng_dp::Delta;

    #[test]
    fn a_secret_label_leaves_nothing() {
        assert_eq!(Label::Public.local(epsilon(2.0)), epsilon(2.0));
        assert_eq!(Label::Randomized(epsilon(0.5)).local(epsilon(2.0)), epsilon(2.5));
        assert_eq!(Label::Private.local(epsilon(2.0)), Epsilon::INFINITE);
    }

    /// From the definition of a deletion: shift - L are dropped, L two-sided geometric with ratio e^(-epsilon/2).
    #[test]
    fn each_instance_keeps_as_many_as_is_said() {
        let deletion = Deletion::new(epsilon(0.4), Delta::new(1e-3).unwrap()).unwrap();
        let ratio = (-0.2f64).exp();
        let more_than = |lost: u64| {
            let beyond = (lost - deletion.shift() + 1) as i32;
            ratio.powi(beyond) / (1.0 + ratio)
        };
        for (instances, failure) in [(1u32, 1e-3), (3, 1e-3), (5, 1e-6)] {
            let lost = 1000 - kept_by_each(1000, &deletion, instances, failure).unwrap();
            let missed = |lost| 1.0 - (1.0 - more_than(lost)).powi(instances as i32);
            assert!(missed(lost) <= failure, "{instances} {failure}: {lost}");
            // Not a multiple of what one deletion takes: the bound on its tail lacks a factor of 1 + e^(-epsilon/2), three people.
            assert!(missed(lost - 5) > failure, "{instances} {failure}: {lost}");
        }
        assert_eq!(kept_by_each(5, &deletion, 3, 1e-3).unwrap(), 0);
    }
}
