//! Interval arithmetic: real numbers bracketed by integers. Lower bounds round down and upper bounds round up, so every
//! bracket is certain to hold its number, without any error analysis.

use num_bigint::BigUint;
use num_traits::{One, Zero};

/// A non-negative real number between `low` and `high`, both in units of 2^-bits (the caller knows `bits`).
#[derive(Clone, Debug)]
pub(crate) struct Bracket {
    pub(crate) low: BigUint,
    pub(crate) high: BigUint,
}

impl Bracket {
    /// The fraction `numerator / 2^shift`.
    pub(crate) fn dyadic(numerator: &BigUint, shift: u64, bits: u64) -> Self {
        if bits >= shift {
            let exact = numerator << (bits - shift);
            Self { low: exact.clone(), high: exact }
        } else {
            let low = numerator >> (shift - bits);
            let high = &low + BigUint::one();
            Self { low, high }
        }
    }

    pub(crate) fn zero() -> Self {
        Self { low: BigUint::zero(), high: BigUint::zero() }
    }

    pub(crate) fn one(bits: u64) -> Self {
        Self::dyadic(&BigUint::one(), 0, bits)
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        Self { low: &self.low + &other.low, high: &self.high + &other.high }
    }

    pub(crate) fn multiply(&self, other: &Self, bits: u64) -> Self {
        let low = (&self.low * &other.low) >> bits;
        let high = ((&self.high * &other.high) >> bits) + BigUint::one();
        Self { low, high }
    }

    /// Divided by a number above 0.
    pub(crate) fn divide(&self, other: &Self, bits: u64) -> Self {
        let low = (&self.low << bits) / &other.high;
        let high = (&self.high << bits) / &other.low + BigUint::one();
        Self { low, high }
    }

    /// Times a fraction of integers.
    pub(crate) fn scale(&self, numerator: &BigUint, denominator: &BigUint) -> Self {
        let low = (&self.low * numerator) / denominator;
        let high = (&self.high * numerator) / denominator + BigUint::one();
        Self { low, high }
    }

    pub(crate) fn power(&self, mut exponent: u64, bits: u64) -> Self {
        let mut result = Self::one(bits);
        let mut square = self.clone();
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.multiply(&square, bits);
            }
            square = square.multiply(&square, bits);
            exponent >>= 1;
        }
        result
    }
}

/// e^x for a finite x that is at least 0.
pub(crate) fn exp(x: f64, bits: u64) -> Bracket {
    // x = numerator / 2^shift exactly; y = x / 2^halvings is below 2^-8.
    let (numerator, shift) = dyadic_parts(x);
    let halvings = u64::from(x.log2().ceil().max(0.0) as u32) + 9;
    let y = Bracket::dyadic(&numerator, shift + halvings, bits);

    // e^y = 1 + y + y^2/2! + ...; with y < 1/2 the terms left out sum to less than the last one taken.
    let mut term = Bracket::one(bits);
    let mut sum = term.clone();
    let mut k = 0u32;
    while !term.low.is_zero() {
        k += 1;
        term = term.multiply(&y, bits).scale(&BigUint::one(), &BigUint::from(k));
        sum = sum.add(&term);
    }
    sum.high += &term.high;

    // e^x = (e^y)^(2^halvings).
    for _ in 0..halvings {
        sum = sum.multiply(&sum, bits);
    }
    sum
}

/// The least f64 whose exponential is certain to be at least `numerator / denominator`, a fraction of at least 1.
/// A good guess makes it fast.
pub(crate) fn ln_rounded_up(numerator: &BigUint, denominator: &BigUint, guess: f64) -> f64 {
    let reaches = |bits: u64| {
        let power = exp(f64::from_bits(bits), LN_BITS);
        &power.low * denominator >= numerator << LN_BITS
    };
    // The bit patterns of non-negative doubles are ordered like the doubles: widen around the guess, then halve.
    let guess = guess.max(0.0).to_bits();
    let mut step = 1;
    while !reaches(guess + step) {
        step *= 2;
    }
    let mut high = guess + step;
    step = 1;
    while step <= guess && reaches(guess - step) {
        high = guess - step;
        step *= 2;
    }
    let mut low = guess.saturating_sub(step);
    while low < high {
        let middle = low + (high - low) / 2;
        if reaches(middle) { high = middle } else { low = middle + 1 }
    }
    f64::from_bits(high)
}

/// A finite x >= 0 as an integer over a power of two, exactly.
pub(crate) fn dyadic_parts(x: f64) -> (BigUint, u64) {
    let bits = x.to_bits();
    let biased = (bits >> 52) & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | (1 << 52), biased as i64 - 1075) };
    let mantissa = BigUint::from(mantissa);
    if exponent >= 0 { (mantissa << exponent as u64, 0) } else { (mantissa, exponent.unsigned_abs()) }
}

/// Enough for the logarithm of a 128-bit odds ratio to far below the spacing of doubles.
const LN_BITS: u64 = 320;

#[cfg(test)]
mod tests {
    use super::*;

    /// e and e^20 to 60 digits, from Python's decimal module.
    #[test]
    fn exponentials_are_bracketed_tightly() {
        let digits = |x: f64, places: u32| {
            let bracket = exp(x, 320);
            let scale = BigUint::from(10u32).pow(places);
            let low = (&bracket.low * &scale) >> 320u32;
            let high = (&bracket.high * &scale) >> 320u32;
            assert_eq!(low, high, "the bracket is wider than its last digit");
            low.to_string()
        };
        assert_eq!(digits(1.0, 60), "2718281828459045235360287471352662497757247093699959574966967");
        assert_eq!(digits(20.0, 40), "4851651954097902779691068305415405586846389889448");
        assert_eq!(digits(0.0, 5), "100000");
    }

    #[test]
    fn powers_multiply_out() {
        // (3/4)^5 = 243/1024, exactly representable: the bracket must hold it and be tight.
        let bits = 200;
        let power = Bracket::dyadic(&BigUint::from(3u32), 2, bits).power(5, bits);
        let exact = BigUint::from(243u32) << (bits - 10);
        assert!(power.low <= exact && exact <= power.high);
        assert!(&power.high - &power.low < BigUint::from(64u32));
    }

    #[test]
    fn quotients_are_bracketed() {
        // 1/3 = 0.0101... in binary, between two neighbors; (1/3)/(1/3) holds 1.
        let third = Bracket::one(10).divide(&Bracket::dyadic(&BigUint::from(3u32), 0, 10), 10);
        assert_eq!((third.low.clone(), third.high.clone()), (BigUint::from(341u32), BigUint::from(342u32)));
        let one = third.divide(&third, 10);
        assert!(one.low < BigUint::from(1024u32) && BigUint::from(1024u32) < one.high);
    }

    #[test]
    fn logarithms_round_up_to_the_next_double() {
        // ln 3 = 1.0986122886681098 (rounded down) .. 1.09861228866811 (rounded up).
        let three = ln_rounded_up(&BigUint::from(3u32), &BigUint::one(), 1.0);
        assert!((three - 1.0986122886681098).abs() < 5e-16);
        assert!(exp(three, 320).low >= BigUint::from(3u32) << 320u32);
        assert!(exp(three.next_down(), 320).low < BigUint::from(3u32) << 320u32);
        assert_eq!(ln_rounded_up(&BigUint::one(), &BigUint::one(), 0.0), 0.0);
    }

    #[test]
    fn doubles_are_split_exactly() {
        for x in [0.5, 8.55, 1e-9, 25.0, 3e20, f64::MIN_POSITIVE / 8.0] {
            let (numerator, shift) = dyadic_parts(x);
            let back = numerator.to_string().parse::<f64>().unwrap() * 2f64.powi(-(shift.min(1000) as i32))
                / 2f64.powi(shift.saturating_sub(1000) as i32);
            assert_eq!(back, x);
        }
    }
}
