//! The public hash functions of a sketch: a 3-wise independent family.

use std::ops::Range;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::SketchShape;

/// One hash function a row: x -> floor(m · ((a x² + b x + c) mod P) / 2^61), P = 2^61 − 1.
///
/// Random quadratic polynomials over a prime field are 3-wise independent, which is what the error formulas of the
/// sketch use. The coefficients come from a ChaCha20 stream, so they are the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Hashes {
    shape: SketchShape,
    rows: Vec<[u64; 3]>,
}

impl Hashes {
    pub(super) const PRIME: u64 = (1 << 61) - 1;

    /// The key is the seed's eight bytes (little-endian) and a label; each coefficient is the first 61 bits of a
    /// 64-bit word, skipping the one pattern that is not below the prime.
    pub(super) fn new(shape: SketchShape) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&shape.seed.to_le_bytes());
        key[8..].copy_from_slice(b"throng sketch hashes v1 ");
        let mut stream = ChaCha20Rng::from_seed(key);
        let mut coefficient = || loop {
            let word = stream.next_u64() >> 3;
            if word < Self::PRIME {
                return word;
            }
        };
        let rows = (0..shape.rows).map(|_| [coefficient(), coefficient(), coefficient()]).collect();
        Self { shape, rows }
    }

    pub(super) fn shape(&self) -> SketchShape {
        self.shape
    }

    /// The cell of a value in one row.
    pub(super) fn cell(&self, row: u32, value: u64) -> u32 {
        self.to_cell(polynomial(self.rows[row as usize], value))
    }

    /// The cells of many values in one row, in their order.
    pub(super) fn for_each_cell(&self, row: u32, values: &Values, mut visit: impl FnMut(usize, u32)) {
        let coefficients = self.rows[row as usize];
        match values {
            Values::List(values) => values
                .iter()
                .enumerate()
                .for_each(|(i, &value)| visit(i, self.to_cell(polynomial(coefficients, value)))),
            Values::Range(range) => {
                // Neighbors differ by a(2x + 1) + b, and these differences by 2a: two additions a value.
                let [a, b, _] = coefficients;
                let mut hash = polynomial(coefficients, range.start);
                let mut step = reduce(u128::from(a) * (2 * u128::from(range.start) + 1) + u128::from(b));
                let growth = reduce(2 * u128::from(a));
                for i in 0..values.len() {
                    visit(i, self.to_cell(hash));
                    hash = add(hash, step);
                    step = add(step, growth);
                }
            }
        }
    }

    #[inline]
    fn to_cell(&self, hash: u64) -> u32 {
        ((u128::from(hash) * u128::from(self.shape.cells)) >> 61) as u32
    }
}

/// Values whose counts are asked for.
#[derive(Clone, Debug)]
pub(super) enum Values<'a> {
    Range(Range<u64>),
    List(&'a [u64]),
}

impl Values<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => (range.end - range.start) as usize,
            Self::List(values) => values.len(),
        }
    }

    pub(super) fn max(&self) -> Option<u64> {
        match self {
            Self::Range(range) => range.end.checked_sub(1),
            Self::List(values) => values.iter().copied().max(),
        }
    }
}

/// a x² + b x + c modulo the prime.
#[inline]
fn polynomial([a, b, c]: [u64; 3], x: u64) -> u64 {
    let linear = reduce(u128::from(a) * u128::from(x) + u128::from(b));
    reduce(u128::from(linear) * u128::from(x) + u128::from(c))
}

#[inline]
fn add(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= Hashes::PRIME { sum - Hashes::PRIME } else { sum }
}

/// Modulo 2^61 − 1, for numbers below 2^124: the bits above the 61st count once more at the bottom.
#[inline]
fn reduce(x: u128) -> u64 {
    let folded = (x as u64 & Hashes::PRIME) + (x >> 61) as u64;
    let folded = (folded & Hashes::PRIME) + (folded >> 61);
    if folded >= Hashes::PRIME { folded - Hashes::PRIME } else { folded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use num_traits::ToPrimitive;

    fn hashes(rows: u32, cells: u32, seed: u64) -> Hashes {
        Hashes::new(SketchShape { domain: Hashes::PRIME, rows, cells, seed })
    }

    #[test]
    fn cells_are_those_of_the_polynomial() {
        let hashes = hashes(50, 65_536, 3);
        for (row, [a, b, c]) in hashes.rows.iter().enumerate() {
            for x in [0, 1, 2, 87_679, 1 << 33, Hashes::PRIME - 1] {
                let [a, b, c, big] = [*a, *b, *c, x].map(BigUint::from);
                let exact = (a * &big * &big + b * &big + c) % Hashes::PRIME;
                let cell = (exact * 65_536u32) >> 61u32;
                assert_eq!(hashes.cell(row as u32, x), cell.to_u32().unwrap());
            }
        }
    }

    #[test]
    fn ranges_and_lists_have_the_same_cells() {
        let hashes = hashes(20, 1000, 6);
        for start in [0, 5, Hashes::PRIME - 300] {
            let list: Vec<u64> = (start..start + 300).collect();
            for row in 0..20 {
                let mut cells = Vec::new();
                hashes.for_each_cell(row, &Values::Range(start..start + 300), |_, cell| cells.push(cell));
                hashes.for_each_cell(row, &Values::List(&list), |i, cell| assert_eq!(cell, cells[i]));
                assert_eq!(cells.len(), 300);
            }
        }
    }

    #[test]
    fn values_collide_as_often_as_chance_has_it() {
        // Pairs of neighboring values in 20,000 rows of 16 cells.
        let hashes = hashes(20_000, 16, 4);
        let collisions = (0..20_000).filter(|&row| hashes.cell(row, 7) == hashes.cell(row, 8)).count();
        crate::testing::assert_share(collisions as u64, 20_000, 1.0 / 16.0, 1);
    }
}
