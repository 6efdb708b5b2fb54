//! Absence: the guarantee between taking part and not taking part at all, of all that is published of a labelled crowd.
//!
//! Paper: Definition dp-remove, with nothing in the place of whoever is left out; Section V, Algorithm CrowdThresh.
//! docs/accounting.md, Section 5, has the proof.

use throng_dp::{Absence, CentralGuarantee, Coins, Delta, Epsilon};

use crate::Error;
use crate::composition::{Composition, LossPair, tail_share};
use crate::deletion::Deletion;
use crate::terms::Terms;

/// The presence of one respondent in a labelled crowd: all counts that it moves.
///
/// # Privacy
/// Compares n uploads at every instance with n − 1. Every instance deletes by itself and says how many it kept: one pair
/// of [`Deletion::absence_pair`] for each. Given that it kept m in both worlds, the respondent is one of them with
/// probability m/n, and then another one is not: the same m − 1 people and one who differs. At the instance that holds the
/// respondent's count it moves, and at every instance that receives fragments the count of whoever made room may move: 1 +
/// K' exact pairs, in crowds of m. Who was kept, and who made room, has one law in both worlds, so by joint convexity
/// it may be given. All respondents have to be honest. A dishonest one can be seen to be deleted or not, and that says more
/// about n than is accounted for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presence {
    /// The fewest respondents that an instance keeps and goes on with. All of them are honest.
    pub crowd: u64,
    /// What each bit was randomized with. Of report fragments that all go to one instance: the backstop.
    pub epsilon: Epsilon,
    /// How many instances receive fragments.
    pub receiving: u32,
    /// How many count the crowd, each after a deletion of its own.
    pub instances: u32,
    /// What each of them deletes.
    pub deletion: Deletion,
}

impl Presence {
    /// The exact pairs of all counts that move, and of all deletions, composed.
    pub fn guarantee(&self, delta: Delta) -> Result<CentralGuarantee<Absence>, Error> {
        let counts = u64::from(self.receiving) + 1;
        let releases = counts + u64::from(self.instances);
        let count = LossPair::count(self.crowd, self.epsilon, tail_share(delta, releases as f64))?;
        let composed = Composition::new()
            .with(count, counts)
            .with(self.deletion.absence_pair()?, u64::from(self.instances))
            .epsilon(delta);
        // Without a crowd: bits that guarantee something by themselves, and deletions that add up.
        let bits = CentralGuarantee::new(self.epsilon.times(self.receiving.saturating_add(1)), Delta::ZERO);
        let one = self.deletion.absence_guarantee()?;
        let sum = (0..self.instances).fold(bits, |sum, _| sum + one);
        let epsilon = match composed {
            Ok(composed) if sum.delta() <= delta => composed.min(sum.epsilon()),
            Err(_) if sum.delta() <= delta => sum.epsilon(),
            composed => composed?,
        };
        Ok(CentralGuarantee::new(epsilon, delta))
    }
}

impl Terms {
    /// The guarantee of absence of a release of one epoch, at the claimed delta and for the smallest crowd that is released; or
    /// the reason why none is claimed.
    ///
    /// # Privacy
    /// [`Presence`], if all respondents of the crowd are honest and first hops keep to themselves how many came before
    /// they deleted. How many were kept differs between the two worlds, so this is stated for the crowd that every release
    /// has, not for the one that took part.
    pub fn absence(&self, respondents_min: u64) -> Result<CentralGuarantee<Absence>, Error> {
        let nothing = |reason: &str| Err(Error::NotApplicable(reason.into()));
        let Some(deletion) = self.deletion else {
            return nothing("the first hop of each instance signs how many took part, and that is exact");
        };
        let epsilon = match (self.coins, self.rows) {
            (_, Some(_)) => return nothing("how many are in each row of a sketch is not hidden by deletion"),
            (Coins::Runs { coin, runs: 1 }, None) => coin.epsilon(),
            (Coins::Runs { .. }, None) => {
                return nothing("several runs of one randomizer move several counts");
            }
            // The tau counts of a bit are a post-processing of the sum of backstops of those who were kept.
            (Coins::Fragments { backstop, .. }, None) if self.receiving == 1 => backstop.epsilon(),
            (Coins::Fragments { .. }, None) => {
                return nothing(
                    "instances delete different people, and report fragments of one backstop may tell which; nothing is \
                     proved of that",
                );
            }
        };
        let presence = Presence {
            crowd: respondents_min,
            epsilon,
            receiving: self.receiving,
            instances: self.instances,
            deletion,
        };
        let delta = self.claimed.delta();
        let mut assumed = self.claimed.epsilon();
        for _ in 0..ROUNDS {
            // The crowd, and the one who is there or not.
            let bodies = respondents_min.saturating_add(1);
            let overflow = self.traffic().overflow_delta(self.envelopes, bodies, assumed);
            let rest = delta.value() - overflow.value();
            if rest <= 0.0 {
                break;
            }
            let kept = presence.guarantee(Delta::new(rest.next_down())?)?;
            // What was set aside is enough for an epsilon that is no larger.
            if kept.epsilon() <= assumed {
                return Ok(CentralGuarantee::new(kept.epsilon(), delta));
            }
            assumed = Epsilon::new(kept.epsilon().value() * 1.001)?;
        }
        nothing("bodies that overflow take all of delta")
    }
}

/// How often an epsilon is raised for what overflowing bodies take of delta at it.
const ROUNDS: usize = 20;
