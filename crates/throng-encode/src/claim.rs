//! The respondent's own accountant: whether a survey keeps what it claims.
//!
//! A survey is not answered because someone signed it. What its parameters guarantee is computed here again,
//! by the bound that it names, for the smallest crowd that it releases, and compared with what it says.

use std::collections::BTreeSet;

use throng_account::attacker::{Collusion, Exposure};
use throng_account::bound::Bound;
use throng_account::deletion::Deletion;
use throng_account::label::Label;
use throng_account::terms::{Kept, Terms};
use throng_dp::{
    Absence, AnswerSeries, CentralGuarantee, Coins, Delta, Epsilon, LocalGuarantee, Removal, Replacement,
};
use throng_wire::Survey;
use throng_wire::survey::{AnswerChanges, Cover, Enrolment, Labels};

use crate::Error;

/// A claim that holds, and everything that it says to a respondent.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedClaim {
    /// The label that it is about; 0 in a survey without labels.
    pub label: u32,
    /// What is left whatever fails, as [`floor`] says.
    pub floor: LocalGuarantee<Removal>,
    /// What one fragment says that is known to be this respondent's.
    pub fragment: LocalGuarantee<Removal>,
    /// What a release is claimed to guarantee.
    pub claimed: CentralGuarantee<Removal>,
    /// What our own accountant finds, at the same delta: never more than what is claimed.
    pub central: CentralGuarantee<Removal>,
    /// What a release says about whether somebody took part at all, or why nothing is claimed of that.
    pub absence: Result<CentralGuarantee<Absence>, String>,
    /// The part of delta that overflowing bodies take.
    pub overflow: Delta,
    /// The honest respondents that hide each other in every count: as many as each instance keeps.
    pub honest: u64,
    /// What a release, or a part of the instances, leaves an attacker with.
    pub exposure: Exposure,
    survey: Facts,
}

/// What the sentences need to know of the survey.
#[derive(Clone, Debug, PartialEq)]
struct Facts {
    bound: String,
    respondents_min: u64,
    hops: u32,
    cover: Cover,
    enrolment: Enrolment,
    label: Option<Label>,
    profile: Option<Profile>,
    /// With report fragments: whether answers may change, and what that costs.
    answers: Option<(AnswerChanges, AnswerSeries)>,
}

/// A trust profile, in words.
#[derive(Clone, Debug, PartialEq)]
struct Profile {
    label: String,
    inside: Vec<u32>,
    outside: Vec<u32>,
}

impl CheckedClaim {
    /// Checks a survey's claim, for all of its labels. Refuses one that is more than the parameters keep, that
    /// rests on a bound which is not proved for them, or whose bodies are too small for it. What it says is for
    /// the label whose fragments go to the fewest instances.
    pub fn check(survey: &Survey) -> Result<Self, Error> {
        let fewest = survey.label_numbers().min_by_key(|&label| survey.receiving(label).len());
        Self::under(survey, fewest.unwrap_or(0))
    }

    /// The same check, and what it means to those who answer under this label.
    pub fn under(survey: &Survey, label: u32) -> Result<Self, Error> {
        if !survey.label_numbers().contains(&label) {
            return Err(Error::Label(format!("the survey has no label with the number {label}")));
        }
        let claim = Self::of_label(survey, label)?;
        // Of a label, the guarantee depends on how many instances get fragments, and on nothing else.
        let mut known = BTreeSet::from([survey.receiving(label).len()]);
        for other in survey.label_numbers() {
            if known.insert(survey.receiving(other).len()) {
                Self::of_label(survey, other)?;
            }
        }
        Ok(claim)
    }

    /// What holds under one label.
    fn of_label(survey: &Survey, label_number: u32) -> Result<Self, Error> {
        let profile = profile(survey, label_number);
        let under = profile.as_ref().map_or(String::new(), |profile| {
            format!(
                "under the label {}, whose fragments go to {} of {} instances, ",
                profile.label,
                profile.inside.len(),
                survey.delivery.instances
            )
        });
        let unknown = |error: throng_account::Error| Error::Claim(format!("{under}{error}"));
        let mechanism = survey.mechanism()?;
        let terms = terms(survey, label_number)?;
        let Kept { central, overflow, honest, .. } =
            terms.guarantee(survey.crowd.respondents_min).map_err(unknown)?;
        let (claim, claimed) = (&survey.claim, terms.claimed);
        if central.epsilon() > claimed.epsilon() {
            return Err(Error::Claim(format!(
                "{under}it says epsilon_central {} at delta {:e}, but with {honest} honest respondents the bound {} \
                 gives {}",
                claim.epsilon_central,
                claim.delta,
                claim.bound,
                central.epsilon()
            )));
        }

        let fragments = match mechanism.coins() {
            Coins::Fragments { fragment, tau, .. } => Some((fragment.epsilon(), tau)),
            Coins::Runs { .. } => None,
        };
        let floor = floor(survey)?;
        Ok(Self {
            label: label_number,
            floor,
            fragment: mechanism.fragment_guarantee()?,
            claimed,
            central,
            absence: terms.absence(survey.crowd.respondents_min).map_err(|error| match error {
                throng_account::Error::NotApplicable(reason) => reason,
                other => other.to_string(),
            }),
            overflow,
            honest,
            exposure: Exposure {
                // Whoever ties fragments to a respondent has seen the label, too.
                epsilon_floor: floor.epsilon(),
                fragments,
                instances: terms.receiving,
                cover: survey.delivery.cover == Cover::Chaff,
                central: claimed,
            },
            survey: Facts {
                bound: claim.bound.clone(),
                respondents_min: survey.crowd.respondents_min,
                hops: survey.delivery.hops,
                cover: survey.delivery.cover,
                enrolment: survey.crowd.enrolment,
                label: survey.labels.as_ref().map(|_| label(survey)).transpose()?,
                profile,
                answers: survey.answer_changes().zip(mechanism.series()),
            },
        })
    }

    /// Whether the first hop of an instance sees how many fragments a respondent sends it.
    pub fn number_is_visible(&self) -> bool {
        self.survey.cover == Cover::None
    }

    /// What the claim means for a respondent, in plain sentences.
    pub fn sentences(&self) -> Vec<String> {
        let floor = self.floor.epsilon();
        let mut all = match &self.survey.answers {
            None => vec![format!(
                "Whatever fails, what you send in an epoch is epsilon_local {floor} (removal); every epoch \
                 spends it again."
            )],
            Some((AnswerChanges::Never, _)) => vec![format!(
                "Whatever fails, all that you ever send is epsilon_backstop {floor} (removal): your first report, \
                 also of having nothing to say, counts for all epochs, whatever you answer later."
            )],
            Some((AnswerChanges::Allowed, series)) => vec![
                format!(
                    "Whatever fails, all that you ever send is epsilon_backstop {floor} (removal) as long as your \
                     answer is the same in every epoch."
                ),
                format!(
                    "If it changes, also to or from having nothing to say, each answer that you gave in m of T epochs \
                     says at most m times {epoch}, or {backstop} and (T - m) times {epoch} if that is less; they add \
                     up. You are told what an epoch adds before it is sent.",
                    epoch = series.epsilon_fragment.times(series.tau).times(series.bits),
                    backstop = series.epsilon_backstop.times(series.bits),
                ),
            ],
        };
        if self.exposure.fragments.is_some() {
            all.push(format!(
                "A single fragment that is known to be yours says epsilon {} (removal).",
                self.fragment.epsilon()
            ));
        }
        all.push(format!(
            "What is released of one epoch is epsilon_central {}, delta {:e} (removal) by the bound {}; your \
             own accountant finds epsilon_central {:.6}.",
            self.claimed.epsilon(),
            self.claimed.delta().value(),
            self.survey.bound,
            rounded_up(self.central.epsilon().value())
        ));
        all.push(
            "That says: of anything that may be released, the probability with your answer is at most e^epsilon_central \
             times that without it, plus delta."
                .into(),
        );
        all.push(format!(
            "That rests on {} honest respondents among at least {}, as the first hop of each instance counts \
             them, and on one honest hop among the {} of each instance.",
            self.honest, self.survey.respondents_min, self.survey.hops
        ));
        if let Some(Profile { label, inside, outside }) = &self.survey.profile {
            all.push(format!("Under the label {label} your fragments go to {} alone.", instances(inside)));
            if !outside.is_empty() {
                all.push(format!(
                    "To {} you send as many bytes of chaff: their hops see that you take part under this label, and \
                     nothing that depends on your value.",
                    instances(outside)
                ));
            }
        }
        all.extend(self.collusions());
        if self.number_is_visible() {
            all.push(
                "The survey has no cover: the first hop of each instance sees how many fragments you send \
                 it, which may tell it a bit of your report: the local floor is what is left of it. The guarantee of a \
                 release needs first hops that do not work with the analyzer."
                    .into(),
            );
        }
        if self.survey.enrolment == Enrolment::Open {
            all.push(
                "Anyone may answer, as often as they can invent a name: nobody checks that the crowd is one \
                 of distinct people."
                    .into(),
            );
        }
        match self.survey.label {
            None => {}
            Some(Label::Randomized(epsilon)) => all.push(format!(
                "The first hop of each instance sees a label that is yours or another: it is drawn once and \
                 for all with epsilon_label {epsilon}, which the first sentence includes."
            )),
            Some(Label::Public | Label::Private) => {
                all.push("The first hop of each instance sees under which label you answer.".into());
            }
        }
        let (local, central) = self.replacement();
        all.push(format!(
            "Removal compares your answer with having nothing to say. Two answers that you could have given (replacement) \
             are told apart by at most epsilon {} whatever fails, and in what is released of one epoch by at most \
             epsilon_central {}, delta {:e}.",
            local.epsilon(),
            central.epsilon(),
            central.delta().to_three_digits()
        ));
        all.push(self.absence_in_words());
        all
    }

    /// What the floor and a release guarantee between two answers, by way of none: epsilon is twice as large, and the delta of
    /// a release 1 + e^epsilon times.
    pub fn replacement(&self) -> (LocalGuarantee<Replacement>, CentralGuarantee<Replacement>) {
        (self.floor.into(), self.claimed.into())
    }

    /// What it is worth that somebody took part at all.
    pub fn absence_in_words(&self) -> String {
        match &self.absence {
            Ok(kept) => format!(
                "Whether somebody took part at all (absence) is epsilon_central {:.6}, delta {:e} in what is released of one \
                 epoch, if nobody else in the crowd works against them and first hops do not tell how many came.",
                rounded_up(kept.epsilon().value()),
                kept.delta().value()
            ),
            Err(reason) if self.survey.label.is_none() => {
                format!("Whether somebody took part at all (absence) is not hidden: {reason}.")
            }
            Err(reason) => {
                format!("Of whether somebody took part at all (absence) nothing is claimed: {reason}.")
            }
        }
    }
}

impl CheckedClaim {
    /// What more and more bad instances leave, in a sentence for each number that changes something.
    fn collusions(&self) -> Vec<String> {
        let instances = self.exposure.instances;
        let which = if self.survey.profile.is_some() { " that get your fragments" } else { "" };
        let collusions = self.exposure.collusions().unwrap_or_default();
        let mut sentences = Vec::new();
        let mut before = None;
        for (at, &Collusion { bad, fragments, exposed, with_release }) in collusions.iter().enumerate() {
            if before.replace(exposed) == Some(exposed) {
                continue;
            }
            let more = if collusions.get(at + 1).is_some_and(|next| next.exposed == exposed) {
                " or more"
            } else {
                ""
            };
            // They have the release, too: what the fragments say by themselves is no limit of what they learn.
            let alone = if exposed < with_release {
                format!("; by themselves those fragments say epsilon {exposed}")
            } else {
                String::new()
            };
            sentences.push(format!(
                "If the analyzer and all hops of {bad}{more} of the {instances} instances{which} work together, up \
                 to {fragments} of the fragments of a bit are known to be yours: epsilon {with_release} (removal) is \
                 left{alone}."
            ));
        }
        sentences
    }
}

/// To six places, and never below: a bound that is shown is one that holds.
fn rounded_up(epsilon: f64) -> f64 {
    let rounded = (epsilon * 1e6).round() / 1e6;
    if rounded < epsilon { ((epsilon * 1e6).round() + 1.0) / 1e6 } else { rounded }
}

/// The trust profile of a label, if it has one.
fn profile(survey: &Survey, label: u32) -> Option<Profile> {
    let labels = survey.labels.as_ref()?;
    let (name, inside) = (labels.name(label)?, labels.profile(label)?);
    let outside = (1..=survey.delivery.instances).filter(|instance| !inside.contains(instance));
    Some(Profile { label: name.to_owned(), inside: inside.to_vec(), outside: outside.collect() })
}

/// Some instances, as a sentence has them.
fn instances(numbers: &[u32]) -> String {
    let list: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match list.split_last() {
        Some((last, first)) if !first.is_empty() => format!("instances {} and {last}", first.join(", ")),
        _ => format!("instance {}", list.concat()),
    }
}

/// What is left of a respondent's privacy whatever fails: without a backstop for one epoch, with one for all epochs while the
/// answer stays the same, or where it may not change. A label that is not public is counted in, once.
pub fn floor(survey: &Survey) -> Result<LocalGuarantee<Removal>, Error> {
    Ok(LocalGuarantee::pure(label(survey)?.local(survey.mechanism()?.floor().epsilon())))
}

/// How much of a respondent's label the first hops see.
fn label(survey: &Survey) -> Result<Label, Error> {
    let label = survey.labels.as_ref().and_then(|labels| labels.epsilon_label);
    Ok(label.map(Epsilon::new).transpose()?.map_or(Label::Public, Label::Randomized))
}

/// What a survey's guarantee rests on under a label (0 where there are none), for an accountant.
pub fn terms(survey: &Survey, label: u32) -> Result<Terms, Error> {
    let mechanism = survey.mechanism()?;
    let claim = &survey.claim;
    let sketch = mechanism.sketch().map(|sketch| sketch.shape());
    Ok(Terms {
        answers_kept: survey.answer_changes() == Some(AnswerChanges::Never),
        coins: mechanism.coins(),
        width: sketch.map_or(survey.domain(), |shape| u64::from(shape.cells)),
        rows: sketch.map(|shape| shape.rows),
        instances: survey.delivery.instances,
        receiving: u32::try_from(survey.receiving(label).len()).unwrap_or(u32::MAX),
        envelopes: survey.delivery.envelopes,
        honest_fraction: survey.honest_fraction(),
        deletion: survey.labels.as_ref().map(deletion).transpose()?,
        claimed: CentralGuarantee::new(Epsilon::new(claim.epsilon_central)?, Delta::new(claim.delta)?),
        bound: Bound::named(&claim.bound).map_err(|error| Error::Claim(error.to_string()))?,
    })
}

/// The randomized deletion that every instance does before it counts a labelled crowd.
fn deletion(labels: &Labels) -> Result<Deletion, Error> {
    Deletion::new(Epsilon::new(labels.epsilon_deletion)?, Delta::new(labels.delta_deletion)?)
        .map_err(|error| Error::Claim(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FRAGMENTED, PROFILES, RECORD, SURVEY};
    use throng_account::attacker::{Compromised, Left};

    fn survey(text: &str) -> Survey {
        Survey::from_toml(text).unwrap()
    }

    fn refused(survey: &Survey) -> String {
        match CheckedClaim::check(survey) {
            Err(Error::Claim(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_bound_is_never_shown_below_itself() {
        for (epsilon, shown) in
            [(1.0, 1.0), (0.1, 0.1), (1.1, 1.1), (0.9999991, 1.0), (0.1234561, 0.123457), (0.0, 0.0)]
        {
            assert_eq!(rounded_up(epsilon), shown);
        }
        for step in 1..1000 {
            let epsilon = f64::from(step) * 0.001_234_567_89;
            assert!(rounded_up(epsilon) >= epsilon && rounded_up(epsilon) - epsilon < 1.1e-6);
        }
    }

    #[test]
    fn a_claim_that_holds_says_what_is_left_whatever_fails() {
        let claim = CheckedClaim::check(&survey(SURVEY)).unwrap();
        assert_eq!(claim.honest, 90_000);
        assert!((claim.floor.epsilon().value() - 5.25).abs() < 1e-9);
        assert!(claim.central.epsilon() < claim.claimed.epsilon() && claim.overflow.value() < 1e-8);
        let sentences = claim.sentences().join("\n");
        for part in [
            "epsilon_local 5.25",
            "epsilon_central 1, delta 1e-6",
            "90000 honest",
            "1 or more of the 3 instances",
            "yours: epsilon 5.25 (removal)",
            "(replacement) are told apart by at most epsilon 10.5 whatever fails",
            // 1 + e is 3.7183.
            "by at most epsilon_central 2, delta 3.72e-6",
            "(absence) is not hidden: the first hop of each instance signs how many took part",
        ] {
            assert!(sentences.contains(part), "{part}: {sentences}");
        }
        assert!(
            !claim.number_is_visible() && !sentences.contains("no cover") && !sentences.contains("Anyone")
        );
        let claim = CheckedClaim::check(&survey(FRAGMENTED)).unwrap();
        assert!(claim.fragment.epsilon() < claim.floor.epsilon());
        let sentences = claim.sentences().join("\n");
        for part in [
            "epsilon_backstop 5.25",
            "as long as your answer is the same",
            "m times 16",
            "A single fragment",
            "Anyone may answer",
            "up to 2 of the fragments",
        ] {
            assert!(sentences.contains(part), "{part}: {sentences}");
        }
        let mut never = survey(FRAGMENTED);
        if let throng_wire::survey::Randomizer::ReportFragments { answer_changes, .. } = &mut never.randomizer
        {
            *answer_changes = Some(AnswerChanges::Never);
        }
        let first = CheckedClaim::check(&never).unwrap().sentences().join("\n");
        assert!(first.contains("your first report") && first.contains("epsilon_backstop 5.25"), "{first}");
        assert!(!first.contains("If it changes"), "{first}");
        // Whoever ties fragments to a respondent has the release as well, so all that is left is the floor.
        let colluding: Vec<&str> = sentences.lines().filter(|line| line.contains("work together")).collect();
        assert!(colluding.len() > 1);
        for (line, collusion) in colluding.into_iter().zip(claim.exposure.collusions().unwrap()) {
            let left = format!("known to be yours: epsilon {} (removal) is left", claim.floor.epsilon());
            assert!(line.contains(&left), "{line}");
            let alone = format!("by themselves those fragments say epsilon {}", collusion.exposed);
            assert!(collusion.exposed < claim.floor.epsilon() && line.contains(&alone), "{line}");
        }
    }

    /// One bit or none of a record differs from the reference, over the values of all attributes: what holds for one
    /// question with as many values holds for it, and nothing less.
    #[test]
    fn a_record_has_the_claim_of_one_question_with_all_its_values() {
        for randomizer in [survey(SURVEY).randomizer, survey(FRAGMENTED).randomizer] {
            let (mut one, mut record) = (survey(SURVEY), survey(RECORD));
            (one.randomizer, record.randomizer) = (randomizer.clone(), randomizer);
            (one.delivery.envelopes, record.delivery.envelopes) = (80, 80);
            let (one, found) = (CheckedClaim::check(&one).unwrap(), CheckedClaim::check(&record).unwrap());
            assert_eq!(found, one);
            assert!(found.overflow.value() > 0.0);
            // An attribute less is less traffic, and the same bits.
            let mut narrow = record.clone();
            narrow.encoding = throng_wire::survey::Encoding::Record {
                attributes: vec![throng_wire::survey::Attribute { name: "age".into(), values: 9 }],
            };
            assert!(CheckedClaim::check(&narrow).unwrap().overflow < found.overflow);
            record.claim.epsilon_central = found.central.epsilon().value() * 0.99;
            refused(&record);
            record.claim.epsilon_central = 1.0;
            record.delivery.envelopes = 8;
            assert!(refused(&record).contains("8 envelopes to each instance are too few"));
        }
    }

    /// Everything that the guarantee rests on, made a little worse than it may be.
    #[test]
    fn a_claim_that_does_not_hold_is_refused() {
        let good = survey(SURVEY);
        let found = CheckedClaim::check(&good).unwrap().central.epsilon().value();
        let mut tight = good.clone();
        tight.claim.epsilon_central = found * (1.0 + 1e-9);
        CheckedClaim::check(&tight).unwrap();
        let mut lower = good.clone();
        lower.claim.epsilon_central = found * 0.99;
        assert!(refused(&lower).contains("with 90000 honest respondents the bound exact gives"));
        let mut smaller = tight.clone();
        smaller.crowd.respondents_min = 99_000;
        refused(&smaller);
        let mut fewer_honest = tight.clone();
        fewer_honest.crowd.honest_fraction = Some(0.89);
        refused(&fewer_honest);
        let mut less_delta = tight.clone();
        less_delta.claim.delta = 0.9e-6;
        refused(&less_delta);
        let mut louder = tight;
        louder.randomizer = throng_wire::survey::Randomizer::AttributeFragments { epsilon_local: 5.26 };
        refused(&louder);
        let mut narrow = good.clone();
        narrow.delivery.envelopes = 8;
        assert!(refused(&narrow).contains("8 envelopes to each instance are too few"));
        let mut nobody = good;
        nobody.crowd.respondents_min = 2;
        nobody.crowd.honest_fraction = Some(0.1);
        refused(&nobody);
    }

    #[test]
    fn a_bound_outside_its_conditions_proves_nothing() {
        let mut sketch = survey(SURVEY);
        sketch.encoding =
            throng_wire::survey::Encoding::Sketch { domain: 1 << 40, rows: 16, cells: 784, seed: 1 };
        sketch.claim.epsilon_central = 4.0;
        CheckedClaim::check(&sketch).unwrap();
        sketch.claim.bound = "fmt23".into();
        assert!(refused(&sketch).contains("says nothing about sketches"));
        for bound in ["fmt23", "clones21", "blanket", "lemma", "theorem"] {
            let mut other = survey(SURVEY);
            other.claim.bound = bound.into();
            other.claim.epsilon_central = 5.3;
            match CheckedClaim::check(&other) {
                Ok(claim) => assert!(claim.central.epsilon() <= claim.claimed.epsilon()),
                Err(Error::Claim(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }

    /// Deletion takes people out of the crowd and costs nothing under removal; what it hides is stated under absence.
    #[test]
    fn labels_cost_the_people_whom_instances_delete() {
        let plain = CheckedClaim::check(&survey(SURVEY)).unwrap();
        let mut labelled = survey(SURVEY);
        labelled.labels = Some(Labels {
            names: vec!["de".into(), "fr".into()],
            epsilon_deletion: 0.2,
            delta_deletion: 1e-9,
            epsilon_label: Some(1.5),
            profiles: None,
        });
        labelled.claim.epsilon_central = 1.5;
        let claim = CheckedClaim::check(&labelled).unwrap();
        let more = claim.central.epsilon().value() - plain.central.epsilon().value();
        assert!(more > 0.0 && more < 0.02, "{more}");
        // Up to four counts move, and three deletions of a tenth are paid for.
        let absence = claim.absence.clone().unwrap().epsilon().value();
        assert!(absence > 2.0 * claim.central.epsilon().value() && absence < 4.4, "{absence}");
        let said = claim.absence_in_words();
        assert!(said.contains("(absence) is epsilon_central ") && said.contains("delta 1e-6"), "{said}");
        assert!(plain.absence.is_err());
        // Each instance loses at most 420 respondents: the shift is 207, and noise with a scale of 10 is beyond 213
        // with a probability of 1e-8/5.5/3. A count is in the crowd of one instance, so they are lost once.
        assert_eq!(plain.honest - claim.honest, 420);
        assert!((claim.floor.epsilon().value() - 6.75).abs() < 1e-9);
        assert!(claim.sentences().iter().any(|sentence| sentence.contains("epsilon_label 1.5")));
        labelled.claim.epsilon_central = claim.central.epsilon().value() - 0.001;
        refused(&labelled);
    }

    /// Under a profile of two of three instances, and of one: who may work against you are those instances.
    #[test]
    fn a_trust_profile_is_accounted_for_by_itself() {
        let profiles = survey(PROFILES);
        let [all, two, one] = [1, 2, 3].map(|label| CheckedClaim::under(&profiles, label).unwrap());
        assert_eq!([&all, &two, &one].map(|claim| claim.exposure.instances), [3, 2, 1]);
        assert_eq!([&all, &two, &one].map(|claim| claim.label), [1, 2, 3]);
        // The noise of a single instance is beyond its bound a little less often than that of any of three.
        let lost = [&all, &two, &one].map(|claim| 90_000 - claim.honest);
        assert!(lost[2] < lost[1] && lost[1] < lost[0] && lost[2] > 350 && lost[0] < 430, "{lost:?}");
        assert!(two.overflow > all.overflow && one.overflow > two.overflow);
        assert_eq!(CheckedClaim::check(&profiles).unwrap(), one, "the fewest instances");
        // A plain survey has a little less: its crowd is larger.
        let plain = CheckedClaim::check(&survey(SURVEY)).unwrap().central.epsilon().value();
        for claim in [&all, &two, &one] {
            let more = claim.central.epsilon().value() - plain;
            assert!(more > 0.0 && more < 0.02, "{more}");
        }
        // Fewer counts of others move with somebody's absence where fewer instances get fragments.
        let absent = [&all, &two, &one].map(|claim| claim.absence.clone().unwrap().epsilon().value());
        assert!(absent[0] > absent[1] && absent[1] > absent[2], "{absent:?}");

        let sentences = two.sentences().join("\n");
        for part in [
            "Under the label two your fragments go to instances 1 and 3 alone.",
            "To instance 2 you send as many bytes of chaff",
            "1 or more of the 2 instances that get your fragments",
            "sees under which label",
        ] {
            assert!(sentences.contains(part), "{part}: {sentences}");
        }
        assert!(one.sentences().join("\n").contains("go to instance 2 alone"));
        let sentences = all.sentences().join("\n");
        assert!(!sentences.contains("alone") && sentences.contains("1 or more of the 3 instances work"));
        assert!(matches!(CheckedClaim::under(&profiles, 0), Err(Error::Label(_))));
        assert!(matches!(CheckedClaim::under(&profiles, 4), Err(Error::Label(_))));
    }

    /// Bodies that are large enough for fragments that are spread over three instances are too small for those that all
    /// go to one; whoever answers under another label is told, too.
    #[test]
    fn a_claim_that_only_holds_for_all_instances_is_refused() {
        let mut narrow = survey(PROFILES);
        narrow.delivery.envelopes = 24;
        let mut without = narrow.clone();
        without.labels.as_mut().unwrap().profiles = None;
        let spread = CheckedClaim::check(&without).unwrap();
        let fitting = (24..60).find(|&envelopes| {
            narrow.delivery.envelopes = envelopes;
            CheckedClaim::check(&narrow).is_ok()
        });
        assert!(
            fitting.is_some_and(|envelopes| (26..36).contains(&envelopes)),
            "{fitting:?}: {:?}",
            spread.overflow
        );
        narrow.delivery.envelopes = 24;
        for reason in (1..=3).map(|label| match CheckedClaim::under(&narrow, label) {
            Err(Error::Claim(reason)) => reason,
            other => panic!("{other:?}"),
        }) {
            assert!(reason.contains("24 envelopes to each instance are too few"), "{reason}");
            assert!(reason.contains("under the label "), "{reason}");
        }
    }

    /// Of four report fragments an instance sees two of a bit if three instances get some or two do, and all if it is alone.
    #[test]
    fn a_trust_profile_of_fewer_instances_shows_each_of_them_more_fragments() {
        let mut profiles = survey(PROFILES);
        profiles.randomizer = survey(FRAGMENTED).randomizer;
        profiles.delivery.envelopes = 200;
        let seen = [1, 2, 3].map(|label| {
            let claim = CheckedClaim::under(&profiles, label).unwrap();
            match claim.exposure.left(Compromised::AnalyzerAndInstances(1)).unwrap() {
                Left::Local { fragments, .. } => fragments,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(seen, [2, 2, 4]);
    }

    #[test]
    fn without_cover_the_number_of_fragments_is_visible() {
        let mut bare = survey(SURVEY);
        bare.delivery.cover = Cover::None;
        let claim = CheckedClaim::check(&bare).unwrap();
        assert!(claim.number_is_visible());
        assert!(claim.sentences().iter().any(|sentence| sentence.contains("how many fragments you send")));
    }
}
