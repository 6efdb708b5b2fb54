//! How fast LDP-SGD learns a convex model: the constants of the paper's theorem, and of its proof.

use throng_dp::{Epsilon, Gradient};

use crate::Error;
use crate::training::project;

/// Training of a convex model within a ball, with one report of a gradient from each respondent in every step.
///
/// # Utility
/// The excess of the mean loss over its minimum in the ball, in expectation over the reports: at most
/// [`Convergence::excess_bound`] (Shamir and Zhang 2013, Theorem 2), if the model is projected into the ball after every
/// step and step t has the size [`Convergence::step_size`]. The loss has to be convex and L-Lipschitz, L the clipping norm.
/// # Paper
/// Section VI, Theorem learning, utility, and its proof in the appendix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    respondents: f64,
    dimension: f64,
    lipschitz: f64,
    diameter: f64,
    /// What a signed Gaussian direction is multiplied by: L·sqrt(π/2)·coth(ε/2).
    scale: f64,
}

impl Convergence {
    /// At least two respondents, a model of `dimension` parameters in a ball of a `diameter`.
    pub fn new(
        respondents: u64,
        dimension: usize,
        lipschitz: f64,
        diameter: f64,
        epsilon_local: Epsilon,
    ) -> Result<Self, Error> {
        if respondents < 2 {
            return Err(Error::Setting {
                what: "the number of respondents",
                got: respondents as f64,
                expected: "give at least 2",
            });
        }
        if !(diameter.is_finite() && diameter > 0.0) {
            return Err(Error::Setting {
                what: "the diameter",
                got: diameter,
                expected: "give a finite number above 0",
            });
        }
        let scale = Gradient::new(dimension, lipschitz, epsilon_local)?.gaussian_scale();
        Ok(Self { respondents: respondents as f64, dimension: dimension as f64, lipschitz, diameter, scale })
    }

    /// The theorem's number of steps, n/ln² n, and at least the two that its proof needs.
    pub fn steps(&self) -> u64 {
        ((self.respondents / self.respondents.ln().powi(2)) as u64).max(2)
    }

    /// The theorem's rate, L·‖C‖·sqrt(d)·ln² n/n·coth(ε/2): what the excess is proportional to, without its constant.
    pub fn rate_as_paper(&self) -> f64 {
        self.lipschitz * self.diameter * self.dimension.sqrt() * self.respondents.ln().powi(2)
            / self.respondents
            * self.coth()
    }

    /// The learning rate that Algorithm servrG prints, ‖C‖·sqrt(n)/(L·sqrt(d))·tanh(ε/2). Its proof divides it by sqrt(t).
    pub fn learning_rate_as_paper(&self) -> f64 {
        self.diameter * self.respondents.sqrt() / (self.lipschitz * self.dimension.sqrt()) / self.coth()
    }

    /// G: the root of the largest mean square of a step's decoded gradient, scale²·d/n + L²·(1 − 1/n).
    ///
    /// Each report has the mean square scale²·d, and two of them the inner product of their clipped gradients, at most
    /// L². (The proof leaves the second term out, which is the larger one once n exceeds (π/2)·d·coth²(ε/2). So the
    /// theorem's rate holds up to there; beyond, the excess falls with 1/sqrt(n) at the theorem's number of steps.)
    pub fn gradient_norm(&self) -> f64 {
        let noise = self.scale.powi(2) * self.dimension / self.respondents;
        (noise + self.lipschitz.powi(2) * (1.0 - 1.0 / self.respondents)).sqrt()
    }

    /// The size of step t = 1, 2, ...: c/sqrt(t), c = ‖C‖/G.
    pub fn step_size(&self, t: u64) -> f64 {
        self.diameter / self.gradient_norm() / (t.max(1) as f64).sqrt()
    }

    /// An upper bound on the expected excess after `steps` steps, at least two: 2·‖C‖·G·(2 + ln T)/sqrt(T).
    pub fn excess_bound(&self, steps: u64) -> f64 {
        let steps = steps.max(2) as f64;
        2.0 * self.diameter * self.gradient_norm() * (2.0 + steps.ln()) / steps.sqrt()
    }

    /// Moves a model to the nearest one in the ball around 0.
    pub fn project(&self, model: &mut [f32]) {
        project(model, 0.5 * self.diameter);
    }

    fn coth(&self) -> f64 {
        self.scale / (self.lipschitz * std::f64::consts::FRAC_PI_2.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand_core::SeedableRng;
    use throng_dp::{Estimator, Randomizer};

    use super::*;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    #[test]
    fn constants_are_those_of_the_theorem() {
        let (n, d, lipschitz, diameter, e) = (60_000u64, 400usize, 0.5, 3.0, 1.9);
        let run = Convergence::new(n, d, lipschitz, diameter, epsilon(e)).unwrap();
        let coth = (f64::exp(e) + 1.0) / (f64::exp(e) - 1.0);
        let log = 60_000f64.ln();
        assert_eq!(run.steps(), (60_000.0 / (log * log)) as u64);
        assert!((run.rate_as_paper() / (0.5 * 3.0 * 20.0 * log * log / 60_000.0 * coth) - 1.0).abs() < 1e-12);
        assert!(
            (run.learning_rate_as_paper() * 0.5 * 20.0 * coth / (3.0 * 60_000f64.sqrt()) - 1.0).abs() < 1e-12
        );
        assert!((run.step_size(9) * 3.0 * run.gradient_norm() - 3.0).abs() < 1e-12);
        // Many parameters: the rate is the bound but for constants and logarithms.
        let wide = Convergence::new(1000, 1_000_000, 1.0, 1.0, epsilon(1.0)).unwrap();
        let ratio = wide.excess_bound(wide.steps()) / wide.rate_as_paper();
        assert!((0.5..4.0).contains(&ratio), "{ratio}");
        // Few: it promises what the bound does not.
        let narrow = Convergence::new(100_000_000, 10, 1.0, 1.0, epsilon(1.0)).unwrap();
        assert!(narrow.excess_bound(narrow.steps()) > 100.0 * narrow.rate_as_paper());
    }

    /// Equal gradients of full length have the largest mean square. Five standard errors: a chance below 1e-6 of failing
    /// with a fresh seed.
    #[test]
    fn a_step_has_the_stated_mean_square() {
        let (n, d, lipschitz) = (20, 8, 0.7);
        let run = Convergence::new(n, d, lipschitz, 1.0, epsilon(2.0)).unwrap();
        let mechanism = Gradient::new(d, lipschitz, epsilon(2.0)).unwrap();
        let gradient = vec![1.0f32; d];
        let mut rng = ChaCha12Rng::seed_from_u64(11);
        let repeats = 4000;
        let squares: Vec<f64> = (0..repeats)
            .map(|_| {
                let mut tally = mechanism.tally().unwrap();
                for _ in 0..n {
                    let report = mechanism.randomize(Some(&gradient), &mut rng).unwrap();
                    mechanism.add(&mut tally, &report).unwrap();
                }
                mechanism.estimate(&tally).unwrap().mean.iter().map(|x| x * x).sum()
            })
            .collect();
        let mean = squares.iter().sum::<f64>() / f64::from(repeats);
        let variance = squares.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(repeats);
        let error = 5.0 * (variance / f64::from(repeats)).sqrt();
        let stated = run.gradient_norm().powi(2);
        assert!((mean - stated).abs() < error, "{mean} {stated} {error}");
        // The noise alone would be told apart.
        assert!(error < 0.2 * lipschitz * lipschitz);
    }

    /// The distance to a point, learned from reports of its gradient: convex, 1-Lipschitz, least at the point.
    #[test]
    fn a_convex_model_is_learned_within_the_bound() {
        let (n, d) = (40, 3);
        let run = Convergence::new(n, d, 1.0, 2.0, epsilon(2.0)).unwrap();
        let mechanism = Gradient::new(d, 1.0, epsilon(2.0)).unwrap();
        let mut rng = ChaCha12Rng::seed_from_u64(12);
        let point = [0.6f32, -0.6, 0.5];
        let mut model = vec![0.0f32; d];
        let distance = |model: &[f32]| -> f64 {
            model.iter().zip(point).map(|(x, p)| f64::from(x - p).powi(2)).sum::<f64>().sqrt()
        };
        let (start, steps) = (distance(&model), 2000);
        for t in 1..=steps {
            let length = distance(&model).max(1e-9);
            let gradient: Vec<f32> =
                model.iter().zip(point).map(|(x, p)| (f64::from(x - p) / length) as f32).collect();
            let mut tally = mechanism.tally().unwrap();
            for _ in 0..n {
                let report = mechanism.randomize(Some(&gradient), &mut rng).unwrap();
                mechanism.add(&mut tally, &report).unwrap();
            }
            let mean = mechanism.estimate(&tally).unwrap().mean;
            model.iter_mut().zip(mean).for_each(|(x, g)| *x -= (run.step_size(t) * g) as f32);
            run.project(&mut model);
        }
        let bound = run.excess_bound(steps);
        assert!(bound < start, "{bound} says nothing about {start}");
        assert!(distance(&model) <= bound, "{} {bound}", distance(&model));
    }

    #[test]
    fn projection_is_onto_the_ball() {
        let run = Convergence::new(10, 2, 1.0, 4.0, epsilon(1.0)).unwrap();
        let mut inside = [1.2f32, -1.6];
        run.project(&mut inside);
        assert_eq!(inside, [1.2, -1.6]);
        let mut outside = [3.0f32, -4.0];
        run.project(&mut outside);
        assert!((outside[0] - 1.2).abs() < 1e-6 && (outside[1] + 1.6).abs() < 1e-6);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Convergence::new(1, 2, 1.0, 1.0, epsilon(1.0)).is_err());
        assert!(Convergence::new(10, 0, 1.0, 1.0, epsilon(1.0)).is_err());
        assert!(Convergence::new(10, 2, 0.0, 1.0, epsilon(1.0)).is_err());
        for bad in [0.0, f64::NAN, f64::INFINITY] {
            assert!(Convergence::new(10, 2, 1.0, bad, epsilon(1.0)).is_err());
        }
        assert!(Convergence::new(10, 2, 1.0, 1.0, Epsilon::ZERO).is_err());
    }
}
