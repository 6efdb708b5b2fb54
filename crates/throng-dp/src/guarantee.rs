//! Guarantees as types: an epsilon that cannot be negative, and a neighbor relation that cannot be forgotten.
//!
//! Paper: Section II.A, Definitions ldp-replace, ldp-remove, dp-replace and dp-remove. Guarantees of different relations
//! compare different worlds: they cannot be added, and what one says about another is a conversion with a proof. So the
//! relation is part of the type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Add;

use crate::Error;

/// A privacy loss: never NaN, never negative. Sums and multiples round up, so a total is never understated.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Epsilon(f64);

impl Epsilon {
    /// No loss at all.
    pub const ZERO: Self = Self(0.0);
    /// No guarantee at all.
    pub const INFINITE: Self = Self(f64::INFINITY);

    /// A finite epsilon that is not negative.
    pub fn new(value: f64) -> Result<Self, Error> {
        if value.is_finite() && value >= 0.0 { Ok(Self(value.abs())) } else { Err(Error::Epsilon(value)) }
    }

    /// The number itself.
    pub fn value(self) -> f64 {
        self.0
    }

    /// The loss of `n` independent releases: the exact product, rounded up.
    pub fn times(self, n: u32) -> Self {
        if n == 0 { Self::ZERO } else { Self(multiply_up(self.0, f64::from(n))) }
    }

    /// An equal share of a budget, rounded down so that `parts` shares never exceed it.
    pub fn share(self, parts: u32) -> Result<Self, Error> {
        if parts == 0 {
            return Err(Error::ZeroCount("the number of parts that a budget is split into"));
        }
        let share = self.0 / f64::from(parts);
        let excess = share.mul_add(f64::from(parts), -self.0);
        Ok(Self(if excess > 0.0 { share.next_down() } else { share }))
    }

    /// The smaller of two bounds that both hold.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// A computed bound whose floating-point error is at most `slack`, made safe.
    pub(crate) fn rounded_up(value: f64, slack: f64) -> Self {
        Self((value.max(0.0) + slack).next_up())
    }
}

impl Add for Epsilon {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(add_up(self.0, other.0))
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The allowance beside e^ε: between 0 and 1, never NaN. Sums round up and stop at 1.
///
/// (ε, δ) says of every set S of what may be seen: Pr[S with the answer] ≤ e^ε Pr[S without it] + δ, and the other way
/// round. δ is not the probability that the loss exceeds ε. That is larger, 10 to 30 times for an ordinary survey;
/// `throng_account::exceeded` says how large it is at most.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Delta(f64);

impl Delta {
    /// Pure differential privacy.
    pub const ZERO: Self = Self(0.0);

    /// A number between 0 and 1.
    pub fn new(value: f64) -> Result<Self, Error> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value.abs())) } else { Err(Error::Delta(value)) }
    }

    /// The number itself.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Delta {
    /// To three digits, rounded up: a bound that is shown is one that holds.
    pub fn to_three_digits(self) -> f64 {
        let near = |value: f64| format!("{value:.2e}").parse().unwrap_or(value);
        let mut shown: f64 = near(self.0);
        if shown < self.0 {
            shown = near(shown + 10f64.powf(self.0.log10().floor() - 2.0));
        }
        // In the last place of the smallest doubles there are no three digits.
        if shown < self.0 { self.0 } else { shown.min(1.0) }
    }
}

impl Add for Delta {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(add_up(self.0, other.0).min(1.0))
    }
}

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Which two worlds a guarantee compares: one of the four types below.
pub trait Neighbors: sealed::Sealed {
    /// The word for it in every output.
    const NAME: &'static str;
}

/// The respondent answered, or had nothing to say and sent the reference report R_0. They take part in both worlds.
///
/// Paper: Definition ldp-remove; and dp-remove, where whoever is left out sends R_0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {}

/// The respondent took part, or did not: n uploads, or n − 1.
///
/// Paper: Definition dp-remove, where nothing is in the place of whoever is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {}

/// The respondent held one value, or any other.
///
/// Paper: Definitions ldp-replace and dp-replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {}

/// The respondent was in one crowd, or in another: what the numbers of both crowds say, and nothing but the numbers.
///
/// Paper: Section V, Theorem privCrowds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relabelling {}

impl Neighbors for Removal {
    const NAME: &'static str = "removal";
}

impl Neighbors for Absence {
    const NAME: &'static str = "absence";
}

impl Neighbors for Replacement {
    const NAME: &'static str = "replacement";
}

impl Neighbors for Relabelling {
    const NAME: &'static str = "another crowd";
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Removal {}
    impl Sealed for super::Absence {}
    impl Sealed for super::Replacement {}
    impl Sealed for super::Relabelling {}
}

/// A guarantee of local differential privacy: it holds of one respondent's report, whatever happens to that afterwards.
pub struct LocalGuarantee<N> {
    epsilon: Epsilon,
    delta: Delta,
    neighbors: PhantomData<N>,
}

impl<N: Neighbors> LocalGuarantee<N> {
    /// Pure epsilon-LDP.
    pub fn pure(epsilon: Epsilon) -> Self {
        Self::approximate(epsilon, Delta::ZERO)
    }

    /// (epsilon, delta)-LDP.
    pub fn approximate(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta, neighbors: PhantomData }
    }

    /// The privacy loss.
    pub fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// The allowance beside e^ε: [`Delta`] says what that is.
    pub fn delta(self) -> Delta {
        self.delta
    }

    /// Basic composition of `n` independent reports of the same value.
    pub fn times(self, n: u32) -> Self {
        let delta = Delta(multiply_up(self.delta.0, f64::from(n)).min(1.0));
        Self::approximate(self.epsilon.times(n), delta)
    }
}

/// A guarantee of central differential privacy: it holds for each member of a crowd, of all that an analyzer sees of it.
///
/// Guarantees of one relation add up. Of two relations they do not, which is not a matter of care:
/// ```compile_fail
/// use throng_dp::{Absence, CentralGuarantee, Delta, Epsilon, Removal};
/// let counts = CentralGuarantee::<Removal>::new(Epsilon::ZERO, Delta::ZERO);
/// let deletion = CentralGuarantee::<Absence>::new(Epsilon::ZERO, Delta::ZERO);
/// let sum = counts + deletion;
/// ```
pub struct CentralGuarantee<N> {
    epsilon: Epsilon,
    delta: Delta,
    neighbors: PhantomData<N>,
}

impl<N: Neighbors> CentralGuarantee<N> {
    /// (epsilon, delta)-DP.
    pub const fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta, neighbors: PhantomData }
    }

    /// The privacy loss.
    pub fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// The allowance beside e^ε: [`Delta`] says what that is.
    pub fn delta(self) -> Delta {
        self.delta
    }
}

/// Basic composition: both releases, each of which may have been chosen after seeing the other.
impl<N: Neighbors> Add for CentralGuarantee<N> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.epsilon + other.epsilon, self.delta + other.delta)
    }
}

/// Two values are each within ε of the reference report, so within 2ε of one another.
impl From<LocalGuarantee<Removal>> for LocalGuarantee<Replacement> {
    fn from(removal: LocalGuarantee<Removal>) -> Self {
        let (epsilon, delta) = over_the_reference(removal.epsilon, removal.delta);
        Self::approximate(epsilon, delta)
    }
}

/// The same for a crowd: with the respondent's one value, and with the other, it is within (ε, δ) of the crowd without.
impl From<CentralGuarantee<Removal>> for CentralGuarantee<Replacement> {
    fn from(removal: CentralGuarantee<Removal>) -> Self {
        let (epsilon, delta) = over_the_reference(removal.epsilon, removal.delta);
        Self::new(epsilon, delta)
    }
}

/// From one value to another by way of the reference: P(S) <= e^ε R_0(S) + δ <= e^ε (e^ε P'(S) + δ) + δ.
fn over_the_reference(epsilon: Epsilon, delta: Delta) -> (Epsilon, Delta) {
    // Three roundings, each below one part in 2^52.
    let twice = delta.0 * (1.0 + epsilon.0.exp()) * (1.0 + 8.0 * f64::EPSILON);
    (epsilon.times(2), Delta(twice.min(1.0)))
}

/// Any fixed value's report can serve as the reference, so replacement implies removal at the same ε.
impl From<LocalGuarantee<Replacement>> for LocalGuarantee<Removal> {
    fn from(replacement: LocalGuarantee<Replacement>) -> Self {
        Self::approximate(replacement.epsilon, replacement.delta)
    }
}

// Written out because derives would ask the same of the marker `N`.
macro_rules! value_traits {
    ($guarantee:ident, $notion:literal) => {
        impl<N> Clone for $guarantee<N> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<N> Copy for $guarantee<N> {}

        impl<N> PartialEq for $guarantee<N> {
            fn eq(&self, other: &Self) -> bool {
                (self.epsilon, self.delta) == (other.epsilon, other.delta)
            }
        }

        impl<N: Neighbors> fmt::Debug for $guarantee<N> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl<N: Neighbors> fmt::Display for $guarantee<N> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self.delta == Delta::ZERO {
                    write!(f, "{}-{} ({})", self.epsilon, $notion, N::NAME)
                } else {
                    write!(f, "({}, {:e})-{} ({})", self.epsilon, self.delta.0, $notion, N::NAME)
                }
            }
        }
    };
}

value_traits!(LocalGuarantee, "LDP");
value_traits!(CentralGuarantee, "DP");

/// The exact product, rounded up: a fused multiply-add gives the rounding error exactly.
fn multiply_up(a: f64, b: f64) -> f64 {
    let product = a * b;
    let missing = a.mul_add(b, -product);
    if missing > 0.0 { product.next_up() } else { product }
}

/// The exact sum, rounded up (Knuth's two-sum gives the rounding error exactly).
fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_rounded = sum - a;
    let missing = (a - (sum - b_rounded)) + (b - b_rounded);
    if missing > 0.0 { sum.next_up() } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_and_delta_refuse_what_is_not_a_privacy_parameter() {
        for bad in [f64::NAN, -1.0, -f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(Epsilon::new(bad), Err(Error::Epsilon(_))), "{bad}");
        }
        for bad in [f64::NAN, -1e-300, 1.0f64.next_up(), f64::INFINITY] {
            assert!(matches!(Delta::new(bad), Err(Error::Delta(_))), "{bad}");
        }
        assert!(Epsilon::new(-0.0).unwrap().value().is_sign_positive());
        assert_eq!(Delta::new(1.0).unwrap().value(), 1.0);
    }

    #[test]
    fn the_factor_of_two_is_a_conversion() {
        let removal = LocalGuarantee::<Removal>::pure(Epsilon::new(8.55).unwrap());
        let replacement: LocalGuarantee<Replacement> = removal.into();
        assert_eq!(replacement.epsilon().value(), 17.1);
        assert_eq!(replacement.to_string(), "17.1-LDP (replacement)");
        let back: LocalGuarantee<Removal> = replacement.into();
        assert_eq!(back.epsilon().value(), 17.1, "the way back never halves");
    }

    #[test]
    fn delta_grows_by_the_detour_over_the_reference() {
        let epsilon = Epsilon::new(1.0).unwrap();
        let removal = LocalGuarantee::<Removal>::approximate(epsilon, Delta::new(1e-9).unwrap());
        let replacement: LocalGuarantee<Replacement> = removal.into();
        let expected = 1e-9 * (1.0 + 1f64.exp());
        assert!(replacement.delta().value() >= expected);
        assert!(replacement.delta().value() <= expected * (1.0 + 3e-15));
        let central = CentralGuarantee::<Removal>::new(epsilon, removal.delta());
        let central: CentralGuarantee<Replacement> = central.into();
        assert_eq!(
            (central.epsilon().value(), central.delta()),
            (2.0, replacement.delta()),
            "as for one report"
        );
    }

    #[test]
    fn a_shown_delta_is_never_below_the_delta() {
        for (value, shown) in
            [(0.0, "0e0"), (1.0, "1e0"), (1e-6, "1e-6"), (3.718_281e-6, "3.72e-6"), (1.001e-9, "1.01e-9")]
        {
            assert_eq!(format!("{:e}", Delta(value).to_three_digits()), shown);
        }
        for step in 1..2000 {
            for unit in [1e-300, 1e-12, 0.000_456_789] {
                let value = f64::from(step) * 1.000_123 * unit;
                let shown = Delta(value).to_three_digits();
                assert!(shown >= value && shown <= value * 1.010_001, "{value} {shown}");
            }
        }
        assert_eq!(Delta(5e-324).to_three_digits(), 5e-324);
    }

    #[test]
    fn guarantees_of_one_relation_add_up_and_say_which() {
        let of = |epsilon, delta| {
            CentralGuarantee::<Absence>::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
        };
        let sum = of(0.5, 1e-9) + of(0.25, 2e-9);
        assert_eq!(sum.epsilon().value(), 0.75);
        assert!((3e-9..3.000_001e-9).contains(&sum.delta().value()));
        assert!(
            sum.to_string().starts_with("(0.75, ") && sum.to_string().ends_with("-DP (absence)"),
            "{sum}"
        );
        assert_eq!((of(1.0, 0.7) + of(1.0, 0.7)).delta().value(), 1.0);
        let names = [Removal::NAME, Absence::NAME, Replacement::NAME, Relabelling::NAME];
        assert_eq!(names, ["removal", "absence", "replacement", "another crowd"]);
    }

    /// One randomized bit in a crowd of two, from the definition: the exact (ε, δ) of removal, and of two values whose bits
    /// are two such counts. At 2ε the replacement's δ is above that of the removal, and below what the conversion says.
    #[test]
    fn twice_epsilon_at_the_same_delta_is_not_enough() {
        let law = |own: f64, other: f64| {
            let both = own * other;
            [(1.0 - own) * (1.0 - other), own + other - 2.0 * both, both]
        };
        let stick = |p: &[f64], q: &[f64], epsilon: f64| -> f64 {
            p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
        };
        let mut exceeded = false;
        for local in [1.0f64, 2.0, 4.0] {
            let p = 1.0 / (1.0 + local.exp());
            // The other respondent holds neither value, the first, or the second.
            for (first, second) in [(p, p), (1.0 - p, p), (p, 1.0 - p)] {
                let [one, zero] = [law(1.0 - p, first), law(p, first)];
                let [one_too, zero_too] = [law(1.0 - p, second), law(p, second)];
                let joint = |a: &[f64; 3], b: &[f64; 3]| -> Vec<f64> {
                    a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect()
                };
                let (held, other) = (joint(&one, &zero_too), joint(&zero, &one_too));
                for epsilon in [0.01, 0.1, 0.3, 0.6, 1.0, 2.0] {
                    let counts = [(&one, &zero), (&one_too, &zero_too)];
                    let removal = counts
                        .map(|(p, q)| stick(p, q, epsilon).max(stick(q, p, epsilon)))
                        .into_iter()
                        .fold(0.0, f64::max);
                    let truth = stick(&held, &other, 2.0 * epsilon).max(stick(&other, &held, 2.0 * epsilon));
                    let removed = CentralGuarantee::<Removal>::new(
                        Epsilon::new(epsilon).unwrap(),
                        Delta::new(removal).unwrap(),
                    );
                    let converted: CentralGuarantee<Replacement> = removed.into();
                    assert!(truth <= converted.delta().value(), "{local} {epsilon}: {truth}");
                    exceeded |= truth > removal * 1.01;
                }
            }
        }
        assert!(exceeded, "somewhere 2 epsilon at delta alone is too little");
    }

    #[test]
    fn sums_round_up_and_shares_round_down() {
        let tiny = Epsilon::new(1e-30).unwrap();
        let one = Epsilon::new(1.0).unwrap();
        assert_eq!((one + tiny).value(), 1.0f64.next_up());
        assert_eq!((one + one).value(), 2.0);
        for parts in 1..200 {
            for whole in [0.1, 1.0, 2.94, 8.55, 19.99] {
                let whole = Epsilon::new(whole).unwrap();
                let share = whole.share(parts).unwrap();
                assert!(share.times(parts) <= whole);
                assert!(share.value() * f64::from(parts) > whole.value() * (1.0 - 1e-15));
            }
        }
        assert!(one.share(0).is_err());
        assert_eq!(Epsilon::INFINITE.times(0), Epsilon::ZERO);
    }
}
