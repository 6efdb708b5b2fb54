//! What a crowd holds: how many respondents hold each value. The truth of a simulation.

use crate::picture::Picture;

/// A histogram of true values.
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

    /// The number of respondents.
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
}
