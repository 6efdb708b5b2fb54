//! What all instances' counts together say of one respondent, enumerated from the definition of the mechanism: every way in
//! which instances may have counted different people, all data of the others, every value of the victim against R_0.
//!
//! The law of the vector of all counts is summed over all outcomes of all coins, and fragments go where [`Routing`] sends
//! them. What it tells (the hockey-stick divergence, in both directions) is compared with what the accountant claims for
//! the smallest crowd of any instance. The same with fragments that pick their instances at random exceeds that claim.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::BTreeMap;

use throng_account::amplification::exact::Curve;
use throng_account::composition::counts_epsilon;
use throng_dp::{Delta, Epsilon};
use throng_encode::Routing;
use throng_testing::survey::hourly::ONE_HOT;
use throng_testing::survey::with;
use throng_wire::Survey;

/// The values that there are.
const DOMAIN: u32 = 2;

/// A vector of counts, one for each instance and attribute, and its probability.
type Law = BTreeMap<Vec<u8>, f64>;

/// Whom an instance counted, as bits: bit i for the instance at place i. And what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Person {
    counted_by: u32,
    value: Option<u32>,
}

/// What people do with a bit: flip it, or draw tau fragments from a backstop; and how fragments find their instances.
#[derive(Clone, Copy, Debug)]
struct Mechanism {
    backstop: Option<f64>,
    epsilon: f64,
    tau: u32,
    instances: u32,
    at_random: bool,
}

fn flip(epsilon: f64) -> f64 {
    1.0 / (1.0 + epsilon.exp())
}

impl Mechanism {
    fn routing(&self) -> Routing {
        let randomizer = match self.backstop {
            None => format!("{{ kind = \"attribute-fragments\", epsilon_local = {:?} }}", self.epsilon),
            Some(backstop) => format!(
                "{{ kind = \"report-fragments\", epsilon_backstop = {backstop:?}, epsilon_fragment = {:?}, fragments = {} }}",
                self.epsilon, self.tau
            ),
        };
        let encoding = format!("{{ kind = \"one-hot\", domain = {DOMAIN} }}");
        let delivery =
            format!("{{ instances = {}, hops = 2, envelopes = 64, cover = \"chaff\" }}", self.instances);
        let fields = [
            ("name", r#""numbers""#),
            ("question", r#""Which number?""#),
            ("encoding", &encoding),
            ("randomizer", &randomizer),
            ("crowd", r#"{ respondents_min = 2, honest_fraction = 1.0, enrolment = "credential" }"#),
            ("claim", r#"{ epsilon_central = 4.0, delta = 1e-6, neighbors = "removal", bound = "exact" }"#),
            ("delivery", &delivery),
        ];
        let survey = Survey::from_toml(&with(ONE_HOT, &fields)).unwrap();
        Routing::of(&survey, 0, self.tau).unwrap()
    }

    /// The law of what one person adds to the counts.
    fn adds(&self, person: Person) -> Law {
        let (routing, cells) = (self.routing(), (self.instances * DOMAIN) as usize);
        let mut law = Law::from([(vec![0; cells], 1.0)]);
        for attribute in 0..DOMAIN {
            let held = person.value == Some(attribute);
            // The backstop's bit, or the bit itself, and what each fragment is flipped with.
            let bits = match self.backstop {
                None => vec![(held, 1.0)],
                Some(epsilon) => vec![(held, 1.0 - flip(epsilon)), (!held, flip(epsilon))],
            };
            let mut one = Law::new();
            for (bit, chance) in bits {
                // Every outcome of the tau coins, and of every choice of instances.
                let mut partial = Law::from([(vec![0; cells], chance)]);
                for t in 0..self.tau {
                    let p = flip(self.epsilon);
                    let set = if bit { 1.0 - p } else { p };
                    let places: Vec<(u32, f64)> = if self.at_random {
                        (1..=self.instances).map(|at| (at, 1.0 / f64::from(self.instances))).collect()
                    } else {
                        vec![(routing.instance(attribute, t), 1.0)]
                    };
                    let mut next = Law::new();
                    for (counts, mass) in &partial {
                        *next.entry(counts.clone()).or_default() += mass * (1.0 - set);
                        for &(instance, share) in &places {
                            let mut more = counts.clone();
                            if person.counted_by >> (instance - 1) & 1 == 1 {
                                more[((instance - 1) * DOMAIN + attribute) as usize] += 1;
                            }
                            *next.entry(more).or_default() += mass * set * share;
                        }
                    }
                    partial = next;
                }
                partial.into_iter().for_each(|(counts, mass)| *one.entry(counts).or_default() += mass);
            }
            law = together(&law, &one);
        }
        law
    }
}

/// The law of the sum of two independent vectors.
fn together(left: &Law, right: &Law) -> Law {
    let mut sum = Law::new();
    for (one, mass) in left {
        for (other, share) in right {
            let counts = one.iter().zip(other).map(|(a, b)| a + b).collect();
            *sum.entry(counts).or_default() += mass * share;
        }
    }
    sum
}

/// By how much one law exceeds e^ε times the other.
fn divergence(one: &Law, other: &Law, epsilon: f64) -> f64 {
    let excess = |(counts, mass): (&Vec<u8>, &f64)| mass - epsilon.exp() * other.get(counts).unwrap_or(&0.0);
    one.iter().map(excess).filter(|excess| *excess > 0.0).sum()
}

/// All multisets of so many people, by what instances counted them and what they hold.
fn crowds(others: usize, instances: u32) -> Vec<Vec<Person>> {
    let values = (0..DOMAIN).map(Some).chain([None]);
    let kinds: Vec<Person> = values
        .flat_map(|value| (0..1 << instances).map(move |counted_by| Person { counted_by, value }))
        .collect();
    let mut all = vec![Vec::new()];
    for _ in 0..others {
        all = all
            .into_iter()
            .flat_map(|crowd: Vec<Person>| {
                let from = crowd.last().map_or(0, |last| kinds.iter().position(|kind| kind == last).unwrap());
                kinds[from..]
                    .iter()
                    .map(move |&kind| [crowd.clone(), vec![kind]].concat())
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// The largest excess of the true divergence over what is claimed for the smallest crowd, at each of these (ε, δ) that the
/// claim is asked for by the size of the crowd; and how near it comes.
fn worst(mechanism: Mechanism, others: usize, claims: impl Fn(u64) -> Vec<(f64, f64)>) -> f64 {
    let values: Vec<Option<u32>> = (0..DOMAIN).map(Some).chain([None]).collect();
    let kinds = (0..1 << mechanism.instances)
        .flat_map(|counted_by| values.iter().map(move |&value| Person { counted_by, value }));
    let adds: BTreeMap<Person, Law> = kinds.map(|person| (person, mechanism.adds(person))).collect();
    let claims: Vec<_> = (0..=others as u64 + 1).map(|n| if n == 0 { vec![] } else { claims(n) }).collect();
    let mut worst = 0.0f64;
    for crowd in crowds(others, mechanism.instances) {
        let rest = crowd.iter().skip(1).fold(adds[&crowd[0]].clone(), |sum, one| together(&sum, &adds[one]));
        // A victim whom all instances counted tells the most; one whom some did not is a function of that.
        let everywhere = (1 << mechanism.instances) - 1;
        let law = |value| together(&rest, &adds[&Person { counted_by: everywhere, value }]);
        let sizes = (0..mechanism.instances)
            .map(|at| 1 + crowd.iter().filter(|person| person.counted_by >> at & 1 == 1).count());
        let smallest = sizes.min().unwrap();
        let none = law(None);
        for value in (0..DOMAIN).map(Some) {
            let held = law(value);
            for &(epsilon, delta) in &claims[smallest] {
                let seen = divergence(&held, &none, epsilon).max(divergence(&none, &held, epsilon));
                worst = worst.max((seen - 1e-12) / delta);
            }
        }
    }
    worst
}

/// What is claimed of one count: the certified curve.
fn one_count(epsilon_local: f64) -> impl Fn(u64) -> Vec<(f64, f64)> {
    move |n| {
        let curve = Curve::new(n, Epsilon::new(epsilon_local).unwrap()).unwrap();
        let at = |epsilon: f64| (epsilon, curve.delta(Epsilon::new(epsilon).unwrap()).unwrap().value());
        [0.0, 0.2, 0.5, 0.9].map(at).into_iter().filter(|&(_, delta)| delta > 0.0).collect()
    }
}

/// What is claimed of tau fragments behind a backstop: tau pairs composed, or the backstop.
fn composed(backstop: f64, epsilon_fragment: f64, tau: u32) -> impl Fn(u64) -> Vec<(f64, f64)> {
    move |n| {
        let at = |delta: f64| {
            let epsilon = Epsilon::new(epsilon_fragment).unwrap();
            let all = counts_epsilon(n, epsilon, u64::from(tau), Delta::new(delta).unwrap()).unwrap();
            (all.epsilon().value().min(backstop), delta)
        };
        [0.1, 0.01, 1e-3].map(at).into()
    }
}

/// One fragment of each bit: one count moves, in the crowd of one instance.
#[test]
fn one_fragment_is_hidden_in_the_smallest_crowd_whoever_was_counted_where() {
    for (instances, others) in [(2, 3), (3, 2)] {
        let mechanism = Mechanism { backstop: None, epsilon: 1.0, tau: 1, instances, at_random: false };
        let ratio = worst(mechanism, others, one_count(1.0));
        assert!(ratio <= 1.0 && ratio > 0.99, "{mechanism:?}: {ratio}");
        // Fragments that pick their instances at random break it.
        let ratio = worst(Mechanism { at_random: true, ..mechanism }, others, one_count(1.0));
        assert!(ratio > 1.02, "{mechanism:?} at random: {ratio}");
    }
}

/// Two and three fragments behind a backstop, over numbers of instances that do not divide them.
#[test]
fn report_fragments_are_composed_pairs_whoever_was_counted_where() {
    for (tau, instances, others) in [(2, 2, 2), (3, 2, 2), (2, 3, 2)] {
        for (backstop, epsilon) in [(2.0, 1.0), (6.0, 0.7)] {
            let mechanism = Mechanism { backstop: Some(backstop), epsilon, tau, instances, at_random: false };
            let ratio = worst(mechanism, others, composed(backstop, epsilon, tau));
            assert!(ratio <= 1.0, "{mechanism:?}: {ratio}");
        }
    }
}

/// Where nearly every backstop is the bit itself, the pairs are nearly attained: the claim has no slack to hide an error in.
#[test]
fn the_claim_of_composed_pairs_is_tight() {
    let mechanism = Mechanism { backstop: Some(30.0), epsilon: 1.0, tau: 3, instances: 2, at_random: false };
    let ratio = worst(mechanism, 2, composed(30.0, 1.0, 3));
    assert!(ratio <= 1.0 && ratio > 0.9, "{ratio}");
}

/// Why memberships do not matter: whoever was counted where, all counts are independent given the data (of report fragments: the
/// backstops), and the law of each is that of those whom its own instance counted. So the whole view tells of a bit what the
/// counts of its fragments tell, each in the crowd of one instance. At random the counts of one attribute hang together.
#[test]
fn each_count_has_the_law_of_its_own_instances_crowd_and_of_no_other() {
    for (tau, instances, others) in [(1, 2, 2), (1, 3, 2), (2, 2, 2), (3, 2, 1)] {
        let by_value = Mechanism { backstop: None, epsilon: 1.0, tau, instances, at_random: false };
        let furthest = |mechanism: Mechanism| {
            let mut furthest = 0.0f64;
            for crowd in crowds(others, instances) {
                let adds = |&person: &Person| mechanism.adds(person);
                let whole = crowd.iter().map(adds).reduce(|sum, one| together(&sum, &one)).unwrap();
                let cells = (instances * DOMAIN) as usize;
                // The law of each count, of the crowd without those whom its instance did not count.
                let alone = |cell: usize| -> Vec<f64> {
                    let (instance, attribute) = (cell as u32 / DOMAIN, cell as u32 % DOMAIN);
                    let here = crowd.iter().filter(|person| person.counted_by >> instance & 1 == 1);
                    let fragments = (0..tau)
                        .filter(|&t| mechanism.routing().instance(attribute, t) == instance + 1)
                        .count();
                    let mut law = vec![1.0];
                    for person in here {
                        let p = flip(mechanism.epsilon);
                        let set = if person.value == Some(attribute) { 1.0 - p } else { p };
                        for _ in 0..fragments {
                            let mut next = vec![0.0; law.len() + 1];
                            for (count, mass) in law.iter().enumerate() {
                                next[count] += mass * (1.0 - set);
                                next[count + 1] += mass * set;
                            }
                            law = next;
                        }
                    }
                    law
                };
                let alone: Vec<Vec<f64>> = (0..cells).map(alone).collect();
                for (counts, mass) in &whole {
                    let product: f64 = counts
                        .iter()
                        .zip(&alone)
                        .map(|(&count, law)| law.get(usize::from(count)).unwrap_or(&0.0))
                        .product();
                    furthest = furthest.max((mass - product).abs());
                }
            }
            furthest
        };
        assert!(furthest(by_value) < 1e-12, "{by_value:?}");
        let at_random = Mechanism { at_random: true, ..by_value };
        assert!(furthest(at_random) > 0.01, "{at_random:?}");
    }
}

/// The law of a count of `holders` who hold the bit and `others` who do not, all of whom flip it.
fn noise(holders: usize, others: usize, p: f64) -> Vec<f64> {
    let (clear, set) = (binomial(others, p), binomial(holders, 1.0 - p));
    let mut law = vec![0.0; holders + others + 1];
    for (one, mass) in clear.iter().enumerate() {
        set.iter().enumerate().for_each(|(other, share)| law[one + other] += mass * share);
    }
    law
}

/// Three dozen people, every membership and all that they hold. By the test above a view of all instances depends on how many
/// each instance of the bit counted, and how many of these hold it: all such numbers are gone through, down to the smallest
/// crowd. That is every one of the 2^(36 K) memberships, for every K.
#[test]
fn three_dozen_people_are_hidden_in_every_membership() {
    const PEOPLE: usize = 36;
    for (epsilon_local, smallest) in [(1.0, 12), (1.0, 24), (2.5, 24), (2.5, 36)] {
        let p = flip(epsilon_local);
        let mut nearest = 0.0f64;
        for (epsilon, delta) in one_count(epsilon_local)(smallest as u64) {
            for counted in smallest..=PEOPLE {
                for holders in 0..counted {
                    let seen = told(&noise(holders, counted - 1 - holders, p), p, epsilon);
                    assert!(
                        seen <= delta * (1.0 + 1e-9),
                        "{epsilon_local} {counted} {holders}: {seen} {delta}"
                    );
                    nearest = nearest.max(seen / delta);
                }
            }
        }
        assert!(nearest > 0.99, "{epsilon_local} {smallest}: {nearest}");
    }
}

/// Two dozen with two fragments of a bit at two instances, which counted different people: every pair of crowds and of how many
/// backstops in them are set.
#[test]
fn two_fragments_of_two_dozen_people_are_hidden_in_every_membership() {
    const PEOPLE: usize = 24;
    let (smallest, epsilon_fragment, backstop) = (20, 1.0, 30.0);
    let p = flip(epsilon_fragment);
    // What one count is with the victim's fragment drawn from a 1, and from a 0.
    let pair = |counted: usize, holders: usize| {
        let rest = noise(holders, counted - 1 - holders, p);
        [1.0 - p, p].map(|set: f64| -> Vec<f64> {
            let at = |count: usize| rest.get(count).unwrap_or(&0.0) * (1.0 - set);
            (0..=rest.len()).map(|k| at(k) + if k > 0 { rest[k - 1] * set } else { 0.0 }).collect()
        })
    };
    let pairs: Vec<[Vec<f64>; 2]> = (smallest..=PEOPLE)
        .flat_map(|counted| (0..counted).map(move |holders| (counted, holders)))
        .map(|(counted, holders)| pair(counted, holders))
        .collect();
    let mut nearest = 0.0f64;
    for (epsilon, delta) in composed(backstop, epsilon_fragment, 2)(smallest as u64) {
        let factor = epsilon.exp();
        for (at, one) in pairs.iter().enumerate() {
            for other in &pairs[at..] {
                let (mut forth, mut back) = (0.0, 0.0);
                for (a, x) in one[0].iter().zip(&one[1]) {
                    for (b, y) in other[0].iter().zip(&other[1]) {
                        forth += (a * b - factor * x * y).max(0.0);
                        back += (x * y - factor * a * b).max(0.0);
                    }
                }
                let seen = f64::max(forth, back);
                assert!(seen <= delta * (1.0 + 1e-9), "{epsilon}: {seen} {delta}");
                nearest = nearest.max(seen / delta);
            }
        }
    }
    assert!(nearest > 0.9, "{nearest}");
}

/// Bin(n, p), by its recurrence from both ends of the mode.
fn binomial(n: usize, p: f64) -> Vec<f64> {
    let mut law = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; law.len() + 1];
        for (count, mass) in law.iter().enumerate() {
            next[count] += mass * (1.0 - p);
            next[count + 1] += mass * p;
        }
        law = next;
    }
    law
}

/// What a victim's bit beside noise tells at ε, in the worse direction.
fn told(noise: &[f64], p: f64, epsilon: f64) -> f64 {
    let law = |set: f64| -> Vec<f64> {
        let at = |count: usize| noise.get(count).unwrap_or(&0.0) * (1.0 - set);
        (0..=noise.len())
            .map(|count| at(count) + if count > 0 { noise[count - 1] * set } else { 0.0 })
            .collect()
    };
    let (held, none) = (law(1.0 - p), law(p));
    let excess = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(a, b)| (a - epsilon.exp() * b).max(0.0)).sum()
    };
    excess(&held, &none).max(excess(&none, &held))
}

/// Five instances with crowds of 200 that share the victim alone, planned for ε_central 2 at δ 1e-6: ε_local 2.6904. Where
/// fragments pick instances at random, the sum of the five counts alone has the noise Bin(5·199, p/5), and tells 2.245, or
/// 2.25 at the 99 % of δ that the plan leaves for counts. By value one count moves beside that of 199 others, whatever they
/// hold, and the plan is kept.
#[test]
fn five_crowds_that_share_one_person_keep_the_plan_by_value_and_not_at_random() {
    let (n, instances, p, delta) = (200, 5, flip(2.6904), 0.99e-6);
    let at_random = binomial(instances * (n - 1), p / instances as f64);
    assert!(told(&at_random, p, 2.0) > 1.4 * delta, "{:e}", told(&at_random, p, 2.0));
    assert!(told(&at_random, p, 2.245) > 1e-6, "{:e}", told(&at_random, p, 2.245));
    assert!(told(&at_random, p, 2.25) >= delta, "{:e}", told(&at_random, p, 2.25));
    for holders in 0..n {
        let seen = told(&noise(holders, n - 1 - holders, p), p, 2.0);
        assert!(seen <= delta, "{holders}: {seen:e}");
    }
}
