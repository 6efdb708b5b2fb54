//! Uniform indices without modulo bias.

use rand_core::CryptoRng;

/// A uniform number below `bound`, which must not be zero.
///
/// Lemire's multiplication method: `word * bound / 2^64`, with the few words rejected that would make some
/// results likelier than others.
#[inline]
pub fn below(bound: u64, rng: &mut (impl CryptoRng + ?Sized)) -> u64 {
    debug_assert!(bound > 0, "there is no number below zero");
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound {
        let rejected = bound.wrapping_neg() % bound;
        while (product as u64) < rejected {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    (product >> 64) as u64
}

/// The same for small bounds, with half the randomness.
#[inline]
pub(crate) fn below_u32(bound: u32, rng: &mut (impl CryptoRng + ?Sized)) -> u32 {
    let mut product = u64::from(rng.next_u32()) * u64::from(bound);
    if (product as u32) < bound {
        let rejected = bound.wrapping_neg() % bound;
        while (product as u32) < rejected {
            product = u64::from(rng.next_u32()) * u64::from(bound);
        }
    }
    (product >> 32) as u32
}

/// The same for 128 bits, by plain rejection: used where speed does not matter.
pub(crate) fn below_u128(bound: u128, rng: &mut (impl CryptoRng + ?Sized)) -> u128 {
    let rejected = bound.wrapping_neg() % bound;
    loop {
        let word = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
        // Words from `rejected` on come in whole multiples of `bound`.
        if word >= rejected {
            return word % bound;
        }
    }
}

/// Appends a uniformly random set of `count` different numbers below `bound`, in rising order.
///
/// The set holds the first `count` different values of a uniform sequence, so every set is equally likely.
/// `count` must not exceed `bound`, nor `bound` 2^31; meant for counts well below the bound.
pub(crate) fn distinct_below(
    bound: u32,
    count: usize,
    out: &mut Vec<u32>,
    rng: &mut (impl CryptoRng + ?Sized),
) {
    debug_assert!(count as u64 <= u64::from(bound), "a set cannot be larger than its universe");
    let start = out.len();
    match count {
        0..=8 => rising::<8>(bound, count, out, rng),
        9..=16 => rising::<16>(bound, count, out, rng),
        17..=24 => rising::<24>(bound, count, out, rng),
        25..=32 => rising::<32>(bound, count, out, rng),
        _ => {
            out.extend((0..count).map(|_| below_u32(bound, rng)));
            out[start..].sort_unstable();
            let mut set = out.split_off(start);
            set.dedup();
            out.append(&mut set);
        }
    }
    while out.len() - start < count {
        let extra = below_u32(bound, rng);
        if let Err(place) = out[start..].binary_search(&extra) {
            out.insert(start + place, extra);
        }
    }
}

/// Appends the different ones among `count` (at most N) uniform numbers below `bound`, in rising order.
///
/// Each number's place is how many are smaller: N² comparisons without a branch, which for few numbers is several
/// times faster than a sort that has to guess. Equal numbers share a place, and the next one stays empty.
#[inline]
fn rising<const N: usize>(bound: u32, count: usize, out: &mut Vec<u32>, rng: &mut (impl CryptoRng + ?Sized)) {
    let mut drawn = [i32::MAX; N];
    for number in &mut drawn[..count] {
        *number = below_u32(bound, rng) as i32;
    }
    let mut sorted = [EMPTY; N];
    let mut places = 0;
    for &number in &drawn[..count] {
        let place: i32 = drawn.iter().map(|&other| i32::from(other < number)).sum();
        sorted[place as usize % N] = number as u32;
        places += place;
    }
    if places as usize == count * count.saturating_sub(1) / 2 {
        out.extend_from_slice(&sorted[..count]);
    } else {
        out.extend(sorted[..count].iter().filter(|&&number| number != EMPTY));
    }
}

/// Above every bound.
const EMPTY: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Script, assert_share, rng};

    #[test]
    fn words_that_would_bias_the_result_are_rejected() {
        // 2^64 mod 3 = 1: of all words exactly one, 0, is rejected.
        assert_eq!(below(3, &mut Script::new([0, u64::MAX])), 2);
        assert_eq!(below(3, &mut Script::new([1])), 0);
        // 2^64 mod 2^63+1 = 2^63-1: products with a low half below that are rejected.
        assert_eq!(below((1 << 63) + 1, &mut Script::new([0, 1])), 0);
        assert_eq!(below_u128(3, &mut Script::new([0, 0, 0, 2])), 2);
    }

    #[test]
    fn indices_are_uniform() {
        let mut rng = rng(5);
        let draws = 300_000;
        for bound in [1u64, 2, 3, 7, 10] {
            let mut seen = vec![0u64; bound as usize];
            let mut seen_u32 = seen.clone();
            let mut seen_u128 = seen.clone();
            for _ in 0..draws {
                seen[below(bound, &mut rng) as usize] += 1;
                seen_u32[below_u32(bound as u32, &mut rng) as usize] += 1;
                seen_u128[below_u128(u128::from(bound), &mut rng) as usize] += 1;
            }
            for count in seen.into_iter().chain(seen_u32).chain(seen_u128) {
                assert_share(count, draws, 1.0 / bound as f64, 69);
            }
        }
    }

    /// Every size class of the sampler: how often each number is in the set, first and last included.
    #[test]
    fn sets_of_any_size_hold_each_number_alike() {
        let mut rng = rng(7);
        let draws = 40_000;
        for (bound, count) in [(9u32, 7usize), (20, 13), (30, 21), (40, 30), (45, 40), (64, 50)] {
            let mut seen = vec![0u64; bound as usize];
            for _ in 0..draws {
                let mut set = Vec::new();
                distinct_below(bound, count, &mut set, &mut rng);
                assert!(set.len() == count && set.windows(2).all(|w| w[0] < w[1]));
                set.iter().for_each(|&number| seen[number as usize] += 1);
            }
            for hits in seen {
                assert_share(hits, draws, count as f64 / f64::from(bound), 208);
            }
        }
    }

    #[test]
    fn sets_are_uniform_and_rising() {
        // All 10 sets of 3 out of 5: a sampler that favours or forgets one is caught.
        let mut rng = rng(6);
        let draws = 200_000;
        let mut seen = [0u64; 32];
        for _ in 0..draws {
            let mut set = vec![99];
            distinct_below(5, 3, &mut set, &mut rng);
            assert_eq!(set.len(), 4);
            assert!(set[1..].windows(2).all(|w| w[0] < w[1]));
            seen[set[1..].iter().map(|b| 1usize << b).sum::<usize>()] += 1;
        }
        for (mask, count) in seen.into_iter().enumerate() {
            let expected = if mask.count_ones() == 3 { 0.1 } else { 0.0 };
            assert_share(count, draws, expected, 32);
        }
    }
}
