//! Dishonest respondents: the attacker knows what they send, so only honest ones hide anybody.

use throng_account::amplification::exact;
use throng_account::bound::Bound;
use throng_account::terms::Terms;
use throng_dp::{CentralGuarantee, Mechanism, OneHot};

use super::views::{Law, delta_between};
use super::{delta, epsilon};

/// The count of one attribute as an attacker sees it who sent some of the bits: the sum of all, and what the dishonest sent.
fn view(victim: bool, honest: &[bool], dishonest: &[bool], local: f64) -> Law<(u32, Vec<bool>)> {
    let mut sum = Law::sure(dishonest.iter().map(|&bit| u32::from(bit)).sum::<u32>());
    for &bit in honest.iter().chain([&victim]) {
        sum = sum.then(|&sum| Law::randomized(bit, local).seen(move |&sent| sum + u32::from(sent)));
    }
    sum.seen(|&sum| (sum, dishonest.to_vec()))
}

/// The largest δ over everything that the honest hold and the dishonest send.
fn truth(honest: usize, dishonest: usize, local: f64, at: f64) -> f64 {
    let mut worst = 0.0f64;
    for ones in 0..honest {
        let data: Vec<bool> = (0..honest - 1).map(|i| i < ones).collect();
        for sent in 0..=dishonest {
            let sent: Vec<bool> = (0..dishonest).map(|i| i < sent).collect();
            let [one, none] = [true, false].map(|victim| view(victim, &data, &sent, local));
            worst = worst.max(delta_between(&one, &none, at));
        }
    }
    worst
}

#[test]
fn only_the_honest_hide_anybody() {
    for (respondents, fraction, local, at) in [
        (8u64, 0.5, 2.0, 0.05),
        (9, 0.7, 1.5, 0.01),
        (12, 0.25, 3.0, 0.1),
        (6, 1.0, 2.0, 0.02),
        (10, 0.35, 1.0, 1e-3),
    ] {
        let mechanism = Mechanism::plain(OneHot::new(2, epsilon(local)).unwrap());
        let terms = Terms {
            coins: mechanism.coins(),
            answers_kept: false,
            width: 2,
            rows: None,
            instances: 1,
            receiving: 1,
            envelopes: 2,
            honest_fraction: fraction,
            deletion: None,
            claimed: CentralGuarantee::new(epsilon(local), delta(at)),
            bound: Bound::named("exact").unwrap(),
        };
        let kept = terms.guarantee(respondents).unwrap();
        let honest = (respondents as f64 * fraction).floor() as usize;
        let dishonest = respondents as usize - honest;
        let claimed = kept.central.epsilon().value();
        let true_delta = truth(honest, dishonest, local, claimed);
        assert!(true_delta <= at, "{respondents} {fraction}: {true_delta} at {claimed}, and {at} is claimed");
        // Nothing is given away: at 0.98 of it, the claim fails, unless the local guarantee is all there is.
        if claimed < local {
            assert!(truth(honest, dishonest, local, 0.98 * claimed) > 0.9 * at, "{respondents} {fraction}");
        }
        // Had all respondents been counted on, the claim would be false.
        if dishonest > 0 {
            let all = exact::epsilon_certified(respondents, epsilon(local), delta(at)).unwrap();
            let all = all.epsilon().value();
            assert!(truth(honest, dishonest, local, all) > at, "{respondents} {fraction}: {all}");
        }
    }
}
