//! The terms of a survey, as numbers: what they guarantee for a crowd, and what a release under them spends.
//!
//! A respondent asks before answering, for the smallest crowd that is released; an analyzer asks afterwards, for the crowd
//! that took part.

use throng_dp::{CentralGuarantee, Coins, Delta, Epsilon, Removal};

use crate::Error;
use crate::bound::Bound;
use crate::deletion::Deletion;
use crate::epochs::Membership;
use crate::label::{kept_everywhere, with_deletion};
use crate::ledger::{Hiding, Spending};
use crate::planner::Traffic;

/// All that the guarantee of a release rests on, but the crowd.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The coins between a bit and the analyzer's sums.
    pub coins: Coins,
    /// The length of the bit vector that is flipped for one report.
    pub width: u64,
    /// The rows of a sketch, which are taken to be visible.
    pub rows: Option<u32>,
    /// Over how many shuffler instances fragments are spread.
    pub instances: u32,
    /// How many envelopes every respondent sends to every instance.
    pub envelopes: u32,
    /// The share of the crowd that is assumed to be honest.
    pub honest_fraction: f64,
    /// What every instance deletes before it counts a labelled crowd.
    pub deletion: Option<Deletion>,
    /// What is claimed. A guarantee is stated at its delta.
    pub claimed: CentralGuarantee<Removal>,
    /// The bound that is to prove it.
    pub bound: &'static Bound,
}

/// What the terms guarantee for a crowd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// What a release of one epoch guarantees, at the delta that is claimed.
    pub central: CentralGuarantee<Removal>,
    /// The part of delta that overflowing bodies take.
    pub overflow: Delta,
    /// The honest respondents that hide each other: those that no instance deletes.
    pub honest: u64,
    /// The probability that a body overflows, or that more are deleted than was counted on.
    miss: Delta,
    /// What the deletions cost.
    deletion: CentralGuarantee<Removal>,
}

impl Terms {
    /// What a release guarantees that is made of this many distinct respondents, or the reason why nothing can be said.
    pub fn guarantee(&self, respondents: u64) -> Result<Kept, Error> {
        if let Coins::Runs { runs: 2.., .. } = self.coins {
            return Err(Error::NotApplicable("several runs of one randomizer move several counts".into()));
        }
        let (delta, twice) = (self.claimed.delta(), 1.0 + self.claimed.epsilon().value().exp());
        let mut honest = (respondents as f64 * self.honest_fraction).floor() as u64;
        let overflow = self.traffic().overflow_delta(self.envelopes, respondents, self.claimed.epsilon());
        let mut deletion = CentralGuarantee::new(Epsilon::ZERO, Delta::ZERO);
        // That more are deleted than is counted on has a share of delta, in both worlds that are compared.
        let mut beyond = Delta::ZERO;
        if let Some(rule) = &self.deletion {
            beyond = Delta::new(delta.value() * DELETION_SHARE)?;
            honest = kept_everywhere(honest, rule, self.instances, beyond.value() / twice)?;
            deletion = with_deletion(deletion, rule, self.instances)?;
        }
        // What delta has left for the counts themselves.
        let beside = overflow + beyond + deletion.delta();
        let rest = delta.value() - beside.value();
        if overflow >= delta || rest <= 0.0 {
            return Err(Error::NotApplicable(format!(
                "{} envelopes to each instance are too few to hide how many fragments there are: that alone takes \
                 {:e} of delta {:e}",
                self.envelopes,
                beside.value(),
                delta.value()
            )));
        }
        let rest = Delta::new(rest.next_down())?;
        let counts = self.bound.epsilon_central(honest, self.bit_epsilon(), rest, self.rows)?;
        let central = CentralGuarantee::new(counts + deletion.epsilon(), delta);
        let miss = Delta::new((overflow + beyond).value() / twice * (1.0 + 1e-15))?;
        Ok(Kept { central, overflow, honest, miss, deletion })
    }

    /// The same for a crowd that may be larger than what was planned for: those beyond the plan may be counted on, or left
    /// out as if they were not there, whichever says more. Every further body is one more that can overflow.
    pub fn guarantee_at_least(&self, respondents: u64, planned: u64) -> Result<Kept, Error> {
        let planned = self.guarantee(planned.min(respondents));
        match (self.guarantee(respondents), planned) {
            (Ok(all), Ok(planned)) if all.central.epsilon() <= planned.central.epsilon() => Ok(all),
            (Ok(all), Err(_)) => Ok(all),
            (_, planned) => planned,
        }
    }

    /// What a release of one epoch spends, as tightly as it composes with others.
    pub fn spending(&self, kept: &Kept) -> Spending {
        let Kept { honest, miss, deletion, .. } = *kept;
        let crowd = Hiding { honest, miss, deletion };
        match (self.coins, self.rows) {
            (Coins::Runs { coin, runs }, None) => {
                Spending::Bits { crowd, epsilon_local: coin.epsilon(), moved: runs }
            }
            // Only its guarantee is known of a sketch whose rows are visible.
            (Coins::Runs { .. }, Some(_)) => Spending::Guarantee(kept.central),
            (Coins::Fragments { backstop, fragment, tau }, rows) => Spending::Backstop {
                crowd,
                epsilon_backstop: backstop.epsilon(),
                epsilon_fragment: fragment.epsilon(),
                fragments: tau,
                // Nobody can know that the same people took part in two epochs.
                membership: Membership::Changing,
                alone: rows.map(|_| kept.central),
            },
        }
    }

    /// The epsilon of the coin that each bit of the report, or of the backstop, is flipped with.
    fn bit_epsilon(&self) -> Epsilon {
        match self.coins {
            Coins::Runs { coin, .. } => coin.epsilon(),
            Coins::Fragments { backstop, .. } => backstop.epsilon(),
        }
    }

    /// How many fragments a respondent has.
    fn traffic(&self) -> Traffic {
        let (coin, fragments) = match self.coins {
            Coins::Runs { coin, .. } => (coin, None),
            Coins::Fragments { backstop, fragment, tau } => (backstop, Some((fragment, tau))),
        };
        Traffic { width: self.width, coin, fragments, instances: self.instances }
    }
}

/// The part of delta for crowds that lose more to deletion than is counted on.
const DELETION_SHARE: f64 = 0.01;
