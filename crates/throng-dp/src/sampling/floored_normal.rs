//! Gaussian noise on a grid, exactly (after Karney 2016, Algorithm N).
//!
//! What is drawn is floor(2^28·N), with N a standard normal variable. N is an exact real number, and is rounded once.
//!
//! # Privacy
//! For whole numbers s, s + floor(2^28·N) = floor(s + 2^28·N): whoever adds a draw to each coordinate of a vector of whole
//! numbers publishes a function of the Gaussian mechanism's output, with noise of standard deviation [`UNIT`]. So every
//! guarantee of that mechanism holds as it is, with no margin for the grid, and tails are as long as they should be.

use std::sync::LazyLock;

use num_bigint::BigUint;
use num_traits::{One, Zero};
use rand_core::CryptoRng;

use super::bracket::{self, Bracket};
use super::table::{Law, Table};

/// The standard deviation of a draw (before it was rounded).
pub const UNIT: i64 = 1 << UNIT_BITS;

/// One draw.
///
/// With cells of width h = 1/32 the size of N is (c + t)·h, where the cell c has a probability proportional to the density
/// at its beginning, e^(-(ch)²/2), and t is uniform and kept with probability e^(-γ), γ = t(2c + t)·h²/2. No more bits of t
/// and of the coins' uniform numbers are drawn than it takes to know, and no fewer.
#[inline]
pub fn draw(rng: &mut (impl CryptoRng + ?Sized)) -> i64 {
    let cells = &*CELLS;
    loop {
        let cell = cells.draw(rng);
        let word = rng.next_u64();
        let negative = -((word & 1) as i64);
        // A coin's first 31 bits, and the first 32 of t.
        let (coin, place) = ((word as u32) >> 1, (word >> 32) as u32);
        if is_tails(cell, place, coin) || is_kept(cell, place, coin, rng) {
            let size = (cell << PLACE_BITS) as i64 | i64::from(place >> (32 - PLACE_BITS));
            // All ones for a negative N: floor(-(size + rest)) = -size - 1.
            return size ^ negative;
        }
    }
}

/// Whether the first coin of e^(-γ) shows tails for certain, which keeps t: 39 of 40 do.
#[inline]
fn is_tails(cell: u64, place: u32, coin: u32) -> bool {
    let above = u128::from(place) + 1;
    // coin/2^31 >= t(2c + t)/2048 at the upper end of t.
    cell < CELLS_EACH
        && u128::from(coin) << (64 + GAMMA_BITS) >= (above * ((u128::from(cell) << 33) + above)) << 31
}

/// True with probability e^(-γ), given the first bits of t and of the first coin's uniform number.
#[cold]
fn is_kept(cell: u64, place: u32, coin: u32, rng: &mut (impl CryptoRng + ?Sized)) -> bool {
    let mut place = Uniform { numerator: place.into(), bits: 32 };
    let mut first = Some(Uniform { numerator: coin.into(), bits: 31 });
    // e^(-γ) as a product of equal factors, γ being at most 1 in each.
    let factors = cell / CELLS_EACH + 1;
    (0..factors).all(|_| {
        // The first k at which a coin of bias γ/k shows tails is odd with probability e^-γ.
        let mut k = 1;
        loop {
            let coin = first.take().unwrap_or_else(|| Uniform::new(rng));
            let divisor = BigUint::from(factors * k) << GAMMA_BITS;
            if !is_heads(coin, &divisor, cell, &mut place, rng) {
                return k % 2 == 1;
            }
            k += 1;
        }
    })
}

/// Whether a uniform number is below t(2c + t)/divisor.
fn is_heads(
    mut coin: Uniform,
    divisor: &BigUint,
    cell: u64,
    place: &mut Uniform,
    rng: &mut (impl CryptoRng + ?Sized),
) -> bool {
    loop {
        let twice = BigUint::from(2 * cell) << place.bits;
        let bound = |t: BigUint| ((&twice + &t) * t) << coin.bits;
        let number = |u: BigUint| (u * divisor) << (2 * place.bits);
        if number(&coin.numerator + 1u32) <= bound(place.numerator.clone()) {
            return true;
        }
        if number(coin.numerator.clone()) >= bound(&place.numerator + 1u32) {
            return false;
        }
        coin.extend(rng);
        place.extend(rng);
    }
}

/// A uniform real number between 0 and 1, as far as it was drawn: from `numerator` to `numerator + 1` in units of 2^-bits.
#[derive(Clone, Debug)]
struct Uniform {
    numerator: BigUint,
    bits: u64,
}

impl Uniform {
    fn new(rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        Self { numerator: rng.next_u64().into(), bits: 64 }
    }

    fn extend(&mut self, rng: &mut (impl CryptoRng + ?Sized)) {
        self.numerator = (&self.numerator << 64u32) + rng.next_u64();
        self.bits += 64;
    }
}

/// Which cell: c with a probability proportional to e^(-(ch)²/2).
#[derive(Clone, Copy, Debug)]
struct Cells;

impl Law for Cells {
    fn cumulative(&self, bits: u64) -> impl Iterator<Item = Bracket> {
        // q = e^(-h²/2); the c-th weight is q^(c²), and the next one q^(2c + 1) times that.
        let one = Bracket::one(bits);
        let q = one.divide(&bracket::exp(0.5f64.powi(GAMMA_BITS), bits), bits);
        let square = q.multiply(&q, bits);
        let (mut weight, mut ratio) = (one.clone(), q);
        let mut sum = Bracket::zero();
        let mut sums = Vec::new();
        while !weight.low.is_zero() {
            sum = sum.add(&weight);
            sums.push(sum.clone());
            weight = weight.multiply(&ratio, bits);
            ratio = ratio.multiply(&square, bits);
        }
        // Ratios fall, so all weights that are left sum to less than weight/(1 - ratio).
        let rest = (weight.high << bits) / (&one.low - ratio.high) + BigUint::one();
        let all = Bracket { low: sum.low, high: sum.high + rest };
        sums.into_iter().map(move |sum| sum.divide(&all, bits))
    }
}

static CELLS: LazyLock<Table<Cells>> = LazyLock::new(|| Table::new(Cells));

const UNIT_BITS: u32 = 28;
/// A cell is 2^-5 wide.
const CELL_BITS: u32 = 5;
/// Bits of t that are part of the draw.
const PLACE_BITS: u32 = UNIT_BITS - CELL_BITS;
/// h²/2 = 2^-11.
const GAMMA_BITS: i32 = 2 * CELL_BITS as i32 + 1;
/// The number of cells over which γ grows by 1.
const CELLS_EACH: u64 = 1 << (GAMMA_BITS - 1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::upper_tail;
    use crate::testing::{Script, assert_mean, assert_share, assert_variance, rng};

    fn to_f64(bracket: &Bracket, bits: u64) -> (f64, f64) {
        let number =
            |x: &BigUint| (x >> (bits - 60)).to_string().parse::<f64>().unwrap_or(f64::NAN) / 2f64.powi(60);
        (number(&bracket.low), number(&bracket.high))
    }

    #[test]
    fn cells_have_the_weights_of_the_density() {
        let weight = |c: usize| (-0.5 * (c as f64 / 32.0).powi(2)).exp();
        let all: f64 = (0..2000).map(weight).sum();
        let mut sum = 0.0;
        let mut count = 0;
        for (c, bracket) in Cells.cumulative(256).enumerate() {
            sum += weight(c) / all;
            let (low, high) = to_f64(&bracket, 256);
            assert!((low - sum).abs() < 1e-13 && (high - sum).abs() < 1e-13, "{c}: {low} {high} {sum}");
            let width = &bracket.high - &bracket.low;
            assert!(width < BigUint::one() << 30u32, "{c}: {width}");
            count = c;
        }
        // 256 bits reach to sqrt(2·256·ln 2) = 18.8 standard deviations.
        assert!((590..=605).contains(&count), "{count}");
    }

    /// A t and a coin whose first bits leave it open, then further words on either side.
    #[test]
    fn coins_are_exact_where_the_first_bits_leave_it_open() {
        // In cell 0, t = 2^-1 exactly so far: γ = 2^-13 exactly at its lower end, and 2^-13 is a coin's number as well.
        let (place, coin) = (1 << 31, 1 << 18);
        assert!(!is_tails(0, place, coin));
        assert!(is_tails(0, place, coin + 1));
        // The coin's words, then t's: U = 2^-13 + 2^-95·u and γ = (1/2 + 2^-96·v)²·2^-11, which grows by 2^-107·v.
        let kept = |words: &[u64]| is_kept(0, place, coin, &mut Script::new(words.iter().copied()));
        // U − 2^-13 is 2^-95 at least, γ − 2^-13 less than 2^-42: heads and tails as the difference says.
        assert!(kept(&[1 << 53, 0]), "2^-42 is not below γ − 2^-13 = 0 to 2^-106");
        // Heads, so there is another coin, of half the bias: 0 is below it, and the third says tails: k = 3.
        assert!(kept(&[0, 1 << 63, 0, u64::MAX]));
        // Heads, then tails: k = 2, thrown away.
        assert!(!kept(&[0, 1 << 63, u64::MAX]));
        // Still open after a word more of both, twice.
        assert!(kept(&[0, 0, 0, 0, 1 << 63, 0]));
        assert!(!kept(&[0, 0, 0, 0, 0, 1 << 63, u64::MAX]));
    }

    /// e^(-γ) for cells from the first to some that nobody will ever see, in which it is a product.
    #[test]
    fn coins_follow_the_exponential() {
        let tosses = 20_000;
        let cases = [
            (0, u32::MAX),
            (40, 1 << 31),
            (300, 3 << 30),
            (1000, u32::MAX),
            (1500, 1 << 30),
            (4000, 1 << 31),
        ];
        for (i, (cell, place)) in cases.into_iter().enumerate() {
            let mut rng = rng(70 + i as u64);
            let mut kept = 0;
            for _ in 0..tosses {
                let coin = rand_core::Rng::next_u32(&mut rng) >> 1;
                kept += u64::from(is_tails(cell, place, coin) || is_kept(cell, place, coin, &mut rng));
            }
            let t = (f64::from(place) + 0.5) / 2f64.powi(32);
            assert_share(kept, tosses, (-t * (2.0 * cell as f64 + t) / 2048.0).exp(), cases.len() as u32);
        }
    }

    #[test]
    fn a_negative_number_is_rounded_down() {
        // The words of cell 0, then t = 0 with a coin that shows tails.
        let word = u64::from(u32::MAX);
        assert_eq!(draw(&mut Script::new([0, word])), -1);
        assert_eq!(draw(&mut Script::new([0, word - 1])), 0);
        assert_eq!(draw(&mut Script::new([0, 3 << 62 | word])), -(3 << (PLACE_BITS - 2)) - 1);
    }

    /// The shares between many places, the tails far beyond any table of 16 bits, and the last bits.
    #[test]
    fn draws_are_normal_to_the_tails() {
        let draws = 12_000_000;
        let places: Vec<f64> = (-27..=27).map(|i| f64::from(i) / 6.0).collect();
        let mut above = vec![0u64; places.len()];
        let (mut far, mut last) = (0, [0u64; 16]);
        let mut rng = rng(71);
        let mut few = Vec::new();
        for i in 0..draws {
            let number = draw(&mut rng);
            let x = number as f64 / UNIT as f64;
            above[places.partition_point(|&place| place <= x).saturating_sub(1)] += u64::from(x >= places[0]);
            far += u64::from(x.abs() >= 4.4);
            last[(number & 15) as usize] += 1;
            if i < 1_000_000 {
                few.push(x);
            }
        }
        let tests = places.len() as u32 + 19;
        for (i, &count) in above.iter().enumerate() {
            let end = places.get(i + 1).map_or(0.0, |&end| upper_tail(end));
            assert_share(count, draws, upper_tail(places[i]) - end, tests);
        }
        // 130 are expected; none would be 62 too few.
        assert_share(far, draws, 2.0 * upper_tail(4.4), tests);
        last.iter().for_each(|&count| assert_share(count, draws, 1.0 / 16.0, tests));
        assert_mean(&few, 0.0, 1.0, tests);
        assert_variance(&few, 1.0, tests);
    }
}
