//! Empirical lower bounds on ε: which ε the attack refutes, and with which confidence.

use rand_core::CryptoRng;
use throng_account::clopper_pearson::{lower_limit, upper_limit};
use throng_account::distinguishing::{refuted, wilson};
use throng_dp::normal::upper_quantile;
use throng_dp::sampling::below;
use throng_dp::{Delta, Epsilon};

use super::{Losses, Point, Roc};
use crate::Error;

/// A lower limit of ε at a stated confidence.
///
/// # Privacy
/// The threshold is chosen on one half of the losses and tried on the other, so that choosing does not cheat; TPR and
/// FPR are within their Clopper–Pearson limits at once with at least the stated confidence (a union bound). Then no
/// (ε, δ)-DP law of losses has a smaller ε than the limit: TPR ≤ e^ε·FPR + δ, and the same of what is not found.
///
/// **As a lower bound of the ε of a training it holds for independent trials**: each loss from a model that was trained
/// anew. The losses of one model are not independent, as they share its randomness. For one model the limit says how well
/// members can be told from others, which is a fair comparison between models, but no certified lower bound.
/// A limit of 0 refutes nothing and certifies nothing either: another attack may do better. Ask once: the largest of
/// several limits from different halves is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// No smaller ε explains what was seen.
    pub epsilon: Epsilon,
    /// The largest loss that counted as a member's.
    pub threshold: f64,
    /// The lower limit of TPR.
    pub true_positive_rate: f64,
    /// The upper limit of FPR.
    pub false_positive_rate: f64,
    /// With which probability, at least, both limits hold.
    pub confidence: f64,
}

impl Losses {
    /// The ε that is refuted at δ with a confidence between 0 and 1, from a random half of the losses after a look at the
    /// other half. At least two members and two others.
    pub fn limit(
        &self,
        delta: Delta,
        confidence: f64,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Limit, Error> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::Setting {
                what: "the confidence",
                got: confidence,
                expected: "give a number between 0 and 1",
            });
        }
        if self.members.len() < 2 || self.others.len() < 2 {
            return Err(Error::Examples(
                "one half of the losses chooses a threshold and the other tries it: give at least two of members and \
                 two of others"
                    .into(),
            ));
        }
        let ((members, members_tried), (others, others_tried)) =
            (halves(&self.members, rng), halves(&self.others, rng));
        Self { members, others }.tried_on(
            &Self { members: members_tried, others: others_tried },
            delta,
            confidence,
        )
    }

    /// The limit that other losses give for the threshold that these suggest.
    fn tried_on(&self, tried: &Self, delta: Delta, confidence: f64) -> Result<Limit, Error> {
        let threshold = promising(&self.roc(), delta, confidence);
        // Half of the error for each rate.
        let each = 0.5 * (1.0 + confidence);
        let found = |losses: &[f64]| losses.iter().filter(|&&loss| loss <= threshold).count() as u64;
        let low = lower_limit(found(&tried.members), tried.members.len() as u64, each)?;
        let high = upper_limit(found(&tried.others), tried.others.len() as u64, each)?;
        Ok(Limit {
            epsilon: Epsilon::new((refuted(low, high, delta) * (1.0 - ROUNDING) - ROUNDING).max(0.0))?,
            threshold,
            true_positive_rate: low,
            false_positive_rate: high,
            confidence,
        })
    }
}

/// The threshold with the best prospects by approximate limits (Wilson's): any choice is sound.
fn promising(roc: &Roc, delta: Delta, confidence: f64) -> f64 {
    let z = upper_quantile(0.5 * (1.0 - confidence));
    let prospects = |point: &Point| {
        let low = wilson(roc.true_positive_rate(point), roc.members() as f64, -z);
        let high = wilson(roc.false_positive_rate(point), roc.others() as f64, z);
        refuted(low, high, delta)
    };
    let best = roc.points().iter().map(|point| (prospects(point), point)).max_by(|a, b| {
        // Where nothing can be hoped for, the best estimate.
        let advantage = |p: &Point| roc.true_positive_rate(p) - roc.false_positive_rate(p);
        a.0.total_cmp(&b.0).then(advantage(a.1).total_cmp(&advantage(b.1)))
    });
    best.map_or(f64::NEG_INFINITY, |(_, point)| point.threshold)
}

/// Two random halves; the first is the smaller one.
fn halves(losses: &[f64], rng: &mut (impl CryptoRng + ?Sized)) -> (Vec<f64>, Vec<f64>) {
    let mut first = losses.to_vec();
    let half = first.len() / 2;
    for i in 0..half {
        let j = i + below((first.len() - i) as u64, rng) as usize;
        first.swap(i, j);
    }
    let second = first.split_off(half);
    (first, second)
}

/// Above the rounding of a quotient and its logarithm.
const ROUNDING: f64 = 1e-14;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand_core::SeedableRng;

    use super::*;

    /// Randomized response as a leak: a member's loss is small with probability e^ε/(1 + e^ε), another's with 1/(1 + e^ε).
    /// `confuse` makes losses within small and large ones different from one another.
    fn leaking(epsilon: f64, count: usize, confuse: bool, rng: &mut ChaCha12Rng) -> Losses {
        let truth = ((1u64 << 40) as f64 / (1.0 + (-epsilon).exp())) as u64;
        let mut draw = |small_if_true: bool| -> Vec<f64> {
            (0..count)
                .map(|_| {
                    let small = (below(1 << 40, rng) < truth) == small_if_true;
                    let noise = if confuse { below(1 << 40, rng) as f64 / (1u64 << 40) as f64 } else { 0.0 };
                    noise + if small { 0.0 } else { 1.0 }
                })
                .collect()
        };
        let (members, others) = (draw(true), draw(false));
        Losses::new(members, others).unwrap()
    }

    #[test]
    fn a_planted_leak_is_found_and_not_exaggerated() {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        for confuse in [false, true] {
            for epsilon in [0.2, 1.0, 3.0] {
                let losses = leaking(epsilon, 40_000, confuse, &mut rng);
                let limit = losses.limit(Delta::ZERO, 0.999_999, &mut rng).unwrap();
                let found = limit.epsilon.value();
                // Wrong with a chance of at most 1e-6 each. The rates are 5 + 5 standard deviations apart from
                // what was seen, of at most 0.0036 each.
                assert!(found <= epsilon, "{epsilon}: {limit:?}");
                assert!(found >= 0.8 * epsilon - 0.1, "{epsilon}: {limit:?}");
                assert!(limit.true_positive_rate > limit.false_positive_rate);
                // δ can only explain more.
                let with_delta = losses.limit(Delta::new(0.01).unwrap(), 0.999_999, &mut rng).unwrap();
                assert!(with_delta.epsilon.value() <= epsilon);
            }
        }
    }

    /// The half that is tried has no say in the threshold: its own leak, elsewhere, is not looked for.
    #[test]
    fn the_threshold_comes_from_the_other_half() {
        let leak_at = |loss: f64| {
            let members = [vec![loss; 900], vec![9.0; 100]].concat();
            Losses::new(members, [vec![loss; 100], vec![9.0; 900]].concat()).unwrap()
        };
        let limit = leak_at(1.0).tried_on(&leak_at(2.0), Delta::ZERO, 0.9).unwrap();
        assert_eq!((limit.threshold, limit.epsilon), (1.0, Epsilon::ZERO));
        assert!(leak_at(1.0).tried_on(&leak_at(0.5), Delta::ZERO, 0.9).unwrap().epsilon.value() > 1.5);
    }

    /// At 90 % at most one in ten limits may be above the truth. More than 80 of 400 have a chance below 1e-6 (Chernoff:
    /// e^(−400·KL(0.2, 0.1)) = e^-17.8).
    #[test]
    fn limits_are_above_the_truth_as_rarely_as_they_say() {
        let mut rng = ChaCha12Rng::seed_from_u64(8);
        for (epsilon, confuse) in [(0.0, true), (0.5, false), (0.5, true)] {
            let above = (0..400)
                .filter(|_| {
                    let losses = leaking(epsilon, 200, confuse, &mut rng);
                    losses.limit(Delta::ZERO, 0.9, &mut rng).unwrap().epsilon.value() > epsilon
                })
                .count();
            assert!(above <= 80, "{epsilon} {confuse}: {above}");
        }
    }

    /// A leak of one member in fifty that is certain: pure ε is unbounded, but δ = 1/50 explains it all.
    #[test]
    fn delta_explains_a_rare_and_certain_leak() {
        let mut rng = ChaCha12Rng::seed_from_u64(9);
        let members: Vec<f64> = (0..20_000).map(|i| if i % 50 == 0 { 0.0 } else { 1.0 }).collect();
        let losses = Losses::new(members, vec![1.0; 20_000]).unwrap();
        let pure = losses.limit(Delta::ZERO, 0.99, &mut rng).unwrap().epsilon.value();
        assert!(pure > 3.0, "{pure}");
        let explained = losses.limit(Delta::new(0.03).unwrap(), 0.99, &mut rng).unwrap().epsilon;
        assert_eq!(explained, Epsilon::ZERO);
    }

    #[test]
    fn extremes_are_answered_and_nonsense_is_refused() {
        let mut rng = ChaCha12Rng::seed_from_u64(10);
        let apart = Losses::new(vec![0.0; 2], vec![f64::INFINITY; 2]).unwrap();
        let little = apart.limit(Delta::ZERO, 0.95, &mut rng).unwrap();
        assert_eq!(little.epsilon, Epsilon::ZERO);
        let apart = Losses::new(vec![0.0; 2000], vec![f64::INFINITY; 2000]).unwrap();
        let much = apart.limit(Delta::ZERO, 0.95, &mut rng).unwrap();
        // 1000 of 1000 and 0 of 1000: the limit of either rate is 0.025^(1/1000) from its end.
        let end = 1.0 - 0.025f64.powf(1e-3);
        assert!((much.epsilon.value() - ((1.0 - end) / end).ln()).abs() < 1e-8, "{much:?}");
        for bad in [0.0, 1.0, f64::NAN] {
            assert!(apart.limit(Delta::ZERO, bad, &mut rng).is_err());
        }
        let single = Losses::new(vec![0.0], vec![1.0; 5]).unwrap();
        assert!(single.limit(Delta::ZERO, 0.9, &mut rng).unwrap_err().to_string().contains("at least two"));
    }
}
