//! The sum of one attribute over a crowd, drawn at once.

use chacha20::rand_core::Rng;
use throng_dp::Coins;

use super::binomial::Binomial;

/// Draws what the analyzer counts for an attribute that some of a crowd have set.
///
/// Of `set` ones, Bin(set, p) are flipped away, and of the others Bin(crowd − set, p) are flipped in; a fragment flips
/// the backstop's sums once more.
#[derive(Clone, Debug)]
pub(super) struct CellNoise {
    first: Layer,
    second: Option<Layer>,
}

/// One coin for each draw of a bit.
#[derive(Clone, Debug)]
struct Layer {
    draws: u64,
    flip: f64,
    /// How many of k bits are flipped, prepared for the k that were asked for last: neighboring cells and rows ask for
    /// the same few hundred over and over. The slot of k is its remainder.
    prepared: Vec<Option<(u64, Binomial)>>,
}

impl CellNoise {
    pub(super) fn new(coins: Coins) -> Self {
        let (first, second) = match coins {
            Coins::Runs { coin, runs } => (Layer::new(runs, coin.probability()), None),
            Coins::Fragments { backstop, fragment, tau } => {
                (Layer::new(1, backstop.probability()), Some(Layer::new(tau, fragment.probability())))
            }
        };
        Self { first, second }
    }

    /// The count for an attribute that `set` of a crowd have set.
    #[inline]
    pub(super) fn draw(&mut self, crowd: u64, set: u64, rng: &mut impl Rng) -> u64 {
        let sum = self.first.draw(crowd, set, rng);
        match &mut self.second {
            None => sum,
            Some(fragments) => fragments.draw(crowd, sum, rng),
        }
    }
}

impl Layer {
    fn new(draws: u32, flip: f64) -> Self {
        Self { draws: u64::from(draws), flip, prepared: vec![None; PREPARED] }
    }

    #[inline]
    fn draw(&mut self, crowd: u64, set: u64, rng: &mut impl Rng) -> u64 {
        let flipped_in = self.flips(crowd - set, rng);
        let flipped_away = if set == 0 { 0 } else { self.flips(set, rng) };
        self.draws * set - flipped_away + flipped_in
    }

    /// How many draws of `bits` bits are flipped.
    #[inline]
    fn flips(&mut self, bits: u64, rng: &mut impl Rng) -> u64 {
        let slot = &mut self.prepared[bits as usize % PREPARED];
        match slot {
            Some((of, binomial)) if *of == bits => binomial.draw(rng),
            _ => slot.insert((bits, Binomial::new(self.draws * bits, self.flip))).1.draw(rng),
        }
    }
}

const PREPARED: usize = 1 << 12;
