//! A training, step by step, with its learning curve.

use anyhow::{Result, ensure};
use serde::Serialize;
use throng_learn::{Evaluation, Randomness, State, Training};

use super::Plan;

/// A training that goes on.
#[derive(Debug)]
pub struct Run<'a> {
    plan: &'a Plan,
    training: Training<'a>,
    curve: Vec<Point>,
}

/// How good a model is after some steps, on examples that it was not trained on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// How many steps.
    pub step: u64,
    /// The share of examples that it is right about.
    pub accuracy: f64,
    /// The mean loss.
    pub loss: f64,
    /// What the training has cost so far; none if nothing is promised.
    pub epsilon_central: Option<f64>,
}

/// A training that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedModel {
    /// The model.
    pub model: Vec<f32>,
    /// From the start to the end; never empty.
    pub curve: Vec<Point>,
}

impl<'a> Run<'a> {
    /// From the start.
    pub fn start(plan: &'a Plan, randomness: Randomness) -> Result<Self> {
        let training = Training::new(&plan.network, &plan.data.training, plan.settings, randomness)?;
        let mut run = Self { plan, training, curve: Vec::new() };
        run.measure();
        Ok(run)
    }

    /// From where another run of the same plan with the same randomness stopped.
    pub fn resume(plan: &'a Plan, randomness: Randomness, state: State, curve: Vec<Point>) -> Result<Self> {
        let examples = &plan.data.training;
        let training = Training::resume(&plan.network, examples, plan.settings, randomness, state)?;
        Ok(Self { plan, training, curve })
    }

    /// Whether all steps were made.
    pub fn is_done(&self) -> bool {
        self.training.state().step() >= self.plan.settings.steps
    }

    /// One step; a new point if the curve has one there.
    pub fn step(&mut self) -> Result<Option<Point>> {
        self.training.step()?;
        let state = self.training.state();
        ensure!(
            state.is_finite(),
            "the training diverged in step {}: parameters are no longer numbers; give a smaller --rate, or another --clip",
            state.step()
        );
        Ok(self.measure())
    }

    /// All steps that are left.
    pub fn to_end(mut self, mut at_point: impl FnMut(&Point)) -> Result<TrainedModel> {
        while !self.is_done() {
            if let Some(point) = self.step()? {
                at_point(&point);
            }
        }
        Ok(self.trained())
    }

    /// Where it is.
    pub fn state(&self) -> &State {
        self.training.state()
    }

    /// The points so far.
    pub fn curve(&self) -> &[Point] {
        &self.curve
    }

    /// What there is of it.
    pub fn trained(self) -> TrainedModel {
        TrainedModel { model: self.training.state().model().to_vec(), curve: self.curve }
    }

    /// Adds a point to the curve if it has one here.
    fn measure(&mut self) -> Option<Point> {
        let state = self.training.state();
        let &(step, epsilon_central) = self.plan.points.iter().find(|(step, _)| *step == state.step())?;
        let judged = self.plan.network.judge(state.model(), &self.plan.data.test);
        let loss = judged.iter().map(|one| one.loss).sum::<f64>() / judged.len() as f64;
        let point = Point { step, accuracy: Evaluation::accuracy(&judged), loss, epsilon_central };
        self.curve.push(point);
        Some(point)
    }
}

impl TrainedModel {
    /// The last point of the curve: how good the model is.
    pub fn last(&self) -> Option<&Point> {
        self.curve.last()
    }
}
