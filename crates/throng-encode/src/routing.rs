//! Routing: to which instance each fragment goes.
//!
//! Paper: Sections II.C and IV. Fragment t of attribute j goes to the instance at position (j + t) mod K' of the K' that
//! receive fragments ([`Assignment`]). A bit that is sent in one fragment goes where its value decides; the tau fragments
//! of one bit are spread evenly, so that a bad instance sees at most ceil(tau/K') of them.
//!
//! Under a label with a trust profile the same is done over the K' instances that it lists, and the others get
//! no fragment: their bodies are chaff alone, and look the same.

use rand_core::CryptoRng;
use throng_dp::fragmenting::Assignment;
use throng_dp::sampling::below;
use throng_wire::Survey;

use crate::Error;

/// How fragments are spread over instances.
///
/// # Privacy
/// - Each pair (j, t) is one count at one instance. With tau = 1 the bit that tells a value from R_0 moves one count, in the
///   crowd of one instance; with tau fragments behind a backstop it moves tau counts that are independent given all
///   backstops, each in the crowd of its own instance. Both hold whichever instance counted whom.
/// - Chaff is drawn without looking at any value. Bodies of chaff alone add nothing to these views.
/// - An instance outside the profile sees who takes part under the label, as every instance does, and nothing
///   else. How many they are is what the label's randomized deletion hides.
///
/// The price: where all hops of an instance work for the analyzer, they can tie the bits of those values that the instance
/// counts to people. Whoever holds one of these values has no more than epsilon_local left, for certain and not by chance.
/// Nobody else loses anything to that instance.
///
/// What depends on K' is counted with K': how many fragments t bad instances see, t·ceil(tau/K'), and how often a body
/// overflows (`throng_account::planner::Traffic`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// Where fragment t of an attribute goes.
    assignment: Assignment,
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
    pub fn of(survey: &Survey, label: u32, tau: u32) -> Result<Self, Error> {
        let (instances, envelopes) = (survey.delivery.instances, survey.delivery.envelopes);
        let receiving = survey.receiving(label);
        let assignment = Assignment::new(tau, u32::try_from(receiving.len()).unwrap_or(u32::MAX))?;
        Ok(Self { assignment, instances, receiving, envelopes })
    }

    /// The instance, from 1, that fragment t of an attribute goes to.
    pub fn instance(&self, attribute: u32, t: u32) -> u32 {
        self.receiving[self.assignment.position(attribute, t) as usize]
    }

    /// The fragments of each of all K instances, in no order that means anything. An attribute occurs in `fragments`
    /// once for every one of its tau fragments that is set. What exceeds a body is dropped, uniformly at
    /// random.
    ///
    /// Which of the tau are the set ones is drawn here: the tau draws of a bit are independent with one coin, given the
    /// backstop's bit, so given how many of them are set every choice is as likely.
    pub fn route(&self, fragments: &[u32], rng: &mut (impl CryptoRng + ?Sized)) -> Vec<Vec<u32>> {
        let mut routed = vec![Vec::new(); self.instances as usize];
        let mut fragments = fragments.to_vec();
        fragments.sort_unstable();
        for bit in fragments.chunk_by(|one, other| one == other) {
            let mut draws: Vec<u32> = (0..self.assignment.tau()).collect();
            if bit.len() < draws.len() {
                choose(&mut draws, bit.len(), rng);
            }
            for (&attribute, t) in bit.iter().zip(draws) {
                routed[self.instance(attribute, t) as usize - 1].push(attribute);
            }
        }
        for list in &mut routed {
            choose(list, self.envelopes as usize, rng);
        }
        routed
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
        to(tau, instances, (1..=instances).collect(), envelopes)
    }

    fn to(tau: u32, instances: u32, receiving: Vec<u32>, envelopes: u32) -> Routing {
        let assignment = Assignment::new(tau, receiving.len() as u32).unwrap();
        Routing { assignment, instances, receiving, envelopes }
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

    /// A bit that is sent once has one place, whatever is drawn.
    #[test]
    fn single_fragments_go_to_the_instance_of_their_value() {
        let routing = to_all(1, 3, 10);
        for seed in 0..20 {
            let mut routed = routing.route(&[7, 4, 0, 9, 5], &mut rng(seed));
            routed.iter_mut().for_each(|list| list.sort_unstable());
            assert_eq!(routed, [vec![0, 9], vec![4, 7], vec![5]]);
        }
    }

    /// With all fragments set, instance i has as many as there are t with (j + t) mod K = i - 1.
    #[test]
    fn the_fragments_of_one_bit_are_balanced() {
        for (tau, instances) in [(1, 1), (4, 3), (5, 3), (6, 3), (16, 3), (2, 5), (7, 2)] {
            let routing = to_all(tau, instances, 100);
            for attribute in 0..9 {
                let routed = routing.route(&vec![attribute; tau as usize], &mut rng(2));
                for (position, list) in (0..instances).zip(&routed) {
                    let here = (0..tau).filter(|t| (attribute + t) % instances == position).count();
                    assert_eq!(list.len(), here);
                    assert!(here <= tau.div_ceil(instances) as usize);
                }
            }
        }
    }

    /// Two of four fragments of attribute 5 over three instances: t = 0, 3 are at instance 3, t = 1 at instance 1, t = 2 at
    /// instance 2. Of the six pairs of t, all alike, one is in instance 3 alone, one in 1 and 2, two in each other pair.
    #[test]
    fn which_fragments_are_set_is_drawn_uniformly() {
        let routing = to_all(4, 3, 10);
        let (draws, rng) = (90_000, &mut rng(3));
        let mut seen = BTreeMap::new();
        for _ in 0..draws {
            let counts: Vec<usize> = routing.route(&[5, 5], rng).iter().map(Vec::len).collect();
            *seen.entry(counts).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 4);
        for (counts, &hits) in &seen {
            let p = if counts[2] == 1 { 2.0 / 6.0 } else { 1.0 / 6.0 };
            assert_share(hits, draws, p, 4);
        }
    }

    /// Over a profile of two of four instances: values take turns between these, and nothing ever reaches the others.
    #[test]
    fn fragments_stay_in_the_trust_profile() {
        let routing = to(1, 4, vec![1, 4], 10);
        for seed in 0..20 {
            let routed = routing.route(&[7, 4], &mut rng(seed));
            assert_eq!(routed, [vec![4], vec![], vec![], vec![7]]);
        }
    }

    /// Five fragments of a bit over a profile of two: three and two, by the value. Over a profile of one, all five, as far
    /// as a body has room.
    #[test]
    fn the_fragments_of_one_bit_are_balanced_in_the_trust_profile() {
        let routing = to(5, 3, vec![2, 3], 10);
        let counts = |attribute| {
            let routed = routing.route(&[attribute; 5], &mut rng(7));
            routed.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!((counts(8), counts(9)), (vec![0, 3, 2], vec![0, 2, 3]));
        let alone = to(5, 3, vec![2], 4);
        assert_eq!(alone.route(&[9; 5], &mut rng(7)), [vec![], vec![9; 4], vec![]]);
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
