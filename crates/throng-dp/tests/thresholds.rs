//! Thresholds of coins, computed a second time: the algorithm of docs/wire-format.md, section 12, by integers alone, as a
//! client in another language would write it. It shares nothing with the crate but the crate of big integers.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use num_bigint::BigUint;
use num_traits::{One, Zero};
use serde_json::Value;
use throng_dp::Epsilon;
use throng_dp::sampling::Bernoulli;

/// T = ceil(2^128 / (1 + e^epsilon)), of the double with these bits.
fn threshold(bits: u64) -> BigUint {
    let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    let (m, e) = match exponent {
        0 => (fraction, -1074),
        _ => ((1 << 52) + fraction, i64::try_from(exponent).unwrap() - 1075),
    };
    let shifted = |shift: i64| match u64::try_from(shift) {
        Ok(left) => BigUint::from(m) << left,
        Err(_) => BigUint::from(m) >> shift.unsigned_abs(),
    };
    if e >= 0 || shifted(e) >= BigUint::from(89_u32) {
        // With e >= 0 epsilon is at least 2^52.
        return BigUint::one();
    }
    let one = BigUint::one();
    let mut p: u64 = 256;
    loop {
        let y = shifted(e + i64::try_from(p).unwrap() - 7);
        let (mut term, mut sum, mut n) = (&one << p, &one << p, 0_u32);
        while !term.is_zero() {
            n += 1;
            term = ((term * &y) >> p) / n;
            sum += &term;
        }
        let mut high = &sum + (2 * n + 2);
        for _ in 0..7 {
            sum = (&sum * &sum) >> p;
            high = ((&high * &high) >> p) + 1_u32;
        }
        let ceil = |power: &BigUint| {
            let denominator = (&one << p) + power;
            ((&one << (128 + p)) + (&denominator - 1_u32)) / denominator
        };
        let (least, most) = (ceil(&high), ceil(&sum));
        if least == most {
            return least;
        }
        p *= 2;
    }
}

/// What the crate says; an epsilon whose coin would say nothing has the threshold 2^127, and is refused.
fn of_the_crate(bits: u64) -> BigUint {
    let coin = Bernoulli::flip(Epsilon::new(f64::from_bits(bits)).unwrap());
    coin.map_or(BigUint::one() << 127_u32, |coin| BigUint::from(coin.threshold()))
}

#[test]
fn the_vectors_are_what_both_give() {
    let vectors: Value = serde_json::from_str(include_str!("vectors/thresholds.json")).unwrap();
    let vectors = vectors.as_array().unwrap();
    assert!(vectors.len() > 25);
    for vector in vectors {
        let bits = u64::from_str_radix(vector["bits"].as_str().unwrap(), 16).unwrap();
        let epsilon: f64 = vector["epsilon"].as_str().unwrap().parse().unwrap();
        assert_eq!(epsilon.to_bits(), bits, "{epsilon}");
        let kept: BigUint = vector["threshold"].as_str().unwrap().parse().unwrap();
        assert_eq!(threshold(bits), kept, "{epsilon}");
        assert_eq!(of_the_crate(bits), kept, "{epsilon}");
    }
}

#[test]
fn both_give_the_same_for_every_epsilon() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    // Doubles from 2^-130 to beyond 2^10 with random fractions, and with those next to a power of two.
    for round in 0..3000_u64 {
        let exponent = (1023 - 130 + round % 145) << 52;
        let fraction = match round / 145 % 4 {
            0 => 0,
            1 => (1 << 52) - 1,
            _ => rng.next_u64() >> 12,
        };
        let bits = exponent | fraction;
        assert_eq!(threshold(bits), of_the_crate(bits), "{:e}", f64::from_bits(bits));
    }
    // The least doubles of all.
    for bits in [1, 2, (1 << 52) - 1, 1 << 52] {
        assert_eq!(threshold(bits), of_the_crate(bits));
    }
}
