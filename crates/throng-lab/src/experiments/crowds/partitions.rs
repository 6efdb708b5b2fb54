//! Equal partitions: a label cuts the crowd into m equal ones, and each value is held in one of them only.

use std::cmp::Reverse;

use anyhow::Result;
use throng_account::amplification::exact;
use throng_dp::{Delta, Epsilon, Mechanism, OneHot};

use super::Part;
use throng_simulate::dataset::Dataset;
use crate::experiments::conclusion::concluded;
use crate::experiments::lab::{exact_local, people, root_mean};
use crate::experiments::{Figure, Image, Lab, Row};
use throng_plot::plot::{Axis, Plot, Series, Style};

pub(super) fn run(lab: &Lab, flights: &Dataset) -> Result<Part> {
    lab.say("equal partitions: the gain and its price");
    let delta = Delta::new(DELTA)?;
    let fixed = exact_local(flights.respondents(), EPSILON_CENTRAL, delta)?;
    let cells: Vec<Cell> =
        PARTS.into_iter().map(|m| Cell::measure(lab, flights, m, fixed, delta)).collect::<Result<_>>()?;

    let (first, last) = (&cells[0], &cells[cells.len() - 1]);
    let mut rows = Vec::new();
    for cell in &cells {
        rows.extend(cell.rows(first));
    }
    let gain = |cell: &Cell, side: fn(&Cell) -> Side| side(first).rmse / side(cell).rmse;
    let root = (last.parts as f64).sqrt();
    let promised = (gain(last, |cell| cell.local) / root - 1.0).abs() < ALIKE;
    let text = vec![format!(
        "Equal partitions. The paper promises an error smaller by sqrt(m) when a label cuts the crowd into m equal ones, \
         and reports on the same value carry the same label. At a fixed epsilon_local that is {}: with m = {}, the error \
         of a count goes from {:.2} to {:.2} flights, by a factor of {:.2}. But each flight now hides among {} and no \
         longer among {}, and epsilon_central goes from {:.2} to {:.2}. Who keeps epsilon_central at {EPSILON_CENTRAL} has to \
         take epsilon_local from {:.2} to {:.2}, and {}: {:.2} becomes {:.2}. The price of the label is hidden in the \
         crowd that it takes away.",
        concluded(promised, "so", "not so"),
        last.parts,
        first.local.rmse,
        last.local.rmse,
        gain(last, |cell| cell.local),
        people(last.crowd as f64),
        people(first.crowd as f64),
        first.local.epsilon_central,
        last.local.epsilon_central,
        first.central.epsilon_local,
        last.central.epsilon_local,
        concluded(gain(last, |cell| cell.central) < 1.0 + ALIKE, "gains nothing", "still gains"),
        first.central.rmse,
        last.central.rmse,
    )];
    Ok(Part { text, rows, figures: vec![figure(&cells)] })
}

/// One number of partitions, both ways.
struct Cell {
    parts: u64,
    /// The smallest of the crowds.
    crowd: u64,
    /// At the same epsilon_local for all m.
    local: Side,
    /// At the same epsilon_central.
    central: Side,
}

#[derive(Clone, Copy)]
struct Side {
    epsilon_local: f64,
    epsilon_central: f64,
    rmse: f64,
    expected: f64,
}

impl Cell {
    fn measure(lab: &Lab, flights: &Dataset, parts: u64, fixed: Epsilon, delta: Delta) -> Result<Self> {
        let crowds = deal(flights.counts(), parts);
        let crowd = crowds.iter().map(|counts| counts.iter().sum()).min().unwrap_or(0);
        let side = |epsilon_local: Epsilon, epsilon_central: f64| -> Result<Side> {
            let (mut errors, mut expected) = (Vec::new(), Vec::new());
            for (number, counts) in crowds.iter().enumerate() {
                let mechanism = Mechanism::plain(OneHot::new(counts.len() as u64, epsilon_local)?);
                // Crowds of another m have other noise, so that gains are those of two independent runs.
                let measured = lab.measure_crowd(counts, &mechanism, 1000 * parts + number as u64)?;
                let estimates = measured.estimates.counts().iter().zip(counts);
                errors.extend(estimates.map(|(estimate, &count)| (estimate - count as f64).powi(2)));
                expected.extend(counts.iter().map(|_| measured.accuracy.rmse_expected.powi(2)));
            }
            let (rmse, expected) = (root_mean(errors), root_mean(expected));
            Ok(Side { epsilon_local: epsilon_local.value(), epsilon_central, rmse, expected })
        };
        let left = exact::epsilon_certified(crowd, fixed, delta)?.epsilon().value();
        let local = side(fixed, left)?;
        let central = side(exact_local(crowd, EPSILON_CENTRAL, delta)?, EPSILON_CENTRAL)?;
        Ok(Self { parts, crowd, local, central })
    }

    fn rows(&self, first: &Self) -> Vec<Row> {
        let m = self.parts;
        let cell = |what: &str| format!("m = {m}, the same {what}");
        let rmse = |what: &str, side: &Side| {
            Row::order(TABLE, cell(&format!("{what}: RMSE")), true, "as theory says")
                .theory(side.rmse, side.expected, 0.05)
                .throng(side.rmse)
        };
        let mut rows = vec![rmse("epsilon_local", &self.local)];
        if m > 1 {
            let (root, gain) = ((m as f64).sqrt(), first.local.rmse / self.local.rmse);
            let holds = (gain / root - 1.0).abs() < ALIKE;
            rows.push(
                Row::order(
                    TABLE,
                    cell("epsilon_local: gain over m = 1"),
                    holds,
                    format!("sqrt(m) = {root}, within 5 %"),
                )
                .rule(root)
                .throng(gain),
            );
        }
        let rises = m == 1 || self.local.epsilon_central > 1.9 * first.local.epsilon_central;
        rows.push(
            Row::order(
                TABLE,
                cell("epsilon_local: epsilon_central"),
                rises,
                "for m above 1 at least 1.9 times that of m = 1",
            )
            .throng(self.local.epsilon_central),
        );
        rows.push(rmse("epsilon_central", &self.central));
        if m > 1 {
            let gain = first.central.rmse / self.central.rmse;
            let holds = (gain - 1.0).abs() < ALIKE;
            let cell = cell("epsilon_central: gain over m = 1");
            rows.push(Row::order(TABLE, cell, holds, "none: within 5 % of 1").throng(gain));
        }
        rows
    }
}

/// Deals values to crowds of nearly equal size: the largest count first, always to the smallest crowd.
fn deal(counts: &[u64], parts: u64) -> Vec<Vec<u64>> {
    let mut falling = counts.to_vec();
    falling.sort_unstable_by_key(|&count| Reverse(count));
    let mut crowds = vec![(0, Vec::new()); parts as usize];
    for count in falling {
        if let Some((size, crowd)) = crowds.iter_mut().min_by_key(|(size, _)| *size) {
            *size += count;
            crowd.push(count);
        }
    }
    crowds.into_iter().map(|(_, crowd)| crowd).collect()
}

fn figure(cells: &[Cell]) -> Figure {
    let curve = |name: String, style, height: &dyn Fn(&Cell) -> f64| Series {
        name,
        points: cells.iter().map(|cell| (cell.parts as f64, height(cell))).collect(),
        style,
    };
    let first = cells[0].local.rmse;
    let plot = Plot {
        title: "Error of a count, when the crowd is cut into m".into(),
        x: Axis::log("m, the number of equal crowds"),
        y: Axis::log("RMSE, in flights"),
        series: vec![
            curve("the same epsilon_local".into(), Style::Line, &|cell| cell.local.rmse),
            curve("the same epsilon_central".into(), Style::Line, &|cell| cell.central.rmse),
            curve("falling as sqrt(m)".into(), Style::Dashed, &|cell| first / (cell.parts as f64).sqrt()),
        ],
    };
    let caption = format!(
        "The gain is real at a fixed epsilon_local, and gone at a fixed epsilon_central of {EPSILON_CENTRAL}, where every smaller \
         crowd needs more noise for each report."
    );
    Figure { name: "crowds-partitions".into(), caption, image: Image::Plot(plot) }
}

const TABLE: &str = "crowds-partitions";
/// Gains that differ by less are the same.
const ALIKE: f64 = 0.05;
const PARTS: [u64; 4] = [1, 4, 16, 64];
const EPSILON_CENTRAL: f64 = 0.25;
const DELTA: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_dealt_evenly() {
        assert_eq!(deal(&[5, 1, 4, 3, 3], 2), [vec![5, 3], vec![4, 3, 1]]);
        assert_eq!(deal(&[2, 7], 1), [vec![7, 2]]);
    }
}
