//! The report as one page: styles, pictures and plots are inside, and nothing is fetched from anywhere.

mod figures;
mod table;

use anyhow::Result;

use super::number::{duration, memory};
use super::table::{Column, Table};
use super::verdict::{Tally, Verdict, complaint};
use super::{Image, Report, Section};
use figures::Thumbnails;

/// The text of an HTML file.
pub(super) fn page(report: &Report) -> Result<String> {
    let pictures = report.figures().filter_map(|figure| match &figure.image {
        Image::Picture(picture) => Some((figure.name.as_str(), picture)),
        Image::Plot(_) => None,
    });
    let thumbnails = Thumbnails::of(pictures)?;
    let sections: Vec<String> =
        report.sections.iter().map(|part| section(part, &thumbnails)).collect::<Result<_>>()?;
    Ok(format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{colophon}
</header>
<main>
{summary}
{sections}
</main>
</body>
</html>
"#,
        title = escaped(&report.title),
        colophon = colophon(report),
        summary = summary(report),
        sections = sections.join("\n"),
    ))
}

/// When, where and how it was measured.
fn colophon(report: &Report) -> String {
    let memory = match report.peak_rss_bytes {
        0 => String::new(),
        bytes => format!("<li>at most {} of memory</li>", memory(bytes)),
    };
    format!(
        r#"<ul class="colophon"><li>{}</li><li>{}</li><li>seed {}</li><li>{}</li>{memory}</ul>
<pre tabindex="0" aria-label="The command that measures it again"><code>{}</code></pre>"#,
        escaped(&report.date),
        escaped(&report.machine),
        report.seed,
        report.time(),
        escaped(&report.command),
    )
}

fn summary(report: &Report) -> String {
    let tally = Tally::of(report.rows());
    let remark = tally.remark().map_or(String::new(), |remark| format!("<p>{remark}</p>\n"));
    let counts: String = Verdict::ALL
        .iter()
        .map(|&verdict| {
            let (class, label, count) = (class(verdict), verdict.label(), tally.count(verdict));
            let none = if count == 0 { " none" } else { "" };
            format!("<div class=\"{class}{none}\"><dt>{label}</dt><dd>{count}</dd></div>\n")
        })
        .collect();
    let legend = if tally.total() > 0 { legend() } else { String::new() };
    format!(
        r#"<section id="summary">
<h2>Summary</h2>
<p class="headline{loud}">{headline}</p>
{remark}<dl class="counts">
{counts}</dl>
{alarm}{contents}
{legend}</section>"#,
        headline = tally.headline(),
        loud = if tally.count(Verdict::Disagrees) > 0 { " disagrees" } else { "" },
        alarm = alarm(report),
        contents = contents(report, &tally),
    )
}

/// All disagreements with links to them, where nobody can miss them.
fn alarm(report: &Report) -> String {
    let mut items = String::new();
    for section in &report.sections {
        for (at, row) in section.rows.iter().enumerate() {
            if Verdict::of(row) == Verdict::Disagrees {
                items += &format!(
                    "<li><a href=\"#{}\">{}: {}</a> {}</li>\n",
                    table::row_id(section.name, at),
                    escaped(row.table),
                    escaped(&row.cell),
                    escaped(&complaint(row))
                );
            }
        }
    }
    match items.as_str() {
        "" => String::new(),
        _ => format!(
            "<div class=\"alarm\" role=\"group\" aria-labelledby=\"alarm\">\n<h3 id=\"alarm\">What disagrees</h3>\n<ul>\n{items}</ul>\n</div>\n"
        ),
    }
}

/// Which section has how many cells of each verdict, with links.
fn contents(report: &Report, total: &Tally) -> String {
    let counts = |tally: &Tally| -> String {
        let cell = |verdict: &Verdict| match tally.count(*verdict) {
            0 => "<td class=\"none\">0</td>".to_owned(),
            count => format!("<td class=\"{}\">{count}</td>", class(*verdict)),
        };
        Verdict::ALL.iter().map(cell).collect()
    };
    let headings: String =
        Verdict::ALL.map(|verdict| format!("<th scope=\"col\">{}</th>", verdict.label())).concat();
    let lines: String = report
        .sections
        .iter()
        .map(|section| {
            format!(
                "<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th>{}<td class=\"time\">{}</td></tr>\n",
                section.name,
                escaped(&section.title),
                counts(&Tally::of(&section.rows)),
                duration(section.seconds)
            )
        })
        .collect();
    format!(
        r#"<nav aria-labelledby="contents">
<h3 id="contents">Contents</h3>
<table class="contents">
<thead><tr><th scope="col">section</th>{headings}<th scope="col" class="time">time</th></tr></thead>
<tbody>
{lines}</tbody>
<tfoot><tr><th scope="row">all</th>{}<td class="time">{}</td></tr></tfoot>
</table>
</nav>"#,
        counts(total),
        duration(report.seconds)
    )
}

/// What headings and verdicts mean.
fn legend() -> String {
    let columns = Column::ALL
        .map(|column| format!("<div><dt>{}</dt><dd>{}</dd></div>\n", column.heading(), column.meaning()));
    let verdicts = Verdict::ALL.map(|verdict| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", table::badge(verdict), verdict.meaning())
    });
    format!(
        "<h3>How to read the tables</h3>\n<div class=\"legend\">\n<dl>\n{}</dl>\n<dl>\n{}</dl>\n</div>\n",
        columns.concat(),
        verdicts.concat()
    )
}

fn section(section: &Section, thumbnails: &Thumbnails) -> Result<String> {
    let text: String = section.text.iter().map(|text| format!("<p>{}</p>\n", escaped(text))).collect();
    let tables = Table::all(&section.rows);
    let tables: String =
        tables.iter().enumerate().map(|(at, table)| table::draw(section.name, at, table)).collect();
    Ok(format!(
        r##"<section id="{name}">
<h2>{title}</h2>
{text}{figures}{tables}<p class="end">Measured in {time}. <a href="#contents">Contents</a></p>
</section>"##,
        name = section.name,
        title = escaped(&section.title),
        figures = figures::draw(&section.figures, thumbnails)?,
        time = duration(section.seconds),
    ))
}

/// The name of a verdict in the style sheet.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Exact => "exact",
        Verdict::Scale => "scale",
        Verdict::Order => "order",
        Verdict::PaperError => "paper-error",
        Verdict::Disagrees => "disagrees",
    }
}

/// Text that is neither a tag nor the end of an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            _ => escaped.push(c),
        }
    }
    escaped
}

const STYLE: &str = include_str!("html/style.css");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::sample;

    fn sample_page() -> String {
        page(&sample::report()).unwrap()
    }

    #[test]
    fn text_stays_text() {
        assert_eq!(
            escaped("<a href=\"x\">'b' & c</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;b&#39; &amp; c&lt;/a&gt;"
        );
        let mut report = sample::report();
        let hostile = "</title></style><script>\"'&";
        report.title = hostile.into();
        report.command = hostile.into();
        report.date = hostile.into();
        report.machine = hostile.into();
        let section = &mut report.sections[0];
        section.title = hostile.into();
        section.text = vec![hostile.into()];
        section.figures[0].caption = hostile.into();
        section.rows.truncate(1);
        let row = &mut section.rows[0];
        (row.cell, row.tolerance, row.note, row.agrees) =
            (hostile.into(), hostile.into(), Some(hostile.into()), false);
        let page = page(&report).unwrap();
        assert!(!page.contains("<script"));
        assert_eq!((page.matches("</title></style>").count(), page.matches("</style>").count()), (0, 1));
        // The title twice, the head's three, the section's heading, link and text, the caption as caption and as
        // text for those who do not see, the cell and its tolerance in table and alarm, and the note.
        assert_eq!(page.matches(&escaped(hostile)).count(), 15);
    }

    #[test]
    fn nothing_is_fetched() {
        let page = sample_page().replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!page.contains("http://") && !page.contains("https://"));
        for word in ["url(", "@import", "<script", "<link rel=\"stylesheet", "<iframe"] {
            assert!(!page.contains(word), "{word}");
        }
        assert!(page.split(" src=\"").skip(1).all(|source| source.starts_with("data:image/png;base64,")));
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn the_summary_comes_first_and_is_loud() {
        let page = sample_page();
        let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}"));
        let headline = at("<p class=\"headline disagrees\">1 of 6 cells disagrees.</p>");
        let counts = at("<div class=\"scale\"><dt>in scale</dt><dd>2</dd></div>");
        let alarm = at(
            "<li><a href=\"#horse.row-3\">horse-1-crowd: epsilon_central 1, tau 4: RMSE</a> should agree in scale (within a factor 1.5 of the paper): paper 96.25, paper&#39;s own rule 100.41, central Gaussian 19.25</li>",
        );
        let contents = at("<a href=\"#horse\">A horse &amp; its crowd</a>");
        let section = at("<section id=\"horse\">");
        assert!([headline, counts, alarm, contents, section].is_sorted());

        let mut report = sample::report();
        report.sections[0].rows[2].agrees = true;
        let calm = super::page(&report).unwrap();
        assert!(calm.contains("<p class=\"headline\">All 6 cells are as they should be.</p>"));
        assert!(calm.contains("<div class=\"disagrees none\"><dt>disagrees</dt><dd>0</dd></div>"));
        assert!(!calm.contains("class=\"alarm\"") && !calm.contains("should agree"));
    }

    #[test]
    fn contents_count_the_cells_of_each_section() {
        let page = sample_page();
        let (one, two, three) =
            ("<td class=\"exact\">1</td>", "<td class=\"scale\">2</td>", "<td class=\"order\">1</td>");
        let (four, five) = ("<td class=\"paper-error\">1</td>", "<td class=\"disagrees\">1</td>");
        let none = "<td class=\"none\">0</td>";
        assert!(page.contains(&format!(
            "crowd</a></th>{none}{two}{three}{four}{five}<td class=\"time\">12 min 30 s"
        )));
        assert!(
            page.contains(&format!("worth</a></th>{one}{none}{none}{none}{none}<td class=\"time\">4.2 s"))
        );
        assert!(
            page.contains(&format!("all</th>{one}{two}{three}{four}{five}<td class=\"time\">12 min 34 s"))
        );
    }

    #[test]
    fn every_link_within_the_page_leads_somewhere_and_every_place_is_one() {
        let page = sample_page();
        let values = |start: &str| -> Vec<String> {
            page.split(start).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let places = values(" id=\"");
        let distinct: std::collections::HashSet<&String> = places.iter().collect();
        assert_eq!(distinct.len(), places.len());
        let links = values(" href=\"#");
        assert!(links.len() > 6);
        for link in links {
            assert!(places.contains(&link), "{link}");
        }
    }

    #[test]
    fn headings_are_in_order() {
        let page = sample_page();
        let levels: Vec<u32> = page
            .split("<h")
            .skip(1)
            .filter_map(|rest| rest.chars().next().and_then(|level| level.to_digit(10)))
            .collect();
        assert_eq!(levels[..2], [1, 2]);
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1 && pair[1] > 1));
    }
}
