//! Batches as an analyzer gets them from last hops, honest or not.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_analyze::Rejected;
use throng_batch::{CountJob, EmbeddedEngine, Engine, Layer, Manifest, MemoryStore, Partition, Volume};
use throng_dp::fragmenting::Assignment;
use throng_testing::wire::{EPOCH, SHAPE, Shape, World};
use throng_wire::peel::{open_body, peel};
use throng_wire::{Fragment, HopContent, LayerKeys, Layout, Place};

/// The envelopes that the analyzer of an instance gets from a respondent with these values.
fn envelopes(world: &World, values: &[u32]) -> Vec<u8> {
    let fragments: Vec<Fragment> = values.iter().map(|&value| Fragment::new(value)).collect();
    let path = world.path(0, EPOCH, 1);
    let body = path.body(&fragments, &mut ChaCha20Rng::from_seed([1; 32])).unwrap();
    let layout = Layout::of(world.survey.survey());
    let mut all = open_body(path.route(), &layout, world.keys(1, 1), &body).unwrap();
    for hop in 2..=layout.hops() {
        let length = layout.envelope_len(throng_wire::Stop::Hop(hop));
        let peeled = all.chunks_exact(length).filter_map(|envelope| {
            match peel(path.route(), &layout, hop, world.keys(1, hop), envelope).unwrap() {
                HopContent::Envelope(inner) => Some(inner),
                HopContent::Chaff => None,
            }
        });
        all = peeled.flatten().collect();
    }
    all
}

fn open(world: &World, keys: &LayerKeys, parts: &[&[u8]]) -> (Vec<u32>, Rejected) {
    let (survey, layout) = (world.survey.survey(), Layout::of(world.survey.survey()));
    let (files, length) = (MemoryStore::new(), layout.envelope_len(throng_wire::Stop::Analyzer));
    let input: Vec<Partition> = parts
        .iter()
        .zip(["one", "other"])
        .map(|(part, name)| {
            files.create(name).unwrap().write_all(part).unwrap();
            Partition::whole(name)
        })
        .collect();
    let batch = parts.concat();
    let (records, digest) = ((batch.len() / length) as u64, throng_wire::Digest::of(&batch));
    let mut tally = survey.mechanism().unwrap().tally().unwrap();
    let draws = survey.mechanism().unwrap().coins().draws();
    let job = CountJob {
        partitions: &files,
        input: &input,
        manifest: Manifest { records, digest },
        layer: Layer { route: world.route(), layout, keys },
        attributes: survey.attributes(),
        bound: Some((Assignment::new(draws, 3).unwrap(), 0)),
    };
    let rejected = EmbeddedEngine::new(1 << 24).count(&job, &mut tally, &mut |_| ()).unwrap();
    let values = (0..).zip(tally.counts()).flat_map(|(value, count)| (0..count).map(move |_| value));
    (values.collect(), rejected)
}

#[test]
fn fragments_are_counted_and_the_rest_has_its_reason() {
    for hops in 1..=2 {
        let world = World::new(Shape { hops, ..SHAPE });
        let keys = &world.layers[&Place::Analyzer];
        let honest = envelopes(&world, &[3, 6, 9]);
        let (values, rejected) = open(&world, keys, &[&honest]);
        assert_eq!(values, [3, 6, 9]);
        assert_eq!(rejected, Rejected { chaff: u64::from(hops == 1), ..Rejected::default() });

        let length = honest.len() / if hops == 1 { 4 } else { 3 };
        let mut changed = honest.clone();
        changed[0] ^= 0xff;
        changed[length + 40] ^= 1;
        let (values, rejected) = open(&world, keys, &[&changed, &honest[2 * length..]]);
        assert!(values.len() <= 2, "{values:?}");
        assert_eq!((rejected.key, rejected.seal), (1, 1));
        assert_eq!(rejected.duplicates, if hops == 1 { 2 } else { 1 }, "also in another part of the batch");

        let elsewhere = World::new(Shape { hops, envelopes: 5, ..SHAPE });
        let (values, rejected) = open(&elsewhere, keys, &[&honest]);
        assert!(values.is_empty() && rejected.seal > 0, "another survey");
    }
}

/// Of three instances the first counts the attributes 0, 3, 6, ...
#[test]
fn values_that_other_instances_count_are_not_counted() {
    let world = World::new(Shape { hops: 2, ..SHAPE });
    let (values, rejected) =
        open(&world, &world.layers[&Place::Analyzer], &[&envelopes(&world, &[3, 4, 5, 6])]);
    assert_eq!((values, rejected), (vec![3, 6], Rejected { foreign: 2, ..Rejected::default() }));
}

#[test]
fn values_that_the_survey_does_not_have_are_not_counted() {
    let world = World::new(Shape { hops: 2, ..SHAPE });
    let (values, rejected) =
        open(&world, &world.layers[&Place::Analyzer], &[&envelopes(&world, &[783, 784])]);
    assert_eq!((values, rejected.content), (vec![783], 1));
}
