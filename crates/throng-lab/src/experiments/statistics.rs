//! Table dataset_statistics, with the distribution plots.

use anyhow::Result;

use super::lab::{Data, Lab};
use super::{Figure, Image, Row, Section};
use throng_plot::plot::{Axis, Plot, Series, Style};
use throng_analyze::{log_spaced, ranks};

pub(super) fn run(lab: &Lab) -> Result<Section> {
    const TABLE: &str = "dataset_statistics";
    let mut section = Section::new("datasets", "The four data sets");
    let mut series = Vec::new();
    for (data, domain, respondents) in PRINTED {
        lab.say(data.name());
        let dataset = data.load()?;
        let held = dataset.counts().iter().filter(|&&count| count > 0).count();
        for (what, paper, ours) in
            [("domain", domain, dataset.domain()), ("respondents", respondents, dataset.respondents())]
        {
            section.rows.push(
                Row::exact(TABLE, format!("{}: {what}", data.name()), paper as f64, ours as f64, 0.0)
                    .throng(ours as f64),
            );
        }
        section.rows.push(
            Row::order(
                TABLE,
                format!("{}: values that somebody holds", data.name()),
                held > 0,
                "at least one",
            )
            .throng(held as f64),
        );
        let order = ranks(dataset.counts());
        let points =
            log_spaced(order.len()).map(|rank| ((rank + 1) as f64, dataset.counts()[order[rank]] as f64));
        series.push(Series { name: data.name().into(), points: points.collect(), style: Style::Line });
        if let Some(canvas) = dataset.canvas() {
            section.figures.push(Figure {
                name: format!("datasets-{}", data.name()),
                caption: format!("{}, a stand-in", data.name()),
                image: Image::Picture(canvas.picture.clone()),
            });
        }
    }
    section.figures.push(Figure {
        name: "datasets-ranks".into(),
        caption: "Respondents per value, by rank".into(),
        image: Image::Plot(Plot {
            title: "How many respondents hold each value".into(),
            x: Axis::log("rank of the value"),
            y: Axis::log("respondents"),
            series,
        }),
    });
    section.text = vec![
        "The paper's pictures and browser data are not public. These stand for them: three pictures with the same \
         number of pixels and the same total luminosity, and a mixture of a hundred heavy hitters with a power law of \
         exponent 1.35, with the same number of values and respondents. Sizes agree exactly; contents do not."
            .into(),
    ];
    Ok(section)
}

const PRINTED: [(Data, u64, u64); 4] = [
    (Data::Map, 2_795_520, 236_559_063),
    (Data::Horse, 87_680, 1_914_589),
    (Data::Child, 358_337, 50_409_435),
    (Data::Heavy, 1_778_120, 203_950_512),
];
