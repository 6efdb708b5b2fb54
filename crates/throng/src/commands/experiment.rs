//! `throng experiment`: the paper's tables and figures beside our own.

use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::{Format, print};
use crate::cli::ExperimentArgs;
use crate::memory::peak_rss_bytes;
use throng_host::clock::{Clock, SystemClock};
use throng_host::out_dir::OutDir;
use throng_lab::experiments::report::Report;
use throng_lab::experiments::report::number::{duration, memory, shown};
use throng_lab::experiments::{EXPERIMENTS, Experiment, Lab, Row, Section, learning};

/// Runs one experiment or all, prints the cells, and writes the report where asked to.
pub fn run(args: &ExperimentArgs, format: Format) -> Result<()> {
    if args.name == "list" {
        return list(format);
    }
    let chosen: Vec<&Experiment> = match args.name.as_str() {
        "all" => EXPERIMENTS.iter().collect(),
        learning::NAME => Vec::new(),
        name => vec![Experiment::named(name)?],
    };
    let has_options = !args.only.is_empty() || args.runs.is_some() || args.examples.is_some() || args.quick;
    ensure!(
        args.name == learning::NAME || !has_options,
        "--only, --runs, --examples and --quick are for the experiment learning; leave them out"
    );
    let threads = match args.threads {
        Some(threads) => threads.get(),
        None => available_parallelism().context("cannot count the cores of this machine")?.get(),
    };
    let out = args.out.as_deref().map(OutDir::open).transpose()?;
    let progress = ProgressBar::new(chosen.len() as u64);
    progress
        .set_style(ProgressStyle::with_template("{spinner} {pos} of {len}  {elapsed_precise}  {wide_msg}")?);
    let lab = Lab { seed: args.seed, threads, data: args.data.clone(), progress };
    let start = Instant::now();
    let mut sections = Vec::new();
    for experiment in chosen {
        lab.progress.set_message(experiment.name);
        let begun = Instant::now();
        let mut section =
            (experiment.run)(&lab).with_context(|| format!("the experiment {}", experiment.name))?;
        section.seconds = begun.elapsed().as_secs_f64();
        sections.push(section);
        lab.progress.inc(1);
    }
    let mut training_seconds = 0.0;
    if args.name == learning::NAME {
        let measured =
            learning::run(&lab, &options(args), args.out.as_deref()).context("the experiment learning")?;
        (sections, training_seconds) = (measured.sections, measured.training_seconds);
    }
    lab.progress.finish_and_clear();

    let report = Report {
        title: "Encode, Shuffle, Analyze Privacy Revisited, measured again".into(),
        command: command(args),
        date: today(),
        machine: format!("{threads} threads, {}-{}", std::env::consts::OS, std::env::consts::ARCH),
        seed: args.seed,
        seconds: start.elapsed().as_secs_f64(),
        training_seconds,
        peak_rss_bytes: peak_rss_bytes().unwrap_or(0),
        sections,
    };
    if let Some(out) = &out {
        out.write(&report.files()?)?;
    }
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&ExperimentOutput::of(&report))? + "\n"))?,
        Format::Text => print(&text(&report, args))?,
    }
    verdict(&report)
}

/// How thoroughly to learn.
fn options(args: &ExperimentArgs) -> learning::Options {
    learning::Options {
        only: args.only.clone(),
        runs: args.runs,
        examples: args.examples.unwrap_or(500),
        quick: args.quick,
    }
}

/// What to type to measure it again.
fn command(args: &ExperimentArgs) -> String {
    let mut command = format!("throng experiment {} --seed {}", args.name, args.seed);
    if args.data.is_some() {
        command += " --data DIR";
    }
    if !args.only.is_empty() {
        let names = args.only.iter().map(|part| part.name());
        command += &format!(" --only {}", names.collect::<Vec<_>>().join(","));
    }
    for (name, value) in [("runs", args.runs), ("examples", args.examples)] {
        command += &value.map_or(String::new(), |value| format!(" --{name} {value}"));
    }
    if args.quick {
        command += " --quick";
    }
    command
}

/// A cell that does not agree as it should is a failure, after everything was printed and written.
fn verdict(report: &Report) -> Result<()> {
    let rows = report.sections.iter().flat_map(|section| &section.rows);
    let wrong = rows.filter(|row| !row.agrees).count();
    ensure!(wrong == 0, "{wrong} cells do not agree as they should; they are marked with DIFFERS");
    Ok(())
}

/// What is printed for a program.
#[derive(Serialize)]
struct ExperimentOutput<'a> {
    seed: u64,
    rows: Vec<&'a Row>,
    seconds: f64,
    peak_rss_bytes: u64,
}

impl<'a> ExperimentOutput<'a> {
    fn of(report: &'a Report) -> Self {
        let rows = report.sections.iter().flat_map(|section| &section.rows).collect();
        Self { seed: report.seed, rows, seconds: report.seconds, peak_rss_bytes: report.peak_rss_bytes }
    }
}

fn list(format: Format) -> Result<()> {
    match format {
        Format::Json => {
            let names: Vec<_> =
                EXPERIMENTS.iter().map(|experiment| experiment.name).chain([learning::NAME]).collect();
            print(&(serde_json::to_string_pretty(&names)? + "\n"))
        }
        Format::Text => {
            let line = |name: &str, about: &str| format!("{name:<18}{about}\n");
            let lines = EXPERIMENTS.iter().map(|one| line(one.name, one.about));
            let last = line("all", "everything above") + &line(learning::NAME, learning::ABOUT);
            print(&(lines.collect::<String>() + &last))
        }
    }
}

fn text(report: &Report, args: &ExperimentArgs) -> String {
    let mut page = String::new();
    for section in &report.sections {
        page += &section_text(section);
    }
    let rows = || report.sections.iter().flat_map(|section| &section.rows);
    let wrong = rows().filter(|row| !row.agrees).count();
    page += &format!(
        "{} cells, {} agree as they should, {wrong} do not; {}, {} of memory\n",
        rows().count(),
        rows().count() - wrong,
        duration(report.seconds),
        memory(report.peak_rss_bytes)
    );
    page += &match &args.out {
        Some(out) => format!("The report with its pictures: {}\n", out.join("report.html").display()),
        None => "With --out DIR a report with pictures is written.\n".into(),
    };
    page
}

fn section_text(section: &Section) -> String {
    let mut text = format!("{}\n\n", section.title);
    for paragraph in &section.text {
        text += &wrapped(paragraph, 100);
        text.push('\n');
    }
    let width = section.rows.iter().map(|row| row.cell.chars().count()).max().unwrap_or(0).max(4);
    let line = |cell: &str, numbers: [&str; 4], verdict: &str| {
        let [paper, rule, throng, gaussian] = numbers;
        format!("{cell:<width$}{paper:>13}{rule:>14}{throng:>13}{gaussian:>13}  {verdict}\n")
    };
    text += &line("cell", ["paper", "paper's rule", "Throng", "Gaussian"], "agrees");
    let number = |value: Option<f64>| value.map_or(String::new(), shown);
    for row in &section.rows {
        let numbers = [row.paper, row.paper_rule, row.throng, row.gaussian].map(number);
        let verdict = if row.agrees { "yes" } else { "DIFFERS" };
        text += &line(&row.cell, numbers.each_ref().map(String::as_str), verdict);
    }
    text + "\n"
}

/// A paragraph in lines of at most so many characters.
fn wrapped(paragraph: &str, width: usize) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += length;
    }
    text + "\n"
}

/// The date of a report, in UTC.
fn today() -> String {
    date(SystemClock.now_s() / 86_400)
}

/// A day since 1970 as year-month-day.
fn date(mut day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(agrees: bool) -> Report {
        let row = Row::order("table", "a cell", agrees, "a statement").throng(1821.02);
        let section =
            Section { rows: vec![row], text: vec!["word ".repeat(40)], ..Section::new("x", "Title") };
        Report {
            title: String::new(),
            command: String::new(),
            date: String::new(),
            machine: String::new(),
            seed: 1,
            seconds: 2.0,
            training_seconds: 0.0,
            peak_rss_bytes: 5_000_000,
            sections: vec![section],
        }
    }

    #[test]
    fn a_cell_that_differs_is_marked_and_fails() {
        let args = ExperimentArgs {
            name: "x".into(),
            seed: 1,
            threads: None,
            data: None,
            out: None,
            only: vec![],
            runs: None,
            examples: None,
            quick: false,
        };
        assert!(verdict(&report(true)).is_ok() && !text(&report(true), &args).contains("DIFFERS"));
        assert!(verdict(&report(false)).unwrap_err().to_string().contains("1 cells"));
        let page = text(&report(false), &args);
        assert!(page.contains("a cell") && page.contains("1,821.02") && page.contains("DIFFERS"), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    }

    #[test]
    fn days_have_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_773), "2026-11-16");
    }
}
