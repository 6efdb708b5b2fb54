//! The state of a training: all that it needs to go on, besides settings, examples and randomness.

use super::Settings;
use crate::{Error, Network};

/// The parameters after some steps.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub(super) step: u64,
    pub(super) parameters: Vec<f32>,
    /// How the last step moved them, if that goes on.
    velocity: Vec<f32>,
    average: Vec<f32>,
}

impl State {
    pub(super) fn new(parameters: Vec<f32>, settings: &Settings) -> Self {
        let velocity = if settings.momentum > 0.0 { vec![0.0; parameters.len()] } else { Vec::new() };
        Self { step: 0, average: parameters.clone(), parameters, velocity }
    }

    /// From what [`State::parts`] gave.
    pub fn from_parts(step: u64, parameters: Vec<f32>, velocity: Vec<f32>, average: Vec<f32>) -> Self {
        Self { step, parameters, velocity, average }
    }

    /// Steps so far, parameters, velocity and average.
    pub fn parts(&self) -> (u64, &[f32], &[f32], &[f32]) {
        (self.step, &self.parameters, &self.velocity, &self.average)
    }

    /// How many steps were made.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The model so far: averaged as the settings say.
    pub fn model(&self) -> &[f32] {
        &self.average
    }

    /// Whether all parameters are finite: those of a training that diverged are not.
    pub fn is_finite(&self) -> bool {
        self.parameters.iter().chain(&self.average).all(|x| x.is_finite())
    }

    pub(super) fn check(&self, network: &Network, settings: &Settings) -> Result<(), Error> {
        let d = network.dimension();
        let velocity = if settings.momentum > 0.0 { d } else { 0 };
        let fits = self.parameters.len() == d && self.velocity.len() == velocity && self.average.len() == d;
        if !fits || self.step > settings.steps {
            return Err(Error::Examples(
                "this state is of another network or of other settings; give those it was made with".into(),
            ));
        }
        Ok(())
    }

    /// θ ← Π(θ − η·g).
    pub(super) fn go(&mut self, gradient: &[f32], rate: f64, settings: &Settings) {
        let rate = rate as f32;
        if self.velocity.is_empty() {
            self.parameters.iter_mut().zip(gradient).for_each(|(x, g)| *x -= rate * g);
        } else {
            let momentum = settings.momentum as f32;
            for ((x, v), g) in self.parameters.iter_mut().zip(&mut self.velocity).zip(gradient) {
                *v = momentum * *v + g;
                *x -= rate * *v;
            }
        }
        if let Some(radius) = settings.radius {
            project(&mut self.parameters, radius);
        }
        let weight = settings.average.weight(self.step, settings.steps) as f32;
        if weight == 1.0 {
            self.average.copy_from_slice(&self.parameters);
        } else {
            self.average.iter_mut().zip(&self.parameters).for_each(|(mean, x)| *mean += weight * (x - *mean));
        }
        self.step += 1;
    }
}

/// Moves a point to the nearest one of the ball around 0.
pub(crate) fn project(point: &mut [f32], radius: f64) {
    let norm = point.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    if norm > radius {
        let factor = (radius / norm) as f32;
        point.iter_mut().for_each(|x| *x *= factor);
    }
}
