//! Data sets, the truth of a simulation: how many respondents hold each value.

mod built_in;
mod csv;
pub mod drawing;
mod generator;
mod labelled_examples;
mod picture;
mod records;
mod rows;
mod texts;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use throng_analyze::Picture;

pub use generator::Generator;
pub use labelled_examples::digest_of;
pub use labelled_examples::{LabelledExamples, PictureSet};
pub use records::Records;

/// A histogram of true values: at least one value, and at least one respondent who holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    name: String,
    counts: Vec<u64>,
    labels: Option<Vec<String>>,
    canvas: Option<Canvas>,
}

/// How counts are drawn as a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    /// The picture that the counts came from.
    pub picture: Picture,
    /// How many respondents one unit of luminosity stands for.
    pub respondents_per_unit: f64,
}

impl Dataset {
    /// A dataset from the number of respondents who hold each value.
    pub fn of_counts(name: impl Into<String>, counts: Vec<u64>) -> Result<Self> {
        ensure!(!counts.is_empty(), "there is no value; give at least one");
        ensure!(counts.len() as u64 <= VALUES_MAX, "more than 2^26 values; leave out or merge some");
        let total = counts.iter().try_fold(0, |total, &count| more_respondents(total, count))?;
        ensure!(total > 0, "every count is 0, so nobody would answer; give at least one value a respondent");
        Ok(Self { name: name.into(), counts, labels: None, canvas: None })
    }

    /// The same with about `respondents_max` respondents, never more; unchanged if it has no more than that.
    /// Counts keep their proportions and are rounded down, exactly: count * `respondents_max` / respondents.
    pub fn scaled_down(&self, respondents_max: u64) -> Result<Self> {
        let respondents = self.respondents();
        if respondents <= respondents_max {
            return Ok(self.clone());
        }
        let scaled =
            |&count: &u64| (u128::from(count) * u128::from(respondents_max) / u128::from(respondents)) as u64;
        let counts: Vec<_> = self.counts.iter().map(scaled).collect();
        ensure!(
            counts.iter().any(|&count| count > 0),
            "{respondents_max} respondents are too few for {}: every count would round down to 0; allow more",
            self.name
        );
        let factor = respondents_max as f64 / respondents as f64;
        let canvas = self.canvas.clone().map(|canvas| Canvas {
            respondents_per_unit: canvas.respondents_per_unit * factor,
            picture: canvas.picture,
        });
        Ok(Self { name: self.name.clone(), counts, labels: self.labels.clone(), canvas })
    }

    /// What it is called in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many respondents hold each value; values are numbered from 0.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of values.
    pub fn domain(&self) -> u64 {
        self.counts.len() as u64
    }

    /// The number of respondents, at most 2^63.
    pub fn respondents(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What a value is called: its label, or its number.
    pub fn label(&self, value: usize) -> String {
        self.labels.as_ref().map_or_else(|| value.to_string(), |labels| labels[value].clone())
    }

    /// How its counts are drawn, if it came from a picture.
    pub fn canvas(&self) -> Option<&Canvas> {
        self.canvas.as_ref()
    }

    /// Panics unless there is one label per value.
    fn with_labels(self, labels: Vec<String>) -> Self {
        assert_eq!(labels.len(), self.counts.len(), "one label per value");
        Self { labels: Some(labels), ..self }
    }
}

/// A running total of respondents, which stays within what a sum of counts can hold.
fn more_respondents(total: u64, count: u64) -> Result<u64> {
    total
        .checked_add(count)
        .filter(|&total| total <= RESPONDENTS_MAX)
        .context("more than 2^63 respondents in all; divide every count by the same number")
}

/// What a dataset from a file is called: the file's name without what says how it is stored.
fn name_of(path: &Path) -> String {
    let stem = |path: &Path| path.file_stem().unwrap_or(path.as_os_str()).to_owned();
    let zipped = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let name = if zipped { stem(Path::new(&stem(path))) } else { stem(path) };
    name.to_string_lossy().into_owned()
}

/// More would need gigabytes, and no picture can have more pixels either.
const VALUES_MAX: u64 = 1 << 26;
const RESPONDENTS_MAX: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_has_values_and_respondents() {
        let one = Dataset::of_counts("one", vec![1]).unwrap();
        assert_eq!((one.domain(), one.respondents(), one.label(0)), (1, 1, "0".into()));
        let gap = Dataset::of_counts("gap", vec![3, 0, 5_000_000_000]).unwrap();
        assert_eq!((gap.domain(), gap.respondents()), (3, 5_000_000_003));
        assert_eq!(Dataset::of_counts("most", vec![1 << 62, 1 << 62]).unwrap().respondents(), 1 << 63);

        let complaint = |counts| Dataset::of_counts("bad", counts).unwrap_err().to_string();
        assert!(complaint(vec![]).contains("no value"));
        assert!(complaint(vec![0, 0]).contains("nobody would answer"));
        assert!(complaint(vec![1 << 62, 1 << 62, 1]).contains("2^63"));
        assert!(complaint(vec![u64::MAX, 1]).contains("2^63"));
    }

    #[test]
    fn counts_scale_down_in_proportion() {
        let words = Dataset::of_counts("words", vec![600_000_000_000, 299_999_999_999, 1, 0]).unwrap();
        let fewer = words.scaled_down(9_000_000).unwrap();
        assert_eq!(fewer.counts(), [6_000_000, 2_999_999, 0, 0]);
        assert_eq!((fewer.name(), fewer.domain()), ("words", 4));
        assert_eq!(words.scaled_down(words.respondents()).unwrap(), words);
        // Beyond 2^53, where a double would round.
        let huge = Dataset::of_counts("huge", vec![(1 << 62) + 2, (1 << 62) - 2]).unwrap();
        assert_eq!(huge.scaled_down(1 << 62).unwrap().counts(), [(1 << 61) + 1, (1 << 61) - 1]);

        let flat = Dataset::of_counts("flat", vec![1; 100]).unwrap();
        assert!(flat.scaled_down(99).unwrap_err().to_string().contains("allow more"));
        assert!(flat.scaled_down(0).is_err());
    }

    #[test]
    fn a_scaled_picture_is_drawn_as_bright_as_before() {
        let picture = Picture::new(2, 1, vec![100, 200]).unwrap();
        let scaled = Dataset::of_picture("two", picture.clone(), 10.0).unwrap().scaled_down(300).unwrap();
        assert_eq!(scaled.counts(), [100, 200]);
        assert_eq!(scaled.canvas().unwrap().draw(&[100.0, 200.0]), picture);
    }

    #[test]
    fn a_file_gives_its_dataset_a_name() {
        let name = |path| name_of(Path::new(path));
        assert_eq!(name("data/us_flight_routes.csv.gz"), "us_flight_routes");
        assert_eq!(
            (name("map.png"), name("v1.2.csv"), name("plain")),
            ("map".into(), "v1.2".into(), "plain".into())
        );
    }
}
