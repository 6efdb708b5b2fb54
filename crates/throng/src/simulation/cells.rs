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
    crowd: u64,
    first: Layer,
    second: Option<Layer>,
}

/// One coin for each of so many draws of a bit.
#[derive(Clone, Debug)]
struct Layer {
    draws: u64,
    flip: f64,
    /// Prepared for the smallest numbers of ones, which are most of them.
    flipped_in: Vec<Option<Binomial>>,
}

impl CellNoise {
    pub(super) fn new(coins: Coins, crowd: u64) -> Self {
        let (first, second) = match coins {
            Coins::Runs { coin, runs } => (Layer::new(runs, coin.probability()), None),
            Coins::Fragments { backstop, fragment, tau } => {
                (Layer::new(1, backstop.probability()), Some(Layer::new(tau, fragment.probability())))
            }
        };
        Self { crowd, first, second }
    }

    /// The count for an attribute that `set` of the crowd have set.
    #[inline]
    pub(super) fn draw(&mut self, set: u64, rng: &mut impl Rng) -> u64 {
        let sum = self.first.draw(self.crowd, set, rng);
        match &mut self.second {
            None => sum,
            Some(fragments) => fragments.draw(self.crowd, sum, rng),
        }
    }
}

impl Layer {
    fn new(draws: u32, flip: f64) -> Self {
        Self { draws: u64::from(draws), flip, flipped_in: vec![None; PREPARED] }
    }

    #[inline]
    fn draw(&mut self, crowd: u64, set: u64, rng: &mut impl Rng) -> u64 {
        let clear = || Binomial::new(self.draws * (crowd - set), self.flip);
        let flipped_in = match self.flipped_in.get_mut(set as usize) {
            Some(prepared) => prepared.get_or_insert_with(clear).draw(rng),
            None => clear().draw(rng),
        };
        let ones = self.draws * set;
        let kept = if ones == 0 { 0 } else { ones - Binomial::new(ones, self.flip).draw(rng) };
        kept + flipped_in
    }
}

const PREPARED: usize = 64;
