//! Deletion as the paper prints it (Algorithm CrowdThresh, Theorems V.1 and V.2), and where its theorems end.

use anyhow::Result;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::Rng;
use throng_account::deletion::Deletion;
use throng_dp::{Delta, Epsilon};

use crate::experiments::{Lab, Row};

/// Both theorems against what really holds, and a sentence on it.
pub(super) fn compare(lab: &Lab) -> Result<(Vec<Row>, String)> {
    let mut rows = Vec::new();
    for epsilon in [0.2, 1.0, 3.0, 4.0, 6.0] {
        let ours = Deletion::new(Epsilon::new(epsilon)?, Delta::new(DELTA_CR)?)?.actual_delta();
        let printed = printed_delta(epsilon, DELTA_CR) / DELTA_CR;
        let cell = format!("epsilon_cr {epsilon}: true delta over the promised one");
        let kept = ours.value() <= DELTA_CR;
        let row = if epsilon < PRINTED_LIMIT {
            Row::order(TABLE, cell, kept && printed <= 1.0, "at most 1, by both algorithms")
        } else {
            Row::order(TABLE, cell, false, "at most 1; the paper's algorithm exceeds it")
                .paper_error(kept && printed > 1.0, WHY_V1)
        };
        rows.push(row.rule(printed).throng(ours.value() / DELTA_CR));
    }
    let end = largest_epsilon();
    rows.push(
        Row::order(TABLE, "the largest epsilon_cr for which Theorem V.1 holds", true, "2 ln 5")
            .rule(end)
            .paper_error((end - PRINTED_LIMIT).abs() < 1e-6, WHY_V1),
    );

    for crowds in [4, 5, 303] {
        let ratio = abort_chance(DELTA_CR, crowds) / DELTA_CR;
        let cell = format!("{crowds} crowds: chance that one of them aborts, over the promised delta");
        let row = if crowds <= 4 {
            Row::order(TABLE, cell, ratio <= 1.0, "at most 1")
        } else {
            Row::order(TABLE, cell, false, "at most 1; with more than four crowds it is not")
                .paper_error(ratio > 1.0, WHY_V2)
        };
        // Ours never aborts.
        rows.push(row.rule(ratio).throng(0.0));
    }
    let (delta, crowds) = (0.01, 100);
    let aborted = measured_aborts(delta, crowds, &mut lab.rng(u64::MAX));
    let expected = abort_chance(delta, crowds);
    // Six deviations of a share of RUNS runs.
    let within = 6.0 * (expected * (1.0 - expected) / f64::from(RUNS)).sqrt();
    rows.push(
        Row::order(
            TABLE,
            format!("{crowds} crowds, delta_cr {delta}: share of {RUNS} runs in which one aborts"),
            true,
            format!("within {within:.3} of 1 - (1 - delta/4)^{crowds} = {expected:.3}"),
        )
        .rule(aborted)
        .throng(0.0)
        .paper_error((aborted - expected).abs() <= within && aborted > delta, WHY_V2),
    );

    let text = format!(
        "The paper's own algorithm for this had to be corrected. Its Theorem V.1 holds up to epsilon_cr {end:.2} only: at \
         epsilon_cr 6 the true delta is {:.1} times the promised one, because a crowd that loses nobody gives itself \
         away. Its Theorem V.2 speaks of all crowds, but each of them may abort with a chance of delta/4, so with more \
         than four it is wrong: with {crowds} crowds and delta {delta}, {:.0} % of {RUNS} runs aborted. It also takes \
         reports for real numbers. Throng drops whole reports, never aborts, and keeps what it promises at every \
         epsilon.",
        printed_delta(6.0, DELTA_CR) / DELTA_CR,
        100.0 * aborted,
    );
    Ok((rows, text))
}

/// The exact delta at epsilon of the paper's algorithm, when a respondent moves from one crowd to another.
///
/// n̂ = n + L − t with L Laplace of scale 2/ε and t = (2/ε) ln(2/δ), and n̂ > n aborts, with the same probability for
/// every n. The densities of n̂ for n and n − 1 have a ratio of at most e^(ε/2), and two crowds change, so all is
/// covered by ε but what only one of them can be: n̂ in (n − 1, n], that is t − 1 < L <= t.
fn printed_delta(epsilon: f64, delta: f64) -> f64 {
    let shift = 2.0 / epsilon * (2.0 / delta).ln();
    laplace_tail(epsilon, shift - 1.0) - laplace_tail(epsilon, shift)
}

/// Pr[L > x] for L Laplace of scale 2/ε.
fn laplace_tail(epsilon: f64, x: f64) -> f64 {
    let beyond = 0.5 * (-0.5 * epsilon * x.abs()).exp();
    if x >= 0.0 { beyond } else { 1.0 - beyond }
}

/// Where the true delta reaches the promised one; it grows with epsilon.
fn largest_epsilon() -> f64 {
    let (mut low, mut high) = (0.1, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if printed_delta(middle, DELTA_CR) <= DELTA_CR { low = middle } else { high = middle }
    }
    low
}

/// The chance that L > t in one of several crowds.
fn abort_chance(delta: f64, crowds: u32) -> f64 {
    let one = laplace_tail(1.0, 2.0 * (2.0 / delta).ln());
    -(f64::from(crowds) * (-one).ln_1p()).exp_m1()
}

/// The share of runs of the paper's algorithm in which some crowd aborts.
fn measured_aborts(delta: f64, crowds: u32, rng: &mut ChaCha20Rng) -> f64 {
    let epsilon = 1.0;
    let shift = 2.0 / epsilon * (2.0 / delta).ln();
    // A Laplace number is an exponential one with a random sign.
    let mut laplace = || {
        let word = rng.next_u64();
        let uniform = ((word >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let size = -uniform.ln() * 2.0 / epsilon;
        if word & 1 == 0 { size } else { -size }
    };
    let aborts = (0..RUNS).filter(|_| (0..crowds).filter(|_| laplace() > shift).count() > 0).count();
    aborts as f64 / f64::from(RUNS)
}

const TABLE: &str = "crowds-theorems";
const DELTA_CR: f64 = 1e-9;
/// 2 ln 5.
const PRINTED_LIMIT: f64 = 3.218_875_824_868_201;
const RUNS: u32 = 10_000;
const WHY_V1: &str = "The outcome that no report of the crowd was dropped tells n from n - 1 for sure. Its probability is \
                      delta/4 (e^(epsilon/2) - 1), which exceeds delta above epsilon_cr = 2 ln 5.";
const WHY_V2: &str = "Each crowd aborts with probability delta/4, so that no crowd does has a probability below 1 - delta \
                      as soon as there are more than four.";
