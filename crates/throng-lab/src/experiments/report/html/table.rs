//! The rows of a table in the page: what is small in the paper's tables is small here.

use super::{class, escaped};
use crate::experiments::Row;
use crate::experiments::report::number::{paddings, shown};
use crate::experiments::report::table::Table;
use crate::experiments::report::verdict::{Verdict, expectation};

/// A table of a section, with its notes below it.
///
/// On a narrow screen every row is a card of its own. Browsers forget that such a table is one, hence the roles.
pub(super) fn draw(section: &str, at: usize, table: &Table) -> String {
    let headings: String = table
        .columns
        .iter()
        .map(|column| {
            format!(
                "<th role=\"columnheader\" scope=\"col\" class=\"number\">{}</th>",
                escaped(column.heading())
            )
        })
        .collect();
    let numbers: Vec<Vec<String>> = table
        .columns
        .iter()
        .map(|column| {
            let texts: Vec<String> =
                table.rows.iter().map(|(_, row)| column.value(row).map_or(String::new(), shown)).collect();
            let padded = texts.iter().zip(paddings(&texts)).map(|(text, padding)| padded(text, &padding));
            padded.collect()
        })
        .collect();
    let id = format!("{section}.table-{}", at + 1);
    let lines: String = table
        .rows
        .iter()
        .enumerate()
        .map(|(line, &(place, row))| {
            let numbers: String = table
                .columns
                .iter()
                .zip(&numbers)
                .map(|(column, numbers)| {
                    let heading = escaped(column.heading());
                    format!(
                        "<td role=\"cell\" class=\"number\" data-heading=\"{heading}\">{}</td>",
                        numbers[line]
                    )
                })
                .collect();
            format!(
                "<tr role=\"row\" id=\"{}\"{}>{}{numbers}{}</tr>\n",
                row_id(section, place),
                if row.agrees { "" } else { " class=\"off\"" },
                name(&id, table, row),
                agreement(table, row)
            )
        })
        .collect();
    let tolerance = table
        .tolerance
        .map_or(String::new(), |tolerance| format!(" <small>all cells: {}</small>", escaped(tolerance)));
    format!(
        r#"<table class="rows" role="table" id="{id}">
<caption>{}{tolerance}</caption>
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">cell</th>{headings}<th role="columnheader" scope="col">agreement</th></tr></thead>
<tbody role="rowgroup">
{lines}</tbody>
</table>
{}"#,
        escaped(table.label),
        notes(&id, table)
    )
}

/// Where to find a row, from its place among all rows of its section.
pub(super) fn row_id(section: &str, place: usize) -> String {
    // Names of sections have no dot, so this is nobody else's.
    format!("{section}.row-{}", place + 1)
}

/// A verdict that is told by its word, not by its colour alone.
pub(super) fn badge(verdict: Verdict) -> String {
    format!("<span class=\"badge {}\">{}</span>", class(verdict), escaped(verdict.label()))
}

/// A number, and after it something of the width of the digits that it lacks.
fn padded(text: &str, padding: &str) -> String {
    match padding {
        "" => text.to_owned(),
        _ => format!("{text}<span class=\"padding\" aria-hidden=\"true\">{padding}</span>"),
    }
}

fn name(table_id: &str, table: &Table, row: &Row) -> String {
    let mark = table.note_number(row).map_or(String::new(), |number| {
        format!("<sup><a href=\"#{table_id}.note-{number}\" aria-label=\"note {number}\">{number}</a></sup>")
    });
    format!("<th role=\"rowheader\" scope=\"row\">{}{mark}</th>", escaped(&row.cell))
}

fn agreement(table: &Table, row: &Row) -> String {
    let verdict = Verdict::of(row);
    let expectation = (verdict == Verdict::Disagrees).then(|| expectation(row).to_owned());
    let tolerance = table.tolerance_of(row).map(escaped);
    let small = expectation.into_iter().chain(tolerance).map(|text| format!(" <small>{text}</small>"));
    format!("<td role=\"cell\" class=\"agreement\">{}{}</td>", badge(verdict), small.collect::<String>())
}

fn notes(table_id: &str, table: &Table) -> String {
    if table.notes.is_empty() {
        return String::new();
    }
    let note = |(at, note): (usize, &&str)| {
        format!("<li id=\"{table_id}.note-{}\">{}</li>\n", at + 1, escaped(note))
    };
    let notes: String = table.notes.iter().enumerate().map(note).collect();
    format!("<ol class=\"notes\">\n{notes}</ol>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::{html, sample};

    #[test]
    fn every_row_is_in_the_page() {
        let report = sample::report();
        let page = html::page(&report).unwrap();
        for section in &report.sections {
            for (place, row) in section.rows.iter().enumerate() {
                let start = format!("<tr role=\"row\" id=\"{}.row-{}\"", section.name, place + 1);
                let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("{start}"));
                let line = rest.lines().next().unwrap();
                assert!(line.contains(&format!("scope=\"row\">{}<", escaped(&row.cell))), "{line}");
                for number in [row.paper, row.paper_rule, row.throng, row.gaussian].into_iter().flatten() {
                    assert!(line.contains(&format!(">{}<", shown(number))), "{number} in {line}");
                }
                assert!(line.contains(&badge(Verdict::of(row))), "{line}");
                assert_eq!(line.contains("class=\"off\""), !row.agrees);
            }
        }
    }

    #[test]
    fn a_table_is_drawn_whole() {
        let report = sample::report();
        let table = &Table::all(&report.sections[0].rows)[1];
        // No column for a Gaussian that nobody has measured; points below each other; each note once.
        let expected = r##"<table class="rows" role="table" id="horse.table-2">
<caption>horse-bits</caption>
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">cell</th><th role="columnheader" scope="col" class="number">paper</th><th role="columnheader" scope="col" class="number">paper&#39;s own rule</th><th role="columnheader" scope="col" class="number">Throng</th><th role="columnheader" scope="col">agreement</th></tr></thead>
<tbody role="rowgroup">
<tr role="row" id="horse.row-4"><th role="rowheader" scope="row">bits | fragment, &quot;sealed&quot;<sup><a href="#horse.table-2.note-1" aria-label="note 1">1</a></sup></th><td role="cell" class="number" data-heading="paper">1,600,000</td><td role="cell" class="number" data-heading="paper&#39;s own rule">1,048,576</td><td role="cell" class="number" data-heading="Throng">2,048<span class="padding" aria-hidden="true">.0000</span></td><td role="cell" class="agreement"><span class="badge paper-error">paper&#39;s error</span> <small>equal, to the bit</small></td></tr>
<tr role="row" id="horse.row-5"><th role="rowheader" scope="row">delta, tail</th><td role="cell" class="number" data-heading="paper"></td><td role="cell" class="number" data-heading="paper&#39;s own rule">1.235 × 10⁻⁷</td><td role="cell" class="number" data-heading="Throng">0.0005</td><td role="cell" class="agreement"><span class="badge order">in order</span> <small>below 10^-6</small></td></tr>
</tbody>
</table>
<ol class="notes">
<li id="horse.table-2.note-1">Printed for 100 crowds, &lt;not&gt; for 64.
The caption is right.</li>
</ol>
"##;
        assert_eq!(draw("horse", 1, table), expected);
    }

    #[test]
    fn a_shared_tolerance_is_said_once_and_a_disagreement_says_what_was_expected() {
        let report = sample::report();
        let text = draw("horse", 0, &Table::all(&report.sections[0].rows)[0]);
        assert_eq!(text.matches("within a factor 1.5 of the paper").count(), 1);
        assert!(text.contains(
            "<span class=\"badge disagrees\">disagrees</span> <small>should agree in scale</small>"
        ));
        assert_eq!(text.matches("should agree").count(), 1);
    }
}
