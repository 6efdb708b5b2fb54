//! What became of a cell, and how many cells fared alike.

use super::number::shown;
use super::table::Column;
use crate::experiments::{Agreement, Row};

/// What became of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Agrees to the last printed digit or nearly.
    Exact,
    /// Agrees in scale.
    Scale,
    /// Agrees in order.
    Order,
    /// Is as expected, and the paper's number is wrong.
    PaperError,
    /// Does not agree as closely as it should, whatever that is; a disagreement is never counted as anything else.
    Disagrees,
}

impl Verdict {
    pub(super) const ALL: [Self; 5] =
        [Self::Exact, Self::Scale, Self::Order, Self::PaperError, Self::Disagrees];

    pub(super) fn of(row: &Row) -> Self {
        match (row.agrees, row.should_agree) {
            (false, _) => Self::Disagrees,
            (true, Agreement::Exact) => Self::Exact,
            (true, Agreement::Scale) => Self::Scale,
            (true, Agreement::Order) => Self::Order,
            (true, Agreement::PaperError) => Self::PaperError,
        }
    }

    /// What it is called at a cell and above a column of counts.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Scale => "in scale",
            Self::Order => "in order",
            Self::PaperError => "paper's error",
            Self::Disagrees => "disagrees",
        }
    }

    /// What the label means.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Exact => "agrees with the paper to the last printed digit, or nearly",
            Self::Scale => "agrees in scale: the data has the size of the paper's, not its content",
            Self::Order => "agrees in order only: which of two is better",
            Self::PaperError => "the number in the paper is wrong; a note says why",
            Self::Disagrees => "does not agree as closely as it should",
        }
    }
}

/// How closely a cell should have agreed, to be said of one that does not.
pub(super) fn expectation(row: &Row) -> &'static str {
    match row.should_agree {
        Agreement::Exact => "should agree exactly",
        Agreement::Scale => "should agree in scale",
        Agreement::Order => "should agree in order",
        Agreement::PaperError => "differs from what should stand in place of the paper's error",
    }
}

/// What was expected of a cell that disagrees, and what it is.
pub(super) fn complaint(row: &Row) -> String {
    let tolerance = match row.tolerance.as_str() {
        "" => String::new(),
        tolerance => format!(" ({tolerance})"),
    };
    let number = |column: Column| Some(format!("{} {}", column.heading(), shown(column.value(row)?)));
    let numbers: Vec<String> = Column::ALL.into_iter().filter_map(number).collect();
    format!("{}{tolerance}: {}", expectation(row), numbers.join(", "))
}

/// How many cells there are of each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    counts: [usize; Verdict::ALL.len()],
    unprinted: usize,
}

impl Tally {
    pub(super) fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut tally = Self::default();
        for row in rows {
            tally.counts[Verdict::of(row) as usize] += 1;
            tally.unprinted += usize::from(row.paper.is_none());
        }
        tally
    }

    pub(super) fn count(&self, verdict: Verdict) -> usize {
        self.counts[verdict as usize]
    }

    pub(super) fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The first thing to know.
    pub(super) fn headline(&self) -> String {
        match (self.count(Verdict::Disagrees), self.total()) {
            (_, 0) => "No cells were compared.".to_owned(),
            (0, 1) => "The one cell is as it should be.".to_owned(),
            (0, all) => format!("All {all} cells are as they should be."),
            (1, all) => format!("1 of {all} cells disagrees."),
            (some, all) => format!("{some} of {all} cells disagree."),
        }
    }

    /// What the headline leaves out: not every cell has a number in the paper to agree with.
    pub(super) fn remark(&self) -> Option<String> {
        match self.unprinted {
            0 => None,
            1 => Some("For 1 cell the paper prints no number; theory says what to expect.".to_owned()),
            some => Some(format!("For {some} cells the paper prints no number; theory says what to expect.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::sample::row;

    fn tally(cells: &[(Agreement, bool)]) -> Tally {
        let rows: Vec<Row> = cells
            .iter()
            .map(|&(should_agree, agrees)| Row { should_agree, agrees, ..row("a cell") })
            .collect();
        Tally::of(&rows)
    }

    #[test]
    fn every_cell_is_counted_once() {
        use Agreement::{Exact, Order, PaperError, Scale};
        let cells = [Exact, Scale, Scale, Order, Order, Order, PaperError].map(|should| (should, true));
        let some = tally(&[&cells[..], &[(Order, false), (PaperError, false)]].concat());
        assert_eq!(Verdict::ALL.map(|verdict| some.count(verdict)), [1, 2, 3, 1, 2]);
        assert_eq!(some.total(), 9);
    }

    #[test]
    fn the_headline_hides_no_disagreement() {
        let fine = (Agreement::Exact, true);
        let off = (Agreement::Scale, false);
        assert_eq!(tally(&[]).headline(), "No cells were compared.");
        assert_eq!(tally(&[fine]).headline(), "The one cell is as it should be.");
        assert_eq!(tally(&[fine, fine]).headline(), "All 2 cells are as they should be.");
        assert_eq!(tally(&[fine, off]).headline(), "1 of 2 cells disagrees.");
        assert_eq!(tally(&[off, fine, off]).headline(), "2 of 3 cells disagree.");
    }

    #[test]
    fn a_complaint_says_what_was_expected_and_what_is() {
        let off = Row { agrees: false, throng: None, paper_rule: Some(1821.02), ..row("off") };
        assert_eq!(
            complaint(&off),
            "should agree exactly (within 1 %): paper 1, paper's own rule 1,821.02, central Gaussian 0.25"
        );
        let bare = Row { tolerance: String::new(), should_agree: Agreement::Order, paper: None, ..off };
        assert!(complaint(&bare).starts_with("should agree in order: paper's own rule"));
    }

    #[test]
    fn cells_without_a_printed_number_are_owned_up_to() {
        let printed = row("printed");
        let unprinted = Row { paper: None, ..row("unprinted") };
        assert_eq!(Tally::of([&printed]).remark(), None);
        assert!(Tally::of([&printed, &unprinted]).remark().unwrap().starts_with("For 1 cell the"));
        assert!(Tally::of([&unprinted, &unprinted]).remark().unwrap().starts_with("For 2 cells the"));
    }
}
