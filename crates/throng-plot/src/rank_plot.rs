//! Rank-frequency plots: counts against their rank on log axes, which show how far down the tail estimates can be trusted.

use throng_analyze::{log_spaced, ranks};
use throng_dp::Estimates;

use crate::plot::{Axis, Plot, Series, Style};

/// The true counts by rank, the estimates of the same values, and where noise begins.
pub fn rank_plot(title: impl Into<String>, truth: &[u64], estimates: &Estimates, threshold: f64) -> Plot {
    let by_rank = ranks(truth);
    let mut plot = estimates_by_rank(title, &by_rank, estimates, threshold);
    let points = log_spaced(by_rank.len()).map(|r| ((r + 1) as f64, truth[by_rank[r]] as f64)).collect();
    plot.series.insert(1, Series { name: "truth".into(), points, style: Style::Line });
    plot
}

/// Estimates of values in some order, and where noise begins.
pub fn estimates_by_rank(
    title: impl Into<String>,
    by_rank: &[usize],
    estimates: &Estimates,
    threshold: f64,
) -> Plot {
    let ranks = || log_spaced(by_rank.len());
    let line = |name: String, height: f64| Series {
        name,
        points: vec![(1.0, height), (by_rank.len().max(2) as f64, height)],
        style: Style::Dashed,
    };
    Plot {
        title: title.into(),
        x: Axis::log("rank of the value"),
        y: Axis::log("respondents"),
        series: vec![
            Series {
                name: "estimate".into(),
                points: ranks().map(|r| ((r + 1) as f64, estimates.counts()[by_rank[r]])).collect(),
                style: Style::Points,
            },
            line(format!("noise floor {:.1}", estimates.noise_floor()), estimates.noise_floor()),
            line(format!("noise ends at {threshold:.1}"), threshold),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_dp::estimate::Spread;

    #[test]
    fn estimates_stand_at_the_rank_of_their_value() {
        let estimates = Estimates::new(12, vec![4.0, 8.0, -1.0], Spread::constant(4.0, 1.0));
        let plot = rank_plot("", &[2, 10, 0], &estimates, 7.0);
        assert_eq!(plot.series[0].points, [(1.0, 8.0), (2.0, 4.0), (3.0, -1.0)]);
        assert_eq!(plot.series[1].points, [(1.0, 10.0), (2.0, 2.0), (3.0, 0.0)]);
        assert_eq!((plot.series[2].points[1], plot.series[3].points[0]), ((3.0, 2.0), (1.0, 7.0)));
    }
}
