//! Thousands of questions: JSON lines in, one answer per line out.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::questions;

/// Answers every line of a file, or of standard input for `-`. A question that has no answer gets its error in the same
/// place; only a line that is not a question ends the run.
pub(super) fn run(path: &Path) -> Result<()> {
    let input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Box::new(BufReader::new(file))
    };
    let mut output = io::BufWriter::new(io::stdout().lock());
    for (number, line) in input.lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let row = answer(&line).with_context(|| format!("line {}", number + 1))?;
        match writeln!(output, "{row}") {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            other => other.context("cannot print an answer")?,
        }
    }
    output
        .flush()
        .or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
    Ok(())
}

/// The row with its answer.
fn answer(line: &str) -> Result<Value> {
    let form = "a row is {\"bound\": NAME, \"params\": {...}}";
    let mut row: Map<String, Value> = serde_json::from_str(line).context(form)?;
    let name = row.get("bound").and_then(Value::as_str).context(form)?;
    let params = match row.get("params") {
        None => Map::new(),
        Some(params) => params.as_object().cloned().context(form)?,
    };
    let (key, answer) = match questions::answer(name, &params) {
        Ok(value) => ("value", json!(value)),
        Err(error) => ("error", json!(format!("{error:#}"))),
    };
    row.insert(key.to_owned(), answer);
    Ok(Value::Object(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_what_they_had_and_gain_an_answer() {
        let row =
            answer(r#"{"id": 7, "bound": "frag_eps", "params": {"eps_b": 8.55, "eps_f": 7.165, "t": 1}}"#)
                .unwrap();
        assert_eq!(row["id"], 7);
        assert!((row["value"].as_f64().unwrap() - 6.94).abs() < 0.01, "{row}");
    }

    #[test]
    fn questions_without_an_answer_say_why() {
        for (line, part) in [
            (r#"{"bound": "magic", "params": {}}"#, "no bound named"),
            (r#"{"bound": "frag_eps", "params": {"eps_b": 1}}"#, "needs the numbers"),
            (r#"{"bound": "frag_eps", "params": {"eps_b": 1, "eps_f": 1, "t": 1, "x": 2}}"#, "no parameter"),
            (r#"{"bound": "frag_eps", "params": {"eps_b": -1, "eps_f": 1, "t": 1}}"#, "at least 0"),
            (
                r#"{"bound": "cheu_lemma_eps", "params": {"n": 10, "eps_l": 1, "delta": 1e-9}}"#,
                "not applicable",
            ),
            (r#"{"bound": "noise_std", "params": {"n": 10.5, "eps_l": 1}}"#, "whole number"),
        ] {
            let row = answer(line).unwrap();
            assert!(row["error"].as_str().unwrap().contains(part), "{row}");
            assert!(row.get("value").is_none());
        }
        assert!(answer("not json").is_err());
        assert!(answer("[1]").is_err());
        assert!(answer(r#"{"params": {}}"#).is_err());
    }

    /// Every question is answered once, with parameters that suit it: names, parameters and answers fit together.
    #[test]
    fn every_question_has_an_answer() {
        for question in questions::all() {
            let params: Map<String, Value> = question
                .params
                .iter()
                .map(|&name| {
                    let value = match name {
                        "n" if question.name == "exact_delta_max_over_a" => json!(30),
                        "n" => json!(60_000),
                        "m" if question.name == "frag_answer_eps" => json!(3),
                        "m" => json!(2_000),
                        "a" => json!(100),
                        "eps_l" | "eps0" | "eps_b" => json!(2.0),
                        "eps_f" | "eps_each" | "sens" | "L" => json!(1.0),
                        "r" | "counts" => json!(2),
                        "eps_c" | "eps" | "eps_cr" => json!(0.5),
                        "tau" | "t" | "order" | "H" | "k" | "K" | "T" | "epochs" => json!(4),
                        "d" | "members" | "others" | "crowds" => json!(100),
                        "sigma" => json!(5.0),
                        // Four deletions have to leave something of delta.
                        "delta_cr" if question.name == "absence_eps" => json!(1e-9),
                        _ => json!(1e-6),
                    };
                    (name.to_owned(), value)
                })
                .collect();
            let value = questions::answer(question.name, &params);
            assert!(value.as_ref().is_ok_and(|v| *v >= 0.0), "{}: {value:?}", question.name);
        }
    }

    /// Every number of docs/errata.md comes from a row, and every row's number stands there, under the same name.
    #[test]
    fn what_the_errata_say_is_what_their_rows_answer() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let [rows, text] =
            ["errata.jsonl", "errata.md"].map(|name| std::fs::read_to_string(docs.join(name)).unwrap());
        let mut named = 0;
        for line in rows.lines() {
            let row = answer(line).unwrap();
            let (name, shows) = (row["erratum"].as_str().unwrap(), row["shows"].as_str().unwrap());
            let value = row["value"].as_f64().unwrap_or_else(|| panic!("{row}"));
            let (digits, power) = shows.split_once('e').unwrap_or((shows, "0"));
            let decimals = digits.split_once('.').map_or(0, |(_, behind)| behind.len() as i32);
            let unit = 10f64.powi(power.parse::<i32>().unwrap() - decimals);
            assert!((value - shows.parse::<f64>().unwrap()).abs() <= 0.5001 * unit, "{row}");
            let entry = text
                .lines()
                .find(|line| line.starts_with(&format!("| {name} |")) || line.contains(&format!("({name}:")));
            let entry = entry.unwrap_or_else(|| panic!("{name} has no entry"));
            assert!(entry.contains(shows), "{name} does not say {shows}: {entry}");
            named += 1;
        }
        assert!(named > 70, "{named}");
    }
}
