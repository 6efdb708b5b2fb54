//! What a plan means, in words that belong in a consent form.

use throng_account::planner::{Encoding, Plan, Question};

/// A few sentences for people who will be asked.
pub(super) fn summary(question: &Question, plan: &Plan) -> String {
    let floor = plan.exposure.epsilon_floor.value();
    // Both are limits, and rounded up.
    let odds = |epsilon: f64| {
        let factor = epsilon.exp();
        if factor < 10.0 {
            format!("{:.1}", (10.0 * factor).ceil() / 10.0)
        } else {
            format!("{:.0}", factor.ceil())
        }
    };
    // A gambler's even odds after the worst evidence that the guarantee allows.
    let guess = |epsilon: f64| (100.0 / (1.0 + (-epsilon).exp())).ceil();
    let central = question.epsilon_central.value();
    let sampled = match plan.encoding {
        Encoding::Record { attributes } if attributes > 1 => format!(
            "Of your answers to {attributes} questions one is picked at random on your own device, and nothing is sent \
             about the others. "
        ),
        Encoding::OneHot | Encoding::Sketch { .. } | Encoding::Record { .. } => String::new(),
    };
    let label = match &question.labels {
        Some(_) => " The label that you choose is not hidden from these services either.",
        None => "",
    };
    let changes = match plan.exposure.fragments {
        Some(_) => {
            " If you are asked again and your answer stays the same, that limit is for all times together; if it changes, your \
             device tells you before anything is sent how much more your answers then say."
        }
        None => "",
    };
    format!(
        "{sampled}Your answer is mixed with random noise on your own device before anything is sent, cut into pieces that cannot \
         be put together again, and passed through {} independent services that mix it with the answers of at least {} \
         people. Whatever is published could have come about almost as easily without you: someone who thought it a \
         toss-up whether you gave a certain answer or none would, after seeing everything published, be at most {:.0} % sure (a \
         change of the odds by a factor of {} at most), except with a probability of {:e}. This holds if at least {:.0} % \
         of the participants follow the rules. If all services and the organisers worked together against you, the noise \
         added on your device would still be there, but it is weak by itself: it limits the change of the odds to a factor \
         of {}.{changes} That you took part is not hidden from the first service.{label}",
        plan.exposure.instances,
        question.respondents,
        guess(central),
        odds(central),
        question.delta.value(),
        100.0 * question.honest_fraction,
        odds(floor),
    )
}

#[cfg(test)]
mod tests {
    use throng_account::planner::{Choice, Distribution, plan};
    use throng_dp::{Delta, Epsilon};

    use super::*;

    /// Whoever signs the form is told limits, and no limit is below what the plan keeps.
    #[test]
    fn a_consent_form_promises_no_more_than_the_plan() {
        let question = Question {
            epsilon_central: Epsilon::new(1.0).unwrap(),
            delta: Delta::new(1e-6).unwrap(),
            respondents: 50_000,
            honest_fraction: 1.0,
            domain: 500,
            report_fragments: 1,
            instances: 3,
            encoding: Choice::Recommend,
            distribution: Distribution::Uniform,
            labels: None,
        };
        let plan = plan(&question).unwrap();
        let text = summary(&question, &plan);
        // e is 2.718, and e / (1 + e) is 73.1 %.
        assert!(text.contains("a factor of 2.8 at most") && text.contains("at most 74 % sure"), "{text}");
        let floor = plan.exposure.epsilon_floor.value().exp();
        let said: f64 =
            text.rsplit("to a factor of ").next().unwrap().split(". ").next().unwrap().parse().unwrap();
        assert!(said >= floor && said < floor + 1.0, "{said} {floor}: {text}");
        assert!(!text.contains("if it changes"), "{text}");
        let fragmented = Question { report_fragments: 4, ..question };
        let text = summary(&fragmented, &throng_account::planner::plan(&fragmented).unwrap());
        assert!(text.contains("your answer stays the same") && text.contains("if it changes"), "{text}");
    }
}
