//! Tables with a column to learn from the others.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use throng_learn::Table;

use super::LabelledExamples;
use crate::dataset::built_in::CENSUS;
use crate::dataset::csv::first;
use crate::dataset::name_of;
use crate::dataset::rows::Rows;

impl LabelledExamples {
    /// Reads a CSV file (RFC 4180, UTF-8), zipped by gzip or not: a header and one row per respondent. The distinct texts
    /// of the column `target` are the classes, and every other column is learned from. A fifth of the rows, chosen by a
    /// fixed hash of their number, is for testing. How a row becomes an input is in `throng_learn::Table`.
    pub fn open_csv(path: &Path, target: &str) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Self::read_csv(&name_of(path), file, target).with_context(|| format!("cannot use {}", path.display()))
    }

    /// The census that comes with the program: whether a person earns more than 50,000 dollars a year, from 14 other
    /// things about them.
    pub fn census() -> Result<Self> {
        Self::read_csv("census", CENSUS, "Income").context("the built-in census")
    }

    fn read_csv(name: &str, input: impl Read, target: &str) -> Result<Self> {
        let mut source = Rows::new(input)?;
        let columns = first(&mut source)?.texts()?;
        let (mut rows, mut cells) = (Vec::new(), 0);
        while let Some(row) = source.next()? {
            row.check_len(columns.len())?;
            cells += columns.len();
            ensure!(cells <= CELLS_MAX, "line {}: more than 2^26 cells; leave out rows or columns", row.line);
            rows.push(row.texts()?);
        }
        let Table { examples, classes } = Table::new(&columns, &rows, target, Table::WIDTH)?;
        let names = || format!("the classes of {target:?} are, from 0: {}", classes.join(", "));
        let (training, test) = examples.held_out(TEST_ONE_IN).with_context(names)?;
        Ok(Self { name: format!("{name}, {target}"), training, test, classes })
    }
}

const TEST_ONE_IN: u64 = 5;
/// Each takes some 40 bytes.
const CELLS_MAX: usize = 1 << 26;

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(file: &str, target: &str) -> String {
        format!("{:#}", LabelledExamples::read_csv("x", file.as_bytes(), target).unwrap_err())
    }

    #[test]
    fn rows_of_a_file_are_in_one_part_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pets.csv");
        let rows: String = (0..100).map(|i| format!("{i},{}\n", ["cat", "dog"][i % 2])).collect();
        std::fs::write(&path, format!("weight,kind\n{rows}")).unwrap();
        let pets = LabelledExamples::open_csv(&path, "kind").unwrap();
        assert_eq!(
            (pets.name.as_str(), pets.classes),
            ("pets, kind", vec!["cat".to_owned(), "dog".to_owned()])
        );
        assert_eq!(pets.training.len() + pets.test.len(), 100);
        assert!(pets.test.len().abs_diff(20) <= 15);
        let error = format!("{:#}", LabelledExamples::open_csv(&path, "colour").unwrap_err());
        assert!(
            error.contains("pets.csv: there is no column \"colour\"; the columns are \"weight\", \"kind\""),
            "{error}"
        );
        let missing =
            LabelledExamples::open_csv(&folder.path().join("no.csv"), "kind").unwrap_err().to_string();
        assert!(missing.starts_with("cannot open "), "{missing}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert!(complaint("", "y").contains("empty"));
        assert!(complaint("x,y\n", "y").contains("no rows"));
        assert!(complaint("x,y\n1,a\n2\n", "y").contains("line 3: 1 field"));
        assert!(complaint("x,y\n1,a\n2,a\n", "y").contains("1 distinct values"));
        let rare = complaint("x,y\n1,a\n2,b\n", "y");
        assert!(rare.contains("from 0: a, b") && rare.contains("has no example among the"), "{rare}");
    }

    /// Softmax regression by plain stochastic gradient descent, one example at a time: most people (76 %) earn less, so
    /// what is beyond that was learned from the features.
    #[test]
    fn income_can_be_learned_from_the_census() {
        let census = LabelledExamples::census().unwrap();
        assert_eq!(census.training.len() + census.test.len(), 32_561);
        assert_eq!(census.classes, ["<=50K", ">50K"]);
        let mut model = vec![0.0_f32; 1 + census.training.width()];
        let more = |model: &[f32], input: &[f32]| {
            let score = model[0] + model[1..].iter().zip(input).map(|(w, x)| w * x).sum::<f32>();
            1.0 / (1.0 + (-score).exp())
        };
        for epoch in 0..10 {
            let rate = 2.0 * 0.6_f32.powi(epoch);
            for i in 0..census.training.len() {
                let input = census.training.input(i);
                let step = rate * (f32::from(census.training.label(i)) - more(&model, input));
                model[0] += step;
                model[1..].iter_mut().zip(input).for_each(|(w, x)| *w += step * x);
            }
        }
        let right = |i: &usize| (more(&model, census.test.input(*i)) > 0.5) == (census.test.label(*i) == 1);
        let accuracy = (0..census.test.len()).filter(right).count() as f64 / census.test.len() as f64;
        assert!(accuracy > 0.84, "{accuracy}");
    }
}
