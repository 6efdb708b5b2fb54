//! Routing: to which instance each fragment goes.
//!
//! Paper: Sections II.C and IV. A bit that is sent in one fragment picks its instance uniformly. The tau
//! fragments of one bit are spread by a uniformly random *balanced* assignment, so that a bad instance sees
//! at most ceil(tau/K) of them. Either way what the instances see is a post-processing of the merged counts.

use rand_core::CryptoRng;
use throng_dp::sampling::below;

/// How fragments are spread over instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routing {
    /// How many fragments each bit is sent in: tau, or 1.
    pub tau: u32,
    /// How many instances: K, at least 1.
    pub instances: u32,
    /// How many envelopes a body has: b.
    pub envelopes: u32,
}

impl Routing {
    /// The fragments of each instance, in no order that means anything. An attribute occurs in `fragments`
    /// once for every one of its tau fragments that is set. What exceeds a body is dropped, uniformly at
    /// random.
    pub fn route(&self, fragments: &[u32], rng: &mut (impl CryptoRng + ?Sized)) -> Vec<Vec<u32>> {
        let mut routed = vec![Vec::new(); self.instances.max(1) as usize];
        let mut fragments = fragments.to_vec();
        fragments.sort_unstable();
        for bit in fragments.chunk_by(|one, other| one == other) {
            for (&attribute, instance) in bit.iter().zip(self.slots(bit.len(), rng)) {
                routed[instance as usize].push(attribute);
            }
        }
        for list in &mut routed {
            choose(list, self.envelopes as usize, rng);
        }
        routed
    }

    /// The instances (from 0) of `set` of the tau fragments of one bit: those of as many different slots of a
    /// balanced assignment, in which every instance has floor(tau/K) slots and tau mod K random ones have one
    /// more.
    fn slots(&self, set: usize, rng: &mut (impl CryptoRng + ?Sized)) -> Vec<u32> {
        let instances = self.instances.max(1);
        let mut more: Vec<u32> = (0..instances).collect();
        choose(&mut more, (self.tau % instances) as usize, rng);
        let whole = (0..instances)
            .flat_map(|instance| std::iter::repeat_n(instance, (self.tau / instances) as usize));
        let mut slots: Vec<u32> = whole.chain(more).collect();
        choose(&mut slots, set, rng);
        slots
    }
}

/// Keeps `count` of the items in uniformly random order, each choice as likely as any other: the first steps
/// of Fisher and Yates.
fn choose<T>(items: &mut Vec<T>, count: usize, rng: &mut (impl CryptoRng + ?Sized)) {
    let count = count.min(items.len());
    for place in 0..count {
        let other = place + below((items.len() - place) as u64, rng) as usize;
        items.swap(place, other);
    }
    items.truncate(count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use std::collections::BTreeMap;

    /// The chance that one of these tests fails a correct router on a fresh seed; the seeds are fixed.
    const ALPHA: f64 = 1e-6;

    fn rng(seed: u8) -> ChaCha20Rng {
        ChaCha20Rng::from_seed([seed; 32])
    }

    /// Bernstein: |hits - np| exceeds t = L/3 + sqrt(L²/9 + 2npqL) with probability at most 2e^-L, L = ln(2
    /// tests/ALPHA).
    fn assert_share(hits: u64, draws: u64, p: f64, tests: usize) {
        let l = (2.0 * tests as f64 / ALPHA).ln();
        let mean = draws as f64 * p;
        let allowed = l / 3.0 + (l * l / 9.0 + 2.0 * mean * (1.0 - p) * l).sqrt();
        assert!((hits as f64 - mean).abs() <= allowed, "{hits} of {draws}, expected {mean} within {allowed}");
    }

    /// Every joint outcome of two bits over three instances has probability 1/9.
    #[test]
    fn single_fragments_pick_instances_uniformly_and_independently() {
        let routing = Routing { tau: 1, instances: 3, envelopes: 10 };
        let (draws, rng) = (90_000, &mut rng(1));
        let mut seen = BTreeMap::new();
        for _ in 0..draws {
            let routed = routing.route(&[7, 4], rng);
            let place = |attribute| routed.iter().position(|list| list.contains(&attribute)).unwrap();
            *seen.entry((place(4), place(7))).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 9);
        seen.values().for_each(|&hits| assert_share(hits, draws, 1.0 / 9.0, 9));
    }

    /// With all fragments set, every instance has the floor or the ceiling of tau/K; which ones have more is
    /// uniform.
    #[test]
    fn the_fragments_of_one_bit_are_balanced() {
        for (tau, instances) in [(1, 1), (4, 3), (5, 3), (6, 3), (16, 3), (2, 5), (7, 2)] {
            let routing = Routing { tau, instances, envelopes: 100 };
            let (draws, rng) = (20_000, &mut rng(2));
            let mut more = vec![0; instances as usize];
            for _ in 0..draws {
                let routed = routing.route(&vec![9; tau as usize], rng);
                assert_eq!(routed.iter().map(Vec::len).sum::<usize>(), tau as usize);
                for (count, list) in more.iter_mut().zip(&routed) {
                    assert!(
                        list.len() == (tau / instances) as usize
                            || list.len() == tau.div_ceil(instances) as usize
                    );
                    *count += u64::from(list.len() > (tau / instances) as usize);
                }
            }
            let share = f64::from(tau % instances) / f64::from(instances);
            more.iter().for_each(|&hits| assert_share(hits, draws, share, 7 * 5));
        }
    }

    /// Two of four fragments over three instances: slots (2, 1, 1), and two of them at random, so both are in
    /// the instance with two slots with probability 1/6, that is in any given instance with 1/18; in a given
    /// pair of instances otherwise, (1 - 1/6)/3.
    #[test]
    fn set_fragments_take_random_slots() {
        let routing = Routing { tau: 4, instances: 3, envelopes: 10 };
        let (draws, rng) = (90_000, &mut rng(3));
        let mut seen = BTreeMap::new();
        for _ in 0..draws {
            let counts: Vec<usize> = routing.route(&[5, 5], rng).iter().map(Vec::len).collect();
            *seen.entry(counts).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        for (counts, &hits) in &seen {
            let p = if counts.contains(&2) { 1.0 / 18.0 } else { 5.0 / 18.0 };
            assert_share(hits, draws, p, 6);
        }
    }

    /// All ten ways to keep three of five fragments are alike.
    #[test]
    fn overflow_is_dropped_uniformly() {
        let routing = Routing { tau: 1, instances: 1, envelopes: 3 };
        let (draws, rng) = (50_000, &mut rng(4));
        let mut seen = BTreeMap::new();
        for _ in 0..draws {
            let mut kept = routing.route(&[1, 2, 3, 4, 5], rng).remove(0);
            kept.sort_unstable();
            *seen.entry(kept).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 10);
        seen.values().for_each(|&hits| assert_share(hits, draws, 0.1, 10));
    }

    #[test]
    fn nothing_is_lost_or_invented_where_there_is_room() {
        let routing = Routing { tau: 3, instances: 4, envelopes: 100 };
        let fragments = [3, 1, 3, 2, 3, 1];
        let mut all = routing.route(&fragments, &mut rng(5)).concat();
        all.sort_unstable();
        assert_eq!(all, [1, 1, 2, 3, 3, 3]);
        assert_eq!(routing.route(&[], &mut rng(5)), vec![Vec::<u32>::new(); 4]);
    }
}
