//! What a training came to, for a program (JSON) and for a person (text).

use std::fmt;

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use serde_json::{Map, Value};

use throng_lab::learning::{Checkpoint, Plan, Point, Statement, accuracies, mean_and_deviation};

/// The result of `throng learn`. The names are stable.
#[derive(Clone, Debug, Serialize)]
pub struct LearnResult {
    /// What was learned from.
    pub data: String,
    /// The model.
    pub model: &'static str,
    /// How many parameters it has.
    pub parameters: usize,
    /// All that decided the training, but for the randomness.
    pub settings: Map<String, Value>,
    /// What it guarantees.
    pub statement: Statement,
    /// The share of examples that it is right about: the mean over all runs.
    pub accuracy: f64,
    /// The standard deviation of single runs.
    pub accuracy_deviation: f64,
    /// Each run's.
    pub accuracies: Vec<f64>,
    /// What saying the most frequent class would be right about.
    pub majority: f64,
    /// How many examples it was measured on.
    pub measured_on: usize,
    /// Whether these are training examples that were held out.
    pub held_out: bool,
    /// The seed of the first run, with which `--seed` repeats all; none if it was secret.
    pub seed: Option<u64>,
    /// The learning curve of each run.
    pub curves: Vec<Vec<Point>>,
    /// What was written.
    pub files: Vec<String>,
    /// How long it took.
    pub seconds: f64,
    /// The most memory that was in use, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

impl LearnResult {
    /// Files, time and memory are left to the caller.
    pub(super) fn of(plan: &Plan, done: &Checkpoint) -> Self {
        let curves = &done.done;
        let accuracies = accuracies(curves);
        let (accuracy, accuracy_deviation) = mean_and_deviation(&accuracies);
        Self {
            data: plan.data.name.clone(),
            model: plan.model.name(),
            parameters: plan.network.dimension(),
            settings: plan.shown(),
            statement: plan.statement.clone(),
            accuracy,
            accuracy_deviation,
            accuracies,
            majority: plan.majority(),
            measured_on: plan.data.test.len(),
            held_out: plan.held_out,
            seed: done.seed(),
            curves: curves.clone(),
            files: Vec::new(),
            seconds: 0.0,
            peak_rss_bytes: None,
        }
    }
}

/// The text for a person.
impl fmt::Display for LearnResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |label: &str, text: String| writeln!(f, "{label:<16}{text}");
        line("data", self.data.clone())?;
        line("model", format!("{}, {} parameters", self.model, HumanCount(self.parameters as u64)))?;
        let runs = match self.accuracies.len() {
            1 => "one run".into(),
            runs => format!("mean of {runs} runs, standard deviation {:.2}", 100.0 * self.accuracy_deviation),
        };
        line("accuracy", format!("{:.2} % ({runs})", 100.0 * self.accuracy))?;
        line(
            "",
            format!(
                "on {} {}; always the most frequent class: {:.2} %",
                HumanCount(self.measured_on as u64),
                if self.held_out { "held-out training examples" } else { "test examples" },
                100.0 * self.majority
            ),
        )?;
        for (at, sentence) in self.statement.sentences().iter().enumerate() {
            for (row, part) in wrapped(sentence, 84).into_iter().enumerate() {
                line(if at + row == 0 { "guarantee" } else { "" }, part)?;
            }
        }
        line(
            "seed",
            match self.seed {
                Some(seed) => format!("{seed} (--seed {seed} repeats it)"),
                None => "secret, since it would undo the noise".into(),
            },
        )?;
        for (at, file) in self.files.iter().enumerate() {
            line(if at == 0 { "files" } else { "" }, file.clone())?;
        }
        let memory =
            self.peak_rss_bytes.map_or(String::new(), |bytes| format!(", {} of memory", HumanBytes(bytes)));
        line("time", format!("{:.2} s{memory}", self.seconds))
    }
}

/// A sentence in lines of at most so many characters, where its words allow it.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
