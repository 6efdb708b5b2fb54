//! Binomial probabilities to fifteen digits at any size, and the three sums over them that the bounds need.
//!
//! C. Loader, "Fast and Accurate Computation of Binomial Probabilities", 2000: the saddle-point form takes the
//! large terms out of ln n! before they cancel. (Differences of lgamma lose seven digits at n = 2·10^8.)

use std::f64::consts::PI;

/// Bin(n, p). Both probabilities are given, so that neither loses digits when the other is tiny.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binomial {
    n: u64,
    p: f64,
    q: f64,
}

/// The probabilities of consecutive outcomes, and an upper bound on those of all others together.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The outcome of the first entry.
    pub(crate) start: u64,
    /// Pr[start], Pr[start + 1], ...
    pub(crate) pmf: Vec<f64>,
    /// At least the probability of all outcomes that are left out.
    pub(crate) missing: f64,
}

impl Binomial {
    /// `n` trials, each successful with probability `p` = 1 − `q`.
    pub(crate) fn new(n: u64, p: f64, q: f64) -> Self {
        debug_assert!((p + q - 1.0).abs() < 1e-12 && p >= 0.0 && q >= 0.0, "p = {p}, q = {q}");
        Self { n, p, q }
    }

    /// ln Pr[X = k].
    pub(crate) fn ln_pmf(&self, k: u64) -> f64 {
        let (n, p, q) = (self.n as f64, self.p, self.q);
        if k > self.n {
            return f64::NEG_INFINITY;
        }
        if k == 0 {
            return if self.n == 0 { 0.0 } else { n * ln_complement(p, q) };
        }
        if k == self.n {
            return n * ln_complement(q, p);
        }
        let (x, y) = (k as f64, (self.n - k) as f64);
        let corrections = stirling_error(self.n) - stirling_error(k) - stirling_error(self.n - k);
        corrections - deviance(x, n * p) - deviance(y, n * q) + 0.5 * (n / (2.0 * PI * x * y)).ln()
    }

    /// All outcomes but a far tail on either side, the two together of probability at most `missing`.
    pub(crate) fn window(&self, missing: f64) -> Window {
        let mode = (((self.n as f64 + 1.0) * self.p) as u64).min(self.n);
        let mut below = self.walk(mode, missing / 2.0, |k| (k > 0).then(|| (k - 1, self.step_down(k))));
        let above = self.walk(mode, missing / 2.0, |k| (k < self.n).then(|| (k + 1, self.step_up(k))));
        let start = mode - (below.len() as u64 - 1);
        below.reverse();
        below.extend_from_slice(&above[1..]);
        Window { start, pmf: below, missing }
    }

    /// ln E[(x − X)₊] for x at most about the mean, rounded up.
    ///
    /// Walks down from x. Below the mean the ratio of neighboring probabilities falls with every step, so what
    /// is left out is less than a geometric series, and that is added.
    pub(crate) fn ln_shortfall(&self, x: f64) -> f64 {
        debug_assert!(x >= 0.0, "{x}");
        let top = (x as u64).min(self.n);
        let (mut j, mut probability) = (top, 1.0);
        // In units of Pr[X = top]. `mass` carries the rounding of x itself into the result.
        let (mut sum, mut mass) = (x - top as f64, 1.0);
        while j > 0 {
            for _ in 0..j.min(32) {
                probability *= self.step_down(j);
                j -= 1;
                sum += probability * (x - j as f64);
                mass += probability;
            }
            let ratio = self.step_down(j);
            if ratio < 1.0 {
                let tail = ratio / (1.0 - ratio);
                let rest = probability * tail * (x - j as f64 + 1.0 + tail);
                if rest <= 1e-17 * sum {
                    sum += rest;
                    break;
                }
            }
        }
        let sum = sum + 1e-15 * x * mass;
        self.ln_pmf(top) + sum.ln() + self.rounding(top)
    }

    /// ln Pr[X ≥ k] for k at or above the mean, rounded up.
    ///
    /// Walks up from k; above the mean the ratios of neighboring probabilities are below 1 and fall, so what is left
    /// out is less than a geometric series, and that is added.
    pub(crate) fn ln_upper_tail(&self, k: u64) -> f64 {
        debug_assert!(k as f64 >= self.n as f64 * self.p * (1.0 - 1e-12), "{k} is below the mean");
        let (mut j, mut probability, mut sum) = (k, 1.0, 1.0);
        while j < self.n {
            let ratio = self.step_up(j);
            let rest = probability * ratio / (1.0 - ratio);
            if ratio < 1.0 && rest <= 1e-17 * sum {
                sum += rest;
                break;
            }
            probability *= ratio;
            sum += probability;
            j += 1;
        }
        self.ln_pmf(k) + sum.ln() + self.rounding(k)
    }

    /// How far `ln_pmf` can be off: 1e-10 and what the last digit of p does that far from the mean.
    fn rounding(&self, k: u64) -> f64 {
        1e-10 + 1e-15 * (k as f64 - self.n as f64 * self.p).abs() / self.q.max(self.p)
    }

    /// Pr[k − 1]/Pr[k].
    fn step_down(&self, k: u64) -> f64 {
        (k as f64 * self.q) / ((self.n - k + 1) as f64 * self.p)
    }

    /// Pr[k + 1]/Pr[k].
    fn step_up(&self, k: u64) -> f64 {
        ((self.n - k) as f64 * self.p) / ((k + 1) as f64 * self.q)
    }

    /// Probabilities from the mode in one direction until what lies beyond is at most `missing`. `next` names the
    /// neighbor in that direction and how much less likely it is; the ratios fall, so the rest is geometric.
    fn walk(&self, mode: u64, missing: f64, next: impl Fn(u64) -> Option<(u64, f64)>) -> Vec<f64> {
        let mut value = self.ln_pmf(mode).exp();
        let mut values = vec![value];
        let mut k = mode;
        while let Some((neighbor, ratio)) = next(k) {
            if ratio < 1.0 && value * ratio <= missing * (1.0 - ratio) {
                break;
            }
            value *= ratio;
            values.push(value);
            k = neighbor;
        }
        values
    }
}

impl Window {
    /// Consecutive outcomes together: the least of each bin, and the probability of the bin. The bin that starts
    /// at k holds `width(k)` outcomes, at least one.
    pub(crate) fn bins(&self, width: impl Fn(u64) -> u64) -> Vec<(u64, f64)> {
        let mut bins = Vec::new();
        let (mut least, mut rest) = (self.start, self.pmf.as_slice());
        while !rest.is_empty() {
            let (bin, after) = rest.split_at((width(least).max(1) as usize).min(rest.len()));
            bins.push((least, bin.iter().sum()));
            least += bin.len() as u64;
            rest = after;
        }
        bins
    }
}

/// ln(1 − p), from whichever of the two numbers is exact.
fn ln_complement(p: f64, q: f64) -> f64 {
    if p < 0.5 { (-p).ln_1p() } else { q.ln() }
}

/// ln n! − [(n + ½) ln n − n + ½ ln 2π], the error of Stirling's formula.
fn stirling_error(n: u64) -> f64 {
    if let Some(&error) = STIRLING_ERRORS.get(n as usize) {
        return error;
    }
    let n = n as f64;
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

/// x ln(x/m) + m − x without cancellation where x is close to m.
fn deviance(x: f64, m: f64) -> f64 {
    let difference = x - m;
    if difference.abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() - difference;
    }
    let v = difference / (x + m);
    let (mut sum, mut term) = (difference * v, 2.0 * x * v);
    for odd in 1..1000 {
        term *= v * v;
        let next = sum + term / f64::from(2 * odd + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// From mpmath at 40 digits: loggamma(n+1) - (n+1/2)*log(n) + n - log(2*pi)/2. The entry for 0 is never used.
const STIRLING_ERRORS: [f64; 16] = [
    0.0,
    0.081_061_466_795_327_26,
    0.041_340_695_955_409_3,
    0.027_677_925_684_998_34,
    0.020_790_672_103_765_093,
    0.016_644_691_189_821_193,
    0.013_876_128_823_070_748,
    0.011_896_709_945_891_77,
    0.010_411_265_261_972_096,
    0.009_255_462_182_712_733,
    0.008_330_563_433_362_87,
    0.007_573_675_487_951_841,
    0.006_942_840_107_209_53,
    0.006_408_994_188_004_207,
    0.005_951_370_112_758_848,
    0.005_554_733_551_962_801,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// From mpmath at 40 digits: loggamma(n+1) - loggamma(k+1) - loggamma(n-k+1) + k*log(p) + (n-k)*log(1-p), p
    /// the double next to the decimal.
    #[test]
    fn probabilities_match_high_precision() {
        for (n, k, p, expected) in [
            (200_000_000, 450, 2.2e-6, -4.086531768167214),
            (200_000_000, 23_841_000, 0.1192, -9.372_743_219_710_497),
            (10_000_000_000, 4_999_700_000, 0.5, -29.738716826639956),
            (50, 3, 0.1, -1.9764146696813647),
            (17, 16, 0.9, -1.1551399994630503),
            (10_000_000_000, 7, 1e-12, -40.771_352_665_075_06),
        ] {
            let off = Binomial::new(n, p, 1.0 - p).ln_pmf(k) - expected;
            assert!(off.abs() < 2e-11, "{n} {k} {p}: off by {off:e}");
        }
    }

    #[test]
    fn windows_hold_all_but_what_they_say_is_missing() {
        for n in [0, 1, 2, 60, 5000, 30_000_000] {
            for p in [0.0, 1e-9, 1e-3, 0.3, 0.5, 0.999, 1.0] {
                let window = Binomial::new(n, p, 1.0 - p).window(1e-20);
                let sum: f64 = window.pmf.iter().sum();
                assert!((sum - 1.0).abs() < 1e-11, "{n} {p}: {sum}");
                assert!(window.start + window.pmf.len() as u64 <= n + 1);
                let bins = window.bins(|k| k / 100);
                assert_eq!(bins[0].0, window.start);
                assert!((bins.iter().map(|bin| bin.1).sum::<f64>() - sum).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn upper_tails_match_their_definition() {
        for n in [1u64, 2, 7, 60, 1000] {
            for p in [1e-4, 0.02, 0.3, 0.5, 0.97] {
                let law = Binomial::new(n, p, 1.0 - p);
                for k in (n as f64 * p).ceil() as u64..=n {
                    let direct: f64 = (k..=n).map(|j| law.ln_pmf(j).exp()).sum();
                    // Above where the smallest doubles have fewer digits.
                    if direct > 1e-290 {
                        let ratio = law.ln_upper_tail(k).exp() / direct;
                        assert!((1.0..1.0 + 1e-9).contains(&ratio), "{n} {p} {k}: {ratio}");
                    }
                }
            }
        }
    }

    #[test]
    fn shortfalls_match_their_definition() {
        for n in [1u64, 2, 7, 60, 1000] {
            for p in [1e-4, 0.02, 0.3, 0.5] {
                let law = Binomial::new(n, p, 1.0 - p);
                for share in [0.01, 0.3, 0.7, 0.99, 1.0] {
                    let x = share * n as f64 * p;
                    let direct: f64 = (0..=n).map(|k| law.ln_pmf(k).exp() * (x - k as f64).max(0.0)).sum();
                    let ratio = law.ln_shortfall(x).exp() / direct;
                    assert!((1.0..1.0 + 1e-9).contains(&ratio), "{n} {p} {x}: {ratio}");
                }
            }
        }
    }
}
