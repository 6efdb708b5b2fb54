//! The paper's tables and figures, measured again: what it printed, what its own rules give, what Throng gives.

pub mod report;

use serde::Serialize;

use crate::picture::Picture;
use crate::plot::Plot;

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
