//! The terms of a survey, as numbers: what they guarantee for a crowd, and what a release under them spends.
//!
//! A respondent asks before answering, for the smallest crowd that is released; an analyzer asks afterwards, for the crowd
//! that took part.

use throng_dp::{CentralGuarantee, Coins, Delta, Epsilon, Removal};

use crate::Error;
use crate::bound::Bound;
use crate::composition::counts_epsilon;
use crate::deletion::Deletion;
use crate::exceeded::exceeded_at_most;
use crate::label::kept_by_each;
use crate::ledger::{Entry, HonestCrowd, Ledger, Spending};
use crate::patience::{CancelToken, TO_THE_END, still_wanted};
use crate::traffic::Traffic;

/// All that the guarantee of a release rests on, but the crowd.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The coins between a bit and the analyzer's sums.
    pub coins: Coins,
    /// Whether the first report of a respondent counts for all epochs (`answer_changes = "never"`); of no meaning without a
    /// backstop.
    pub answers_kept: bool,
    /// The length of the bit vector that is flipped for one report.
    pub width: u64,
    /// The rows of a sketch, which are taken to be visible.
    pub rows: Option<u32>,
    /// How many shuffler instances there are, each of which counts the crowd.
    pub instances: u32,
    /// Over how many of them fragments are spread: all, or those of the label's trust profile. The others get chaff alone.
    pub receiving: u32,
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

/// The guarantee of some terms for a crowd, with what it takes to compose it with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochGuarantee {
    /// What a release of one epoch guarantees, at the delta that is claimed.
    pub central: CentralGuarantee<Removal>,
    /// The part of delta that overflowing bodies take.
    pub overflow: Delta,
    /// The honest respondents that hide each other in every count: as many as each instance keeps.
    pub honest: u64,
    /// The probability that a body overflows, or that more are deleted than was counted on.
    miss: Delta,
    /// What may be composed with other epochs. A single epoch is epsilon_backstop-LDP, but epochs of answers that change are
    /// no releases of that kind: theirs is the guarantee of the fragments, with the coins as the data.
    composable: CentralGuarantee<Removal>,
}

impl Terms {
    /// What a release guarantees that is made of this many distinct respondents, or the reason why nothing can be said.
    ///
    /// # Privacy
    /// Every count is held by one instance (`throng_dp::fragmenting::Assignment`), and `respondents` is at most the crowd of
    /// each of them: it may be a different crowd. Under a trust profile the same is said of its K' instances. Chaff says
    /// nothing. The other instances see who takes part, which is what deletion hides, in all K. Deletion looks
    /// at no value, and in both worlds that are compared the same respondents upload: given whom each instance keeps, the
    /// release is that of their counts. It costs no epsilon.
    pub fn guarantee(&self, respondents: u64) -> Result<EpochGuarantee, Error> {
        self.guarantee_while(respondents, TO_THE_END)
    }

    /// The same for as long as `go_on` says yes.
    pub fn guarantee_while(&self, respondents: u64, go_on: CancelToken<'_>) -> Result<EpochGuarantee, Error> {
        let mut assumed = self.claimed.epsilon();
        for _ in 0..ROUNDS {
            still_wanted(go_on)?;
            let kept = self.guarantee_assuming(respondents, assumed)?;
            // What was set aside for overflow and deletion, (1 + e^epsilon) times their probability, is enough for an epsilon
            // that is no larger.
            if kept.central.epsilon() <= assumed {
                return Ok(kept);
            }
            assumed = Epsilon::new(kept.central.epsilon().value() * (1.0 + 1e-6))?;
        }
        Err(Error::NotApplicable(
            "what overflows takes all of delta; give more envelopes or a larger crowd".into(),
        ))
    }

    /// The same, with as much of delta set aside as it takes for an epsilon of this size.
    fn guarantee_assuming(&self, respondents: u64, assumed: Epsilon) -> Result<EpochGuarantee, Error> {
        let (delta, twice) = (self.claimed.delta(), 1.0 + assumed.value().exp());
        let mut honest = (respondents as f64 * self.honest_fraction).floor() as u64;
        let overflow = self.traffic().overflow_delta(self.envelopes, respondents, assumed);
        // That more are deleted than is counted on has a share of delta, in both worlds that are compared.
        let mut beyond = Delta::ZERO;
        if let Some(rule) = &self.deletion {
            beyond = Delta::new(delta.value() * DELETION_SHARE)?;
            // A count hides its respondents in what its own instance kept.
            honest = kept_by_each(honest, rule, self.receiving, beyond.value() / twice)?;
        }
        // What delta has left for the counts themselves.
        let beside = overflow + beyond;
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
        let central = CentralGuarantee::new(self.counts_epsilon(honest, rest)?, delta);
        let composable = match self.coins {
            // Where the first report counts, any epoch at epsilon_backstop pays for all others.
            Coins::Fragments { fragment, tau, .. } if !self.answers_kept => {
                let fragments = (fragment.epsilon(), tau);
                let counts = fragments_epsilon(self.bound, honest, fragments, rest, self.rows)?;
                CentralGuarantee::new(counts, delta)
            }
            Coins::Fragments { .. } | Coins::Runs { .. } => central,
        };
        let miss = Delta::new((overflow + beyond).value() / twice * (1.0 + 1e-15))?;
        Ok(EpochGuarantee { central, overflow, honest, miss, composable })
    }

    /// The same for a crowd that may be larger than what was planned for: those beyond the plan may be counted on, or left
    /// out as if they were not there, whichever says more. Every further body is one more that can overflow.
    pub fn guarantee_at_least(
        &self,
        respondents: u64,
        planned: u64,
        go_on: CancelToken<'_>,
    ) -> Result<EpochGuarantee, Error> {
        let planned = self.guarantee_while(planned.min(respondents), go_on);
        match (self.guarantee_while(respondents, go_on), planned) {
            (Err(Error::Cancelled), _) | (_, Err(Error::Cancelled)) => Err(Error::Cancelled),
            (Ok(all), Ok(planned)) if all.central.epsilon() <= planned.central.epsilon() => Ok(all),
            (Ok(all), Err(_)) => Ok(all),
            (_, planned) => planned,
        }
    }

    /// What a release of one epoch spends, as tightly as it composes with others.
    pub fn spending(&self, kept: &EpochGuarantee) -> Spending {
        let EpochGuarantee { honest, miss, .. } = *kept;
        // Crowds of about one size are one, so that a ledger of many epochs has few curves to compose.
        let crowd = HonestCrowd { honest: on_grid(honest), miss };
        match (self.coins, self.rows) {
            (Coins::Runs { coin, runs }, None) => {
                Spending::Bits { crowd, epsilon_local: coin.epsilon(), moved: runs }
            }
            // Only its guarantee is known of a sketch whose rows are visible.
            (_, Some(_)) => Spending::Guarantee(kept.composable),
            (Coins::Fragments { backstop, fragment, tau }, None) => Spending::Backstop {
                crowd,
                epsilon_backstop: backstop.epsilon(),
                epsilon_fragment: fragment.epsilon(),
                fragments: tau,
                answers_kept: self.answers_kept,
            },
        }
    }

    /// The guarantee of the counts of one epoch at a delta of their own, with `honest` honest respondents.
    ///
    /// # Privacy
    /// With tau = 1 one count moves, in the crowd of the instance that holds it. Where all tau fragments of a bit go to one
    /// instance their sums are a post-processing of one sum of backstops, over the same respondents, and as private as
    /// that. Over several instances they are not: uploads fail, and labelled crowds lose others in each, so the
    /// difference of two sums may show the fragments of those who are in one of them. There (for sketches always, of which
    /// the ledger knows no more) the backstops are the data. Given them, fragment t of the bit is one count at one
    /// instance, in a crowd of at least `honest`, and the tau counts are independent: tau exact pairs, composed, for
    /// every K and tau and whoever was counted where. One epoch is epsilon_backstop-LDP in any case.
    pub fn counts_epsilon(&self, honest: u64, delta: Delta) -> Result<Epsilon, Error> {
        match self.coins {
            Coins::Runs { runs: 2.., .. } => {
                Err(Error::NotApplicable("several runs of one randomizer move several counts".into()))
            }
            Coins::Runs { coin, .. } => self.bound.epsilon_central(honest, coin.epsilon(), delta, self.rows),
            Coins::Fragments { backstop, .. } if self.receiving == 1 && self.rows.is_none() => {
                self.bound.epsilon_central(honest, backstop.epsilon(), delta, None)
            }
            Coins::Fragments { backstop, fragment, tau } => {
                let composed =
                    fragments_epsilon(self.bound, honest, (fragment.epsilon(), tau), delta, self.rows)?;
                Ok(composed.min(backstop.epsilon()))
            }
        }
    }

    /// The probability that a release about this many respondents tells more about one of them than the claimed ε allows:
    /// at most this, and 1 if nothing is known.
    ///
    /// # Privacy
    /// [`exceeded_at_most`] of what the same terms guarantee at a smaller ε and a larger δ, so it holds wherever
    /// [`Terms::guarantee`] does: over all data of the others, both directions, overflow and deletion included, for every
    /// encoding and with report fragments.
    pub fn exceeded(&self, respondents: u64, go_on: CancelToken<'_>) -> Result<f64, Error> {
        let claimed = self.claimed;
        let mut least = 1.0_f64;
        for multiple in MULTIPLES {
            let Ok(delta) = Delta::new(multiple * claimed.delta().value()) else { continue };
            let larger = Self { claimed: CentralGuarantee::new(claimed.epsilon(), delta), ..self.clone() };
            match larger.guarantee_while(respondents, go_on) {
                Ok(kept) => least = least.min(exceeded_at_most(claimed.epsilon(), kept.central)),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(_) => {}
            }
        }
        Ok(least)
    }

    /// What the releases of `epochs` epochs, each about this many respondents, guarantee together to someone who answered
    /// in all of them: what a ledger would have booked.
    pub fn series(
        &self,
        respondents: u64,
        epochs: u32,
        delta: Delta,
        go_on: CancelToken<'_>,
    ) -> Result<CentralGuarantee<Removal>, Error> {
        let spending = self.spending(&self.guarantee_while(respondents, go_on)?);
        still_wanted(go_on)?;
        let mut ledger = Ledger::new(CentralGuarantee::new(Epsilon::INFINITE, delta));
        for epoch in 0..u64::from(epochs) {
            ledger.restore("", Entry { survey: String::new(), epoch, spending })?;
        }
        ledger.spent("")
    }

    /// How many fragments a respondent has.
    pub(crate) fn traffic(&self) -> Traffic {
        let (coin, fragments) = match self.coins {
            Coins::Runs { coin, .. } => (coin, None),
            Coins::Fragments { backstop, fragment, tau } => (backstop, Some((fragment, tau))),
        };
        Traffic { width: self.width, coin, fragments, instances: self.receiving }
    }
}

/// At most half a percent less, in steps that are the same for everyone.
fn on_grid(honest: u64) -> u64 {
    let step = (honest / 256).checked_ilog2().map_or(1, |log| 1 << log);
    honest / step * step
}

/// What tau report fragments of one epoch guarantee with the backstop as the data: composed exactly, or, under a bound that
/// has no composition of its own, added up.
pub(crate) fn fragments_epsilon(
    bound: &Bound,
    honest: u64,
    (epsilon, tau): (Epsilon, u32),
    delta: Delta,
    rows: Option<u32>,
) -> Result<Epsilon, Error> {
    if bound.name == "exact" && rows.is_none() {
        return Ok(counts_epsilon(honest, epsilon, u64::from(tau), delta)?.epsilon());
    }
    let share = Delta::new(delta.value() / f64::from(tau))?;
    Ok(bound.epsilon_central(honest, epsilon, share, rows)?.times(tau))
}

/// How often an epsilon is raised for what is set aside for it; where a claim holds once is enough.
const ROUNDS: usize = 60;

/// The part of delta for crowds that lose more to deletion than is counted on.
pub(crate) const DELETION_SHARE: f64 = 0.01;

/// The guarantee is asked for at these multiples of δ.
///
/// Where δ falls like e^(−λε), the best multiple is (1 + 1/λ)^λ, from 2 to e, and one of the two is within 7 % of it.
const MULTIPLES: [f64; 2] = [2.0, 2.7];
