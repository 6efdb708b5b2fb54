//! Padding against traffic analysis: how many fragments a respondent sends, and how many envelopes hide that number.

use throng_dp::fragmenting::Assignment;
use throng_dp::sampling::Bernoulli;
use throng_dp::{Delta, Epsilon};

use crate::Error;

/// One respondent's fragments in one epoch, spread over the instances.
///
/// Fragment t of attribute j goes to the instance at position (j + t) mod K' ([`Assignment`]), so an instance gets the floor
/// or the ceiling of tau/K' of a bit's fragments, by its value.
///
/// # Load
/// The law that is bounded is that of the fullest body: at the instance with the most attributes of which it gets the
/// ceiling, from a respondent whose value is one of these. Every other body has stochastically fewer fragments: an attribute
/// with one fragment less adds less; a bit that is clear is less likely sent than one that is set (coins flip with probability at
/// most 1/2); and bits are independent. With tau = 1 that body has Ber(1 - p) + Bin(ceil(width/K') - 1, p).
/// Of a sketch one row's cells are flipped, whose indices follow one another: the same law, wherever the row begins.
///
/// # Records
/// A record of several attributes, of which one is sampled, is counted as one bit over the values of all of them
/// (`width` is their sum). Given the sample the report is that of a one-hot vector, or of the empty one where the attribute
/// is missing. All fragments of other bits are as many in either case; those of the one bit are more likely set if it is
/// one (its coin flips with probability at most 1/2, and so do its fragments'), so their number is stochastically largest
/// with a bit that is set. A probability that holds given every sample holds for their mixture: no overflow is
/// understated, and `expected` is exact for a record in which nothing is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// The length of the bit vector that is flipped.
    pub width: u64,
    /// The coin of the report, or of the backstop.
    pub coin: Bernoulli,
    /// The coin of each report fragment, and how many there are; `None` without report fragments.
    pub fragments: Option<(Bernoulli, u32)>,
    /// Over how many instances they are spread.
    pub instances: u32,
}

impl Traffic {
    /// The expected number of fragments that a respondent with a value sends, to all instances together.
    pub fn expected(&self) -> f64 {
        let (set, clear) = match self.fragments {
            None => (1.0, 0.0),
            Some((coin, tau)) => {
                (f64::from(tau) * (1.0 - coin.probability()), f64::from(tau) * coin.probability())
            }
        };
        let p = self.coin.probability();
        let mean = |one: f64| one * set + (1.0 - one) * clear;
        mean(1.0 - p) + (self.width - 1) as f64 * mean(p)
    }

    /// The least number of envelopes per instance such that one respondent's fragments exceed it at one instance with
    /// probability at most `miss` (Chernoff's bound, so never too few), or an error with that number if it is more than
    /// `limit`.
    pub fn envelopes(&self, miss: Delta, limit: u32) -> Result<u32, Error> {
        let needed = self.least(miss);
        needed.filter(|&envelopes| envelopes <= limit).ok_or_else(|| {
            let change = if self.fragments.is_some() { ", or fewer report fragments" } else { "" };
            Error::TooManyFragments {
                fragments: self.expected(),
                envelopes: needed,
                limit,
                change: change.to_owned(),
            }
        })
    }

    /// The same without a limit; `None` if it is more than a survey file can say.
    fn least(&self, miss: Delta) -> Option<u32> {
        let enough = |envelopes| self.overflow(envelopes).is_some_and(|overflow| overflow <= miss.value());
        let (mut low, mut high) = (0, u32::MAX);
        if !enough(high) {
            return None;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if enough(middle) { high = middle } else { low = middle + 1 }
        }
        Some(low.max(1))
    }

    /// An upper bound on the probability that one respondent has more than `envelopes` fragments for one instance;
    /// `None` where the bound says nothing.
    pub fn overflow(&self, envelopes: u32) -> Option<f64> {
        let beyond = f64::from(envelopes) + 1.0;
        // ln E[e^(sN)] - s(b + 1) is convex in s: narrow down its minimum. Every s gives a valid bound.
        let exponent = |s: f64| self.ln_moment(s) - s * beyond;
        let (mut low, mut high) = (0.0, 60.0);
        for _ in 0..100 {
            let third = (high - low) / 3.0;
            if exponent(low + third) < exponent(high - third) { high -= third } else { low += third }
        }
        let best = exponent((low + high) / 2.0);
        // The sum of some rounding errors, each far below this.
        (best < 0.0).then(|| (best + 1e-9 * (1.0 + best.abs())).exp().min(1.0))
    }

    /// What a release's delta grows by when bodies that overflow lose fragments: n K (1 + e^ε) Pr\[overflow\], where n is
    /// the crowd that the guarantee counts on. Whoever answers beyond that crowd changes nothing: what they send, cut or
    /// not, is independent of the others.
    pub fn overflow_delta(&self, envelopes: u32, respondents: u64, epsilon_central: Epsilon) -> Delta {
        let overflow = self.overflow(envelopes).unwrap_or(1.0);
        let sum = self.overflow_weight(respondents, epsilon_central) * overflow;
        // A few roundings, each below one part in 2^52; infinite products are capped as well.
        Delta::new((sum * (1.0 + 1e-15)).min(1.0)).unwrap_or(Delta::ZERO)
    }

    /// n K (1 + e^ε): how often one body's overflow counts.
    pub(super) fn overflow_weight(&self, respondents: u64, epsilon_central: Epsilon) -> f64 {
        respondents as f64 * f64::from(self.instances) * (1.0 + epsilon_central.value().exp())
    }

    /// ln E[e^(sN)] for the number N of fragments in the fullest body.
    fn ln_moment(&self, s: f64) -> f64 {
        let p = self.coin.probability();
        let flip = self.fragments.map_or(0.0, |(coin, _)| coin.probability());
        let ln_power = |probability: f64, count: u32| f64::from(count) * (probability * s.exp_m1()).ln_1p();
        // Of one bit's fragments as many as go here, given that the (backstop's) bit is set, or not.
        let bit = |one: f64, here: u32| {
            let cases = [(one, ln_power(1.0 - flip, here)), (1.0 - one, ln_power(flip, here))];
            ln_mean_exp(cases.into_iter().filter(|&(chance, _)| chance > 0.0))
        };
        let (few, more) = self.loads();
        let own = few + u32::from(more > 0);
        let others = |count: u64, here: u32| if count == 0 { 0.0 } else { count as f64 * bit(p, here) };
        bit(1.0 - p, own) + others(more.saturating_sub(1), few + 1) + others(self.width - more.max(1), few)
    }

    /// How many fragments of a bit go to the fullest instance, and of how many bits it gets one more.
    fn loads(&self) -> (u32, u64) {
        let tau = self.fragments.map_or(1, |(_, tau)| tau).max(1);
        // A plan has at least one instance; what it is made from has been checked.
        let more =
            Assignment::new(tau, self.instances.max(1)).map_or(self.width, |all| all.busiest(self.width));
        (tau / self.instances.max(1), more)
    }
}

/// ln E[e^x] over cases of (probability, x), x ≥ 0.
fn ln_mean_exp(cases: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let largest = cases.clone().map(|(_, x)| x).fold(0.0, f64::max);
    if largest < 500.0 {
        // Not via E: over four billion bits the last digit of a 1 would count.
        cases.map(|(chance, x)| chance * x.exp_m1()).sum::<f64>().ln_1p()
    } else {
        // Many fragments of one bit: e^x may leave the range of a double.
        largest + cases.map(|(chance, x)| chance * (x - largest).exp()).sum::<f64>().ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coin(epsilon: f64) -> Bernoulli {
        Bernoulli::flip(Epsilon::new(epsilon).unwrap()).unwrap()
    }

    /// The exact tail for small vectors: the worst over instances, over the value that is held, and over where the indices
    /// begin (a sketch's rows begin anywhere).
    fn exact_tail(traffic: &Traffic, envelopes: u32) -> f64 {
        let p = traffic.coin.probability();
        let tail = |value: usize, instance: u32, first: u32| {
            let mut ones = vec![p; traffic.width as usize];
            ones[value] = 1.0 - p;
            exact_tail_of(traffic, envelopes, &ones, (instance, first))
        };
        let mut worst = 0.0f64;
        for (value, instance) in (0..traffic.width).flat_map(|v| (0..traffic.instances).map(move |i| (v, i)))
        {
            worst = worst.max(tail(value as usize, instance, 0));
        }
        // Elsewhere no worse: all classes modulo K' are met at once.
        for first in 1..traffic.instances.min(4) {
            let all = (0..traffic.instances).map(|instance| tail(0, instance, first));
            assert!(all.fold(0.0, f64::max) <= worst * (1.0 + 1e-9));
        }
        worst
    }

    /// The tail at one instance, from the probability that each bit of the (backstop's) report is one, by enumerating how
    /// many of each bit's tau fragments are set that go there: fragment t of attribute j goes to (j + t) mod K.
    fn exact_tail_of(traffic: &Traffic, envelopes: u32, ones: &[f64], (instance, first): (u32, u32)) -> f64 {
        let tau = traffic.fragments.map_or(1, |(_, tau)| tau);
        let flip = traffic.fragments.map_or(0.0, |(coin, _)| coin.probability());
        let choose = |n: u32, r: u32| (0..r).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        // Law of one bit's fragments at the instance, given the probability that the backstop is one.
        let law = |attribute: u32, one: f64| -> Vec<f64> {
            let here = (0..tau).filter(|t| (attribute + t) % traffic.instances == instance).count() as u32;
            let mut law = vec![0.0; here as usize + 1];
            for (set, chance) in [(1.0 - flip, one), (flip, 1.0 - one)] {
                for j in 0..=here {
                    let mass = choose(here, j) * set.powi(j as i32) * (1.0 - set).powi((here - j) as i32);
                    law[j as usize] += chance * mass;
                }
            }
            law
        };
        let convolve = |a: &[f64], b: &[f64]| {
            let mut sum = vec![0.0; a.len() + b.len() - 1];
            for (i, x) in a.iter().enumerate() {
                for (j, y) in b.iter().enumerate() {
                    sum[i + j] += x * y;
                }
            }
            sum
        };
        let bits = (first..).zip(ones);
        let total = bits.fold(vec![1.0], |total, (attribute, &one)| convolve(&total, &law(attribute, one)));
        assert!((total.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        total.iter().skip(envelopes as usize + 1).sum()
    }

    #[test]
    fn overflow_is_never_understated() {
        for fragments in [None, Some((coin(2.0), 4)), Some((coin(1.0), 2)), Some((coin(1.5), 7))] {
            for (width, epsilon, instances) in
                [(1, 3.0, 1), (2, 2.0, 3), (20, 3.0, 3), (25, 4.0, 2), (12, 1.0, 5), (14, 2.0, 4)]
            {
                let traffic = Traffic { width, coin: coin(epsilon), fragments, instances };
                for envelopes in 0..12 {
                    let exact = exact_tail(&traffic, envelopes);
                    if let Some(bound) = traffic.overflow(envelopes) {
                        assert!(bound >= exact * (1.0 - 1e-9), "{traffic:?} {envelopes}: {bound} {exact}");
                        assert!(bound <= 40.0 * exact + 1e-12, "{traffic:?} {envelopes}: {bound} {exact}");
                    }
                }
            }
        }
    }

    /// However many fragments a bit has, the bound is a number.
    #[test]
    fn many_fragments_of_one_bit_are_bounded_too() {
        for (tau, instances) in [(18, 1), (64, 1), (256, 4), (1000, 3), (512, 1)] {
            let traffic = Traffic { width: 3, coin: coin(3.0), fragments: Some((coin(1.0), tau)), instances };
            let each = tau.div_ceil(instances);
            for envelopes in [2 * each, 5 * each / 2] {
                let exact = exact_tail(&traffic, envelopes);
                let bound = traffic.overflow(envelopes).expect("more envelopes than fragments are expected");
                assert!(bound >= exact && bound < 0.9, "{tau} {instances} {envelopes}: {bound} {exact}");
            }
            let all = traffic.envelopes(Delta::new(1e-20).unwrap(), 10 * each).unwrap();
            assert!(all <= 3 * each, "{tau} {instances}: {all} of {}", 3 * each);
        }
    }

    /// Bits that are all but never set add next to nothing, and never less than nothing.
    #[test]
    fn billions_of_clear_bits_do_not_round_the_bound_down() {
        for instances in 1..=50 {
            let wide = Traffic { width: 1 << 32, coin: coin(60.0), fragments: None, instances };
            let narrow = Traffic { width: 1, ..wide };
            for s in [1e-3, 0.1, 1.0, 10.0] {
                assert!(wide.ln_moment(s) >= narrow.ln_moment(s), "{instances} {s}");
            }
        }
    }

    #[test]
    fn expectations_are_the_papers_numbers_of_bits() {
        for (width, epsilon, bits) in
            [(87_680, 8.55, 17.97), (1_778_120, 12.99, 5.06), (2_795_520, 13.14, 6.49)]
        {
            let traffic = Traffic { width, coin: coin(epsilon), fragments: None, instances: 3 };
            assert!((traffic.expected() - bits).abs() < 0.01, "{}", traffic.expected());
        }
    }

    #[test]
    fn envelopes_are_the_fewest_that_suffice() {
        let traffic = Traffic { width: 1_778_120, coin: coin(12.99), fragments: None, instances: 3 };
        for miss in [1e-6, 1e-12, 1e-20] {
            let b = traffic.envelopes(Delta::new(miss).unwrap(), 10_000).unwrap();
            assert!(traffic.overflow(b).unwrap() <= miss && traffic.overflow(b - 1).is_none_or(|o| o > miss));
        }
        // The notes on comparable systems have 11 envelopes at 1e-6 (by an exact tail over three instances).
        let b = traffic.envelopes(Delta::new(1e-6 / 3.0).unwrap(), 10_000).unwrap();
        assert!((11..=13).contains(&b), "{b}");
        let dense = Traffic { width: 1 << 32, coin: coin(1.0), fragments: None, instances: 1 };
        match dense.envelopes(Delta::new(1e-9).unwrap(), 100_000) {
            // 1/(1 + e) of 2^32 values, and a few standard deviations of 29,000 more.
            Err(Error::TooManyFragments { fragments, envelopes: Some(envelopes), limit, change }) => {
                assert!((fragments / 1.155e9 - 1.0).abs() < 1e-3, "{fragments}");
                assert!((100_000.0..300_000.0).contains(&(f64::from(envelopes) - fragments)), "{envelopes}");
                assert!(limit == 100_000 && !change.contains("report fragments"), "{change}");
            }
            other => panic!("{other:?}"),
        }
        let fragmented = Traffic { fragments: Some((coin(1.0), 4)), ..dense };
        match fragmented.envelopes(Delta::new(1e-9).unwrap(), 100_000) {
            Err(Error::TooManyFragments { envelopes, change, .. }) => {
                assert_eq!(envelopes, None, "four times as many do not fit in 32 bits");
                assert!(change.contains("fewer report fragments"), "{change}");
            }
            other => panic!("{other:?}"),
        }
    }

    /// A limit that is met exactly is met, one less is not.
    #[test]
    fn the_limit_is_the_last_number_that_is_allowed() {
        let traffic = Traffic { width: 500, coin: coin(3.0), fragments: None, instances: 2 };
        let miss = Delta::new(1e-9).unwrap();
        let needed = traffic.envelopes(miss, u32::MAX).unwrap();
        assert_eq!(traffic.envelopes(miss, needed), Ok(needed));
        let refused = traffic.envelopes(miss, needed - 1).unwrap_err();
        assert!(matches!(refused, Error::TooManyFragments { envelopes, .. } if envelopes == Some(needed)));
        assert!(refused.to_string().contains(&format!("and {needed} envelopes")), "{refused}");
    }

    /// Exact tails of small records: the mixture over samples, some of them of a missing attribute.
    #[test]
    fn a_record_overflows_no_more_often_than_one_bit() {
        for fragments in [None, Some((coin(2.0), 4))] {
            let traffic = Traffic { width: 12, coin: coin(2.0), fragments, instances: 2 };
            for envelopes in 0..12 {
                let held = exact_tail(&traffic, envelopes);
                let none = [traffic.coin.probability(); 12];
                let missing = (0..2).map(|at| exact_tail_of(&traffic, envelopes, &none, (at, 0)));
                let missing = missing.fold(0.0, f64::max);
                assert!(missing <= held + 1e-12, "{envelopes}: {missing} {held}");
                for share in [0.0, 0.3, 0.9] {
                    let record = share * missing + (1.0 - share) * held;
                    assert!(traffic.overflow(envelopes).is_none_or(|bound| bound >= record * (1.0 - 1e-9)));
                }
            }
        }
    }
}
