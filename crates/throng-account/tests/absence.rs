//! Labelled crowds from the definition of the mechanism: who uploads, whom each instance deletes, whose bits are flipped.
//! All outcomes are enumerated with their probabilities, under both neighbor relations, and no formula of the accountant
//! is used for them.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::BTreeMap;

use throng_account::absence::Presence;
use throng_account::amplification::exact;
use throng_account::bound::Bound;
use throng_account::composition::replacement_epsilon;
use throng_account::deletion::Deletion;
use throng_account::terms::Terms;
use throng_dp::{
    CentralGuarantee, Coins, Delta, Epsilon, Mechanism, OneHot, Removal, Replacement, sampling::Bernoulli,
};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn deletion(e: f64, d: f64) -> Deletion {
    Deletion::new(epsilon(e), delta(d)).unwrap()
}

/// What somebody answers; nothing, if they only take part.
type Value = Option<usize>;

/// What an attacker sees of one instance or of all of them, with its probability.
type Law = BTreeMap<Vec<u64>, f64>;

/// One labelled crowd, as it is collected.
struct Crowd {
    deletion: Deletion,
    /// epsilon of the deletion, of which the noise has half.
    epsilon_deletion: f64,
    /// An instance that keeps fewer destroys its batch and says nothing else.
    keeps_min: usize,
    /// Fragments go to this many instances, attribute by attribute in turn; all of them count.
    receiving: usize,
    instances: usize,
    domain: usize,
    /// The probabilities of each pattern of a person's fragments of a bit, if the bit is 0 and if it is 1.
    patterns: [Vec<f64>; 2],
    fragments: usize,
}

impl Crowd {
    /// One of [`SMALL`].
    fn of(case: SmallCrowd, patterns: [Vec<f64>; 2], fragments: usize) -> Self {
        let (_, instances, receiving, domain, epsilon_deletion, delta_deletion, keeps_min) = case;
        let deletion = deletion(epsilon_deletion, delta_deletion);
        Self { deletion, epsilon_deletion, keeps_min, receiving, instances, domain, patterns, fragments }
    }

    /// How many an instance keeps of so many uploads: all but min(n, max(0, shift − L)), L two-sided geometric.
    fn kept(&self, uploads: usize) -> Vec<f64> {
        let a = (-0.5 * self.epsilon_deletion).exp();
        let mut law = vec![0.0; uploads + 1];
        for noise in -3000i64..=3000 {
            let drops = (self.deletion.shift() as i64 - noise).clamp(0, uploads as i64);
            law[uploads - drops as usize] += (1.0 - a) / (1.0 + a) * a.powi(noise.abs() as i32);
        }
        law
    }

    /// The counts of all fragments of one bit over some people.
    fn counts(&self, people: &[Value], attribute: usize) -> Law {
        let mut law = Law::from([(vec![0; self.fragments], 1.0)]);
        for &person in people {
            let patterns = &self.patterns[usize::from(person == Some(attribute))];
            let mut next = Law::new();
            for (counts, mass) in &law {
                for (pattern, probability) in patterns.iter().enumerate() {
                    let mut counts = counts.clone();
                    for (at, count) in counts.iter_mut().enumerate() {
                        *count += (pattern >> at & 1) as u64;
                    }
                    *next.entry(counts).or_default() += mass * probability;
                }
            }
            law = next;
        }
        law
    }

    /// What one instance shows: the number that it kept, and the counts that it holds.
    fn instance(&self, people: &[Value], instance: usize) -> Law {
        let kept = self.kept(people.len());
        let mut law = Law::new();
        for set in 0..1usize << people.len() {
            let here: Vec<Value> = (0..people.len())
                .filter(|person| set >> person & 1 == 1)
                .map(|person| people[person])
                .collect();
            let mass = kept[here.len()] / subsets(people.len(), here.len());
            if here.len() < self.keeps_min {
                *law.entry(vec![]).or_default() += mass;
                continue;
            }
            let mut seen = Law::from([(vec![here.len() as u64], mass)]);
            if instance < self.receiving {
                for attribute in (0..self.domain).filter(|one| one % self.receiving == instance) {
                    seen = product(&seen, &self.counts(&here, attribute));
                }
            }
            for (outcome, mass) in seen {
                *law.entry(outcome).or_default() += mass;
            }
        }
        law
    }

    /// What all instances show, each of which deletes by itself. No two of them hold a bit of the same attribute.
    fn view(&self, people: &[Value]) -> Law {
        (0..self.instances)
            .map(|instance| self.instance(people, instance))
            .reduce(|all, one| product(&all, &one))
            .unwrap()
    }
}

fn subsets(of: usize, size: usize) -> f64 {
    (0..size).map(|i| (of - i) as f64 / (i + 1) as f64).product()
}

fn product(one: &Law, two: &Law) -> Law {
    let mut law = Law::new();
    for (left, p) in one {
        for (right, q) in two {
            // Destroyed batches have no outcome of their own: a mark keeps the parts apart.
            let outcome = left.iter().copied().chain([u64::MAX]).chain(right.iter().copied()).collect();
            *law.entry(outcome).or_default() += p * q;
        }
    }
    law
}

/// sup over sets of P − e^ε Q, in both directions.
fn divergence(p: &Law, q: &Law, epsilon: f64) -> f64 {
    let one = |p: &Law, q: &Law| -> f64 {
        p.iter().map(|(outcome, p)| (p - epsilon.exp() * q.get(outcome).unwrap_or(&0.0)).max(0.0)).sum()
    };
    one(p, q).max(one(q, p))
}

/// All answers that others may hold, in any order.
fn others(number: usize, domain: usize) -> Vec<Vec<Value>> {
    let mut all: Vec<Vec<Value>> = vec![vec![]];
    for _ in 0..number {
        all = all
            .into_iter()
            .flat_map(|so_far| {
                let least = so_far.last().map_or(0, |&last| last.map_or(domain, |value| value));
                (least..=domain).map(move |value| {
                    let mut more = so_far.clone();
                    more.push((value < domain).then_some(value));
                    more
                })
            })
            .collect();
    }
    all
}

fn one_fragment(local: f64) -> [Vec<f64>; 2] {
    let p = 1.0 / (1.0 + local.exp());
    [vec![1.0 - p, p], vec![p, 1.0 - p]]
}

/// Two fragments of a bit behind a backstop.
fn two_fragments(backstop: f64, fragment: f64) -> [Vec<f64>; 2] {
    let [pb, pf] = [backstop, fragment].map(|local| 1.0 / (1.0 + f64::exp(local)));
    let drawn = |bit: usize, pattern: usize| -> f64 {
        (0..2).map(|at| if pattern >> at & 1 == bit { 1.0 - pf } else { pf }).product()
    };
    let of = |bit: usize| {
        (0..4).map(|pattern| (1.0 - pb) * drawn(bit, pattern) + pb * drawn(1 - bit, pattern)).collect()
    };
    [of(0), of(1)]
}

/// Crowds that are small enough: (n, instances, receiving, domain, epsilon_deletion, delta_deletion, keeps_min).
type SmallCrowd = (usize, usize, usize, usize, f64, f64, usize);

/// One of them with three instances, of which two receive fragments.
const SMALL: [SmallCrowd; 9] = [
    (3, 3, 2, 2, 2.0, 0.1, 1),
    (3, 1, 1, 2, 2.0, 0.2, 1),
    (5, 1, 1, 2, 2.0, 0.2, 2),
    (5, 1, 1, 2, 1.0, 0.05, 1),
    (5, 1, 1, 3, 3.0, 0.1, 3),
    (4, 2, 2, 2, 2.0, 0.2, 2),
    (4, 2, 2, 3, 1.5, 0.2, 2),
    (4, 2, 1, 2, 2.0, 0.1, 2),
    (5, 2, 2, 2, 4.0, 0.1, 3),
];

/// Somebody was there or was not, n uploads against n − 1: never above what is stated, for any data of the others, at one
/// instance and at two, with one fragment and with two behind a backstop.
#[test]
fn absence_is_never_worth_more_than_is_stated() {
    let (mut closest, mut across): (f64, f64) = (0.0, 0.0);
    for case @ (n, instances, receiving, domain, e, _, keeps_min) in SMALL {
        let mut laws = vec![(1.0, one_fragment(1.0), 1), (2.5, one_fragment(2.5), 1)];
        if receiving == 1 && domain == 2 {
            laws.push((1.5, two_fragments(1.5, 1.0), 2));
        }
        for (local, patterns, fragments) in laws {
            let crowd = Crowd::of(case, patterns, fragments);
            let deletion = crowd.deletion;
            let presence = Presence {
                crowd: keeps_min as u64,
                epsilon: epsilon(local),
                receiving: receiving as u32,
                instances: instances as u32,
                deletion,
            };
            let least = deletion.absence_guarantee().unwrap().delta().value() * instances as f64;
            let stated: Vec<(f64, f64)> = [1.01 * least, 1.5 * least, 3.0 * least]
                .into_iter()
                .filter(|&d| d < 0.9)
                .map(|d| (presence.guarantee(delta(d)).unwrap().epsilon().value(), d))
                .collect();
            // The guarantee of the counts against R_0, with the deletions on top: what must not be added.
            let counts = least.max(1e-3) * 0.05;
            let removal = exact::epsilon_certified(keeps_min as u64, epsilon(local), delta(counts)).unwrap();
            let sum = removal.epsilon().value() + 0.5 * e * instances as f64;
            for others in others(n - 1, domain) {
                let without = crowd.view(&others);
                let with = crowd.view(&[&others[..], &[Some(0)]].concat());
                for &(epsilon, delta) in &stated {
                    let truth = divergence(&with, &without, epsilon);
                    assert!(
                        truth <= delta * (1.0 + 1e-9),
                        "{n} {instances} {local} {others:?}: {truth} {delta}"
                    );
                    closest = closest.max(truth / delta);
                }
                across = across.max(divergence(&with, &without, sum) / (least + counts));
            }
        }
    }
    assert!(closest > 0.5, "a statement that nothing comes near would say little: {closest}");
    assert!(across > 1.0, "what is added across relations is exceeded: {across}");
}

/// The respondent is there in both worlds and says something or nothing: deletion costs nothing, the counts of those who are kept
/// are all there is.
#[test]
fn under_removal_deletion_costs_nothing() {
    let mut closest: f64 = 0.0;
    for case @ (n, instances, _, domain, _, _, keeps_min) in SMALL {
        for local in [1.0, 2.5] {
            let crowd = Crowd::of(case, one_fragment(local), 1);
            for d in [1e-4, 1e-3, 1e-2, 0.1] {
                let kept = exact::epsilon_certified(keeps_min as u64, epsilon(local), delta(d)).unwrap();
                let stated = kept.epsilon().value();
                for others in others(n - 1, domain) {
                    let with = crowd.view(&[&others[..], &[Some(0)]].concat());
                    let silent = crowd.view(&[&others[..], &[None]].concat());
                    let truth = divergence(&with, &silent, stated);
                    assert!(truth <= d * (1.0 + 1e-9), "{n} {instances} {local} {others:?}: {truth} {d}");
                    closest = closest.max(truth / d);
                }
            }
        }
    }
    assert!(closest > 0.1, "{closest}");
}

/// One answer or another: two counts move, at one instance or at two, and deletion costs nothing. The conversion from removal
/// holds as well.
#[test]
fn two_answers_are_told_apart_by_no_more_than_is_stated() {
    let mut closest: f64 = 0.0;
    for case @ (n, _, _, domain, _, _, keeps_min) in SMALL {
        for local in [1.0, 2.5] {
            let crowd = Crowd::of(case, one_fragment(local), 1);
            for d in [1e-3, 1e-2, 0.1] {
                let kept = replacement_epsilon(keeps_min as u64, epsilon(local), delta(d)).unwrap();
                let removal = exact::epsilon_certified(keeps_min as u64, epsilon(local), delta(d)).unwrap();
                let converted = CentralGuarantee::<Replacement>::from(removal);
                for others in others(n - 1, domain) {
                    let [one, two] = [0, 1].map(|value| crowd.view(&[&others[..], &[Some(value)]].concat()));
                    for stated in [kept, converted] {
                        let truth = divergence(&one, &two, stated.epsilon().value());
                        let most = stated.delta().value();
                        assert!(truth <= most * (1.0 + 1e-9), "{n} {local} {others:?}: {truth} {stated}");
                    }
                    // Without deletion, which may only help: all n at once.
                    let [one, two] = [0, 1].map(|value| {
                        let people = [&others[..], &[Some(value)]].concat();
                        let laws = (0..domain).map(|attribute| crowd.counts(&people, attribute));
                        laws.reduce(|all, one| product(&all, &one)).unwrap()
                    });
                    let all = replacement_epsilon(n as u64, epsilon(local), delta(d)).unwrap();
                    let truth = divergence(&one, &two, all.epsilon().value());
                    assert!(truth <= d * (1.0 + 1e-9), "{n} {local} {others:?}: {truth} {all}");
                    closest = closest.max(truth / d);
                }
            }
        }
    }
    assert!(closest > 0.2, "{closest}");
}

/// 5,000 uploads of epsilon_local 4.53 each, one instance that deletes with (0.2, 1e-9). The exact laws, summed: all others hold
/// one value, the respondent another, so two counts move. The sum of removal and absence says (1.09, 1.1e-8); really
/// delta is 8e-8 there.
#[test]
fn what_was_added_across_relations_is_exceeded() {
    let (n, local, keeps_min) = (5000, 4.53, 4500);
    let rule = deletion(0.2, 1e-9);
    let crowd = Crowd {
        deletion: rule,
        epsilon_deletion: 0.2,
        keeps_min,
        receiving: 1,
        instances: 1,
        domain: 2,
        patterns: one_fragment(local),
        fragments: 1,
    };
    let p = 1.0 / (1.0 + local.exp());
    let truth = |epsilon: f64| {
        let (with, without) = (crowd.kept(n), crowd.kept(n - 1));
        let factor = epsilon.exp();
        let kept = |law: &[f64]| law.iter().take(keeps_min).sum::<f64>();
        let mut forth = (kept(&with) - factor * kept(&without)).max(0.0);
        let mut back = (kept(&without) - factor * kept(&with)).max(0.0);
        for (m, &pa) in with.iter().enumerate().take(n + 1).skip(keeps_min) {
            let pb = without.get(m).copied().unwrap_or(0.0);
            // How many of m noisy bits are 1, and how many of them with one bit that truly is.
            let noise = |m: usize| {
                let mut mass = (m as f64 * (1.0 - p).ln()).exp();
                (0..COUNTS)
                    .map(|k| {
                        let here = mass;
                        mass *= (m - k) as f64 * p / ((k + 1) as f64 * (1.0 - p));
                        here
                    })
                    .collect::<Vec<f64>>()
            };
            let (all, fewer) = (noise(m), noise(m - 1));
            let own: Vec<f64> = (0..COUNTS)
                .map(|k| p * fewer[k] + (1.0 - p) * if k > 0 { fewer[k - 1] } else { 0.0 })
                .collect();
            // The ones of the respondent's value, and the zeros of everybody else's.
            let there = m as f64 / n as f64;
            for k in 0..COUNTS {
                for l in 0..COUNTS {
                    let same = all[k] * all[l];
                    let p = pa * (there * own[k] * own[l] + (1.0 - there) * same);
                    let q = pb * same;
                    forth += (p - factor * q).max(0.0);
                    back += (q - factor * p).max(0.0);
                }
            }
        }
        forth.max(back)
    };
    let half = rule.absence_guarantee().unwrap();
    let counts = exact::epsilon_certified(4548, epsilon(local), delta(1e-8)).unwrap();
    let (sum, its_delta) = (counts.epsilon().value() + half.epsilon().value(), 1e-8 + half.delta().value());
    assert!((1.07..1.10).contains(&sum) && its_delta < 1.1e-8, "{sum} {its_delta}");
    let true_delta = truth(1.091);
    assert!((8.0e-8..8.6e-8).contains(&true_delta), "{true_delta}");
    assert!(truth(sum) > 7.0 * its_delta);
    let presence = Presence {
        crowd: keeps_min as u64,
        epsilon: epsilon(local),
        receiving: 1,
        instances: 1,
        deletion: rule,
    };
    let stated = presence.guarantee(delta(its_delta)).unwrap().epsilon().value();
    assert!(truth(stated) <= its_delta, "{stated}");
    assert!(stated > sum && stated < 1.7, "{stated}");
    println!("sum ({sum}, {its_delta:e}), true delta {:e}; stated {stated}", truth(sum));
}

/// Beyond this many noisy ones nothing is left: 54 are expected.
const COUNTS: usize = 160;

fn labelled(coins: Coins, receiving: u32) -> Terms {
    Terms {
        answers_kept: false,
        coins,
        width: 784,
        rows: None,
        instances: 3,
        receiving,
        envelopes: 200,
        honest_fraction: 1.0,
        deletion: Some(deletion(0.1, 1e-9)),
        claimed: CentralGuarantee::<Removal>::new(epsilon(1.0), delta(1e-6)),
        bound: Bound::named("exact").unwrap(),
    }
}

/// What a survey says of absence: for its smallest crowd, at its delta, worse over more instances; and nothing where nothing is
/// proved.
#[test]
fn a_survey_says_what_absence_is_worth_or_that_it_is_not_hidden() {
    let coins = Coins::Runs { coin: Bernoulli::flip(epsilon(5.25)).unwrap(), runs: 1 };
    let of = |terms: &Terms| terms.absence(20_000).map(|kept| kept.epsilon().value());
    let [one, two, three] = [1, 2, 3].map(|receiving| of(&labelled(coins, receiving)).unwrap());
    let removal = labelled(coins, 1).guarantee(20_000).unwrap().central.epsilon().value();
    assert!(removal < one && one < two && two < three, "{removal} {one} {two} {three}");
    // Two counts of one instance, three deletions of a twentieth: at least their square root, at most their sum.
    assert!(one > 1.4 * removal && one < 2.0 * removal + 0.15, "{removal} {one}");
    let smaller = labelled(coins, 1).absence(10_000).unwrap().epsilon().value();
    assert!(smaller > one, "{smaller} {one}");
    assert_eq!(labelled(coins, 1).absence(20_000).unwrap().delta(), delta(1e-6));

    let refused = |terms: &Terms, part: &str| {
        let reason = terms.absence(20_000).unwrap_err().to_string();
        assert!(reason.contains(part), "{reason}");
    };
    refused(&Terms { deletion: None, ..labelled(coins, 3) }, "signs how many took part, and that is exact");
    refused(&Terms { rows: Some(16), ..labelled(coins, 3) }, "row of a sketch");
    let backstop = OneHot::new(784, epsilon(5.25)).unwrap();
    let fragments = Mechanism::fragments(backstop, epsilon(4.0), 4).unwrap().coins();
    refused(&labelled(fragments, 3), "nothing is proved");
    // All fragments of a bit at one instance are a post-processing of the backstops.
    let behind = labelled(fragments, 1).absence(20_000).unwrap().epsilon().value();
    assert!((behind - one).abs() < 1e-3, "{behind} {one}");
    refused(&Terms { envelopes: 1, ..labelled(coins, 3) }, "bodies that overflow");
}
