//! Laws of whole views, as maps from outcomes to probabilities.

use std::collections::BTreeMap;

/// What somebody sees, and how likely it is.
#[derive(Clone, Debug)]
pub(crate) struct Law<T>(BTreeMap<T, f64>);

impl<T: Ord + Clone> Law<T> {
    /// An outcome without chance.
    pub(crate) fn sure(outcome: T) -> Self {
        Self(BTreeMap::from([(outcome, 1.0)]))
    }

    /// All outcomes of what happens next, given each outcome so far.
    pub(crate) fn then<U: Ord + Clone>(&self, next: impl Fn(&T) -> Law<U>) -> Law<U> {
        let mut all = BTreeMap::new();
        for (outcome, chance) in &self.0 {
            for (last, given) in next(outcome).0 {
                *all.entry(last).or_insert(0.0) += chance * given;
            }
        }
        Law(all)
    }

    /// What is left when less is seen.
    pub(crate) fn seen<U: Ord + Clone>(&self, part: impl Fn(&T) -> U) -> Law<U> {
        self.then(|outcome| Law::sure(part(outcome)))
    }

    /// The probability of an event.
    pub(crate) fn chance(&self, event: impl Fn(&T) -> bool) -> f64 {
        self.0.iter().filter(|(outcome, _)| event(outcome)).map(|(_, chance)| chance).sum()
    }

    /// The mean of a number.
    pub(crate) fn mean(&self, number: impl Fn(&T) -> f64) -> f64 {
        self.0.iter().map(|(outcome, chance)| chance * number(outcome)).sum()
    }

    /// One of some outcomes, each as likely.
    pub(crate) fn uniform(outcomes: Vec<T>) -> Self {
        let each = 1.0 / outcomes.len() as f64;
        let mut all = BTreeMap::new();
        outcomes.into_iter().for_each(|outcome| *all.entry(outcome).or_insert(0.0) += each);
        Self(all)
    }
}

impl Law<bool> {
    /// A bit that is randomized with ε, as the paper defines it: kept with probability e^ε/(1 + e^ε).
    pub(crate) fn randomized(bit: bool, epsilon: f64) -> Self {
        let keep = epsilon.exp() / (1.0 + epsilon.exp());
        Self(BTreeMap::from([(bit, keep), (!bit, 1.0 - keep)]))
    }
}

/// The smallest δ at ε of two worlds, in the worse direction: the sum of all that one has above e^ε times the other.
pub(crate) fn delta_between<T: Ord + Clone>(one: &Law<T>, other: &Law<T>, epsilon: f64) -> f64 {
    let over = |p: &Law<T>, q: &Law<T>| -> f64 {
        p.0.iter().map(|(outcome, p)| (p - epsilon.exp() * q.0.get(outcome).unwrap_or(&0.0)).max(0.0)).sum()
    };
    over(one, other).max(over(other, one))
}

/// The pure ε of two worlds: the largest |ln ratio| of an outcome.
pub(crate) fn pure_between<T: Ord + Clone>(one: &Law<T>, other: &Law<T>) -> f64 {
    assert!(one.0.keys().eq(other.0.keys()), "the same outcomes in both worlds");
    one.0.iter().map(|(outcome, p)| (p / other.0[outcome]).ln().abs()).fold(0.0, f64::max)
}

/// All data of so many respondents, each of whom holds one of `values` or nothing.
pub(crate) fn all_data(respondents: usize, values: usize) -> Vec<Vec<Option<usize>>> {
    let choices = values + 1;
    (0..choices.pow(respondents as u32))
        .map(|code| {
            (0..respondents).map(|i| (code / choices.pow(i as u32) % choices).checked_sub(1)).collect()
        })
        .collect()
}

#[test]
fn laws_are_laws() {
    let two = Law::randomized(true, 1.0).then(|&a| Law::randomized(false, 0.5).seen(move |&b| (a, b)));
    assert!((two.chance(|_| true) - 1.0).abs() < 1e-15);
    let keep = 1.0 / (1.0 + (-1.0f64).exp());
    assert!((two.chance(|&(a, _)| a) - keep).abs() < 1e-15);
    let one = |bit| Law::randomized(bit, 1.0);
    assert!((pure_between(&one(true), &one(false)) - 1.0).abs() < 1e-12);
    assert!((delta_between(&one(true), &one(false), 0.0) - (2.0 * keep - 1.0)).abs() < 1e-12);
    assert!(delta_between(&one(true), &one(false), 1.0) < 1e-15);
    assert_eq!(all_data(2, 1).len(), 4);
    assert!((Law::uniform(vec![1, 1, 4]).mean(|&x| f64::from(x)) - 2.0).abs() < 1e-15);
}
