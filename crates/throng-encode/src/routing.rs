//! Routing: to which instance each fragment goes.
//!
//! Paper: Sections II.C and IV. A bit that is sent in one fragment picks its instance uniformly. The tau
//! fragments of one bit are spread by a uniformly random *balanced* assignment, so that a bad instance sees
//! at most ceil(tau/K) of them. Either way what the instances see is a post-processing of the merged counts.
//!
//! Under a label with a trust profile the same is done over the K' instances that it lists, and the others get
//! no fragment: their bodies are chaff alone, and look the same.

use rand_core::CryptoRng;
use throng_dp::sampling::below;
use throng_wire::Survey;

/// How fragments are spread over instances.
///
/// # Privacy
/// Why the central guarantee of a label holds with a trust profile as without one:
/// - All of the label's crowd send under its profile, which is public. Given the merged counts of that crowd,
///   the instance of each fragment is drawn among the K' without looking at anything else. So their K' views
///   are a post-processing of the merged counts, just as K views are.
/// - Chaff is drawn without looking at any value. Bodies of chaff alone add nothing to these views.
/// - An instance outside the profile sees who takes part under the label, as every instance does, and nothing
///   else. How many they are is what the label's randomized deletion hides, and it is paid for in all K.
///
/// What does change with K' is counted with K': how many fragments t bad instances see, t·ceil(tau/K'), how
/// often a body overflows, and whom deletion takes out of the crowd (`throng_account::terms`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// How many fragments each bit is sent in: tau, or 1.
    tau: u32,
    /// How many instances: K.
    instances: u32,
    /// Those that fragments go to, numbered from 1, each once.
    receiving: Vec<u32>,
    /// How many envelopes a body has: b.
    envelopes: u32,
}

impl Routing {
    /// The routing of answers under a label, or under 0 where there are none; each bit is sent in `tau`
    /// fragments.
    pub fn of(survey: &Survey, label: u32, tau: u32) -> Self {
        let (instances, envelopes) = (survey.delivery.instances, survey.delivery.envelopes);
        Self { tau, instances, receiving: survey.receiving(label), envelopes }
    }

    /// The fragments of each of all K instances, in no order that means anything. An attribute occurs in `fragments`
    /// once for every one of its tau fragments that is set. What exceeds a body is dropped, uniformly at
    /// random.
    pub fn route(&self, fragments: &[u32], rng: &mut (impl CryptoRng + ?Sized)) -> Vec<Vec<u32>> {
        let mut routed = vec![Vec::new(); self.instances as usize];
        let mut fragments = fragments.to_vec();
        fragments.sort_unstable();
        for bit in fragments.chunk_by(|one, other| one == other) {
            for (&attribute, instance) in bit.iter().zip(self.slots(bit.len(), rng)) {
                routed[instance as usize - 1].push(attribute);
            }
        }
        for list in &mut routed {
            choose(list, self.envelopes as usize, rng);
        }
        routed
    }

    /// The instances of `set` of the tau fragments of one bit: those of as many different slots of a balanced
    /// assignment, in which every instance that gets any has floor(tau/K') slots and tau mod K' random ones have
    /// one more.
    fn slots(&self, set: usize, rng: &mut (impl CryptoRng + ?Sized)) -> Vec<u32> {
        // A survey has at least one; what it was read from has been checked.
        let (tau, count) = (self.tau as usize, self.receiving.len().max(1));
        let mut more = self.receiving.clone();
        choose(&mut more, tau % count, rng);
        let whole = self.receiving.iter().flat_map(|&instance| std::iter::repeat_n(instance, tau / count));
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

    fn to_all(tau: u32, instances: u32, envelopes: u32) -> Routing {
        Routing { tau, instances, receiving: (1..=instances).collect(), envelopes }
    }

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
        let routing = to_all(1, 3, 10);
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
            let routing = to_all(tau, instances, 100);
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
        let routing = to_all(4, 3, 10);
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

    /// Two bits over a profile of two of four instances: nothing ever reaches the others, and every joint outcome has
    /// probability 1/4.
    #[test]
    fn fragments_stay_in_the_trust_profile_and_are_uniform_there() {
        let routing = Routing { receiving: vec![1, 4], ..to_all(1, 4, 10) };
        let (draws, rng) = (90_000, &mut rng(6));
        let mut seen = BTreeMap::new();
        for _ in 0..draws {
            let routed = routing.route(&[7, 4], rng);
            assert!(routed.len() == 4 && routed[1].is_empty() && routed[2].is_empty(), "{routed:?}");
            let place = |attribute| routed.iter().position(|list| list.contains(&attribute)).unwrap();
            *seen.entry((place(4), place(7))).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 4);
        seen.values().for_each(|&hits| assert_share(hits, draws, 0.25, 4));
    }

    /// Five fragments of a bit over a profile of two: three and two, and which has three is a fair coin. Over a profile
    /// of one, all five, as far as a body has room.
    #[test]
    fn the_fragments_of_one_bit_are_balanced_in_the_trust_profile() {
        let routing = Routing { receiving: vec![2, 3], ..to_all(5, 3, 10) };
        let (draws, rng) = (20_000, &mut rng(7));
        let mut more = [0; 2];
        for _ in 0..draws {
            let counts: Vec<usize> = routing.route(&[9; 5], rng).iter().map(Vec::len).collect();
            assert!(counts[0] == 0 && counts[1] + counts[2] == 5 && counts[1].abs_diff(counts[2]) == 1);
            more[usize::from(counts[2] == 3)] += 1;
        }
        more.iter().for_each(|&hits| assert_share(hits, draws, 0.5, 2));
        let alone = Routing { receiving: vec![2], ..to_all(5, 3, 4) };
        assert_eq!(alone.route(&[9; 5], rng), [vec![], vec![9; 4], vec![]]);
    }

    /// All ten ways to keep three of five fragments are alike.
    #[test]
    fn overflow_is_dropped_uniformly() {
        let routing = to_all(1, 1, 3);
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
        let routing = to_all(3, 4, 100);
        let fragments = [3, 1, 3, 2, 3, 1];
        let mut all = routing.route(&fragments, &mut rng(5)).concat();
        all.sort_unstable();
        assert_eq!(all, [1, 1, 2, 3, 3, 3]);
        assert_eq!(routing.route(&[], &mut rng(5)), vec![Vec::<u32>::new(); 4]);
    }
}
