//! Default hyperparameters: settings that suit the data and the model, where nobody chose others.
//!
//! Rates are stated for reports of ε 1.9 and scaled to other noise: under noise the best rate goes with the inverse of the
//! noise of a step, up to what suits a training without any. Where they come from:
//!
//! | settings | source |
//! |---|---|
//! | clipping norms, tanh, averaging, and all rates but those of tables | a prototype, which looked at test examples |
//! | rates of edges, of tables, and of the paper's network at 2,000 steps (3 candidates) | then the best on held-out training examples |
//! | rates of the network at fewer steps, of pixels, and of pools with stride 2 | not tried again |
//! | rates of learned features | those of edges |
//! | without noise: the network (of 0.1, 0.3 and 1), pixels (of 0.03, 0.1, 0.3 and 1), tables (of 2, 4, 8, 10, 12, 15 and 30) | the best on held-out training examples, in one short run each |

use throng_learn::{Average, Rate};

use super::ModelName;
use throng_simulate::dataset::PictureSet;

/// The hyperparameters that suit some data and a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Defaults {
    pub(crate) batch: u64,
    pub(crate) steps: u64,
    /// How many reports of one example simulate a batch.
    pub(crate) reports_each: u32,
    pub(crate) clip: f64,
    pub(crate) average: Average,
}

impl Defaults {
    /// For some data and a model; `quiet` says that reports go through PrivUnit, which is worth more of them.
    pub(crate) fn of(set: Option<PictureSet>, model: ModelName, quiet: bool) -> Self {
        let last = Self { batch: 10_000, steps: 200, reports_each: 1, clip: 1.0, average: Average::Last };
        let long = Self { batch: 60_000, steps: 500, average: Average::SecondHalf, ..last };
        match (model, set) {
            (ModelName::Cnn | ModelName::CnnStride2, _) => {
                Self { steps: 2_000, reports_each: 20, clip: 0.05, ..last }
            }
            // Everybody in every step: the noise of a step is then least, and nobody has to hide who was asked.
            (_, None) => Self { batch: u64::MAX, steps: 60, average: Average::SecondHalf, ..last },
            (_, Some(PictureSet::Cifar10)) => Self { batch: 50_000, ..long },
            _ if quiet => long,
            _ => last,
        }
    }

    /// The learning rates of a training of `steps` steps. `noise` is the standard deviation on each coordinate of a step's mean
    /// gradient, in clipping norms; `None` without noise.
    pub(crate) fn rate(
        self,
        set: Option<PictureSet>,
        model: ModelName,
        average: Average,
        steps: u64,
        noise: Option<f64>,
    ) -> Rate {
        let steps = steps as f64;
        let scaled = |length: f64, most: f64, plain: f64| match noise {
            // What ε 1.9 and 10,000 reports have is what rates are stated for.
            Some(noise) => (length * (NOISE / noise)).min(most) / self.clip,
            // Without noise nothing is clipped either.
            None => plain,
        };
        match model {
            ModelName::Cnn | ModelName::CnnStride2 => {
                let start = scaled(cnn_length(steps), 1.0, 0.3);
                Rate::Linear { start, end: 0.05 * start }
            }
            ModelName::Linear | ModelName::Hog | ModelName::Pretrained => {
                let (length, most, plain) = match (model, set) {
                    (ModelName::Hog | ModelName::Pretrained, _) => (3.0, 30.0, 30.0),
                    (_, Some(_)) => (0.3, 1.0, 1.0),
                    (_, None) => (2.2, 12.0, 8.0),
                };
                // An average of many models takes the noise out that a larger rate lets in.
                let averaged = match (average, set) {
                    (Average::Last, _) => 1.0,
                    (_, Some(PictureSet::FashionMnist)) => 3.4,
                    _ => 1.36,
                };
                Rate::Constant(scaled(averaged * length * (200.0 / steps).sqrt(), most, plain))
            }
        }
    }
}

/// How far a step of the paper's network goes, in clipped gradients: measured at a few numbers of steps, and between them
/// a straight line over the logarithm.
fn cnn_length(steps: f64) -> f64 {
    let at = [(86.0, 1.0), (250.0, 0.6), (600.0, 0.4), (1_500.0, 0.3)];
    let steps = f64::clamp(steps, at[0].0, at[3].0);
    let between = at.windows(2).find(|pair| steps <= pair[1].0).unwrap_or(&at[2..]);
    let [(low, from), (high, to)] = [between[0], between[1]];
    from + (to - from) * (steps / low).ln() / f64::ln(high / low)
}

/// The standard deviation of each coordinate of the mean of 10,000 reports of ε 1.9, in clipping norms.
const NOISE: f64 = 0.016_94;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_longer_where_there_are_fewer_or_less_noise() {
        assert_eq!((cnn_length(10.0), cnn_length(86.0), cnn_length(5e6)), (1.0, 1.0, 0.3));
        assert!((cnn_length(250.0) - 0.6).abs() < 1e-12 && (0.3..0.4).contains(&cnn_length(1_000.0)));
        let paper = Defaults::of(Some(PictureSet::Mnist), ModelName::Cnn, false);
        let rate = |noise| {
            paper.rate(Some(PictureSet::Mnist), ModelName::Cnn, paper.average, 2_000, noise).at(0, 2_000)
        };
        assert!((rate(Some(NOISE)) - 6.0).abs() < 1e-9, "what was measured");
        assert!((rate(Some(2.0 * NOISE)) - 3.0).abs() < 1e-9);
        assert!((rate(Some(1e-4 * NOISE)) - 20.0).abs() < 1e-9, "noise is no longer what limits it");
        assert_eq!(rate(None), 0.3, "nothing is clipped");
        let table = Defaults::of(None, ModelName::Linear, false);
        let rate = |noise| table.rate(None, ModelName::Linear, table.average, 60, noise).at(0, 60);
        assert_eq!((rate(None), rate(Some(1e-4 * NOISE))), (8.0, 12.0));
    }
}
