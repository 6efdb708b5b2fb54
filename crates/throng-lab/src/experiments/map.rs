//! Table map-1-crowd, and the location picture of the paper's first figure.

use anyhow::Result;

use super::fragments::{FragmentsRow, section};
use super::lab::{Data, Lab, exact_local, one_hot};
use super::{Figure, Image, Row, Section};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    section(lab, Data::Map, "map-1-crowd", &PRINTED, 3.0)
}

/// Figure nychist: locations at epsilon_central 0.5, with a local guarantee of about 12.
pub(super) fn location(lab: &Lab) -> Result<Section> {
    let dataset = Data::Map.load()?;
    let (n, delta) = (dataset.respondents(), Data::Map.delta());
    let ours = exact_local(n, 0.5, delta)?;
    let measured = lab.measure(&dataset, &one_hot(dataset.domain(), ours, ours, 1)?)?;
    let mut section = Section::new("location", "The first figure: locations at epsilon_central 0.5");
    let lemma = throng_account::amplification::lemma::epsilon_local(n, throng_dp::Epsilon::new(0.5)?, delta)?;
    section.rows.push(
        Row::exact("nychist", "epsilon_central 0.5: epsilon_local", 12.0, lemma.value(), 0.5)
            .throng(ours.value()),
    );
    let rmse = measured.accuracy.rmse;
    section.rows.push(
        Row::order(
            "nychist",
            "epsilon_central 0.5: RMSE, not clipped",
            rmse < 20.0,
            "below 20 of at most 637 respondents",
        )
        .throng(rmse)
        .theory(rmse, measured.accuracy.rmse_expected, 0.02),
    );
    section.text = vec![format!(
        "{n} locations on a grid of 1365 x 2048. The paper shows such a picture for epsilon_central 0.5 and an \
         epsilon_local of about 12; exact accounting allows {:.2} at the same promise, and every pixel is right to \
         within {rmse:.1} respondents (standard error). The map is synthetic: it is not a real city.",
        ours.value()
    )];
    if let Some(canvas) = dataset.canvas() {
        for (name, caption, picture) in [
            ("location-truth", "the truth", canvas.picture.clone()),
            (
                "location-estimate",
                "what an analyzer sees at epsilon_central 0.5",
                canvas.draw(measured.estimates.counts()),
            ),
        ] {
            section.figures.push(Figure {
                name: name.into(),
                caption: caption.into(),
                image: Image::Picture(picture),
            });
        }
    }
    Ok(section)
}

const PRINTED: [FragmentsRow; 5] = [
    FragmentsRow {
        central: 0.05,
        gaussian: (91.16, 62.08),
        local: 7.385,
        local_printed: 7.39,
        fragments: [(7.39, 7.39, 150.54), (7.39, 5.78, 160.02), (7.39, 4.55, 160.19), (7.39, 1.86, 161.85)],
    },
    FragmentsRow {
        central: 0.25,
        gaussian: (18.32, 14.80),
        local: 10.555,
        local_printed: 10.56,
        fragments: [(10.56, 10.56, 83.01), (10.56, 8.95, 97.15), (10.56, 7.72, 97.24), (10.56, 5.01, 97.28)],
    },
    FragmentsRow {
        central: 0.5,
        gaussian: (9.21, 7.83),
        local: 11.88,
        local_printed: 11.88,
        fragments: [(11.88, 11.88, 67.31), (11.88, 10.27, 73.74), (11.88, 9.04, 73.76), (11.88, 6.33, 73.75)],
    },
    FragmentsRow {
        central: 0.75,
        gaussian: (6.18, 5.39),
        local: 12.63,
        local_printed: 12.63,
        fragments: [(12.63, 12.63, 63.00), (12.63, 11.02, 66.79), (12.63, 9.79, 66.79), (12.63, 7.08, 66.80)],
    },
    FragmentsRow {
        central: 1.0,
        gaussian: (4.66, 4.13),
        local: 13.14,
        local_printed: 13.14,
        fragments: [
            (13.14, 13.14, 61.31),
            (13.14, 11.53, 63.80),
            (13.14, 10.30, 63.85),
            (13.14, 7.59, 63.83),
        ],
    },
];
