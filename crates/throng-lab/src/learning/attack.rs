//! Membership inference against a model: what its losses tell about who it was trained on.

use anyhow::Result;
use chacha20::rand_core::CryptoRng;
use serde::{Deserialize, Serialize};
use throng_dp::Delta;
use throng_learn::membership::{Losses, Roc, epsilon_as_paper, epsilon_tight};
use throng_learn::{Examples, Network};

/// What the attack finds on one model.
///
/// # Privacy
/// No certified lower bound of the model's ε: the losses of one model are not independent trials. See
/// [`throng_learn::membership`].
/// # Paper
/// Section VII.C, Table membership_inference.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Attack {
    /// The largest TPR − FPR over all thresholds.
    pub advantage: f64,
    /// The area under the ROC curve.
    pub auc: f64,
    /// The ε that the advantage refutes as the paper computes it: −ln(1 − a).
    pub epsilon_as_paper: f64,
    /// The ε that it refutes at δ, tightly.
    pub epsilon_tight: f64,
    /// What remains at the stated confidence, with the threshold chosen on other losses (Clopper–Pearson).
    pub epsilon_limit: f64,
    /// The confidence of the limit.
    pub confidence: f64,
    /// How likely an advantage as large is if nothing leaks.
    pub p_value: f64,
    /// The mean advantage if nothing leaks.
    pub null_mean: f64,
    /// (FPR, TPR) at some thresholds, from (0, 0) to (1, 1).
    pub roc: Vec<(f64, f64)>,
}

impl Attack {
    /// Attacks a model through its losses on `members`, which it was trained on, and on `others` from the same pool.
    pub fn on(
        network: &Network,
        parameters: &[f32],
        members: &Examples,
        others: &Examples,
        questions: &Questions,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let of = |examples| network.judge(parameters, examples).iter().map(|one| one.loss).collect();
        Self::on_losses(&Losses::new(of(members), of(others))?, questions, rng)
    }

    /// The same from losses.
    pub fn on_losses(losses: &Losses, questions: &Questions, rng: &mut impl CryptoRng) -> Result<Self> {
        let roc = losses.roc();
        let null = losses.null(questions.relabellings, rng)?;
        let limit = losses.limit(questions.delta, questions.confidence, rng)?;
        let advantage = roc.advantage();
        Ok(Self {
            advantage,
            auc: roc.auc(),
            epsilon_as_paper: epsilon_as_paper(advantage)?.value(),
            epsilon_tight: epsilon_tight(advantage, questions.delta)?.value(),
            epsilon_limit: limit.epsilon.value(),
            confidence: limit.confidence,
            p_value: null.p_value,
            null_mean: null.mean,
            roc: thinned(&roc),
        })
    }
}

/// How closely an attack looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Questions {
    /// The δ of the guarantee that is attacked.
    pub delta: Delta,
    /// The confidence of the limit.
    pub confidence: f64,
    /// How many relabellings the p-value comes from.
    pub relabellings: u32,
}

/// About as many points as a plot can show, and always both ends.
fn thinned(roc: &Roc) -> Vec<(f64, f64)> {
    let points = roc.points();
    let step = points.len().div_ceil(CURVE_POINTS).max(1);
    let last = points.len() - 1;
    let kept = points.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last);
    kept.map(|(_, point)| (roc.false_positive_rate(point), roc.true_positive_rate(point))).collect()
}

const CURVE_POINTS: usize = 200;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    use super::*;

    fn questions() -> Questions {
        Questions { delta: Delta::new(1e-5).unwrap(), confidence: 0.95, relabellings: 199 }
    }

    /// A linear model that knows its members by heart, and one that knows nothing.
    #[test]
    fn a_model_that_remembers_is_told_from_one_that_does_not() {
        let one_hot = |from: usize, label: fn(usize) -> u8| {
            let inputs = (from..from + 100).flat_map(|i| (0..200).map(move |j| f32::from(u8::from(i == j))));
            Examples::new(inputs.collect(), 200, (0..100).map(label).collect(), 2).unwrap()
        };
        let (members, others) = (one_hot(0, |i| (i % 2) as u8), one_hot(100, |i| (i / 2 % 2) as u8));
        let network = Network::linear(200, 2);
        let mut parameters = vec![0.0; network.dimension()];
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let ignorant = Attack::on(&network, &parameters, &members, &others, &questions(), &mut rng).unwrap();
        assert_eq!((ignorant.advantage, ignorant.p_value, ignorant.epsilon_limit), (0.0, 1.0, 0.0));
        assert_eq!((ignorant.auc, ignorant.roc.as_slice()), (0.5, [(0.0, 0.0), (1.0, 1.0)].as_slice()));

        // Weights are output by output: members of class 1 score for it, those of class 0 against it.
        for i in 0..100 {
            parameters[200 + i] = if i % 2 == 1 { 5.0 } else { -5.0 };
        }
        let learned = Attack::on(&network, &parameters, &members, &others, &questions(), &mut rng).unwrap();
        assert_eq!((learned.advantage, learned.p_value), (1.0, 0.005));
        assert!(learned.epsilon_limit > 1.0 && learned.epsilon_as_paper == f64::INFINITY);
    }
}
