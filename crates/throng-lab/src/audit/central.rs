//! An empirical lower bound of ε_central: is one respondent in the counts, or did they have nothing to say?
//!
//! The analyzer sees of every bit how many fragments came. Only those of the respondent's own bits depend on them, and all
//! else is known to the attacker (docs/accounting.md, Section 2; of the tau fragments of a bit only
//! the total over all instances is looked at). So the game is drawn exactly: the respondent's report by the encoder,
//! the others by their law or one by one. Where a survey's δ is too small to be sampled, larger ones on the same curve are
//! tried as well.

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use throng_account::bound::{BOUNDS, Bound};
use throng_account::terms::Terms;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Mechanism, Removal};

use super::Verdict;
use super::counts::Counts;
use super::game::{Stream, play};
use throng_simulate::simulation::Mode;

/// A crowd that answers a survey.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// The respondents that the promise counts on, with the one whose presence is in question.
    pub respondents: u64,
    /// How many of the others hold the same value.
    pub holders: u64,
    /// How many of the others are really there; all of them unless the crowd is stated too large.
    pub others: u64,
    /// What they answer with.
    pub mechanism: Mechanism,
    /// How the others are drawn.
    pub mode: Mode,
    /// What bounds make of it.
    pub terms: Terms,
}

/// The parameters of a central audit: how closely to look.
#[derive(Clone, Debug)]
pub struct Questions {
    /// The δ at which the bounds are tried.
    pub deltas: Vec<Delta>,
    /// What the survey itself claims, which is tried at its own δ and at all larger ones.
    pub claim: Option<CentralGuarantee<Removal>>,
    /// Games in each world that try the event; a third as many choose it before.
    pub games: u64,
    /// The probability that a kept promise is called broken.
    pub error: f64,
}

/// The findings at one δ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeltaFindings {
    /// The δ.
    pub delta: f64,
    /// No smaller ε explains what was seen.
    pub lower: f64,
    /// What the survey itself claims; none at a δ that it says nothing about.
    pub claim: Option<ClaimVerdict>,
    /// What each bound claims there.
    pub bounds: Vec<ClaimVerdict>,
}

/// A claim beside what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimVerdict {
    /// By which bound; of a survey's own claim "claim".
    pub bound: &'static str,
    /// Its ε_central; none where it does not apply.
    pub claimed: Option<f64>,
    /// The claim over the lower bound: 1 would be the whole truth.
    pub looseness: Option<f64>,
    /// Whether it stands.
    pub verdict: Verdict,
}

impl Crowd {
    /// Plays the game, and compares with every bound and with what the survey claims.
    pub fn audit(&self, questions: &Questions, stream: Stream) -> Result<Vec<DeltaFindings>> {
        ensure!(
            self.respondents >= 1 && self.holders <= self.others,
            "more holders than others in the crowd"
        );
        let mut deltas = questions.deltas.clone();
        deltas.extend(questions.claim.map(|claim| claim.delta()).filter(|delta| !deltas.contains(delta)));
        ensure!(!deltas.is_empty(), "give at least one delta to try the bounds at");
        // Where the exact accountant says nothing there is nothing to compare with.
        self.terms.counts_epsilon(self.respondents, deltas[0]).context(NOT_APPLICABLE)?;
        let game = Counts::new(self)?;
        let chosen = play(&game, questions.games.div_ceil(3), stream, 0)?.swap_remove(0);
        let tried = play(&game, questions.games, stream, 1)?.swap_remove(0);
        let error = questions.error / deltas.len() as f64;
        let found = |&delta: &Delta| {
            let lower = tried.limits(&chosen.promising(delta, error), delta, error)?.lower;
            let claim = questions.claim.filter(|claim| delta >= claim.delta());
            let claim = claim.map(|claim| ClaimVerdict::new("claim", Some(claim.epsilon()), lower));
            let bounds = BOUNDS.iter().map(|bound| self.claimed(bound, delta, lower)).collect();
            Ok(DeltaFindings { delta: delta.value(), lower, claim, bounds })
        };
        deltas.iter().map(found).collect()
    }

    fn claimed(&self, bound: &'static Bound, delta: Delta, lower: f64) -> ClaimVerdict {
        let terms = Terms { bound, ..self.terms.clone() };
        ClaimVerdict::new(bound.name, terms.counts_epsilon(self.respondents, delta).ok(), lower)
    }
}

impl DeltaFindings {
    /// Whether all that is claimed stands.
    pub fn verdict(&self) -> Verdict {
        Verdict::all(self.claim.iter().chain(&self.bounds).map(|claimed| claimed.verdict))
    }
}

impl ClaimVerdict {
    fn new(bound: &'static str, claimed: Option<Epsilon>, lower: f64) -> Self {
        let claimed = claimed.map(Epsilon::value);
        let looseness = claimed.filter(|_| lower > 0.0).map(|claimed| claimed / lower);
        let verdict = Verdict::of(claimed.is_some_and(|claimed| lower > claimed));
        Self { bound, claimed, looseness, verdict }
    }
}

const NOT_APPLICABLE: &str = "the accountant has no epsilon_central for this, so there is nothing to compare with; give a \
    survey that `throng plan` can write, or --respondents and --epsilon-local";

#[cfg(test)]
mod tests {
    use super::*;
    use throng_dp::{Attributes, CountSketch, OneHot, Record, SketchShape};

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    fn terms(mechanism: &Mechanism) -> Terms {
        Terms {
            answers_kept: false,
            coins: mechanism.coins(),
            width: mechanism.domain(),
            rows: mechanism.sketch().map(|sketch| sketch.shape().rows),
            instances: 1,
            receiving: 1,
            envelopes: 100,
            honest_fraction: 1.0,
            deletion: None,
            claimed: CentralGuarantee::new(epsilon(1.0), Delta::new(1e-6).unwrap()),
            bound: &BOUNDS[0],
        }
    }

    fn crowd(respondents: u64, others: u64, mechanism: Mechanism, mode: Mode) -> Crowd {
        let terms = terms(&mechanism);
        Crowd { respondents, holders: 0, others, mechanism, mode, terms }
    }

    fn one_hot(epsilon_local: f64) -> OneHot {
        OneHot::new(3, epsilon(epsilon_local)).unwrap()
    }

    fn questions(games: u64) -> Questions {
        Questions { deltas: vec![Delta::new(0.01).unwrap()], claim: None, games, error: 1e-6 }
    }

    fn found(crowd: &Crowd, games: u64) -> DeltaFindings {
        crowd.audit(&questions(games), Stream { seed: 5, measurement: 0 }).unwrap().remove(0)
    }

    fn claimed(found: &DeltaFindings, bound: &str) -> f64 {
        found.bounds.iter().find(|claimed| claimed.bound == bound).unwrap().claimed.unwrap()
    }

    /// The exact accountant is nearly reached, the paper's bounds are far: with an error probability of 1e-6.
    #[test]
    fn the_exact_bound_is_tight_and_the_papers_are_loose() {
        let found = found(&crowd(4000, 3999, Mechanism::plain(one_hot(4.0)), Mode::Aggregate), 3_000_000);
        assert_eq!(found.verdict(), Verdict::Kept, "{found:?}");
        let exact = claimed(&found, "exact");
        assert!(found.lower > 0.85 * exact && found.lower <= exact, "{found:?}");
        assert!(claimed(&found, "lemma") > 2.0 * found.lower, "{found:?}");
    }

    /// Everyone reports for themselves: the same law.
    #[test]
    fn a_crowd_that_reports_one_by_one_is_as_private() {
        let found = found(&crowd(40, 39, Mechanism::plain(one_hot(2.0)), Mode::Respondent), 150_000);
        let exact = claimed(&found, "exact");
        assert!(found.lower > 0.6 * exact && found.lower <= exact, "{found:?}");
    }

    /// A crowd that is half as large as stated breaks the exact bound, and no others are needed to see it.
    #[test]
    fn a_crowd_that_is_stated_too_large_is_caught() {
        let found = found(&crowd(1000, 499, Mechanism::plain(one_hot(4.0)), Mode::Aggregate), 1_000_000);
        assert_eq!(found.bounds[0].verdict, Verdict::Broken, "{found:?}");
    }

    /// The bounds stand, and what the survey says on top of them does not.
    #[test]
    fn a_survey_that_claims_less_than_it_spends_is_caught() {
        let crowd = crowd(4000, 3999, Mechanism::plain(one_hot(4.0)), Mode::Aggregate);
        let exact = claimed(&found(&crowd, 30_000), "exact");
        for (share, verdict) in [(1.0, Verdict::Kept), (0.8, Verdict::Broken)] {
            let claim = CentralGuarantee::new(epsilon(share * exact), Delta::new(0.01).unwrap());
            let questions = Questions { claim: Some(claim), ..questions(3_000_000) };
            let all = crowd.audit(&questions, Stream { seed: 5, measurement: 0 }).unwrap();
            assert_eq!(all.len(), 1, "the delta of the claim is one of those that were asked for");
            assert_eq!(
                (all[0].claim.as_ref().unwrap().verdict, all[0].verdict()),
                (verdict, verdict),
                "{all:?}"
            );
            assert!(all[0].bounds.iter().all(|bound| bound.verdict == Verdict::Kept), "{all:?}");
        }
    }

    /// A claim is tried at its own delta, and at larger ones, of which it says as much; at smaller ones it says nothing.
    #[test]
    fn a_claim_is_tried_at_its_own_delta_too() {
        let crowd = crowd(1000, 999, Mechanism::plain(one_hot(3.0)), Mode::Aggregate);
        let claim = CentralGuarantee::new(epsilon(0.5), Delta::new(1e-4).unwrap());
        let deltas = vec![Delta::new(0.01).unwrap(), Delta::new(1e-5).unwrap()];
        let questions = Questions { claim: Some(claim), deltas, ..questions(30_000) };
        let all = crowd.audit(&questions, Stream { seed: 5, measurement: 0 }).unwrap();
        let claims: Vec<(f64, bool)> = all.iter().map(|one| (one.delta, one.claim.is_some())).collect();
        assert_eq!(claims, [(0.01, true), (1e-5, false), (1e-4, true)]);
    }

    /// Report fragments have the claim of their backstop, which is nearly reached if fragments add little noise; sketches
    /// have that of those who report on the same row. Nobody sees which attribute of a record was sampled, and the accountant
    /// makes nothing of that. An epsilon that is 1.2 times as large is caught in all of them but the last.
    #[test]
    fn fragments_sketches_and_records_are_audited() {
        let shape = SketchShape { domain: 1000, rows: 4, cells: 16, seed: 1 };
        let sketch = |local: f64| CountSketch::new(shape, epsilon(local)).unwrap();
        let record = |local| Record::new(Attributes::new(&[3, 2]).unwrap(), epsilon(local)).unwrap();
        let fragments: fn(OneHot) -> Mechanism =
            |backstop| Mechanism::fragments(backstop, Epsilon::new(6.0).unwrap(), 4).unwrap();
        let kinds: [(&dyn Fn(f64) -> Mechanism, f64); 3] = [
            (&|local| fragments(one_hot(local)), 0.7),
            (&|local| Mechanism::plain(sketch(local)), 0.7),
            (&|local| Mechanism::plain(record(local)), 0.3),
        ];
        for (made, share) in kinds {
            let right = crowd(2000, 1999, made(4.0), Mode::Aggregate);
            let found_right = found(&right, 1_000_000);
            let exact = claimed(&found_right, "exact");
            assert_eq!(found_right.verdict(), Verdict::Kept, "{found_right:?}");
            assert!(found_right.lower > share * exact, "{:?}: {found_right:?}", right.mechanism);
            if share > 0.5 {
                // As before, but for what respondents really do.
                let louder = Crowd { mechanism: made(4.8), ..right };
                assert_eq!(found(&louder, 1_000_000).bounds[0].verdict, Verdict::Broken);
            }
        }
        // Behind a backstop, a sketch and a record are drawn as well.
        let fragmented = [
            Mechanism::fragments(sketch(4.0), epsilon(3.0), 2).unwrap(),
            Mechanism::fragments(record(4.0), epsilon(3.0), 2).unwrap(),
        ];
        for mechanism in fragmented {
            let found = found(&crowd(300, 299, mechanism, Mode::Aggregate), 300_000);
            assert!(found.lower > 0.0 && found.verdict() == Verdict::Kept, "{found:?}");
        }
    }

    /// Reports that are drawn one by one have the law of those that are drawn at once, with holders and without.
    #[test]
    fn fragments_and_records_one_by_one_have_the_same_law() {
        let backstop = OneHot::new(3, epsilon(2.0)).unwrap();
        let record = Record::new(Attributes::new(&[2, 2]).unwrap(), epsilon(2.0)).unwrap();
        for mechanism in [Mechanism::fragments(backstop, epsilon(2.0), 2).unwrap(), Mechanism::plain(record)]
        {
            let at_once = Crowd { holders: 10, ..crowd(40, 39, mechanism.clone(), Mode::Aggregate) };
            let one_by_one = Crowd { mode: Mode::Respondent, ..at_once.clone() };
            let means = [at_once, one_by_one].map(|crowd| {
                let game = Counts::new(&crowd).unwrap();
                let seen = play(&game, 60_000, Stream { seed: 7, measurement: 0 }, 0).unwrap().remove(0);
                seen.means()
            });
            // Counts have deviations of at most 6 here: 0.2 is 5.7 standard errors of the difference.
            for (left, right) in means[0].iter().zip(&means[1]) {
                assert!((left - right).abs() < 0.2, "{mechanism:?}: {means:?}");
            }
            assert!(means[0][0] - means[0][1] > 0.3, "{means:?}");
        }
    }

    #[test]
    fn what_has_no_accountant_is_refused_with_what_to_give() {
        let repeated = Mechanism::runs(epsilon(2.0), 2, |each| OneHot::new(3, each)).unwrap();
        let crowd = crowd(100, 99, repeated, Mode::Aggregate);
        let error = crowd.audit(&questions(1000), Stream { seed: 1, measurement: 0 }).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains("--epsilon-local") && error.contains("several runs"), "{error}");
    }

    #[test]
    fn the_row_of_a_sketch_is_seen_by_law_alone() {
        let shape = SketchShape { domain: 9, rows: 2, cells: 4, seed: 1 };
        let sketch = Mechanism::plain(CountSketch::new(shape, epsilon(1.0)).unwrap());
        let error = Counts::new(&crowd(100, 99, sketch, Mode::Respondent)).err().unwrap().to_string();
        assert!(error.contains("--mode aggregate"), "{error}");
    }
}
