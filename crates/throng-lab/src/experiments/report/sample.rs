//! A small report for tests, with everything in it that has to be escaped, left out or shown loudly.

use super::Report;
use crate::experiments::{Agreement, Figure, Image, Row, Section};
use throng_analyze::Picture;
use throng_plot::plot::{Axis, Plot, Series, Style};

/// Two sections, three pictures, a plot, and one cell that disagrees.
pub(super) fn report() -> Report {
    Report {
        title: "The tables of <Encode, Shuffle, Analyze>, measured again".into(),
        command: "throng experiments --seed 7 --out \"results & more\"".into(),
        date: "2026-11-16".into(),
        machine: "2 cores, 4 GB, Linux".into(),
        seed: 7,
        seconds: 754.2,
        training_seconds: 0.0,
        peak_rss_bytes: 1_849_000_000,
        sections: vec![horse(), amplification()],
    }
}

/// A cell with every number, as it should be.
pub(super) fn row(cell: &str) -> Row {
    Row {
        table: "a-table",
        cell: cell.into(),
        paper: Some(1.0),
        paper_rule: Some(1.001),
        throng: Some(0.5),
        gaussian: Some(0.25),
        should_agree: Agreement::Exact,
        agrees: true,
        tolerance: "within 1 %".into(),
        note: None,
    }
}

/// A picture that no PNG makes smaller (the mixing of SplitMix64).
pub(super) fn noise(width: u32, height: u32) -> Picture {
    let light = |at: u32| {
        let mut mixed = u64::from(at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 56) as u8
    };
    Picture::new(width, height, (0..width * height).map(light).collect()).expect("a small picture")
}

fn horse() -> Section {
    let cell = |epsilon_central: f64, rmse: f64| Row {
        table: "horse-1-crowd",
        cell: format!("epsilon_central {epsilon_central}, tau 4: RMSE"),
        paper: Some(rmse),
        paper_rule: Some(rmse * 1.0432),
        throng: Some(rmse * 0.611),
        gaussian: Some(rmse * 0.2),
        should_agree: Agreement::Scale,
        tolerance: "within a factor 1.5 of the paper".into(),
        ..row("")
    };
    Section {
        name: "horse",
        title: "A horse & its crowd".into(),
        text: vec![
            "Every pixel of a photograph is a value, and every unit of its luminosity is a respondent who holds it. \
             The estimate of the histogram can then be looked at: how well does one see the horse, at what \
             epsilon_central?"
                .into(),
            "1. With x < 3 & y > 2 nothing is [lost]; *stars*, a|b and `ticks` stay as they are.".into(),
        ],
        rows: vec![
            Row { note: Some("The paper's text says 0.5, its table 0.25.".into()), ..cell(0.25, 1821.02) },
            cell(0.5, 911.4),
            Row { agrees: false, throng: None, ..cell(1.0, 96.25) },
            Row {
                table: "horse-bits",
                cell: "bits | fragment, \"sealed\"".into(),
                paper: Some(1_600_000.0),
                paper_rule: Some(1_048_576.0),
                throng: Some(2048.0),
                gaussian: None,
                should_agree: Agreement::PaperError,
                tolerance: "equal, to the bit".into(),
                note: Some("Printed for 100 crowds, <not> for 64.\nThe caption is right.".into()),
                ..row("")
            },
            Row {
                table: "horse-bits",
                cell: "delta, tail".into(),
                paper: None,
                paper_rule: Some(1.234_567_89e-7),
                throng: Some(0.000_5),
                gaussian: None,
                should_agree: Agreement::Order,
                tolerance: "below 10^-6".into(),
                ..row("")
            },
        ],
        figures: vec![
            picture("horse-truth", "The truth: 25 x 20 pixels & no noise", 25, 20),
            picture("horse-throng", "Throng at epsilon_central 0.25", 25, 20),
            picture("horse-large", "As large as the paper's", 1000, 500),
        ],
        seconds: 750.0,
    }
}

fn amplification() -> Section {
    let curve = |name: &str, factor: f64, style| Series {
        name: name.into(),
        points: (1..=40).map(|i| (f64::from(i) * 0.1, factor * (f64::from(i) * 0.1).exp_m1())).collect(),
        style,
    };
    let plot = Plot {
        title: "epsilon_central for 10^6 respondents".into(),
        x: Axis::log("epsilon_local"),
        y: Axis::log("epsilon_central"),
        series: vec![curve("lemma", 0.02, Style::Line), curve("clones", 0.008, Style::Dashed)],
    };
    Section {
        name: "amplification",
        title: "What shuffling is worth".into(),
        text: vec!["A theorem of the paper, and what is known today.".into()],
        rows: vec![Row { table: "amplification", ..row("epsilon_local 1: epsilon_central") }],
        figures: vec![Figure {
            name: "amplification".into(),
            caption: "Lower is better; <both> axes are logarithmic".into(),
            image: Image::Plot(plot),
        }],
        seconds: 4.2,
    }
}

/// Rings, brighter towards the middle.
fn picture(name: &str, caption: &str, width: u32, height: u32) -> Figure {
    let light = |at: u32| {
        let (x, y) = (f64::from(at % width) / f64::from(width), f64::from(at / width) / f64::from(height));
        let distance = (x - 0.5).hypot(y - 0.5);
        (255.0 * (1.0 - distance) * (20.0 * distance).cos().powi(2)) as u8
    };
    let picture =
        Picture::new(width, height, (0..width * height).map(light).collect()).expect("a small picture");
    Figure { name: name.into(), caption: caption.into(), image: Image::Picture(picture) }
}
