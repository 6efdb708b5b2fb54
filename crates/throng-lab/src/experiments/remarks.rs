//! What the paper says in passing, without a table: counted, or measured.

mod crowds;
mod errors;
mod fragments;
mod training;

use anyhow::Result;

use super::{Lab, Row, Section};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    let mut section = Section::new("remarks", "What the paper says in passing");
    let parts = [
        fragments::apart(lab)?,
        fragments::without_backstop(lab)?,
        fragments::reset()?,
        fragments::two_stages()?,
        errors::run(lab)?,
        crowds::labelled(lab)?,
        crowds::dozens(lab)?,
        training::run(lab)?,
    ];
    for part in parts {
        section.text.push(part.text);
        section.rows.extend(part.rows);
    }
    Ok(section)
}

/// One remark.
struct Part {
    text: String,
    rows: Vec<Row>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that were computed elsewhere, or that the paper prints.
    #[test]
    fn every_remark_is_counted_or_measured() {
        let section = run(&Lab::for_tests(None)).unwrap();
        for row in &section.rows {
            assert!(row.agrees, "{row:?}");
        }
        let ours = |cell: &str| {
            let found = section.rows.iter().find(|row| row.cell.contains(cell));
            found.and_then(|row| row.throng).unwrap_or_else(|| panic!("{cell}"))
        };
        // The notes on the accounting: 0.232, 0.335 and 0.547 after a thousand steps, convolved.
        for (crowd, epsilon) in [("m = 2,000", 0.232), ("m = 4,000", 0.335), ("m = 10,000", 0.547)] {
            assert!(
                (ours(&format!("{crowd}: epsilon_central, convolved")) - epsilon).abs() < 0.001,
                "{crowd}"
            );
        }
        assert!((ours("epsilon_local 4 in fragments of 2: how many") - 9.52).abs() < 0.01);
        assert!(ours("24 respondents, epsilon_central 1: epsilon_local") >= 1.0);
        assert_eq!(section.text.len(), 8);
    }
}
