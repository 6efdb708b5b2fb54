//! The trade-off as a picture: all bounds over a range of epsilon_local.

use anyhow::{Result, ensure};
use indicatif::ProgressBar;
use throng_account::amplification::noise_std;
use throng_account::bound::BOUNDS;
use throng_dp::Epsilon;

use super::AccountRequest;
use crate::cli::TradeoffAxis;
use throng_plot::plot::{Axis, Plot, Scale, Series, Style};

/// epsilon_central under every bound, against epsilon_local or against the error of a count.
pub(super) fn plot(asked: &AccountRequest, against: TradeoffAxis) -> Result<Plot> {
    let mut series: Vec<Series> = Vec::new();
    let bar = ProgressBar::new(BOUNDS.len() as u64 * u64::from(STEPS));
    for bound in &BOUNDS {
        let mut points = Vec::new();
        for step in 1..=STEPS {
            bar.inc(1);
            let local = Epsilon::new(f64::from(step) * EPSILON_MAX / f64::from(STEPS))?;
            // Where a bound does not apply its line ends.
            if let Ok(central) = (bound.central)(asked.honest, local, asked.delta) {
                let x = match against {
                    TradeoffAxis::EpsilonLocal => local.value(),
                    TradeoffAxis::Error => noise_std(asked.respondents, local)?,
                };
                points.push((x, central.value()));
            }
        }
        if !points.is_empty() {
            let style = if bound.name == "exact" { Style::Line } else { Style::Dashed };
            series.push(Series { name: bound.name.into(), points, style });
        }
    }
    bar.finish_and_clear();
    ensure!(!series.is_empty(), "no bound applies anywhere: raise --respondents or --delta");
    let (label, scale) = match against {
        TradeoffAxis::EpsilonLocal => ("epsilon_local", Scale::Linear),
        TradeoffAxis::Error => ("error of a count (standard deviation, respondents)", Scale::Log),
    };
    Ok(Plot {
        title: format!("{} honest respondents, delta {:e}", asked.honest, asked.delta.value()),
        x: Axis { label: label.into(), scale },
        y: Axis { label: "epsilon_central".into(), scale: Scale::Log },
        series,
    })
}

const STEPS: u32 = 45;
const EPSILON_MAX: f64 = 15.0;
