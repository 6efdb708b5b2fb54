//! Crowds to try a plan on: pictures and distributions, simulated at once.

use std::thread::available_parallelism;

use anyhow::{Result, ensure};
use serde::Serialize;
use throng_analyze::rmse;
use throng_wire::Survey;

use super::picture::Drawn;
use crate::commands::demo::{cat, shares};
use crate::dataset::{Dataset, Generator};
use crate::picture::Picture;
use crate::rank_plot::{log_spaced, ranks};
use crate::simulation::{Mode, Simulation};
use crate::terminal::shrunk;

/// A crowd whose truth is known.
pub(super) enum Sample {
    /// A picture: each unit of light is as many respondents as any other.
    Picture(Picture),
    /// A formula.
    Counts(Vec<u64>),
}

/// The names of the samples.
pub(super) const SAMPLES: [&str; 7] = ["cat", "horse", "portrait", "map", "zipf", "heavy-hitters", "uniform"];

/// What a survey makes of it.
#[derive(Serialize)]
pub(super) struct Tried {
    sample: String,
    seed: u64,
    /// Root of the mean squared error over all values.
    rmse: f64,
    /// The largest error.
    largest_error: f64,
    /// How many values exceed the plan's noise threshold.
    significant: u64,
    /// How many of these somebody holds.
    significant_held: u64,
    /// How many values somebody holds.
    held: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<Drawn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<Drawn>,
    /// Rank, true count, estimate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ranks: Vec<(usize, u64, f64)>,
}

impl Sample {
    /// The sample of a name, with about this many values and exactly this many respondents.
    pub(super) fn named(name: &str, domain: u64, respondents: u64) -> Result<Self> {
        ensure!(
            domain <= DOMAIN_MAX,
            "a sample has at most {DOMAIN_MAX} values; plan larger ones without one"
        );
        let generator = match name {
            "cat" => return Ok(Self::Picture(fitted(&cat()?, domain)?)),
            "horse" | "portrait" | "map" => {
                let dataset = Dataset::built_in(name)?;
                let canvas = dataset.canvas().map(|canvas| &canvas.picture);
                return match canvas {
                    Some(picture) => Ok(Self::Picture(fitted(picture, domain)?)),
                    None => anyhow::bail!("{name} is no picture"),
                };
            }
            "zipf" => Generator::Zipf { exponent: EXPONENT, respondents, domain },
            "heavy-hitters" => Generator::HeavyHitters { share: Generator::SHARE, respondents, domain },
            "uniform" => Generator::Uniform { respondents, domain },
            _ => anyhow::bail!("there is no such sample; there are {}", SAMPLES.join(", ")),
        };
        Ok(Self::Counts(Dataset::generate(&generator)?.counts().to_vec()))
    }

    /// How many values it has.
    pub(super) fn domain(&self) -> u64 {
        match self {
            Self::Picture(picture) => picture.domain(),
            Self::Counts(counts) => counts.len() as u64,
        }
    }

    /// A survey on it.
    pub(super) fn tried(&self, name: &str, survey: &Survey, threshold: f64, seed: u64) -> Result<Tried> {
        let counts = match self {
            Self::Picture(picture) => shares(picture, survey.crowd.respondents_min)?,
            Self::Counts(counts) => counts.clone(),
        };
        let mechanism = survey.mechanism()?;
        let threads = available_parallelism()?.get();
        let simulation =
            Simulation { mechanism: &mechanism, counts: &counts, mode: Mode::Aggregate, seed, threads };
        let estimates = simulation.run(|_| ())?.estimates;
        let estimated = estimates.counts();
        let significant = || (0..counts.len()).filter(|&value| estimated[value] > threshold);
        let errors = counts.iter().zip(estimated).map(|(&truth, estimate)| (estimate - truth as f64).abs());
        let mut tried = Tried {
            sample: name.to_owned(),
            seed,
            rmse: rmse(estimated, &counts),
            largest_error: errors.fold(0.0, f64::max),
            significant: significant().count() as u64,
            significant_held: significant().filter(|&value| counts[value] > 0).count() as u64,
            held: counts.iter().filter(|&&count| count > 0).count() as u64,
            truth: None,
            estimate: None,
            ranks: Vec::new(),
        };
        match self {
            Self::Picture(picture) => {
                // Both in one scale: the largest true count is white.
                let most = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
                let truth: Vec<f64> = counts.iter().map(|&count| 255.0 * count as f64 / most).collect();
                let scaled: Vec<f64> = estimated.iter().map(|count| 255.0 * count / most).collect();
                let held = counts.iter().map(|&count| count > 0);
                let seen = estimated.iter().map(|&count| count > threshold);
                tried.truth = Some(Drawn::of(&picture.redrawn(&truth), Some(held)));
                tried.estimate = Some(Drawn::of(&picture.redrawn(&scaled), Some(seen)));
            }
            Self::Counts(_) => {
                let by_rank = ranks(&counts);
                let point = |at: usize| (at + 1, counts[by_rank[at]], estimated[by_rank[at]]);
                tried.ranks = log_spaced(by_rank.len()).map(point).collect();
            }
        }
        Ok(tried)
    }
}

/// A picture in about so many pixels, of the same shape; never in more than it has.
fn fitted(picture: &Picture, domain: u64) -> Result<Picture> {
    if domain >= picture.domain() {
        return Ok(picture.clone());
    }
    let factor = (domain as f64 / picture.domain() as f64).sqrt();
    let scaled = |side: u32| ((f64::from(side) * factor).round() as usize).max(1);
    let (width, height) = (scaled(picture.width()), scaled(picture.height()));
    Picture::new(width as u32, height as u32, shrunk(picture, width, height).concat())
}

/// More would not be drawn while somebody moves a slider.
const DOMAIN_MAX: u64 = 1 << 18;
const EXPONENT: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_about_the_values_that_were_asked_for() {
        for name in SAMPLES {
            let sample = Sample::named(name, 500, 10_000).unwrap();
            let domain = sample.domain();
            assert!((420..=580).contains(&domain), "{name}: {domain}");
            if let Sample::Counts(counts) = &sample {
                assert_eq!(counts.iter().sum::<u64>(), 10_000, "{name}");
            }
        }
        assert_eq!(Sample::named("cat", 100_000, 10).unwrap().domain(), 784, "no more than it has");
        assert!(Sample::named("dog", 500, 10).is_err() && Sample::named("zipf", 1 << 20, 10).is_err());
    }
}
