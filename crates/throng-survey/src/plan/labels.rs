//! Crowds that are counted apart: the labels of a planned survey, and their trust profiles.

use std::collections::{BTreeMap, BTreeSet};

use throng_account::Error as AccountError;
use throng_account::deletion::Deletion;
use throng_account::planner::PlanLabels;
use throng_dp::{Absence, CentralGuarantee, Delta, Epsilon};

use super::target::{LabelTarget, Target, wrong};
use super::unmet;
use crate::survey::Labels;
use crate::{Error, StatedGuarantee, Survey, terms};
use throng_account::rounding::at_most;

/// What a plan depends on of its labels.
pub(super) fn question(target: &Target) -> Result<Option<PlanLabels>, Error> {
    if target.labels.is_empty() {
        return Ok(None);
    }
    let (epsilon, delta) = deletion(target);
    let epsilon = Epsilon::new(epsilon).map_err(wrong("epsilon_deletion"))?;
    let delta = Delta::new(delta).map_err(wrong("delta_deletion"))?;
    let receiving =
        |profile: &Option<Vec<u32>>| profile.as_ref().map_or(target.instances, |one| one.len() as u32);
    Ok(Some(PlanLabels {
        deletion: Deletion::new(epsilon, delta).map_err(unmet)?,
        receiving: target.labels.iter().map(|label| receiving(&label.profile)).collect(),
    }))
}

/// What the survey file says of them.
pub(super) fn survey(target: &Target) -> Option<Labels> {
    let (epsilon_deletion, delta_deletion) = deletion(target);
    let profile = |label: &LabelTarget| Some((label.name.clone(), label.profile.clone()?));
    let profiles: BTreeMap<_, _> = target.labels.iter().filter_map(profile).collect();
    (!target.labels.is_empty()).then(|| Labels {
        names: target.labels.iter().map(|label| label.name.clone()).collect(),
        epsilon_deletion,
        delta_deletion,
        epsilon_label: None,
        profiles: Some(profiles).filter(|profiles| !profiles.is_empty()),
    })
}

/// The guarantee of absence (whether somebody took part at all) of a planned survey, under the label with the weakest one.
pub(super) fn absence(survey: &Survey) -> Result<StatedGuarantee, Error> {
    let mut worst: Option<CentralGuarantee<Absence>> = None;
    let mut known = BTreeSet::new();
    for label in survey.label_numbers() {
        // Of a label, it depends on how many instances get fragments and on nothing else.
        if !known.insert(survey.receiving(label).len()) {
            continue;
        }
        match terms(survey, label)?.absence(survey.crowd.respondents_min) {
            Ok(kept) => {
                worst = worst.filter(|worst| worst.epsilon() > kept.epsilon()).or(Some(kept));
            }
            Err(AccountError::NotApplicable(reason)) if survey.labels.is_none() => {
                return Ok(StatedGuarantee::nothing::<Absence>(format!("not hidden (absence): {reason}")));
            }
            Err(AccountError::NotApplicable(reason)) => {
                return Ok(StatedGuarantee::nothing::<Absence>(format!(
                    "nothing is claimed (absence): {reason}"
                )));
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok(match worst {
        Some(kept) if survey.honest_fraction() >= 1.0 => StatedGuarantee::kept(kept),
        _ => StatedGuarantee::nothing::<Absence>(
            "nothing is claimed (absence) unless all of the crowd are honest",
        ),
    })
}

/// The guarantee of absence in words.
pub(super) fn absence_in_words(absence: &StatedGuarantee) -> String {
    match (absence.epsilon_central, absence.delta, &absence.not_claimed) {
        (Some(epsilon), Some(delta), None) => format!(
            "epsilon_central {:.4}, delta {delta:e} (absence), if all of the crowd are honest",
            at_most(epsilon)
        ),
        (.., reason) => reason.clone().unwrap_or_default(),
    }
}

/// The labels, where fragments under each go, and what instances delete.
pub(super) fn in_words(labels: &Labels) -> String {
    let profile = |instances: &[u32]| {
        let list: Vec<String> = instances.iter().map(u32::to_string).collect();
        let plural = if list.len() == 1 { "" } else { "s" };
        format!(" (fragments to instance{plural} {} alone)", list.join(", "))
    };
    let each: Vec<String> = (1..)
        .zip(&labels.names)
        .map(|(number, name)| format!("{name}{}", labels.profile(number).map(profile).unwrap_or_default()))
        .collect();
    format!(
        "{}; instances delete with epsilon {}, delta {:e}",
        each.join(", "),
        labels.epsilon_deletion,
        labels.delta_deletion
    )
}

/// Epsilon and delta of each instance's randomized deletion. Under removal it costs nothing; under absence each instance costs
/// half of its epsilon.
fn deletion(target: &Target) -> (f64, f64) {
    let instances = f64::from(target.instances.max(1));
    let epsilon = target.epsilon_deletion.unwrap_or_else(|| short(0.2 * target.epsilon_central / instances));
    let delta = target.delta_deletion.unwrap_or_else(|| short(0.01 * target.delta / instances));
    (epsilon, delta)
}

/// Three digits, as people write it, and never more than the number.
fn short(number: f64) -> f64 {
    let near = |number: f64| format!("{number:.2e}").parse().unwrap_or(number);
    let (rounded, last_digit): (f64, f64) = (near(number), 10_f64.powf(number.log10().floor() - 2.0));
    if rounded <= number { rounded } else { near(rounded - last_digit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened_downwards() {
        for (number, expected) in
            [(0.2 / 3.0, 0.0666), (1e-8 / 3.0, 3.33e-9), (0.5, 0.5), (0.019_996, 0.0199)]
        {
            assert_eq!(short(number), expected);
        }
        for number in (1..2000).map(|n| f64::from(n) * 0.000_777) {
            assert!(short(number) <= number && short(number) >= 0.985 * number, "{number}");
        }
    }
}
