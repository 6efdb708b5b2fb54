//! What people sign, against the definition of what they send: coins that are flipped one after the other.

use throng_account::planner::{Choice, Distribution, plan};

use super::*;
use crate::plan::{Domain, Target};
use crate::survey::Randomizer;

/// The plan of these flags, its survey, and the text.
fn planned(flags: &str) -> (Question, Plan, Survey, String) {
    let mut target = Target::default();
    for (flag, value) in flags.split(' ').collect::<Vec<_>>().as_chunks::<2>().0.iter().map(|&[a, b]| (a, b))
    {
        match flag {
            "--epsilon-central" => target.epsilon_central = value.parse().unwrap(),
            "--delta" => target.delta = value.parse().unwrap(),
            "--respondents" => target.respondents = value.parse().unwrap(),
            "--domain" => target.asked = Domain::Values(value.parse().unwrap()),
            "--report-fragments" => target.report_fragments = value.parse().unwrap(),
            "--answer-changes" => target.answer_changes = (value == "never").then_some(AnswerChanges::Never),
            "--epoch-s" => target.epoch_s = value.parse().unwrap(),
            other => panic!("{other}"),
        }
    }
    let question = super::super::question(&target).unwrap();
    assert_eq!((&question.encoding, &question.distribution), (&Choice::Recommend, &Distribution::Uniform));
    let plan = plan(&question).unwrap();
    let survey = super::super::survey(&target, &question, &plan);
    let text = summary(&question, &plan, &survey, throng_account::TO_THE_END).unwrap();
    (question, plan, survey, text)
}

/// The number after the n-th time that the text says so.
fn number(text: &str, before: &str, nth: usize) -> f64 {
    let rest = text.split(before).nth(nth + 1).unwrap_or_else(|| panic!("{before:?} in {text}"));
    let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    digits.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("{before:?} in {text}"))
}

/// How many ones are reported in all if the victim holds a 1, and if they hold a 0; `a` of the others hold a 1.
fn laws(n: u64, a: u64, epsilon_local: f64) -> [Vec<f64>; 2] {
    let flip = 1.0 / (1.0 + epsilon_local.exp());
    [true, false].map(|victim| {
        let others = (1..n).map(|other| other <= a);
        std::iter::once(victim).chain(others).fold(vec![1.0], |law, bit| {
            let one = if bit { 1.0 - flip } else { flip };
            let mut next = vec![0.0; law.len() + 1];
            for (sum, mass) in law.iter().enumerate() {
                next[sum] += mass * (1.0 - one);
                next[sum + 1] += mass * one;
            }
            next
        })
    })
}

/// The probability that what is seen changes the odds towards the truth by more than a factor, whichever is the truth.
fn surer(laws: &[Vec<f64>; 2], factor: f64) -> f64 {
    let of = |truth: &[f64], other: &[f64]| -> f64 {
        truth.iter().zip(other).filter(|(p, q)| **p > factor * **q).map(|(p, _)| p).sum()
    };
    of(&laws[0], &laws[1]).max(of(&laws[1], &laws[0]))
}

/// The same after several epochs with fresh coins, from below: each loss is rounded down to a grid.
fn surer_after(laws: &[Vec<f64>; 2], epochs: u32, factor: f64) -> f64 {
    const GRID: f64 = 1e-3;
    let of = |truth: &[f64], other: &[f64]| -> f64 {
        let one: Vec<(i64, f64)> = truth
            .iter()
            .zip(other)
            .filter(|(p, _)| **p > 1e-18)
            .map(|(p, q)| (((p / q).ln() / GRID).floor() as i64, *p))
            .collect();
        let sum = (0..epochs).fold(std::collections::BTreeMap::from([(0i64, 1.0)]), |sum, _| {
            let mut next = std::collections::BTreeMap::new();
            for (at, mass) in sum.iter().filter(|(_, mass)| **mass > 1e-18) {
                for (loss, more) in &one {
                    *next.entry(at + loss).or_insert(0.0) += mass * more;
                }
            }
            next
        });
        sum.iter().filter(|(at, _)| **at as f64 * GRID > factor.ln()).map(|(_, mass)| mass).sum()
    };
    of(&laws[0], &laws[1]).max(of(&laws[1], &laws[0]))
}

/// Whoever signs the form is told limits, and no limit is below what the plan keeps.
#[test]
fn a_consent_form_promises_no_more_than_the_plan() {
    let (_, plan, _, text) = planned("--epsilon-central 1 --delta 1e-6 --respondents 50000 --domain 500");
    // e is 2.718, and e / (1 + e) is 73.1 %.
    assert!(text.contains("a factor of 2.8 at most") && text.contains("at most 74 % sure"), "{text}");
    let floor = plan.exposure.epsilon_floor.value().exp();
    let said = number(&text, "of the odds to a factor of ", 0);
    assert!(said >= floor && said < floor + 1.0, "{said} {floor}: {text}");
    assert!(text.contains("for each answer that you send") && text.contains("without a limit"), "{text}");
    let (_, _, _, text) =
        planned("--epsilon-central 1 --delta 1e-6 --respondents 50000 --domain 500 --report-fragments 4");
    assert!(text.contains("for as long as your answer stays the same"), "{text}");
    assert!(
        text.contains("an answer that never changes has a limit") && !text.contains("without a limit"),
        "{text}"
    );
    let (_, _, survey, text) = planned(
        "--epsilon-central 1 --delta 1e-6 --respondents 50000 --domain 500 --report-fragments 4 --answer-changes never",
    );
    assert_eq!(survey.answer_changes(), Some(AnswerChanges::Never));
    assert!(text.contains("for all that you ever send: the first answer that you give counts"), "{text}");
    assert!(!text.contains("stays the same") && text.contains("up to a limit, named below"), "{text}");
}

/// The probability is that of the definition, over all data of the others that are tried; delta would be too little.
#[test]
fn the_probability_on_a_consent_form_is_one_that_holds() {
    for (delta, respondents) in [(1e-6, 1000), (1e-4, 300)] {
        let flags = format!("--epsilon-central 1 --delta {delta:e} --respondents {respondents} --domain 20");
        let (_, _, survey, text) = planned(&flags);
        let Randomizer::AttributeFragments { epsilon_local } = survey.randomizer else { panic!("{text}") };
        let said = 1.0 / number(&text, "surer than that is at most 1 in ", 0);
        let mut most = 0.0f64;
        for a in [0, 1, 2, 10, respondents / 10, respondents / 2, respondents - 2, respondents - 1] {
            // What is told is about the factor e; 2.8 is that, rounded up.
            most = most.max(surer(&laws(respondents, a, epsilon_local), 1f64.exp()));
        }
        assert!(said >= most, "{said:e} is told and {most:e} is true: {text}");
        assert!(said < 5.0 * most, "{said:e} is told and {most:e} is true: {text}");
        assert!(most > 5.0 * delta, "delta is {delta:e}, and {most:e} is true");
    }
}

/// Seven epochs with fresh coins are the product of seven laws: more than one of them, and no more than is told.
#[test]
fn all_publications_together_say_no_more_than_the_consent_form() {
    let (_, _, survey, text) = planned("--epsilon-central 0.5 --delta 1e-5 --respondents 1000 --domain 20");
    let Randomizer::AttributeFragments { epsilon_local } = survey.randomizer else { panic!("{text}") };
    assert!(
        text.contains("There may be one every day") && text.contains("after a week (7 publications)"),
        "{text}"
    );
    let week = text.split("after a week").nth(1).unwrap();
    let factor = number(week, "a factor of ", 0);
    let said = 1.0 / number(week, "at most 1 in ", 0);
    let laws = laws(1000, 0, epsilon_local);
    let true_one = surer_after(&laws, 7, factor);
    assert!(said >= true_one, "{said:e} is told and {true_one:e} is true: {text}");
    // One publication's promise does not hold for seven.
    let one = number(&text, "by a factor of ", 0);
    assert!(surer_after(&laws, 7, one) > 1e-3, "{text}");
}

#[test]
fn a_survey_with_one_epoch_a_year_has_no_weeks_to_tell_of() {
    let (_, _, _, text) =
        planned("--epsilon-central 1 --delta 1e-6 --respondents 50000 --domain 500 --epoch-s 31536000");
    assert!(text.contains("one every 365 days") && !text.contains("after a"), "{text}");
}

#[test]
fn probabilities_are_told_as_limits() {
    for (probability, told) in [
        (1e-6, "1 in 990000"),
        (3.7e-5, "1 in 27000"),
        (0.1, "1 in 9"),
        (0.04, "1 in 24"),
        (0.5, "50 %"),
        (1.0, "100 %"),
        (0.0, "0"),
    ] {
        let text = one_in(probability);
        assert_eq!(text, told, "{probability}");
        if let Some(many) = text.strip_prefix("1 in ") {
            assert!(1.0 / many.parse::<f64>().unwrap() >= probability, "{probability}");
        }
    }
}
