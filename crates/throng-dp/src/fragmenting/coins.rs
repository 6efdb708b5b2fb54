//! Memoized randomized response for answers that may change: permanent coins, which a respondent draws once for a survey,
//! before there is any answer.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use super::report::{Backstop, ReportFragments};
use crate::randomizer::BitRandomizer;
use crate::sampling::{Bernoulli, below};
use crate::{Epsilon, Error};

/// Permanent coins: a pair of memoized responses for every attribute. r0 is sent on while the bit of an answer is 0, r1 while
/// it is 1.
///
/// With s the threshold of the coin and one uniform u in [0, 2^128) for each attribute, r0 = \[u < s\] and
/// r1 = [u < 2^128 − s]. So each of them alone is randomized response, and r1 = 1 wherever r0 = 1: another answer changes
/// the bits of the old and the new value, and no other.
///
/// What is stored does not depend on any answer: the report on nothing, which has all attributes with r0 = 1 (and the
/// sampled rows of a sketch), and a key. Given r0 = 0 the rest of the pair is a function of key and attribute, and of
/// nothing else: the next u of ChaCha20's keystream that is not below s. The coins are erased when dropped.
pub struct PermanentCoins<T: Zeroize> {
    silent: T,
    key: Zeroizing<[u8; KEY_LEN]>,
    coin: Bernoulli,
}

/// How long the key of permanent coins is, in bytes.
pub const KEY_LEN: usize = 32;

impl<R: BitRandomizer> ReportFragments<R>
where
    R::Report: Zeroize,
{
    /// Draws permanent coins. A respondent does so once for a survey, whatever is answered and when, and stores them.
    pub fn draw_coins(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<PermanentCoins<R::Report>, Error> {
        let silent = self.backstop().randomize(None, rng)?;
        let mut key = Zeroizing::new([0; KEY_LEN]);
        rng.fill_bytes(&mut *key);
        Ok(PermanentCoins { silent, key, coin: self.backstop().coin() })
    }

    /// The backstop of an answer, or of having nothing to say: a function of the coins and the answer, so the same answer
    /// has the same backstop in every epoch.
    pub fn backstop_of(
        &self,
        coins: &PermanentCoins<R::Report>,
        value: Option<&R::Value>,
    ) -> Result<Backstop<R::Report>, Error> {
        if coins.coin != self.backstop().coin() || !self.backstop().fits(&coins.silent) {
            return Err(Error::ForeignBackstop);
        }
        let mut held = self.backstop().held(value, &coins.silent, |count| coins.pick(count))?;
        held.retain(|&attribute| coins.rest(attribute));
        Ok(Backstop::new(self.backstop().with(&coins.silent, &held), coins.coin))
    }

    /// The guarantee of answers that change.
    pub fn series(&self) -> AnswerSeries {
        AnswerSeries {
            epsilon_backstop: self.backstop().coin().epsilon(),
            epsilon_fragment: self.fragment_coin().epsilon(),
            tau: self.tau(),
            bits: self.backstop().differing_bits(),
        }
    }
}

impl<T: Zeroize> PermanentCoins<T> {
    /// Coins that the caller had stored.
    pub fn from_stored(silent: T, key: Zeroizing<[u8; KEY_LEN]>, threshold: u128) -> Self {
        Self { silent, key, coin: Bernoulli::from_threshold(threshold) }
    }

    /// What to store: the report on nothing ...
    pub fn silent(&self) -> &T {
        &self.silent
    }

    /// ... the key of all other responses ...
    pub fn key(&self) -> &[u8; KEY_LEN] {
        &self.key
    }

    /// ... and the threshold of the coin.
    pub fn threshold(&self) -> u128 {
        self.coin.threshold()
    }

    /// r1 of an attribute with r0 = 0.
    fn rest(&self, attribute: u32) -> bool {
        rest_of_pair(self.coin.threshold(), &mut self.words(u64::from(attribute)))
    }

    /// One of `count`, always the same: the attribute of a record that all reports are about.
    fn pick(&self, count: u64) -> u64 {
        below(count, &mut self.words(PICK))
    }

    /// The key's keystream with this number as its nonce.
    fn words(&self, number: u64) -> ChaCha20Rng {
        let mut words = ChaCha20Rng::from_seed(*self.key);
        words.set_stream(number);
        words
    }
}

/// r1 given r0 = 0: u is uniform above the threshold s, and 2^128 − s is where r1 ends.
fn rest_of_pair(threshold: u128, words: &mut impl Rng) -> bool {
    loop {
        let u = u128::from(words.next_u64()) << 64 | u128::from(words.next_u64());
        if u >= threshold {
            // Without any flips, r1 is always 1.
            return threshold == 0 || u < threshold.wrapping_neg();
        }
    }
}

impl<T: Zeroize> fmt::Debug for PermanentCoins<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PermanentCoins(..)")
    }
}

impl<T: Zeroize> Drop for PermanentCoins<T> {
    fn drop(&mut self) {
        self.silent.zeroize();
    }
}

/// The local guarantee of all that is sent over several epochs from permanent coins, while answers change.
///
/// # Privacy
/// Removal, proved: against having nothing to say in any epoch, answers j that were given in m_j of T epochs say at most
/// ε = bits · Σ_j min(τ ε_f m_j, ε_b + τ ε_f (T − m_j)). Epochs with nothing to say count in T alone. With one answer in all
/// epochs that is at most ε_b for each bit, and exactly [`crate::fragmenting::exposed_epsilon`] of τT fragments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnswerSeries {
    /// Of the backstop, for each bit.
    pub epsilon_backstop: Epsilon,
    /// Of each report fragment, for each bit.
    pub epsilon_fragment: Epsilon,
    /// Report fragments per epoch.
    pub tau: u32,
    /// How many bits an answer sets.
    pub bits: u32,
}

impl AnswerSeries {
    /// The loss of `epochs` together. `answers` has, for each answer that was given, in how many epochs; in the rest there was
    /// nothing to say.
    pub fn epsilon(&self, epochs: u32, answers: impl IntoIterator<Item = u32>) -> Epsilon {
        let epoch = self.epsilon_fragment.times(self.tau);
        let of = |times: u32| {
            let others = epoch.times(epochs.saturating_sub(times));
            epoch.times(times).min(self.epsilon_backstop + others)
        };
        answers.into_iter().map(of).fold(Epsilon::ZERO, |sum, each| sum + each).times(self.bits)
    }
}

/// The nonce of [`PermanentCoins::pick`], which is no attribute's.
const PICK: u64 = 1 << 32;

#[cfg(test)]
mod tests;
