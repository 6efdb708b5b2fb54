//! Drawings of releases, and crowds to try a plan on: pictures and distributions, simulated at once.

use anyhow::{Result, bail, ensure};
use throng_account::Refusal;
use throng_analyze::{Picture, log_spaced, ranks, rmse};
use throng_host::net::Problem;
use throng_plot::Png;
use throng_plot::rank_plot::estimates_by_rank;
use throng_plot::terminal::shrunk;
use throng_serve::Raster;
use throng_serve::dashboard::{problem, too_much};
use throng_serve::studio::{RankPlot, Sample, SampleResult, Studio, StudioError, Trial};
use throng_simulate::dataset::drawing::{cat, shares};
use throng_simulate::dataset::{Dataset, Generator};
use throng_simulate::simulation::{Mode, Simulation};

/// Everything that this project can draw and simulate.
#[derive(Clone, Copy, Debug, Default)]
pub struct LabStudio;

impl Studio for LabStudio {
    fn png(&self, picture: &Picture) -> Result<Vec<u8>, StudioError> {
        Ok(picture.to_png()?)
    }

    fn ranks(&self, plot: &RankPlot<'_>) -> Result<[Vec<u8>; 2], StudioError> {
        let plot = estimates_by_rank(plot.title, plot.by_rank, plot.estimates, plot.threshold);
        Ok([plot.to_svg()?.into_bytes(), plot.to_png()?])
    }

    fn sample(&self, name: &str, domain: u64, respondents: u64) -> Result<Box<dyn Sample>, StudioError> {
        let crowd = Crowd::named(name, domain, respondents)?;
        Ok(Box::new(NamedCrowd { name: name.to_owned(), crowd }))
    }
}

/// The names of the samples.
const SAMPLES: [&str; 7] = ["cat", "horse", "portrait", "map", "zipf", "heavy-hitters", "uniform"];

struct NamedCrowd {
    name: String,
    crowd: Crowd,
}

/// A crowd whose truth is known.
enum Crowd {
    /// A picture: each unit of light is as many respondents as any other.
    Picture(Picture),
    /// A formula.
    Counts(Vec<u64>),
}

impl Crowd {
    /// The sample of a name, with about this many values and exactly this many respondents.
    fn named(name: &str, domain: u64, respondents: u64) -> Result<Self> {
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
                    None => bail!("{name} is no picture"),
                };
            }
            "zipf" => Generator::Zipf { exponent: EXPONENT, respondents, domain },
            "heavy-hitters" => Generator::HeavyHitters { share: Generator::SHARE, respondents, domain },
            "uniform" => Generator::Uniform { respondents, domain },
            _ => bail!("there is no such sample; there are {}", SAMPLES.join(", ")),
        };
        Ok(Self::Counts(Dataset::generate(&generator)?.counts().to_vec()))
    }
}

impl Sample for NamedCrowd {
    fn domain(&self) -> u64 {
        match &self.crowd {
            Crowd::Picture(picture) => picture.domain(),
            Crowd::Counts(counts) => counts.len() as u64,
        }
    }

    fn tried(&self, trial: &Trial<'_>) -> Result<SampleResult, Problem> {
        self.crowd.tried(&self.name, trial).map_err(told)
    }
}

/// What the dashboard says of a trial that failed.
fn told(error: anyhow::Error) -> Problem {
    let refused = |error: anyhow::Error| match error.downcast::<Refusal>() {
        Ok(refusal) => refusal.into(),
        Err(error) => throng_host::Error::invalid(format!("{error:#}")).into(),
    };
    error.downcast::<Problem>().unwrap_or_else(|error| problem(&refused(error)))
}

impl Crowd {
    fn tried(&self, name: &str, trial: &Trial<'_>) -> Result<SampleResult> {
        let &Trial { survey, threshold, seed, wanted } = trial;
        let mechanism = survey.mechanism()?;
        if mechanism.attributes() > CELLS_MAX {
            let cells = mechanism.attributes();
            let detail =
                format!("a sketch of {cells} cells is more than the {CELLS_MAX} that are tried here{ADVICE}");
            return Err(too_much(detail).into());
        }
        let counts = match self {
            Self::Picture(picture) => shares(picture, survey.crowd.respondents_min)?,
            Self::Counts(counts) => counts.clone(),
        };
        // One thread, since batches that are counted meanwhile come first.
        let simulation =
            Simulation { mechanism: &mechanism, counts: &counts, mode: Mode::Aggregate, seed, threads: 1 };
        let estimates = simulation.run_while(|_| Ok(wanted(ADVICE)?))?.estimates;
        let estimated = estimates.counts();
        let significant = || (0..counts.len()).filter(|&value| estimated[value] > threshold);
        let errors = counts.iter().zip(estimated).map(|(&truth, estimate)| (estimate - truth as f64).abs());
        let mut tried = SampleResult {
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
                tried.truth = Some(Raster::of(&picture.redrawn(&truth), Some(held)));
                tried.estimate = Some(Raster::of(&picture.redrawn(&scaled), Some(seen)));
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

/// A picture in about `domain` pixels, of the same shape; never in more than it has.
fn fitted(picture: &Picture, domain: u64) -> Result<Picture> {
    if domain >= picture.domain() {
        return Ok(picture.clone());
    }
    let factor = (domain as f64 / picture.domain() as f64).sqrt();
    let scaled = |side: u32| ((f64::from(side) * factor).round() as usize).max(1);
    let (width, height) = (scaled(picture.width()), scaled(picture.height()));
    Ok(Picture::new(width as u32, height as u32, shrunk(picture, width, height).concat())?)
}

/// More would not be drawn while somebody moves a slider.
const DOMAIN_MAX: u64 = 1 << 18;
/// The paper's sketch; it takes a thread some seconds.
const CELLS_MAX: u64 = 1 << 26;
const EXPONENT: f64 = 1.1;
/// What to do about more.
const ADVICE: &str = ": choose fewer values, or plan without a sample; `throng simulate` takes its time";

#[cfg(test)]
mod tests {
    use super::*;
    use throng_survey::Survey;
    use throng_testing::survey::{SURVEY, with};

    #[test]
    fn samples_have_about_the_values_that_were_asked_for() {
        for name in SAMPLES {
            let domain = LabStudio.sample(name, 500, 10_000).unwrap().domain();
            assert!((420..=580).contains(&domain), "{name}: {domain}");
            if let Crowd::Counts(counts) = Crowd::named(name, 500, 10_000).unwrap() {
                assert_eq!(counts.iter().sum::<u64>(), 10_000, "{name}");
            }
        }
        assert_eq!(LabStudio.sample("cat", 100_000, 10).unwrap().domain(), 784, "no more than it has");
        assert!(LabStudio.sample("dog", 500, 10).is_err() && LabStudio.sample("zipf", 1 << 20, 10).is_err());
    }

    #[test]
    fn a_sample_is_tried_while_it_is_wanted_and_not_too_large() {
        let sketch = |rows: u32, cells: u32| {
            let encoding =
                format!("{{ kind = \"sketch\", domain = 100, rows = {rows}, cells = {cells}, seed = 1 }}");
            Survey::from_toml(&sketched(&encoding)).unwrap()
        };
        let tried = |survey: &Survey, wanted: &(dyn Fn(&str) -> Result<(), Problem> + Sync)| {
            let sample = LabStudio.sample("zipf", 100, 10_000).unwrap();
            sample.tried(&Trial { survey, threshold: 1.0, seed: 1, wanted })
        };
        assert!(tried(&sketch(4, 256), &|_| Ok(())).is_ok());
        let late =
            tried(&sketch(4, 256), &|advice| Err(too_much(format!("too long{advice}")))).err().unwrap();
        let large = tried(&sketch(1024, 1 << 17), &|_| Ok(())).err().unwrap();
        assert_eq!([&late, &large].map(|one| one.name.as_ref()), ["too-much", "too-much"]);
        assert!(
            late.detail.contains("too long") && large.detail.contains("134217728 cells"),
            "{late} {large}"
        );
    }

    fn sketched(encoding: &str) -> String {
        let fields = [
            ("name", r#""words""#),
            ("question", r#""Which word?""#),
            ("encoding", encoding),
            ("randomizer", r#"{ kind = "attribute-fragments", epsilon_local = 2.0 }"#),
            ("crowd", r#"{ respondents_min = 10000, honest_fraction = 1.0, enrolment = "credential" }"#),
            ("delivery", r#"{ instances = 3, hops = 2, envelopes = 200, cover = "chaff" }"#),
            ("claim", r#"{ epsilon_central = 1.5, delta = 1e-6, neighbors = "removal", bound = "exact" }"#),
        ];
        with(SURVEY, &fields)
    }
}
