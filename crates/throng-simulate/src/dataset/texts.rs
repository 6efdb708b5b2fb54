//! The distinct texts of a column, as numbers.

use std::cmp::Reverse;
use std::collections::HashMap;

use anyhow::{Result, ensure};

/// Numbers texts in the order in which they are first seen.
pub(super) struct Texts {
    numbers: HashMap<String, u32>,
    bytes: u64,
    texts_max: u64,
}

impl Texts {
    /// No texts yet, and never more than `texts_max`.
    pub(super) fn new(texts_max: u64) -> Self {
        Self { numbers: HashMap::new(), bytes: 0, texts_max }
    }

    /// The number of a text; a new text gets the next one.
    pub(super) fn number(&mut self, text: &str) -> Result<u32> {
        if let Some(&number) = self.numbers.get(text) {
            return Ok(number);
        }
        let number = self.numbers.len() as u32;
        ensure!(u64::from(number) < self.texts_max, "{TOO_MANY}");
        self.bytes += text.len() as u64;
        ensure!(self.bytes <= BYTES_MAX, "the distinct values are longer than 1 GiB together; shorten them");
        self.numbers.insert(text.to_owned(), number);
        Ok(number)
    }

    /// The texts by their numbers.
    pub(super) fn into_texts(self) -> Vec<String> {
        let mut texts = vec![String::new(); self.numbers.len()];
        for (text, number) in self.numbers {
            texts[number as usize] = text;
        }
        texts
    }
}

/// What respondents answered, in text, and how many of them each.
pub(super) struct Answers {
    texts: Texts,
    counts: Vec<u64>,
}

/// The distinct answers by falling count, then by text: an order that does not depend on that of the rows.
pub(super) struct Ranking {
    /// The answers in that order.
    pub(super) texts: Vec<String>,
    /// How often each occurs.
    pub(super) counts: Vec<u64>,
    /// Where each answer stands in that order, by the number that `Answers::add` gave it.
    pub(super) ranks: Vec<u32>,
}

impl Answers {
    /// No answers yet, and never more than `texts_max` distinct ones.
    pub(super) fn new(texts_max: u64) -> Self {
        Self { texts: Texts::new(texts_max), counts: Vec::new() }
    }

    /// Counts an answer, and gives its number.
    pub(super) fn add(&mut self, text: &str) -> Result<u32> {
        let number = self.texts.number(text)?;
        if number as usize == self.counts.len() {
            self.counts.push(0);
        }
        self.counts[number as usize] += 1;
        Ok(number)
    }

    /// The answers in order.
    pub(super) fn ranking(self) -> Ranking {
        let mut texts = self.texts.into_texts();
        let mut order: Vec<u32> = (0..texts.len() as u32).collect();
        order.sort_unstable_by_key(|&number| {
            (Reverse(self.counts[number as usize]), texts[number as usize].as_str())
        });
        let mut ranks = vec![0; order.len()];
        for (rank, &number) in (0..).zip(&order) {
            ranks[number as usize] = rank;
        }
        let counts = order.iter().map(|&number| self.counts[number as usize]).collect();
        let texts = order.iter().map(|&number| std::mem::take(&mut texts[number as usize])).collect();
        Ranking { texts, counts, ranks }
    }
}

pub(super) const TOO_MANY: &str = "more than 2^26 distinct values; leave out or merge some";
/// As many bytes of text as there is memory to spend on them.
const BYTES_MAX: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbered_as_they_come() {
        let mut texts = Texts::new(2);
        assert_eq!(["b", "a", "b"].map(|text| texts.number(text).unwrap()), [0, 1, 0]);
        assert_eq!(texts.number("c").unwrap_err().to_string(), TOO_MANY);
        assert_eq!(texts.into_texts(), ["b", "a"]);
    }

    #[test]
    fn answers_are_ranked_by_count_and_then_by_text() {
        let mut answers = Answers::new(10);
        let numbers = ["b", "c", "a", "c", ""].map(|text| answers.add(text).unwrap());
        let ranking = answers.ranking();
        assert_eq!(ranking.texts, ["c", "", "a", "b"]);
        assert_eq!(ranking.counts, [2, 1, 1, 1]);
        assert_eq!(numbers.map(|number| ranking.ranks[number as usize]), [3, 0, 2, 0, 1]);
    }
}
