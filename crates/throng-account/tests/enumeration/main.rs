//! What the accountant claims, against whole views that are enumerated coin by coin.
//!
//! Nothing here uses a formula of the accountant: a mechanism is written down as it is defined (who flips which coin, what goes
//! to which instance, what an attacker sees), all its outcomes are listed with their probabilities, and the δ of two
//! worlds is summed up over them.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

mod exposure;
mod honest;
mod instances;
mod overflow;
mod thinning;
mod views;

use throng_dp::{Delta, Epsilon};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}
