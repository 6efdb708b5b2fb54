//! Signed documents: who may say what, in which bytes.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use proptest::prelude::*;
use throng_testing::wire::{EPOCH, SHAPE, Shape, World, draft};
use throng_wire::receipt::time_bucket;
use throng_wire::statement::{STATEMENT_LEN, check_cascade, check_count, tells_forwarded};
use throng_wire::survey::Cover;
use throng_wire::{
    Address, Approval, BatchCount, Digest, EpochStatement, Error, ForwardedCount, KeyList, Outcome, Place,
    Receipt, ReceiptTree, Route, Signed, SignedReceipt, SignedSurvey, SigningKey, SurveyHash,
};

const HOP: Place = Place::Hop { instance: 1, hop: 1 };

fn address(world: &World) -> Address {
    Address {
        survey: world.survey.hash(),
        party: HOP,
        serial: 1,
        url: "https://hop.example:8443".into(),
        certificate: Some(Digest::of(b"certificate")),
    }
}

fn receipt(world: &World) -> Receipt {
    let time_bucket = time_bucket(world.survey.survey(), EPOCH * 86400 + 12345);
    Receipt { route: world.route(), body: Digest::of(b"body"), time_bucket }
}

/// A receipt in a tree of its own.
fn signed_receipt(receipt: Receipt, key: &SigningKey) -> SignedReceipt {
    ReceiptTree::new(vec![receipt], &mut ChaCha20Rng::from_seed([5; 32])).sign(key).receipt(0)
}

/// What a hop says of so many envelopes, in the form that the survey asks of it.
fn released(world: &World, hop: u32, respondents: u64, received: u64, forwarded: u64) -> Outcome {
    let survey = world.survey.survey();
    let forwarded = match tells_forwarded(survey, hop) {
        true => ForwardedCount::Told(forwarded),
        false => ForwardedCount::Committed(count(forwarded).commitment()),
    };
    let received = (survey.delivery.cover == Cover::Chaff).then_some(received);
    Outcome::Released { respondents, received, forwarded, batch: Digest::of(b"batch") }
}

fn count(envelopes: u64) -> BatchCount {
    BatchCount::salted([9; 32], envelopes)
}

fn statement(world: &World, hop: u32, received: u64, forwarded: u64) -> EpochStatement {
    EpochStatement {
        route: world.route(),
        hop,
        outcome: released(world, hop, 3000, received, forwarded),
        key_list: Digest::of(b"key list"),
        analyzer_key_list: Digest::of(b"analyzer's"),
    }
}

#[test]
fn a_survey_needs_the_signature_of_every_party() {
    let world = World::new(SHAPE);
    let survey = world.survey.survey();
    assert_eq!(world.approvals.len(), 7);
    for missing in 0..7 {
        let mut some = world.approvals.clone();
        let place = some.remove(missing).claimed_party();
        assert_eq!(SignedSurvey::new(survey.clone(), &some), Err(Error::Unsigned(vec![place])));
    }
    let twice = [&world.approvals[..], &world.approvals[..1]].concat();
    assert!(matches!(SignedSurvey::new(survey.clone(), &twice), Err(Error::Document { .. })));
    let text: String = world.approvals.iter().map(Signed::to_text).collect();
    let read = SignedSurvey::from_files(&survey.to_toml().unwrap(), &text).unwrap();
    assert_eq!(read, world.survey);
    // One changed digit, and the signatures are for another survey (attack 26).
    let changed = survey.to_toml().unwrap().replace("3000", "2999");
    assert!(matches!(SignedSurvey::from_files(&changed, &text), Err(Error::OtherSurvey { .. })));
    assert!(matches!(
        SignedSurvey::new(draft(SHAPE), &world.approvals),
        Err(Error::Survey(throng_survey::Error::Draft(_)))
    ));
}

#[test]
fn nobody_signs_for_another() {
    let world = World::new(SHAPE);
    let survey = world.survey.survey();
    let refused = Approval::sign(survey, Place::Analyzer, &world.signing[&HOP]);
    assert!(matches!(refused, Err(Error::Signature { party: Place::Analyzer, .. })));
    let stranger = SigningKey::from_seed(&[77; 32]).unwrap();
    let forged = Approval { survey: world.survey.hash(), party: Place::Analyzer };
    let mut approvals = world.approvals.clone();
    approvals[0] = Signed::new(forged, &stranger).unwrap();
    let refused = SignedSurvey::new(survey.clone(), &approvals);
    assert_eq!(refused, Err(Error::Signature { kind: "survey", party: Place::Analyzer }));
    let unknown = Approval { survey: world.survey.hash(), party: Place::hop(4, 1) };
    approvals[0] = Signed::new(unknown, &stranger).unwrap();
    assert_eq!(SignedSurvey::new(survey.clone(), &approvals), Err(Error::UnknownParty(Place::hop(4, 1))));
}

#[test]
fn documents_are_verified_by_the_key_that_the_survey_pins() {
    let world = World::new(SHAPE);
    let key = &world.signing[&HOP];
    let list = world.lists.iter().find(|list| list.party == HOP).unwrap().clone();
    let signed = Signed::new(list.clone(), key).unwrap();
    assert_eq!(signed.verify(&world.survey), Ok(&list));
    assert_eq!(Signed::<KeyList>::from_text(&signed.to_text()).unwrap().verify(&world.survey), Ok(&list));
    let signed = Signed::new(address(&world), key).unwrap();
    assert_eq!(signed.verify(&world.survey), Ok(&address(&world)));
    let signed = signed_receipt(receipt(&world), key);
    assert_eq!(signed.to_bytes().len(), 88 + 1 + 4 * 32 + 64);
    let read = SignedReceipt::from_bytes(&signed.to_bytes()).unwrap();
    assert_eq!(read.verify(&world.survey), Ok(&receipt(&world)));
    let batch = Digest::of(b"batch");
    let (told, committed) =
        (ForwardedCount::Told(12000), ForwardedCount::Committed(count(12000).commitment()));
    let passed = |received, forwarded| Outcome::Released { respondents: 3000, received, forwarded, batch };
    for outcome in [
        passed(Some(12000), told),
        passed(Some(12000), committed),
        passed(None, committed),
        Outcome::Destroyed,
    ] {
        let said = EpochStatement { outcome, ..statement(&world, 1, 0, 0) };
        let signed = Signed::new(said, key).unwrap();
        assert_eq!(signed.to_bytes().len(), 197 + 64);
        let read = Signed::<EpochStatement>::from_bytes(&signed.to_bytes()).unwrap();
        assert_eq!(read.verify(&world.survey), Ok(&said));
    }
    let half = EpochStatement { outcome: passed(None, told), ..statement(&world, 1, 0, 0) };
    assert!(Signed::new(half, key).is_err(), "what arrived is told where what went on is");
}

#[test]
fn another_signer_another_survey_and_another_party_are_refused() {
    let world = World::new(SHAPE);
    let by = |place: Place| &world.signing[&place];
    let other = Place::hop(2, 1);
    let refused = signed_receipt(receipt(&world), by(other));
    assert_eq!(refused.verify(&world.survey), Err(Error::Signature { kind: "receipt", party: HOP }));
    let foreign =
        Receipt { route: Route { survey: SurveyHash::new([1; 32]), ..world.route() }, ..receipt(&world) };
    let refused = signed_receipt(foreign, by(HOP));
    assert_eq!(refused.verify(&world.survey), Err(Error::OtherSurvey { kind: "receipt", party: HOP }));
    let nowhere = Receipt { route: Route { instance: 9, ..world.route() }, ..receipt(&world) };
    let refused = signed_receipt(nowhere, by(HOP));
    assert_eq!(refused.verify(&world.survey), Err(Error::UnknownParty(Place::hop(9, 1))));
}

#[test]
fn a_document_has_one_text() {
    let world = World::new(SHAPE);
    let text = Signed::new(address(&world), &world.signing[&HOP]).unwrap().to_text();
    assert_eq!(
        text.lines().next().unwrap(),
        format!(
            r#"{{"certificate":"{}","party":"instance-1-hop-1","serial":1,"survey":"{}","url":"https://hop.example:8443"}}"#,
            Digest::of(b"certificate"),
            world.survey.hash()
        )
    );
    for other in [
        text.replace(",\"serial\"", ", \"serial\""),
        text.replace("\"serial\":1", "\"serial\":1.0"),
        text.replace("\"serial\":1", "\"serial\":1,\"serial\":1"),
        text.replace("\"serial\":1", "\"serial\":1,\"extra\":1"),
        text.replace("https", "http"),
        text.replace("https", "ftp"),
        text.replace('\n', "\r\n"),
        text.trim_end().to_owned(),
        text.clone() + "\n",
        text.clone() + &text,
        text.lines().next().unwrap().to_owned() + "\n",
        String::new(),
    ] {
        assert_ne!(other, text);
        assert!(Signed::<Address>::from_text(&other).is_err(), "{other}");
    }
    // A document of one kind is none of another, even where the fields fit.
    assert!(Signed::<KeyList>::from_text(&text).is_err());
    let approval = world.approvals[0].to_text();
    assert!(Signed::<Address>::from_text(&approval).is_err());
}

#[test]
fn ambiguous_key_lists_are_refused() {
    let world = World::new(SHAPE);
    let good = world.lists.iter().find(|list| list.party == HOP).unwrap();
    let sign = |change: &dyn Fn(&mut KeyList)| {
        let mut list = good.clone();
        change(&mut list);
        Signed::new(list, &world.signing[&HOP]).map(|_| ())
    };
    assert_eq!(sign(&|_| ()), Ok(()));
    assert!(sign(&|list| list.keys[1].id = list.keys[0].id).is_err(), "two keys with one number");
    assert!(sign(&|list| list.keys[1].public = list.keys[0].public).is_err(), "two numbers for one key");
    assert!(sign(&|list| list.keys[1].lifetime = list.keys[0].lifetime).is_err(), "two keys begin at once");
    assert!(sign(&|list| list.keys.swap(0, 1)).is_err(), "another order");
    assert!(sign(&|list| list.keys[0].lifetime.last_epoch = 0).is_err(), "a key that ends before it begins");
}

#[test]
fn a_key_list_replaces_an_older_one_only_without_contradiction() {
    let world = World::new(SHAPE);
    let old = world.lists.iter().find(|list| list.party == HOP).unwrap();
    let newer = KeyList { serial: 2, ..old.clone() };
    assert_eq!(newer.follows(old, EPOCH), Ok(()));
    assert!(old.follows(&newer, EPOCH).is_err() && old.follows(old, EPOCH).is_err(), "a rollback");
    let mut swapped = newer.clone();
    swapped.keys[0].public = world.lists[0].keys[0].public;
    assert!(swapped.follows(old, EPOCH + 9).is_err(), "the old key is still in use");
    assert_eq!(swapped.follows(old, EPOCH + 10), Ok(()), "numbers are used again once their key has expired");
    let foreign = KeyList { party: Place::Analyzer, ..newer };
    assert!(foreign.follows(old, EPOCH).is_err());
}

#[test]
fn a_destroyed_epoch_tells_no_counts() {
    let world = World::new(SHAPE);
    let said = EpochStatement { outcome: Outcome::Destroyed, ..statement(&world, 1, 0, 0) };
    let bytes = Signed::new(said, &world.signing[&HOP]).unwrap().to_bytes();
    assert!(Signed::<EpochStatement>::from_bytes(&bytes).is_ok());
    for place in 53..133 {
        let mut counts = bytes.clone();
        counts[place] = 1;
        assert!(Signed::<EpochStatement>::from_bytes(&counts).is_err(), "byte {place}");
    }
    for outcome in [0, 5, 255] {
        let mut other = bytes.clone();
        other[52] = outcome;
        assert!(Signed::<EpochStatement>::from_bytes(&other).is_err());
    }
}

#[test]
fn a_cascade_has_to_add_up() {
    let world = World::new(SHAPE);
    let survey = world.survey.survey();
    let good = [statement(&world, 1, 12000, 12000), statement(&world, 2, 12000, 700)];
    assert_eq!(check_cascade(survey, &good), Ok(Some(3000)));
    let gone = good.map(|said| EpochStatement { outcome: Outcome::Destroyed, ..said });
    assert_eq!(check_cascade(survey, &gone), Ok(None));
    assert_eq!(check_cascade(survey, &[good[0], gone[1]]), Ok(None), "a later hop may have to");
    let small = good.map(|said| match said.outcome {
        Outcome::Released { received, forwarded, batch, .. } => {
            let outcome = Outcome::Released { respondents: 2999, received, forwarded, batch };
            EpochStatement { outcome, ..said }
        }
        Outcome::Destroyed => said,
    });
    let elsewhere = EpochStatement { route: Route { epoch: EPOCH + 1, ..world.route() }, ..good[1] };
    let with = |said: EpochStatement, received, forwarded| {
        let outcome =
            Outcome::Released { respondents: 3000, received, forwarded, batch: Digest::of(b"batch") };
        EpochStatement { outcome, ..said }
    };
    let committed = ForwardedCount::Committed(count(700).commitment());
    for bad in [
        &good[..1],
        &[good[1], good[0]],
        &[good[0], good[0]],
        &[good[0], elsewhere],
        &[gone[0], good[1]],
        &small,
        &[good[0], small[1]],
        &[statement(&world, 1, 12001, 12001), statement(&world, 2, 12001, 700)],
        // A first hop that had more than everybody sends, or less, and passes on as many as they do.
        &[statement(&world, 1, 12001, 12000), good[1]],
        &[statement(&world, 1, 11999, 12000), good[1]],
        &[statement(&world, 1, 12000, 12000), statement(&world, 2, 11999, 700)],
        &[statement(&world, 1, 12000, 11999), statement(&world, 2, 12000, 700)],
        // A last hop that tells the number of fragments, one that hides how much it received, a first hop that hides
        // what everybody may know.
        &[good[0], with(good[1], Some(12000), ForwardedCount::Told(700))],
        &[good[0], with(good[1], None, committed)],
        &[with(good[0], Some(12000), committed), good[1]],
        &[],
    ] {
        assert!(matches!(check_cascade(survey, bad), Err(Error::Statement(_))), "{bad:?}");
    }
}

#[test]
fn a_count_is_the_one_that_was_committed_to_and_one_that_can_be() {
    let world = World::new(SHAPE);
    let survey = world.survey.survey();
    let check = |said: &EpochStatement, count| check_count(survey, said, &count).is_ok();
    let last = |forwarded| statement(&world, 2, 12000, forwarded);
    assert!(check(&last(700), count(700)) && check(&last(0), count(0)));
    assert!(!check(&last(700), count(701)) && !check(&last(700), BatchCount::told(700)));
    assert!(check(&last(12000), count(12000)));
    assert!(!check(&last(12001), count(12001)), "more than arrived");
    // The hop before it lost some: what everybody sent is no longer there.
    let after_loss = |forwarded| statement(&world, 2, 11995, forwarded);
    assert!(check(&after_loss(11995), count(11995)));
    assert!(!check(&after_loss(11996), count(11996)), "more than it says that it received");
    let first = statement(&world, 1, 12000, 12000);
    assert!(check(&first, BatchCount::told(12000)) && !check(&first, count(12000)));
    let gone = EpochStatement { outcome: Outcome::Destroyed, ..first };
    assert!(check(&gone, BatchCount::told(0)) && !check(&gone, BatchCount::told(1)));
    // Without cover nobody tells what arrived; nobody can have more than all send.
    let bare = World::new(Shape { cover: Cover::None, ..SHAPE });
    let check = |said: &EpochStatement, count| check_count(bare.survey.survey(), said, &count).is_ok();
    for hop in [1, 2] {
        assert!(check(&statement(&bare, hop, 0, 12000), count(12000)));
        assert!(!check(&statement(&bare, hop, 0, 12001), count(12001)));
    }
}

/// Statements are public. Two epochs of one crowd that differ in the number of fragments have statements that differ in
/// hashes alone, with a cover and without.
#[test]
fn statements_do_not_tell_how_many_fragments_there_were() {
    let differing = |a: &EpochStatement, b: &EpochStatement| {
        let [a, b] = [a, b].map(|said| throng_wire::Document::canonical(said).unwrap());
        assert_eq!(a.len(), b.len());
        (0..a.len()).filter(|&at| a[at] != b[at]).collect::<Vec<_>>()
    };
    // Behind respondents (8) and received (8): the commitment (32), and the hash of the batch (32).
    let hashes = 69..133;
    for hops in [1, 2, 3] {
        let world = World::new(Shape { hops, ..SHAPE });
        let salted = |salt, envelopes| {
            let forwarded = ForwardedCount::Committed(BatchCount::salted(salt, envelopes).commitment());
            let Outcome::Released { respondents, received, .. } =
                released(&world, hops, 3000, 12000, envelopes)
            else {
                panic!("it is released");
            };
            let batch = Digest::of(&envelopes.to_be_bytes());
            let outcome = Outcome::Released { respondents, received, forwarded, batch };
            EpochStatement { outcome, ..statement(&world, hops, 0, 0) }
        };
        assert!(!tells_forwarded(world.survey.survey(), hops));
        let seen = differing(&salted([1; 32], 12000), &salted([2; 32], 11995));
        assert!(seen.iter().all(|at| hashes.contains(at)), "{hops} hops: bytes {seen:?}");
        let bare = World::new(Shape { hops, cover: Cover::None, ..SHAPE });
        for hop in 1..=hops {
            // Fewer came, and fewer went on.
            let [many, few] =
                [(9000, 8999), (8000, 7999)].map(|(came, went)| statement(&bare, hop, came, went));
            let seen = differing(&many, &few);
            assert!(seen.iter().all(|at| hashes.contains(at)), "hop {hop} without cover: bytes {seen:?}");
        }
    }
}

/// A crowd that is stated goes on, too: one person's envelopes are not released as those of a crowd.
#[test]
fn a_hop_forwards_a_whole_crowd_as_long_as_there_is_chaff() {
    // 4000 people, of whom 3000 are needed, with 4 envelopes each.
    let cascade = |shape: Shape, forwarded: &[u64]| {
        let world = World::new(shape);
        let mut arriving = 16000;
        let statements: Vec<EpochStatement> = (1..)
            .zip(forwarded)
            .map(|(hop, &forwarded)| {
                let outcome = released(&world, hop, 4000, arriving, forwarded);
                arriving = forwarded;
                EpochStatement { outcome, ..statement(&world, hop, 0, 0) }
            })
            .collect();
        let last = statements.last().unwrap();
        check_cascade(world.survey.survey(), &statements).is_ok()
            && check_count(world.survey.survey(), last, &count(arriving)).is_ok()
    };
    let [one, two, three] = [1, 2, 3].map(|hops| Shape { hops, ..SHAPE });
    for (shape, forwarded, holds) in [
        (two, &[16000, 9][..], true),
        (two, &[12000, 0], true),
        (two, &[12000, 12001], false),
        (two, &[11999, 9], false),
        (two, &[4, 1], false),
        (three, &[16000, 12000, 0], true),
        (three, &[16000, 11999, 9], false),
        (one, &[12000], true),
        (one, &[11999], false),
        (Shape { cover: Cover::None, ..two }, &[4, 1], true),
    ] {
        assert_eq!(cascade(shape, forwarded), holds, "{} hops, {forwarded:?}", shape.hops);
    }
}

#[test]
fn receipts_show_the_hour_only() {
    let survey = draft(SHAPE);
    assert_eq!(time_bucket(&survey, 1_700_000_123), 1_700_000_123 / 3600 * 3600);
    let short = throng_wire::Survey { epoch_s: 60, ..survey };
    assert_eq!(time_bucket(&short, 1_700_000_123), 1_700_000_123 / 60 * 60);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn changed_records_are_refused_or_do_not_verify(place in 0_usize..281, bit in 0_u8..8, cut in 0_usize..281) {
        let world = World::new(SHAPE);
        let taken = signed_receipt(receipt(&world), &world.signing[&HOP]);
        let mut bytes = taken.to_bytes();
        prop_assert!(SignedReceipt::from_bytes(&bytes[..cut]).is_err());
        bytes[place] ^= 1 << bit;
        if let Ok(read) = SignedReceipt::from_bytes(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes.clone());
            prop_assert!(read.verify(&world.survey).is_err());
        }
        bytes.push(0);
        prop_assert!(SignedReceipt::from_bytes(&bytes).is_err());
        let (place, cut) = (place % STATEMENT_LEN, cut % STATEMENT_LEN);
        let said = Signed::new(statement(&world, 1, 12000, 12000), &world.signing[&HOP]).unwrap();
        let mut bytes = said.to_bytes();
        prop_assert!(Signed::<EpochStatement>::from_bytes(&bytes[..cut]).is_err());
        bytes[place] ^= 1 << bit;
        if let Ok(read) = Signed::<EpochStatement>::from_bytes(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes.clone());
            prop_assert!(read.verify(&world.survey).is_err());
        }
        bytes.push(0);
        prop_assert!(Signed::<EpochStatement>::from_bytes(&bytes).is_err());
    }

    #[test]
    fn changed_texts_are_refused_or_do_not_verify(place in 0_usize..1000, byte in 1_u8..128, cut in 0_usize..1000) {
        let world = World::new(SHAPE);
        let list = world.lists.iter().find(|list| list.party == HOP).unwrap().clone();
        for text in [
            Signed::new(address(&world), &world.signing[&HOP]).unwrap().to_text(),
            Signed::new(list, &world.signing[&HOP]).unwrap().to_text(),
            world.approvals[1].to_text(),
        ] {
            let (place, cut) = (place % text.len(), cut % text.len());
            let mut changed = text.clone().into_bytes();
            prop_assume!(changed[place] != byte);
            changed[place] = byte;
            for other in [String::from_utf8(changed).unwrap(), text[..cut].to_owned()] {
                let verified = Signed::<Address>::from_text(&other).is_ok_and(|d| d.verify(&world.survey).is_ok())
                    || Signed::<KeyList>::from_text(&other).is_ok_and(|d| d.verify(&world.survey).is_ok())
                    || Signed::<Approval>::from_text(&other).is_ok_and(|d| d.verify(&world.survey).is_ok());
                prop_assert!(!verified);
            }
        }
    }

    #[test]
    fn no_survey_file_makes_the_parser_panic(place in 0_usize..2000, text in "\\PC{0,8}") {
        let world = World::new(SHAPE);
        let good = world.survey.survey().to_toml().unwrap();
        let mut place = place % good.len();
        while !good.is_char_boundary(place) {
            place -= 1;
        }
        let changed = format!("{}{text}{}", &good[..place], &good[place..]);
        if let Ok(survey) = throng_wire::Survey::from_toml(&changed) {
            // What it reads, it hashes and writes back.
            let again = throng_wire::Survey::from_toml(&survey.to_toml().unwrap()).unwrap();
            prop_assert_eq!(again.hash().unwrap(), survey.hash().unwrap());
        }
    }

    #[test]
    fn signing_is_deterministic(seed: [u8; 32]) {
        let world = World::new(SHAPE);
        let key = SigningKey::generate(&mut ChaCha20Rng::from_seed(seed)).unwrap();
        let sign = || signed_receipt(receipt(&world), &key).to_bytes();
        prop_assert_eq!(sign(), sign());
    }
}
