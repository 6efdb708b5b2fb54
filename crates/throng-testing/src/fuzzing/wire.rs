//! Parsers of what travels and of what parties keep: no bytes make them panic, and what they take they write again to the same
//! bytes.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_wire::peel::{open_body, open_fragment, peel};
use throng_wire::seal::seal;
use throng_wire::{
    Address, AnalyzerContent, Approval, Credential, CredentialList, Digest, EnrolmentFile, EpochStatement,
    Fragment, HopContent, KeyList, LayerKeys, Layout, Place, Signature, Signed, SignedReceipt, SignedSurvey,
    SigningKey, Stop, Survey, SurveyHash, Token, VerifyingKey,
};

use super::Target;
use crate::wire::{EPOCH, SHAPE, World};

/// Their names, and what they do.
pub(super) const TARGETS: &[Target] = &[
    ("survey", survey),
    ("signed_survey", signed_survey),
    ("documents", documents),
    ("private_files", private_files),
    ("records", records),
    ("layers", layers),
];

thread_local! {
    static WORLD: World = World::new(SHAPE);
    static LAYERS: Vec<Vec<u8>> = WORLD.with(sealed_layers);
}

/// What a respondent has sealed for each stop of instance 1. The corpus has parts of it, so that a part of the corpus may open.
fn sealed_layers(world: &World) -> Vec<Vec<u8>> {
    let (layout, route) = (Layout::of(world.survey.survey()), world.route());
    let body = corpus_body(world);
    let envelopes = open_body(&route, &layout, world.keys(1, 1), &body).expect("it was sealed for hop 1");
    let mut layers = vec![body];
    for envelope in envelopes.chunks_exact(layout.envelope_len(Stop::Hop(2))) {
        layers.push(envelope.to_vec());
        if let Ok(HopContent::Envelope(inner)) = peel(&route, &layout, 2, world.keys(1, 2), envelope) {
            layers.push(inner);
        }
    }
    layers
}

/// The body whose layers are in the corpus.
pub fn corpus_body(world: &World) -> Vec<u8> {
    let rng = &mut ChaCha20Rng::from_seed([3; 32]);
    world.path(0, EPOCH, 1).body(&[Fragment::new(42)], rng).expect("it fits")
}

/// Whether somebody has sealed this.
fn is_sealed(bytes: &[u8]) -> bool {
    LAYERS.with(|layers| layers.iter().any(|layer| layer == bytes))
}

/// The public file, before anybody signed it.
fn survey(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(survey) = Survey::from_toml(text) else { return };
    let written = survey.to_toml().expect("a survey that was read can be written");
    let again = Survey::from_toml(&written).expect("a survey that was written can be read");
    assert_eq!(survey, again);
    assert_eq!(survey.hash(), again.hash());
    survey.places().take(1000).for_each(drop);
}

/// The same with its signatures, behind a byte 0.
fn signed_survey(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((survey, signatures)) = text.split_once('\0') else { return };
    let Ok(read) = SignedSurvey::from_files(survey, signatures) else { return };
    assert_eq!(read.survey().hash().ok(), Some(read.hash()));
    let signed = Signed::<Approval>::all_from_text(signatures).expect("signatures that were read");
    assert!(signed.len() >= read.survey().places().count(), "a party has not signed");
}

/// What parties sign, as text.
fn documents(bytes: &[u8]) {
    text(bytes, |text| Signed::<KeyList>::from_text(text).ok().map(|read| read.to_text()));
    text(bytes, |text| Signed::<Address>::from_text(text).ok().map(|read| read.to_text()));
    text(bytes, |text| Signed::<Approval>::from_text(text).ok().map(|read| read.to_text()));
    text(bytes, |text| {
        Signed::<KeyList>::all_from_text(text).ok().map(|all| all.iter().map(Signed::to_text).collect())
    });
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(list) = Signed::<KeyList>::from_text(text)
    {
        WORLD.with(|world| drop(list.verify(&world.survey)));
    }
}

/// Keys, credentials and the lists that are made of them; and the texts of hashes, keys and places.
fn private_files(bytes: &[u8]) {
    text(bytes, |text| Credential::from_file(text).ok().map(|read| read.to_file().to_string()));
    text(bytes, |text| SigningKey::from_file(text).ok().map(|read| read.to_file().to_string()));
    text(bytes, |text| LayerKeys::from_file(text).ok().map(|read| read.to_file().to_string()));
    text(bytes, |text| CredentialList::from_file(text).ok().map(|read| read.to_file()));
    text(bytes, |text| EnrolmentFile::from_file(text).ok().map(|read| read.to_file()));
    text(bytes, |text| Token::from_text(text).map(|read| read.to_text().to_string()));
    fn parsed<T: std::str::FromStr + ToString>(bytes: &[u8]) {
        text(bytes, |text| text.parse::<T>().ok().map(|read| read.to_string()));
    }
    parsed::<Digest>(bytes);
    parsed::<SurveyHash>(bytes);
    parsed::<VerifyingKey>(bytes);
    parsed::<Signature>(bytes);
    parsed::<Place>(bytes);
}

/// What parties sign, as bytes: receipts and statements.
fn records(bytes: &[u8]) {
    if let Ok(receipt) = SignedReceipt::from_bytes(bytes) {
        assert_eq!(receipt.to_bytes(), bytes);
        WORLD.with(|world| drop(receipt.verify(&world.survey)));
    }
    if let Ok(statement) = Signed::<EpochStatement>::from_bytes(bytes) {
        assert_eq!(statement.to_bytes(), bytes);
        WORLD.with(|world| drop(statement.verify(&world.survey)));
    }
}

/// Bodies, envelopes and fragments: any bytes, and any bytes in a seal that holds.
fn layers(bytes: &[u8]) {
    WORLD.with(|world| {
        let (layout, route) = (Layout::of(world.survey.survey()), world.route());
        for stop in [Stop::Hop(1), Stop::Hop(2), Stop::Analyzer] {
            let place = route.place(stop);
            let list = world.lists.iter().find(|list| list.party == place).expect("everybody has a list");
            let rng = &mut ChaCha20Rng::from_seed([1; 32]);
            let sealed = seal(&route, stop, &list.keys[0], bytes, rng).expect("a key of this epoch");
            let keys = &world.layers[&place];
            match stop {
                Stop::Hop(1) => {
                    assert!(
                        open_body(&route, &layout, keys, bytes).is_err() || is_sealed(bytes),
                        "nobody has sealed this"
                    );
                    if let Ok(inner) = open_body(&route, &layout, keys, &sealed) {
                        assert_eq!(inner, bytes);
                    }
                }
                Stop::Hop(hop) => {
                    assert!(
                        peel(&route, &layout, hop, keys, bytes).is_err() || is_sealed(bytes),
                        "nobody has sealed this"
                    );
                    match peel(&route, &layout, hop, keys, &sealed) {
                        Ok(HopContent::Envelope(inner)) => assert_eq!(inner, bytes[1..]),
                        Ok(HopContent::Chaff) => assert_ne!(bytes[0], 0),
                        Err(_) => {}
                    }
                }
                Stop::Analyzer => {
                    assert!(
                        open_fragment(&route, &layout, 784, keys, bytes).is_err() || is_sealed(bytes),
                        "nobody has sealed this"
                    );
                    if let Ok(AnalyzerContent::Fragment(fragment)) =
                        open_fragment(&route, &layout, 784, keys, &sealed)
                    {
                        assert!(fragment.attribute() < 784);
                    }
                }
            }
        }
    });
}

fn text(bytes: &[u8], again: impl Fn(&str) -> Option<String>) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(written) = again(text)
    {
        assert_eq!(written, text);
    }
}
