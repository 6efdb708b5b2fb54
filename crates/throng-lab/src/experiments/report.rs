//! A report of measured sections, for people: one self-contained HTML page, Markdown, CSV.
//!
//! The same report gives the same bytes on every machine, so that a change in a result shows as a change in a file.

mod csv;
mod html;
mod markdown;
pub mod number;
#[cfg(test)]
mod sample;
mod table;
mod thumbnail;
mod verdict;

use throng_plot::Png;
use std::collections::HashSet;

use anyhow::{Context, Result, ensure};

use super::{Figure, Image, Row, Section};
use number::duration;
use thumbnail::shrunk;

/// Sections, and how they were measured.
#[derive(Clone, Debug)]
pub struct Report {
    /// Stands above everything.
    pub title: String,
    /// What to type to measure all of it again.
    pub command: String,
    /// The day, for example `2026-11-16`.
    pub date: String,
    /// What it ran on, in words.
    pub machine: String,
    /// What all randomness was drawn from.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
    /// How long the trainings took that it is made of, some of them perhaps before; 0 if there are none.
    pub training_seconds: f64,
    /// The most memory that was in use at once; 0 if that is not known.
    pub peak_rss_bytes: u64,
    /// What was measured, in the order in which it is read.
    pub sections: Vec<Section>,
}

impl Report {
    /// Everything to write, by the names of the files: `report.html`, `report.md` and `rows.csv`, for every figure
    /// a PNG, for a plot an SVG as well, and for a wide picture a small one, which the Markdown shows. All are meant
    /// for one directory.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.check_names()?;
        let mut files = vec![
            ("report.html".to_owned(), html::page(self)?.into_bytes()),
            ("report.md".to_owned(), markdown::document(self).into_bytes()),
            ("rows.csv".to_owned(), csv::table(self.rows()).into_bytes()),
        ];
        for Figure { name, image, .. } in self.figures() {
            let png = match image {
                Image::Picture(picture) => picture.to_png(),
                Image::Plot(plot) => plot.to_png(),
            };
            files.push((format!("{name}.png"), png.with_context(|| cannot_draw(name))?));
            match image {
                Image::Plot(plot) => {
                    let svg = plot.to_svg().with_context(|| cannot_draw(name))?;
                    files.push((format!("{name}.svg"), svg.into_bytes()));
                }
                Image::Picture(picture) if picture.width() > SMALL_WIDTH => {
                    let small = shrunk(picture, SMALL_WIDTH).and_then(|small| small.to_png());
                    files.push((format!("{name}{SMALL}.png"), small.with_context(|| cannot_draw(name))?));
                }
                Image::Picture(_) => {}
            }
        }
        Ok(files)
    }

    /// How long it took, in words.
    fn time(&self) -> String {
        let time = duration(self.seconds);
        match self.training_seconds {
            0.0 => time,
            trained => format!("{time}, and trainings of {} in all, now or before", duration(trained)),
        }
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|section| &section.rows)
    }

    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.figures)
    }

    /// Names become files and places to jump to, so two of a kind would hide one another. Case is ignored because
    /// some file systems do.
    fn check_names(&self) -> Result<()> {
        let mut sections = HashSet::new();
        for Section { name, .. } in &self.sections {
            check_name(name).context("a section needs another name")?;
            ensure!(sections.insert(name.to_ascii_lowercase()), "two sections are called {name}; rename one");
        }
        let mut figures = HashSet::new();
        for Figure { name, .. } in self.figures() {
            check_name(name).context("a figure needs another name")?;
            ensure!(figures.insert(name.to_ascii_lowercase()), "two figures are called {name}; rename one");
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<()> {
    let is_fine = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    ensure!(is_fine, "\"{name}\" is not made of letters, digits and -");
    Ok(())
}

fn cannot_draw(name: &str) -> String {
    format!("the figure {name} cannot be drawn")
}

/// Pictures in Markdown are at most this wide, so that a repository can hold them.
const SMALL_WIDTH: u32 = 160;
/// Ends the name of a picture that was made smaller.
const SMALL: &str = "-small";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use throng_host::out_dir::OutDir;
    use throng_analyze::Picture;
use throng_plot::Png;

    #[test]
    fn every_figure_has_its_files() {
        let report = sample::report();
        let files = report.files().unwrap();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "report.html",
                "report.md",
                "rows.csv",
                "horse-truth.png",
                "horse-throng.png",
                "horse-large.png",
                "horse-large-small.png",
                "amplification.png",
                "amplification.svg"
            ]
        );
        let bytes = |name| &files.iter().find(|(file, _)| file == name).unwrap().1;
        // The file has every pixel, whatever the page shows.
        let large = Picture::from_png(bytes("horse-large.png")).unwrap();
        assert_eq!((large.width(), large.height()), (1000, 500));
        assert!(bytes("amplification.png").starts_with(b"\x89PNG"));
        assert!(bytes("amplification.svg").starts_with(b"<svg"));
    }

    #[test]
    fn the_same_report_gives_the_same_bytes() {
        assert_eq!(sample::report().files().unwrap(), sample::report().files().unwrap());
    }

    #[test]
    fn a_report_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let files = sample::report().files().unwrap();
        OutDir::open(folder.path()).unwrap().write(&files).unwrap();
        for (name, bytes) in files {
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), bytes);
        }
    }

    #[test]
    fn a_report_of_nothing_is_still_a_report() {
        let report = Report { sections: vec![], ..sample::report() };
        assert_eq!(report.files().unwrap().len(), 3);
    }

    #[test]
    fn names_that_would_hide_one_another_are_refused() {
        let refusal = |change: fn(&mut Report)| {
            let mut report = sample::report();
            change(&mut report);
            format!("{:#}", report.files().unwrap_err())
        };
        let twice = refusal(|report| report.sections[1].figures[0].name = "Horse-Truth".into());
        assert!(twice.contains("two figures are called Horse-Truth"), "{twice}");
        let outside = refusal(|report| report.sections[0].figures[0].name = "../horse".into());
        assert!(outside.contains("\"../horse\" is not made of letters"), "{outside}");
        let same = refusal(|report| report.sections[1].name = report.sections[0].name);
        assert!(same.contains("two sections are called horse"), "{same}");
        assert!(refusal(|report| report.sections[0].name = "").contains("a section needs another name"));
    }

    #[test]
    fn a_plot_that_cannot_be_drawn_is_named() {
        let mut report = sample::report();
        let Image::Plot(plot) = &mut report.sections[1].figures[0].image else { panic!("a plot") };
        plot.series.clear();
        assert!(
            format!("{:#}", report.files().unwrap_err()).contains("the figure amplification cannot be drawn")
        );
    }
}
