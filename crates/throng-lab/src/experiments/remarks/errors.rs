//! The accuracy parts of Theorems att-frag-accuracy and cor:recFrag, in terms of epsilon_central.

use anyhow::Result;
use throng_account::amplification::lemma;
use throng_dp::fragmenting::fragment_epsilon;
use throng_dp::{BitRandomizer, Epsilon, OneHot};

use super::Part;
use crate::experiments::Row;
use crate::experiments::lab::{Data, Lab, exact_local, one_hot};

pub(super) fn run(lab: &Lab) -> Result<Part> {
    const TABLE: &str = "remarks-errors";
    let mut rows = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for data in [Data::Map, Data::Horse, Data::Child, Data::Heavy] {
        lab.say(format!("errors in terms of epsilon_central: {}", data.name()));
        let dataset = data.load()?;
        let (n, domain, delta) = (dataset.respondents(), dataset.domain(), data.delta());
        // sqrt(ln(2k/β) ln(1/δ)): what n·α·ε_central is a multiple of.
        let unit = ((2.0 * domain as f64 / BETA).ln() * -delta.value().ln()).sqrt();
        for central in [0.05, 0.25, 1.0] {
            let constant = |local: Epsilon| -> Result<f64> {
                let spread = one_hot(domain, local, local, 1)?.spread_of(dataset.counts());
                Ok(spread.deviation(0.0, BETA / (2.0 * domain as f64)) * central / unit)
            };
            let ours = constant(exact_local(n, central, delta)?)?;
            let paper = constant(lemma::epsilon_local(n, Epsilon::new(central)?, delta)?)?;
            (least, most) = (least.min(ours), most.max(ours));
            let cell = format!(
                "{}, epsilon_central {central}: n alpha epsilon_central / sqrt(log log)",
                data.name()
            );
            let holds = (1.2..5.0).contains(&ours) && ours < paper;
            rows.push(
                Row::order(TABLE, cell, holds, "a constant, and less than by the paper's lemma")
                    .rule(paper)
                    .throng(ours),
            );
        }
    }
    rows.extend(fragmented(lab)?);
    let text = format!(
        "Errors in terms of epsilon_central. Theorem att-frag-accuracy says that the largest error alpha over k values is, with \
         probability 1 - beta, of the order sqrt(log(k/beta) log(1/delta))/(n epsilon_central). With exact accounting the \
         constant is {least:.2} to {most:.2} over four data sets and epsilon_central 0.05 to 1 (with log(2k/beta), beta 5 % \
         and Bennett's inequality). For report fragments Theorem cor:recFrag has a term 1/(tau epsilon_f) where the \
         variance of a bit is e^epsilon_f/(e^epsilon_f - 1)^2: true, and too large by a factor of e^epsilon_f/epsilon_f. \
         With epsilon_f from equal variances, fragments cost a factor of sqrt(2) at every epsilon_central and tau."
    );
    Ok(Part { text, rows })
}

/// Report fragments of Horse: measured against what is promised, and against the theorem's two terms.
fn fragmented(lab: &Lab) -> Result<Vec<Row>> {
    const TABLE: &str = "remarks-fragment-errors";
    let (dataset, delta) = (Data::Horse.load()?, Data::Horse.delta());
    let (n, domain) = (dataset.respondents(), dataset.domain());
    let log = (2.0 * domain as f64 / BETA).ln();
    let mut rows = Vec::new();
    for central in [0.25, 1.0] {
        let backstop = exact_local(n, central, delta)?;
        let whole = lab.measure(&dataset, &one_hot(domain, backstop, backstop, 1)?)?;
        for tau in [4, 16, 256] {
            let fragment = fragment_epsilon(backstop, tau)?;
            let mechanism = one_hot(domain, backstop, fragment, tau)?;
            let measured = lab.measure(&dataset, &mechanism)?;
            let promised = mechanism.spread_of(dataset.counts()).deviation(0.0, BETA / (2.0 * domain as f64));
            let theorem = n as f64
                * ((log / (n as f64 * f64::from(tau) * fragment.value())).sqrt()
                    + (log / (n as f64 * backstop.value().exp())).sqrt());
            let holds = measured.accuracy.largest_error <= promised && promised < 2.0 * theorem;
            let cell = format!("Horse, epsilon_central {central}, tau {tau}: largest error");
            rows.push(
                Row::order(
                    TABLE,
                    cell,
                    holds,
                    "within what is promised, and the theorem's order is above it",
                )
                .rule(theorem)
                .throng(measured.accuracy.largest_error)
                .note(format!(
                    "promised {promised:.1} with 95 %; epsilon_backstop {:.2}, epsilon_fragment {:.2}",
                    backstop.value(),
                    fragment.value()
                )),
            );
            let ratio = measured.accuracy.rmse / whole.accuracy.rmse;
            let exact = OneHot::new(domain, backstop)?.coin().epsilon().value();
            rows.push(
                Row::order(
                    TABLE,
                    format!(
                        "Horse, epsilon_central {central}, tau {tau}: RMSE against attribute fragments alone"
                    ),
                    (ratio / fragments_factor(exact) - 1.0).abs() < 0.03,
                    "within 3 % of theory",
                )
                .throng(ratio),
            );
        }
    }
    Ok(rows)
}

/// By what the standard deviation grows if fragments have the variance of the backstop: both are seen through the backstop's
/// 1 − 2p.
fn fragments_factor(backstop: f64) -> f64 {
    let p = 1.0 / (1.0 + backstop.exp());
    let bit = p * (1.0 - p) / (1.0 - 2.0 * p).powi(2);
    ((p * (1.0 - p) + bit) / (p * (1.0 - p))).sqrt()
}

/// The probability that any of all errors is larger.
const BETA: f64 = 0.05;
