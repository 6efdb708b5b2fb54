//! Attacks on one instance, on stores of any kind. docs/threat-model.md lists them by the names of these tests. `any_store_tests!` makes
//! a test of each for one kind of store: that in memory, and that of a cluster.

#![allow(missing_docs, reason = "the name of a test says what it shows")]

use std::collections::BTreeSet;

use crate::cascade::{CascadeOn, Disk, FIRST, NEXT_DAY, SMALL, day, name};
use crate::wire::{EPOCH, Shape, World};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_shuffle::{Acknowledgement, Channel, Refusal, Upload};
use throng_wire::peel::open_fragment;
use throng_wire::seal::seal;
use throng_wire::statement::{check_cascade, check_count};
use throng_wire::survey::Cover;
use throng_wire::{
    AnalyzerContent, Digest, EpochStatement, ForwardedCount, Layout, Outcome, Place, Receipt, Rejection,
    Route, Signed, Stop,
};

/// What a hop says: the crowd, what it received where it tells that, and what it forwarded.
pub fn released(outcome: Outcome) -> (u64, Option<u64>, Option<u64>) {
    match outcome {
        Outcome::Released { respondents, received, forwarded, .. } => {
            let told = if let ForwardedCount::Told(told) = forwarded { Some(told) } else { None };
            (respondents, received, told)
        }
        Outcome::Destroyed => panic!("destroyed"),
    }
}

pub fn fragments_arrive_once_through_one_two_and_three_hops<D: Disk>() {
    for hops in 1..=3 {
        let mut cascade = CascadeOn::<D>::new(Shape { hops, ..SMALL });
        cascade.answer_all(FIRST, 20);
        cascade.run(NEXT_DAY);
        assert_eq!(cascade.sorted_values(FIRST), (0..20).collect::<Vec<_>>());
        let pulled = cascade.pull(FIRST).unwrap();
        let statements: Vec<EpochStatement> =
            pulled.statements.iter().map(|one| *one.verify(&cascade.world.survey).unwrap()).collect();
        assert_eq!(check_cascade(cascade.world.survey.survey(), &statements).unwrap(), Some(20));
        assert_eq!(released(statements[0].outcome).0, 20);
        // Chaff goes no further than the last hop, which with a single one is the analyzer's business.
        // Its statement does not tell, and the count that travels with the batch does.
        let last = statements[hops as usize - 1];
        assert_eq!(released(last.outcome), (20, Some(60), None));
        assert_eq!(check_count(cascade.world.survey.survey(), &last, &pulled.count), Ok(()));
        assert_eq!(pulled.count.envelopes(), if hops == 1 { 60 } else { 20 });
    }
}

pub fn without_cover_bodies_differ_in_length_and_arrive_too<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(Shape { cover: Cover::None, ..SMALL });
    for (person, values) in [&[][..], &[1], &[2, 3], &[4, 5, 6], &[]].into_iter().enumerate() {
        let body = cascade.body(FIRST, values);
        cascade.send(FIRST, person as u32, &body, day(EPOCH)).unwrap();
    }
    cascade.run(NEXT_DAY);
    assert_eq!(cascade.sorted_values(FIRST), [1, 2, 3, 4, 5, 6]);
    assert_eq!(cascade.pull(FIRST).unwrap().count.envelopes(), 6);
    for hop in [1, 2] {
        assert_eq!(released(cascade.outcome(hop, FIRST)), (5, None, None), "six fragments are not told");
    }
}

/// Two crowds that differ in the number of their fragments alone: what hops publish differs in hashes alone.
pub fn what_is_public_does_not_tell_how_many_fragments_there_were<D: Disk>() {
    for cover in [Cover::Chaff, Cover::None] {
        for hops in 1..=3 {
            let [few, many] = [&[7][..], &[7, 8, 9]].map(|values| {
                let mut cascade = CascadeOn::<D>::new(Shape { hops, cover, ..SMALL });
                for person in 0..8 {
                    let body = cascade.body(FIRST, values);
                    cascade.send(FIRST, person, &body, day(EPOCH)).unwrap();
                }
                cascade.run(NEXT_DAY);
                let counts = cascade.pull(FIRST).unwrap().count.envelopes();
                let said = (1..=hops).map(|hop| cascade.hops[hop as usize - 1].statement(FIRST).unwrap());
                (counts, said.map(|one| one.to_bytes()).collect::<Vec<_>>())
            });
            assert_eq!(few.0 == many.0, hops == 1 && cover == Cover::Chaff, "the batch has them all");
            for (hop, (few, many)) in (1..).zip(few.1.iter().zip(&many.1)) {
                // In front of the key lists and the signature: a commitment, or a number that is the same; and the
                // hash of the batch.
                let differ: Vec<usize> = (0..few.len()).filter(|&at| few[at] != many[at]).collect();
                let hashes = |at: &usize| (69..133).contains(at) || *at >= 197;
                assert!(differ.iter().all(hashes), "hop {hop} of {hops}, {cover:?}: bytes {differ:?}");
                let committed = Signed::<EpochStatement>::from_bytes(few).unwrap().claimed().outcome;
                assert_eq!(released(committed).2.is_some(), hop < hops && cover == Cover::Chaff);
            }
        }
    }
}

/// A hop that is killed anywhere while it decides says one thing, and that opens.
pub fn a_commitment_is_made_once_and_opens_after_any_crash<D: Disk>() {
    for operation in 0.. {
        let mut cascade = CascadeOn::<D>::new(SMALL);
        cascade.answer_all(FIRST, 6);
        cascade.close_first();
        cascade.pass(0, FIRST, NEXT_DAY).unwrap();
        cascade.stores[1].fail_after(operation);
        let done = cascade.hops[1].process(FIRST).is_ok();
        let said = cascade.hops[1].statement(FIRST).ok();
        cascade.stores[1].fail_after(u64::MAX);
        cascade.restart(2, 0);
        cascade.hops[1].process(FIRST).unwrap();
        let pulled = cascade.pull(FIRST).unwrap();
        let last = pulled.statements[1].claimed();
        assert!(said.is_none_or(|said| said.claimed() == last), "operation {operation}: two statements");
        assert_eq!(check_count(cascade.world.survey.survey(), last, &pulled.count), Ok(()));
        if done {
            return assert!(operation > 3);
        }
    }
}

/// Attack 3: one person is one of the crowd, however often they send.
pub fn one_person_counts_once<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    cascade.answer_all(FIRST, 4);
    for _ in 0..100 {
        let body = cascade.body(FIRST, &[700]);
        assert_eq!(cascade.send(FIRST, 0, &body, day(EPOCH)), Err(Refusal::Conflict));
    }
    cascade.run(NEXT_DAY);
    assert_eq!(cascade.outcome(1, FIRST), Outcome::Destroyed, "four people are no crowd of five");
    assert_eq!(cascade.outcome(2, FIRST), Outcome::Destroyed, "and every hop says so");
    assert!(cascade.pull(FIRST).unwrap().bytes.is_empty());
}

/// Attack 6: the same bytes again get the same receipt, and count once.
pub fn a_retry_gets_the_same_receipt<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    cascade.answer_all(FIRST, 5);
    let body = cascade.body(FIRST, &[42]);
    let early = cascade.send(FIRST, 77, &body, day(EPOCH)).unwrap();
    let late = cascade.send(FIRST, 77, &body, day(EPOCH) + 7200).unwrap();
    assert_eq!(early, late, "also hours later");
    cascade.restart(1, 0);
    assert_eq!(cascade.send(FIRST, 77, &body, day(EPOCH) + 7200), Ok(early), "also after a crash");
    // Twice in one group of uploads, too; and those of others beside it, and what was refused, change nothing.
    let upload = |person, body: &[u8]| Upload::new(FIRST, name(person), body.to_vec());
    let group = [upload(78, &body), upload(77, &[]), upload(78, &body), upload(77, &body)];
    let taken = cascade.hops[0].take(&group, day(EPOCH), &mut cascade.rng);
    let buckets: Vec<_> = taken
        .iter()
        .map(|taken| taken.as_ref().map(Acknowledgement::time_bucket).map_err(|refusal| *refusal))
        .collect();
    assert_eq!(buckets, [Ok(early), Err(Refusal::Length), Ok(early), Ok(early)]);
    let receipts: Vec<_> = taken.into_iter().filter_map(|taken| Some(taken.ok()?.receipt())).collect();
    let route = cascade.world.route();
    let expected = Receipt { route, body: Digest::of(&body), time_bucket: early };
    assert_eq!(receipts.len(), 3);
    assert!(receipts.iter().all(|receipt| receipt.verify(&cascade.world.survey) == Ok(&expected)));
    cascade.run(NEXT_DAY);
    assert_eq!(released(cascade.outcome(1, FIRST)).0, 7);
    // The body of 78 was a copy of 77's: its envelopes are duplicates, and dropped.
    assert_eq!(cascade.sorted_values(FIRST), [0, 1, 2, 3, 4, 42]);
    assert_eq!(cascade.send(FIRST, 77, &body, day(EPOCH)), Err(Refusal::Closed), "the epoch is over");
}

/// Receipts of different groups have nothing in common but what they say: places and padding are drawn for every group, so that
/// neither tells how many there are, and no hash is seen twice.
pub fn receipts_of_two_groups_have_nothing_in_common<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    let body = cascade.body(FIRST, &[42]);
    let (mut hashes, mut places) = (BTreeSet::new(), BTreeSet::new());
    const GROUPS: usize = 64;
    for _ in 0..GROUPS {
        // Alone in its group, and the same bytes in each.
        let group = [Upload::new(FIRST, name(1), body.clone())];
        let taken = cascade.hops[0].take(&group, day(EPOCH), &mut cascade.rng).remove(0);
        let receipt = taken.unwrap().receipt();
        assert!(receipt.verify(&cascade.world.survey).is_ok());
        // The receipt (88 bytes), its place, four hashes, the signature.
        let bytes = receipt.to_bytes();
        places.insert(bytes[88]);
        let beside = bytes[89..89 + 4 * 32].chunks_exact(32);
        hashes.extend(beside.map(<[u8]>::to_vec));
    }
    assert_eq!(hashes.len(), 4 * GROUPS, "a hash is beside two receipts");
    // 64 draws of one of 16 places: five or more are missed by all with probability below 1e-3, under a fixed seed.
    assert!(places.len() > 11, "{places:?}");
}

/// Attack 7: of equal envelopes one is left, also if only the layers around them differ.
pub fn duplicates_are_dropped<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(Shape { hops: 3, ..SMALL });
    cascade.answer_all(FIRST, 5);
    let first = cascade.body(FIRST, &[11, 12]);
    let keys = &cascade.world.layers[&Place::hop(1, 1)];
    let layout = *cascade.hops[0].layout();
    let envelopes = throng_wire::peel::open_body(&cascade.world.route(), &layout, keys, &first).unwrap();
    // The same three envelopes in another body.
    let list = cascade.world.lists.iter().find(|list| list.party == Place::hop(1, 1)).unwrap();
    let key = *list.key_for(EPOCH).unwrap();
    let rng = &mut ChaCha20Rng::from_seed([8; 32]);
    let again = seal(&cascade.world.route(), Stop::Hop(1), &key, &envelopes, rng).unwrap();
    cascade.send(FIRST, 100, &first, day(EPOCH)).unwrap();
    cascade.send(FIRST, 101, &again, day(EPOCH)).unwrap();
    cascade.run(NEXT_DAY);
    assert_eq!(released(cascade.outcome(1, FIRST)), (7, Some(21), Some(18)));
    assert_eq!(cascade.sorted_values(FIRST), [0, 1, 2, 3, 4, 11, 12]);
}

/// Attack 4: whichever byte of a body is changed, none of it arrives, and the person is not of the crowd.
pub fn changed_bodies_do_not_count<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    cascade.answer_all(FIRST, 5);
    let body = cascade.body(FIRST, &[500]);
    for place in 0..body.len() {
        let mut changed = body.clone();
        changed[place] ^= 1;
        // The answer does not say that it will not open.
        cascade.send(FIRST, 1000 + place as u32, &changed, day(EPOCH)).unwrap();
    }
    cascade.run(NEXT_DAY);
    assert_eq!(released(cascade.outcome(1, FIRST)).0, 5);
    assert_eq!(cascade.sorted_values(FIRST), [0, 1, 2, 3, 4]);
}

/// Attack 5: a body is for one survey, epoch, label, instance and hop, and so is each envelope in it. Everything here is
/// sealed to the very keys that it meets, so that nothing but what it is bound to keeps it out.
pub fn bodies_cannot_be_moved<D: Disk>() {
    let shape = Shape { instances: 2, labels: true, ..SMALL };
    // Nobody is deleted: what is not counted was dropped for a reason.
    let mut cascade = CascadeOn::<D>::with(shape, 1 << 24, None);
    let here = Channel { label: 1, epoch: EPOCH };
    cascade.answer_all(here, 40);
    let route = Route { label: 1, ..cascade.world.route() };
    // The same parties with the same keys: only the crowd that it asks for makes it another survey.
    let foreign = World::new(Shape { respondents_min: 6, ..shape });
    assert!(foreign.lists.iter().zip(&cascade.world.lists).all(|(one, other)| one.keys == other.keys));
    let moved = [
        Route { survey: foreign.survey.hash(), ..route },
        Route { label: 2, ..route },
        Route { epoch: EPOCH + 1, ..route },
        Route { instance: 2, ..route },
    ];
    let key = |hop: u32| cascade.world.layers[&Place::hop(1, hop)].public()[0];
    let analyzer = cascade.world.layers[&Place::Analyzer].public()[0];
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    // A body with one fragment, three times, whose layers are bound to routes of one's own choice.
    let mut body = |outer: &Route, stop: u32, middle: &Route, inner: &Route, value: u32| {
        // The index, and four bytes that are zero.
        let fragments = (value..value + 3).map(|index| [index.to_be_bytes(), [0; 4]].concat());
        let envelopes: Vec<u8> = fragments
            .flat_map(|fragment| {
                let inner = seal(inner, Stop::Analyzer, &analyzer, &fragment, &mut rng).unwrap();
                seal(middle, Stop::Hop(2), &key(2), &[&[0][..], &inner].concat(), &mut rng).unwrap()
            })
            .collect();
        seal(outer, Stop::Hop(stop), &key(1), &envelopes, &mut rng).unwrap()
    };
    let honest = body(&route, 1, &route, &route, 100);
    let outer: Vec<Vec<u8>> = moved.iter().map(|other| body(other, 1, &route, &route, 200)).collect();
    let another_hop = body(&route, 2, &route, &route, 300);
    let middle: Vec<Vec<u8>> = moved.iter().map(|other| body(&route, 1, other, &route, 400)).collect();
    let inner: Vec<Vec<u8>> = moved.iter().map(|other| body(&route, 1, &route, other, 500)).collect();
    let people = [honest, another_hop].into_iter().chain(outer).chain(middle).chain(inner);
    for (person, body) in (1000..).zip(people) {
        // The answer does not say that it will not open.
        cascade.send(here, person, &body, day(EPOCH)).unwrap();
    }
    cascade.run(NEXT_DAY);
    // Those whose bodies opened at hop 1 are of the crowd: 40, the honest one, and the 8 with envelopes from elsewhere.
    assert_eq!(released(cascade.outcome(1, here)), (49, Some(147), Some(147)));
    assert_eq!(
        (released(cascade.outcome(2, here)).1, cascade.pull(here).unwrap().count.envelopes()),
        (Some(147), 40 + 3 + 12),
        "hop 2 dropped 4 people's envelopes"
    );
    let pulled = cascade.pull(here).unwrap().bytes;
    let layout = Layout::of(cascade.world.survey.survey());
    let opened: Vec<Result<AnalyzerContent, Rejection>> = pulled
        .chunks_exact(layout.envelope_len(Stop::Analyzer))
        .map(|one| open_fragment(&route, &layout, 784, &cascade.world.layers[&Place::Analyzer], one))
        .collect();
    let mut values: Vec<u32> = opened
        .iter()
        .filter_map(|one| match one {
            Ok(AnalyzerContent::Fragment(fragment)) => Some(fragment.attribute()),
            _ => None,
        })
        .collect();
    values.sort_unstable();
    assert_eq!(values, (0..40).chain(100..103).collect::<Vec<_>>(), "and the analyzer dropped 4 people's");
    assert_eq!(opened.iter().filter(|one| one.is_err()).count(), 12);
}

pub fn what_is_for_another_time_or_place_is_refused<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    let body = cascade.body(FIRST, &[1]);
    for (channel, now, expected) in [
        (FIRST, day(EPOCH + 1), Refusal::Closed),
        (FIRST, day(EPOCH - 1), Refusal::Early),
        (Channel { label: 1, ..FIRST }, day(EPOCH), Refusal::Unknown),
    ] {
        assert_eq!(cascade.send(channel, 1, &body, now), Err(expected));
    }
    for len in [0, 1, body.len() - 1, body.len() + 1, 1 << 20] {
        assert_eq!(cascade.send(FIRST, 1, &vec![7; len], day(EPOCH)), Err(Refusal::Length), "{len}");
    }
    let second = Upload::new(FIRST, name(1), body);
    let taken = cascade.hops[1].take(&[second], day(EPOCH), &mut cascade.rng).remove(0);
    assert_eq!(taken.err(), Some(Refusal::Unknown), "only hop 1 takes bodies");
}

/// Attack 23: a clock that jumps closes an epoch early at worst, and never a second time.
pub fn a_clock_that_jumps_releases_nothing_twice<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.run(day(EPOCH + 5));
    let first = cascade.pull(FIRST).unwrap().bytes;
    let body = cascade.body(FIRST, &[42]);
    assert_eq!(cascade.send(FIRST, 42, &body, day(EPOCH)), Err(Refusal::Closed), "the clock went back");
    for now in [day(EPOCH), day(EPOCH + 1), day(EPOCH + 7)] {
        cascade.run(now);
    }
    assert_eq!(cascade.pull(FIRST).unwrap().bytes, first);
    cascade.answer_all(Channel { label: 0, epoch: EPOCH + 8 }, 6);
    assert_eq!(cascade.sorted_values(FIRST).len(), 6);
}

/// Memory is limited, too: who does not fit is told, and those who are in stay in.
pub fn a_full_table_refuses<D: Disk>() {
    let mut cascade = CascadeOn::<D>::with_memory(SMALL, 1 << 14);
    let mut send = |person: u32| {
        let body = cascade.body(FIRST, &[person]);
        cascade.send(FIRST, person, &body, day(EPOCH))
    };
    let taken = (0..100).take_while(|&person| send(person) != Err(Refusal::Full)).count() as u32;
    assert!((3..50).contains(&taken), "{taken}");
    assert_eq!((send(taken), send(0)), (Err(Refusal::Full), Err(Refusal::Conflict)));
}

pub fn epochs_and_labels_run_side_by_side<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(Shape { labels: true, ..SMALL });
    let channels: Vec<Channel> =
        [(1, 0), (2, 0), (1, 1)].map(|(label, later)| Channel { label, epoch: EPOCH + later }).to_vec();
    cascade.answer_all(channels[0], 40);
    for person in 100..140 {
        let body = cascade.body(channels[1], &[person]);
        cascade.send(channels[1], person, &body, day(EPOCH)).unwrap();
    }
    cascade.hops[0].close_due(NEXT_DAY).unwrap();
    cascade.answer_all(channels[2], 40);
    cascade.run(day(EPOCH + 2));
    for channel in channels {
        let (crowd, ..) = released(cascade.outcome(1, channel));
        assert_eq!(cascade.sorted_values(channel).len() as u64, crowd);
        assert!((5..=40).contains(&crowd), "{crowd}");
    }
}

/// A labelled crowd is thinned by whole people, and what is told is what is left.
pub fn deletion_drops_whole_uploads<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(Shape { labels: true, ..SMALL });
    let channel = Channel { label: 1, epoch: EPOCH };
    for person in 0..40 {
        let body = cascade.body(channel, &[2 * person, 2 * person + 1]);
        cascade.send(channel, person, &body, day(EPOCH)).unwrap();
    }
    cascade.run(NEXT_DAY);
    let (crowd, received, _) = released(cascade.outcome(1, channel));
    assert!(crowd < 40 && received == Some(3 * crowd), "{crowd}");
    let values = cascade.sorted_values(channel);
    assert_eq!(values.len() as u64, 2 * crowd);
    assert!(values.chunks(2).all(|pair| pair[0] % 2 == 0 && pair[1] == pair[0] + 1));
}

/// Attack 16, and promise 5: keys are erased once nothing of theirs can be open, and not before.
pub fn keys_are_needed_as_long_as_their_epochs_are_open<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    cascade.answer_all(FIRST, 6);
    let (now, grace) = (day(EPOCH + 1), 2);
    let oldest = |cascade: &CascadeOn<D>| [0, 1].map(|hop| cascade.hops[hop].oldest_epoch(now, grace));
    assert_eq!(oldest(&cascade), [EPOCH, EPOCH - 1], "hop 2 waits for what hop 1 has");
    cascade.hops[0].close_due(now).unwrap();
    assert_eq!(oldest(&cascade), [EPOCH, EPOCH - 1]);
    cascade.hops[0].process(FIRST).unwrap();
    assert_eq!(oldest(&cascade), [EPOCH + 1, EPOCH - 1]);
    cascade.pass(0, FIRST, now).unwrap();
    assert_eq!(cascade.hops[1].oldest_epoch(now, 1), EPOCH, "received, and not opened yet");
    cascade.hops[1].process(FIRST).unwrap();
    assert_eq!(cascade.hops[1].oldest_epoch(now, 1), EPOCH + 1);
    assert_eq!(cascade.hops[1].oldest_epoch(day(EPOCH + 9), 3), EPOCH + 6, "it does not wait for ever");
}

pub fn it_is_known_for_how_many_epochs_there_are_keys<D: Disk>() {
    let cascade = CascadeOn::<D>::new(SMALL);
    let left = |epoch| cascade.hops[0].key_epochs_from(epoch);
    let last = EPOCH + left(EPOCH) - 1;
    assert!(last > EPOCH);
    assert_eq!((left(last), left(last + 1), left(u64::MAX)), (1, 0, 0));
}

/// A hop whose keys are gone releases nothing, rather than what it can still open.
pub fn without_its_keys_a_hop_destroys<D: Disk>() {
    for hop in 1..=2 {
        let mut cascade = CascadeOn::<D>::new(SMALL);
        cascade.answer_all(FIRST, 6);
        cascade.erased.insert(hop, EPOCH + 50);
        cascade.restart(hop, 0);
        cascade.run(NEXT_DAY);
        assert_eq!(cascade.outcome(hop, FIRST), Outcome::Destroyed);
        let pulled = cascade.pull(FIRST).unwrap();
        let said: Vec<EpochStatement> = pulled.statements.iter().map(|one| *one.claimed()).collect();
        assert_eq!(check_cascade(cascade.world.survey.survey(), &said), Ok(None));
    }
}

/// One person is one in an epoch, under whatever labels they send.
pub fn one_person_has_one_label<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(Shape { labels: true, ..SMALL });
    let [one, other] = [1, 2].map(|label| Channel { label, epoch: EPOCH });
    let body = cascade.body(one, &[1]);
    cascade.send(one, 7, &body, day(EPOCH)).unwrap();
    for restarts in 0..2 {
        let elsewhere = cascade.body(other, &[1]);
        assert_eq!(cascade.send(other, 7, &elsewhere, day(EPOCH)), Err(Refusal::Conflict), "{restarts}");
        assert_eq!(cascade.send(other, 7, &body, day(EPOCH)), Err(Refusal::Conflict), "the same bytes, too");
        assert!(cascade.send(one, 7, &body, day(EPOCH)).is_ok());
        cascade.restart(1, 0);
    }
}

/// A hop that is reset has nothing but its journal, and states nothing about what it gave up: it may have, before it was restored.
pub fn a_reset_states_nothing_about_what_it_gives_up<D: Disk>() {
    let mut cascade = CascadeOn::<D>::new(SMALL);
    cascade.answer_all(FIRST, 6);
    cascade.reset(1, day(EPOCH));
    assert_eq!(cascade.stores[0].look().names().unwrap(), ["journal"]);
    let body = cascade.body(FIRST, &[1]);
    assert_eq!(cascade.send(FIRST, 1, &body, day(EPOCH)), Err(Refusal::Closed));
    let next = Channel { label: 0, epoch: EPOCH + 1 };
    cascade.answer_all(next, 6);
    cascade.run(day(EPOCH + 2));
    assert!(cascade.hops.iter().all(|hop| hop.statement(FIRST).is_err()));
    assert_eq!(cascade.sorted_values(next).len(), 6, "it goes on with the next epoch");
}

/// A test of every function above, on one kind of store.
#[macro_export]
macro_rules! any_store_tests {
    ($disk:ty) => {
        $crate::any_store_tests! { $disk:
            fragments_arrive_once_through_one_two_and_three_hops,
            without_cover_bodies_differ_in_length_and_arrive_too,
            what_is_public_does_not_tell_how_many_fragments_there_were,
            a_commitment_is_made_once_and_opens_after_any_crash,
            one_person_counts_once,
            a_retry_gets_the_same_receipt,
            receipts_of_two_groups_have_nothing_in_common,
            duplicates_are_dropped,
            changed_bodies_do_not_count,
            bodies_cannot_be_moved,
            what_is_for_another_time_or_place_is_refused,
            a_clock_that_jumps_releases_nothing_twice,
            a_full_table_refuses,
            epochs_and_labels_run_side_by_side,
            deletion_drops_whole_uploads,
            keys_are_needed_as_long_as_their_epochs_are_open,
            it_is_known_for_how_many_epochs_there_are_keys,
            without_its_keys_a_hop_destroys,
            one_person_has_one_label,
            a_reset_states_nothing_about_what_it_gives_up,
        }
    };
    ($disk:ty: $($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::any_store::$name::<$disk>();
            }
        )*
    };
}
