//! The membership-inference attack of the paper's Section VII.C, beside what a training promises.
//!
//! A model is trained on a random half of a pool, and the other half are the others: they differ in nothing but that. The
//! attack and its limits are those of `throng learn` and its experiments ([`crate::learning::attack`]).

use anyhow::Result;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use throng_dp::Delta;
use throng_learn::{Examples, Randomness};

use super::Verdict;
use crate::learning::attack::{Attack, Questions};
use crate::learning::{Choices, Plan, ProtocolName, Run};
use throng_simulate::dataset::{LabelledExamples, PictureSet};

/// The result of the attack on one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelAttack {
    /// What was learned from.
    pub data: String,
    /// How many examples were trained on; there are as many others.
    pub members: usize,
    /// How many steps the attacked training had.
    pub steps: u64,
    /// The share of test examples that the model is right about.
    pub accuracy: f64,
    /// What the training promises (replacement).
    pub epsilon_central: f64,
    /// The allowance beside it: `throng_dp::Delta` says what that is.
    pub delta: f64,
    /// What the attack found.
    pub attack: Attack,
    /// Whether the promise stands.
    pub verdict: Verdict,
}

/// Trains on a random half of the training examples and attacks the model. With `noiseless` gradients reach the server as
/// they are, whatever is promised.
pub fn audit(
    data: LabelledExamples,
    set: Option<PictureSet>,
    choices: &Choices,
    confidence: f64,
    noiseless: bool,
    seed: u64,
) -> Result<ModelAttack> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let (members, others) = data.training.halves(&mut rng);
    let half = LabelledExamples { training: members, ..data.clone() };
    let plan = Plan::of(half.clone(), set, choices)?;
    let (others, _) =
        plan.model.prepare(set, LabelledExamples { test: others.clone(), training: others, ..data })?;
    let train = |plan: &Plan| -> Result<_> {
        let trained = Run::start(plan, Randomness::numbered(seed))?.to_end(|_| ())?;
        Ok((trained, plan.settings.steps))
    };
    let (trained, steps) = if noiseless {
        let (protocol, steps) = (ProtocolName::Plain, Some(NOISELESS_STEPS));
        let plain = Choices { protocol, steps, epsilon_central: None, ..choices.clone() };
        train(&Plan::of(half, set, &plain)?)?
    } else {
        train(&plan)?
    };
    let questions = Questions { delta: Delta::new(choices.delta)?, confidence, relabellings: RELABELLINGS };
    let members = &plan.data.training;
    let attack = Attack::on(&plan.network, &trained.model, members, &others.training, &questions, &mut rng)?;
    let epsilon_central = plan.statement.epsilon_central().unwrap_or(f64::INFINITY);
    Ok(ModelAttack {
        data: plan.data.name.clone(),
        members: members.len(),
        steps,
        accuracy: trained.last().map_or(0.0, |point| point.accuracy),
        epsilon_central,
        delta: choices.delta,
        verdict: judge(&attack, epsilon_central),
        attack,
    })
}

/// A limit above the promise breaks it.
pub fn judge(attack: &Attack, epsilon_central: f64) -> Verdict {
    Verdict::of(attack.epsilon_limit > epsilon_central)
}

/// Examples with nothing to learn: labels are tosses of a coin, so that whoever is right about them remembers.
pub fn unlearnable(seed: u64) -> Result<LabelledExamples> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut drawn = |count: usize| -> Result<Examples> {
        let inputs =
            (0..count * UNLEARNABLE_WIDTH).map(|_| if rng.next_u32() >> 31 == 1 { 1.0 } else { -1.0 });
        let inputs = inputs.collect();
        let labels = (0..count).map(|_| (rng.next_u32() >> 31) as u8).collect();
        Ok(Examples::new(inputs, UNLEARNABLE_WIDTH, labels, 2)?)
    };
    let (training, test) = (drawn(UNLEARNABLE)?, drawn(UNLEARNABLE / 10)?);
    let classes = vec!["tails".into(), "heads".into()];
    Ok(LabelledExamples { name: "coins that only memory can know".into(), training, test, classes })
}

const RELABELLINGS: u32 = 999;
const NOISELESS_STEPS: u64 = 200;
const UNLEARNABLE: usize = 4000;
const UNLEARNABLE_WIDTH: usize = 2500;

#[cfg(test)]
mod tests {
    use super::*;

    fn few() -> Choices {
        Choices { epsilon_central: Some(1.0), steps: Some(20), ..Choices::default() }
    }

    /// Labels that can only be remembered: with the noise that is promised nothing is found, and without it everything.
    #[test]
    fn a_training_without_its_noise_is_caught_and_one_with_it_is_not() {
        let kept = audit(unlearnable(1).unwrap(), None, &few(), 0.95, false, 1).unwrap();
        assert_eq!(kept.verdict, Verdict::Kept, "{kept:?}");
        assert!(kept.attack.epsilon_limit < 0.2, "{kept:?}");
        assert!((1..=20).contains(&kept.steps), "{kept:?}");
        let broken = audit(unlearnable(1).unwrap(), None, &few(), 0.95, true, 1).unwrap();
        assert_eq!(broken.verdict, Verdict::Broken, "{broken:?}");
        assert!(broken.epsilon_central <= 1.0 && broken.attack.p_value <= 0.001, "{broken:?}");
        assert_eq!(broken.steps, NOISELESS_STEPS);
    }
}
