//! Every epsilon that the paper prints in its tables, recomputed by the paper's own rules: all within 0.01, but for the
//! exceptions, which are listed with what we get and why.

use throng_account::amplification::{blanket, lemma};
use throng_account::gaussian::sigma_as_paper;
use throng_dp::fragmenting::{exposed_epsilon, fragment_epsilon_as_paper};
use throng_dp::{Delta, Epsilon};

/// A data set: name, respondents, delta_c.
type Data = (&'static str, u64, f64);

const MAP: Data = ("map", 236_559_063, 5e-10);
const HORSE: Data = ("horse", 1_914_589, 5e-8);
const CHILD: Data = ("child", 50_409_435, 5e-9);
const HEAVY: Data = ("heavy", 203_950_512, 5e-10);

/// A row of a table: epsilon_central, sigma of the Gaussian, epsilon_local, and for tau = 4, 16, 256 the printed
/// epsilon_infinity and epsilon_1.
type Row = (Data, f64, f64, f64, [(f64, f64); 3]);

/// Tables real-1-crowd, horse-1-crowd (and its sketch and single-report companions, with the same epsilons),
/// map-1-crowd and girl-1-crowd. The heavy-hitter table prints one epsilon_infinity for all tau from its second row on.
const ROWS: [Row; 20] = [
    (HEAVY, 0.0025, 1821.02, 1.78, [(1.45, 0.47), (1.50, 0.13), (1.52, 0.01)]),
    (HEAVY, 0.01, 455.34, 4.07, [(4.07, 2.47), (4.07, 1.30), (4.07, 0.11)]),
    (HEAVY, 0.05, 91.16, 7.235, [(7.235, 5.63), (7.235, 4.40), (7.235, 1.72)]),
    (HEAVY, 0.25, 18.32, 10.40, [(10.40, 8.79), (10.40, 7.56), (10.40, 4.85)]),
    (HEAVY, 1.0, 4.66, 12.99, [(12.99, 11.38), (12.99, 10.15), (12.99, 7.44)]),
    (HORSE, 0.05, 80.42, 2.94, [(2.91, 1.37), (2.94, 0.50), (2.94, 0.03)]),
    (HORSE, 0.25, 16.18, 5.96, [(5.96, 4.35), (5.96, 3.13), (5.96, 0.70)]),
    (HORSE, 0.5, 8.15, 7.28, [(7.28, 5.67), (7.28, 4.45), (7.28, 1.76)]),
    (HORSE, 0.75, 5.47, 8.03, [(8.03, 6.42), (8.03, 5.19), (8.03, 2.49)]),
    (HORSE, 1.0, 4.14, 8.55, [(8.55, 6.94), (8.55, 5.71), (8.55, 3.00)]),
    (MAP, 0.05, 91.16, 7.39, [(7.39, 5.78), (7.39, 4.55), (7.39, 1.86)]),
    (MAP, 0.25, 18.32, 10.56, [(10.56, 8.95), (10.56, 7.72), (10.56, 5.01)]),
    (MAP, 0.5, 9.21, 11.88, [(11.88, 10.27), (11.88, 9.04), (11.88, 6.33)]),
    (MAP, 0.75, 6.18, 12.63, [(12.63, 11.02), (12.63, 9.79), (12.63, 7.08)]),
    (MAP, 1.0, 4.66, 13.14, [(13.14, 11.53), (13.14, 10.30), (13.14, 7.59)]),
    (CHILD, 0.05, 85.95, 5.95, [(5.95, 4.34), (5.95, 3.12), (5.95, 0.69)]),
    (CHILD, 0.25, 17.28, 9.11, [(9.11, 7.50), (9.11, 6.27), (9.11, 3.56)]),
    (CHILD, 0.5, 8.70, 10.435, [(10.435, 8.83), (10.435, 7.60), (10.435, 4.89)]),
    (CHILD, 0.75, 5.84, 11.18, [(11.18, 9.57), (11.18, 8.34), (11.18, 5.63)]),
    (CHILD, 1.0, 4.41, 11.7, [(11.7, 10.09), (11.7, 8.86), (11.7, 6.15)]),
];

/// Cells that our reading of the paper's rules does not reproduce: cell, printed, ours, why.
const EXCEPTIONS: &[(&str, f64, f64, &str)] = &[
    (
        "heavy at 0.0025: tau 256 epsilon_infinity",
        1.52,
        1.4156,
        "epsilon_fragment on the paper's grid of 0.005 is 0.010; 1.52 belongs to an unrounded one of about 0.0115",
    ),
    (
        "map at 0.25: epsilon_local",
        10.56,
        10.5482,
        "printed epsilons lie on a grid of 0.005, some one step too high: 10.555, then printed with two digits",
    ),
    (
        "unified row 1 map epsilon_central",
        0.0011,
        0.0027,
        "the paper evaluated the lemma at epsilon_local 1, not 2",
    ),
    (
        "unified row 1 horse epsilon_central",
        0.0111,
        0.0274,
        "the paper evaluated the lemma at epsilon_local 1, not 2",
    ),
    (
        "unified row 1 child epsilon_central",
        0.0023,
        0.0056,
        "the paper evaluated the lemma at epsilon_local 1, not 2",
    ),
    (
        "unified row 1 heavy epsilon_central",
        0.0012,
        0.0030,
        "the paper evaluated the lemma at epsilon_local 1, not 2",
    ),
];

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).expect("it is printed in the paper")
}

/// Differences above 0.01, as cells.
#[derive(Default)]
struct Differences {
    cells: Vec<(String, f64, f64)>,
    compared: usize,
}

impl Differences {
    fn compare(&mut self, cell: String, printed: f64, ours: f64) {
        self.compared += 1;
        if (printed - ours).abs() > 0.01 + 1e-9 {
            self.cells.push((cell, printed, ours));
        }
    }
}

#[test]
fn all_printed_epsilons_come_out_within_a_hundredth() {
    let mut differences = Differences::default();
    for ((name, n, delta), central, sigma, local, taus) in ROWS {
        let delta = Delta::new(delta).unwrap();
        let cell = |what: &str| format!("{name} at {central}: {what}");
        let ours = lemma::epsilon_local(n, epsilon(central), delta).unwrap().value();
        differences.compare(cell("epsilon_local"), local, ours);
        let gauss = sigma_as_paper(epsilon(central), delta).unwrap();
        assert!((gauss - sigma).abs() < 0.006, "{}: {gauss} for {sigma}", cell("sigma"));
        for (tau, (all, one)) in [4, 16, 256].into_iter().zip(taus) {
            // The paper rounds epsilon_fragment to the nearest 0.005, as its file names show.
            let fragment = fragment_epsilon_as_paper(epsilon(local), tau).unwrap().value();
            let fragment = epsilon((fragment / 0.005).round() * 0.005);
            let exposed = |t| exposed_epsilon(epsilon(local), fragment, t).value();
            differences.compare(cell(&format!("tau {tau} epsilon_infinity")), all, exposed(tau));
            differences.compare(cell(&format!("tau {tau} epsilon_1")), one, exposed(1));
        }
    }
    assert_eq!(differences.compared, 20 * 7);
    for (cell, printed, ours) in &differences.cells {
        let listed = EXCEPTIONS.iter().find(|exception| exception.0 == cell);
        let (_, was, expected, _) =
            listed.unwrap_or_else(|| panic!("{cell}: printed {printed}, ours {ours}"));
        assert!(was == printed && (expected - ours).abs() < 1e-4, "{cell}: printed {printed}, ours {ours}");
    }
    assert_eq!(differences.cells.len(), 2, "an exception has gone: {:#?}", differences.cells);
}

#[test]
fn the_unified_tables_first_row_is_the_lemma_at_one() {
    for ((name, n, delta), printed) in [(MAP, 0.0011), (HORSE, 0.0111), (CHILD, 0.0023), (HEAVY, 0.0012)] {
        let delta = Delta::new(delta).unwrap();
        let at = |local: f64| lemma::epsilon(n, epsilon(local), delta).unwrap().epsilon().value();
        assert!((at(1.0) - printed).abs() < 0.000_06, "{name}: {}", at(1.0));
        let cell = format!("unified row 1 {name} epsilon_central");
        let (_, was, ours, _) = EXCEPTIONS.iter().find(|exception| exception.0 == cell).unwrap();
        assert_eq!(*was, printed);
        assert!((at(2.0) - ours).abs() < 0.000_06, "{name}: {}", at(2.0));
    }
    assert_eq!(EXCEPTIONS.len(), 6);
}

#[test]
fn the_table_without_attribute_fragments_comes_out() {
    for ((name, n, delta), rows) in [
        (MAP, [(2.0, 0.0729), (7.385, 7.385), (13.14, 13.14)]),
        (HORSE, [(2.0, 1.0766), (2.94, 2.94), (8.55, 8.55)]),
        (CHILD, [(2.0, 0.1517), (5.95, 5.95), (11.70, 11.70)]),
        (HEAVY, [(2.0, 0.0788), (7.235, 7.235), (12.99, 12.99)]),
    ] {
        for (local, printed) in rows {
            let ours =
                blanket::central_no_attr(n, epsilon(local), Delta::new(delta).unwrap()).unwrap().value();
            assert!((ours - printed).abs() < 0.000_11, "{name} at {local}: {ours} for {printed}");
        }
    }
}
