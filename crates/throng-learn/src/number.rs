//! What a network computes with: f32 when it learns, f64 where its gradients are checked.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use faer::{Accum, MatMut, MatRef, Par};

/// f32 or f64.
pub trait Number:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The nearest number.
    fn of(x: f64) -> Self;

    /// The same, as a double.
    fn double(self) -> f64;

    /// tanh of every number.
    fn tanh_all(numbers: &mut [Self]);

    /// `to`, of `shape` rows and columns, becomes the product of two matrices, or that is added to it.
    fn multiply(a: MatRef<'_, Self>, b: MatRef<'_, Self>, to: &mut [Self], shape: (usize, usize), how: Accum);
}

/// Runs a loop with the widest vector instructions that the processor has. The closure has to be `#[inline(always)]`:
/// only what is compiled into the function that has those instructions can use them.
#[inline]
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// A matrix that is stored row by row.
pub(crate) fn matrix<F>(numbers: &[F], rows: usize, columns: usize) -> MatRef<'_, F> {
    MatRef::from_row_major_slice(&numbers[..rows * columns], rows, columns)
}

macro_rules! number {
    ($float:ty, $tanh:expr) => {
        impl Number for $float {
            fn of(x: f64) -> Self {
                x as $float
            }

            fn double(self) -> f64 {
                self.into()
            }

            fn tanh_all(numbers: &mut [Self]) {
                wide(
                    #[inline(always)]
                    || numbers.iter_mut().for_each(|x| *x = $tanh(*x)),
                );
            }

            fn multiply(
                a: MatRef<'_, Self>,
                b: MatRef<'_, Self>,
                to: &mut [Self],
                shape: (usize, usize),
                how: Accum,
            ) {
                let (rows, columns) = shape;
                let to = MatMut::from_row_major_slice_mut(&mut to[..rows * columns], rows, columns);
                // One thread: examples are what is done in parallel.
                faer::linalg::matmul::matmul(to, how, a, b, 1.0, Par::Seq);
            }
        }
    };
}

number!(f32, tanh);
number!(f64, f64::tanh);

/// tanh to about 2e-7, without a branch, so that the compiler can use vector registers.
#[inline]
fn tanh(x: f32) -> f32 {
    // Adding it leaves the nearest integer in the lowest bits.
    const MAGIC: f32 = 12_582_912.0;
    let x = x.clamp(-9.5, 9.5);
    // e^2x = 2^k e^z with |z| <= ln(2)/2, and tanh(x) = (e^2x - 1)/(e^2x + 1).
    let y = x * (2.0 * std::f32::consts::LOG2_E);
    let shifted = y + MAGIC;
    let z = (y - (shifted - MAGIC)) * std::f32::consts::LN_2;
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    // e^z - 1 by its series; the first term left out is below 6e-9.
    let less_one = z
        * (1.0
            + z * (1.0 / 2.0
                + z * (1.0 / 6.0
                    + z * (1.0 / 24.0 + z * (1.0 / 120.0 + z * (1.0 / 720.0 + z * (1.0 / 5040.0)))))));
    // e^2x - 1, without cancellation where k = 0.
    let excess = (power - 1.0) + power * less_one;
    excess / (excess + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tanh_is_near_that_of_the_library_everywhere() {
        let mut worst = 0.0f64;
        for i in -120_000..=120_000 {
            let x = i as f32 * 1e-4;
            let exact = f64::from(x).tanh();
            worst = worst.max((f64::from(tanh(x)) - exact).abs() / exact.abs().max(1e-3));
        }
        assert!(worst < 4e-7, "{worst}");
        assert_eq!(tanh(0.0), 0.0);
        assert!(tanh(f32::INFINITY) <= 1.0 && tanh(1e30) > 0.999_999 && tanh(-1e30) < -0.999_999);
        // Small arguments keep their digits.
        assert!((tanh(1e-6) / 1e-6 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn products_are_those_of_the_definition() {
        let a = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0f32, -1.0, 2.0, 0.5, 0.0, 3.0];
        let mut to = [10.0f32; 4];
        f32::multiply(matrix(&a, 2, 3), matrix(&b, 3, 2), &mut to, (2, 2), Accum::Replace);
        assert_eq!(to, [5.0, 9.0, 14.0, 16.5]);
        f32::multiply(matrix(&a, 2, 3), matrix(&b, 2, 3).transpose(), &mut to, (2, 2), Accum::Add);
        assert_eq!(to, [5.0 + 5.0, 9.0 + 9.5, 14.0 + 11.0, 16.5 + 20.0]);
    }
}
