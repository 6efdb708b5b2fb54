//! Collisions at an instance: how often no two set bits of one person meet there.
//!
//! Paper: Section III, which asks for K instances, "large enough for each bit to be sent to a separate instance, with high
//! confidence". Throng's guarantees do not need it: the bits of a person travel in envelopes of their own, and an instance with
//! one honest hop unlinks those that meet there as well. It matters for an instance that is compromised.

use throng_dp::sampling::Bernoulli;

use crate::Error;
use crate::binomial::Binomial;

/// A one-hot report of `width` bits, each flipped by `coin`, of which every set bit is sent in one fragment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetBits {
    /// The length of the bit vector.
    pub width: u64,
    /// The coin that flips each bit.
    pub coin: Bernoulli,
}

/// How a set bit finds its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Each bit picks one of K uniformly at random, as the paper suggests.
    Random,
    /// Bit j goes to instance j mod K.
    ByValue,
}

impl SetBits {
    /// The probability that no instance of `instances` gets two set bits of one respondent with a value. Where it depends
    /// on the value, the least.
    ///
    /// The set bits are the respondent's own (with probability q) and Bin(width − 1, p) others. At random, m of them are
    /// apart with probability (1 − 1/K)(1 − 2/K)…(1 − (m − 1)/K). By value, the instances have independent numbers of
    /// set bits: those of the bits that they get.
    pub fn apart(&self, instances: u64, spread: Spread) -> Result<f64, Error> {
        if instances == 0 || self.width == 0 {
            let expected = "give at least one instance and one bit";
            return Err(Error::Parameter { what: "instances or bits", got: 0.0, expected });
        }
        let p = self.coin.probability();
        let apart = match spread {
            Spread::Random => self.apart_at_random(p, instances as f64),
            Spread::ByValue => self.apart_by_value(p, instances),
        };
        Ok(apart.clamp(0.0, 1.0))
    }

    /// The least number of instances at which no two set bits meet with at least this probability.
    pub fn instances_for(&self, probability: f64, spread: Spread) -> Result<u64, Error> {
        if !(probability > 0.0 && probability < 1.0) {
            let expected = "give a number between 0 and 1";
            return Err(Error::Parameter { what: "the probability", got: probability, expected });
        }
        let (mut few, mut enough) = (0, 1);
        while self.apart(enough, spread)? < probability {
            if enough > INSTANCES_MAX {
                return Err(Error::NotApplicable(
                    "no number of instances below 10^15 keeps them apart".into(),
                ));
            }
            (few, enough) = (enough, 2 * enough);
        }
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            if self.apart(middle, spread)? >= probability { enough = middle } else { few = middle }
        }
        Ok(enough)
    }

    fn apart_at_random(&self, p: f64, instances: f64) -> f64 {
        let others = Binomial::new(self.width - 1, p, 1.0 - p).window(1e-18);
        // (1 − 1/K)…(1 − (m − 1)/K), for m = 0, 1, …
        let (mut apart, mut m) = (1.0, 0u64);
        let mut sum = 0.0;
        for (others, mass) in (others.start..).zip(others.pmf) {
            while m < others {
                apart *= (1.0 - m as f64 / instances).max(0.0);
                m += 1;
            }
            let with_own = apart * (1.0 - m as f64 / instances).max(0.0);
            sum += mass * (p * apart + (1.0 - p) * with_own);
        }
        sum
    }

    fn apart_by_value(&self, p: f64, instances: u64) -> f64 {
        // ln of Pr[Bin(bits, p) ≤ 1].
        let quiet = |bits: u64| match bits {
            0 | 1 => 0.0,
            bits => bits as f64 * (-p).ln_1p() + (bits as f64 * p / (1.0 - p)).ln_1p(),
        };
        let (least, larger) = (self.width / instances, self.width % instances);
        // The own bit is among the most bits that an instance gets: set, it leaves room for no other.
        let most = least + u64::from(larger > 0);
        let own = if most <= 1 {
            0.0
        } else {
            let none = ((most - 1) as f64 * (-p).ln_1p()).exp();
            (p * quiet(most - 1).exp() + (1.0 - p) * none).ln()
        };
        let others = if larger > 0 {
            (larger - 1) as f64 * quiet(most) + (instances - larger) as f64 * quiet(least)
        } else {
            (instances - 1) as f64 * quiet(least)
        };
        (own + others).exp()
    }
}

/// Beyond any number that could be counted.
const INSTANCES_MAX: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_dp::Epsilon;

    fn bits(width: u64, epsilon: f64) -> SetBits {
        SetBits { width, coin: Bernoulli::flip(Epsilon::new(epsilon).unwrap()).unwrap() }
    }

    /// Every pattern of bits, and every way to send those that are set.
    fn by_enumeration(bits: &SetBits, value: u64, instances: u64, spread: Spread) -> f64 {
        let p = bits.coin.probability();
        let mut apart = 0.0;
        for pattern in 0..1u64 << bits.width {
            let mut chance = 1.0;
            let mut set = Vec::new();
            for bit in 0..bits.width {
                let is_set = pattern >> bit & 1 == 1;
                chance *= if is_set == (bit == value) { 1.0 - p } else { p };
                if is_set {
                    set.push(bit);
                }
            }
            let ways = instances.pow(set.len() as u32);
            let good = (0..ways).filter(|&way| {
                let mut places: Vec<u64> = match spread {
                    Spread::Random => {
                        (0..set.len() as u32).map(|i| way / instances.pow(i) % instances).collect()
                    }
                    Spread::ByValue => set.iter().map(|bit| bit % instances).collect(),
                };
                places.sort_unstable();
                places.windows(2).all(|two| two[0] != two[1])
            });
            apart += chance * good.count() as f64 / ways as f64;
        }
        apart
    }

    #[test]
    fn every_pattern_and_every_way_to_send_it_agree() {
        for (width, epsilon) in [(1, 1.0), (2, 0.5), (5, 1.0), (6, 2.5)] {
            for instances in 1..=7 {
                let bits = bits(width, epsilon);
                for spread in [Spread::Random, Spread::ByValue] {
                    let least = (0..width)
                        .map(|value| by_enumeration(&bits, value, instances, spread))
                        .fold(1.0, f64::min);
                    let ours = bits.apart(instances, spread).unwrap();
                    assert!(
                        (ours - least).abs() < 1e-12,
                        "{width} {epsilon} {instances} {spread:?}: {ours} {least}"
                    );
                }
            }
        }
    }

    /// The number that is answered suffices and one less does not; with an instance for each bit nothing meets by value.
    #[test]
    fn the_least_number_of_instances_is_found() {
        for bits in [bits(300, 3.0), bits(87_680, 8.55)] {
            for spread in [Spread::Random, Spread::ByValue] {
                let least = bits.instances_for(0.95, spread).unwrap();
                assert!(bits.apart(least, spread).unwrap() >= 0.95);
                assert!(bits.apart(least - 1, spread).unwrap() < 0.95);
            }
            assert_eq!(bits.apart(bits.width, Spread::ByValue).unwrap(), 1.0);
        }
        assert!(
            bits(3, 1.0).apart(0, Spread::Random).is_err()
                && bits(3, 1.0).instances_for(1.0, Spread::Random).is_err()
        );
    }
}
