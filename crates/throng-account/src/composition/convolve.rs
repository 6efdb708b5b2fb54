//! Convolution of privacy loss distributions by Fourier transform, erring on the side of larger losses.
//!
//! What is transformed is the *tilted* distribution, in which the losses that matter for the question are the likely
//! ones. A transform's rounding error is relative to the largest mass; tilted, that is a relative error of δ, however
//! small δ is.

use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::chernoff::{Sum, cumulants, cumulants_of_one, further};
use super::loss::LossDistribution;

/// The upper part of the distribution of a sum of losses: masses on a grid, none of them too small.
#[derive(Debug)]
pub(super) struct LossSum {
    step: f64,
    /// The grid index of the first mass.
    lowest: i64,
    masses: Vec<f64>,
    /// How much of each mass is allowance for rounding errors of the transforms.
    allowance: Vec<f64>,
    /// Separating outcomes, and all beyond the grid.
    beyond: f64,
    /// By which δ is multiplied to make up for rounding.
    rounding: f64,
    /// By how much losses may have been rounded down in total.
    shift: f64,
    /// Whether outcomes below the window were wrapped around with less than their mass.
    tilted: bool,
}

impl LossSum {
    /// The sum, most exact at the losses that `tilt` makes likely.
    pub(super) fn new(sum: &Sum<'_>, tilt: f64) -> Self {
        let grid = Grid::new(sum, tilt);
        let mut spectrum = Spectrum::new(grid.size);
        let (mut exponent, mut tail_exponent) = (0.0, 0.0);
        let (mut infinity, mut rounding, mut shift) = (0.0, 4.0 * grid.size as f64, 0.0);
        for &(loss, times) in sum {
            let (here, far) =
                (cumulants_of_one(loss, tilt).value, cumulants_of_one(loss, grid.far_tilt).value);
            let mut far_mass = 0.0;
            spectrum.multiply(times, |masses| {
                for atom in &loss.atoms {
                    for (index, mass) in grid.split(atom.loss, atom.mass) {
                        let at = index as f64 * grid.step;
                        // Outcomes outside the window wrap around into it, which only adds mass there.
                        masses[grid.slot(index)].re += mass * (tilt * at - here).exp();
                        far_mass += mass * (grid.far_tilt * at - far).exp();
                    }
                }
            });
            let times = times as f64;
            exponent += times * here;
            tail_exponent += times * (far + far_mass.ln());
            infinity += times * loss.infinity;
            let extreme = loss.largest().abs().max(loss.smallest().abs());
            rounding += times * (tilt * extreme + here.abs() + 4.0);
            shift += times * 4.0 * f64::EPSILON * extreme;
        }
        let (tilted, error) = spectrum.inverse();
        let end = (grid.lowest + grid.size as i64) as f64 * grid.step;
        let tail = if grid.whole { 0.0 } else { (tail_exponent - grid.far_tilt * end).exp() };
        if !(error.is_finite() && tail.is_finite()) {
            // Too many releases for double precision: nothing is known.
            let nothing = Vec::new();
            return Self {
                step: 1.0,
                lowest: 0,
                masses: nothing.clone(),
                allowance: nothing,
                beyond: 1.0,
                rounding: 1.0,
                shift,
                tilted: false,
            };
        }
        // The far lower end of the window may overflow; it is never asked for.
        let scale = |i: usize| {
            (exponent - tilt * (grid.lowest + i as i64) as f64 * grid.step).exp().min(f64::MAX.sqrt())
        };
        let allowance: Vec<f64> = (0..grid.size).map(|i| error * scale(i)).collect();
        let tilted = |i: usize| tilted[grid.slot(grid.lowest + i as i64)].re.max(0.0);
        let masses = (0..grid.size).map(|i| tilted(i) * scale(i) + allowance[i]).collect();
        Self {
            step: grid.step,
            lowest: grid.lowest,
            masses,
            allowance,
            beyond: infinity + tail,
            rounding: 1.0 + 2.0 * f64::EPSILON * rounding,
            shift,
            tilted: tilt > 0.0,
        }
    }

    /// An upper bound of δ at ε, and at most 1.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon - self.shift;
        if self.tilted && epsilon < self.at(0) {
            return 1.0;
        }
        let first = ((epsilon / self.step).floor() as i64 - self.lowest).max(-1);
        let above = usize::try_from(first + 1).unwrap_or(0).min(self.masses.len());
        let finite: f64 = (above..self.masses.len())
            .map(|i| self.masses[i] * -(epsilon - self.at(i)).min(0.0).exp_m1())
            .sum();
        ((finite + self.beyond) * self.rounding).min(1.0)
    }

    /// An upper bound of the smallest ε ≥ 0 at which δ is at most `delta`.
    pub(super) fn epsilon(&self, delta: f64) -> Crossing {
        let target = delta / self.rounding;
        // At the grid point i, `here` is δ and `slope` is the sum of e^(ε − loss) over the losses above it.
        let (mut here, mut slope) = (self.beyond, 0.0);
        let (mut noise, mut noise_slope) = (0.0, 0.0);
        let (shrink, rise) = ((-self.step).exp(), -(-self.step).exp_m1());
        if here > target {
            return Crossing::Never;
        }
        for i in (0..self.masses.len()).rev() {
            slope = self.masses[i] + shrink * slope;
            noise_slope = self.allowance[i] + shrink * noise_slope;
            // From here to the next point down all terms grow together: δ = here + (1 − e^-u)·slope.
            let next = here + rise * slope;
            noise += rise * noise_slope;
            if next > target {
                let down = -(-(target - here) / slope).ln_1p();
                let epsilon = self.outward(self.at(i) - down);
                return if noise < NOISE_MAX * target {
                    Crossing::At(epsilon)
                } else {
                    Crossing::Below(epsilon)
                };
            }
            if self.at(i) <= 0.0 {
                return Crossing::At(0.0);
            }
            here = next;
        }
        Crossing::Below(self.outward(self.at(0)))
    }

    fn at(&self, i: usize) -> f64 {
        (self.lowest + i as i64) as f64 * self.step
    }

    fn outward(&self, epsilon: f64) -> f64 {
        (epsilon + self.shift + 4.0 * f64::EPSILON * epsilon.abs()).max(0.0)
    }
}

/// Where δ(ε) comes down to a given δ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// At this ε.
    At(f64),
    /// Below this ε, where the window ends or rounding errors count for too much.
    Below(f64),
    /// Not at all.
    Never,
}

/// Equidistant losses, a power of two of them, around those that the tilt makes likely.
struct Grid {
    step: f64,
    lowest: i64,
    size: usize,
    /// The tilt whose Chernoff bound is best at the upper end.
    far_tilt: f64,
    /// Whether no sum of losses is beyond the upper end.
    whole: bool,
}

impl Grid {
    fn new(sum: &Sum<'_>, tilt: f64) -> Self {
        let here = cumulants(sum, tilt);
        let end = |direction: f64| {
            let step = further(sum, tilt, direction, WINDOW_EXPONENT);
            let value = cumulants(sum, tilt + direction * step).value;
            let bound = if step > 0.0 {
                (value - here.value + WINDOW_EXPONENT) / step
            } else {
                direction * here.mean
            };
            (direction * bound, tilt + direction * step)
        };
        let ((high, far_tilt), (low, _)) = (end(1.0), end(-1.0));
        let extreme =
            |of: fn(&LossDistribution) -> f64| sum.iter().map(|&(loss, n)| n as f64 * of(loss)).sum::<f64>();
        let largest = extreme(LossDistribution::largest);
        let low = low.max(extreme(LossDistribution::smallest)).min(here.mean);
        let times: f64 = sum.iter().map(|&(_, times)| times as f64).sum();
        let whole = high >= largest && times <= WHOLE_MAX;
        let high = if whole { largest } else { high.max(here.mean) };
        // A grid finer than the doubles near its ends would not be one.
        let width = (high - low).max(1e-9 * high.abs().max(low.abs())).max(1e-12);
        // Rounding to the grid adds at most step²/4, on average step²/6, to each loss's variance. A window that is
        // wide for its variance has almost all mass at one end, where no grid is too coarse.
        let deviation = here.variance.sqrt().max(width / 64.0);
        let wanted = deviation * (6.0 * VARIANCE_ADDED / times).sqrt();
        let size = ((width / wanted) as usize).clamp(SIZE_MIN, SIZE_MAX).next_power_of_two();
        // Rounding moves each of the losses up by a step at most.
        let room = if whole { times as usize } else { 0 };
        let step = width / (size - 2 * MARGIN as usize - room) as f64;
        Self { step, lowest: (low / step).floor() as i64 - MARGIN, size, far_tilt, whole }
    }

    /// An outcome as two on the grid that, taken together, are it: whoever can tell the two apart can only do better.
    fn split(&self, loss: f64, mass: f64) -> [(i64, f64); 2] {
        let index = (loss / self.step).floor();
        let offset = (loss - index * self.step).clamp(0.0, self.step);
        let upper = -(-offset).exp_m1() / -(-self.step).exp_m1();
        let lower = (self.step - offset).exp_m1() / self.step.exp_m1();
        [(index as i64, mass * lower), (index as i64 + 1, mass * upper)]
    }

    fn slot(&self, index: i64) -> usize {
        // A power of two: the remainder is the low bits, for negative numbers too.
        (index & (self.size as i64 - 1)) as usize
    }
}

/// A product of powers of transforms, with a bound of each coefficient's error.
struct Spectrum {
    forward: Arc<dyn Fft<f64>>,
    backward: Arc<dyn Fft<f64>>,
    buffer: Vec<Complex<f64>>,
    product: Vec<(Complex<f64>, f64)>,
}

impl Spectrum {
    fn new(size: usize) -> Self {
        let mut planner = FftPlanner::new();
        Self {
            forward: planner.plan_fft_forward(size),
            backward: planner.plan_fft_inverse(size),
            buffer: vec![Complex::new(0.0, 0.0); size],
            product: vec![(Complex::new(1.0, 0.0), 0.0); size],
        }
    }

    /// Multiplies with the transform of what `fill` writes, to the power of `times`.
    fn multiply(&mut self, times: u64, fill: impl FnOnce(&mut [Complex<f64>])) {
        self.buffer.fill(Complex::new(0.0, 0.0));
        fill(&mut self.buffer);
        let norm = self.buffer.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
        self.forward.process(&mut self.buffer);
        let size = self.buffer.len() as f64;
        let error = relative_error(self.buffer.len()) * size.sqrt() * norm;
        let n = times as f64;
        for (&factor, (product, bound)) in self.buffer.iter().zip(&mut self.product) {
            let modulus = factor.norm();
            let largest = (n * (modulus + error).ln()).exp();
            if largest < NEGLIGIBLE {
                (*product, *bound) = (Complex::new(0.0, 0.0), (*bound + product.norm()) * largest);
                continue;
            }
            let power = power(factor, times);
            // |(f + e)^n − f^n| <= n|e|(|f| + |e|)^(n−1), and each of the multiplications rounds.
            let power_error =
                n * error * (modulus + error).powf(n - 1.0) + 8.0 * n * f64::EPSILON * modulus.powf(n);
            *bound = *bound * (power.norm() + power_error) + product.norm() * power_error;
            *product *= power;
        }
    }

    /// The masses, and a bound of the error of each.
    fn inverse(mut self) -> (Vec<Complex<f64>>, f64) {
        let size = self.product.len() as f64;
        let mut errors = 0.0;
        let mut squares = 0.0;
        for ((coefficient, bound), slot) in self.product.iter().zip(&mut self.buffer) {
            *slot = coefficient / size;
            errors += bound;
            squares += coefficient.norm_sqr();
        }
        self.backward.process(&mut self.buffer);
        let error = errors / size + relative_error(self.buffer.len()) * (squares / size).sqrt();
        (self.buffer, error * 1.01)
    }
}

/// The error of a transform relative to its result, both in Euclidean norm.
fn relative_error(size: usize) -> f64 {
    // Higham (2002), Theorem 24.2, has 7 units of 2^-53 per level for twiddle factors that are right to the last
    // place; ours may be a few units off, and 16 leaves room for that.
    16.0 * 0.5 * f64::EPSILON * f64::from(size.ilog2() + 1)
}

/// z^n by squaring.
fn power(mut z: Complex<f64>, mut n: u64) -> Complex<f64> {
    let mut result = Complex::new(1.0, 0.0);
    loop {
        if n & 1 == 1 {
            result *= z;
        }
        n >>= 1;
        if n == 0 {
            return result;
        }
        z *= z;
    }
}

/// Of the tilted mass, e^-32 may lie beyond each end of the window.
const WINDOW_EXPONENT: f64 = 32.0;
/// The relative growth of a sum's variance, and so about twice that of ε, that a grid may cause.
const VARIANCE_ADDED: f64 = 1e-4;
const SIZE_MIN: usize = 1 << 15;
const SIZE_MAX: usize = 1 << 21;
const MARGIN: i64 = 8;
/// A coefficient below this is an error of less than any other.
const NEGLIGIBLE: f64 = 1e-30;
/// The share of δ that the allowance for rounding may take.
const NOISE_MAX: f64 = 1e-4;
/// Up to this many losses, the grid has room for every sum of theirs.
const WHOLE_MAX: f64 = 4096.0;
