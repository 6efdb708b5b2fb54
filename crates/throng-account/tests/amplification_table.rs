//! Reference values for the four data sets of the paper, computed once by an independent Python program, and numbers
//! that the paper prints.

use throng_account::amplification::clones::Clones;
use throng_account::amplification::{blanket, exact, lemma, noise_std, theorem};
use throng_dp::{Delta, Epsilon};

const MAP: (u64, f64) = (236_559_063, 5e-10);
const HORSE: (u64, f64) = (1_914_589, 5e-8);
const CHILD: (u64, f64) = (50_409_435, 5e-9);
const HEAVY: (u64, f64) = (203_950_512, 5e-10);

/// Data set; ε_central; ε_local by lemma, Theorem III.1, clones 2021, 2023, exact; noise std by lemma and exact.
type Row = ((u64, f64), f64, [f64; 5], [f64; 2]);

/// Admissible epsilon_local and the standard deviation of a count, under five bounds.
const ADMISSIBLE: [Row; 20] = [
    (MAP, 0.05, [7.380, 6.004, 8.679, 9.371, 10.031], [384.3, 102.1]),
    (MAP, 0.25, [10.548, 9.223, 11.770, 12.463, 13.002], [78.8, 23.1]),
    (MAP, 0.5, [11.873, 10.610, 13.070, 13.763, 14.176], [40.6, 12.84]),
    (MAP, 0.75, [12.623, 11.421, 13.793, 14.486, 14.796], [27.9, 9.42]),
    (MAP, 1.0, [13.137, 11.996, 14.270, 14.963, 15.194], [21.6, 7.72]),
    (HORSE, 0.05, [2.943, 1.413, 4.305, 4.965, 5.611], [335.4, 84.0]),
    (HORSE, 0.25, [5.964, 4.632, 7.301, 7.992, 8.531], [70.3, 19.44]),
    (HORSE, 0.5, [7.284, 6.019, 8.581, 9.273, 9.685], [36.3, 10.92]),
    (HORSE, 0.75, [8.033, 6.829, 9.292, 9.985, 10.293], [24.9, 8.05]),
    (HORSE, 1.0, [8.547, 7.405, 9.761, 10.454, 10.682], [19.3, 6.63]),
    (CHILD, 0.05, [5.947, 4.565, 7.313, 8.004, 8.663], [364.0, 93.4]),
    (CHILD, 0.25, [9.109, 7.784, 10.383, 11.076, 11.615], [74.7, 21.34]),
    (CHILD, 0.5, [10.434, 9.170, 11.675, 12.368, 12.781], [38.5, 11.91]),
    (CHILD, 0.75, [11.183, 9.981, 12.394, 13.087, 13.395], [26.5, 8.76]),
    (CHILD, 1.0, [11.698, 10.556, 12.867, 13.560, 13.793], [20.5, 7.18]),
    (HEAVY, 0.05, [7.232, 5.856, 8.530, 9.223, 9.882], [384.3, 102.1]),
    (HEAVY, 0.25, [10.400, 9.075, 11.621, 12.315, 12.853], [78.8, 23.1]),
    (HEAVY, 0.5, [11.725, 10.461, 12.922, 13.615, 14.028], [40.6, 12.84]),
    (HEAVY, 0.75, [12.474, 11.272, 13.645, 14.338, 14.648], [27.9, 9.42]),
    (HEAVY, 1.0, [12.988, 11.848, 14.122, 14.815, 15.046], [21.6, 7.72]),
];

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("tests use valid epsilons")
}

fn delta(value: f64) -> Delta {
    Delta::new(value).expect("tests use valid deltas")
}

#[track_caller]
fn assert_near(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance, "{got} where {expected} is expected, within {tolerance}");
}

#[test]
fn all_rows_of_the_admissible_epsilons() {
    for ((n, d), central, expected, deviations) in ADMISSIBLE {
        let (c, d) = (epsilon(central), delta(d));
        let certified = exact::epsilon_local_certified(n, c, d).unwrap();
        let got = [
            lemma::epsilon_local(n, c, d).unwrap(),
            theorem::epsilon_local(n, c, d).unwrap(),
            Clones::Standard.epsilon_local(n, c, d).unwrap(),
            Clones::Stronger.epsilon_local(n, c, d).unwrap(),
            certified,
        ];
        for (got, expected) in got.iter().zip(expected) {
            assert_near(got.value(), expected, 0.001);
        }
        let a0 = exact::epsilon_local_a0(n, c, d).unwrap().value();
        assert!((a0 - 0.002..=a0).contains(&certified.value()), "{n} {central}");
        assert_near(noise_std(n, got[0]).unwrap() / deviations[0], 1.0, 2e-3);
        assert_near(noise_std(n, certified).unwrap() / deviations[1], 1.0, 2e-3);
    }
}

/// The forward bounds promise what their inverses were asked for.
#[test]
fn forward_and_inverse_agree() {
    for ((n, d), central, ..) in ADMISSIBLE {
        let (c, d) = (epsilon(central), delta(d));
        let near = |got: Epsilon, slack: f64| {
            assert!((got.value() / central - 1.0).abs() < slack, "{n} {central}: {got}");
        };
        let local = lemma::epsilon_local(n, c, d).unwrap();
        near(lemma::epsilon(n, local, d).unwrap().epsilon(), 1e-9);
        let local = theorem::epsilon_local(n, c, d).unwrap();
        near(theorem::epsilon(n, local, d).unwrap().epsilon(), 1e-9);
        let local = exact::epsilon_local_a0(n, c, d).unwrap();
        near(exact::epsilon_a0(n, local, d).unwrap(), 1e-8);
        if central >= 0.5 {
            for clones in [Clones::Standard, Clones::Stronger] {
                let local = clones.epsilon_local(n, c, d).unwrap();
                near(clones.epsilon(n, local, d).unwrap().epsilon(), 1e-4);
            }
        }
        let local = exact::epsilon_local_certified(n, c, d).unwrap();
        let back = exact::epsilon_certified(n, local, d).unwrap().epsilon().value();
        assert_near(back / central, 1.0, 2e-3);
        assert!(exact::certify(n, local, c, d).unwrap());
    }
}

/// The paper's settings for "ε_central = 1" and "0.05" are really four times as private.
#[test]
fn the_papers_own_parameters() {
    for ((n, d), for_1, exact_1, for_005, exact_005) in [
        (MAP, 13.14, 0.270, 7.385, 0.0124),
        (HORSE, 8.55, 0.253, 2.94, 0.0114),
        (CHILD, 11.70, 0.262, 5.95, 0.0119),
        (HEAVY, 12.99, 0.270, 7.235, 0.0124),
    ] {
        for (local, claimed, exact, digits) in [(for_1, 1.0, exact_1, 5e-4), (for_005, 0.05, exact_005, 1e-4)]
        {
            let by_lemma = lemma::epsilon(n, epsilon(local), delta(d)).unwrap().epsilon().value();
            assert_near(by_lemma / claimed, 1.0, 0.01);
            let a0 = exact::epsilon_a0(n, epsilon(local), delta(d)).unwrap().value();
            assert_near(a0, exact, digits);
            let certified = exact::epsilon_certified(n, epsilon(local), delta(d)).unwrap().epsilon().value();
            assert!((a0..a0 * 1.001).contains(&certified), "{a0} {certified}");
        }
    }
}

/// The first row of the unified table at its stated ε_local of 2, by lemma and exactly.
#[test]
fn the_unified_tables_first_row() {
    for ((n, d), by_lemma, exact) in
        [(MAP, 0.0027, 0.00064), (HORSE, 0.0274, 0.00625), (CHILD, 0.0056, 0.00127), (HEAVY, 0.0030, 0.00069)]
    {
        let (two, d) = (epsilon(2.0), delta(d));
        assert_near(lemma::epsilon(n, two, d).unwrap().epsilon().value(), by_lemma, 1e-4);
        assert_near(exact::epsilon_certified(n, two, d).unwrap().epsilon().value(), exact, 1e-5);
    }
}

/// Table central_no_attr. Values from mpmath at 30 digits, bisecting the formula of `hoeffding_epsilon`.
#[test]
fn table_central_no_attr_as_the_paper_computed_it() {
    for ((n, d), expected, printed) in [
        (MAP, 0.0729906309877155, 0.0729),
        (HORSE, 1.0766159659839782, 1.0766),
        (CHILD, 0.1516946255967188, 0.1517),
        (HEAVY, 0.0788307384791353, 0.0788),
    ] {
        let got = blanket::central_no_attr(n, epsilon(2.0), delta(d)).unwrap().value();
        assert_near(got / expected, 1.0, 1e-9);
        assert_near(got, printed, 1e-4);
    }
    // Rows 2 and 3 of that table: no amplification at all, capped by ε_local.
    for ((n, d), local) in [(MAP, 13.14), (HORSE, 2.94), (HORSE, 8.55), (CHILD, 11.70), (HEAVY, 7.235)] {
        assert_eq!(blanket::central_no_attr(n, epsilon(local), delta(d)).unwrap().value(), local);
    }
}

/// Report fragments on Horse.
#[test]
fn report_fragments() {
    let (n, d) = (HORSE.0, delta(HORSE.1));
    for (backstop, tau, fragment, by_lemma, separate, merged) in [
        (8.55, 4, 7.165, 1.002, 0.2527, 0.1666),
        (8.55, 16, 5.775, 1.002, 0.2527, 0.1652),
        (8.55, 256, 3.005, 1.002, 0.2527, 0.1605),
        (2.94, 4, 1.595, 0.0499, 0.0114, 0.0067),
        (2.94, 16, 0.56, 0.0499, 0.0114, 0.0048),
        (2.94, 256, 0.035, 0.0499, 0.0114, 0.0012),
    ] {
        let (b, f) = (epsilon(backstop), epsilon(fragment));
        assert_near(lemma::epsilon(n, b, d).unwrap().epsilon().value(), by_lemma, 6e-4);
        let got = exact::fragments_separate_epsilon(n, b, d).unwrap().epsilon().value();
        assert_near(got, separate, 3e-4);
        let lower = exact::fragments_merged_epsilon_a0(n, b, f, tau, d).unwrap().value();
        assert_near(lower, merged, 5.1e-5);
        assert!(lower < got);
    }
    // With a single fragment that is hardly noisy, there is nothing to merge.
    let merged = exact::fragments_merged_epsilon_a0(n, epsilon(8.55), epsilon(40.0), 1, d).unwrap().value();
    assert_near(merged, exact::epsilon_a0(n, epsilon(8.55), d).unwrap().value(), 1e-6);
    // Theorem cor:recFrag without its first term, which would claim 0.136 here.
    let rest = theorem::report_fragments_epsilon(n, epsilon(8.0), d).unwrap().epsilon();
    assert_eq!(rest, theorem::epsilon(n, epsilon(8.0), d).unwrap().epsilon());
    assert_near(exact::epsilon_a0(n, epsilon(11.965), d).unwrap().value(), 11.955, 1e-3);
}

/// Whole one-hot reports. The last column to four digits, from a plain Python sum of lgamma terms over M and D_0(M + 1);
/// the certified answer is at most 0.002 below.
#[test]
fn whole_one_hot_reports() {
    for ((n, d), at_two, allowed) in
        [(MAP, 0.00182, 7.5978), (HORSE, 0.01816, 5.3466), (CHILD, 0.00366, 6.8971), (HEAVY, 0.00197, 7.5236)]
    {
        let d = delta(d);
        let got = exact::rappor_whole_epsilon(n, epsilon(2.0), d).unwrap().epsilon().value();
        assert_near(got / at_two, 1.0, 3e-3);
        let got = exact::rappor_whole_epsilon_local(n, epsilon(1.0), d).unwrap().value();
        assert_near(got, allowed - 0.001, 1e-3);
    }
}

/// Sketches with 1024 hash functions of 65536 cells. The first column to four digits by the same lgamma sum; a
/// covering of 0.2% and bins cost at most 0.006.
#[test]
fn count_sketches() {
    for ((n, d), allowed, paper, hidden, hidden_allowed) in [
        (MAP, 8.2639, 13.14, 0.274, 15.18),
        (HORSE, 3.7965, 8.55, 0.400, 10.25),
        (CHILD, 6.8627, 11.70, 0.272, 13.75),
        (HEAVY, 8.1156, 12.99, 0.274, 15.03),
    ] {
        let d = delta(d);
        let got = exact::cms_revealed_epsilon_local(n, epsilon(1.0), d, 1024).unwrap().value();
        assert_near(got, allowed - 0.003, 3e-3);
        // At the paper's ε_local a revealed hash leaves no amplification.
        let paper = epsilon(paper);
        let got = exact::cms_revealed_epsilon(n, paper, d, 1024).unwrap().epsilon().value();
        assert_near(got / paper.value(), 1.0, 1e-3);
        let got = exact::research_hidden_hash_epsilon(n, paper, d, 1024, 65_536).unwrap().value();
        assert_near(got, hidden, 1e-3);
        let got =
            exact::research_hidden_hash_epsilon_local(n, epsilon(1.0), d, 1024, 65_536).unwrap().value();
        assert_near(got, hidden_allowed, 5e-3);
    }
}

/// Replacement.
#[test]
fn replacement_of_a_one_hot_value() {
    let (n, d) = (HORSE.0, delta(HORSE.1));
    for (local, expected) in [(8.55, 0.337), (10.683, 1.164)] {
        assert_near(exact::replacement_epsilon_a0(n, epsilon(local), d).unwrap().value(), expected, 5e-4);
    }
}

/// a = 0 is not the maximum to the last digit.
#[test]
fn small_a_can_be_slightly_worse_than_none() {
    for (n, local, e, worst, excess) in [(2000, 5.5, 0.7, 43, 0.023), (1000, 4.0, 0.5, 4, 0.005)] {
        let at = |a: u64| exact::delta_a(n, a, epsilon(local), epsilon(e)).unwrap().value();
        assert_near(at(worst) / at(0) - 1.0, excess, 5e-4);
        let most = exact::delta_max_over_a(n, epsilon(local), epsilon(e)).unwrap().value();
        assert_eq!(most, at(worst));
        let curve = exact::Curve::new(n, epsilon(local)).unwrap();
        let certified = curve.delta(epsilon(e)).unwrap().value();
        assert!((most..most * 1.02).contains(&certified), "{certified} {most}");
    }
}
