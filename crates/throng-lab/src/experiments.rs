//! The paper's tables and figures, measured again: what it printed, what its own rules give, what Throng gives.

mod census;
mod child;
mod conclusion;
mod crowds;
mod fragments;
mod heavy_hitters;
mod horse;
mod horse_sketch;
mod lab;
pub mod learning;
mod map;
mod no_fragmenting;
mod real_data;
mod remarks;
pub mod report;
mod runs;
mod sizes;
mod statistics;
mod tail;
mod unified;

use anyhow::{Context, Result};
use serde::Serialize;

use throng_analyze::Picture;
use throng_plot::plot::Plot;
pub use lab::Lab;

/// What `throng experiment` can run.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, in one line.
    pub about: &'static str,
    /// Measures it.
    pub run: fn(&Lab) -> Result<Section>,
}

/// All experiments but [`learning`], in the order of the paper.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "real-data",
        about: "flights, first names, words and a census: what a newcomer reads first",
        run: real_data::run,
    },
    Experiment {
        name: "datasets",
        about: "the four data sets and their distributions",
        run: statistics::run,
    },
    Experiment {
        name: "heavy-hitters",
        about: "which of the top 10,000 values are found (real-1-crowd)",
        run: heavy_hitters::run,
    },
    Experiment { name: "tail", about: "how far down the tail each way of reporting reaches", run: tail::run },
    Experiment {
        name: "unified",
        about: "four data sets, four ways to report (unified_attr)",
        run: unified::run,
    },
    Experiment {
        name: "no-fragmenting",
        about: "what whole reports guarantee (central_no_attr)",
        run: no_fragmenting::run,
    },
    Experiment { name: "horse", about: "Horse with report fragments (horse-1-crowd)", run: horse::run },
    Experiment {
        name: "horse-sketch",
        about: "Horse in a sketch, and without privacy",
        run: horse_sketch::run,
    },
    Experiment { name: "runs", about: "one, two or five LDP runs (horse_1_report)", run: runs::runs },
    Experiment {
        name: "hashes",
        about: "one, two or five hash functions (horse_1_sketch_report)",
        run: runs::hashes,
    },
    Experiment { name: "map", about: "Map with report fragments (map-1-crowd)", run: map::run },
    Experiment { name: "child", about: "Child with report fragments (girl-1-crowd)", run: child::run },
    Experiment {
        name: "location",
        about: "locations at epsilon_central 0.5 (the first figure)",
        run: map::location,
    },
    Experiment {
        name: "crowds",
        about: "labelled crowds: randomized deletion, equal partitions, labels made from the data (Section V)",
        run: crowds::run,
    },
    Experiment {
        name: "census",
        about: "records of eight attributes: one sampled attribute against a split budget (Section II.B)",
        run: census::run,
    },
    Experiment {
        name: "sketch-sizes",
        about: "a deployed sketch size against tuned sizes against one bit per value",
        run: sizes::run,
    },
    Experiment {
        name: "remarks",
        about: "what the paper says in passing: instances, fragments, resets, errors, dozens of people, Renyi",
        run: remarks::run,
    },
];

impl Experiment {
    /// The experiment of a name.
    pub fn named(name: &str) -> Result<&'static Self> {
        let names = || {
            EXPERIMENTS
                .iter()
                .map(|experiment| experiment.name)
                .chain([learning::NAME])
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = EXPERIMENTS.iter().find(|experiment| experiment.name == name);
        found
            .with_context(|| format!("there is no experiment called {name:?}; use all or one of {}", names()))
    }
}

/// One table or figure of the paper (or a question that it only argues), measured.
#[derive(Clone, Debug)]
pub struct Section {
    /// The name on the command line, for example `horse`.
    pub name: &'static str,
    /// A heading.
    pub title: String,
    /// What a reader should know before and should take away, in paragraphs of plain text.
    pub text: Vec<String>,
    /// The cells.
    pub rows: Vec<Row>,
    /// What a person would rather look at.
    pub figures: Vec<Figure>,
    /// How long it took.
    pub seconds: f64,
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The table, by the paper's label where it has one, for example `horse-1-crowd`.
    pub table: &'static str,
    /// Which cell, in words: `epsilon_central 0.25, tau 4: RMSE`.
    pub cell: String,
    /// What the paper printed.
    pub paper: Option<f64>,
    /// What we measure by the paper's own accounting and post-processing.
    pub paper_rule: Option<f64>,
    /// What Throng gives at the same central guarantee.
    pub throng: Option<f64>,
    /// What a trusted party that adds Gaussian noise gives at the same central guarantee.
    pub gaussian: Option<f64>,
    /// How closely `paper_rule` should agree with `paper`.
    pub should_agree: Agreement,
    /// Whether it does; without a printed value, whether ours is what theory expects.
    pub agrees: bool,
    /// What was compared, and how closely: `within 0.01 of the paper`.
    pub tolerance: String,
    /// What a reader should know about this cell, for example why the paper's number is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Section {
    /// A section without contents yet.
    pub fn new(name: &'static str, title: impl Into<String>) -> Self {
        Self { name, title: title.into(), text: vec![], rows: vec![], figures: vec![], seconds: 0.0 }
    }
}

impl Row {
    /// A cell that the paper prints: does the paper's own rule, as we evaluate it, come within `tolerance` of it?
    pub fn exact(
        table: &'static str,
        cell: impl Into<String>,
        paper: f64,
        rule: f64,
        tolerance: f64,
    ) -> Self {
        Self {
            table,
            cell: cell.into(),
            paper: Some(paper),
            paper_rule: Some(rule),
            throng: None,
            gaussian: None,
            should_agree: Agreement::Exact,
            agrees: (paper - rule).abs() <= tolerance * (1.0 + 1e-9),
            tolerance: format!("within {tolerance} of the paper"),
            note: None,
        }
    }

    /// A cell that the paper prints for other data of the same size: is ours within a factor of it?
    pub fn scale(table: &'static str, cell: impl Into<String>, paper: f64, rule: f64, factor: f64) -> Self {
        let ratio = rule / paper;
        Self {
            should_agree: Agreement::Scale,
            agrees: ratio <= factor && ratio >= 1.0 / factor,
            tolerance: format!("within a factor of {factor} of the paper"),
            ..Self::exact(table, cell, paper, rule, 0.0)
        }
    }

    /// A cell that the paper does not print: does a statement about it hold?
    pub fn order(
        table: &'static str,
        cell: impl Into<String>,
        holds: bool,
        statement: impl Into<String>,
    ) -> Self {
        Self {
            paper: None,
            paper_rule: None,
            should_agree: Agreement::Order,
            agrees: holds,
            tolerance: statement.into(),
            ..Self::exact(table, cell, 0.0, 0.0, 0.0)
        }
    }

    /// With what Throng gives.
    pub fn throng(self, value: f64) -> Self {
        Self { throng: Some(value), ..self }
    }

    /// With what the paper's rule gives.
    pub fn rule(self, value: f64) -> Self {
        Self { paper_rule: Some(value), ..self }
    }

    /// With what a trusted party gives.
    pub fn gaussian(self, value: f64) -> Self {
        Self { gaussian: Some(value), ..self }
    }

    /// With a sentence for the reader.
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// The paper's number is wrong, for this reason; what we get by its rule is right if `holds`.
    pub fn paper_error(self, holds: bool, why: impl Into<String>) -> Self {
        Self { should_agree: Agreement::PaperError, agrees: holds, note: Some(why.into()), ..self }
    }

    /// Also requires that the measured error is what theory expects, to a relative tolerance.
    pub fn theory(self, measured: f64, expected: f64, tolerance: f64) -> Self {
        let agrees = self.agrees && (measured / expected - 1.0).abs() <= tolerance;
        let tolerance =
            format!("{}; unclipped error within {} % of theory", self.tolerance, 100.0 * tolerance);
        Self { agrees, tolerance, ..self }
    }
}

/// How closely a cell should agree with the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// To the last printed digit or nearly: epsilons, bits, sigmas.
    Exact,
    /// In scale: the data has the size of the paper's, not its content.
    Scale,
    /// In order only: which of two is better.
    Order,
    /// The paper's number is wrong, and the note says why.
    PaperError,
}

/// Something to look at.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of its files, without an extension: letters, digits and `-`.
    pub name: String,
    /// A line below it.
    pub caption: String,
    /// What is drawn.
    pub image: Image,
}

/// What a figure shows.
#[derive(Clone, Debug)]
pub enum Image {
    /// A picture, shown in gray.
    Picture(Picture),
    /// A plot, shown as SVG.
    Plot(Plot),
}
