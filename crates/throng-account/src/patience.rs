//! Cancellation of work that may take long.

use crate::Error;

/// Cancellation token: whether to go on. It is asked before every piece of work that takes long, of which a plan has many and
/// the terms of a survey a few. Once it says no, it has to keep saying so; then nothing more is worked out, and the answer is
/// [`Error::Cancelled`].
pub type CancelToken<'a> = &'a dyn Fn() -> bool;

/// Never cancelled: the work goes on to its end, however long it takes.
pub const TO_THE_END: CancelToken<'static> = &|| true;

/// Fails once the work was cancelled.
pub(crate) fn still_wanted(go_on: CancelToken<'_>) -> Result<(), Error> {
    if go_on() { Ok(()) } else { Err(Error::Cancelled) }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use throng_dp::{Delta, Epsilon};

    use super::*;
    use crate::planner::{Choice, Distribution, Question, plan_while, respondents_for_share};

    /// Wherever a plan is cancelled, it ends there, and it is said that this is why.
    #[test]
    fn nothing_is_worked_out_that_nobody_wants() {
        let question = |number: u32, encoding, report_fragments| Question {
            // What nobody else asks for: what is remembered is told all the same.
            epsilon_central: Epsilon::new(0.9371 + 0.01 * f64::from(number)).unwrap(),
            delta: Delta::new(1.3e-6).unwrap(),
            respondents: 30_011,
            honest_fraction: 1.0,
            domain: 100,
            report_fragments,
            instances: 3,
            encoding,
            distribution: Distribution::Uniform,
            labels: None,
        };
        let choices = [
            (Choice::Recommend, 2),
            (Choice::OneHot, 1),
            (Choice::Record { attributes: 2 }, 3),
            (Choice::Sketch, 1),
        ];
        for (number, (encoding, fragments)) in (0..).zip(choices) {
            let question = question(number, encoding, fragments);
            assert_eq!(respondents_for_share(&question, 0.5, &|| false), Err(Error::Cancelled));
            for at in [1, 2, 5] {
                let asked = Cell::new(0);
                let go_on = || asked.replace(asked.get() + 1) + 1 < at;
                match plan_while(&question, &go_on) {
                    Err(Error::Cancelled) => assert_eq!(asked.get(), at, "nothing is begun after a no"),
                    // All was done before it was asked so often.
                    other => assert!(at > 1 && asked.get() < at, "{at}: {other:?}"),
                }
            }
        }
        assert_eq!(still_wanted(TO_THE_END), Ok(()));
    }
}
