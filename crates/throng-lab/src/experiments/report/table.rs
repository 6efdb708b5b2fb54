//! The rows of one table, and what need not be said in each of them.

use crate::experiments::Row;

/// Rows with one label.
pub(super) struct Table<'a> {
    pub(super) label: &'a str,
    /// Each with its place among all rows of the section.
    pub(super) rows: Vec<(usize, &'a Row)>,
    /// Those with a number in any row.
    pub(super) columns: Vec<Column>,
    /// The tolerance of all rows, if there is only one.
    pub(super) tolerance: Option<&'a str>,
    /// Every note once, in the order of the rows.
    pub(super) notes: Vec<&'a str>,
}

impl<'a> Table<'a> {
    /// Tables in the order in which their labels first appear.
    pub(super) fn all(rows: &'a [Row]) -> Vec<Self> {
        let mut labels: Vec<&str> = Vec::new();
        for row in rows {
            if !labels.contains(&row.table) {
                labels.push(row.table);
            }
        }
        labels.into_iter().map(|label| Self::new(label, rows)).collect()
    }

    fn new(label: &'a str, rows: &'a [Row]) -> Self {
        let rows: Vec<(usize, &Row)> =
            rows.iter().enumerate().filter(|(_, row)| row.table == label).collect();
        let has_numbers = |column: &Column| rows.iter().any(|(_, row)| column.value(row).is_some());
        let columns = Column::ALL.into_iter().filter(has_numbers).collect();
        let mut notes: Vec<&str> = Vec::new();
        for note in rows.iter().filter_map(|(_, row)| row.note.as_deref()) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let first = rows.first().map_or("", |(_, row)| row.tolerance.as_str());
        let is_shared = rows.len() > 1 && rows.iter().all(|(_, row)| row.tolerance == first);
        Self { label, columns, tolerance: is_shared.then_some(first).filter(|t| !t.is_empty()), notes, rows }
    }

    /// What to say of a row's tolerance where all do not share one.
    pub(super) fn tolerance_of(&self, row: &'a Row) -> Option<&'a str> {
        let own = self.tolerance.is_none().then_some(row.tolerance.as_str());
        own.filter(|tolerance| !tolerance.is_empty())
    }

    /// The number of a row's note, from 1.
    pub(super) fn note_number(&self, row: &Row) -> Option<usize> {
        let note = row.note.as_deref()?;
        self.notes.iter().position(|known| *known == note).map(|at| at + 1)
    }
}

/// A column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Paper,
    PaperRule,
    Throng,
    Gaussian,
}

impl Column {
    pub(super) const ALL: [Self; 4] = [Self::Paper, Self::PaperRule, Self::Throng, Self::Gaussian];

    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::PaperRule => "paper's own rule",
            Self::Throng => "Throng",
            Self::Gaussian => "central Gaussian",
        }
    }

    /// What the heading means.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Paper => "what the paper printed",
            Self::PaperRule => "measured again, by the paper's own accounting and post-processing",
            Self::Throng => "what Throng gives at the same central guarantee",
            Self::Gaussian => {
                "what a trusted party that adds Gaussian noise gives at the same central guarantee"
            }
        }
    }

    pub(super) fn value(self, row: &Row) -> Option<f64> {
        match self {
            Self::Paper => row.paper,
            Self::PaperRule => row.paper_rule,
            Self::Throng => row.throng,
            Self::Gaussian => row.gaussian,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::sample::row;

    #[test]
    fn rows_of_a_label_are_together_and_empty_columns_are_gone() {
        let rows = [
            Row { table: "one", paper: None, throng: Some(0.0), gaussian: None, ..row("a") },
            Row { table: "two", ..row("b") },
            Row { table: "one", paper: None, throng: None, gaussian: None, ..row("c") },
        ];
        let tables = Table::all(&rows);
        let places = |table: &Table| table.rows.iter().map(|(at, _)| *at).collect::<Vec<_>>();
        assert_eq!(tables.iter().map(|table| table.label).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!((places(&tables[0]), places(&tables[1])), (vec![0, 2], vec![1]));
        assert_eq!(tables[0].columns, [Column::PaperRule, Column::Throng]);
        assert_eq!(tables[1].columns, Column::ALL);
    }

    #[test]
    fn what_all_rows_share_is_said_once() {
        let noted = |cell, note: Option<&str>| Row { note: note.map(str::to_owned), ..row(cell) };
        let rows = [noted("a", Some("x")), noted("b", None), noted("c", Some("y")), noted("d", Some("x"))];
        let table = &Table::all(&rows)[0];
        assert_eq!(table.notes, ["x", "y"]);
        assert_eq!(rows.each_ref().map(|row| table.note_number(row)), [Some(1), None, Some(2), Some(1)]);
        assert_eq!(table.tolerance, Some("within 1 %"));
        assert_eq!(table.tolerance_of(&rows[0]), None);

        let other = Row { tolerance: "within 2 %".into(), ..row("e") };
        let rows = [row("a"), other, Row { tolerance: String::new(), ..row("f") }];
        let table = &Table::all(&rows)[0];
        assert_eq!(table.tolerance, None);
        let each = rows.each_ref().map(|row| table.tolerance_of(row));
        assert_eq!(each, [Some("within 1 %"), Some("within 2 %"), None]);

        // Of one row it is said there.
        let rows = [row("a")];
        assert_eq!(Table::all(&rows)[0].tolerance_of(&rows[0]), Some("within 1 %"));
    }
}
