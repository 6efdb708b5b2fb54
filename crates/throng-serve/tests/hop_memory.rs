//! The memory of a whole hop has a limit: those whom it knows, what it opens, and what it shuffles. Alone in its process,
//! since it reads the process's peak.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::path::Path;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use throng_host::memory::peak_rss_bytes;
use throng_serve::file_store::FileStore;
use throng_shuffle::{Channel, CrowdRule, Hop, HopConfig, Refusal, Upload};
use throng_testing::world::{self, EPOCH_MS, World};
use throng_wire::seal::seal;
use throng_wire::{Digest, LayerKeys, Layout, Outcome, Place, Route, SigningKey, Stop};

const MEMORY: usize = 16 << 20;
/// The allocator and the threads of the pool have a share of their own, and so has this test.
const BESIDES: u64 = 8 << 20;
const CHANNEL: Channel = Channel { label: 0, epoch: 10 };
const NOW_S: u64 = 10 * EPOCH_MS / 1000;
const LATER_S: u64 = 11 * EPOCH_MS / 1000;
/// Uploads of a group, which this test holds.
const GROUP: u32 = 32;

fn world(folder: &Path, envelopes: u32) -> World {
    let delivery =
        format!("delivery = {{ instances = 1, hops = 2, envelopes = {envelopes}, cover = \"chaff\" }}");
    let text = world::ONE_HOT
        .replace("respondents_min = 100000", "respondents_min = 100")
        .replace("delivery = { instances = 3, hops = 2, envelopes = 40, cover = \"chaff\" }", &delivery);
    assert!(text.contains(&delivery));
    World::new(&text, folder)
}

fn hop(world: &World, folder: &Path, hop: u32) -> Hop {
    let place = Place::hop(1, hop);
    let config = HopConfig {
        survey: world.survey.clone(),
        instance: 1,
        hop,
        rule: CrowdRule::new(100, None),
        signing: SigningKey::from_file(&world.signing[&place].to_file()).unwrap(),
        keys: LayerKeys::from_file(&world.layers[&place].to_file()).unwrap(),
        key_list: Digest::NONE,
        memory: MEMORY,
    };
    let store = FileStore::open(&folder.join(format!("hop-{hop}"))).unwrap();
    let mark = store.mark(folder.join(format!("hop-{hop}.mark")));
    Hop::open(config, Box::new(store), Box::new(mark), 0).unwrap()
}

/// People from `first` on send bodies, until one is refused; says how many were taken.
fn answer(hop: &Hop, people: u32, mut body: impl FnMut() -> Vec<u8>) -> u32 {
    let (mut taken, mut rng) = (0, ChaCha20Rng::from_seed([2; 32]));
    while taken < people {
        let name = |person: u32| Digest::of(&person.to_be_bytes());
        let group: Vec<Upload> = (taken..people.min(taken + GROUP))
            .map(|person| Upload::new(CHANNEL, name(person), body()))
            .collect();
        for result in hop.take(&group, NOW_S, &mut rng) {
            match result {
                Ok(_) => taken += 1,
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::Full);
                    return taken;
                }
            }
        }
    }
    taken
}

fn assert_within(before: u64, what: &str) {
    let more = peak_rss_bytes().unwrap() - before;
    assert!(more < MEMORY as u64 + BESIDES, "{what}: {} KiB more than before", more >> 10);
}

#[test]
fn a_hop_stays_within_its_memory_from_the_first_upload_to_the_last_envelope() {
    let folder = tempfile::tempdir().unwrap();
    let mut noise = ChaCha20Rng::from_seed([3; 32]);
    let mut random = |len: usize| {
        let mut bytes = vec![0; len];
        noise.fill_bytes(&mut bytes);
        bytes
    };

    // As many people as it can know, with short bodies that do not open.
    let few = world(folder.path(), 1);
    let layout = Layout::of(few.survey.survey());
    let before = peak_rss_bytes().unwrap();
    let first = hop(&few, &folder.path().join("few"), 1);
    let known = answer(&first, 200_000, || random(layout.body_len(1)));
    assert!((50_000..150_000).contains(&known), "{known} people were known, and then no more");
    assert_within(before, "the table of those who answered");
    let rng = &mut ChaCha20Rng::from_seed([4; 32]);
    first.close_due(LATER_S).unwrap();
    first.process(CHANNEL).unwrap();
    assert_eq!(first.statement(CHANNEL).unwrap().claimed().outcome, Outcome::Destroyed);
    assert_within(before, "bodies that do not open");
    drop(first);

    // Eight times its memory in bodies that open, of envelopes that hop 2 cannot open.
    let many = world(folder.path(), 100);
    let layout = Layout::of(many.survey.survey());
    let route = Route { survey: many.survey.hash(), label: 0, epoch: CHANNEL.epoch, instance: 1 };
    let key = many.layers[&Place::hop(1, 1)].public()[0];
    let people = (8 * MEMORY / layout.body_len(100)) as u32 + 1;
    let [first, second] = [1, 2].map(|number| hop(&many, &folder.path().join("many"), number));
    let sealed = || {
        let envelopes = random(100 * layout.envelope_len(layout.after(1)));
        seal(&route, Stop::Hop(1), &key, &envelopes, rng).unwrap()
    };
    assert_eq!(answer(&first, people, sealed), people);
    assert_within(before, "uploads");
    first.close_due(LATER_S).unwrap();
    first.process(CHANNEL).unwrap();
    let all = u64::from(people) * 100;
    let mut batch = first.outgoing(CHANNEL).unwrap();
    assert_eq!(batch.manifest.records, all);
    assert_within(before, "opening and shuffling");
    second.receive(CHANNEL, batch.statements, batch.count, &mut batch.records, LATER_S, rng).unwrap();
    second.process(CHANNEL).unwrap();
    let Outcome::Released { received, .. } = second.statement(CHANNEL).unwrap().claimed().outcome else {
        panic!("destroyed")
    };
    let forwarded = second.outgoing(CHANNEL).unwrap().count.envelopes();
    assert_eq!((received, forwarded), (Some(all), 0));
    assert_within(before, "a batch at the next hop");
}
