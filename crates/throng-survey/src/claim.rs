//! Verification of a survey's claim, by the respondent's own accountant.
//!
//! A survey is not answered because someone signed it. What its parameters guarantee is computed here again,
//! by the bound that it names, for the smallest crowd that it releases, and compared with what it says.

use std::collections::{BTreeMap, BTreeSet};

use throng_account::attacker::{Collusion, Exposure};
use throng_account::bound::Bound;
use throng_account::deletion::Deletion;
use throng_account::label::Label;
use throng_account::terms::{EpochGuarantee, Terms};
use throng_dp::{
    Absence, AnswerSeries, CentralGuarantee, Coins, Delta, Epsilon, LocalGuarantee, Removal, Replacement,
};

use crate::survey::{AnswerChanges, Cover, Enrolment, Labels};
use crate::{Error, Promise, Survey};
use throng_account::rounding::at_most_to;

/// A verified claim: one that holds, and everything that it says to a respondent.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedClaim {
    /// The label that it is about; 0 in a survey without labels.
    pub label: u32,
    /// What is left whatever fails, as [`floor`] says.
    pub floor: LocalGuarantee<Removal>,
    /// The guarantee of one fragment that is known to be this respondent's.
    pub fragment: LocalGuarantee<Removal>,
    /// What a release is claimed to guarantee.
    pub claimed: CentralGuarantee<Removal>,
    /// What our own accountant finds, at the same delta: never more than what is claimed.
    pub central: CentralGuarantee<Removal>,
    /// The guarantee of absence (whether somebody took part at all), or why none is claimed.
    pub absence: Result<CentralGuarantee<Absence>, String>,
    /// The part of delta that overflowing bodies take.
    pub overflow: Delta,
    /// What is claimed, and what is left without it. It counts on the honest respondents that hide each other in every count: as
    /// many as each instance keeps.
    pub promise: Promise,
    /// What a release, or a part of the instances, leaves an attacker with.
    pub exposure: Exposure,
    survey: Facts,
}

/// What the sentences need to know of the survey.
#[derive(Clone, Debug, PartialEq)]
struct Facts {
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
    /// rests on a bound which is not proved for them, or whose bodies are too small for it.
    ///
    /// Every number is the worst over all labels. What bad instances see is worst under the label whose fragments go to the
    /// fewest instances, and that label is named; absence is worst under the label whose fragments go to the most.
    pub fn check(survey: &Survey) -> Result<Self, Error> {
        // Of a label, the guarantee depends on how many instances get fragments, and on nothing else.
        let by_receiving: BTreeMap<usize, u32> =
            survey.label_numbers().map(|label| (survey.receiving(label).len(), label)).rev().collect();
        let mut claims = by_receiving.values().map(|&label| Self::of_label(survey, label));
        let fewest = claims.next().unwrap_or_else(|| Self::of_label(survey, 0))?;
        claims.try_fold(fewest, |worst, claim| Ok(worst.or_worse(claim?)))
    }

    /// The worse number of two labels, but for `exposure` and what follows from it, which stay those of the first.
    fn or_worse(self, other: Self) -> Self {
        let larger = |one: CentralGuarantee<Removal>, other: CentralGuarantee<Removal>| {
            if one.epsilon() < other.epsilon() { other } else { one }
        };
        let absence = match (self.absence, other.absence) {
            (Ok(one), Ok(other)) => Ok(if one.epsilon() < other.epsilon() { other } else { one }),
            (Err(reason), _) | (_, Err(reason)) => Err(reason),
        };
        let honest_respondents = self.promise.honest_respondents.min(other.promise.honest_respondents);
        Self {
            central: larger(self.central, other.central),
            absence,
            overflow: if self.overflow < other.overflow { other.overflow } else { self.overflow },
            promise: Promise { honest_respondents, ..self.promise },
            ..self
        }
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
        let EpochGuarantee { central, overflow, honest, .. } =
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
        let exposure = Exposure {
            // Whoever ties fragments to a respondent has seen the label, too.
            epsilon_floor: floor.epsilon(),
            fragments,
            instances: terms.receiving,
            cover: survey.delivery.cover == Cover::Chaff,
            central: claimed,
        };
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
            promise: Promise::new((claimed, &claim.bound), honest, &exposure)?,
            exposure,
            survey: Facts {
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
            self.promise.central.bound,
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
            self.promise.honest_respondents, self.survey.respondents_min, self.survey.hops
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
             are told apart by at most epsilon {} whatever fails{}, and in what is released of one epoch by at most \
             epsilon_central {}, delta {:e}.",
            local.epsilon(),
            self.floor_lasts(),
            central.epsilon(),
            central.delta().to_three_digits()
        ));
        all.push(self.absence_in_words());
        all
    }

    /// The guarantees between two answers (replacement), of the floor for as long as it holds, and of a release. They go by way
    /// of having nothing to say: epsilon doubles, and the delta of a release grows by the factor 1 + e^epsilon.
    pub fn replacement(&self) -> (LocalGuarantee<Replacement>, CentralGuarantee<Replacement>) {
        (self.floor.into(), self.claimed.into())
    }

    /// The guarantee of absence in a sentence: whether somebody took part at all.
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
                format!("Nothing is claimed about whether somebody took part at all (absence): {reason}.")
            }
        }
    }
}

impl CheckedClaim {
    /// Over which epochs the floor holds, to be said behind its number. Answers that change cost more.
    fn floor_lasts(&self) -> &'static str {
        match self.survey.answers {
            None => ", in one epoch",
            Some((AnswerChanges::Allowed, _)) => ", as long as the answer is the same in every epoch",
            Some((AnswerChanges::Never, _)) => "",
        }
    }

    /// What more and more bad instances leave, in a sentence for each number that changes something.
    fn collusions(&self) -> Vec<String> {
        let (instances, lasts) = (self.exposure.instances, self.floor_lasts());
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
            let known = match fragments {
                1 => "at most one fragment of a bit is".to_owned(),
                several => format!("up to {several} of the fragments of a bit are"),
            };
            // They have the release, too: what the fragments say by themselves is no limit of what they learn.
            let alone = if exposed < with_release {
                format!("; by themselves those fragments say epsilon {exposed} in one epoch")
            } else {
                String::new()
            };
            sentences.push(format!(
                "If the analyzer and all hops of {bad}{more} of the {instances} instances{which} work together, in each epoch \
                 {known} known to be yours: epsilon {with_release} (removal) is left{lasts}{alone}."
            ));
        }
        sentences
    }
}

/// To six places, and never below: a bound that is shown is one that holds.
fn rounded_up(epsilon: f64) -> f64 {
    at_most_to(6, epsilon)
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

/// The local floor: what is left of a respondent's privacy whatever fails. Without a backstop it is of one epoch. With one it
/// is of all epochs while the answer stays the same, or where it may not change. A label that is not public is counted in,
/// once.
pub fn floor(survey: &Survey) -> Result<LocalGuarantee<Removal>, Error> {
    Ok(LocalGuarantee::pure(label(survey)?.local(survey.mechanism()?.floor().epsilon())))
}

/// How much of a respondent's label the first hops see.
fn label(survey: &Survey) -> Result<Label, Error> {
    let label = survey.labels.as_ref().and_then(|labels| labels.epsilon_label);
    Ok(label.map(Epsilon::new).transpose()?.map_or(Label::Public, Label::Randomized))
}

/// The terms of a survey under a label (0 where there are none): all that an accountant has to know.
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
mod tests;
