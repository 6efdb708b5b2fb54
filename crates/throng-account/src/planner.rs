//! Planning: from a target guarantee to the parameters of a survey, and what they cost.

pub mod cost;
mod inverse;
mod plan_labels;
mod sketch;

use throng_dp::estimate::{BitNoise, Spread};
use throng_dp::fragmenting::fragment_epsilon;
use throng_dp::sampling::Bernoulli;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Removal};

use crate::Error;
use crate::amplification::exact;
use crate::attacker::{Coalition, Exposure, RemainingPrivacy};
use crate::bound::Bound;
use crate::memo::Memo;
use crate::patience::{CancelToken, TO_THE_END, still_wanted};
use crate::terms::fragments_epsilon;
pub use crate::traffic::Traffic;
pub use inverse::{FragmentCost, fragment_cost, respondents_for_share};
pub use plan_labels::PlanLabels;
pub use sketch::Distribution;

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The guarantee of one release: its epsilon.
    pub epsilon_central: Epsilon,
    /// And its delta, of which a hundredth is set aside for envelopes that overflow.
    pub delta: Delta,
    /// How many respondents are expected, and required.
    pub respondents: u64,
    /// The share of them that may be relied on to be honest.
    pub honest_fraction: f64,
    /// How many values there are; of records, those of all attributes together.
    pub domain: u64,
    /// How many report fragments each bit is sent in: tau. 1 means none, and no backstop.
    pub report_fragments: u32,
    /// How many shuffler instances.
    pub instances: u32,
    /// How a value is to be written as bits.
    pub encoding: Choice,
    /// How the values are distributed, as far as it is known: what collisions in a sketch cost depends on it.
    pub distribution: Distribution,
    /// Crowds that are counted apart, each with `respondents` respondents. `None`: there is one crowd.
    pub labels: Option<PlanLabels>,
}

/// How a value is to be written as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Whatever serves best.
    Recommend,
    /// One bit per value.
    OneHot,
    /// A count-mean sketch of the best size.
    Sketch,
    /// Records: one bit for the value of a sampled attribute.
    Record {
        /// How many attributes they have.
        attributes: u32,
    },
}

/// How a value is written as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// One bit per value.
    OneHot,
    /// A count-mean sketch.
    Sketch {
        /// How many hash functions.
        rows: u32,
        /// How many cells in a row.
        cells: u32,
    },
    /// One bit for the value of a sampled attribute.
    Record {
        /// How many attributes a record has.
        attributes: u32,
    },
}

/// The parameters of a survey that keeps the target, and what they cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// How a value is written as bits.
    pub encoding: Encoding,
    /// What a release guarantees, with what it keeps if something fails.
    pub exposure: Exposure,
    /// The part of the guarantee's delta that overflowing envelopes take.
    pub overflow: Delta,
    /// How many envelopes every respondent sends to every instance.
    pub envelopes: u32,
    /// How many of them hold a fragment, on average, over all instances.
    pub fragments: f64,
    /// How good the estimates will be.
    pub accuracy: Accuracy,
    /// Why it is planned like this, in sentences.
    pub reasons: Vec<String>,
}

/// How good the estimates will be, in respondents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The standard error of every count: privacy and collisions together. Of a record, that of a value nobody holds.
    pub standard_error: f64,
    /// The part of it that is the price of privacy.
    pub privacy_error: f64,
    /// The part of it that comes from values sharing a cell; 0 without a sketch.
    pub collision_error: f64,
    /// What sampling one attribute adds for a value that everybody holds; 0 without records. For a value held by a
    /// hundredth of the crowd it is a tenth of this.
    pub sampling_error: f64,
    /// Over the whole domain, no count is further off than this, with probability 95 %.
    pub simultaneous_error: f64,
    /// A value that nobody holds exceeds this anywhere in the domain with probability 5 % at most.
    pub threshold: f64,
    /// A value held by this many exceeds the threshold with probability 95 %: the smallest count that can be told
    /// from zero.
    pub detectable: f64,
}

/// The most envelopes per instance that a plan may ask a respondent to send.
///
/// A first hop accepts whatever length its survey has, up to the wire format's 2^30 bytes for a body. A body of this many
/// envelopes has 107 kB over two hops, and over sixteen, the most there may be, 793 kB: it fits in one request of a
/// megabyte. Each envelope is sealed once for every stop after the first hop, which takes a respondent a tenth of a second
/// for two hops of one instance, and a crowd of a million keeps a core of the second hop busy for ten hours ([`cost`]).
/// What needs more is to be planned in another way.
pub const ENVELOPES_MAX: u32 = 1000;

/// Plans a survey, or says why there is none and what would be feasible.
pub fn plan(question: &Question) -> Result<Plan, Error> {
    plan_while(question, TO_THE_END)
}

/// The same for as long as `go_on` says yes. It takes long for a crowd that is much too small: then the least that would do
/// is looked for.
pub fn plan_while(question: &Question, go_on: CancelToken<'_>) -> Result<Plan, Error> {
    question.check()?;
    match question.encoding {
        Choice::OneHot => feasible(question, one_hot(question, go_on)?, go_on),
        Choice::Sketch => feasible(question, sketch::best(question, go_on)?, go_on),
        Choice::Record { attributes } => feasible(question, record(question, attributes, go_on)?, go_on),
        Choice::Recommend => recommend(question, go_on),
    }
}

/// One-hot where its fragments can be sent at all: it has no collisions, and the exact bound at the full crowd.
fn recommend(question: &Question, go_on: CancelToken<'_>) -> Result<Plan, Error> {
    let too_many = match one_hot(question, go_on) {
        Ok(mut plan) => {
            plan.reasons.insert(
                0,
                "One bit per value: no two values share a cell, and the whole crowd hides each bit. A sketch would \
                 send fewer fragments and add an error that depends on the data."
                    .into(),
            );
            plan.reasons.extend(other_choices(question, &plan, go_on)?);
            return feasible(question, plan, go_on);
        }
        Err(reason @ (Error::NotApplicable(_) | Error::TooManyFragments { .. })) => reason,
        Err(other) => return Err(other),
    };
    let mut plan =
        sketch::best(question, go_on).map_err(|reason| sketch::nearest(Some(too_many.clone()), reason))?;
    let because = match &too_many {
        Error::TooManyFragments { fragments, limit, .. } => format!(
            "each respondent would send about {fragments:.0} fragments, too many to hide their number in {limit} envelopes \
             for each instance"
        ),
        Error::NotApplicable(reason) => reason.clone(),
        other => other.to_string(),
    };
    plan.reasons.insert(0, format!("A sketch, because with one bit per value {because}."));
    feasible(question, plan, go_on)
}

/// Why this tau and this K: what others would cost and buy.
fn other_choices(question: &Question, plan: &Plan, go_on: CancelToken<'_>) -> Result<Vec<String>, Error> {
    let mut reasons = Vec::new();
    if question.labels.is_some() {
        return Ok(reasons);
    }
    // What is not feasible is not compared.
    let other = |question: Question| match one_hot(&question, go_on) {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        other => Ok(other.ok()),
    };
    let exposed = |plan: &Plan| match plan.exposure.left(Coalition::AnalyzerAndInstances(1)) {
        Ok(RemainingPrivacy::Local { exposed, .. }) => exposed.epsilon().value(),
        _ => plan.exposure.epsilon_floor.value(),
    };
    // A bound is shown with few digits as one that still holds.
    let at_most = |epsilon: f64| (epsilon * 100.0).ceil() / 100.0;
    if question.report_fragments == 1
        && question.instances > 1
        && let Some(more) = other(Question { report_fragments: question.instances, ..question.clone() })?
    {
        reasons.push(format!(
                "One fragment per bit is the fewest to send, and right if no instance will work together with the analyzer. \
             With {} report fragments, one for each instance, what such an instance ties to somebody would by itself say at \
             most epsilon {:.2} instead of {:.2} (removal), and with the release at most {:.2}; at the same central guarantee, for \
             {} envelopes instead of {} and an error of {:.1} instead of {:.1}.",
            question.instances,
            at_most(exposed(&more)),
                at_most(exposed(plan)),
                at_most(more.exposure.epsilon_floor.value()),
                more.envelopes,
                plan.envelopes,
                more.accuracy.standard_error,
                plan.accuracy.standard_error
            ));
    }
    let instances = question.instances.saturating_add(2);
    if let Some(more) = other(Question { instances, ..question.clone() })? {
        let total = |plan: &Plan, instances: u32| u64::from(plan.envelopes) * u64::from(instances);
        reasons.push(format!(
            "{} instances: two more would cost {} envelopes instead of {}, and leave each of them fewer fragments.",
            question.instances,
            total(&more, instances),
            total(plan, question.instances)
        ));
    }
    Ok(reasons)
}

fn one_hot(question: &Question, go_on: CancelToken<'_>) -> Result<Plan, Error> {
    let floor = one_bit_floor(question, go_on)?;
    build((question, go_on), Encoding::OneHot, question.domain, floor, |n, noise| noise.spread(n, 1))
}

/// Records: every respondent samples one attribute and reports on it alone, over the values of all of them.
///
/// # Privacy
/// The guarantee is that of a one-hot survey over the whole width, for removal of a whole record. Write Q for what is
/// released, a function of all reports. Given which attribute each respondent samples, every report is that of a one-hot
/// vector or of the empty one, and the exact bound covers any such data of the others: with P_j the law of Q when the
/// respondent reports on attribute j, and P_0 when they send R_0 instead, D(P_j || P_0) ≤ δ and D(P_0 || P_j) ≤ δ for the
/// hockey-stick divergence D at e^ε. The respondent samples independently of the others, so with their record Q has the
/// law Σ_j P_j/s, and without it P_0 = Σ_j P_0/s, both averaged over the same samples of the others. D is jointly convex,
/// so it is at most the average of terms that are each at most δ. (It is an upper bound: that nobody sees which attribute
/// was sampled is not made use of.)
/// # Utility
/// Counts are scaled up by s, and so is their noise; who is sampled is random too.
fn record(question: &Question, attributes: u32, go_on: CancelToken<'_>) -> Result<Plan, Error> {
    let floor = one_bit_floor(question, go_on)?;
    let encoding = Encoding::Record { attributes };
    let mut plan =
        build((question, go_on), encoding, question.domain, floor, |n, noise| noise.spread(n, attributes))?;
    plan.reasons.insert(
        0,
        format!(
            "Each respondent samples one of {attributes} attributes and spends the whole budget on it, so counts are \
             scaled up by {attributes}. Nobody sees which one it was: noise covers the values of all of them."
        ),
    );
    Ok(plan)
}

/// What the accountant allows for reports in which one bit differs from the reference.
fn one_bit_floor(question: &Question, go_on: CancelToken<'_>) -> Result<Epsilon, Error> {
    if question.domain > 1 << 32 {
        return Err(Error::NotApplicable(
            "a survey with a bit for each value has at most 2^32 of them".into(),
        ));
    }
    ANSWERS.once(question.asked(Epsilon::ZERO, 0, None), go_on, || {
        exact::epsilon_local_certified(question.honest(), question.epsilon_central, question.main_delta())
            .map(tidy)
    })
}

/// The epsilon of a report fragment: that of equal variance, or as much less as it takes for all fragments of an epoch to keep
/// the target whoever is counted by which instance (`Terms`).
fn fragments_within(
    (question, go_on): (&Question, CancelToken<'_>),
    rows: Option<u32>,
    equal: Epsilon,
) -> Result<Epsilon, Error> {
    let bound = Bound::named("exact")?;
    let keeps = |epsilon: Epsilon| {
        still_wanted(go_on)?;
        let (honest, tau) = (question.honest(), question.report_fragments);
        let composed = fragments_epsilon(bound, honest, (epsilon, tau), question.main_delta(), rows)?;
        Ok::<bool, Error>(composed <= question.epsilon_central)
    };
    if question.most() == 1 && rows.is_none() {
        return Ok(tidy(equal));
    }
    ANSWERS.once(question.asked(equal, question.report_fragments, rows), go_on, || {
        if keeps(tidy(equal))? {
            return Ok(tidy(equal));
        }
        let (mut low, mut high) = (0.0, equal.value());
        for _ in 0..FRAGMENT_STEPS {
            let middle = f64::midpoint(low, high);
            if keeps(Epsilon::new(middle)?)? { low = middle } else { high = middle }
        }
        let epsilon = tidy(Epsilon::new(low)?);
        if epsilon > Epsilon::ZERO && keeps(epsilon)? {
            return Ok(epsilon);
        }
        Err(Error::NotApplicable(format!(
            "{} report fragments over {} instances do not keep epsilon_central {}: choose fewer report fragments",
            question.report_fragments, question.instances, question.epsilon_central
        )))
    })
}

/// The key of the cache, all that an answer depends on: the honest crowd; epsilon_central, delta and what is asked about; tau; rows.
type CacheKey = (u64, [u64; 3], u32, Option<u32>);

static ANSWERS: Memo<CacheKey, Epsilon> = Memo::new(32);

/// Bisections for the epsilon of a report fragment.
const FRAGMENT_STEPS: usize = 16;

/// From the epsilon that the accountant allows to the whole plan. `spread` says how far estimates are off.
fn build(
    (question, go_on): (&Question, CancelToken<'_>),
    encoding: Encoding,
    width: u64,
    floor: Epsilon,
    spread: impl FnOnce(f64, &BitNoise) -> Spread,
) -> Result<Plan, Error> {
    let coin = Bernoulli::flip(floor)?;
    let tau = question.report_fragments;
    let rows = match encoding {
        Encoding::Sketch { rows, .. } => Some(rows),
        Encoding::OneHot | Encoding::Record { .. } => None,
    };
    let fragments = match tau {
        0 | 1 => None,
        tau => Some((fragments_within((question, go_on), rows, fragment_epsilon(floor, tau)?)?, tau)),
    };
    let fragment_coins = match fragments {
        Some((epsilon, tau)) => Some((Bernoulli::flip(epsilon)?, tau)),
        None => None,
    };
    let noise = match fragment_coins {
        Some((fragment, tau)) => BitNoise::fragmented(coin, fragment, tau),
        None => BitNoise::single(coin),
    };

    // Envelopes: n K (1 + e^epsilon) Pr[overflow] stays below delta/100, under every label.
    let traffic = |instances| Traffic { width, coin, fragments: fragment_coins, instances };
    let mut envelopes = 1;
    for traffic in question.receiving().map(traffic) {
        let weight = traffic.overflow_weight(question.respondents, question.epsilon_central);
        let miss = Delta::new((question.delta.value() / 100.0 / weight).min(1.0))?;
        let needed = traffic.envelopes(miss, ENVELOPES_MAX).map_err(|error| match error {
            Error::TooManyFragments { fragments, envelopes, limit, change }
                if encoding == Encoding::OneHot =>
            {
                Error::TooManyFragments { fragments, envelopes, limit, change: change + ", or a sketch" }
            }
            other => other,
        })?;
        envelopes = envelopes.max(needed);
    }
    let overflow = question
        .receiving()
        .map(|instances| {
            let delta =
                traffic(instances).overflow_delta(envelopes, question.respondents, question.epsilon_central);
            delta.value().min(question.delta.value() / 100.0)
        })
        .fold(0.0, f64::max);
    let overflow = Delta::new(overflow)?;

    let n = question.respondents as f64;
    let central = CentralGuarantee::<Removal>::new(question.epsilon_central, question.delta);
    let exposure =
        Exposure { epsilon_floor: floor, fragments, instances: question.fewest(), cover: true, central };
    let accuracy = Accuracy::of(&spread(n, &noise), question.domain, n);
    let mut plan = Plan {
        encoding,
        exposure,
        overflow,
        envelopes,
        fragments: traffic(question.fewest()).expected(),
        accuracy,
        reasons: vec![],
    };
    plan.reasons.push(match fragments {
        None => format!(
            "Each bit is flipped with probability {:.3e}: the largest epsilon_local for which the exact accountant \
             certifies the target over every possible data of the other respondents.",
            coin.probability()
        ),
        Some((epsilon, tau)) => format!(
            "{tau} report fragments of epsilon_fragment {epsilon} each, at which they add at least as much variance as the \
             backstop has itself, and keep the central guarantee also where instances count different respondents."
        ),
    });
    plan.reasons.push(format!(
        "{envelopes} envelopes to each of {} instances hide how many fragments there are; about {:.1} of {} hold one.",
        question.instances,
        plan.fragments,
        u64::from(envelopes) * u64::from(question.instances)
    ));
    plan.reasons.extend(question.routing_reason());
    plan.reasons.extend(question.labels_reason());
    Ok(plan)
}

/// A plan under which not even a value that everybody holds can be told from zero is no plan.
fn feasible(question: &Question, plan: Plan, go_on: CancelToken<'_>) -> Result<Plan, Error> {
    if plan.accuracy.detectable <= question.respondents as f64 {
        return Ok(plan);
    }
    let mut alternatives = Vec::new();
    if let Some(more) = inverse::least_crowd(question, 1.0, go_on)? {
        alternatives.push(format!("{more} respondents at the same guarantee"));
    }
    if let Some(epsilon) = inverse::least_epsilon(question, go_on)? {
        alternatives.push(format!("epsilon_central {epsilon} with the same crowd"));
    }
    Err(Error::Infeasible {
        reason: format!(
            "even a value that all {} respondents hold could not be told from zero: that takes a count of {:.0}",
            question.respondents, plan.accuracy.detectable
        ),
        alternatives,
    })
}

impl Question {
    /// What an answer of the accountant about this epsilon depends on.
    fn asked(&self, epsilon: Epsilon, tau: u32, rows: Option<u32>) -> CacheKey {
        let numbers = [self.epsilon_central.value(), self.main_delta().value(), epsilon.value()];
        (self.honest(), numbers.map(f64::to_bits), tau, rows)
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |what, got, expected| Err(Error::Parameter { what, got, expected });
        if self.epsilon_central == Epsilon::ZERO || self.epsilon_central == Epsilon::INFINITE {
            return wrong("epsilon_central", self.epsilon_central.value(), "give a finite number above 0");
        }
        if self.delta == Delta::ZERO || self.delta.value() >= 1.0 {
            return wrong("delta", self.delta.value(), "give a number between 0 and 1");
        }
        if !(self.honest_fraction > 0.0 && self.honest_fraction <= 1.0) {
            return wrong("the honest fraction", self.honest_fraction, "give a number above 0 and at most 1");
        }
        self.check_labels()?;
        if self.honest() < 2 {
            return wrong("the honest crowd", self.honest() as f64, "nobody is hidden in a crowd of one");
        }
        if let Choice::Record { attributes } = self.encoding
            && (attributes == 0 || self.domain < 2 * u64::from(attributes))
        {
            let expected = "give at least 1, each with at least 2 values";
            return wrong("the number of attributes", f64::from(attributes), expected);
        }
        for (what, got) in [
            ("the domain", self.domain as f64),
            ("the number of report fragments", f64::from(self.report_fragments)),
            ("the number of instances", f64::from(self.instances)),
        ] {
            if got < 1.0 {
                return wrong(what, got, "give at least 1");
            }
        }
        Ok(())
    }
}

impl Accuracy {
    fn of(spread: &Spread, domain: u64, respondents: f64) -> Self {
        let variance = spread.variance(0.0);
        let threshold = spread.deviation(0.0, 0.05 / domain as f64);
        // A value held by c must exceed the threshold by what c itself may be off.
        let above = |count: f64| threshold + spread.deviation(count, 0.05);
        let detectable = if spread.per_holder > 0.0 {
            // A fixed point, reached from below in steps that halve; for the last digits it is passed.
            (0..200).fold(above(0.0), |count, _| above(count).max(count)) * (1.0 + 1e-9)
        } else {
            above(0.0)
        };
        let miss = 0.05 / (2.0 * domain as f64);
        Self {
            standard_error: variance.sqrt(),
            privacy_error: spread.noise.sqrt(),
            collision_error: (variance - spread.noise).sqrt(),
            sampling_error: (spread.per_holder * respondents).sqrt(),
            simultaneous_error: spread.deviation(0.0, miss).max(spread.deviation(respondents, miss)),
            threshold,
            detectable,
        }
    }
}

/// Rounded down to four digits after the point, as people write it; less epsilon is more privacy.
fn tidy(epsilon: Epsilon) -> Epsilon {
    let tidied = (epsilon.value() * 1e4).floor() / 1e4;
    Epsilon::new(tidied)
        .ok()
        .filter(|tidied| *tidied > Epsilon::ZERO && *tidied <= epsilon)
        .unwrap_or(epsilon)
}

#[cfg(test)]
mod tests;
