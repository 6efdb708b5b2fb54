//! The ROC curve: how well the attack does at every threshold.

use super::Losses;

/// The ROC curve of the attack "a loss of at most the threshold is a member's", from the threshold below all losses to the
/// largest one.
#[derive(Clone, Debug, PartialEq)]
pub struct Roc {
    points: Vec<Point>,
    members: u64,
    others: u64,
}

/// The attack at one threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The largest loss that counts as a member's.
    pub threshold: f64,
    /// How many members it finds.
    pub members: u64,
    /// How many others it takes for members.
    pub others: u64,
}

impl Losses {
    /// The curve, with one point for each different loss.
    ///
    /// Equal losses are on the same side of every threshold. A model that is sure of itself has a loss of exactly 0 on
    /// many examples; a curve that went through them one by one would show the order of sorting, not a leak.
    pub fn roc(&self) -> Roc {
        let mut points = vec![Point { threshold: f64::NEG_INFINITY, members: 0, others: 0 }];
        for group in self.pooled().chunk_by(|a, b| a.0 == b.0) {
            let last = points[points.len() - 1];
            let members = group.iter().filter(|(_, member)| *member).count() as u64;
            points.push(Point {
                threshold: group[0].0,
                members: last.members + members,
                others: last.others + group.len() as u64 - members,
            });
        }
        Roc { points, members: self.members.len() as u64, others: self.others.len() as u64 }
    }
}

impl Roc {
    /// All points, by rising threshold.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// How many members there are.
    pub fn members(&self) -> u64 {
        self.members
    }

    /// How many others there are.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// The share of members found at a point: TPR.
    pub fn true_positive_rate(&self, point: &Point) -> f64 {
        point.members as f64 / self.members as f64
    }

    /// The share of others taken for members at a point: FPR.
    pub fn false_positive_rate(&self, point: &Point) -> f64 {
        point.others as f64 / self.others as f64
    }

    /// The largest TPR − FPR over all thresholds; never below 0, which the lowest threshold has.
    ///
    /// Biased upwards as an estimate: it is a maximum. See [`Losses::null`] for how much.
    pub fn advantage(&self) -> f64 {
        let lead =
            self.points.iter().map(|point| lead(point.members, self.members, point.others, self.others));
        as_advantage(lead.max().unwrap_or(0), self.members, self.others)
    }

    /// The area under the curve: how likely a member has a smaller loss than another, ties counting half.
    pub fn auc(&self) -> f64 {
        // Twice the area in units of one member and one other: an integer.
        let twice: u128 = self
            .points
            .windows(2)
            .map(|pair| {
                u128::from(pair[0].members + pair[1].members) * u128::from(pair[1].others - pair[0].others)
            })
            .sum();
        twice as f64 / (2 * u128::from(self.members) * u128::from(self.others)) as f64
    }
}

/// TPR − FPR as an integer, in units of 1/(members·others), so that equal advantages compare as equal.
pub(super) fn lead(found: u64, members: u64, mistaken: u64, others: u64) -> i128 {
    i128::from(found) * i128::from(others) - i128::from(mistaken) * i128::from(members)
}

/// The same as a number.
pub(super) fn as_advantage(lead: i128, members: u64, others: u64) -> f64 {
    lead as f64 / (members as f64 * others as f64)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand_core::SeedableRng;
    use throng_dp::sampling::below;

    use super::*;

    fn losses(members: &[f64], others: &[f64]) -> Losses {
        Losses::new(members.to_vec(), others.to_vec()).unwrap()
    }

    /// Advantage and area by their definitions: every threshold, and every pair.
    #[test]
    fn curves_match_their_definitions_whatever_is_tied() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for values in [1, 2, 3, 10, 1000] {
            for _ in 0..50 {
                let mut draw =
                    |count| (0..count).map(|_| below(values, &mut rng) as f64).collect::<Vec<f64>>();
                let (members, others) = (draw(13), draw(29));
                let roc = losses(&members, &others).roc();
                let share = |losses: &[f64], t: f64| {
                    losses.iter().filter(|&&loss| loss <= t).count() as f64 / losses.len() as f64
                };
                let best = (-1..values as i64)
                    .map(|t| share(&members, t as f64) - share(&others, t as f64))
                    .fold(0.0, f64::max);
                assert!((roc.advantage() - best).abs() < 1e-14);
                let pairs: f64 = members
                    .iter()
                    .flat_map(|m| {
                        others.iter().map(move |o| {
                            if m < o {
                                1.0
                            } else if m == o {
                                0.5
                            } else {
                                0.0
                            }
                        })
                    })
                    .sum();
                assert!((roc.auc() - pairs / (13.0 * 29.0)).abs() < 1e-14);
                let last = roc.points()[roc.points().len() - 1];
                assert_eq!((roc.true_positive_rate(&last), roc.false_positive_rate(&last)), (1.0, 1.0));
            }
        }
    }

    /// Four fifths of all losses are exactly 0, with either sign, as often for members as for others.
    #[test]
    fn many_losses_of_zero_are_no_leak() {
        let zeros = |zero: f64| [vec![zero; 8000], vec![1.0; 2000]].concat();
        for (member_zero, other_zero) in [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0)] {
            let roc = losses(&zeros(member_zero), &zeros(other_zero)[5000..]).roc();
            assert_eq!(roc.points().len(), 3);
            assert!((roc.advantage() - (0.8 - 0.6)).abs() < 1e-12);
            let roc = losses(&zeros(member_zero), &zeros(other_zero)).roc();
            assert_eq!((roc.advantage(), roc.auc()), (0.0, 0.5));
        }
    }

    #[test]
    fn losses_that_tell_everything_and_the_wrong_way_round() {
        let apart = losses(&[0.1, 0.2], &[0.3, f64::INFINITY]).roc();
        assert_eq!((apart.advantage(), apart.auc()), (1.0, 1.0));
        let reversed = losses(&[0.3, f64::INFINITY], &[0.1, 0.2]).roc();
        assert_eq!((reversed.advantage(), reversed.auc()), (0.0, 0.0));
    }
}
