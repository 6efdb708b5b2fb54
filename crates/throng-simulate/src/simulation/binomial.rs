//! Binomial sampling for simulated crowds, at a cost that does not grow with them.
//!
//! Not for privacy: this uses doubles. A uniform number has 53 bits, so an outcome with a probability below 2^-53 is
//! not drawn in its exact share, and the acceptance of the rejection method is computed to about n·10⁻¹⁶, that is to
//! 10⁻⁵ for the largest crowds here. Only operations that every machine rounds alike are used (the functions are
//! `libm`'s), so a seed gives the same numbers everywhere.

use chacha20::rand_core::Rng;

/// The number of successes among n trials of probability p, for n up to 2^53.
#[derive(Clone, Copy, Debug)]
pub struct Binomial {
    n: u64,
    /// Whether failures are counted instead, because p is above one half.
    mirrored: bool,
    method: Method,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    /// No success at all.
    Never,
    /// Fair coins: count bits.
    Fair,
    /// Few successes: sum probabilities from 0 up.
    Inversion { none: f64, odds: f64 },
    /// Many: rejection from a hat over the bell.
    Rejection(Hat),
}

impl Binomial {
    /// Prepares for many draws. p must be in [0, 1].
    pub fn new(n: u64, p: f64) -> Self {
        debug_assert!((0.0..=1.0).contains(&p) && n <= 1 << 53, "n {n}, p {p}");
        let mirrored = p > 0.5;
        let p = if mirrored { 1.0 - p } else { p };
        let mean = n as f64 * p;
        let method = if mean == 0.0 {
            Method::Never
        } else if p == 0.5 && n <= FAIR_MAX {
            Method::Fair
        } else if mean < REJECTION_MIN {
            let none = libm::exp(n as f64 * libm::log1p(-p));
            Method::Inversion { none, odds: p / (1.0 - p) }
        } else {
            Method::Rejection(Hat::new(n as f64, p))
        };
        Self { n, mirrored, method }
    }

    /// One number.
    #[inline]
    pub fn draw(&self, rng: &mut impl Rng) -> u64 {
        let successes = match &self.method {
            Method::Never => 0,
            Method::Fair => fair(self.n, rng),
            Method::Inversion { none, odds } => invert(self.n, *none, *odds, rng),
            Method::Rejection(hat) => hat.draw(rng),
        };
        if self.mirrored { self.n - successes } else { successes }
    }
}

/// How many of n fair coins come up.
fn fair(n: u64, rng: &mut impl Rng) -> u64 {
    let whole: u64 = (0..n / 64).map(|_| u64::from(rng.next_u64().count_ones())).sum();
    let rest = n % 64;
    if rest == 0 { whole } else { whole + u64::from((rng.next_u64() >> (64 - rest)).count_ones()) }
}

/// The least k whose cumulative probability exceeds a uniform number. Neighboring probabilities have the ratio
/// odds·(n − k)/(k + 1).
#[inline]
fn invert(n: u64, none: f64, odds: f64, rng: &mut impl Rng) -> u64 {
    let mut uniform = uniform(rng);
    let (mut k, mut probability) = (0, none);
    while uniform >= probability && k < n.min(INVERSION_MAX) {
        uniform -= probability;
        probability *= odds * (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    k
}

/// Hörmann's transformed rejection with squeeze (BTRS, 1993): a ratio of uniforms under a hat that fits every
/// binomial with a mean of at least 10.
#[derive(Clone, Copy, Debug)]
struct Hat {
    n: f64,
    odds: f64,
    mode: f64,
    variance: f64,
    /// What of the bell's logarithm depends on the mode alone.
    peak: f64,
    a: f64,
    b: f64,
    center: f64,
    squeeze: f64,
    alpha: f64,
}

impl Hat {
    fn new(n: f64, p: f64) -> Self {
        let q = 1.0 - p;
        let deviation = (n * p * q).sqrt();
        let b = 1.15 + 2.53 * deviation;
        let (odds, mode) = (p / q, ((n + 1.0) * p).floor());
        let peak = (mode + 0.5) * libm::log((mode + 1.0) / (odds * (n - mode + 1.0)))
            + stirling_tail(mode)
            + stirling_tail(n - mode);
        Self {
            n,
            odds,
            mode,
            variance: deviation * deviation,
            peak,
            a: -0.0873 + 0.0248 * b + 0.01 * p,
            b,
            center: n * p + 0.5,
            squeeze: 0.92 - 4.2 / b,
            alpha: (2.83 + 5.1 / b) * deviation,
        }
    }

    #[inline]
    fn draw(&self, rng: &mut impl Rng) -> u64 {
        loop {
            let u = uniform(rng) - 0.5;
            let v = uniform(rng);
            let edge = 0.5 - u.abs();
            let place = (2.0 * self.a / edge + self.b) * u + self.center;
            if place < 0.0 || place >= self.n + 1.0 {
                continue;
            }
            // The floor of what is not negative, without a call.
            let k = place as i64;
            // Well inside the bell every k is accepted.
            if edge >= 0.07 && v <= self.squeeze || self.accepts(k as f64, v, edge) {
                return k as u64;
            }
        }
    }

    /// Whether v lies under the bell at k: ln of the probability of k over that of the mode.
    #[cold]
    fn accepts(&self, k: f64, v: f64, edge: f64) -> bool {
        let Self { n, odds, mode, variance, peak, a, b, alpha, .. } = *self;
        let hat = libm::log(v * alpha / (a / (edge * edge) + b));
        // Between the center and the far tails the bell is within `slack` of a normal one, which decides most draws
        // (Kachitvichyanukul and Schmeiser 1988, step 5.2).
        let off = (k - mode).abs();
        if off > 20.0 && off < 0.5 * variance - 1.0 {
            let slack = off / variance * (((off / 3.0 + 0.625) * off + 1.0 / 6.0) / variance + 0.5);
            let normal = -off * off / (2.0 * variance);
            if hat < normal - slack {
                return true;
            }
            if hat > normal + slack {
                return false;
            }
        }
        let bell = peak
            + (n + 1.0) * libm::log1p((k - mode) / (n - k + 1.0))
            + (k + 0.5) * libm::log(odds * (n - k + 1.0) / (k + 1.0))
            - stirling_tail(k)
            - stirling_tail(n - k);
        hat <= bell
    }
}

/// ln k! minus Stirling's formula in k + 1: (k + 1/2) ln(k + 1) − (k + 1) + ln(2π)/2.
fn stirling_tail(k: f64) -> f64 {
    const SMALL: [f64; 10] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_09,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
    ];
    if k < 10.0 {
        return SMALL[k as usize];
    }
    let x = k + 1.0;
    let square = x * x;
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / x
}

/// In [0, 1), with 53 bits.
#[inline]
fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Counting bits costs n/64 words; a rejection costs about ten.
const FAIR_MAX: u64 = 1024;
/// The hat fits from here on.
const REJECTION_MIN: f64 = 10.0;
/// With a mean below 10, more successes than this have a probability below 2^-200.
const INVERSION_MAX: u64 = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    /// ln of n choose k, p^k q^(n - k), from lgamma: independent of the formulas above.
    fn ln_probability(n: u64, k: u64, p: f64) -> f64 {
        let (n, k) = (n as f64, k as f64);
        libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
            + k * p.ln()
            + (n - k) * (-p).ln_1p()
    }

    /// Chi-square over bins of at least 50 expected draws; the quantile is Wilson and Hilferty's, at 5 deviations: a
    /// chance of 3e-7 for each of the 14 cases that a fresh seed fails a right sampler.
    fn check(n: u64, p: f64, draws: u64, seed: u64) {
        let binomial = Binomial::new(n, p);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let deviation = (n as f64 * p * (1.0 - p)).sqrt();
        let low = (n as f64 * p - 9.0 * deviation - 1.0).max(0.0) as u64;
        let high = ((n as f64 * p + 9.0 * deviation + 9.0) as u64).min(n);
        let mut seen = vec![0u64; (high - low + 1) as usize];
        for _ in 0..draws {
            let k = binomial.draw(&mut rng);
            assert!((low..=high).contains(&k), "{k} of {n} at {p}");
            seen[(k - low) as usize] += 1;
        }
        let (mut statistic, mut bins, mut expected, mut got) = (0.0, 0.0f64, 0.0, 0u64);
        for k in low..=high {
            expected += draws as f64 * ln_probability(n, k, p).exp();
            got += seen[(k - low) as usize];
            if expected >= 50.0 {
                statistic += (got as f64 - expected).powi(2) / expected;
                bins += 1.0;
                (expected, got) = (0.0, 0);
            }
        }
        let freedom = bins - 1.0;
        let spread = 2.0 / (9.0 * freedom);
        let limit = freedom * (1.0 - spread + 5.0 * spread.sqrt()).powi(3);
        assert!(statistic < limit, "chi-square {statistic} for {limit} at n {n}, p {p}");
    }

    #[test]
    fn draws_have_the_binomial_law() {
        for (i, (n, p)) in [
            (1, 0.3),
            (7, 0.5),
            (64, 0.5),
            (1000, 0.5),
            (5000, 0.5),
            (20, 0.499),
            (25, 0.45),
            (1_000_000, 9.9e-6),
            (1_000_000, 1.1e-5),
            (400, 0.03),
            (90, 0.9),
            (100_000, 0.2),
            (203_950_512, 2.28e-6),
            (60_000_000_000, 0.0475),
        ]
        .into_iter()
        .enumerate()
        {
            check(n, p, 300_000, i as u64);
        }
    }

    #[test]
    fn certain_outcomes_are_certain() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for n in [0, 1, 70, 1 << 40] {
            assert_eq!(Binomial::new(n, 0.0).draw(&mut rng), 0);
            assert_eq!(Binomial::new(n, 1.0).draw(&mut rng), n);
        }
    }
}
