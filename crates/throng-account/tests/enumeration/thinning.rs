//! Estimates from some of the instances: mean and variance over all outcomes of the coins.

use throng_dp::estimate::InstanceSums;
use throng_dp::{Mechanism, OneHot, Tally};

use super::epsilon;
use super::views::Law;

/// For each instance, how many fragments of attribute 0 arrive there: fragment t goes to instance t mod K, of whoever was
/// counted there. `people` has what they hold and the instances that counted them, as bits.
fn arriving(people: &[(bool, u32)], coins: (f64, f64, usize), instances: usize) -> Law<Vec<u64>> {
    let (backstop, fragment, tau) = coins;
    let mut sums = Law::sure(vec![0; instances]);
    for &(holds, places) in people {
        let sent = Law::randomized(holds, backstop).then(|&bit| {
            let mut sent = Law::sure(vec![0; instances]);
            for t in 0..tau {
                let place = t % instances;
                let one = if tau == 1 { Law::sure(bit) } else { Law::randomized(bit, fragment) };
                sent = sent.then(|sent: &Vec<u64>| {
                    one.seen(|&set| {
                        let mut sent = sent.clone();
                        sent[place] += u64::from(set && places >> place & 1 == 1);
                        sent
                    })
                });
            }
            sent
        });
        sums = sums.then(|sums: &Vec<u64>| {
            sent.seen(|sent| sums.iter().zip(sent).map(|(sum, sent)| sum + sent).collect())
        });
    }
    sums
}

#[test]
fn estimates_from_some_instances_have_the_stated_mean_and_variance() {
    let (mut exact, mut thinned) = (0, 0);
    for (tau, instances) in [(1, 2), (2, 2), (3, 2), (4, 3), (5, 3)] {
        let (backstop, fragment) = (2.0, 1.5);
        let whole = OneHot::new(instances as u64, epsilon(backstop)).unwrap();
        let mechanism = if tau == 1 {
            Mechanism::plain(whole)
        } else {
            Mechanism::fragments(whole, epsilon(fragment), tau as u32).unwrap()
        };
        let everywhere = (1u32 << instances) - 1;
        // All counted everywhere; then one of them at the first instance alone, and one at all others.
        let alike = vec![(true, everywhere), (false, everywhere), (true, everywhere)];
        let unlike = vec![(true, 1), (true, everywhere), (false, everywhere - 1)];
        for (people, same) in [(&alike, true), (&unlike, false)] {
            let law = arriving(people, (backstop, fragment, tau), instances);
            for chosen in 1..=everywhere {
                let places: Vec<usize> = (0..instances).filter(|i| chosen >> i & 1 == 1).collect();
                let here = |i: usize| (0..tau).filter(|t| t % instances == i).count();
                let fragments: usize = places.iter().map(|&i| here(i)).sum();
                if fragments == 0 {
                    continue;
                }
                let counted = |i: usize| people.iter().filter(|(_, at)| at >> i & 1 == 1).count() as u64;
                let estimate = |sums: &[u64]| {
                    let tallies: Vec<Tally> = (0..instances)
                        .map(|i| {
                            let mut tally = Tally::new(instances as u64).unwrap().over(counted(i));
                            tally.add_count(0, sums[i]).unwrap();
                            tally
                        })
                        .collect();
                    let parts: Vec<InstanceSums<'_>> = places
                        .iter()
                        .map(|&i| InstanceSums { position: i as u32, tally: &tallies[i] })
                        .collect();
                    mechanism.estimate_from(&parts, instances as u32).unwrap()
                };
                let count = |sums: &Vec<u64>| estimate(sums).counts()[0];
                let mean = law.mean(count);
                let variance = law.mean(|sums| (count(sums) - mean).powi(2));
                // Those who hold it, each by the share of its fragments that could have come from them.
                let held: f64 = places
                    .iter()
                    .map(|&i| {
                        let holders = people.iter().filter(|(holds, at)| *holds && at >> i & 1 == 1).count();
                        (here(i) * holders) as f64 / fragments as f64
                    })
                    .sum();
                assert!((mean - held).abs() < 1e-9, "{tau} {instances} {same} {chosen}: {mean} {held}");
                let stated = estimate(&vec![0; instances]).spread().variance(held);
                assert!(variance <= stated * (1.0 + 1e-9), "{tau} {instances} {chosen}: {variance} {stated}");
                // Attribute 0 has the fewest fragments here of all: then nothing is overstated.
                let fewest = (0..instances)
                    .map(|j| (0..tau).filter(|t| chosen >> ((j + t) % instances) & 1 == 1).count())
                    .filter(|&fragments| fragments > 0)
                    .min()
                    .unwrap();
                if same && fragments == fewest {
                    assert!((variance / stated - 1.0).abs() < 1e-9, "{tau} {chosen}: {variance} {stated}");
                    exact += 1;
                    thinned += u32::from(fragments < tau);
                }
            }
        }
    }
    assert!(exact > 8 && thinned > 3, "{exact} {thinned}");
}
