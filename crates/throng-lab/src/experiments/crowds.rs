//! Crowds and crowd IDs, measured.
//!
//! Paper: Section V, which argues all of this and prints no table.

mod derived;
mod natural;
mod partitions;

use anyhow::Result;

use super::{Figure, Lab, Row, Section};
use throng_simulate::dataset::Dataset;

pub(super) fn run(lab: &Lab) -> Result<Section> {
    let flights = Dataset::built_in("flights")?;
    let parts = [natural::run(lab, &flights)?, partitions::run(lab, &flights)?, derived::run(lab, &flights)?];
    let mut section = Section {
        name: "crowds",
        title: "Crowds with a label".into(),
        text: vec![],
        rows: vec![],
        figures: vec![],
        seconds: 0.0,
    };
    for part in parts {
        section.text.extend(part.text);
        section.rows.extend(part.rows);
        section.figures.extend(part.figures);
    }
    Ok(section)
}

/// One of the three questions.
struct Part {
    text: Vec<String>,
    rows: Vec<Row>,
    figures: Vec<Figure>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_section_five_argues_is_measured() {
        let section = run(&Lab::for_tests(None)).unwrap();
        for row in &section.rows {
            assert!(row.agrees, "{row:?}");
        }
        let ours = |table: &str, cell: &str| {
            let found = section.rows.iter().find(|row| row.table == table && row.cell.contains(cell));
            found.and_then(|row| row.throng).unwrap_or_else(|| panic!("{table}: {cell}"))
        };
        // Deletion costs nothing under removal. Under absence four counts move, twice one if noise were normal, in the whole
        // crowd, of which removal counts on those alone whom deletion surely leaves.
        assert!((ours("crowds-guarantee", "epsilon_central (removal)") - 1.0).abs() < 1e-9);
        let absence = ours("crowds-guarantee", "epsilon_central (absence)");
        assert!(absence > 1.5 && absence < 2.1, "{absence}");
        assert!((ours("crowds-partitions", "m = 64, the same epsilon_local: gain") / 8.0 - 1.0).abs() < 0.05);
        assert!((ours("crowds-partitions", "m = 64, the same epsilon_central: gain") - 1.0).abs() < 0.05);
        assert!(ours("crowds-partitions", "m = 64, the same epsilon_local: epsilon_central") > 1.0);
        assert_eq!(section.figures.len(), 4);
    }
}
