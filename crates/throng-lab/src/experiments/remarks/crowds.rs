//! Crowds of very different sizes, and crowds of a few dozen.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use throng_account::amplification::{exact, lemma};
use throng_dp::{Delta, Epsilon};

use super::Part;
use throng_simulate::dataset::Dataset;
use crate::experiments::Row;
use crate::experiments::lab::{Lab, exact_local, gaussian_sigma, one_hot, people, root_mean};

/// Section I: "ESA's Crowd IDs and the heterogeneous privacy levels they induce".
pub(super) fn labelled(lab: &Lab) -> Result<Part> {
    const TABLE: &str = "remarks-heterogeneous";
    lab.say("privacy of crowds of different sizes");
    let flights = Dataset::built_in("flights")?;
    let mut crowds: BTreeMap<String, u64> = BTreeMap::new();
    for (route, &count) in flights.counts().iter().enumerate() {
        let label = flights.label(route);
        let (origin, _) = label.split_once('-').context("a route is called ORIGIN-DESTINATION")?;
        *crowds.entry(origin.into()).or_default() += count;
    }
    let mut sizes: Vec<u64> = crowds.into_values().collect();
    sizes.sort_unstable();
    let delta = Delta::new(1e-7)?;
    let middle = sizes[sizes.len() / 2];
    let local = exact_local(middle, 1.0, delta)?;
    let central =
        |size: u64| -> Result<f64> { Ok(exact::epsilon_certified(size, local, delta)?.epsilon().value()) };
    let all: Vec<f64> = sizes.iter().map(|&size| central(size)).collect::<Result<_>>()?;
    let without = exact::epsilon_certified(flights.respondents(), local, delta)?.epsilon().value();
    let mut rows = Vec::new();
    for (name, at) in [("smallest", 0), ("middle", sizes.len() / 2), ("largest", sizes.len() - 1)] {
        let cell =
            format!("one epsilon_local, {name} crowd of {}: epsilon_central", people(sizes[at] as f64));
        let holds = all[at] <= local.value() && all[at] >= without;
        rows.push(
            Row::order(TABLE, cell, holds, "more than without labels, at most epsilon_local").throng(all[at]),
        );
    }
    let worse: u64 =
        sizes.iter().zip(&all).filter(|(_, epsilon)| **epsilon > 1.0).map(|(size, _)| size).sum();
    let crowds_worse = all.iter().filter(|epsilon| **epsilon > 1.0).count();
    let falling = all.windows(2).all(|two| two[0] >= 0.99 * two[1]);
    rows.push(
        Row::order(TABLE, "crowds with an epsilon_central above 1", falling, "epsilon falls with the size")
            .throng(crowds_worse as f64)
            .note(format!("of {}, with {} of all flights", sizes.len(), people(worse as f64))),
    );
    rows.push(
        Row::order(
            TABLE,
            "all flights, without labels: epsilon_central",
            without < all[sizes.len() - 1],
            "the least",
        )
        .throng(without),
    );
    let small = exact_local(sizes[0], 1.0, delta)?.value();
    let large = exact_local(sizes[sizes.len() - 1], 1.0, delta)?.value();
    for (name, allowed) in [("smallest", small), ("largest", large)] {
        let cell = format!("epsilon_central 1 for every crowd, {name} crowd: epsilon_local");
        rows.push(Row::order(TABLE, cell, small <= large, "the larger crowd may say more").throng(allowed));
    }
    let text = format!(
        "Labels make privacy unequal. Flights are labelled with the airport they start from, in {} crowds of {} to {}. With one \
         epsilon_local ({:.2}, for epsilon_central 1 in the middle crowd, delta 1e-7), epsilon_central runs from {:.3} in the \
         largest to {:.2} in the smallest, where it is the local guarantee; without labels all would have {without:.4}. A \
         survey with labels therefore states what the smallest crowd that is released has.",
        sizes.len(),
        people(sizes[0] as f64),
        people(sizes[sizes.len() - 1] as f64),
        local.value(),
        all[sizes.len() - 1],
        all[0],
    );
    Ok(Part { text, rows })
}

/// Section I: "as little as a few dozen respondents".
pub(super) fn dozens(lab: &Lab) -> Result<Part> {
    const TABLE: &str = "remarks-dozens";
    let delta = Delta::new(1e-6)?;
    let mut rows = Vec::new();
    let (mut covered, mut ratios) = (Vec::new(), (f64::INFINITY, 0.0f64));
    for n in [24u64, 36, 48, 60] {
        for central in [1.0, 2.0] {
            lab.say(format!("{n} respondents at epsilon_central {central}"));
            let epsilon = Epsilon::new(central)?;
            let local = exact_local(n, central, delta)?;
            // Every possible data of the others, one by one.
            let largest = exact::delta_max_over_a(n, local, epsilon)?;
            let cell = |what: &str| format!("{n} respondents, epsilon_central {central}: {what}");
            rows.push(
                Row::order(
                    TABLE,
                    cell("epsilon_local"),
                    largest <= delta && local >= epsilon,
                    "delta over all data of the others is at most 1e-6",
                )
                .throng(local.value())
                .note(format!("largest delta {:.2e}", largest.value())),
            );
            let mechanism = one_hot(2, local, local, 1)?;
            let yes = n / 3;
            let (mut squares, mut expected, mut right) = (Vec::new(), 0.0, 0);
            for crowd in 0..CROWDS {
                let measured = lab.measure_crowd(&[yes, n - yes], &mechanism, 1 + crowd)?;
                squares.push(measured.accuracy.rmse.powi(2));
                expected = measured.accuracy.rmse_expected;
                right += u32::from(measured.estimates.counts()[0] < measured.estimates.counts()[1]);
            }
            let rmse = root_mean(squares);
            let ratio = rmse / gaussian_sigma(central, delta)?;
            ratios = (ratios.0.min(ratio), ratios.1.max(ratio));
            rows.push(
                Row::order(
                    TABLE,
                    cell("standard error of a count, measured"),
                    (rmse / expected - 1.0).abs() < 0.05,
                    "within 5 % of theory",
                )
                .throng(rmse)
                .gaussian(gaussian_sigma(central, delta)?)
                .note(format!(
                    "{} crowds of which a third says yes; in {:.0} % of them no wins",
                    people(CROWDS as f64),
                    100.0 * f64::from(right) / CROWDS as f64
                )),
            );
            if lemma::epsilon(n, local, delta).is_ok() {
                covered.push(n);
            }
        }
    }
    rows.push(
        Row::order(
            TABLE,
            "crowds of these that the paper's lemma covers",
            covered.is_empty(),
            "none: it needs 213",
        )
        .throng(covered.len() as f64),
    );
    let text = format!(
        "A few dozen respondents, as the paper advertises. Its own lemma needs 14 ln(4/delta) flipped bits on average, which is \
         213 for delta 1e-6, and so says nothing about such crowds. Exact accounting does, checked over all data of the \
         others: a crowd of 24 to 60 adds little to the local guarantee, and a yes-or-no question has an error of two to six \
         people, {:.2} to {:.2} times that of a trusted party at the same delta. Small crowds can be asked for large effects.",
        ratios.0, ratios.1
    );
    Ok(Part { text, rows })
}

/// How many crowds each error is measured over: its own error is then about 2 %.
const CROWDS: u64 = 2000;
