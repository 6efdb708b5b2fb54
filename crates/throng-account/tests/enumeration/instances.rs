//! A release from some of the instances: whole views of K instances that counted different people, and of any k of them.

use throng_account::composition::counts_epsilon;

use super::views::{Law, delta_between};
use super::{delta, epsilon};

/// An attribute's counts: of fragment t, which goes to instance t mod K, over those whom that instance counted. `members`
/// has, for each of the others, the instances that counted them as bits, and what they hold.
fn counts(victim: bool, others: &[(u32, bool)], coins: (f64, f64, usize), instances: usize) -> Law<Vec<u32>> {
    let (backstop, fragment, tau) = coins;
    let everywhere = (1 << instances) - 1;
    let mut counts = Law::sure(vec![0; tau]);
    for &(places, holds) in others.iter().chain([&(everywhere, victim)]) {
        let sent = Law::randomized(holds, backstop).then(|&bit| {
            let mut sent = Law::sure(Vec::new());
            for t in 0..tau {
                // Where they were not counted, nothing of theirs arrives.
                let here = places >> (t % instances) & 1 == 1;
                let one = if here { Law::randomized(bit, fragment) } else { Law::sure(false) };
                sent = sent.then(|sent: &Vec<bool>| one.seen(|&set| [&sent[..], &[set]].concat()));
            }
            sent
        });
        counts = counts.then(|counts: &Vec<u32>| {
            sent.seen(|sent| counts.iter().zip(sent).map(|(count, &set)| count + u32::from(set)).collect())
        });
    }
    counts
}

/// Every membership of two others at two or three instances, everything they may hold, every choice of instances for the release.
#[test]
fn some_of_the_instances_tell_no_more_than_is_claimed_of_all() {
    let (mut checked, mut strict, mut refuted) = (0, 0, 0);
    for (tau, instances, backstop, fragment) in
        [(2, 2, 3.0, 1.0), (3, 2, 2.0, 1.0), (3, 3, 2.0, 1.5), (1, 2, 9.0, 1.5), (2, 3, 3.0, 2.0)]
    {
        let sets = 1u32 << instances;
        for code in 0..sets * sets * 4 {
            let (first, second) = (code % sets, code / sets % sets);
            let others = [(first, (code / sets / sets) & 1 == 1), (second, (code / sets / sets) & 2 == 2)];
            let [here, gone] =
                [true, false].map(|victim| counts(victim, &others, (backstop, fragment, tau), instances));
            for chosen in 1..sets {
                let in_release = |t: usize| chosen >> (t % instances) & 1 == 1;
                // The crowd of a release: the smallest that any of its instances counted, the victim included.
                let sizes = (0..instances)
                    .filter(|i| chosen >> i & 1 == 1)
                    .map(|i| 1 + others.iter().filter(|(places, _)| places >> i & 1 == 1).count() as u64);
                let (crowd, largest) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
                let moved = (0..tau).filter(|&t| in_release(t)).count();
                if moved == 0 {
                    continue;
                }
                let part = |law: &Law<Vec<u32>>| {
                    law.seen(|counts| {
                        let kept = counts.iter().enumerate().filter(|(t, _)| in_release(*t));
                        kept.map(|(_, count)| *count).collect::<Vec<u32>>()
                    })
                };
                let (one, other) = (part(&here), part(&gone));
                for at in [0.1, 0.01] {
                    let claim = |crowd| claimed((crowd, fragment, moved as u64, at)).min(backstop);
                    let stated = claim(crowd);
                    let truth = delta_between(&one, &other, stated);
                    assert!(truth <= at + 1e-9, "{tau} {instances} {others:?} {chosen}: {truth} at {stated}");
                    checked += 1;
                    strict += u32::from(truth > 0.5 * at && moved < tau);
                    refuted += u32::from(delta_between(&one, &other, claim(largest)) > at + 1e-9);
                }
            }
        }
    }
    assert!(checked > 3000 && strict > 0, "{checked} {strict}");
    assert!(refuted > 0, "the largest crowd of an instance would do as well");
}

/// tau exact pairs at ε_fragment for the smallest crowd. A few crowds and numbers of counts: each is composed once.
fn claimed(key: (u64, f64, u64, f64)) -> f64 {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    thread_local! {
        static KNOWN: RefCell<BTreeMap<String, f64>> = const { RefCell::new(BTreeMap::new()) };
    }
    let (crowd, fragment, moved, at) = key;
    KNOWN.with_borrow_mut(|known| {
        *known.entry(format!("{key:?}")).or_insert_with(|| {
            counts_epsilon(crowd, epsilon(fragment), moved, delta(at)).unwrap().epsilon().value()
        })
    })
}
