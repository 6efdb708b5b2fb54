//! A permutation test: what the attack would do if nothing leaked.

use rand_core::CryptoRng;
use throng_dp::sampling::below;

use super::Losses;
use super::roc::{as_advantage, lead};
use crate::Error;

/// The null distribution: the advantage under random relabelling of the same losses, beside the one that was seen.
///
/// # Utility
/// If members and others are exchangeable (drawn from one pool, and the model says nothing of who is who), then
/// Pr[p_value ≤ x] ≤ x for every x: exactly, for any number of losses, of rounds and of ties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Null {
    /// The advantage that was seen.
    pub advantage: f64,
    /// How surprising it would be without a leak: (1 + relabellings that do at least as well)/(1 + all of them).
    pub p_value: f64,
    /// The mean advantage of a relabelling.
    pub mean: f64,
    /// At least 95 of 100 relabellings have at most this advantage.
    pub quantile_95: f64,
    /// How many relabellings there were.
    pub rounds: u32,
}

impl Losses {
    /// The advantage of `rounds` random relabellings, at least one.
    pub fn null(&self, rounds: u32, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Null, Error> {
        if rounds == 0 {
            return Err(Error::Setting {
                what: "the number of relabellings",
                got: 0.0,
                expected: "give at least 1, better 1000",
            });
        }
        let pooled = self.pooled();
        let (members, others) = (self.members.len() as u64, self.others.len() as u64);
        let ends: Vec<usize> = pooled
            .chunk_by(|a, b| a.0 == b.0)
            .scan(0, |end, group| {
                *end += group.len();
                Some(*end)
            })
            .collect();
        let best = |labels: &[bool]| {
            let (mut start, mut found, mut largest) = (0, 0, 0);
            for &end in &ends {
                found += labels[start..end].iter().filter(|&&member| member).count() as u64;
                largest = largest.max(lead(found, members, end as u64 - found, others));
                start = end;
            }
            largest
        };
        let mut labels: Vec<bool> = pooled.iter().map(|&(_, member)| member).collect();
        let seen = best(&labels);
        // A uniform set of positions gets the label of the fewer ones.
        let fewer_are_members = members <= others;
        let mut positions: Vec<u32> = (0..labels.len() as u32).collect();
        let mut leads: Vec<i128> = (0..rounds)
            .map(|_| {
                labels.fill(!fewer_are_members);
                for i in 0..members.min(others) as usize {
                    let j = i + below((positions.len() - i) as u64, rng) as usize;
                    positions.swap(i, j);
                    labels[positions[i] as usize] = fewer_are_members;
                }
                best(&labels)
            })
            .collect();
        leads.sort_unstable();
        let as_good = leads.len() - leads.partition_point(|&lead| lead < seen);
        let advantage = |lead| as_advantage(lead, members, others);
        Ok(Null {
            advantage: advantage(seen),
            p_value: (1 + as_good) as f64 / (1.0 + f64::from(rounds)),
            mean: leads.iter().map(|&lead| advantage(lead)).sum::<f64>() / f64::from(rounds),
            quantile_95: advantage(leads[(leads.len() * 95).div_ceil(100) - 1]),
            rounds,
        })
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn draw(count: usize, values: u64, shift: f64, rng: &mut ChaCha12Rng) -> Vec<f64> {
        (0..count).map(|_| below(values, rng) as f64 / values as f64 + shift).collect()
    }

    /// Whether p-values of no leak look uniform. Chance of failing with a fresh seed: at most 1e-6 by the inequality of
    /// Dvoretzky, Kiefer, Wolfowitz and Massart, as the distance to the uniform law on {0.01, ..., 1} is at most 0.01 for
    /// the grid, and tied advantages of 97 against 101 losses are rare: 0.01 more.
    #[test]
    fn without_a_leak_p_values_are_uniform() {
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        let repeats = 2000;
        let mut p_values: Vec<f64> = (0..repeats)
            .map(|_| {
                let (members, others) = (draw(97, 1 << 40, 0.0, &mut rng), draw(101, 1 << 40, 0.0, &mut rng));
                Losses::new(members, others).unwrap().null(99, &mut rng).unwrap().p_value
            })
            .collect();
        p_values.sort_by(f64::total_cmp);
        let distance = p_values
            .iter()
            .enumerate()
            .map(|(i, p)| (p - (i as f64 + 0.5) / f64::from(repeats)).abs())
            .fold(0.0, f64::max);
        let dkwm = (f64::ln(2.0 / 1e-6) / (2.0 * f64::from(repeats))).sqrt();
        assert!(distance < dkwm + 0.02, "{distance} {dkwm}");
    }

    /// With three different losses most advantages are tied; small p-values are then rarer than they say, never more
    /// frequent. 2000 repeats, Pr[p ≤ 0.05] ≤ 0.05: more than 156 have a chance below 1e-6 (Chernoff).
    #[test]
    fn ties_make_the_null_careful_not_wrong() {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        let small = (0..2000)
            .filter(|_| {
                let (members, others) = (draw(40, 3, 0.0, &mut rng), draw(25, 3, 0.0, &mut rng));
                Losses::new(members, others).unwrap().null(99, &mut rng).unwrap().p_value <= 0.05
            })
            .count();
        assert!((1..=156).contains(&small), "{small}");
    }

    /// Of all 70 ways to label eight losses, by hand.
    #[test]
    fn relabellings_are_uniform() {
        let losses = Losses::new(vec![0.0, 1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0, 7.0]).unwrap();
        let mut exact = [0u32; 5];
        for set in 0u32..256 {
            if set.count_ones() == 4 {
                let best =
                    (0..=8).map(|end| 2 * (set & ((1 << end) - 1)).count_ones() as i32 - end).max().unwrap();
                exact[best as usize] += 1;
            }
        }
        let rounds = 100_000;
        let null = losses.null(rounds, &mut ChaCha12Rng::seed_from_u64(4)).unwrap();
        assert_eq!(null.advantage, 1.0);
        // Only one way in 70 is as good. Five standard deviations: a chance below 1e-6.
        let share = 1.0 / 70.0;
        let deviation = (share * (1.0 - share) / f64::from(rounds)).sqrt();
        assert!((null.p_value - share).abs() < 5.0 * deviation + 2.0 / f64::from(rounds), "{}", null.p_value);
        let mean: f64 =
            exact.iter().enumerate().map(|(best, &ways)| f64::from(ways) / 70.0 * best as f64 / 4.0).sum();
        assert!((null.mean - mean).abs() < 5.0 * 0.5 / f64::from(rounds).sqrt(), "{} {mean}", null.mean);
        // One way reaches 1 and seven reach 3/4: 62 in 70 are below that, which is less than 95 in 100, but 69 are not above.
        assert_eq!((exact[4], exact[3], null.quantile_95), (1, 7, 0.75));
    }

    /// The limit law of the maximum over thresholds (Smirnov): its mean is sqrt(π/8)·sqrt(1/n + 1/m). Five standard
    /// deviations of the mean of 2000 are 6 %, and 2 % are left for n and m not being infinite.
    #[test]
    fn the_mean_without_a_leak_is_the_known_one() {
        let mut rng = ChaCha12Rng::seed_from_u64(5);
        let losses =
            Losses::new(draw(6000, 1 << 40, 0.0, &mut rng), draw(1000, 1 << 40, 0.0, &mut rng)).unwrap();
        let null = losses.null(2000, &mut rng).unwrap();
        let expected = (std::f64::consts::PI / 8.0).sqrt() * (1.0f64 / 6000.0 + 1.0 / 1000.0).sqrt();
        assert!((null.mean / expected - 1.0).abs() < 0.08, "{} {expected}", null.mean);
        assert!(null.quantile_95 > null.mean);
    }

    #[test]
    fn a_leak_is_seen() {
        let mut rng = ChaCha12Rng::seed_from_u64(6);
        let losses =
            Losses::new(draw(500, 1 << 40, 0.0, &mut rng), draw(300, 1 << 40, 0.2, &mut rng)).unwrap();
        let null = losses.null(999, &mut rng).unwrap();
        assert_eq!((null.p_value, null.rounds), (0.001, 999));
        assert_eq!(null.advantage, losses.roc().advantage());
        assert!(losses.null(0, &mut rng).is_err());
    }
}
