//! Several attributes per respondent: what experiments with sampled attributes run on.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::csv::{find_column, first};
use super::rows::Rows;
use super::texts::{Answers, Ranking};
use super::{Dataset, VALUES_MAX};

/// The answers of each respondent to several questions, as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    names: Vec<String>,
    domains: Vec<Vec<String>>,
    rows: Vec<Vec<u32>>,
}

impl Records {
    /// Reads columns of a CSV file (RFC 4180, UTF-8), zipped by gzip or not: a header and one row per respondent. The
    /// distinct texts of a column are its values, by falling count and then by text.
    pub fn open_csv(path: &Path, columns: &[&str]) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Self::read(file, columns).with_context(|| format!("cannot use {}", path.display()))
    }

    /// What the attributes are called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of each attribute, the most frequent first.
    pub fn domains(&self) -> &[Vec<String>] {
        &self.domains
    }

    /// For each respondent, the number of the value of each attribute.
    pub fn rows(&self) -> &[Vec<u32>] {
        &self.rows
    }

    /// The histogram of one attribute. Panics if there is none of that number.
    pub fn attribute(&self, at: usize) -> Dataset {
        let mut counts = vec![0; self.domains[at].len()];
        for row in &self.rows {
            counts[row[at] as usize] += 1;
        }
        let dataset =
            Dataset::of_counts(&self.names[at], counts).expect("records have values and respondents");
        dataset.with_labels(self.domains[at].clone())
    }

    /// The records in the bytes of a CSV file.
    pub(super) fn read(input: impl Read, columns: &[&str]) -> Result<Self> {
        Self::read_up_to(VALUES_MAX, input, columns)
    }

    fn read_up_to(answers_max: u64, input: impl Read, columns: &[&str]) -> Result<Self> {
        ensure!(!columns.is_empty(), "no column is named; name at least one");
        let mut source = Rows::new(input)?;
        let header = first(&mut source)?.texts()?;
        let places = columns.iter().map(|column| find_column(&header, column)).collect::<Result<Vec<_>>>()?;

        let mut answers: Vec<_> = columns.iter().map(|_| Answers::new(answers_max)).collect();
        let mut rows = Vec::new();
        while let Some(row) = source.next()? {
            row.check_len(header.len())?;
            ensure!(
                (rows.len() as u64 + 1) * columns.len() as u64 <= answers_max,
                "line {}: more than 2^26 answers in all; name fewer columns, or leave out respondents",
                row.line
            );
            let answer = |(answers, &at): (&mut Answers, &usize)| {
                answers.add(row.text(at)?).with_context(|| format!("line {}", row.line))
            };
            rows.push(answers.iter_mut().zip(&places).map(answer).collect::<Result<Vec<_>>>()?);
        }
        ensure!(!rows.is_empty(), "there is no row below the header; add one for each respondent");

        let rankings: Vec<_> = answers.into_iter().map(Answers::ranking).collect();
        for row in &mut rows {
            for (number, ranking) in row.iter_mut().zip(&rankings) {
                *number = ranking.ranks[*number as usize];
            }
        }
        let names = columns.iter().map(ToString::to_string).collect();
        let domains = rankings.into_iter().map(|Ranking { texts, .. }| texts).collect();
        Ok(Self { names, domains, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::csv;

    const FILE: &str = "id,sex,work\n1,f,\"a, b\"\n2,m,c\n3,f,c\n4,f,c\n";

    fn complaint(file: &[u8], columns: &[&str]) -> String {
        format!("{:#}", Records::read(file, columns).unwrap_err())
    }

    #[test]
    fn answers_become_numbers_the_most_frequent_first() {
        let records = Records::read(FILE.as_bytes(), &["work", "sex"]).unwrap();
        assert_eq!(records.names(), ["work", "sex"]);
        assert_eq!(records.domains(), [["c", "a, b"], ["f", "m"]]);
        assert_eq!(records.rows(), [[1, 0], [0, 1], [0, 0], [0, 0]]);
        assert_eq!(records.attribute(0).counts(), [3, 1]);
        assert_eq!(records.attribute(1).label(1), "m");
    }

    #[test]
    fn an_attribute_is_the_dataset_of_its_column() {
        let records = Records::read(FILE.as_bytes(), &["sex", "work", "id"]).unwrap();
        for (at, name) in records.names().iter().enumerate() {
            let column = csv::read("x", FILE.as_bytes(), Some(name)).unwrap();
            assert_eq!(Dataset { name: column.name.clone(), ..records.attribute(at) }, column);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert!(complaint(FILE.as_bytes(), &[]).contains("name at least one"));
        assert!(
            complaint(FILE.as_bytes(), &["sex", "age"]).contains("the columns are \"id\", \"sex\", \"work\"")
        );
        assert!(complaint(b"", &["sex"]).contains("empty"));
        assert!(complaint(b"sex\n", &["sex"]).contains("no row below the header"));
        assert!(complaint(b"sex,work\nf,a\nm\n", &["sex"]).contains("line 3: 1 field"));
        assert!(complaint(b"sex\nf\n\xff\n", &["sex"]).contains("line 3: not UTF-8"));
        let many = Records::read_up_to(5, FILE.as_bytes(), &["sex", "work"]).unwrap_err().to_string();
        assert!(many.contains("line 4: more than 2^26 answers"), "{many}");
        let missing = Records::open_csv(Path::new("no/such.csv"), &["a"]).unwrap_err();
        assert!(missing.to_string().contains("cannot open no/such.csv"));
    }
}
