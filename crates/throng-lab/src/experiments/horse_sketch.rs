//! The table of Horse with sketches, and its non-private row.

use anyhow::{Context, Result};
use throng_account::amplification::exact;
use throng_analyze::Accuracy;
use throng_dp::fragmenting::{fragment_epsilon, fragment_epsilon_as_paper};
use throng_dp::{Epsilon, PlainSketch, SketchShape};

use super::fragments::TAUS;
use super::lab::{Data, Lab, on_paper_grid, sketch};
use super::unified::{HASH_SEED, SKETCH_THEORY};
use super::{Figure, Image, Row, Section};
use throng_simulate::dataset::Dataset;

pub(super) fn run(lab: &Lab) -> Result<Section> {
    let (dataset, delta) = (Data::Horse.load()?, Data::Horse.delta());
    let shape = SketchShape::new(dataset.domain(), HASH_SEED);
    let mut section = Section::new("horse-sketch", "Horse in a sketch of 1,024 x 65,536");
    let mut mechanisms = Vec::new();
    let mut proved = Vec::new();
    for (central, local, _) in PRINTED {
        let paper = Epsilon::new(local)?;
        let ours = exact::cms_revealed_epsilon_local(
            dataset.respondents(),
            Epsilon::new(central)?,
            delta,
            shape.rows,
        )?;
        proved.push(ours);
        for tau in TAUS {
            let fragment = on_paper_grid(fragment_epsilon_as_paper(paper, tau)?)?;
            mechanisms.push(sketch(shape, paper, fragment, tau)?);
            mechanisms.push(sketch(shape, ours, fragment_epsilon(ours, tau)?, tau)?);
        }
    }
    // No noise to speak of: a bit is flipped once in 10^26 draws.
    let silent = Epsilon::new(60.0)?;
    mechanisms.push(sketch(shape, silent, silent, 1)?);
    lab.say("horse-sketch");
    let measured = lab.measure_sketches(&dataset, &mechanisms.iter().collect::<Vec<_>>())?;
    let mut results = measured.chunks(2);
    for ((central, local, printed), ours) in PRINTED.into_iter().zip(proved) {
        for (tau, rmse) in TAUS.into_iter().zip(printed) {
            let Some([paper, throng]) = results.next() else { anyhow::bail!("a result for every sketch") };
            let cell = format!("epsilon_central {central}, tau {tau}: RMSE");
            section.rows.push(
                Row::scale(TABLE, cell, rmse, paper.rmse_as_paper(&dataset), 1.5)
                    .throng(throng.rmse_clipped(&dataset))
                    .note(format!("epsilon_local {local} in the paper, which proves no central guarantee for it; {:.4} with a proved one.", ours.value()))
                    .theory(paper.accuracy.rmse, paper.accuracy.rmse_expected, SKETCH_THEORY)
                    .theory(throng.accuracy.rmse, throng.accuracy.rmse_expected, SKETCH_THEORY),
            );
            if let (Some(canvas), 1) = (dataset.canvas(), tau) {
                for (name, caption, one) in [
                    ("paper", "at the paper's epsilon_local", paper),
                    ("throng", "with a proved guarantee", throng),
                ] {
                    section.figures.push(Figure {
                        name: format!("horse-sketch-{}-{name}", central.to_string().replace('.', "-")),
                        caption: format!("epsilon_central {central}, {caption}"),
                        image: Image::Picture(canvas.draw(one.estimates.counts())),
                    });
                }
            }
        }
    }
    let silent = measured.last().context("a result for every sketch")?;
    let sampled = silent.rmse_as_paper(&dataset);
    section.rows.push(
        Row::scale(TABLE, "no privacy, one hash function each: RMSE", 4.12, sampled, 1.5)
            .throng(sampled)
            .theory(silent.accuracy.rmse, silent.accuracy.rmse_expected, SKETCH_THEORY),
    );
    let plain = plain_accuracy(shape, &dataset)?;
    section.rows.push(
        Row::order(TABLE, "no privacy, all hash functions: RMSE", plain.rmse < silent.accuracy.rmse, "below that of one hash function each")
            .throng(plain.rmse)
            .note("With all hash functions this picture cannot have more than 2.7, so we take the paper's 4.12 to be for one each.")
            .theory(plain.rmse, plain.rmse_expected, SKETCH_THEORY),
    );
    section.text = vec![
        format!(
            "A sketch hashes 87,680 pixels into 65,536 cells, by one of 1,024 hash functions for each respondent. \
             Without any noise its collisions alone cost an RMSE of {sampled:.2} (4.12 in the paper, on its own picture)."
        ),
        "At the paper's epsilon_local no central guarantee is proved for the sketch: the hash function of a report may be \
         visible, and then only the 1,870 respondents with the same one are a crowd. The column of Throng has the stated \
         epsilon_central, proved for that case. What one bit per value leaves of the same data is in the section Horse."
            .into(),
    ];
    Ok(section)
}

/// The error of the sketch that everyone adds to in every row, without privacy.
fn plain_accuracy(shape: SketchShape, dataset: &Dataset) -> Result<Accuracy> {
    let plain = PlainSketch::new(shape)?;
    let mut tally = plain.tally()?;
    for (value, &count) in (0..).zip(dataset.counts()).filter(|(_, count)| **count > 0) {
        plain.add(&mut tally, value, count)?;
    }
    let estimates = plain.estimate(&tally)?;
    Ok(Accuracy::of(&estimates, dataset.counts(), &estimates.spread()))
}

const TABLE: &str = "horse-1-crowd-sketch";

/// epsilon_central, epsilon_local, RMSE for each tau.
const PRINTED: [(f64, f64, [f64; 4]); 5] = [
    (0.05, 2.94, [118.57, 128.34, 132.52, 139.47]),
    (0.25, 5.96, [45.47, 62.82, 63.70, 81.91]),
    (0.5, 7.28, [24.11, 33.62, 33.78, 36.66]),
    (0.75, 8.03, [17.05, 23.60, 23.40, 24.48]),
    (1.0, 8.55, [13.25, 18.32, 18.43, 18.74]),
];
