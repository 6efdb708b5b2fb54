//! The report as Markdown, as GitHub shows it, with links to the PNG files beside it.

use super::number::{duration, memory, shown};
use super::table::{Column, Table};
use super::verdict::{Tally, Verdict, complaint, expectation};
use super::{Figure, Image, Report, Row, SMALL, SMALL_WIDTH, Section};

/// The text of a Markdown file.
pub(super) fn document(report: &Report) -> String {
    let mut blocks = vec![format!("# {}", inline(&report.title)), colophon(report)];
    blocks.push(format!("    {}", report.command.replace(['\n', '\r'], " ")));
    blocks.extend(summary(report));
    blocks.extend(report.sections.iter().flat_map(section));
    blocks.join("\n\n") + "\n"
}

/// When, where and how it was measured.
fn colophon(report: &Report) -> String {
    let mut parts =
        vec![inline(&report.date), inline(&report.machine), format!("seed {}", report.seed), report.time()];
    if report.peak_rss_bytes > 0 {
        parts.push(format!("at most {} of memory", memory(report.peak_rss_bytes)));
    }
    guarded(&parts.join("; ")) + ". To measure it again:"
}

fn summary(report: &Report) -> Vec<String> {
    let tally = Tally::of(report.rows());
    let mut blocks = vec!["## Summary".to_owned()];
    blocks.push(
        [format!("**{}**", tally.headline())].into_iter().chain(tally.remark()).collect::<Vec<_>>().join(" "),
    );
    let off: Vec<String> = report
        .rows()
        .filter(|row| Verdict::of(row) == Verdict::Disagrees)
        .map(|row| format!("- **{}: {}** {}", inline(row.table), inline(&row.cell), inline(&complaint(row))))
        .collect();
    if !off.is_empty() {
        blocks.push(off.join("\n"));
    }
    blocks.push(contents(report, &tally));
    if tally.total() > 0 {
        blocks.push(legend());
    }
    blocks
}

/// Which section has how many cells of each verdict, with links.
fn contents(report: &Report, total: &Tally) -> String {
    let mut columns = vec![("section".to_owned(), Align::Left)];
    columns.extend(Verdict::ALL.map(|verdict| (verdict.label().to_owned(), Align::Right)));
    columns.push(("time".to_owned(), Align::Right));
    let line = |first: String, tally: &Tally, seconds| -> Vec<String> {
        let counts = Verdict::ALL.map(|verdict| count(tally, verdict));
        [first].into_iter().chain(counts).chain([duration(seconds)]).collect()
    };
    let mut lines: Vec<Vec<String>> = report
        .sections
        .iter()
        .map(|section| {
            let link = format!("[{}](#{})", cell(&section.title), section.name);
            line(link, &Tally::of(&section.rows), section.seconds)
        })
        .collect();
    lines.push(line("all".to_owned(), total, report.seconds));
    table_of(&columns, &lines)
}

fn count(tally: &Tally, verdict: Verdict) -> String {
    let count = tally.count(verdict);
    if verdict == Verdict::Disagrees && count > 0 { format!("**{count}**") } else { count.to_string() }
}

/// What headings and verdicts mean.
fn legend() -> String {
    let columns = Column::ALL.map(|column| (column.heading(), column.meaning()));
    let verdicts = Verdict::ALL.map(|verdict| (verdict.label(), verdict.meaning()));
    let line = |(word, meaning)| format!("- *{word}*: {meaning}");
    columns.into_iter().chain(verdicts).map(line).collect::<Vec<_>>().join("\n")
}

fn section(section: &Section) -> Vec<String> {
    // An anchor of our own: what GitHub makes of a title is its own affair.
    let mut blocks =
        vec![format!("<a id=\"{}\"></a>", section.name), format!("## {}", inline(&section.title))];
    blocks.extend(section.text.iter().map(|text| paragraph(text)));
    let is_picture = |figure: &Figure| matches!(figure.image, Image::Picture(_));
    for group in section.figures.chunk_by(|a, b| is_picture(a) && is_picture(b)) {
        blocks.push(figures(group));
    }
    blocks.extend(Table::all(&section.rows).iter().flat_map(table));
    blocks
}

/// One figure, or a table of several, each with its caption below it.
fn figures(figures: &[Figure]) -> String {
    let image = |figure: &Figure| {
        let ending = match &figure.image {
            Image::Plot(_) => ".svg".to_owned(),
            Image::Picture(picture) if picture.width() > SMALL_WIDTH => format!("{SMALL}.png"),
            Image::Picture(_) => ".png".to_owned(),
        };
        format!("![{}]({}{ending})", cell(&figure.caption), figure.name)
    };
    if let [one] = figures {
        return format!("{}\n\n*{}*", image(one), inline(&one.caption));
    }
    let across = figures.len().min(PICTURES_ACROSS);
    let mut lines: Vec<Vec<String>> = Vec::new();
    for group in figures.chunks(across) {
        lines.push(group.iter().map(image).collect());
        lines.push(group.iter().map(|figure| cell(&figure.caption)).collect());
    }
    for line in &mut lines {
        line.resize(across, String::new());
    }
    let heading = lines.remove(0).into_iter().map(|image| (image, Align::Middle));
    table_of(&heading.collect::<Vec<_>>(), &lines)
}

fn table(table: &Table) -> Vec<String> {
    let mut blocks = vec![format!("### {}", inline(table.label))];
    if let Some(tolerance) = table.tolerance {
        blocks.push(format!("All cells: {}.", inline(tolerance)));
    }
    let mut columns = vec![("cell".to_owned(), Align::Left)];
    columns.extend(table.columns.iter().map(|column| (column.heading().to_owned(), Align::Right)));
    columns.push(("agreement".to_owned(), Align::Left));
    let lines: Vec<Vec<String>> = table.rows.iter().map(|(_, row)| table_row(table, row)).collect();
    blocks.push(table_of(&columns, &lines));
    if !table.notes.is_empty() {
        let note = |(at, note): (usize, &&str)| format!("{}. {}", at + 1, inline(note));
        blocks.push(table.notes.iter().enumerate().map(note).collect::<Vec<_>>().join("\n"));
    }
    blocks
}

fn table_row(table: &Table, row: &Row) -> Vec<String> {
    let mark = table.note_number(row).map_or(String::new(), |number| format!(" <sup>{number}</sup>"));
    let mut line = vec![cell(&row.cell) + &mark];
    line.extend(table.columns.iter().map(|column| column.value(row).map_or(String::new(), shown)));
    let verdict = Verdict::of(row);
    let mut agreement = match verdict {
        Verdict::Disagrees => format!("**{}**: {}", verdict.label(), expectation(row)),
        _ => verdict.label().to_owned(),
    };
    if let Some(tolerance) = table.tolerance_of(row) {
        agreement += &format!(" ({})", cell(tolerance));
    }
    line.push(agreement);
    line
}

/// A table of columns that are text, or numbers on the right of their columns.
fn table_of(columns: &[(String, Align)], lines: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let (heading, rule): (Vec<String>, Vec<String>) =
        columns.iter().map(|(heading, align)| (heading.clone(), align.rule().to_owned())).unzip();
    [line(&heading), line(&rule)]
        .into_iter()
        .chain(lines.iter().map(|cells| line(cells)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Where the cells of a column stand.
#[derive(Clone, Copy)]
enum Align {
    Left,
    Middle,
    Right,
}

impl Align {
    fn rule(self) -> &'static str {
        match self {
            Self::Left => "---",
            Self::Middle => ":---:",
            Self::Right => "---:",
        }
    }
}

/// Text within a table.
fn cell(text: &str) -> String {
    inline(text).replace('|', "\\|")
}

/// Text that begins a line, where some characters would begin a list or a heading.
fn paragraph(text: &str) -> String {
    guarded(&inline(text))
}

fn guarded(text: &str) -> String {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        Some('#' | '+' | '-' | '=' | '>') if digits == 0 => format!("\\{text}"),
        _ => text.to_owned(),
    }
}

/// Text on one line, with a backslash before what Markdown would make something else of. `epsilon_central` stays
/// readable: an underscore between letters means nothing.
fn inline(text: &str) -> String {
    let text = one_line(text);
    let mut escaped = String::new();
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_inner = |neighbor: Option<&char>| neighbor.is_some_and(|n| n.is_alphanumeric());
        let is_special = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '&' | '$' | '~' => true,
            '_' => !(is_inner(before.as_ref()) && is_inner(rest.peek())),
            _ => false,
        };
        if is_special {
            escaped.push('\\');
        }
        escaped.push(c);
        before = Some(c);
    }
    escaped
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As many as GitHub's column shows well.
const PICTURES_ACROSS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::sample;

    #[test]
    fn text_stays_text() {
        assert_eq!(
            inline("a < b & *c* [d] `e` $f$ ~g~ h\\i"),
            "a \\< b \\& \\*c\\* \\[d\\] \\`e\\` \\$f\\$ \\~g\\~ h\\\\i"
        );
        assert_eq!(inline("epsilon_central of _x_"), "epsilon_central of \\_x\\_");
        assert_eq!(cell("a | b\nc\\|d"), "a \\| b c\\\\\\|d");
        let starts = ["# a", "- a", "+ a", "> a", "= a", "12. a", "3) a", "12 a", "a - b"].map(paragraph);
        assert_eq!(
            starts,
            ["\\# a", "\\- a", "\\+ a", "\\> a", "\\= a", "12\\. a", "3\\) a", "12 a", "a - b"]
        );
    }

    #[test]
    fn every_row_is_a_line_of_its_table() {
        let report = sample::report();
        let text = document(&report);
        let line = |start: &str| {
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(start)).collect();
            assert_eq!(lines.len(), 1, "{start}");
            lines[0]
        };
        for row in report.rows() {
            line(&format!("| {}", cell(&row.cell)));
        }
        assert_eq!(
            line("| epsilon_central 0.25"),
            "| epsilon_central 0.25, tau 4: RMSE <sup>1</sup> | 1,821.02 | 1,899.69 | 1,112.64 | 364.2 | in scale |"
        );
        assert_eq!(
            line("| bits"),
            "| bits \\| fragment, \"sealed\" <sup>1</sup> | 1,600,000 | 1,048,576 | 2,048 | paper's error (equal, to the bit) |"
        );
        assert_eq!(
            line("| delta, tail"),
            "| delta, tail |  | 1.235 × 10⁻⁷ | 0.0005 | in order (below 10^-6) |"
        );
        assert!(text.contains("\n1. Printed for 100 crowds, \\<not> for 64. The caption is right.\n"));
        assert!(text.contains("\nAll cells: within a factor 1.5 of the paper.\n"));
    }

    #[test]
    fn tables_have_as_many_cells_in_every_line() {
        let text = document(&sample::report());
        let width = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut tables = 0;
        for table in text.split("\n\n").filter(|block| block.starts_with('|')) {
            let widths: Vec<usize> = table.lines().map(width).collect();
            assert!(widths.len() > 2 && widths.iter().all(|width| *width == widths[0]), "{table}");
            tables += 1;
        }
        // The contents, three tables of rows, one of pictures.
        assert_eq!(tables, 5);
    }

    #[test]
    fn the_summary_comes_first_and_is_loud() {
        let text = document(&sample::report());
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}"));
        let loud = at("**1 of 6 cells disagrees.** For 1 cell");
        let which = at(
            "- **horse-1-crowd: epsilon_central 1, tau 4: RMSE** should agree in scale (within a factor 1.5 of the paper): paper 96.25, paper's own rule 100.41, central Gaussian 19.25",
        );
        let contents = at("| [A horse \\& its crowd](#horse) | 0 | 2 | 1 | 1 | **1** | 12 min 30 s |");
        let all = at("| all | 1 | 2 | 1 | 1 | **1** | 12 min 34 s |");
        let section = at("<a id=\"horse\"></a>");
        assert!([loud, which, contents, all, section].is_sorted());
        assert!(text.contains("**disagrees**: should agree in scale |"));
    }

    #[test]
    fn figures_are_links_to_files() {
        let report = sample::report();
        let text = document(&report);
        for figure in report.figures() {
            assert!(text.contains(&format!("]({}", figure.name)), "{}", figure.name);
            assert!(text.matches(&cell(&figure.caption)).count() >= 2, "{}", figure.caption);
        }
        // Wide pictures are shown small; each link is a file that is written.
        assert!(text.contains("](horse-large-small.png)") && text.contains("](horse-truth.png)"));
        let files = report.files().unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_file = files.iter().any(|(name, _)| name == link);
            assert!(is_file || link.starts_with('#'), "{link}");
        }
        assert!(
            text.contains("![Lower is better; \\<both> axes are logarithmic](amplification.svg)\n\n*Lower")
        );
    }

    #[test]
    fn many_pictures_are_one_table() {
        let pictures = sample::report().sections[0].figures[..2].to_vec();
        let pictures = [pictures.clone(), pictures].concat();
        let (a, b) = (
            "![The truth: 25 x 20 pixels \\& no noise](horse-truth.png)",
            "The truth: 25 x 20 pixels \\& no noise",
        );
        let (c, d) =
            ("![Throng at epsilon_central 0.25](horse-throng.png)", "Throng at epsilon_central 0.25");
        assert_eq!(
            figures(&pictures),
            format!(
                "| {a} | {c} | {a} |\n| :---: | :---: | :---: |\n| {b} | {d} | {b} |\n| {c} |  |  |\n| {d} |  |  |"
            )
        );
    }

    #[test]
    fn how_it_was_measured_is_said() {
        let text = document(&sample::report());
        assert!(text.starts_with("# The tables of \\<Encode, Shuffle, Analyze>, measured again\n\n"));
        assert!(text.contains(
            "\n2026-11-16; 2 cores, 4 GB, Linux; seed 7; 12 min 34 s; at most 1.8 GB of memory. To measure it again:\n\n    throng experiments --seed 7 --out \"results & more\"\n"
        ));
        let unknown = Report { peak_rss_bytes: 0, ..sample::report() };
        assert!(!document(&unknown).contains("of memory"));
        let trained = Report { training_seconds: 7_800.0, ..sample::report() };
        assert!(
            document(&trained)
                .contains("; 12 min 34 s, and trainings of 2 h 10 min in all, now or before; at most")
        );
    }
}
