//! Examples from the rows of a table, encoded without looking at anybody else's row.
//!
//! Each cell is hashed on its own to places of a vector (feature hashing: Weinberger et al. 2009), and numbers are read
//! on a scale that is fixed for all tables. There are no averages, quantiles or vocabularies to learn beforehand.

use std::collections::BTreeSet;

use siphasher::sip::SipHasher24;

use super::Examples;
use crate::Error;

/// What a column says of a row, to be learned from the others.
///
/// # Privacy
/// A row's input is a function of that row and of public things alone (the columns' names, the width): making it costs
/// nothing. The names of the classes are taken from the data, and have to be public.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// One example for each row.
    pub examples: Examples,
    /// What the classes are called, in order.
    pub classes: Vec<String>,
}

impl Table {
    /// Examples of `width` numbers, each of length 1, whose classes are the distinct texts of the column `target`.
    ///
    /// A cell that holds a finite number becomes one of the steps of a scale with four to the octave, or a bit of two
    /// neighbours; zero, and the two signs, are apart. Any other cell becomes a category, its text. Each category of
    /// each column has one place in the vector and a sign there. Categories that share a place blur each other, so `width`
    /// should be several times the number of categories; `WIDTH` is enough for a few hundred.
    pub fn new(columns: &[String], rows: &[Vec<String>], target: &str, width: usize) -> Result<Self, Error> {
        if width < 2 {
            return Err(Error::Setting { what: "width", got: width as f64, expected: "give 2 or more" });
        }
        let at = target_place(columns, target)?;
        if rows.is_empty() {
            return Err(Error::Examples("the table has no rows; give one for each respondent".into()));
        }
        if let Some(i) = rows.iter().position(|row| row.len() != columns.len()) {
            return Err(Error::Examples(format!(
                "row {} has {} cells where there are {} columns; leave no cell out",
                i + 1,
                rows[i].len(),
                columns.len()
            )));
        }
        if rows.len().checked_mul(width).is_none_or(|numbers| numbers > NUMBERS_MAX) {
            return Err(Error::Examples(format!(
                "{} rows of {width} numbers are more than 2^28; take fewer rows or a smaller width",
                rows.len()
            )));
        }
        let distinct: BTreeSet<&str> = rows.iter().map(|row| row[at].as_str()).collect();
        if distinct.len() < 2 || distinct.len() > CLASSES_MAX {
            return Err(Error::Examples(format!(
                "column {target:?} has {} distinct values; to be learned it needs from 2 to {CLASSES_MAX} classes{}",
                distinct.len(),
                if distinct.len() < 2 { "" } else { ", so put its values into groups first" }
            )));
        }
        let classes: Vec<String> = distinct.into_iter().map(str::to_owned).collect();
        // Every text is one of the classes, of which there are no more than a byte can number.
        let label = |row: &Vec<String>| classes.binary_search(&row[at]).unwrap_or(0) as u8;
        let labels = rows.iter().map(label).collect();
        let mut inputs = vec![0.0; rows.len() * width];
        for (row, input) in rows.iter().zip(inputs.chunks_exact_mut(width)) {
            let cells = (0..columns.len()).filter(|&column| column != at);
            cells.for_each(|column| add_cell(columns[column].trim(), row[column].trim(), input));
            normalise(input);
        }
        Ok(Self { examples: Examples::new(inputs, width, labels, classes.len())?, classes })
    }

    /// A width for tables with up to a few hundred categories in all.
    pub const WIDTH: usize = 512;
}

/// Where the target stands among the columns.
fn target_place(columns: &[String], target: &str) -> Result<usize, Error> {
    let mut places = (0..columns.len()).filter(|&column| columns[column].trim() == target.trim());
    match (places.next(), places.next()) {
        (Some(at), None) if columns.len() > 1 => Ok(at),
        (Some(_), None) => {
            Err(Error::Examples(format!("there is no column besides {target:?} to learn it from")))
        }
        (Some(_), Some(_)) => Err(Error::Examples(format!("two columns are called {target:?}; rename one"))),
        (None, _) => {
            let names: Vec<_> =
                columns.iter().take(50).map(|column| format!("{:?}", column.trim())).collect();
            let more = if columns.len() > 50 { ", ..." } else { "" };
            Err(Error::Examples(format!(
                "there is no column {target:?}; the columns are {}{more}",
                names.join(", ")
            )))
        }
    }
}

/// Adds what one cell says.
fn add_cell(column: &str, cell: &str, input: &mut [f32]) {
    match cell.parse::<f64>().ok().filter(|x| x.is_finite()) {
        None => add(column, Kind::Text, cell.as_bytes(), 1.0, input),
        Some(0.0) => add(column, Kind::Zero, &[], 1.0, input),
        Some(x) => {
            let kind = if x < 0.0 { Kind::Negative } else { Kind::Positive };
            let place = STEPS_PER_OCTAVE * x.abs().log2();
            let (step, beyond) = (place.floor(), (place - place.floor()) as f32);
            for (step, weight) in [(step, 1.0 - beyond), (step + 1.0, beyond)] {
                add(column, kind, &(step as i32).to_le_bytes(), weight, input);
            }
        }
    }
}

/// What a cell may hold.
#[derive(Clone, Copy)]
enum Kind {
    Text = 0,
    Zero = 1,
    Positive = 2,
    Negative = 3,
}

/// Adds a weight at the place of a category, with its sign.
fn add(column: &str, kind: Kind, category: &[u8], weight: f32, input: &mut [f32]) {
    let length = (column.len() as u64).to_le_bytes();
    let hash = SipHasher24::new_with_key(KEY)
        .hash(&[&length[..], column.as_bytes(), &[kind as u8], category].concat());
    // The upper half chooses the place, by multiplication; the lowest bit, which that leaves alone, the sign.
    let place = ((hash >> 32) * input.len() as u64) >> 32;
    input[place as usize] += if hash & 1 == 0 { weight } else { -weight };
}

/// To length 1; what is all zero (signs that cancelled) stays that.
fn normalise(input: &mut [f32]) {
    let norm = input.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        input.iter_mut().for_each(|x| *x /= norm);
    }
}

/// Fixed and public: everybody has to hash alike.
const KEY: &[u8; 16] = b"throng-learn/tab";
const STEPS_PER_OCTAVE: f64 = 4.0;
const CLASSES_MAX: usize = 256;
/// A gibibyte of inputs.
const NUMBERS_MAX: usize = 1 << 28;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    fn table(columns: &[&str], rows: &[&[&str]], target: &str) -> Result<Table, Error> {
        let rows: Vec<_> = rows.iter().map(|row| strings(row)).collect();
        Table::new(&strings(columns), &rows, target, 256)
    }

    fn product(table: &Table, i: usize, j: usize) -> f32 {
        table.examples.input(i).iter().zip(table.examples.input(j)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn a_row_is_encoded_by_itself() {
        let rows: [&[&str]; 4] =
            [&["red", "3", "yes"], &["blue", "0", "no"], &["red", "3", "no"], &["red", "-3", "maybe"]];
        let all = table(&["colour", "size", "like"], &rows, "like").unwrap();
        assert_eq!(all.classes, ["maybe", "no", "yes"]);
        assert_eq!((0..4).map(|i| all.examples.label(i)).collect::<Vec<_>>(), [2, 1, 1, 0]);
        for i in 0..4 {
            assert!((product(&all, i, i) - 1.0).abs() < 1e-6);
        }
        // The target is no part of the input, and neither are the other rows.
        assert_eq!(all.examples.input(0), all.examples.input(2));
        let fewer = table(&["colour", "size", "like"], &rows[2..], "like").unwrap();
        assert_eq!(fewer.examples.input(0), all.examples.input(2));
        // The same cell in another column, and the same number with another sign, are something else.
        let moved = table(&["a", "b", "c"], &[&["x", "y", "0"], &["y", "x", "1"]], "c").unwrap();
        assert!(product(&moved, 0, 1).abs() < 1e-6);
        assert!((product(&all, 0, 3) - 0.5).abs() < 0.2);
    }

    #[test]
    fn numbers_near_each_other_are_alike() {
        let numbers = ["100", "101", "110", "200", "1e300", "0.0", "-0", "1e-300", " 100 "];
        let rows: Vec<_> =
            numbers.iter().enumerate().map(|(i, x)| strings(&[x, if i == 0 { "a" } else { "b" }])).collect();
        let table = Table::new(&strings(&["x", "y"]), &rows, "y", 256).unwrap();
        let to_first = |i| product(&table, 0, i);
        assert!(to_first(1) > 0.99 && to_first(1) > to_first(2) && to_first(2) > to_first(3));
        assert_eq!((to_first(3), to_first(4), to_first(7)), (0.0, 0.0, 0.0));
        assert_eq!(table.examples.input(5), table.examples.input(6));
        assert_eq!(table.examples.input(0), table.examples.input(8));
    }

    /// The hash is part of what everybody agrees on: a model that was learned with another one would be useless.
    #[test]
    fn places_never_change() {
        let table = table(&["x", "y"], &[&["red", "0"], &["8", "1"]], "y").unwrap();
        let place = |i: usize| {
            let input = table.examples.input(i);
            let at = input.iter().position(|x| *x != 0.0).unwrap();
            (at, input[at])
        };
        // From another implementation of SipHash-2-4.
        assert_eq!((place(0), place(1)), ((180, -1.0), (121, 1.0)));
    }

    #[test]
    fn what_is_no_table_is_refused_with_what_to_change() {
        let refusal = |columns: &[&str], rows: &[&[&str]], target: &str| {
            table(columns, rows, target).unwrap_err().to_string()
        };
        let rows: [&[&str]; 2] = [&["1", "a"], &["2", "b"]];
        assert_eq!(refusal(&["x", "y"], &rows, "z"), r#"there is no column "z"; the columns are "x", "y""#);
        assert!(refusal(&["y", "y"], &rows, "y").contains("two columns"));
        assert!(refusal(&["y"], &[&["a"], &["b"]], "y").contains("no column besides"));
        assert!(refusal(&["x", "y"], &[], "y").contains("no rows"));
        assert!(
            refusal(&["x", "y"], &[&["1", "a"], &["2"]], "y").contains("row 2 has 1 cells where there are 2")
        );
        assert!(refusal(&["x", "y"], &[&["1", "a"], &["2", "a"]], "y").contains("1 distinct values"));
        let many: Vec<_> = (0..257).map(|i| vec!["1".to_owned(), i.to_string()]).collect();
        let error = Table::new(&strings(&["x", "y"]), &many, "y", 4).unwrap_err().to_string();
        assert!(error.contains("257 distinct values") && error.contains("groups"), "{error}");
        assert_eq!(Table::new(&strings(&["x", "y"]), &many[1..], "y", 4).unwrap().classes.len(), 256);
        assert!(Table::new(&strings(&["x", "y"]), &many, "y", 1).is_err());
        assert!(
            Table::new(&strings(&["x", "y"]), &many, "y", usize::MAX)
                .unwrap_err()
                .to_string()
                .contains("2^28")
        );
    }

    proptest! {
        #[test]
        fn any_cell_makes_a_finite_input(cell in ".*", number: f64, column in ".*") {
            let mut input = vec![0.0; 16];
            add_cell(&column, &cell, &mut input);
            add_cell(&column, &number.to_string(), &mut input);
            normalise(&mut input);
            prop_assert!(input.iter().all(|x| x.is_finite()));
        }
    }
}
