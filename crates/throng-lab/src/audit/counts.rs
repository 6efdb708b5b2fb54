//! The game on a release: the fragments of one respondent's bits, among those of a crowd.

use anyhow::{Result, bail};
use chacha20::ChaCha8Rng;
use throng_dp::{Coins, Fragments, Mechanism, Value};

use super::central::Crowd;
use super::game::{Game, Statistic, World};
use super::reports::ValueAttributes;
use throng_simulate::simulation::Mode;
use throng_simulate::simulation::binomial::Binomial;

/// The number of fragments of a value's own bits. Of a sketch it is that of one cell, beside the number of those who report
/// on the same row, which is taken to be seen (docs/accounting.md, Section 4).
pub(super) struct Counts {
    mechanism: Mechanism,
    value: Value,
    own: ValueAttributes,
    law: Law,
    others: OtherRespondents,
    scale: Scale,
}

/// The coins of a bit, as probabilities. One report without fragments is one fragment that is never flipped again.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// That the backstop is flipped.
    backstop: f64,
    /// That a fragment is flipped.
    fragment: f64,
    /// How many fragments there are.
    tau: u64,
}

/// Those who are there beside the one respondent.
enum OtherRespondents {
    /// Bits that are set and bits that are clear, counted at once; and how many of each are flipped.
    Bits { set: u64, clear: u64, lost: Binomial, gained: Binomial },
    /// The same, of which only those in the row that is looked at count.
    InRow { set: Binomial, clear: Binomial },
    /// Everyone reports: those who hold the value, and those who have nothing to say.
    Reports { with: u64, without: u64 },
}

/// Where a number has its outcome.
#[derive(Clone, Copy, Debug)]
struct Scale {
    first: f64,
    width: f64,
    outcomes: usize,
}

impl Counts {
    pub(super) fn new(crowd: &Crowd) -> Result<Self> {
        let (value, own) = ValueAttributes::middle(&crowd.mechanism)?;
        let law = Law::new(crowd.mechanism.coins());
        let (with, without) = (crowd.holders, crowd.others - crowd.holders);
        // Whoever holds the same record sets one of its bits.
        let clear = crowd.others * own.bits() - with;
        let rows = crowd.mechanism.sketch().map(|sketch| f64::from(sketch.shape().rows));
        let (others, scale) = match (crowd.mode, rows) {
            (Mode::Aggregate, None) => {
                let (lost, gained) = (Binomial::new(with, law.backstop), Binomial::new(clear, law.backstop));
                (OtherRespondents::Bits { set: with, clear, lost, gained }, law.scale(with, clear))
            }
            (Mode::Respondent, None) => (OtherRespondents::Reports { with, without }, law.scale(with, clear)),
            (Mode::Aggregate, Some(rows)) => {
                let part = |number| Binomial::new(number, 1.0 / rows);
                let members = crowd.others as f64 / rows;
                (
                    OtherRespondents::InRow { set: part(with), clear: part(without) },
                    law.scale_of_shares(members),
                )
            }
            (Mode::Respondent, Some(_)) => {
                bail!("fragments of a sketch do not say who reports on which row; use --mode aggregate")
            }
        };
        Ok(Self { mechanism: crowd.mechanism.clone(), value, own, law, others, scale })
    }

    /// The number that is looked at, in one game.
    fn number(&self, value: Option<&Value>, fragments: &mut Fragments, rng: &mut ChaCha8Rng) -> Result<f64> {
        if let OtherRespondents::Reports { with, without } = self.others {
            let mut tally = self.mechanism.tally()?;
            let holders = (0..with).map(|_| Some(&self.value));
            let rest = (0..without).map(|_| None);
            for value in holders.chain(rest).chain([value]) {
                self.mechanism.randomize_into(value, fragments, rng)?;
                tally.add_fragments(fragments.attributes())?;
            }
            let own = (0..).zip(tally.counts()).filter(|&(attribute, _)| self.own.holds(attribute));
            return Ok(own.map(|(_, count)| count).sum::<u64>() as f64);
        }
        self.mechanism.randomize_into(value, fragments, rng)?;
        let own = self.own.count(fragments.attributes());
        Ok(match &self.others {
            OtherRespondents::InRow { set, clear } => {
                let (set, clear) = (set.draw(rng), clear.draw(rng));
                let flipped = |number| Binomial::new(number, self.law.backstop);
                let ones = set - flipped(set).draw(rng) + flipped(clear).draw(rng);
                let most = self.law.tau * (set + clear + 1);
                (own + self.law.fragments(ones, set + clear - ones, rng)) as f64 / most as f64
            }
            OtherRespondents::Bits { set, clear, lost, gained } => {
                let ones = set - lost.draw(rng) + gained.draw(rng);
                (own + self.law.fragments(ones, set + clear - ones, rng)) as f64
            }
            OtherRespondents::Reports { .. } => own as f64,
        })
    }
}

impl Game for Counts {
    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic { name: "fragments of the value", outcomes: self.scale.outcomes }]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let value = match world {
            World::First => Some(&self.value),
            World::Second => None,
        };
        let mut fragments = Fragments::default();
        for _ in 0..games {
            let number = self.number(value, &mut fragments, rng)?;
            counts[0][self.scale.outcome(number)] += 1;
        }
        Ok(())
    }
}

impl Law {
    fn new(coins: Coins) -> Self {
        match coins {
            Coins::Runs { coin, .. } => Self { backstop: coin.probability(), fragment: 0.0, tau: 1 },
            Coins::Fragments { backstop, fragment, tau } => {
                let tau = u64::from(tau);
                Self { backstop: backstop.probability(), fragment: fragment.probability(), tau }
            }
        }
    }

    /// How many fragments are 1, of `ones` backstops that are 1 and `zeros` that are 0.
    fn fragments(&self, ones: u64, zeros: u64, rng: &mut ChaCha8Rng) -> u64 {
        if self.fragment == 0.0 {
            return self.tau * ones;
        }
        let flipped = |backstops| Binomial::new(self.tau * backstops, self.fragment);
        self.tau * ones - flipped(ones).draw(rng) + flipped(zeros).draw(rng)
    }

    /// The mean of a clear bit's fragments, and the variance of any bit's.
    fn moments(&self) -> (f64, f64) {
        let (b, f, tau) = (self.backstop, self.fragment, self.tau as f64);
        let gain = tau * (1.0 - 2.0 * f);
        (tau * f + gain * b, tau * f * (1.0 - f) + gain * gain * b * (1.0 - b))
    }

    /// Numbers around the mean, one by one where that is not too many.
    fn scale(&self, set: u64, clear: u64) -> Scale {
        let (mean, variance) = self.moments();
        let (tau, all) = (self.tau as f64, (set + clear) as f64);
        let mean = clear as f64 * mean + set as f64 * (tau - mean);
        let reach = SPAN * (all * variance).sqrt() + tau + 2.0;
        let first = (mean - reach).floor().max(0.0);
        let last = (mean + reach).ceil();
        let width = ((last - first) / OUTCOMES_MAX).ceil().max(1.0);
        Scale { first, width, outcomes: ((last - first) / width) as usize + 1 }
    }

    /// Shares of the largest possible number, around that of clear bits.
    fn scale_of_shares(&self, members: f64) -> Scale {
        let (mean, variance) = self.moments();
        let tau = self.tau as f64;
        let deviation = (variance / members.max(1.0)).sqrt() / tau;
        let first = (mean / tau - SPAN * deviation).max(0.0);
        let last = (mean / tau + SPAN * deviation + 1.0 / members.max(1.0)).min(1.0);
        let width = (last - first) / SHARES;
        Scale { first, width, outcomes: SHARES as usize + 1 }
    }
}

impl Scale {
    /// Numbers beyond the ends are put together with those at the ends.
    #[inline]
    fn outcome(&self, number: f64) -> usize {
        (((number - self.first) / self.width).max(0.0) as usize).min(self.outcomes - 1)
    }
}

/// Beyond this many deviations from the mean, numbers are not told apart.
const SPAN: f64 = 10.0;
const OUTCOMES_MAX: f64 = 4096.0;
const SHARES: f64 = 512.0;
