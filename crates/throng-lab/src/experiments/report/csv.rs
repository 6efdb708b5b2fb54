//! Rows for spreadsheets and scripts, quoted as RFC 4180 says.

use crate::experiments::{Agreement, Row};

/// A header, and a line for every row, with numbers in full precision.
pub(super) fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut text = HEADER.join(",") + "\n";
    for row in rows {
        let fields: [String; HEADER.len()] = [
            quoted(row.table),
            quoted(&row.cell),
            number(row.paper),
            number(row.paper_rule),
            number(row.throng),
            number(row.gaussian),
            word(row.should_agree).to_owned(),
            row.agrees.to_string(),
            quoted(&row.tolerance),
            quoted(row.note.as_deref().unwrap_or_default()),
        ];
        text += &fields.join(",");
        text.push('\n');
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The shortest digits that are read as the same number again; `:?` writes the very small and the very large with an
/// exponent, which every reader of CSV knows.
fn number(value: Option<f64>) -> String {
    let digits = value.map_or(String::new(), |value| format!("{value:?}"));
    digits.strip_suffix(".0").unwrap_or(&digits).to_owned()
}

/// As in JSON.
fn word(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Exact => "exact",
        Agreement::Scale => "scale",
        Agreement::Order => "order",
        Agreement::PaperError => "paper-error",
    }
}

const HEADER: [&str; 10] = [
    "table",
    "cell",
    "paper",
    "paper_rule",
    "throng",
    "gaussian",
    "should_agree",
    "agrees",
    "tolerance",
    "note",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::sample::{self, row};

    /// A reader of RFC 4180 that has nothing in common with the writer.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut lines, mut line, mut field, mut inside) = (vec![], vec![], String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match (c, inside) {
                ('"', true) if chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
                ('"', _) => inside = !inside,
                (',', false) => line.push(std::mem::take(&mut field)),
                ('\n', false) => {
                    line.push(std::mem::take(&mut field));
                    lines.push(std::mem::take(&mut line));
                }
                _ => field.push(c),
            }
        }
        assert!(line.is_empty() && field.is_empty() && !inside, "the last line ends");
        lines
    }

    #[test]
    fn every_row_survives_a_round_trip() {
        let report = sample::report();
        let lines = read(&table(report.rows()));
        assert_eq!(
            lines[0].join(","),
            "table,cell,paper,paper_rule,throng,gaussian,should_agree,agrees,tolerance,note"
        );
        assert_eq!(lines.len(), 1 + report.rows().count());
        let optional = |text: &str| (!text.is_empty()).then(|| text.parse::<f64>().unwrap());
        for (line, row) in lines[1..].iter().zip(report.rows()) {
            let [t, cell, paper, paper_rule, throng, gaussian, should_agree, agrees, tolerance, note] =
                &line[..]
            else {
                panic!("{} fields", line.len())
            };
            assert_eq!((t.as_str(), cell, tolerance), (row.table, &row.cell, &row.tolerance));
            let numbers = [paper, paper_rule, throng, gaussian].map(|text| optional(text));
            assert_eq!(numbers, [row.paper, row.paper_rule, row.throng, row.gaussian]);
            assert_eq!(*should_agree, serde_json::to_value(row.should_agree).unwrap());
            assert_eq!(agrees.parse(), Ok(row.agrees));
            assert_eq!(note, row.note.as_deref().unwrap_or_default());
        }
    }

    #[test]
    fn only_what_needs_quotes_has_them() {
        assert_eq!(quoted("a; b"), "a; b");
        assert_eq!(quoted("say \"a\", \"b\""), "\"say \"\"a\"\", \"\"b\"\"\"");
        assert_eq!([quoted("a\nb"), quoted("a\rb"), quoted("a,b")], ["\"a\nb\"", "\"a\rb\"", "\"a,b\""]);
        assert!(table([&row("plain")].into_iter()).lines().all(|line| !line.contains('"')));
    }

    #[test]
    fn numbers_keep_every_digit() {
        assert_eq!(number(None), "");
        assert_eq!(number(Some(100.0)), "100");
        assert_eq!(number(Some(0.1 + 0.2)), "0.30000000000000004");
        assert_eq!(number(Some(1.5e-9)), "1.5e-9");
    }
}
