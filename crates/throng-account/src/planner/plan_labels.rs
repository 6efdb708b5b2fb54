//! Plans with labels: crowds that are counted apart, whom deletion leaves in them, and to how many instances fragments go.

use std::collections::BTreeSet;

use throng_dp::Delta;

use super::Question;
use crate::Error;
use crate::deletion::Deletion;
use crate::label::kept_by_each;
use crate::terms::DELETION_SHARE;

/// The labels of a survey, as far as its plan depends on them.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanLabels {
    /// What every instance deletes before it counts a crowd.
    pub deletion: Deletion,
    /// To how many instances the fragments of one or another label go: all, or those of its trust profile.
    pub receiving: BTreeSet<u32>,
}

/// A plan keeps its target under every label. What differs between labels is to how many instances fragments go: to fewer, and
/// bodies have to be larger; to more, and one of them is likelier to delete many. Both are planned for.
impl Question {
    /// To how many instances the fragments of one or another label go.
    pub(super) fn receiving(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.labels.is_none().then_some(self.instances);
        self.labels.iter().flat_map(|labels| labels.receiving.iter().copied()).chain(all)
    }

    /// To how many at least.
    pub(super) fn fewest(&self) -> u32 {
        self.receiving().min().unwrap_or(self.instances)
    }

    /// And at most.
    pub(super) fn most(&self) -> u32 {
        self.receiving().max().unwrap_or(self.instances)
    }

    /// The number of respondents that the accountant may count on: the honest ones that each instance keeps.
    pub(super) fn honest(&self) -> u64 {
        let honest = (self.respondents as f64 * self.honest_fraction).floor() as u64;
        let Some(labels) = &self.labels else { return honest };
        // As `Terms` has it: in both worlds that are compared.
        let failure = self.delta.value() * DELETION_SHARE / (1.0 + self.epsilon_central.value().exp());
        kept_by_each(honest, &labels.deletion, self.most(), failure).unwrap_or(0)
    }

    /// What is left of delta for the counts themselves: a hundredth is for bodies that overflow, and with labels another for
    /// crowds that lose more to deletion than is counted on. Deletion itself costs nothing, as it looks at no value.
    pub(super) fn main_delta(&self) -> Delta {
        let delta = self.delta.value();
        let left = match self.labels {
            None => delta * 0.99,
            // A little less than what is left, for roundings.
            Some(_) => delta * (0.99 - DELETION_SHARE) * (1.0 - 1e-9),
        };
        Delta::new(left).unwrap_or(Delta::ZERO)
    }

    pub(super) fn check_labels(&self) -> Result<(), Error> {
        let Some(labels) = &self.labels else { return Ok(()) };
        if labels.receiving.is_empty() || !labels.receiving.iter().all(|n| (1..=self.instances).contains(n)) {
            return Err(Error::Parameter {
                what: "the number of instances that a label's fragments go to",
                got: f64::from(labels.receiving.last().copied().unwrap_or(0)),
                expected: "give at least 1, and at most the number of instances",
            });
        }
        if self.honest() < 2 {
            let reason = format!(
                "what instances delete from a crowd of {} leaves nobody to hide the others: delete with more epsilon, or \
                 plan for larger crowds",
                self.respondents
            );
            return Err(Error::Infeasible { reason, alternatives: Vec::new() });
        }
        Ok(())
    }

    /// How fragments are routed, and what that means, in a sentence or two; nothing where there is one instance.
    pub(super) fn routing_reason(&self) -> Option<String> {
        let (tau, instances) = (self.report_fragments.max(1), self.most());
        let what = match tau {
            1 => format!("the bit of value j goes to instance number j mod {instances}"),
            _ => format!("fragment t of the bit of value j goes to instance number (j + t) mod {instances}"),
        };
        let gets = match tau.div_ceil(self.fewest()) {
            1 if tau == 1 => "everybody's bits of its own values".to_owned(),
            1 => "one fragment of a bit".to_owned(),
            count => format!("up to {count} fragments of a bit"),
        };
        (instances > 1).then(|| {
            format!(
                "Routing by value: {what} (counted from 0, among those that get fragments), so that each count has the crowd of \
                 one instance, whoever the others counted. An instance whose hops all work with the analyzer ties {gets} to \
                 people; where an instance is missing, so are the values that only it holds."
            )
        })
    }

    /// What labels cost, in sentences.
    pub(super) fn labels_reason(&self) -> Vec<String> {
        let Some(labels) = &self.labels else { return Vec::new() };
        let mut reasons = vec![format!(
            "Labels: each of {} instances deletes about {} of a crowd at random before it is counted, whatever they \
             answered. That costs nothing of epsilon_central (removal); what it hides of who took part (absence) is stated \
             above; {} honest respondents of each crowd are counted on.",
            self.instances,
            labels.deletion.shift(),
            self.honest()
        )];
        if self.fewest() < self.instances {
            reasons.push(format!(
                "Trust profiles: there are as many envelopes as it takes where all fragments go to {} of {} instances, so \
                 that all labels send alike.",
                self.fewest(),
                self.instances
            ));
        }
        reasons
    }
}
