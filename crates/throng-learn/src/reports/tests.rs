use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use throng_dp::Epsilon;

use super::*;
use crate::MechanismName;

const D: usize = 12;
const EACH: u32 = 4;
const REPEATS: u32 = 20_000;
/// How many standard errors a mean or a covariance may be off: a normal variable is less than once in 5·10^8. There are some
/// 600 comparisons here, and squares of normal variables are a little skewed: correct simulations fail with fresh seeds less
/// than once in 10^5.
const Z: f64 = 6.0;

/// Gradients longer and shorter than the clipping norm of 1, two of them nearly alike, and one of zero.
fn gradients() -> (Vec<f32>, Vec<f64>) {
    let mut rows = [[0.0f32; D]; 4];
    rows[0][..3].copy_from_slice(&[1.5, -1.5, 0.5]);
    rows[1][..4].copy_from_slice(&[1.5, -1.4, 0.4, 0.1]);
    rows[2][5..8].copy_from_slice(&[0.3, 0.2, -0.1]);
    let norms =
        rows.iter().map(|row| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()).collect();
    (rows.concat(), norms)
}

/// The mean of one step's reports, many times.
fn means(mechanism: &Mechanism, simulation: Simulation) -> Vec<Vec<f32>> {
    let (gradients, norms) = gradients();
    (0..REPEATS)
        .map(|i| {
            let mut rng = ChaCha20Rng::seed_from_u64(u64::from(i) + 1_000_000 * simulation as u64);
            let mut part = |rows: std::ops::Range<usize>| {
                let rng = ChaCha20Rng::seed_from_u64(rand_core::Rng::next_u64(&mut rng));
                let mut reports = Reports::new(mechanism, simulation, EACH, D, rng).unwrap();
                reports.add(&gradients[rows.start * D..rows.end * D], &norms[rows]).unwrap();
                reports.sum()
            };
            let sums = vec![part(0..3), part(3..4)];
            mean(mechanism, simulation, sums, 4 * u64::from(EACH), &mut rng).unwrap()
        })
        .collect()
}

/// What a sample says of a distribution.
struct Moments {
    mean: [f64; D],
    covariance: [[f64; D]; D],
    /// The standard error of each covariance, from the sample itself.
    error: [[f64; D]; D],
}

impl Moments {
    fn of(sample: &[Vec<f32>]) -> Self {
        let count = sample.len() as f64;
        let average = |f: &dyn Fn(&[f32]) -> f64| sample.iter().map(|x| f(x)).sum::<f64>() / count;
        let mean: [f64; D] = std::array::from_fn(|i| average(&|x| f64::from(x[i])));
        let product =
            |x: &[f32], i: usize, j: usize| (f64::from(x[i]) - mean[i]) * (f64::from(x[j]) - mean[j]);
        let matrix = |f: &dyn Fn(usize, usize) -> f64| {
            std::array::from_fn::<_, D, _>(|i| std::array::from_fn::<_, D, _>(|j| f(i, j)))
        };
        let covariance = matrix(&|i, j| average(&|x| product(x, i, j)));
        let error = matrix(&|i, j| {
            ((average(&|x| product(x, i, j).powi(2)) - covariance[i][j].powi(2)) / count).sqrt()
        });
        Self { mean, covariance, error }
    }

    /// Fails if any two coordinates vary together more or less than they should: by `expected`, which may be off by `error`.
    fn assert_covariance(
        &self,
        what: &str,
        expected: impl Fn(usize, usize) -> f64,
        error: impl Fn(usize, usize) -> f64,
    ) {
        for i in 0..D {
            for j in 0..=i {
                let off = (self.covariance[i][j] - expected(i, j)) / self.error[i][j].hypot(error(i, j));
                assert!(
                    off.abs() < Z,
                    "{what}, coordinates {i} and {j}: {} where {} is expected, {off} standard errors",
                    self.covariance[i][j],
                    expected(i, j)
                );
            }
        }
    }
}

/// The sum over gradients, as long as `length` makes of their norms, of the product of two coordinates.
fn products(i: usize, j: usize, length: impl Fn(f64) -> f64) -> f64 {
    let (gradients, norms) = gradients();
    let rows = gradients.chunks(D).zip(norms).filter(|&(_, norm)| norm > 0.0);
    rows.map(|(row, norm)| f64::from(row[i]) * f64::from(row[j]) * (length(norm) / norm).powi(2)).sum()
}

/// The mean of the clipped gradients.
fn clipped(i: usize) -> f64 {
    let (gradients, norms) = gradients();
    gradients.chunks(D).zip(&norms).map(|(row, norm)| f64::from(row[i]) / norm.max(1.0)).sum::<f64>()
        / norms.len() as f64
}

fn mechanism(name: MechanismName) -> Mechanism {
    Mechanism::new(name, D, 1.0, Epsilon::new(1.9).unwrap()).unwrap()
}

/// All three have the mean of the clipped gradients. The chunk's covariance is the protocol's; the fast one has, along the
/// gradients, what its doc says it has too much of.
#[test]
fn the_three_simulations_agree_in_mean_and_covariance() {
    let reports = gradients().1.len() as f64 * f64::from(EACH);
    for name in [MechanismName::Sign, MechanismName::PrivUnit] {
        let mechanism = mechanism(name);
        let [literal, chunk, fast] = [Simulation::Literal, Simulation::ChunkExact, Simulation::Fast]
            .map(|simulation| Moments::of(&means(&mechanism, simulation)));
        for (what, moments) in [("literal", &literal), ("chunk", &chunk), ("fast", &fast)] {
            for (i, mean) in moments.mean.into_iter().enumerate() {
                let off = (mean - clipped(i)) / (moments.covariance[i][i] / f64::from(REPEATS)).sqrt();
                assert!(off.abs() < Z, "{name:?} {what}: {mean} {} at {i}", clipped(i));
            }
        }
        let error = |i: usize, j: usize| literal.error[i][j];
        chunk.assert_covariance(&format!("{name:?}, chunk"), |i, j| literal.covariance[i][j], error);
        // Along its own gradient a report has noise already.
        let once = mechanism.across().powi(2) * f64::from(EACH) / reports.powi(2);
        let expected = |i: usize, j: usize| literal.covariance[i][j] + once * products(i, j, |_| 1.0);
        fast.assert_covariance(&format!("{name:?}, fast"), expected, error);
    }
}

/// The covariance of the paper's mechanism is known: σ²I − xxᵀ for a report on the clipped gradient x.
#[test]
fn the_sign_mechanism_has_its_exact_covariance() {
    let mechanism = mechanism(MechanismName::Sign);
    let reports = gradients().1.len() as f64 * f64::from(EACH);
    let exact = |i: usize, j: usize| {
        let own = if i == j { mechanism.across().powi(2) * reports } else { 0.0 };
        (own - f64::from(EACH) * products(i, j, |norm| norm.min(1.0))) / reports.powi(2)
    };
    for simulation in [Simulation::Literal, Simulation::ChunkExact] {
        let sample = Moments::of(&means(&mechanism, simulation));
        sample.assert_covariance(&format!("{simulation:?}"), exact, |_, _| 0.0);
    }
}

/// With the constant that the paper prints, which lacks a factor d, the mean is nowhere near the clipped gradient; with
/// ours it is within what chance allows.
#[test]
fn the_papers_printed_scale_would_fail() {
    let moments = Moments::of(&means(&mechanism(MechanismName::Sign), Simulation::Literal));
    // Where the first gradient and the second, which is clipped as well, are largest.
    let off = |factor: f64| {
        let deviation = factor * (moments.covariance[0][0] / f64::from(REPEATS)).sqrt();
        (factor * moments.mean[0] - clipped(0)).abs() / deviation
    };
    assert!(off(1.0) < Z, "{}", off(1.0));
    assert!(off(1.0 / D as f64) > 20.0, "{}", off(1.0 / D as f64));
}
