//! What many reports on a few gradients say across them, drawn at once and exactly.

use chacha20::ChaCha20Rng;
use faer::Accum;
use throng_dp::normal;

use super::{add_normals, add_scaled};
use crate::number::{Number, matrix};

/// Adds σ·W, where W is the sum over c gradients, τ times each, of N(0, I − uuᵀ).
///
/// W ~ N(0, cτI − τUᵀU), with the unit vectors as rows of U. That is √(cτ)·N − UᵀS for N ~ N(0, I) and, given N,
/// S ~ N(√(τ/c)·UN, τI − (τ/c)·UUᵀ): one vector of normals and one c × c matrix instead of cτ directions. A gradient of
/// zero is a row of zeros, and its reports are noise in every direction.
pub(super) fn add_across(
    gradients: &[f32],
    norms: &[f64],
    reports_each: u32,
    across: f64,
    rng: &mut ChaCha20Rng,
    sum: &mut [f32],
) {
    let (count, dimension) = (norms.len(), sum.len());
    let (c, tau) = (count as f64, f64::from(reports_each));
    let mut noise = vec![0.0f32; dimension];
    add_normals(1.0, rng, &mut noise);

    let rows = matrix(gradients, count, dimension);
    let mut inner = vec![0.0f32; count * count];
    f32::multiply(rows, rows.transpose(), &mut inner, (count, count), Accum::Replace);
    let mut with_noise = vec![0.0f32; count];
    f32::multiply(rows, matrix(&noise, dimension, 1), &mut with_noise, (count, 1), Accum::Replace);
    // From gradients to their unit vectors.
    let inverse: Vec<f64> = norms.iter().map(|&norm| if norm > 0.0 { 1.0 / norm } else { 0.0 }).collect();

    let mut covariance = vec![0.0; count * count];
    for i in 0..count {
        for j in 0..count {
            let own = if i == j { tau } else { 0.0 };
            let shared = f64::from(inner[i * count + j]) * inverse[i] * inverse[j];
            covariance[i * count + j] = own - tau / c * shared;
        }
    }
    let root = root(&covariance, count);
    let draws: Vec<f64> = (0..count).map(|_| normal::draw(rng)).collect();
    add_scaled((across * (c * tau).sqrt()) as f32, &noise, sum);
    for (i, gradient) in gradients.chunks_exact(dimension).enumerate() {
        let mean = (tau / c).sqrt() * f64::from(with_noise[i]) * inverse[i];
        let drawn: f64 = root[i * count..][..=i].iter().zip(&draws).map(|(l, x)| l * x).sum();
        add_scaled((-across * (mean + drawn) * inverse[i]) as f32, gradient, sum);
    }
}

/// The lower triangle L with LLᵀ = A (Cholesky), for a matrix that may be singular: where gradients coincide, rounding
/// can leave nothing, or a little less, to take the root of.
fn root(a: &[f64], count: usize) -> Vec<f64> {
    let mut l = vec![0.0; count * count];
    for j in 0..count {
        for i in j..count {
            let before: f64 = (0..j).map(|k| l[i * count + k] * l[j * count + k]).sum();
            let left = a[i * count + j] - before;
            l[i * count + j] = if i == j {
                left.max(0.0).sqrt()
            } else if l[j * count + j] > 1e-6 * a[j * count + j].abs().sqrt() {
                left / l[j * count + j]
            } else {
                0.0
            };
        }
    }
    l
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_square_to_their_matrix_even_where_it_is_singular() {
        for a in [vec![4.0, 2.0, 2.0, 3.0], vec![1.0, 1.0, 1.0, 1.0], vec![0.0, 0.0, 0.0, 2.0]] {
            let l = root(&a, 2);
            for i in 0..2 {
                for j in 0..2 {
                    let product: f64 = (0..2).map(|k| l[i * 2 + k] * l[j * 2 + k]).sum();
                    assert!((product - a[i * 2 + j]).abs() < 1e-12, "{a:?} {l:?}");
                }
            }
        }
    }
}
