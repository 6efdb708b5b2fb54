//! The consent text: what a plan means, in words for the people who are asked.

use throng_account::CancelToken;
use throng_account::exceeded::exceeded_at_most;
use throng_account::planner::{Encoding, Plan, Question};
use throng_account::terms::Terms;
use throng_dp::{CentralGuarantee, Delta, Epsilon};

use crate::survey::AnswerChanges;
use crate::{Error, Survey};

/// A few sentences for people who will be asked.
pub(super) fn summary(
    question: &Question,
    plan: &Plan,
    survey: &Survey,
    go_on: CancelToken<'_>,
) -> Result<String, Error> {
    let central = question.epsilon_central.value();
    let sampled = match plan.encoding {
        Encoding::Record { attributes } if attributes > 1 => format!(
            "Of your answers to {attributes} questions one is picked at random on your own device, and nothing is sent \
             about the others. "
        ),
        Encoding::OneHot | Encoding::Sketch { .. } | Encoding::Record { .. } => String::new(),
    };
    let label = match &question.labels {
        Some(_) if super::labels::absence(survey)?.is_claimed() => {
            " The label that you choose is not hidden from these services either."
        }
        Some(_) => {
            " The label that you choose is not hidden from these services either. Whether you took part may show in what is \
             published, too."
        }
        None => {
            " How many people take part is published exactly, so whether you are one of them is not hidden."
        }
    };
    let lasting = match survey.answer_changes() {
        None => "for each answer that you send",
        Some(AnswerChanges::Allowed) => {
            "for as long as your answer stays the same (if it changes, your device tells you before anything is sent how \
             much more your answers then say)"
        }
        Some(AnswerChanges::Never) => {
            "for all that you ever send: the first answer that you give counts for all later times, too, also if you had \
             nothing to say"
        }
    };
    Ok(format!(
        "{sampled}Your answer is mixed with random noise on your own device before anything is sent, cut into pieces that cannot \
         be put together again, and passed through {} independent services that mix it with the answers of at least {} \
         people. Whatever is published could have come about almost as easily without you. Suppose that someone thinks it \
         a toss-up whether you gave a certain answer or none. After one publication they would be at most {} % sure of the \
         truth (a change of the odds by a factor of {} at most). The probability that they become surer than that is at \
         most {}. {} This holds if at least {:.0} % of the participants follow the rules. If all services and the \
         organisers worked together against you, the noise added on your device would still be there, but it is weak by \
         itself: it limits the change of the odds to a factor of {} {lasting}. That you took part is not hidden from the \
         first service.{label}",
        plan.exposure.instances,
        question.respondents,
        sure(central),
        odds(central),
        one_in(exceeded(survey, go_on)?),
        over_time(survey, go_on)?,
        100.0 * question.honest_fraction,
        odds(plan.exposure.epsilon_floor.value()),
    ))
}

/// The probability that a release tells more than the claimed epsilon, at most, under every label.
pub(super) fn exceeded(survey: &Survey, go_on: CancelToken<'_>) -> Result<f64, Error> {
    let crowd = survey.crowd.respondents_min;
    let mut most = 0.0_f64;
    for terms in terms(survey)? {
        most = most.max(terms.exceeded(crowd, go_on)?);
    }
    Ok(most)
}

/// What all publications together say to someone who answers every time.
fn over_time(survey: &Survey, go_on: CancelToken<'_>) -> Result<String, Error> {
    let crowd = survey.crowd.respondents_min;
    let mut promises = Vec::new();
    let mut longer = None;
    for (name, span_s) in SPANS {
        let epochs = span_s.div_ceil(survey.epoch_s.max(1));
        let Some(epochs) = u32::try_from(epochs).ok().filter(|epochs| (2..=EPOCHS_MAX).contains(epochs))
        else {
            continue;
        };
        let kept = together(&terms(survey)?, crowd, (epochs, survey.claim.delta), go_on);
        match kept.filter(|(epsilon, _)| sure(*epsilon) < 100.0) {
            Some((epsilon, exceeded)) => promises.push(format!(
                "after a {name} ({epochs} publications) at most {} % (a factor of {}), but for a probability of at \
                 most {}",
                sure(epsilon),
                odds(epsilon),
                one_in(exceeded)
            )),
            None => {
                longer = Some(name);
                break;
            }
        }
    }
    // Fresh noise each time adds up for ever; a backstop is the end of it for an answer that never changes, or may not.
    let end = match survey.answer_changes() {
        None => ", without a limit",
        Some(AnswerChanges::Allowed) => ", and only an answer that never changes has a limit, named below",
        Some(AnswerChanges::Never) => ", up to a limit, named below",
    };
    let every = every(survey.epoch_s);
    let mut text = format!(
        "That is about one publication. There may be one every {every}, and if you answer each time they "
    );
    if promises.is_empty() {
        text += &format!("add up. What is promised grows weaker with each of them{end}.");
    } else {
        text += &format!("add up: {}. It goes on growing{end}", promises.join("; "));
        text += &match longer {
            Some(name) => format!("; for a {name} no number is promised."),
            None => ".".to_owned(),
        };
    }
    text += " The organisers keep a ledger of all that they publish about you, and must stop when its budget is spent: ask \
             them what that budget is.";
    Ok(text)
}

/// What a number of epochs guarantees under all of these terms: an epsilon, and the probability that the loss exceeds it.
/// None if nothing can be said.
///
/// The epsilon is that of the ledger, at delta for each epoch, and a little on top; the probability is that of exceeding both.
fn together(
    terms: &[Terms],
    crowd: u64,
    (epochs, delta): (u32, f64),
    go_on: CancelToken<'_>,
) -> Option<(f64, f64)> {
    let delta = Delta::new(f64::from(epochs) * delta).ok()?;
    let all = terms.iter().map(|terms| terms.series(crowd, epochs, delta, go_on));
    let epsilons = all.collect::<Result<Vec<_>, _>>().ok()?;
    let most = epsilons.iter().map(|kept| kept.epsilon().value()).fold(0.0, f64::max);
    let kept = CentralGuarantee::<throng_dp::Removal>::new(Epsilon::new(most).ok()?, delta);
    let epsilon = Epsilon::new(most + ON_TOP).ok()?;
    Some((epsilon.value(), exceeded_at_most(epsilon, kept)))
}

/// What holds under each label. Of a label, it depends on how many instances get fragments and on nothing else.
fn terms(survey: &Survey) -> Result<Vec<Terms>, Error> {
    let mut all: Vec<Terms> = Vec::new();
    for label in survey.label_numbers() {
        let terms = crate::terms(survey, label)?;
        if !all.iter().any(|known| known.receiving == terms.receiving) {
            all.push(terms);
        }
    }
    Ok(all)
}

/// How much the odds change at most, rounded up.
fn odds(epsilon: f64) -> String {
    let factor = epsilon.exp();
    if factor < 10.0 {
        format!("{:.1}", (10.0 * factor).ceil() / 10.0)
    } else {
        format!("{:.0}", factor.ceil())
    }
}

/// Even odds after the worst evidence that the guarantee allows, as a probability in percent, rounded up.
fn sure(epsilon: f64) -> f64 {
    (100.0 / (1.0 + (-epsilon).exp())).ceil()
}

/// A probability that is a limit: to two digits, and never below it.
pub(super) fn one_in(probability: f64) -> String {
    if probability > 0.1 {
        return format!("{:.0} %", (100.0 * probability).ceil().min(100.0));
    }
    if probability == 0.0 {
        return "0".to_owned();
    }
    let many = 1.0 / probability * (1.0 - 1e-12);
    let unit = 10f64.powf((many.log10().floor() - 1.0).max(0.0));
    format!("1 in {:.0}", (many / unit).floor() * unit)
}

/// How long an epoch is.
fn every(epoch_s: u64) -> String {
    match epoch_s {
        3600 => "hour".to_owned(),
        86_400 => "day".to_owned(),
        604_800 => "week".to_owned(),
        days if days.is_multiple_of(86_400) => format!("{} days", days / 86_400),
        hours if hours.is_multiple_of(3600) => format!("{} hours", hours / 3600),
        seconds => format!("{seconds} seconds"),
    }
}

/// For which times the sum of all publications is told.
const SPANS: [(&str, u64); 3] = [("week", 604_800), ("month", 30 * 86_400), ("year", 365 * 86_400)];

/// Beyond this many publications people are told no number: it would be too large for anyone to sign.
const EPOCHS_MAX: u32 = 400;

/// How much more than the ledger's epsilon is told, for a probability: 10.6 times the delta.
const ON_TOP: f64 = 0.1;

#[cfg(test)]
mod tests;
