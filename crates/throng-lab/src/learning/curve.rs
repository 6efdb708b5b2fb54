//! Learning curves of several runs: as a table, and as a picture.

use std::fmt::Write;

use anyhow::Result;

use super::Point;
use throng_plot::plot::{Axis, Plot, Series, Style, stacked_png};

/// One line for each point of each run.
pub fn curve_csv(curves: &[Vec<Point>]) -> String {
    let mut text = String::from("run,step,accuracy,loss,epsilon_central\n");
    for (run, curve) in curves.iter().enumerate() {
        for point in curve {
            let epsilon = point.epsilon_central.map(|epsilon| epsilon.to_string()).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{},{},{},{epsilon}", run + 1, point.step, point.accuracy, point.loss);
        }
    }
    text
}

/// Accuracy against steps, and below it what they have cost.
pub fn curve_png(title: &str, curves: &[Vec<Point>], majority: f64) -> Result<Vec<u8>> {
    let line = |name: String, points| Series { name, points, style: Style::Line };
    let steps = curves.first().and_then(|curve| curve.last()).map_or(1, |point| point.step) as f64;
    // More cannot be told apart.
    let mut accuracy: Vec<Series> = curves
        .iter()
        .take(7)
        .enumerate()
        .map(|(run, curve)| {
            let points = curve.iter().map(|point| (point.step as f64, 100.0 * point.accuracy)).collect();
            line(format!("run {}", run + 1), points)
        })
        .collect();
    let majority = vec![(0.0, 100.0 * majority), (steps, 100.0 * majority)];
    accuracy.push(Series {
        name: "always the most frequent class".into(),
        points: majority,
        style: Style::Dashed,
    });
    let plot = |title: &str, y: &str, series| Plot {
        title: title.into(),
        x: Axis::linear("steps"),
        y: Axis::linear(y),
        series,
    };
    let mut plots = vec![plot(title, "accuracy in %", accuracy)];
    let spent: Vec<(f64, f64)> = curves
        .iter()
        .take(1)
        .flatten()
        .filter_map(|point| Some((point.step as f64, point.epsilon_central?)))
        .collect();
    if !spent.is_empty() {
        plots.push(plot("", "epsilon_central", vec![line("what the steps so far have cost".into(), spent)]));
    }
    stacked_png(&plots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_tables_and_pictures() {
        let point = |step, epsilon_central| Point { step, accuracy: 0.5, loss: 0.75, epsilon_central };
        let spent = vec![vec![point(0, Some(0.0)), point(4, Some(0.25))]];
        assert_eq!(
            curve_csv(&spent),
            "run,step,accuracy,loss,epsilon_central\n1,0,0.5,0.75,0\n1,4,0.5,0.75,0.25\n"
        );
        assert!(curve_csv(&[vec![point(1, None)]]).ends_with("1,1,0.5,0.75,\n"));
        let height = |png: &[u8]| u32::from_be_bytes([png[20], png[21], png[22], png[23]]);
        let two = curve_png("spent", &spent, 0.4).unwrap();
        let one = curve_png("nothing", &[vec![point(0, None), point(4, None)]], 0.4).unwrap();
        assert_eq!(height(&two), 2 * height(&one), "a panel for each");
    }
}
