//! Traffic analysis: what the network and every hop can see of an answer, and whether it says what was answered.
//!
//! What was recorded is a list of numbers for every sight and every case. Numbers and lengths have to be the same for
//! everyone in every case, and there has to be the same number of them: what is missing is seen as well as what is there.
//! What is drawn at random (times, places in a body, the length of TLS signatures) has to have the same law. Two samples are
//! tested for that by the largest distance between their distribution functions (Kolmogorov and Smirnov). For two samples of n
//! numbers it exceeds sqrt(ln(e/α)/n) with a probability below α, whatever the law and whatever n is (F. Wei and R. M. Dudley,
//! "Two-sample Dvoretzky–Kiefer–Wolfowitz inequalities", 2012).

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::Verdict;

/// What a respondent answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// A value.
    One,
    /// Another value.
    Other,
    /// Nothing: the empty report R_0.
    Nothing,
}

impl Case {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::One, Self::Other, Self::Nothing];

    /// The word for it in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one value",
            Self::Other => "another value",
            Self::Nothing => "nothing to say",
        }
    }
}

/// What has to hold of numbers that somebody sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// They are one number, in all cases and equally often.
    Same,
    /// They have one law in all cases, and there are equally many.
    Alike,
    /// They have one law in all cases. How many there are is the randomizer's doing: a body may have no fragment.
    AlikeWhereSeen,
}

/// Numbers that somebody sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Sight {
    /// Who sees them.
    pub who: String,
    /// What they are.
    pub what: &'static str,
    /// What has to hold.
    pub rule: Rule,
}

/// All that was recorded.
#[derive(Clone, Debug, Default)]
pub struct Views {
    seen: BTreeMap<Sight, [Vec<u64>; 3]>,
}

/// What came of one sight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SightVerdict {
    /// Whose, and of what.
    #[serde(flatten)]
    pub sight: Sight,
    /// Whether cases can be told apart by it.
    pub verdict: Verdict,
    /// What was seen, in a few words.
    pub shown: String,
}

impl Views {
    /// Records a number.
    pub fn see(&mut self, who: impl Into<String>, what: &'static str, rule: Rule, case: Case, number: u64) {
        let sight = Sight { who: who.into(), what, rule };
        self.seen.entry(sight).or_default()[case as usize].push(number);
    }

    /// Judges every sight. The probability that one which is alike is called broken is below `error`. Where there are so few
    /// numbers that any would pass, nothing is judged.
    pub fn judge(&self, error: f64) -> Result<Vec<SightVerdict>> {
        let alike = self.seen.keys().filter(|sight| sight.rule != Rule::Same).count();
        self.seen.iter().map(|(sight, numbers)| judge(sight, numbers, share(alike, error))).collect()
    }
}

/// The least number of numbers that each case has to have, with `alike` sights that should be alike: with fewer, samples
/// that have nothing in common would pass.
pub fn numbers_min(alike: usize, error: f64) -> u64 {
    (1.0 - share(alike, error).ln()).floor() as u64 + 1
}

/// What one pair of cases has of the error of all sights that should be alike.
fn share(alike: usize, error: f64) -> f64 {
    error / (PAIRS.len() * alike.max(1)) as f64
}

/// How far apart the distribution functions of two samples of one law may be, with `size` numbers of each.
fn allowed(size: usize, error: f64) -> f64 {
    ((1.0 - error.ln()) / size.max(1) as f64).sqrt()
}

fn judge(sight: &Sight, numbers: &[Vec<u64>; 3], error: f64) -> Result<SightVerdict> {
    let (broken, shown) = match sight.rule {
        Rule::Same => same(numbers),
        Rule::Alike if !equally_often(numbers) => (true, ranges(numbers)),
        Rule::Alike | Rule::AlikeWhereSeen => {
            let fewest = numbers.iter().map(Vec::len).min().unwrap_or(0);
            ensure!(
                allowed(fewest, error) < 1.0,
                "{}, {}: {fewest} numbers cannot tell anything apart; give more --respondents and --answers, or a lower \
                 --confidence",
                sight.who,
                sight.what
            );
            alike(numbers, error)
        }
    };
    Ok(SightVerdict { sight: sight.clone(), verdict: Verdict::of(broken), shown })
}

fn same(numbers: &[Vec<u64>; 3]) -> (bool, String) {
    let first = numbers[0].first();
    let constant = numbers.iter().flatten().all(|number| Some(number) == first);
    match (first, constant && equally_often(numbers)) {
        (Some(number), true) => (false, format!("{number} for everyone")),
        _ => (true, ranges(numbers)),
    }
}

fn equally_often(numbers: &[Vec<u64>; 3]) -> bool {
    numbers.iter().all(|list| list.len() == numbers[0].len())
}

fn ranges(numbers: &[Vec<u64>; 3]) -> String {
    Case::ALL.map(|case| format!("{}: {}", case.name(), range(&numbers[case as usize]))).join("; ")
}

/// "3 (once)", "1 to 3 (30 times)".
fn range(numbers: &[u64]) -> String {
    let often = if numbers.len() == 1 { "once".into() } else { format!("{} times", numbers.len()) };
    match (numbers.iter().min(), numbers.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("{least} ({often})"),
        (Some(least), Some(most)) => format!("{least} to {most} ({often})"),
        _ => "never".into(),
    }
}

fn alike(numbers: &[Vec<u64>; 3], error: f64) -> (bool, String) {
    let (mut worst, mut broken) = ((0.0, 1.0, PAIRS[0]), false);
    for pair in PAIRS {
        let (left, right) = (&numbers[pair.0 as usize], &numbers[pair.1 as usize]);
        // The bound is for samples of one size.
        let size = left.len().min(right.len());
        let distance = distance(&left[..size], &right[..size]);
        let allowed = allowed(size, error);
        broken |= distance > allowed;
        if distance / allowed >= worst.0 / worst.1 {
            worst = (distance, allowed, pair);
        }
    }
    let (distance, allowed, (left, right)) = worst;
    if broken {
        return (
            true,
            format!("{} and {}: {distance:.3} apart, {allowed:.3} allowed", left.name(), right.name()),
        );
    }
    (false, format!("{distance:.3} apart at most, {allowed:.3} allowed"))
}

/// The largest distance between two distribution functions.
fn distance(left: &[u64], right: &[u64]) -> f64 {
    let sorted = |numbers: &[u64]| {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable();
        numbers
    };
    let (left, right) = (sorted(left), sorted(right));
    let share = |numbers: &[u64], most: u64| {
        numbers.partition_point(|&number| number <= most) as f64 / numbers.len().max(1) as f64
    };
    let steps = left.iter().chain(&right);
    steps.map(|&step| (share(&left, step) - share(&right, step)).abs()).fold(0.0, f64::max)
}

const PAIRS: [(Case, Case); 3] =
    [(Case::One, Case::Other), (Case::One, Case::Nothing), (Case::Other, Case::Nothing)];

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_dp::sampling::below;

    const ERROR: f64 = 1e-6;

    fn views(rule: Rule, each: u64, number: impl Fn(Case, u64) -> Option<u64>) -> Views {
        let mut views = Views::default();
        for case in Case::ALL {
            for i in 0..each {
                if let Some(number) = number(case, i) {
                    views.see("the network", "something", rule, case, number);
                }
            }
        }
        views
    }

    fn verdict(rule: Rule, number: impl Fn(Case, u64) -> Option<u64>) -> Verdict {
        let judged = views(rule, 300, number).judge(ERROR).unwrap();
        assert_eq!(judged.len(), 1);
        judged[0].verdict
    }

    /// With one number more, cases that have nothing in common are told apart; with fewer they would pass, so nothing is said.
    #[test]
    fn too_few_numbers_are_an_error_and_enough_catch_what_is_wholly_different() {
        for error in [1e-3, 1e-9] {
            let least = numbers_min(1, error);
            let differ = |each| views(Rule::Alike, each, |case, _| Some(case as u64)).judge(error);
            assert!(differ(least - 1).unwrap_err().to_string().contains("--respondents"));
            assert_eq!(differ(least).unwrap()[0].verdict, Verdict::Broken, "{error}: {least}");
        }
        assert_eq!((numbers_min(13, 1e-3), numbers_min(13, 1e-9)), (12, 26));
    }

    #[test]
    fn one_byte_more_or_one_body_less_is_noticed() {
        assert_eq!(verdict(Rule::Same, |_, _| Some(2082)), Verdict::Kept);
        assert_eq!(
            verdict(Rule::Same, |case, _| Some(2082 + u64::from(case == Case::Other))),
            Verdict::Broken
        );
        let once = |case, i| Some(2082 + u64::from(case == Case::One && i == 7));
        assert_eq!(verdict(Rule::Same, once), Verdict::Broken);
        let missing = |case, i| (case != Case::Nothing || i != 3).then_some(2082);
        assert_eq!(verdict(Rule::Same, missing), Verdict::Broken);
        assert_eq!(verdict(Rule::Same, |case, _| (case != Case::Nothing).then_some(1)), Verdict::Broken);
    }

    /// Uniform times pass; those who have nothing to say, in the first two thirds of the epoch, do not.
    #[test]
    fn times_that_depend_on_the_answer_are_noticed() {
        let time = |case: Case, i: u64, most: u64| {
            let mut rng = ChaCha20Rng::seed_from_u64(1000 * case as u64 + i);
            below(most, &mut rng)
        };
        assert_eq!(verdict(Rule::Alike, |case, i| Some(time(case, i, 60_000))), Verdict::Kept);
        let early = |case, i| Some(time(case, i, if case == Case::Nothing { 36_000 } else { 60_000 }));
        assert_eq!(verdict(Rule::Alike, early), Verdict::Broken);
        assert_eq!(verdict(Rule::Alike, |_, _| Some(5)), Verdict::Kept);
        // Nothing is there to be compared: that is what is seen.
        let absent = |case, i| (case != Case::Nothing).then(|| time(case, i, 60_000));
        assert_eq!(verdict(Rule::Alike, absent), Verdict::Broken);
        let one_less = |case, i| (case != Case::Other || i > 0).then(|| time(case, i, 60_000));
        assert_eq!(verdict(Rule::Alike, one_less), Verdict::Broken);
        assert_eq!(verdict(Rule::AlikeWhereSeen, one_less), Verdict::Kept);
        let few_and_early = |case, i| {
            (case != Case::Other || i > 100)
                .then(|| time(case, i, if case == Case::Other { 20_000 } else { 60_000 }))
        };
        assert_eq!(verdict(Rule::AlikeWhereSeen, few_and_early), Verdict::Broken);
        assert_eq!(verdict(Rule::Alike, |case, _| Some(case as u64)), Verdict::Broken);
    }

    #[test]
    fn distances_are_those_of_distribution_functions() {
        assert_eq!(distance(&[1, 2, 3, 4], &[1, 2, 3, 4]), 0.0);
        assert_eq!(distance(&[1, 1, 1, 1], &[2, 2, 2, 2]), 1.0);
        assert_eq!(distance(&[1, 2, 3, 4], &[1, 2, 5, 6]), 0.5);
        assert_eq!(distance(&[], &[]), 0.0);
    }

    /// In exact counts over all arrangements of two samples of n, the bound of Wei and Dudley holds with the constant e.
    #[test]
    fn the_bound_holds_for_small_samples() {
        for n in [1_usize, 2, 3, 5, 8] {
            let arrangements: Vec<f64> = (0..1_u32 << (2 * n))
                .filter(|mask| mask.count_ones() as usize == n)
                .map(|mask| {
                    let of =
                        |bit: u32| (0..2 * n as u64).filter(|i| mask >> i & 1 == bit).collect::<Vec<_>>();
                    distance(&of(0), &of(1))
                })
                .collect();
            for step in 1..=n {
                let d = step as f64 / n as f64;
                let share = arrangements.iter().filter(|&&other| other >= d - 1e-12).count() as f64
                    / arrangements.len() as f64;
                assert!(share <= f64::exp(1.0 - n as f64 * d * d) * (1.0 + 1e-12), "{n} {d}: {share}");
            }
        }
    }
}
