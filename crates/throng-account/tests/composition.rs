//! Compositions against slow references that share no code with them.

use std::f64::consts::PI;

use throng_account::Error;
use throng_account::amplification::blanket::Inequality;
use throng_account::composition::{
    BoundedPair, Composition, LdpSgd, LossPair, ShuffledPair, advanced, basic, curves_epsilon,
    gaussian_epsilon,
};
use throng_account::gaussian::Gaussian;
use throng_dp::{CentralGuarantee, Delta, Epsilon, LocalGuarantee, PrivUnit, Removal, Replacement};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("a valid epsilon")
}

fn delta(value: f64) -> Delta {
    Delta::new(value).expect("a valid delta")
}

/// All products of outcomes, one after the other.
fn product(parts: &[(&[f64], &[f64])]) -> (Vec<f64>, Vec<f64>) {
    parts.iter().fold((vec![1.0], vec![1.0]), |(p, q), (first, second)| {
        let times =
            |all: &[f64], one: &[f64]| all.iter().flat_map(|a| one.iter().map(move |b| a * b)).collect();
        (times(&p, first), times(&q, second))
    })
}

fn hockey_stick(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    let one =
        |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum::<f64>();
    one(p, q).max(one(q, p))
}

/// The smallest ε by bisection over the brute-force curve.
fn smallest_epsilon(p: &[f64], q: &[f64], delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 60.0);
    if hockey_stick(p, q, 0.0) <= delta {
        return 0.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if hockey_stick(p, q, middle) > delta { low = middle } else { high = middle }
    }
    high
}

/// Asymmetric pairs, with and without separating outcomes, against all products of their outcomes.
#[test]
fn convolution_bounds_all_products_of_outcomes_tightly() {
    let skewed: (&[f64], &[f64]) = (&[0.5, 0.3, 0.15, 0.05], &[0.25, 0.35, 0.2, 0.2]);
    let separating: (&[f64], &[f64]) = (&[0.6, 0.3999, 0.0001, 0.0], &[0.4, 0.5999, 0.0, 0.0001]);
    let coin: (&[f64], &[f64]) = (&[0.75, 0.25], &[0.25, 0.75]);
    let pair = |(p, q): (&[f64], &[f64])| LossPair::<Removal>::from_masses(p, q).unwrap();
    for (a, b, c) in
        [(1, 0, 0), (0, 1, 0), (0, 0, 1), (5, 0, 0), (0, 0, 10), (3, 2, 0), (2, 2, 3), (4, 1, 4), (0, 5, 2)]
    {
        let parts = [vec![skewed; a], vec![separating; b], vec![coin; c]].concat();
        let (p, q) = product(&parts);
        let all = Composition::new()
            .with(pair(skewed), a as u64)
            .with(pair(separating), b as u64)
            .with(pair(coin), c as u64);
        for e in [0.0, 0.1, 0.5, 1.0, 2.0, 3.7] {
            let (exact, ours) = (hockey_stick(&p, &q, e), all.delta(epsilon(e)).unwrap().value());
            assert!(ours >= exact * (1.0 - 1e-12), "{a} {b} {c}, {e}: {ours:e} below {exact:e}");
            assert!(
                ours <= exact * 1.002 + 1e-12 || b > 0 && ours <= exact * 1.002 + 1e-7,
                "{a} {b} {c}, {e}: {ours:e} {exact:e}"
            );
        }
        for d in [0.1, 1e-2, 2e-3, 1e-6, 1e-10] {
            if b > 0 && d < 1e-3 {
                continue;
            }
            let (exact, ours) = (smallest_epsilon(&p, &q, d), all.epsilon(delta(d)).unwrap().value());
            assert!(ours >= exact * (1.0 - 1e-12) - 1e-12, "{a} {b} {c}, {d}: {ours} below {exact}");
            assert!(ours <= exact * 1.001 + 1e-4, "{a} {b} {c}, {d}: {ours} {exact}");
        }
    }
}

/// Randomized response many times: the number of truths is binomial, and δ is a sum over it.
#[test]
fn thousands_of_coins_match_the_binomial_down_to_the_smallest_delta() {
    let e0: f64 = 0.02;
    let pair = LossPair::from_guarantee(CentralGuarantee::<Removal>::new(epsilon(e0), Delta::ZERO));
    for times in [10u64, 1000, 10_000] {
        let all = Composition::new().with(pair.clone(), times);
        let truth = 1.0 / (1.0 + (-e0).exp());
        let ln_factorials: Vec<f64> = (0..=times)
            .scan(0.0, |sum, k| {
                *sum += (k.max(1) as f64).ln();
                Some(*sum)
            })
            .collect();
        let exact = |e: f64| -> f64 {
            (0..=times)
                .map(|k| {
                    let loss = e0 * (2.0 * k as f64 - times as f64);
                    let ln = ln_factorials[times as usize]
                        - ln_factorials[k as usize]
                        - ln_factorials[(times - k) as usize]
                        + k as f64 * truth.ln()
                        + (times - k) as f64 * (1.0 - truth).ln();
                    if loss > e { ln.exp() * -(e - loss).exp_m1() } else { 0.0 }
                })
                .sum()
        };
        for e in [0.01, 0.1, 0.19, 1.0, 3.0, 8.0, 15.0, 25.0] {
            let (exact, ours) = (exact(e), all.delta(epsilon(e)).unwrap().value());
            assert!(ours >= exact * (1.0 - 1e-9), "{times} {e}: {ours:e} below {exact:e}");
            assert!(
                ours <= exact * if exact > 1e-20 { 1.005 } else { 1.5 } + 1e-300,
                "{times} {e}: {ours:e} above {exact:e}"
            );
            if exact > 0.0 {
                let back = all.epsilon(delta(exact)).unwrap().value();
                assert!(back >= e * (1.0 - 1e-9) && back <= e * 1.001 + 1e-5, "{times} {e}: {back}");
            }
        }
    }
}

/// Gaussian noise is the one case in which the composition is known in closed form.
#[test]
fn gaussian_steps_match_one_gaussian() {
    for (sigma, steps) in
        [(1.0, 1), (1.0, 30), (20.0, 1000), (100.0, 10_000), (5.0, 10_000), (0.3, 7), (1000.0, 1_000_000)]
    {
        let one = Gaussian::new(sigma, 1.0).unwrap();
        for d in [1e-2, 1e-5, 1e-9, 1e-15] {
            let exact = one.repeated(steps).unwrap().epsilon(delta(d)).unwrap().value();
            let ours = gaussian_epsilon(one, steps, delta(d)).unwrap().value();
            assert!(ours >= exact, "{sigma} {steps} {d}: {ours} below {exact}");
            assert!(ours <= exact * 1.001 + 1e-9, "{sigma} {steps} {d}: {ours} above {exact}");
        }
    }
}

/// Gaussian(2) and Laplace(3), sensitivity 1, against dp-accounting 0.6.0 (PyPI), whose values are upper bounds too:
/// `from_gaussian_mechanism(2, value_discretization_interval=1e-4).self_compose(a).compose(
/// from_laplace_mechanism(3, value_discretization_interval=1e-4).self_compose(b)).get_epsilon_for_delta(delta)`.
#[test]
fn different_releases_match_dp_accounting() {
    let gaussian = Gaussian::new(2.0, 1.0).unwrap();
    let laplace = |e: Epsilon| Ok(delta((-((e.value() - 1.0 / 3.0) / 2.0).exp_m1()).max(0.0)));
    for (a, b, values) in [
        (1, 1, [1.5809773191614946, 2.248680459860979, 2.9812133830597705]),
        (50, 20, [18.248951723358555, 22.747094924472545, 27.875831042331498]),
        (5, 200, [23.800997497988256, 29.024906680838484, 34.87921171945396]),
    ] {
        for (d, theirs) in [1e-3, 1e-5, 1e-8].into_iter().zip(values) {
            let ours =
                curves_epsilon::<Removal>(&[(&|e| gaussian.delta(e), a), (&laplace, b)], delta(d)).unwrap();
            let ours = ours.epsilon().value();
            assert!((ours / theirs - 1.0).abs() < 3e-4, "{a} {b} {d}: {ours} {theirs}");
        }
    }
}

/// LDP-SGD at δ = 1e-5: two other implementations of the same reduction.
#[test]
fn ldp_sgd_matches_the_table() {
    for (n, e, m, steps, printed) in [
        (60_000, 1.9, 2000, 1000, 0.232),
        (60_000, 1.9, 2000, 10_000, 0.813),
        (60_000, 1.9, 4000, 1000, 0.335),
        (60_000, 1.9, 4000, 10_000, 1.178),
        (60_000, 1.9, 10_000, 1000, 0.547),
        (60_000, 1.9, 10_000, 10_000, 1.941),
        (50_000, 1.8, 5000, 1000, 0.423),
        (50_000, 1.8, 5000, 10_000, 1.494),
        (50_000, 1.8, 25_000, 1000, 1.008),
        (50_000, 1.8, 25_000, 10_000, 3.647),
    ] {
        let ours = LdpSgd::new(n, m, epsilon(e), steps).unwrap().guarantee(delta(1e-5)).unwrap();
        let ours = ours.epsilon().value();
        assert!((ours - printed).abs() <= 0.01 * printed, "{n} {m} {steps}: {ours}");
    }
}

/// PrivUnit at the same ε_local: fewer of its reports tell anything, so a training costs less than with signs, and far
/// less than the bound for any randomizer says.
#[test]
fn priv_unit_costs_less_than_signs() {
    let at = delta(1e-5);
    let mechanism = PrivUnit::new(26_010, 1.0, epsilon(1.9)).unwrap();
    let (low, high) = mechanism.ratios();
    for (n, m, steps) in [(60_000, 60_000, 500), (60_000, 10_000, 1000), (60_000, 10_000, 10_000)] {
        let cap =
            LdpSgd::priv_unit(n, m, &mechanism, steps).unwrap().guarantee(at).unwrap().epsilon().value();
        let sign = LdpSgd::new(n, m, epsilon(1.9), steps).unwrap().guarantee(at).unwrap().epsilon().value();
        assert!(cap < 0.9 * sign && cap > 0.8 * sign, "{n} {m} {steps}: {cap} {sign}");
        // The central limit of so many steps, by another route: a step is nearly Gaussian with the variance of the
        // victim's ratio over the number of blanket reports, which sampling turns into share²(e^variance − 1).
        let variance = 2.0 * (1.0 - low) * (high - low) / (low * m as f64);
        let mean = m as f64 / n as f64 * (steps as f64 * variance.exp_m1()).sqrt();
        let limit = Gaussian::new(1.0 / mean, 1.0).unwrap().epsilon(at).unwrap().value();
        assert!((cap / limit - 1.0).abs() < 0.02, "{n} {m} {steps}: {cap} {limit}");
    }
    let cap = LdpSgd::priv_unit(60_000, 60_000, &mechanism, 500).unwrap();
    let pair = BoundedPair::new(60_000, low, high).unwrap();
    let one = cap.with_steps(1).guarantee(at).unwrap().epsilon().value();
    assert!(
        pair.delta(epsilon(one)).unwrap().value() <= 1.000_001e-5
            && pair.delta(epsilon(one * 0.995)).unwrap().value() > 1e-5
    );
    assert_eq!(cap.with_steps(0).guarantee(at).unwrap().epsilon(), Epsilon::ZERO);
    assert!(LdpSgd::priv_unit(100, 101, &mechanism, 1).is_err());
}

/// How long one may train: the inverse of the guarantee, by either accounting.
#[test]
fn steps_within_a_guarantee_are_as_many_as_it_allows() {
    let at = delta(1e-5);
    let mechanism = PrivUnit::new(100, 1.0, epsilon(1.9)).unwrap();
    let trainings = [
        LdpSgd::new(60_000, 10_000, epsilon(1.9), 1).unwrap(),
        LdpSgd::priv_unit(60_000, 10_000, &mechanism, 1).unwrap(),
    ];
    for training in trainings {
        for within in [0.05, 0.547, 5.0] {
            let steps = training.steps_within(epsilon(within), at).unwrap();
            let ask = training.epsilons(&[steps, steps + 1 + steps / 500], at).unwrap();
            assert!(ask[0].value() <= within * (1.0 + 1e-3) && ask[1].value() > within, "{steps} {ask:?}");
            assert_eq!(training.with_steps(steps).guarantee(at).unwrap().epsilon().value(), {
                training.epsilons(&[steps], at).unwrap()[0].value()
            });
        }
    }
    // Two other implementations of the same reduction: 53k steps at 5, 1000 steps at 0.547.
    let steps = trainings[0].steps_within(epsilon(5.0), at).unwrap();
    assert!((52_500..54_000).contains(&steps), "{steps}");
    let silent = LdpSgd::new(100, 10, Epsilon::ZERO, 1).unwrap();
    assert_eq!(silent.steps_within(epsilon(0.1), at).unwrap(), 1_000_000_000_000);
    assert_eq!(trainings[0].steps_within(epsilon(1e-9), at).unwrap(), 0);
}

/// The number of steps at ε_central 5, 10 and 18 by the paper's theorems, from another implementation: n = 60,000,
/// ε_local = 1.9, δ = 1e-5.
#[test]
fn the_papers_accounting_allows_the_steps_of_the_table() {
    for (m, inequality, steps) in [
        (2000, Inequality::Hoeffding, [28, 94, 250]),
        (4000, Inequality::Hoeffding, [21, 58, 129]),
        (10_000, Inequality::Hoeffding, [22, 65, 155]),
        (2000, Inequality::Bennett, [87, 220, 460]),
        (4000, Inequality::Bennett, [118, 334, 780]),
        (10_000, Inequality::Bennett, [86, 256, 620]),
    ] {
        let training = LdpSgd::new(60_000, m, epsilon(1.9), 1).unwrap();
        for (central, printed) in [5.0, 10.0, 18.0].into_iter().zip(steps) {
            let ours = training.steps_as_paper(inequality, epsilon(central), delta(1e-5)).unwrap();
            assert!(ours.abs_diff(printed) <= 1 + printed / 100, "{m} {inequality:?} {central}: {ours}");
            // The same, forwards; and the convolution certifies an ε at least 35 times smaller.
            let theirs = training.with_steps(ours).as_paper(inequality, delta(1e-5)).unwrap();
            let next = training.with_steps(ours + 1).as_paper(inequality, delta(1e-5)).unwrap();
            assert!(theirs.epsilon().value() <= central && next.epsilon().value() > central);
            assert!(theirs.delta().value() <= 1e-5 * (1.0 + 1e-12));
            let certified = training.with_steps(ours).guarantee(delta(1e-5)).unwrap();
            assert!(
                certified.epsilon().value() < central / 30.0,
                "{m} {inequality:?} {central}: {certified}"
            );
        }
    }
    let none = LdpSgd::new(60_000, 10, epsilon(1.9), 0).unwrap();
    assert_eq!(none.as_paper(Inequality::Bennett, delta(1e-5)).unwrap().epsilon(), Epsilon::ZERO);
}

/// ε certified at the T of the paper's accounting with Bennett's inequality, from another implementation.
#[test]
fn certified_epsilons_at_the_papers_steps_match_the_table() {
    for (m, cells) in [
        (2000, [(87, 0.061), (220, 0.101), (460, 0.152)]),
        (4000, [(118, 0.104), (334, 0.184), (780, 0.292)]),
        (10_000, [(86, 0.144), (256, 0.260), (620, 0.421)]),
    ] {
        let training = LdpSgd::new(60_000, m, epsilon(1.9), 1).unwrap();
        let ours = training.epsilons(&cells.map(|cell| cell.0), delta(1e-5)).unwrap();
        for (ours, (steps, printed)) in ours.into_iter().zip(cells) {
            assert!((ours.value() - printed).abs() <= 0.01 * printed, "{m} {steps}: {ours}");
        }
    }
}

#[test]
fn local_guarantees_are_stated_per_step_epoch_and_lifetime() {
    let training = LdpSgd::new(60_000, 10_000, epsilon(1.9), 1000).unwrap();
    let local = training.local().unwrap();
    let near = |guarantee: LocalGuarantee<Replacement>, value: f64| {
        assert!((guarantee.epsilon().value() / value - 1.0).abs() < 1e-12, "{guarantee} {value}");
    };
    near(local.step, 1.9);
    near(local.epoch_if_asked_once, 1.9);
    near(local.epoch_worst, 6.0 * 1.9);
    near(local.lifetime_worst, 1900.0);
    assert!((local.steps_expected - 1000.0 / 6.0).abs() < 1e-9);
    assert_eq!(local.epoch_steps, 6);
    // Several reports of one step count all.
    near(LdpSgd::grouped(60_000, 10_000, 5, epsilon(1.9), 7).unwrap().local().unwrap().step, 9.5);
    assert_eq!(training.with_steps(0).local().unwrap().epoch_worst.epsilon(), Epsilon::ZERO);
    // Known to be asked in every step: as if the step's crowd were everybody.
    let known = training.without_sampling().guarantee(delta(1e-5)).unwrap();
    let alone = LdpSgd::new(10_000, 10_000, epsilon(1.9), 1000).unwrap().guarantee(delta(1e-5)).unwrap();
    assert_eq!(known, alone);
    assert!(known.epsilon().value() > 5.0 * training.guarantee(delta(1e-5)).unwrap().epsilon().value());
    assert_eq!(training.without_sampling().local().unwrap().steps_expected, 1000.0);
}

/// Several reports of one respondent are one report of the summed ε in a smaller crowd; and never counting them so
/// would be far off.
#[test]
fn several_reports_in_one_step_are_accounted_for_as_a_group() {
    let at = delta(1e-5);
    let grouped = LdpSgd::grouped(60_000, 10_000, 5, epsilon(1.9), 1000).unwrap();
    assert_eq!(LdpSgd::grouped(60_000, 2000, 1, epsilon(1.9), 7), LdpSgd::new(60_000, 2000, epsilon(1.9), 7));
    // Five randomized signs are no randomized bit of the summed ε: that would claim twice as many blanket reports.
    let as_a_bit = LdpSgd::new(60_000, 2000, epsilon(9.5), 1000).unwrap().guarantee(at).unwrap();
    let half_of_the_crowd = LdpSgd::new(30_000, 1000, epsilon(9.5), 1000).unwrap().guarantee(at).unwrap();
    let five = grouped.guarantee(at).unwrap().epsilon();
    assert!(five > as_a_bit.epsilon(), "{five} {as_a_bit}");
    assert!(
        (five.value() / half_of_the_crowd.epsilon().value() - 1.0).abs() < 0.01,
        "{five} {half_of_the_crowd}"
    );
    let ungrouped = LdpSgd::new(60_000, 10_000, epsilon(1.9), 1000).unwrap();
    let (grouped, ungrouped) = (grouped.guarantee(at).unwrap(), ungrouped.guarantee(at).unwrap());
    assert!(grouped.epsilon().value() > 5.0 * ungrouped.epsilon().value(), "{grouped} {ungrouped}");
    assert!(LdpSgd::grouped(60_000, 10_000, 3, epsilon(1.9), 1).is_err());
    assert!(LdpSgd::grouped(60_000, 10_000, 0, epsilon(1.9), 1).is_err());
    assert!(LdpSgd::new(100, 101, epsilon(1.0), 1).is_err());
    assert!(LdpSgd::new(100, 0, epsilon(1.0), 1).is_err());
}

#[test]
fn ldp_sgd_is_monotone_and_survives_extremes() {
    let ask = |n, m, e, steps, d| {
        LdpSgd::new(n, m, epsilon(e), steps).unwrap().guarantee(delta(d)).unwrap().epsilon().value()
    };
    let base = ask(50_000, 5000, 1.8, 1000, 1e-5);
    assert!(ask(50_000, 5000, 1.8, 1100, 1e-5) > base);
    assert!(ask(50_000, 5000, 1.9, 1000, 1e-5) > base);
    assert!(ask(50_000, 5000, 1.8, 1000, 1e-6) > base);
    assert!(ask(50_000, 6000, 1.8, 1000, 1e-5) > base);
    assert!(ask(60_000, 5000, 1.8, 1000, 1e-5) < base);
    assert_eq!(ask(50_000, 5000, 1.8, 0, 1e-5), 0.0);
    assert_eq!(ask(50_000, 5000, 0.0, 1000, 1e-5), 0.0);
    // One step on everybody is the amplification by shuffling alone.
    let one = ask(5000, 5000, 1.8, 1, 1e-5);
    let pair = ShuffledPair::new(5000, epsilon(1.8)).unwrap();
    assert!(
        pair.delta(epsilon(one)).unwrap().value() <= 1e-5
            && pair.delta(epsilon(one * 0.999)).unwrap().value() > 1e-5
    );
    for n in [2, 1000, 10_000_000_000u64] {
        for m in [1, n / 2, n] {
            for e in [0.0005, 25.0] {
                for (steps, d) in [(1, 1e-15), (10_000, 1e-3), (100_000, 1e-15), (10, 0.0)] {
                    let ours = ask(n, m, e, steps, d);
                    let pure = steps as f64 * (m as f64 / n as f64 * f64::exp_m1(e)).ln_1p();
                    assert!(ours >= 0.0 && ours <= pure * (1.0 + 1e-9), "{n} {m} {e} {steps} {d}: {ours}");
                }
            }
        }
    }
    // A billion steps are no more than a coarser grid; their sum is all but normal.
    let many = ask(1000, 500, 0.0005, 1_000_000_000, 1e-15);
    assert!((2.7..2.8).contains(&many), "{many}");
}

/// The guarantee alone, many times: below the sum, below Theorem advc, and exact for one.
#[test]
fn known_guarantees_compose_below_both_theorems() {
    let one = CentralGuarantee::<Removal>::new(epsilon(0.1), delta(1e-9));
    let pair = LossPair::from_guarantee(one);
    let mut last = 0.0;
    for k in [1u64, 2, 10, 100, 1000] {
        let ours = Composition::new().with(pair.clone(), k).epsilon(delta(1e-5)).unwrap().value();
        let sum = basic(std::iter::repeat_n(one, k as usize));
        let theorem = advanced(one, k, delta(1e-5 - 1e-9 * k as f64)).unwrap();
        assert!(theorem.delta().value() <= 1e-5 * (1.0 + 1e-12));
        assert!(
            ours <= sum.epsilon().value() && ours <= theorem.epsilon().value(),
            "{k}: {ours} {sum} {theorem}"
        );
        assert!(ours > last);
        last = ours;
    }
    let single = Composition::new().with(pair.clone(), 1).epsilon(delta(1e-9)).unwrap().value();
    assert!((single - 0.1).abs() < 1e-4, "{single}");
    assert!(matches!(Composition::new().with(pair, 1).epsilon(delta(1e-10)), Err(Error::NotApplicable(_))));
    assert_eq!(Composition::<Removal>::new().epsilon(Delta::ZERO).unwrap(), Epsilon::ZERO);
}

#[test]
fn advanced_composition_is_the_theorem_and_refuses_what_it_does_not_cover() {
    let one = CentralGuarantee::<Removal>::new(epsilon(0.1), delta(1e-8));
    let all = advanced(one, 100, delta(1e-6)).unwrap();
    let theorem = 0.5 + (2.0 * ((50.0 * PI).sqrt() * 0.1 / 1e-6).ln()).sqrt();
    assert!((all.epsilon().value() - theorem).abs() < 1e-12 && all.epsilon().value() >= theorem);
    assert!((all.delta().value() - 2e-6).abs() < 1e-18);
    let refused = |e, k, d| advanced(CentralGuarantee::<Removal>::new(epsilon(e), Delta::ZERO), k, delta(d));
    assert!(matches!(refused(0.1, 1, 0.2), Err(Error::NotApplicable(_))));
    assert!(matches!(refused(0.0, 10, 1e-6), Err(Error::NotApplicable(_))));
    assert!(matches!(refused(0.1, 10, 0.0), Err(Error::NotApplicable(_))));
    assert!(matches!(refused(0.1, 0, 1e-6), Err(Error::Parameter { .. })));
}

/// A curve and its pair agree wherever the curve was not sampled, in both directions of an asymmetric pair.
#[test]
fn connected_dots_stay_just_above_their_curves() {
    let (p, q): ([f64; 3], [f64; 3]) = ([0.5, 0.3, 0.2], [0.1, 0.4, 0.5]);
    let one = |p: &[f64], q: &[f64], e: Epsilon| -> Result<Delta, Error> {
        Ok(delta(p.iter().zip(q).map(|(p, q)| (p - e.value().exp() * q).max(0.0)).sum::<f64>()))
    };
    let (forward, reverse) = (|e| one(&p, &q, e), |e| one(&q, &p, e));
    let dots = LossPair::<Removal>::from_curves(&forward, &reverse, 1e-12).unwrap();
    let exact = LossPair::<Removal>::from_masses(&p, &q).unwrap();
    for i in 0..400 {
        let e = epsilon(0.005 * f64::from(i));
        let (above, below) = (dots.delta(e).unwrap().value(), exact.delta(e).unwrap().value());
        assert!(above >= below * (1.0 - 1e-12) && above <= below + 2e-3, "{e}: {above} {below}");
    }
    for (a, b) in [(1, 1), (3, 2), (20, 0)] {
        let composed = |pair: &LossPair<Removal>| {
            Composition::new()
                .with(pair.clone(), a)
                .with(pair.clone().swapped(), b)
                .epsilon(delta(1e-6))
                .unwrap()
                .value()
        };
        let (above, below) = (composed(&dots), composed(&exact));
        assert!(above >= below * (1.0 - 1e-3) && above <= below * 1.01, "{a} {b}: {above} {below}");
    }
}

#[test]
fn curves_that_never_reach_zero_leave_their_floor_as_delta() {
    // (0.2, 1e-7)-DP, as a curve.
    let curve = |e: Epsilon| {
        let gap = (0.2f64.exp() - e.value().exp()).max(0.0) / (1.0 + 0.2f64.exp());
        Ok(delta(1e-7 + (1.0 - 1e-7) * gap))
    };
    let ours = curves_epsilon::<Removal>(&[(&curve, 10)], delta(1e-5)).unwrap().epsilon().value();
    let known = Composition::new()
        .with(LossPair::from_guarantee(CentralGuarantee::<Removal>::new(epsilon(0.2), delta(1e-7))), 10);
    let known = known.epsilon(delta(1e-5)).unwrap().value();
    assert!((ours / known - 1.0).abs() < 1e-2, "{ours} {known}");
    assert!(matches!(curves_epsilon::<Removal>(&[(&curve, 10)], delta(1e-7)), Err(Error::NotApplicable(_))));
    let refusing = |_: Epsilon| Err(Error::NotApplicable("no".into()));
    assert!(curves_epsilon::<Removal>(&[(&refusing, 1)], delta(1e-7)).is_err());
}

/// Sampled steps composed as Rényi divergences: sound on all products of a small training's outcomes, and never better than
/// what is convolved.
#[test]
fn renyi_divergences_are_sound_and_looser_than_the_convolution() {
    // One of two is asked, in each of three steps: the victim, or somebody whose report is like either of the victim's.
    let p = 1.0 / (1.0 + 1.9f64.exp());
    for other in [p, 0.5, 1.0 - p] {
        let asked = |own: f64| 0.5 * own + 0.5 * other;
        let step = ([asked(1.0 - p), 1.0 - asked(1.0 - p)], [asked(p), 1.0 - asked(p)]);
        let (first, second) = product(&[(&step.0[..], &step.1[..]); 3]);
        for at in [0.3, 1e-2, 1e-4] {
            let renyi = LdpSgd::new(2, 1, epsilon(1.9), 3).unwrap().renyi_guarantee(delta(at)).unwrap();
            assert!(hockey_stick(&first, &second, renyi.epsilon().value()) <= at, "{other} {at}: {renyi}");
        }
    }
    for (crowd, steps) in [(2000, 1000), (500, 100)] {
        let training = LdpSgd::new(60_000, crowd, epsilon(1.9), steps).unwrap();
        let convolved = training.guarantee(delta(1e-5)).unwrap().epsilon().value();
        let renyi = training.renyi_guarantee(delta(1e-5)).unwrap().epsilon().value();
        assert!(convolved <= renyi && renyi <= 1.3 * convolved, "{crowd} {steps}: {convolved} {renyi}");
    }
    let cap = LdpSgd::priv_unit(100, 10, &PrivUnit::new(10, 1.0, epsilon(1.9)).unwrap(), 1).unwrap();
    assert!(matches!(cap.renyi_guarantee(delta(1e-5)), Err(Error::NotApplicable(_))));
}
