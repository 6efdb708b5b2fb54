//! The studio: an interface to whatever draws and simulates.
//!
//! Parties do neither. Whoever starts one hands in a studio, or none: then a release has no drawings, and plans are not tried
//! on samples.

use std::fmt::Debug;

use serde::Serialize;
use throng_analyze::Picture;
use throng_dp::Estimates;
use throng_survey::Survey;

use crate::Raster;
use throng_host::net::Problem;

/// Draws releases, and tries plans on crowds whose truth is known.
pub trait Studio: Debug + Send + Sync {
    /// A picture as a PNG file.
    fn png(&self, picture: &Picture) -> Result<Vec<u8>, StudioError>;

    /// A plot of estimates by rank, as an SVG and as a PNG file.
    fn ranks(&self, plot: &RankPlot<'_>) -> Result<[Vec<u8>; 2], StudioError>;

    /// The sample crowd of a name, with about this many values and exactly this many respondents.
    fn sample(&self, name: &str, domain: u64, respondents: u64) -> Result<Box<dyn Sample>, StudioError>;
}

/// Why something was not drawn or simulated.
pub type StudioError = Box<dyn std::error::Error + Send + Sync>;

/// Estimates in the order of their ranks.
#[derive(Clone, Copy, Debug)]
pub struct RankPlot<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// The values, the largest estimate first.
    pub by_rank: &'a [usize],
    /// What is estimated of each.
    pub estimates: &'a Estimates,
    /// Where noise ends.
    pub threshold: f64,
}

/// A crowd whose truth is known.
pub trait Sample {
    /// How many values it has.
    fn domain(&self) -> u64;

    /// What a survey makes of it, for as long as that is wanted.
    fn tried(&self, trial: &Trial<'_>) -> Result<SampleResult, Problem>;
}

/// A survey to try.
#[derive(Clone, Copy)]
pub struct Trial<'a> {
    /// The survey.
    pub survey: &'a Survey,
    /// Where the plan says that noise ends.
    pub threshold: f64,
    /// Which of many runs.
    pub seed: u64,
    /// Fails once nobody waits for it any more, or it takes too long: with this advice.
    pub wanted: &'a (dyn Fn(&str) -> Result<(), Problem> + Sync),
}

/// What a survey makes of a sample.
#[derive(Debug, Serialize)]
pub struct SampleResult {
    /// Its name.
    pub sample: String,
    /// Which of many runs.
    pub seed: u64,
    /// Root of the mean squared error over all values.
    pub rmse: f64,
    /// The largest error.
    pub largest_error: f64,
    /// How many values exceed the plan's noise threshold.
    pub significant: u64,
    /// How many of these somebody holds.
    pub significant_held: u64,
    /// How many values somebody holds.
    pub held: u64,
    /// A picture of the truth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<Raster>,
    /// A picture of the estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Raster>,
    /// Rank, true count, estimate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<(usize, u64, f64)>,
}
