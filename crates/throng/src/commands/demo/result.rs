//! What the demo measured, for a program (JSON) and for a person (text).

use std::fmt;

use anyhow::Result;
use indicatif::HumanCount;
use serde::Serialize;
use throng_analyze::{Accuracy, rmse};
use throng_dp::estimate::clip;
use throng_dp::{LocalGuarantee, Mechanism, Neighbors};

use crate::dataset::Dataset;
use crate::picture::Picture;
use crate::simulation::Simulated;

/// The result of `throng demo`. The names are stable.
///
/// Errors are in respondents per pixel, and measured on the unbiased estimates unless a name says otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct DemoResult {
    /// What each report guarantees, whatever happens to it afterwards.
    pub epsilon_local: f64,
    /// The neighbor relation of `epsilon_local`.
    pub neighbors: &'static str,
    /// How many took part.
    pub respondents: u64,
    /// How many values there are: the pixels.
    pub domain: u64,
    /// Columns of the picture.
    pub width: u32,
    /// Rows of the picture.
    pub height: u32,
    /// Set bits in a report, on average, by theory.
    pub fragments_per_respondent_expected: f64,
    /// Set bits in a report, on average, as counted.
    pub fragments_per_respondent_measured: f64,
    /// Root of the mean squared error over all pixels.
    pub rmse: f64,
    /// What theory says `rmse` is close to.
    pub standard_error_expected: f64,
    /// `rmse` of the estimates moved into [0, 255]: smaller, and biased.
    pub rmse_clipped: f64,
    /// The standard error of a pixel that nobody holds.
    pub noise_floor: f64,
    /// The largest error.
    pub simultaneous_error: SimultaneousError,
    /// The pixels that stand out of the noise.
    pub heavy_hitters: HeavyHitters,
    /// Whether respondents were simulated.
    pub simulated: bool,
    /// What was simulated and what was real.
    pub simulation: String,
    /// What was written.
    pub files: Vec<String>,
    /// Threads that worked on it.
    pub workers: usize,
    /// From the first report to the estimates.
    pub seconds: f64,
}

/// The largest error over the whole picture.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SimultaneousError {
    /// The probability that any pixel exceeds the bound.
    pub beta: f64,
    /// The bound.
    pub bound: f64,
    /// The largest error seen.
    pub measured: f64,
}

/// The pixels whose estimates stand out of the noise.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct HeavyHitters {
    /// The probability that any of them is held by nobody.
    pub beta: f64,
    /// The estimate above which a pixel is one.
    pub threshold: f64,
    /// How many there are.
    pub found: u64,
    /// How many of these somebody holds.
    pub truly_held: u64,
}

impl DemoResult {
    /// Compares an outcome with the truth that it estimates. Files, workers and seconds are left to the
    /// caller.
    pub fn measure(
        truth: &Picture,
        data: &Dataset,
        mechanism: &Mechanism,
        simulated: &Simulated,
    ) -> Result<Self> {
        let guarantee = mechanism.guarantee();
        let estimates = &simulated.estimates;
        let respondents = estimates.respondents();
        let accuracy = Accuracy::of(estimates, data.counts(), &mechanism.spread_of(data.counts()));
        let bound = estimates.simultaneous_error(BETA)?;
        let heavy = estimates.heavy_hitters(BETA)?;
        let held = heavy.values.iter().filter(|&&at| truth.pixels()[at] > 0).count();
        Ok(Self {
            epsilon_local: guarantee.epsilon().value(),
            neighbors: name_of_neighbors(guarantee),
            respondents,
            domain: truth.domain(),
            width: truth.width(),
            height: truth.height(),
            fragments_per_respondent_expected: mechanism.fragments_expected(),
            fragments_per_respondent_measured: simulated.fragments as f64 / respondents as f64,
            rmse: accuracy.rmse,
            standard_error_expected: accuracy.rmse_expected,
            rmse_clipped: rmse(&clip(estimates.counts(), 0.0, 255.0), data.counts()),
            noise_floor: estimates.noise_floor(),
            simultaneous_error: SimultaneousError { beta: BETA, bound, measured: accuracy.largest_error },
            heavy_hitters: HeavyHitters {
                beta: BETA,
                threshold: heavy.threshold,
                found: heavy.values.len() as u64,
                truly_held: held as u64,
            },
            simulated: true,
            simulation: SIMULATION.replace('\n', " "),
            files: Vec::new(),
            workers: 0,
            seconds: 0.0,
        })
    }
}

/// The text for a person: one line per number, then what was simulated.
impl fmt::Display for DemoResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { simultaneous_error: worst, heavy_hitters: heavy, .. } = self;
        let mut line = |label: &str, text: String| writeln!(f, "{label:<15}{text}");
        line("respondents", format!("{}, one for each unit of luminosity", HumanCount(self.respondents)))?;
        line(
            "domain",
            format!(
                "{} values, the pixels of a picture {} wide and {} high",
                HumanCount(self.domain),
                self.width,
                self.height
            ),
        )?;
        line("epsilon_local", format!("{} ({})", self.epsilon_local, self.neighbors))?;
        line(
            "fragments",
            format!(
                "{:.2} per respondent, {:.2} expected",
                self.fragments_per_respondent_measured, self.fragments_per_respondent_expected
            ),
        )?;
        line(
            "error",
            format!(
                "RMSE {:.2} per pixel, standard error {:.2} expected",
                self.rmse, self.standard_error_expected
            ),
        )?;
        line("", format!("RMSE {:.2} after clipping to [0, 255]", self.rmse_clipped))?;
        line(
            "noise floor",
            format!("{:.2}, the standard error of a pixel that nobody holds", self.noise_floor),
        )?;
        line(
            "largest error",
            format!(
                "{:.1} seen; above {:.1} anywhere with probability at most {}",
                worst.measured, worst.bound, worst.beta
            ),
        )?;
        line(
            "heavy hitters",
            format!(
                "{} pixels estimated above {:.1}, {} of them truly lit;",
                HumanCount(heavy.found),
                heavy.threshold,
                HumanCount(heavy.truly_held)
            ),
        )?;
        line("", format!("a false one among them with probability at most {}", heavy.beta))?;
        for (at, file) in self.files.iter().enumerate() {
            line(if at == 0 { "files" } else { "" }, file.clone())?;
        }
        let threads = if self.workers == 1 { "thread" } else { "threads" };
        line("time", format!("{:.1} s on {} {threads}", self.seconds, self.workers))?;
        writeln!(f, "\n{SIMULATION}")
    }
}

fn name_of_neighbors<N: Neighbors>(_: LocalGuarantee<N>) -> &'static str {
    N::NAME
}

/// For the two statements about the whole picture: the probability that they are wrong.
const BETA: f64 = 0.001;

const SIMULATION: &str = "\
Everything ran in this one process: respondents were simulated from the picture,
and there was no encryption, no network and no shuffler yet. What is real: each
respondent's randomizer, the fragments and the estimator. Only the local
guarantee is stated here, because nothing was shuffled; `throng account` says
what a shuffled crowd would add to it.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Mode, Simulation};
    use throng_dp::{Epsilon, OneHot};

    /// So little noise that every number is known.
    fn result() -> DemoResult {
        let truth = Picture::new(3, 1, vec![200, 0, 100]).unwrap();
        let data = Dataset::of_picture("picture", truth.clone(), 1.0).unwrap();
        let mechanism = Mechanism::OneHot(OneHot::new(3, Epsilon::new(40.0).unwrap()).unwrap());
        let (counts, mode) = (data.counts(), Mode::Respondent);
        let simulation = Simulation { mechanism: &mechanism, counts, mode, seed: 5, threads: 1 };
        DemoResult::measure(&truth, &data, &mechanism, &simulation.run(|_| ()).unwrap()).unwrap()
    }

    #[test]
    fn without_noise_there_is_no_error() {
        let result = result();
        assert_eq!((result.respondents, result.domain), (300, 3));
        assert_eq!(result.fragments_per_respondent_measured, 1.0);
        assert!((result.fragments_per_respondent_expected - 1.0).abs() < 1e-9);
        assert!(result.rmse < 1e-6 && result.rmse_clipped < 1e-6 && result.noise_floor < 1e-6);
        assert!(result.standard_error_expected < 1e-6 && result.simultaneous_error.measured < 1e-6);
        assert_eq!((result.heavy_hitters.found, result.heavy_hitters.truly_held), (2, 2));
    }

    #[test]
    fn the_text_names_the_guarantee_and_what_is_simulated() {
        let text = result().to_string();
        assert!(text.contains("40 (removal)") && text.contains("no shuffler yet"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(!text.contains("epsilon_central"));
    }
}
