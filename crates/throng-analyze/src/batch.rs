//! From a batch of envelopes to the sums of the fragments in it.

use throng_batch::{CountJob, Engine, Layer, Manifest, Partition, Partitions};
use throng_dp::fragmenting::Assignment;
use throng_wire::{LayerKeys, Layout, Survey};

use crate::Error;
use crate::batch_head::BatchHead;
use crate::instance_tally::{CountedBatch, InstanceTally};

/// Counts a batch: an engine opens its envelopes, if it is the one that its hops mean.
pub struct BatchCounter<'a> {
    survey: &'a Survey,
    head: BatchHead,
    keys: &'a LayerKeys,
    bound: Option<(Assignment, u32)>,
}

impl<'a> BatchCounter<'a> {
    /// For a batch whose hops were heard.
    pub fn new(survey: &'a Survey, head: BatchHead, keys: &'a LayerKeys) -> Result<Self, Error> {
        let route = head.route();
        let receiving = survey.receiving(route.label);
        let assignment = Assignment::new(survey.mechanism()?.coins().draws(), receiving.len() as u32)?;
        let position = receiving.iter().position(|&instance| instance == route.instance);
        let bound = position.map(|position| (assignment, position as u32));
        Ok(Self { survey, head, keys, bound })
    }

    /// Opens and counts the envelopes in some partitions, which is all of them or an error. `progress` is told of bytes that are
    /// done, in steps that add up to the batch.
    pub fn count(
        &self,
        engine: &dyn Engine,
        (partitions, input): (&dyn Partitions, &[Partition]),
        progress: &mut dyn FnMut(u64),
    ) -> Result<InstanceTally, Error> {
        let head = &self.head;
        let job = CountJob {
            partitions,
            input,
            manifest: Manifest { records: head.envelopes(), digest: head.batch() },
            layer: Layer { route: head.route(), layout: Layout::of(self.survey), keys: self.keys },
            attributes: self.survey.attributes(),
            bound: self.bound,
        };
        let mut tally = self.survey.mechanism()?.tally()?;
        let rejected = engine.count(&job, &mut tally, progress)?;
        let counted = head.respondents().map(|respondents| {
            tally.add_respondents(respondents);
            CountedBatch { batch: head.batch(), envelopes: head.envelopes(), rejected, tally }
        });
        Ok(InstanceTally { route: head.route(), counted })
    }
}
