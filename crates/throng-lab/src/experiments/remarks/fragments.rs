//! Fragments: at how many instances they stay apart, what they cost without a backstop, and what captures of some tell.

use anyhow::Result;
use throng_account::attacker::Exposure;
use throng_account::composition::two_stage_delta;
use throng_account::meeting::{SetBits, Spread};
use throng_dp::fragmenting::{
    error_factor_without_backstop, exposed_epsilon, fragment_epsilon_as_paper, fragments_without_backstop,
};
use throng_dp::sampling::Bernoulli;
use throng_dp::{CentralGuarantee, Delta, Epsilon, Mechanism, OneHot};

use super::Part;
use crate::experiments::Row;
use crate::experiments::lab::{Data, Lab, exact_local, on_paper_grid, people};

/// Section III: "K large enough for each bit to be sent to a separate instance, with high confidence".
pub(super) fn apart(lab: &Lab) -> Result<Part> {
    const TABLE: &str = "remarks-apart";
    lab.say("instances that keep the bits of a person apart");
    let mut rows = Vec::new();
    let (mut most, mut most_ours) = ((0, 0), 0);
    for (data, paper) in [(Data::Map, 13.14), (Data::Horse, 8.55), (Data::Child, 11.7), (Data::Heavy, 12.99)]
    {
        let dataset = data.load()?;
        let ours = exact_local(dataset.respondents(), 1.0, data.delta())?.value();
        for (whose, local) in [("the paper's", paper), ("Throng's", ours)] {
            let bits = SetBits { width: dataset.domain(), coin: Bernoulli::flip(Epsilon::new(local)?)? };
            let at_random = bits.instances_for(0.95, Spread::Random)?;
            let by_value = bits.instances_for(0.95, Spread::ByValue)?;
            let with_three = bits.apart(3, Spread::ByValue)?;
            most = most.max((at_random, by_value));
            most_ours = if whose == "Throng's" { most_ours.max(at_random) } else { most_ours };
            let cell = |what: &str| format!("{}, {whose} epsilon_local {local:.2}: {what}", data.name());
            // The law of the number of bits is known: a mean number of pairs that is no more than 1 in 20 suffices.
            let p = bits.coin.probability();
            let others = (bits.width - 1) as f64 * p;
            let pairs = (1.0 - p) * others + others * others / 2.0;
            rows.push(
                Row::order(
                    TABLE,
                    cell("instances for 95 %, chosen at random"),
                    (at_random as f64) <= 20.0 * pairs + 1.0 && at_random as f64 >= 0.5 * pairs,
                    "at most 20 times the mean number of pairs of bits",
                )
                .throng(at_random as f64)
                .note(format!("{:.2} bits on average", 1.0 - p + others)),
            );
            rows.push(
                Row::order(
                    TABLE,
                    cell("instances for 95 %, by value"),
                    by_value <= at_random,
                    "no more than at random",
                )
                .throng(by_value as f64),
            );
            rows.push(
                Row::order(
                    TABLE,
                    cell("% of people whose bits stay apart at three instances, by value"),
                    (0.0..0.95).contains(&with_three),
                    "three instances are too few for 95 %",
                )
                .throng(100.0 * with_three),
            );
        }
    }
    let text = format!(
        "How many instances keep the bits of a person apart? The paper assumes as many as it takes. For its own settings of \
         epsilon_central 1 that is up to {} instances if each bit picks one at random, {} if bit j goes to instance j \
         mod K, for 95 % of people. Exact accounting allows a higher epsilon_local, so fewer bits are set, and {} would \
         do. Throng does not need it: each bit is in an envelope of its own, and an instance with one \
         honest hop unlinks bits that meet there too. What meets at a compromised instance is covered by epsilon_local.",
        people(most.0 as f64),
        people(most.1 as f64),
        people(most_ours as f64),
    );
    Ok(Part { text, rows })
}

/// Section IV: several reports of ε_f each instead of one of ε_l, without a backstop.
pub(super) fn without_backstop(lab: &Lab) -> Result<Part> {
    const TABLE: &str = "remarks-no-backstop";
    lab.say("fragments without a backstop");
    let (four, two) = (Epsilon::new(4.0)?, Epsilon::new(2.0)?);
    let count = fragments_without_backstop(four, two);
    let factor = error_factor_without_backstop(four, two);
    let dataset = Data::Horse.load()?;
    let run = |total: f64, runs: u32| -> Result<f64> {
        let split = Mechanism::runs(Epsilon::new(total)?, runs, |each| OneHot::new(dataset.domain(), each))?;
        Ok(lab.measure(&dataset, &split)?.accuracy.rmse)
    };
    let (one, split, ten) = (run(4.0, 1)?, run(4.0, 2)?, run(20.0, 10)?);
    let near = |measured: f64, expected: f64| (measured / expected - 1.0).abs() < 0.02;
    let (few, many) = ((8.55f64 / 2.0).exp(), fragments_without_backstop(Epsilon::new(8.55)?, two));
    let rows = vec![
        Row::exact(TABLE, "epsilon_local 4 in fragments of 2: how many for the same error", 7.0, 2f64.exp(), 0.5)
            .throng(count)
            .paper_error(
                near(ten / one, (count / 10.0).sqrt()),
                "exp(epsilon_l/epsilon_f) should be exp(epsilon_l - epsilon_f), here the same; to the digit it is \
                 (sinh(epsilon_l/2)/sinh(epsilon_f/2))^2. Measured: ten fragments have the error of one report, but \
                 for a factor sqrt(9.52/10).",
            ),
        Row::order(
            TABLE,
            "epsilon_local 4 in fragments of 2: epsilon that so many spend",
            count * 2.0 > 4.0,
            "far more than 4",
        )
        .throng(2.0 * count),
        Row::order(TABLE, "epsilon_local 4 spent on two fragments of 2: error factor", true, "2 % from theory")
            .rule((2f64.exp() / 4.0).sqrt())
            .throng(split / one)
            .paper_error(
                near(split / one, factor),
                "The paper's rough sqrt(exp(epsilon_l/2)/epsilon_l) has the exponent of its Theorem att-frag-accuracy \
                 before correction.",
            ),
        Row::order(TABLE, "epsilon_local 8.55 in fragments of 2: how many", many > 10.0 * few, "ten times as many")
            .rule(few)
            .throng(many)
            .paper_error(many > 10.0 * few, "exp(epsilon_l/epsilon_f) is far too few here."),
    ];
    let text = format!(
        "Fragments without a backstop. To replace one report of epsilon_local 4 by fragments of 2 at the same error takes \
         {count:.1} of them, which spend {:.0} together; within a budget of 4 the error grows by a factor of {factor:.2}, \
         measured {:.2} on Horse. A backstop is what makes fragments affordable.",
        2.0 * count,
        split / one,
    );
    Ok(Part { text, rows })
}

/// Section II.C: instances that are reset, and epsilon_1 for the capture of a single report.
pub(super) fn reset() -> Result<Part> {
    const TABLE: &str = "remarks-reset";
    let floor = Epsilon::new(8.55)?;
    let central = CentralGuarantee::new(Epsilon::new(1.0)?, Data::Horse.delta());
    let mut rows = Vec::new();
    for (tau, printed) in [(4, 6.94), (16, 5.71), (256, 3.00)] {
        let fragment = on_paper_grid(fragment_epsilon_as_paper(floor, tau)?)?;
        // As many instances as fragments: one bad instance has one report.
        let apart = Exposure {
            epsilon_floor: floor,
            fragments: Some((fragment, tau)),
            instances: tau,
            cover: true,
            central,
        };
        let three = Exposure { instances: 3, ..apart };
        for captures in [1usize, 2, 4, 16] {
            let exposed = apart.exposed_over_time(&vec![1; captures])?.epsilon().value();
            let at_three = three.exposed_over_time(&vec![1; captures])?.epsilon().value();
            let cell = format!("Horse, tau {tau}, one report captured in each of {captures} epochs: epsilon");
            let note = format!("with 3 instances, of which one is bad for {captures} epochs: {at_three:.2}");
            rows.push(if captures == 1 {
                Row::exact(TABLE, cell, printed, exposed, 0.0101).throng(exposed).note(note)
            } else {
                let limit = floor.value().min(captures as f64 * fragment.value());
                Row::order(TABLE, cell, exposed <= limit && at_three <= floor.value(), "at most the backstop")
                    .throng(exposed)
                    .note(note)
            });
        }
    }
    let text = "Instances that are reset. A captured instance that is found and reset has tied some fragments of one epoch to \
                people. Fragments of later captures are drawn from the same backstop, so their number adds up in Theorem \
                record_frag: one capture costs the epsilon_1 of the paper's tables, and a few more leave only the backstop. Of tau = 256 fragments at \
                three instances, one bad epoch is enough for that: few instances and many fragments do not go together. This \
                is for an answer that stays the same."
        .into();
    Ok(Part { text, rows })
}

/// The appendix's Lemma reduce-2-binary, with the two deltas that its corollary leaves out.
pub(super) fn two_stages() -> Result<Part> {
    const TABLE: &str = "remarks-two-stages";
    let mut rows = Vec::new();
    for (first, second) in [(8.55, 5.775), (4.0, 1.0)] {
        let [inner, outer] = [Epsilon::new(first)?, Epsilon::new(second)?];
        let pure = exposed_epsilon(inner, outer, 1).value();
        let zero = |epsilon: f64| -> Result<Delta> {
            let curve = |at: Epsilon| randomized_response(inner, Delta::ZERO, at);
            Ok(two_stage_delta(&curve, (outer, Delta::ZERO), Epsilon::new(epsilon)?)?)
        };
        let ends = zero(pure * (1.0 + 1e-9))? == Delta::ZERO && zero(pure * (1.0 - 1e-6))? > Delta::ZERO;
        rows.push(
            Row::order(
                TABLE,
                format!("epsilon {first}, then {second}, no delta: epsilon"),
                ends,
                "the general form ends where the theorem says",
            )
            .rule(pure)
            .throng(pure),
        );
        for (tells, again) in [(1e-6, 0.0), (1e-6, 1e-3)] {
            let [tells, again] = [Delta::new(tells)?, Delta::new(again)?];
            let curve = |at: Epsilon| randomized_response(inner, tells, at);
            let delta = two_stage_delta(&curve, (outer, again), Epsilon::new(pure)?)?.value();
            let sum = tells.value() + again.value();
            rows.push(
                Row::order(
                    TABLE,
                    format!("epsilon {first}, delta {tells}, then {second}, {again}: delta at {pure:.3}, in millionths"),
                    delta > 0.0 && delta < sum,
                    "less than the sum of both",
                )
                .throng(1e6 * delta),
            );
        }
    }
    let text = "A randomizer of what a randomizer said. Lemma reduce-2-binary allows both a delta, and its corollary drops them. \
                In general, with the curve delta_1(epsilon) of the first and (epsilon_2, delta_2) of the second, delta is the \
                larger of delta_1(epsilon) delta_2 and delta_1(epsilon) (c - d) - (e^epsilon - 1) d, where c and d are the two \
                probabilities of a bit with (epsilon_2, delta_2). It is proved in docs/accounting.md, holds for 15,000 random \
                pairs over all events, and two bits reach it."
        .into();
    Ok(Part { text, rows })
}

/// The curve of randomized response that tells everything with probability δ.
fn randomized_response(epsilon: Epsilon, tells: Delta, at: Epsilon) -> Result<Delta, throng_account::Error> {
    let (keep, flip) = (1.0 / (1.0 + (-epsilon.value()).exp()), 1.0 / (1.0 + epsilon.value().exp()));
    let rest = (keep - at.value().exp() * flip).max(0.0);
    Ok(Delta::new((tells.value() + (1.0 - tells.value()) * rest).min(1.0))?)
}
