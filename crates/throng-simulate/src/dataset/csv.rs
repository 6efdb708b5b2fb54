//! Datasets from CSV files: `value,count`, one row per respondent, or one count per line.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::rows::{Row, Rows};
use super::texts::{Answers, TOO_MANY, Texts};
use super::{Dataset, VALUES_MAX, more_respondents, name_of};

impl Dataset {
    /// Reads a CSV file (RFC 4180, UTF-8), zipped by gzip or not, in one of three forms:
    ///
    /// - With a column named: one row per respondent below a header. The distinct texts of the column are the
    ///   values, by falling count and then by text.
    /// - Two columns, the last with the header `count`: one row per value, in the order of the file. A count may be
    ///   0: a value that could be held and is not.
    /// - One whole number per line and no header: the counts of the values 0, 1, 2 and so on.
    ///
    /// Texts are taken as they are, spaces included. There may be 2^26 values and 2^63 respondents.
    pub fn open_csv(path: &Path, column: Option<&str>) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        read(&name_of(path), file, column).with_context(|| format!("cannot use {}", path.display()))
    }
}

/// The dataset in the bytes of a CSV file.
pub(super) fn read(name: &str, input: impl Read, column: Option<&str>) -> Result<Dataset> {
    read_up_to(VALUES_MAX, name, input, column)
}

/// Where a column stands in a header.
pub(super) fn find_column(header: &[String], column: &str) -> Result<usize> {
    let mut found = (0..header.len()).filter(|&at| header[at].trim() == column);
    let at = found
        .next()
        .with_context(|| format!("there is no column {column:?}; the columns are {}", list(header)))?;
    ensure!(found.next().is_none(), "line 1: two columns are called {column:?}; rename one");
    Ok(at)
}

/// The first row of a file.
pub(super) fn first<'a>(rows: &'a mut Rows<'_>) -> Result<Row<'a>> {
    rows.next()?.context("the file is empty; give it a header and rows, or one count per line")
}

fn read_up_to(values_max: u64, name: &str, input: impl Read, column: Option<&str>) -> Result<Dataset> {
    let mut rows = Rows::new(input)?;
    let header = first(&mut rows)?;
    let names = header.texts()?;
    match (column, &names[..]) {
        (Some(column), [_, last]) if is_count(last) && !is_count(column) => bail!(
            "line 1: this file says how many respondents hold each value, so name no column ({column:?}) of it"
        ),
        (Some(column), _) => {
            let at = find_column(&names, column)?;
            of_respondents(format!("{name}, {column}"), rows, names.len(), at, values_max)
        }
        (None, [_, last]) if is_count(last) => of_values(name, rows, values_max),
        (None, [only]) if only.trim().parse::<f64>().is_ok() => {
            let first = (header.line, count(&header, 0)?);
            of_lines(name, rows, first, values_max)
        }
        (None, _) => bail!(
            "line 1: this is neither the header value,count nor a whole number; add that header above rows of a value \
             and its count, or for one row per respondent name a column (the columns are {})",
            list(&names)
        ),
    }
}

/// One row per respondent.
fn of_respondents(
    name: String,
    mut rows: Rows<'_>,
    width: usize,
    at: usize,
    values_max: u64,
) -> Result<Dataset> {
    let mut answers = Answers::new(values_max);
    while let Some(row) = rows.next()? {
        row.check_len(width)?;
        answers.add(row.text(at)?).with_context(|| format!("line {}", row.line))?;
    }
    let ranking = answers.ranking();
    ensure!(!ranking.texts.is_empty(), "{NO_ROWS}");
    Ok(Dataset::of_counts(name, ranking.counts)?.with_labels(ranking.texts))
}

/// One row per value: the value and its count.
fn of_values(name: &str, mut rows: Rows<'_>, values_max: u64) -> Result<Dataset> {
    let (mut texts, mut counts, mut lines, mut total) = (Texts::new(values_max), Vec::new(), Vec::new(), 0);
    while let Some(row) = rows.next()? {
        row.check_len(2)?;
        let number = texts.number(row.text(0)?).with_context(|| format!("line {}", row.line))? as usize;
        if let Some(before) = lines.get(number) {
            bail!(
                "line {}: {} is on line {before} already; add the two counts in one row",
                row.line,
                short(row.text(0)?)
            );
        }
        let count = count(&row, 1)?;
        total = more_respondents(total, count).with_context(|| format!("line {}", row.line))?;
        counts.push(count);
        lines.push(row.line);
    }
    ensure!(!counts.is_empty(), "{NO_ROWS}");
    Ok(Dataset::of_counts(name, counts)?.with_labels(texts.into_texts()))
}

/// One count per line, the first of which was read already.
fn of_lines(name: &str, mut rows: Rows<'_>, first: (u64, u64), values_max: u64) -> Result<Dataset> {
    let (mut counts, mut total) = (Vec::new(), 0);
    let mut next = Some(first);
    while let Some((line, count)) = next {
        // An empty line would move all values below it by one.
        let expected = counts.len() as u64 + 1;
        ensure!(line == expected, "line {expected} is empty; write 0 there if nobody holds that value");
        ensure!(expected <= values_max, "line {line}: {TOO_MANY}");
        total = more_respondents(total, count).with_context(|| format!("line {line}"))?;
        counts.push(count);
        next = match rows.next()? {
            None => None,
            Some(row) => {
                ensure!(
                    row.len() == 1,
                    "line {}: {} fields where the lines before have one; write one count per line",
                    row.line,
                    row.len()
                );
                Some((row.line, self::count(&row, 0)?))
            }
        };
    }
    Dataset::of_counts(name, counts)
}

/// A field that is a number of respondents.
fn count(row: &Row<'_>, at: usize) -> Result<u64> {
    let (line, text) = (row.line, row.text(at)?.trim());
    if let Ok(count) = text.parse() {
        return Ok(count);
    }
    ensure!(!text.is_empty(), "line {line}: the count is missing; write 0 if nobody holds the value");
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.strip_prefix('-') {
        _ if is_digits(text) => {
            bail!("line {line}: the count {} is beyond 2^63; divide all counts", short(text))
        }
        Some(rest) if is_digits(rest) => {
            bail!("line {line}: the count {} is negative; counts start at 0", short(text))
        }
        _ => bail!("line {line}: the count {} is not a whole number; write digits only", short(text)),
    }
}

fn is_count(header: &str) -> bool {
    header.trim().eq_ignore_ascii_case("count")
}

/// The names of columns, for a message.
fn list(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    let names: Vec<_> = names.iter().take(NAMES_MAX).map(|name| short(name.trim())).collect();
    names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// A text in quotes, cut where a message would become unreadable.
fn short(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}

const NO_ROWS: &str = "there is no row below the header; add one for each respondent, or for each value";
const NAMES_MAX: usize = 50;
const TEXT_CHARS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn zip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn dataset(file: &str) -> Dataset {
        read("test", file.as_bytes(), None).unwrap()
    }

    fn labels(dataset: &Dataset) -> Vec<String> {
        (0..dataset.domain() as usize).map(|value| dataset.label(value)).collect()
    }

    fn complaint(file: impl AsRef<[u8]>, column: Option<&str>) -> String {
        format!("{:#}", read("test", file.as_ref(), column).unwrap_err())
    }

    #[track_caller]
    fn assert_complains(file: impl AsRef<[u8]>, parts: &[&str]) {
        let complaint = complaint(file, None);
        for part in parts {
            assert!(complaint.contains(part), "{part:?} is not in {complaint:?}");
        }
    }

    #[test]
    fn values_with_counts() {
        let data = dataset("value,count\nSFO-LAX,13788\n\"a, \"\"b\"\"\", 5000000000 \nnobody,0\n");
        assert_eq!(data.counts(), [13788, 5_000_000_000, 0]);
        assert_eq!(labels(&data), ["SFO-LAX", "a, \"b\"", "nobody"]);
        assert_eq!(data.respondents(), 5_000_013_788);
        // Any name for the values, other line ends, a byte order mark, no line end at the end.
        let same =
            dataset("\u{feff}route, Count\r\nSFO-LAX,13788\r\n\"a, \"\"b\"\"\",5000000000\r\n\r\nnobody,0");
        assert_eq!(same, data);
    }

    #[test]
    fn one_row_per_respondent() {
        let file = "Age,Education\n39,Bachelors\n50,HS-grad\n38,HS-grad\n20,Doctorate\n";
        let data = read("census", file.as_bytes(), Some("Education")).unwrap();
        assert_eq!(labels(&data), ["HS-grad", "Bachelors", "Doctorate"]);
        assert_eq!((data.counts(), data.name()), (&[2, 1, 1][..], "census, Education"));
        // A column called count can be asked for; the texts of it are the values.
        let visits = read("visits", "who,count\na,7\nb,7\n".as_bytes(), Some("count")).unwrap();
        assert_eq!((labels(&visits), visits.counts()), (vec!["7".to_owned()], &[2][..]));
    }

    #[test]
    fn one_count_per_line() {
        let data = dataset("3\n0\n 5000000000 \n");
        assert_eq!((data.counts(), data.label(2)), (&[3, 0, 5_000_000_000][..], "2".into()));
        assert_eq!(dataset("1").counts(), [1]);
        assert_eq!(dataset("3\r\n4\r\n\r\n").counts(), [3, 4]);
    }

    #[test]
    fn one_respondent_is_a_dataset() {
        let expected = Dataset::of_counts("test", vec![1]).unwrap().with_labels(vec!["a".into()]);
        assert_eq!(dataset("value,count\na,1\n"), expected);
        assert_eq!(read("test", "v\na".as_bytes(), Some("v")).unwrap().counts(), [1]);
    }

    #[test]
    fn zipped_files_are_told_by_their_content() {
        let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        let rows = b"value,count\na,2\nb,3\n";
        file.write_all(&zip(rows)).unwrap();
        assert_eq!(Dataset::open_csv(file.path(), None).unwrap().counts(), [2, 3]);
        // What was zipped in two parts is one file.
        let parts = [zip(&rows[..9]), zip(&rows[9..])].concat();
        assert_eq!(read("test", &parts[..], None).unwrap().counts(), [2, 3]);
        assert_eq!(read("test", &rows[..], None).unwrap().counts(), [2, 3]);
    }

    #[test]
    fn a_damaged_zip_is_not_a_shorter_dataset() {
        let rows: String = (0..5000).map(|value| format!("{value},{}\n", value * value % 97)).collect();
        let whole = zip(format!("value,count\n{rows}").as_bytes());
        assert_eq!(read("test", &whole[..], None).unwrap().domain(), 5000);
        for length in (2..whole.len()).step_by(97).chain([whole.len() - 1, whole.len() - 8]) {
            assert_complains(&whole[..length], &["damaged or cut short after line", "zip it again"]);
        }
        let mut flipped = whole.clone();
        let middle = whole.len() - 6;
        flipped[middle] ^= 1;
        assert_complains(&flipped, &["damaged or cut short"]);
        assert_complains([&whole[..], b"and more"].concat(), &["damaged"]);
        assert_complains(zip(b""), &["empty"]);
    }

    #[test]
    fn messages_name_the_line_and_say_what_to_change() {
        assert_complains("", &["the file is empty; give it"]);
        assert_complains("\n\n", &["the file is empty"]);
        assert_complains("value,count\n", &["no row below the header"]);
        assert_complains("value,count\na,1\nb\n", &["line 3: 1 field where the header has 2"]);
        assert_complains("value,count\na,1\nb,\n", &["line 3: the count is missing; write 0"]);
        assert_complains("value,count\na,1\nb,c,2\n", &["line 3: 3 fields", "quotes"]);
        assert_complains("value,count\n\na,-1\n", &["line 3: the count \"-1\" is negative"]);
        assert_complains(
            "value,count\r\n\r\na,1.5\r\n",
            &["line 3: the count \"1.5\" is not a whole number"],
        );
        assert_complains("value,count\na,1e3\n", &["line 2: the count \"1e3\" is not a whole number"]);
        assert_complains("value,count\n\"a\nb\",1\nc,x\n", &["line 4: the count \"x\""]);
        assert_complains("value,count\na,1\nb,2\na,3\n", &["line 4: \"a\" is on line 2 already"]);
        assert_complains(b"value,count\na,1\n\xe4,2\n", &["line 3: not UTF-8"]);
        assert_complains("value,count\na,1\n\"b,2\n", &["line 3: a quote is opened"]);
        assert_complains("value,count\na,0\nb,0\n", &["nobody would answer"]);
        assert_complains("the,231\nof,131\n", &["line 1", "add that header"]);
        assert_complains("Age,Sex\n39,Male\n", &["line 1", "name a column", "\"Age\", \"Sex\""]);
    }

    #[test]
    fn counts_beyond_what_can_be_summed_are_refused() {
        let half = 1_u64 << 62;
        assert_eq!(dataset(&format!("v,count\na,{half}\nb,{half}\n")).respondents(), 1 << 63);
        assert_complains(format!("v,count\na,{half}\nb,{half}\nc,1\n"), &["line 4: more than 2^63"]);
        assert_complains(format!("{half}\n{half}\n1\n"), &["line 3: more than 2^63"]);
        assert_complains("v,count\na,99999999999999999999999\n", &["line 2", "beyond 2^63"]);
    }

    #[test]
    fn lines_of_counts_have_no_gaps() {
        assert_complains("1\n\n2\n", &["line 2 is empty; write 0"]);
        assert_complains("1\r\n2\r\n\r\n4\r\n", &["line 3 is empty"]);
        assert_complains("\n1\n", &["line 1 is empty"]);
        assert_complains("1\n2\n-3\n", &["line 3: the count \"-3\" is negative"]);
        assert_complains("1.5\n", &["line 1: the count \"1.5\" is not a whole number"]);
        assert_complains("-1\n", &["line 1: the count \"-1\" is negative"]);
        assert_complains("1\n2,3\n", &["line 2: 2 fields"]);
        assert_complains("0\n0\n", &["nobody would answer"]);
    }

    #[test]
    fn a_column_must_be_there_once() {
        let unknown = complaint("Age,Sex\n39,Male\n", Some("sex"));
        assert!(unknown.contains("no column \"sex\"; the columns are \"Age\", \"Sex\""), "{unknown}");
        assert!(complaint("Sex,Sex\na,b\n", Some("Sex")).contains("two columns"));
        assert!(complaint("Age,Sex\n39,Male\n40\n", Some("Age")).contains("line 3: 1 field"));
        assert!(complaint("Age,Sex\n", Some("Age")).contains("no row below the header"));
        assert!(complaint("", Some("Age")).contains("empty"));
        assert!(complaint("value,count\na,5\n", Some("value")).contains("name no column"));
        assert!(complaint(b"Age\n1\n\xff\n", Some("Age")).contains("line 3: not UTF-8"));
    }

    #[test]
    fn memory_is_bounded_by_the_number_of_values() {
        let limited = |file: &str, column| read_up_to(3, "test", file.as_bytes(), column);
        let refused = |file, column| format!("{:#}", limited(file, column).unwrap_err());
        assert!(limited("1\n2\n3\n", None).is_ok() && limited("v\na\nb\nc\na\n", Some("v")).is_ok());
        assert_eq!(refused("1\n2\n3\n4\n", None), format!("line 4: {TOO_MANY}"));
        assert_eq!(refused("v\na\nb\nc\na\nd\n", Some("v")), format!("line 6: {TOO_MANY}"));
        assert_eq!(refused("v,count\na,1\nb,1\nc,1\nd,1\n", None), format!("line 5: {TOO_MANY}"));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ages.csv");
        assert!(format!("{:#}", Dataset::open_csv(&path, None).unwrap_err()).contains("cannot open"));
        std::fs::write(&path, "value,count\na,-1\n").unwrap();
        let complaint = format!("{:#}", Dataset::open_csv(&path, None).unwrap_err());
        assert!(complaint.contains("ages.csv: line 2: the count"), "{complaint}");
        assert!(Dataset::open_csv(folder.path(), None).is_err());
    }

    proptest! {
        /// Rows of respondents and the counts of the same rows are one dataset, whatever the texts hold.
        #[test]
        fn respondents_and_counts_agree(texts in prop::collection::vec("[ab,\"\n é]{0,3}", 1..40), crlf: bool) {
            let end = if crlf { "\r\n" } else { "\n" };
            let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            let rows: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
            let respondents = format!("value{end}{}{end}", rows.join(end));
            let one = read("x", respondents.as_bytes(), Some("value")).unwrap();

            let lines: String =
                (0..one.counts().len()).map(|at| format!("{},{}{end}", quoted(&one.label(at)), one.counts()[at])).collect();
            let other = read("x, value", format!("value,count{end}{lines}").as_bytes(), None).unwrap();
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(one.respondents(), texts.len() as u64);
            for (at, count) in one.counts().iter().enumerate() {
                let held = texts.iter().filter(|text| **text == one.label(at)).count();
                prop_assert_eq!(*count, held as u64);
            }
        }

        /// Whatever the bytes are, the answer is a dataset or a reason.
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(prop::sample::select(&b"1a,\"\n\r-\xff"[..]), 0..40)) {
            for column in [None, Some("a")] {
                for head in ["", "a,count\n", "a\n"] {
                    let _ = read("x", &[head.as_bytes(), &bytes].concat()[..], column);
                }
            }
        }
    }
}
