//! Bodies through the whole cascade: what each stop receives, finds and refuses.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use proptest::prelude::*;
use throng_testing::wire::{EPOCH, SHAPE, Shape, World};
use throng_wire::peel::{open_body, open_fragment, peel};
use throng_wire::seal::open;
use throng_wire::survey::Cover;
use throng_wire::{
    AnalyzerContent, Digest, Error, Fragment, HopContent, Layout, Place, Rejection, Route, Stop, SurveyHash,
};

const ATTRIBUTES: u64 = 784;

fn fragments(attributes: &[u32]) -> Vec<Fragment> {
    attributes.iter().copied().map(Fragment::new).collect()
}

fn rng() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([9; 32])
}

/// All stops, one after another: the attributes that the analyzer finds, sorted, and how much chaff was dropped.
fn deliver(world: &World, route: &Route, body: &[u8]) -> (Vec<u32>, usize) {
    let layout = Layout::of(world.survey.survey());
    let opened = open_body(route, &layout, world.keys(route.instance, 1), body).unwrap();
    let length = layout.envelope_len(layout.after(1));
    assert_eq!(opened.len() % length, 0);
    let mut envelopes: Vec<Vec<u8>> = opened.chunks_exact(length).map(<[u8]>::to_vec).collect();
    let mut chaff = 0;
    for hop in 2..=layout.hops() {
        let mut next = Vec::new();
        for envelope in envelopes {
            match peel(route, &layout, hop, world.keys(route.instance, hop), &envelope).unwrap() {
                HopContent::Envelope(inner) => {
                    assert_eq!(inner.len(), layout.envelope_len(layout.after(hop)));
                    next.push(inner);
                }
                HopContent::Chaff => chaff += 1,
            }
            assert!(hop == layout.hops() || chaff == 0, "chaff is known to the last hop only");
        }
        envelopes = next;
    }
    let mut found = Vec::new();
    for envelope in envelopes {
        match open_fragment(route, &layout, ATTRIBUTES, &world.layers[&Place::Analyzer], &envelope).unwrap() {
            AnalyzerContent::Fragment(fragment) => found.push(fragment.attribute()),
            AnalyzerContent::Chaff => chaff += 1,
        }
    }
    found.sort_unstable();
    (found, chaff)
}

#[test]
fn what_is_wrapped_arrives_through_every_cascade() {
    for hops in 1..=4 {
        for labels in [false, true] {
            let world = World::new(Shape { hops, labels, ..SHAPE });
            for (label, instance) in [(u32::from(labels), 1), (2 * u32::from(labels), 3)] {
                for sent in [&[][..], &[0], &[3, 3, 783], &[1, 2, 3, 4]] {
                    let path = world.path(label, EPOCH, instance);
                    let body = path.body(&fragments(sent), &mut rng()).unwrap();
                    let (found, chaff) = deliver(&world, path.route(), &body);
                    assert_eq!((&found[..], chaff), (sent, 4 - sent.len()), "{hops} hops");
                }
            }
        }
    }
}

#[test]
fn all_bodies_have_one_length_whatever_is_in_them() {
    for hops in 1..=3 {
        let world = World::new(Shape { hops, ..SHAPE });
        let path = world.path(0, EPOCH, 2);
        let lengths: Vec<usize> = [&[][..], &[0], &[783, 5, 6], &[1, 2, 3, 4]]
            .iter()
            .map(|sent| path.body(&fragments(sent), &mut rng()).unwrap().len())
            .collect();
        assert_eq!(lengths, [throng_wire::envelope::body_len(8, hops, 4) as usize; 4]);
    }
}

#[test]
fn without_cover_a_body_is_as_long_as_its_fragments() {
    let world = World::new(Shape { cover: Cover::None, ..SHAPE });
    for sent in [&[][..], &[7], &[1, 2, 3, 4]] {
        let path = world.path(0, EPOCH, 1);
        let body = path.body(&fragments(sent), &mut rng()).unwrap();
        assert_eq!(body.len(), 49 + sent.len() * 107);
        assert_eq!(deliver(&world, path.route(), &body), (sent.to_vec(), 0));
    }
}

#[test]
fn more_fragments_than_envelopes_are_refused() {
    let refused = World::new(SHAPE).path(0, EPOCH, 1).body(&fragments(&[1, 2, 3, 4, 5]), &mut rng());
    assert!(matches!(refused, Err(Error::Seal(_))));
}

/// Attack 11 of the threat list: chaff is told from fragments by the last hop alone, and by nothing before it opened.
/// Fragments stand at every place of a body equally often. 800 bodies with one fragment in four places: a place has
/// 200 on average with a standard deviation of 12.2, and 5.2 of these are left on either side (ALPHA = 1e-6, for all
/// four places).
#[test]
fn where_an_envelope_stands_says_nothing() {
    let world = World::new(Shape { instances: 1, ..SHAPE });
    let layout = Layout::of(world.survey.survey());
    let (path, route) = (world.path(0, EPOCH, 1), world.route());
    let mut places = [0_u32; 4];
    let mut rng = rng();
    for _ in 0..BODIES {
        let body = path.body(&fragments(&[7]), &mut rng).unwrap();
        let opened = open_body(&route, &layout, world.keys(1, 1), &body).unwrap();
        for (place, envelope) in opened.chunks_exact(107).enumerate() {
            if peel(&route, &layout, 2, world.keys(1, 2), envelope) != Ok(HopContent::Chaff) {
                places[place] += 1;
            }
        }
    }
    let mean = f64::from(BODIES) / 4.0;
    let slack = 5.2 * (mean * 0.75).sqrt();
    assert!(places.iter().all(|&count| (f64::from(count) - mean).abs() < slack), "{places:?}");
}

const BODIES: u32 = 800;

/// Chaff is no fragment to anybody, whatever keys they have: with one hop what stands for the fragment is random, and with more
/// the inner part is no seal at all. If it were a seal of a fragment, say of attribute 0, a last hop that leaves the marks aside would
/// add one of these for every envelope that somebody did not use.
///
/// 200 bodies with 4 envelopes of chaff. A random inner part opens with a chance of 2^-128. Over all of it each bit of the 57
/// (or 8) bytes is set in about half of 800 envelopes, with a standard deviation of 14.1: 6.5 of these on either side fail with a
/// chance below 1e-10 for each of 456 bits (ALPHA = 1e-7).
#[test]
fn chaff_is_a_fragment_to_nobody() {
    for hops in 1..=3 {
        let world = World::new(Shape { instances: 1, hops, ..SHAPE });
        let layout = Layout::of(world.survey.survey());
        let (path, route) = (world.path(0, EPOCH, 1), world.route());
        let mut rng = rng();
        let mut inners: Vec<Vec<u8>> = Vec::new();
        for _ in 0..200 {
            let body = path.body(&[], &mut rng).unwrap();
            let opened = open_body(&route, &layout, world.keys(1, 1), &body).unwrap();
            for envelope in opened.chunks_exact(layout.envelope_len(layout.after(1))) {
                let mut inner = envelope.to_vec();
                for hop in 2..=hops {
                    inner = open(&route, Stop::Hop(hop), world.keys(1, hop), &inner).unwrap();
                }
                if hops == 1 {
                    inner = open(&route, Stop::Analyzer, &world.layers[&Place::Analyzer], &inner).unwrap();
                }
                let (mark, inner) = inner.split_first().unwrap();
                assert_eq!(*mark, 1);
                for keys in world.layers.values() {
                    for stop in [Stop::Analyzer, Stop::Hop(1), Stop::Hop(2), Stop::Hop(3)] {
                        assert!(open(&route, stop, keys, inner).is_err(), "chaff is a seal for {stop:?}");
                    }
                }
                inners.push(inner.to_vec());
            }
        }
        let length = if hops == 1 { 8 } else { 57 };
        assert!(inners.iter().all(|inner| inner.len() == length));
        for bit in 0..8 * length {
            let set = inners.iter().filter(|inner| inner[bit / 8] >> (bit % 8) & 1 == 1).count();
            assert!((set as f64 - 400.0).abs() < 6.5 * 200_f64.sqrt(), "{hops} hops, bit {bit}: {set}");
        }
    }
}

/// Attacks 5 and 26: an envelope for one survey, label, epoch, instance or stop opens for no other.
#[test]
fn nothing_can_be_moved() {
    for hops in 1..=3 {
        let world = World::new(Shape { hops, ..SHAPE });
        let layout = Layout::of(world.survey.survey());
        let route = world.route();
        let body = world.path(0, EPOCH, 1).body(&fragments(&[1, 2, 3, 4]), &mut rng()).unwrap();
        let opened = open_body(&route, &layout, world.keys(1, 1), &body).unwrap();
        let mut envelope = opened[..layout.envelope_len(layout.after(1))].to_vec();
        let other_survey = SurveyHash::new(*Digest::of(b"another survey").as_bytes());
        let moved = [
            Route { survey: other_survey, ..route },
            Route { label: 1, ..route },
            Route { epoch: EPOCH + 1, ..route },
            Route { instance: 2, ..route },
        ];
        for elsewhere in &moved {
            assert_eq!(open_body(elsewhere, &layout, world.keys(1, 1), &body), Err(Rejection::Seal));
        }
        for hop in 2..=hops {
            let keys = world.keys(1, hop);
            for elsewhere in &moved {
                assert_eq!(peel(elsewhere, &layout, hop, keys, &envelope), Err(Rejection::Seal));
            }
            // Another hop with the same keys, or the same hop with another's: the stop is in the associated data.
            assert_eq!(
                throng_wire::seal::open(&route, Stop::Hop(hop + 1), keys, &envelope),
                Err(Rejection::Seal)
            );
            assert_eq!(peel(&route, &layout, hop, world.keys(2, hop), &envelope), Err(Rejection::Seal));
            match peel(&route, &layout, hop, keys, &envelope) {
                Ok(HopContent::Envelope(inner)) => envelope = inner,
                other => panic!("{other:?}"),
            }
        }
        let keys = &world.layers[&Place::Analyzer];
        for elsewhere in &moved {
            let refused = open_fragment(elsewhere, &layout, ATTRIBUTES, keys, &envelope);
            assert_eq!(refused, Err(Rejection::Seal));
        }
        assert!(open_fragment(&route, &layout, ATTRIBUTES, keys, &envelope).is_ok());
        assert_eq!(
            open_fragment(&route, &layout, 1, keys, &envelope),
            Err(Rejection::Content),
            "an attribute that the survey does not have"
        );
    }
}

#[test]
fn keys_rotate_with_an_overlap() {
    let world = World::new(SHAPE);
    for (epoch, id) in [(EPOCH, 1), (EPOCH + 7, 1), (EPOCH + 8, 2), (EPOCH + 17, 2)] {
        let path = world.path(0, epoch, 1);
        let body = path.body(&fragments(&[5]), &mut rng()).unwrap();
        assert_eq!(body[0], id, "everyone uses the key that began last");
        assert_eq!(deliver(&world, path.route(), &body), (vec![5], 3));
    }
    // Who has not seen the second list yet is heard in the overlap, and not after it.
    let mut world = world;
    for list in &mut world.lists {
        list.keys.truncate(1);
    }
    let late = world.path(0, EPOCH + 9, 1);
    let body = late.body(&fragments(&[5]), &mut rng()).unwrap();
    assert_eq!(body[0], 1);
    assert_eq!(deliver(&world, late.route(), &body), (vec![5], 3));
    let refused = throng_wire::Path::new(&world.survey, 0, EPOCH + 10, 1, &world.lists);
    assert!(matches!(refused, Err(Error::NoKey { .. })));
    // After the last epoch of the first keys they are erased, and nothing opens what was sealed to them.
    for keys in world.layers.values_mut() {
        assert_eq!(keys.erase_before(EPOCH + 10), 1);
    }
    let layout = Layout::of(world.survey.survey());
    assert_eq!(open_body(late.route(), &layout, world.keys(1, 1), &body), Err(Rejection::Key));
}

#[test]
fn a_path_takes_the_keys_of_its_own_survey_and_parties() {
    let world = World::new(Shape { labels: true, ..SHAPE });
    let path =
        |label, instance, lists: &[_]| throng_wire::Path::new(&world.survey, label, EPOCH, instance, lists);
    assert!(path(1, 1, &world.lists).is_ok());
    assert!(matches!(path(0, 1, &world.lists), Err(Error::Seal(_))), "a label is needed");
    assert!(matches!(path(3, 1, &world.lists), Err(Error::Seal(_))), "there are two labels");
    assert!(matches!(path(1, 4, &world.lists), Err(Error::UnknownParty(_))));
    assert!(matches!(path(1, 0, &world.lists), Err(Error::UnknownParty(_))));
    assert!(matches!(path(1, 1, &world.lists[1..]), Err(Error::NoKey { party: Place::Analyzer, .. })));
    let mut foreign = world.lists.clone();
    foreign[0].survey = SurveyHash::new([7; 32]);
    assert!(matches!(path(1, 1, &foreign), Err(Error::NoKey { party: Place::Analyzer, .. })));
}

/// Attack 4: a flipped bit anywhere in a body, or in an envelope at any stop, lets nothing through.
#[test]
fn every_flipped_bit_is_noticed() {
    let world = World::new(Shape { envelopes: 2, ..SHAPE });
    let (layout, route) = (Layout::of(world.survey.survey()), world.route());
    let body = world.path(0, EPOCH, 1).body(&fragments(&[5, 6]), &mut rng()).unwrap();
    let envelope = open_body(&route, &layout, world.keys(1, 1), &body).unwrap()[..107].to_vec();
    let Ok(HopContent::Envelope(inner)) = peel(&route, &layout, 2, world.keys(1, 2), &envelope) else {
        panic!("a fragment is expected")
    };
    for bit in 0..8 * body.len() {
        assert!(open_body(&route, &layout, world.keys(1, 1), &flipped(&body, bit)).is_err());
    }
    for bit in 0..8 * envelope.len() {
        assert!(peel(&route, &layout, 2, world.keys(1, 2), &flipped(&envelope, bit)).is_err());
    }
    for bit in 0..8 * inner.len() {
        let keys = &world.layers[&Place::Analyzer];
        assert!(open_fragment(&route, &layout, ATTRIBUTES, keys, &flipped(&inner, bit)).is_err());
    }
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

#[test]
fn content_that_no_respondent_writes_is_refused() {
    let (one, two) = (World::new(Shape { hops: 1, ..SHAPE }), World::new(SHAPE));
    let seal = |world: &World, stop, content: &[u8]| {
        let place = world.route().place(stop);
        let key = &world.layers[&place].public()[0];
        throng_wire::seal::seal(&world.route(), stop, key, content, &mut rng()).unwrap()
    };
    let layout = Layout::of(two.survey.survey());
    for mark in 2..=255 {
        let mut content = vec![mark; 58];
        let envelope = seal(&two, Stop::Hop(2), &content);
        assert_eq!(peel(&two.route(), &layout, 2, two.keys(1, 2), &envelope), Err(Rejection::Content));
        content.truncate(9);
        let envelope = seal(&one, Stop::Analyzer, &content);
        let (layout, keys) = (Layout::of(one.survey.survey()), &one.layers[&Place::Analyzer]);
        let refused = open_fragment(&one.route(), &layout, ATTRIBUTES, keys, &envelope);
        assert_eq!(refused, Err(Rejection::Content));
    }
    for byte in 4..8 {
        let mut fragment = [0; 8];
        fragment[byte] = 1;
        let envelope = seal(&two, Stop::Analyzer, &fragment);
        let refused =
            open_fragment(&two.route(), &layout, ATTRIBUTES, &two.layers[&Place::Analyzer], &envelope);
        assert_eq!(refused, Err(Rejection::Content), "bytes that must be zero");
    }
    // Hop 1 is no later hop, and there is none after the last.
    for hop in [0, 1, 3] {
        assert_eq!(peel(&two.route(), &layout, hop, two.keys(1, 1), &[0; 107]), Err(Rejection::Length));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_other_length_is_refused_before_it_is_opened(length in 0_usize..1000, byte: u8) {
        let world = World::new(SHAPE);
        let (layout, route) = (Layout::of(world.survey.survey()), world.route());
        let bytes = vec![byte; length];
        let keys = &world.layers[&Place::Analyzer];
        if length != 49 + 4 * 107 {
            prop_assert_eq!(open_body(&route, &layout, world.keys(1, 1), &bytes), Err(Rejection::Length));
        }
        if length != 107 {
            prop_assert_eq!(peel(&route, &layout, 2, world.keys(1, 2), &bytes), Err(Rejection::Length));
        }
        if length != 57 {
            prop_assert_eq!(open_fragment(&route, &layout, ATTRIBUTES, keys, &bytes), Err(Rejection::Length));
        }
    }

    #[test]
    fn garbage_of_the_right_length_is_refused(seed: [u8; 32]) {
        use chacha20::rand_core::Rng;
        let world = World::new(SHAPE);
        let (layout, route) = (Layout::of(world.survey.survey()), world.route());
        let mut bytes = vec![0; 49 + 4 * 107];
        ChaCha20Rng::from_seed(seed).fill_bytes(&mut bytes);
        for id in [bytes[0], 1] {
            bytes[0] = id;
            prop_assert!(open_body(&route, &layout, world.keys(1, 1), &bytes).is_err());
            prop_assert!(peel(&route, &layout, 2, world.keys(1, 2), &bytes[..107]).is_err());
            let keys = &world.layers[&Place::Analyzer];
            prop_assert!(open_fragment(&route, &layout, ATTRIBUTES, keys, &bytes[..57]).is_err());
        }
    }

    #[test]
    fn any_fragments_arrive(sent in prop::collection::vec(0_u32..784, 0..=4), hops in 1_u32..=3, instance in 1_u32..=3) {
        let world = World::new(Shape { hops, ..SHAPE });
        let path = world.path(0, EPOCH, instance);
        let body = path.body(&fragments(&sent), &mut rng()).unwrap();
        let mut sorted = sent.clone();
        sorted.sort_unstable();
        prop_assert_eq!(deliver(&world, path.route(), &body), (sorted, 4 - sent.len()));
    }
}
