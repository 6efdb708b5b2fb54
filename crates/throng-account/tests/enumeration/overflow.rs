//! Bodies that are too small: whole reports, cut to their envelopes at random, and what that adds to δ.

use throng_account::amplification::exact;
use throng_account::planner::Traffic;
use throng_dp::sampling::Bernoulli;

use super::views::{Law, all_data, delta_between};
use super::{delta, epsilon};

/// A survey of one-hot reports of which every set bit is one fragment, or of tau report fragments behind a backstop.
#[derive(Clone, Copy)]
struct Survey {
    width: usize,
    local: f64,
    fragments: Option<(f64, usize)>,
    instances: usize,
    envelopes: usize,
}

/// For each instance, the attributes that arrive there, in order.
type Bodies = Vec<Vec<usize>>;

impl Survey {
    /// All fragments of one respondent, before bodies are cut: fragment t of attribute j goes to instance (j + t) mod K.
    fn fragments(&self, value: Option<usize>) -> Law<Bodies> {
        let mut bodies = Law::sure(vec![Vec::new(); self.instances]);
        for attribute in 0..self.width {
            let bit = Law::randomized(value == Some(attribute), self.local);
            let tau = self.fragments.map_or(1, |(_, tau)| tau);
            let sent = bit.then(|&bit| {
                let mut sent = Law::sure(Vec::new());
                for t in 0..tau {
                    let fragment = match self.fragments {
                        None => Law::sure(bit),
                        Some((epsilon, _)) => Law::randomized(bit, epsilon),
                    };
                    sent = sent.then(|sent: &Vec<usize>| {
                        fragment.seen(|&set| [&sent[..], &vec![t; usize::from(set)]].concat())
                    });
                }
                sent
            });
            bodies = bodies.then(|bodies| {
                sent.seen(|sent| {
                    let mut bodies = bodies.clone();
                    sent.iter().for_each(|t| bodies[(attribute + t) % self.instances].push(attribute));
                    bodies
                })
            });
        }
        bodies
    }

    /// What arrives: of each body that is too full, as many fragments as it has envelopes, every choice as likely.
    fn arriving(&self, value: Option<usize>) -> Law<Bodies> {
        let mut all = self.fragments(value);
        for instance in 0..self.instances {
            all = all.then(|bodies| {
                let full = &bodies[instance];
                if full.len() <= self.envelopes {
                    return Law::sure(bodies.clone());
                }
                let choices =
                    (0..1u32 << full.len()).filter(|choice| choice.count_ones() as usize == self.envelopes);
                let cut = choices.map(|choice| {
                    let kept = full.iter().enumerate().filter(|(i, _)| choice >> i & 1 == 1);
                    let mut bodies = bodies.clone();
                    bodies[instance] = kept.map(|(_, &attribute)| attribute).collect();
                    bodies
                });
                Law::uniform(cut.collect())
            });
        }
        all
    }

    /// What the analyzer counts at every instance: fragments of all respondents in one heap.
    fn view(&self, data: &[Option<usize>]) -> Law<Vec<Vec<u32>>> {
        let mut counts = Law::sure(vec![vec![0; self.width]; self.instances]);
        for &value in data {
            let arriving = self.arriving(value);
            counts = counts.then(|counts| {
                arriving.seen(|bodies| {
                    let mut counts = counts.clone();
                    for (counts, body) in counts.iter_mut().zip(bodies) {
                        body.iter().for_each(|&attribute| counts[attribute] += 1);
                    }
                    counts
                })
            });
        }
        counts
    }

    /// The probability that any body of any of these respondents is too full.
    fn any_too_full(&self, data: &[Option<usize>]) -> f64 {
        let fits = |value: &Option<usize>| {
            self.fragments(*value).chance(|bodies| bodies.iter().all(|body| body.len() <= self.envelopes))
        };
        1.0 - data.iter().map(fits).product::<f64>()
    }

    fn traffic(&self) -> Traffic {
        let coin = |value| Bernoulli::flip(epsilon(value)).unwrap();
        Traffic {
            width: self.width as u64,
            coin: coin(self.local),
            fragments: self.fragments.map(|(epsilon, tau)| (coin(epsilon), tau as u32)),
            instances: self.instances as u32,
        }
    }
}

/// Over all data of all others and every value of the victim, against nothing to say: no more than the exact δ of whole
/// reports and what is added for overflow. Without that addition it would be false.
#[test]
fn cut_reports_cost_no_more_than_is_added() {
    let mut needed = 0;
    for (width, local, instances, respondents) in [
        (2, 3.0, 1, 2),
        (2, 6.0, 1, 5),
        (2, 5.0, 1, 4),
        (3, 4.0, 1, 2),
        (4, 4.0, 2, 2),
        (3, 5.0, 2, 3),
        (4, 5.0, 2, 3),
    ] {
        let survey = Survey { width, local, fragments: None, instances, envelopes: 1 };
        for at in [0.05, 0.3, 0.8].map(|share| share * local) {
            let whole =
                exact::delta_max_over_a(respondents as u64, epsilon(local), epsilon(at)).unwrap().value();
            let added = survey.traffic().overflow_delta(1, respondents as u64, epsilon(at)).value();
            let mut worst = 0.0f64;
            for others in all_data(respondents - 1, width) {
                let world = |victim| survey.view(&[&others[..], &[victim]].concat());
                let nothing = world(None);
                for value in 0..width {
                    worst = worst.max(delta_between(&world(Some(value)), &nothing, at));
                }
            }
            assert!(
                worst <= whole + added + 1e-12,
                "{width} {local} {instances} {respondents} {at}: {worst}"
            );
            needed += u32::from(worst > whole + 1e-9);
        }
    }
    assert!(needed > 0, "cut reports are never worse: then nothing need be added");
}

/// What is added is what the proof needs: (1 + e^ε) times the probability that any body of any respondent is cut. Where a body
/// can have one fragment too many at most, Chernoff's bound is exact, and so is this, but for the union over bodies.
#[test]
fn every_body_of_everybody_counts_in_both_worlds() {
    for (width, local, fragments, instances, envelopes, respondents) in [
        (2, 6.0, None, 1, 1, 1),
        (2, 6.0, None, 1, 1, 9),
        (2, 8.0, Some((4.0, 4)), 4, 1, 1),
        (2, 8.0, Some((4.0, 4)), 4, 1, 2),
        (3, 6.0, None, 1, 2, 5),
    ] {
        let survey = Survey { width, local, fragments, instances, envelopes };
        let cut = survey.any_too_full(&vec![Some(0); respondents]);
        for at in [0.5, 2.0] {
            let added = survey.traffic().overflow_delta(envelopes as u32, respondents as u64, epsilon(at));
            let needed = (1.0 + f64::exp(at)) * cut;
            assert!(
                needed <= added.value() * (1.0 + 1e-9) || added == delta(1.0),
                "{width} {respondents} {at}"
            );
            // Not much more than needed, or tests of bounds would not notice what is left out of them.
            assert!(
                added.value() <= 2.5 * needed,
                "{width} {instances} {respondents} {at}: {added} {needed}"
            );
        }
    }
}
