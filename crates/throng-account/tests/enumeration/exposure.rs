//! Bad instances: everything that t of K of them tie to a person, enumerated over the coins of backstop and fragments.

use throng_account::attacker::{Coalition, Exposure, RemainingPrivacy};
use throng_dp::CentralGuarantee;

use super::views::{Law, pure_between};
use super::{delta, epsilon};

/// All fragments of one person that pass some bad instances: fragment t of attribute j goes to instance (j + t) mod K.
fn tied(
    value: Option<usize>,
    width: usize,
    coins: (f64, f64, usize),
    instances: usize,
    bad: u32,
) -> Law<Vec<bool>> {
    let (backstop, fragment, tau) = coins;
    let mut view = Law::sure(Vec::new());
    for attribute in 0..width {
        let seen: Vec<usize> = (0..tau).filter(|t| bad >> ((attribute + t) % instances) & 1 == 1).collect();
        let bits = Law::randomized(value == Some(attribute), backstop).then(|&bit| {
            let mut bits = Law::sure(Vec::new());
            for _ in &seen {
                bits = bits.then(|bits: &Vec<bool>| {
                    Law::randomized(bit, fragment).seen(|&sent| [&bits[..], &[sent]].concat())
                });
            }
            bits
        });
        view = view.then(|view: &Vec<bool>| bits.seen(|bits| [&view[..], bits].concat()));
    }
    view
}

#[test]
fn bad_instances_tie_no_more_than_is_stated() {
    let (mut reached, mut split) = (0, 0);
    for (tau, instances) in [(1, 2), (2, 2), (3, 2), (4, 3), (5, 2), (5, 3), (3, 4)] {
        for (backstop, fragment) in [(2.0, 1.0), (1.0, 3.0), (4.0, 0.3)] {
            let exposure = Exposure {
                epsilon_floor: epsilon(backstop),
                fragments: Some((epsilon(fragment), tau as u32)),
                instances: instances as u32,
                cover: true,
                central: CentralGuarantee::new(epsilon(backstop), delta(0.0)),
            };
            let mut worst = vec![0.0f64; instances + 1];
            for bad in 1..1u32 << instances {
                let nothing = tied(None, 2, (backstop, fragment, tau), instances, bad);
                for value in 0..2 {
                    let answered = tied(Some(value), 2, (backstop, fragment, tau), instances, bad);
                    let loss = &mut worst[bad.count_ones() as usize];
                    *loss = loss.max(pure_between(&answered, &nothing));
                }
            }
            for (bad, &truth) in worst.iter().enumerate().skip(1) {
                let left = exposure.left(Coalition::AnalyzerAndInstances(bad as u32)).unwrap();
                let RemainingPrivacy::Local { exposed, with_release, .. } = left else { panic!("{left:?}") };
                let (exposed, floor) = (exposed.epsilon().value(), with_release.epsilon().value());
                assert!(truth <= exposed * (1.0 + 1e-9), "{tau} {instances} {bad}: {truth} {exposed}");
                assert!(truth <= floor, "{tau} {instances} {bad}: {truth} {floor}");
                // What is stated is reached by one bad instance, and wherever the fragments are shared out evenly.
                if bad == 1 || tau % instances == 0 || bad == instances {
                    assert!((truth - exposed).abs() < 1e-9, "{tau} {instances} {bad}: {truth} {exposed}");
                    reached += 1;
                    split += u32::from(tau % instances > 0 && bad == 1 && tau > instances);
                }
            }
        }
    }
    // Some of them would fail if an instance had the floor of tau/K.
    assert!(reached > 30 && split >= 9, "{reached} {split}");
}
