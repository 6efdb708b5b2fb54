//! All that an instance and an analyzer do to one epoch, with any engine.

use std::io::{Read, Write};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use tempfile::TempDir;
use throng_batch::{
    Body, CountJob, Engine, Error, Framing, Input, Layer, Manifest, OpenJob, OpenedBatch, Partition,
    Partitions, PermuteJob, Rejected, Seed, Volume,
};
use throng_cluster::keys::KeyFiles;
use throng_cluster::objects::Objects;
use throng_dp::fragmenting::Assignment;
use throng_host::keygen::{self, Deployment, read_layer_keys};
use throng_shuffle::framed_bodies;
use throng_testing::wire::{EPOCH, SHAPE, Shape, draft};
use throng_wire::{Digest, Fragment, LayerKeys, Layout, Path, Place, Route, Stop, Survey};

/// A survey with the files of its parties, and bodies of people.
pub(crate) struct Epoch {
    pub(crate) deployment: Deployment,
    _dir: TempDir,
    segments: Vec<Vec<u8>>,
}

/// What became of an epoch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Of every hop: how many records, where bodies end, the hash of what people sent, how many were read.
    pub(crate) opened: Vec<(u64, Vec<u64>, Digest, u64)>,
    /// The records of the batch of every hop, sorted.
    pub(crate) batches: Vec<Vec<Vec<u8>>>,
    /// What was counted.
    pub(crate) counts: Vec<u64>,
    /// What was not.
    pub(crate) rejected: Rejected,
}

impl Epoch {
    /// So many people, some of whom send what does not open, or what another has sent.
    pub(crate) fn new(hops: u32, people: u32) -> Self {
        let (dir, mut rng) = (tempfile::tempdir().unwrap(), ChaCha20Rng::from_seed([1; 32]));
        let draft = draft(Shape { hops, instances: 3, ..SHAPE });
        let url = |_| "https://127.0.0.1:1".to_owned();
        let deployment = keygen::deployment(&draft, dir.path(), url, EPOCH, &mut rng).unwrap();
        let path = Path::new(deployment.bundle.survey(), 0, EPOCH, 1, deployment.bundle.key_lists()).unwrap();
        let mut bodies: Vec<Vec<u8>> = (0..people)
            .map(|one| {
                path.body(&[Fragment::new(one % 700), Fragment::new(2 * one % 700)], &mut rng).unwrap()
            })
            .collect();
        bodies[7][40] ^= 1;
        bodies[20] = bodies[21].clone();
        bodies[30] = vec![5; bodies[31].len()];
        let framed =
            |body: &Vec<u8>| [&[7; 24][..], &(body.len() as u32).to_be_bytes(), body, &[9; 16]].concat();
        let segments = bodies.chunks(25).map(|some| some.iter().flat_map(framed).collect()).collect();
        Self { deployment, _dir: dir, segments }
    }

    /// Puts the segments where an engine reads them.
    pub(crate) fn store(&self, objects: &Objects) -> Vec<Partition> {
        let store = |(number, bytes): (usize, &Vec<u8>)| {
            let name = format!("segment-{number}");
            objects.put(&name, bytes.clone()).unwrap();
            Partition { digest: Some(Digest::of(bytes)), ..Partition::first(name, bytes.len() as u64) }
        };
        self.segments.iter().enumerate().map(store).collect()
    }

    /// Hop 1 opens its layer.
    pub(crate) fn open_first(
        &self,
        engine: &dyn Engine,
        objects: &Objects,
        segments: &[Partition],
    ) -> Result<OpenedBatch, Error> {
        let keys = self.keys(Place::hop(1, 1));
        let layer = Layer { route: self.route(), layout: self.layout(), keys: &keys };
        engine.open(&OpenJob {
            volume: objects,
            layer,
            input: Input::Bodies(segments, &Frames),
            spool: "spool-1",
        })
    }

    /// The layer keys of all parties, in their files.
    pub(crate) fn key_files(&self) -> KeyFiles {
        let mut keys = KeyFiles::default();
        for (place, dir) in &self.deployment.dirs {
            keys.add(&self.deployment.survey, *place, dir).unwrap();
        }
        keys
    }

    fn keys(&self, place: Place) -> LayerKeys {
        read_layer_keys(&self.deployment.dirs[&place]).unwrap()
    }

    fn survey(&self) -> &Survey {
        self.deployment.bundle.survey().survey()
    }

    fn route(&self) -> Route {
        Route { survey: self.deployment.bundle.survey().hash(), label: 0, epoch: EPOCH, instance: 1 }
    }

    fn layout(&self) -> Layout {
        Layout::of(self.survey())
    }

    /// Everything, from bodies to counts.
    pub(crate) fn run(&self, engine: &dyn Engine, objects: &Objects) -> Outcome {
        let (layout, route) = (self.layout(), self.route());
        let segments = self.store(objects);
        let (mut opened, mut batches) = (Vec::new(), Vec::new());
        let mut batch = Manifest { records: 0, digest: Digest::NONE };
        for hop in 1..=layout.hops() {
            let left = match hop {
                1 => self.open_first(engine, objects, &segments).unwrap(),
                _ => {
                    let incoming = [Partition::whole(format!("batch-{}", hop - 1))];
                    let keys = self.keys(Place::hop(1, hop));
                    let layer = Layer { route, layout, keys: &keys };
                    let input = Input::Envelopes(&incoming, hop);
                    let spool = format!("spool-{hop}");
                    let left =
                        engine.open(&OpenJob { volume: objects, layer, input, spool: &spool }).unwrap();
                    assert_eq!((left.input, left.read), (batch.digest, batch.records));
                    left
                }
            };
            // The third body is deleted by hop 1, and the last hop adds what nobody can open.
            let dropped = if hop == 1 { vec![(left.ends[1], left.ends[2])] } else { Vec::new() };
            let length = layout.envelope_len(layout.after(hop));
            let added: Vec<u8> = (0..20).flat_map(|number| vec![number; length]).collect();
            objects.put("added", added.clone()).unwrap();
            let added = [Partition::first("added", added.len() as u64)];
            let job = |seed| PermuteJob {
                volume: objects,
                input: &left.spool,
                records: left.records,
                dropped: &dropped,
                added: if hop == layout.hops() { &added } else { &[] },
                length,
                seed,
                output: "",
            };
            let output = format!("batch-{hop}");
            let seed: Seed = [hop as u8; 32];
            batch = engine.permute(&PermuteJob { output: &output, ..job(&seed) }).unwrap();
            let bytes = read(objects, &output);
            assert_eq!((bytes.len(), Digest::of(&bytes)), (batch.records as usize * length, batch.digest));
            let mut records: Vec<Vec<u8>> = bytes.chunks(length).map(<[u8]>::to_vec).collect();
            records.sort_unstable();
            batches.push(records);
            // The order of a batch is the engine's own, and so is its hash.
            let input = if hop == 1 { left.input } else { Digest::NONE };
            opened.push((left.records, left.ends, input, left.read));
        }
        let (rejected, counts) = self.count(engine, objects, &format!("batch-{}", layout.hops()));
        Outcome { opened, batches, counts, rejected }
    }

    /// The analyzer counts a batch, of which a last hop that lies hands on some envelopes again.
    fn count(&self, engine: &dyn Engine, objects: &Objects, batch: &str) -> (Rejected, Vec<u64>) {
        let (layout, survey) = (self.layout(), self.survey());
        let keys = self.keys(Place::Analyzer);
        let length = layout.envelope_len(Stop::Analyzer);
        let mut last = read(objects, batch);
        last.extend_from_within(..3 * length);
        objects.put("last", last.clone()).unwrap();
        let mut tally = survey.mechanism().unwrap().tally().unwrap();
        let manifest = Manifest { records: (last.len() / length) as u64, digest: Digest::of(&last) };
        let job = CountJob {
            partitions: objects,
            input: &[Partition::whole("last")],
            manifest,
            layer: Layer { route: self.route(), layout, keys: &keys },
            attributes: survey.attributes(),
            bound: Some((Assignment::new(1, 3).unwrap(), 0)),
        };
        let mut told = 0;
        let rejected = engine.count(&job, &mut tally, &mut |bytes| told += bytes).unwrap();
        assert_eq!(told, last.len() as u64, "progress adds up");
        // What is not as the manifest says is not counted.
        let other = Manifest { records: manifest.records - 1, ..manifest };
        let mut unused = survey.mechanism().unwrap().tally().unwrap();
        assert!(engine.count(&CountJob { manifest: other, ..job }, &mut unused, &mut |_| ()).is_err());
        (rejected, tally.counts().collect())
    }
}

/// All bytes of an object.
pub(crate) fn read(objects: &Objects, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    objects.read(name).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// Bodies as a hop stores them, without the key that authenticates them.
pub(crate) struct Frames;

impl Framing for Frames {
    fn bodies<'a>(
        &'a self,
        _: &Partition,
        mut reader: Box<dyn Read + Send>,
    ) -> Box<dyn Iterator<Item = Result<Body, Error>> + 'a> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        let bodies: Vec<_> = framed_bodies(&bytes, 1 << 20)
            .map(|body| body.map(|body| Body { bytes: body.to_vec(), digest: Digest::of(body) }))
            .collect();
        Box::new(bodies.into_iter())
    }
}

/// Writes a file as a volume does.
pub(crate) fn write(objects: &Objects, name: &str, bytes: &[u8]) {
    let mut file = objects.create(name).unwrap();
    file.write_all(bytes).unwrap();
    file.sync().unwrap();
}
