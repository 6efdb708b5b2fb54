//! Byte vectors for clients in other languages: survey, keys and randomness in, bytes out.
//!
//! They are made here by a second implementation: the wrapping is written out as docs/wire-format.md has it, and sealed
//! by the `hpke` crate. Our code opens them. `seeded_body` alone is made by our code, from a seed; check.py makes the
//! same bytes. `THRONG_WRITE_VECTORS=1 cargo test -p throng-wire --test vectors` writes the file again after a change
//! of the format.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::path::PathBuf;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use hpke::aead::AesGcm128;
use hpke::kdf::HkdfSha256;
use hpke::kem::{Kem, X25519HkdfSha256};
use hpke::{Deserializable, OpModeS, Serializable};
use serde_json::{Value, json};
use throng_testing::wire::{EPOCH, SHAPE, Shape, World};
use throng_wire::peel::{open_body, open_fragment, peel};
use throng_wire::survey::Cover;
use throng_wire::{
    Address, AnalyzerContent, BatchCount, Credential, Digest, EpochStatement, ForwardedCount, Fragment,
    HopContent, KeyList, LayerSecretKey, Layout, Lifetime, Outcome, Path, Place, Receipt, ReceiptTree, Route,
    Signed, SignedReceipt, SigningKey, Survey,
};

#[test]
fn the_vectors_are_what_another_implementation_makes_and_ours_opens() {
    let shapes = [
        (Shape { instances: 1, hops: 1, envelopes: 3, ..SHAPE }, 0, vec![Some(783), None, Some(0)]),
        (Shape { instances: 2, hops: 2, envelopes: 3, ..SHAPE }, 0, vec![None, Some(5), None]),
        (Shape { instances: 1, hops: 3, envelopes: 2, labels: true, ..SHAPE }, 2, vec![Some(300), None]),
        (Shape { instances: 1, hops: 2, envelopes: 9, cover: Cover::None, ..SHAPE }, 0, vec![Some(7)]),
        // Instance 2 is outside the label's trust profile: chaff alone.
        (
            Shape { instances: 2, hops: 2, envelopes: 2, labels: true, profiles: true, ..SHAPE },
            2,
            vec![None, None],
        ),
    ];
    let mut cases: Vec<Value> = shapes
        .into_iter()
        .enumerate()
        .map(|(number, (shape, label, contents))| {
            case(number as u8, &World::new(shape), shape, (label, EPOCH), &contents)
        })
        .collect();
    let overlap = Shape { instances: 1, hops: 2, envelopes: 2, ..SHAPE };
    cases.push(case(5, &with_three_keys(overlap), overlap, (0, EPOCH + 9), &[Some(42), None]));
    // Empty bodies: without cover no envelope at all, with it chaff alone, whether or not hops follow.
    let bare = Shape { instances: 1, hops: 2, envelopes: 3, cover: Cover::None, ..SHAPE };
    cases.push(case(6, &World::new(bare), bare, (0, EPOCH), &[]));
    for (number, hops) in [(7, 1), (8, 3)] {
        let covered = Shape { instances: 1, hops, envelopes: 2, ..SHAPE };
        cases.push(case(number, &World::new(covered), covered, (0, EPOCH), &[None, None]));
    }
    let made = json!({
        "about": "Test vectors of docs/wire-format.md. Bytes are hexadecimal. ikm_e is the ikm of DeriveKeyPair \
                  (RFC 9180, section 7.1.3) that gives the ephemeral key of a seal. Made by tests/vectors.rs with \
                  the crate hpke 0.14.1. seeded_body is the program's own body with the same fragments, drawn from \
                  ChaCha20 as docs/wire-format.md says at its end of section 12.",
        "cases": cases,
        "refused": refused(),
    });
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/wire.json");
    if std::env::var_os("THRONG_WRITE_VECTORS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&made).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(kept == made, "the vectors have changed; see the head of this file");
}

/// Three keys of each party are for the tenth epoch: the one with the lowest number begins last, and is the one to seal to.
fn with_three_keys(shape: Shape) -> World {
    let mut world = World::new(shape);
    let rng = &mut ChaCha20Rng::from_seed([6; 32]);
    let lifetime = Lifetime { first_epoch: EPOCH + 9, last_epoch: EPOCH + 20 };
    for keys in world.layers.values_mut() {
        keys.add(LayerSecretKey::generate(0, lifetime, rng).unwrap()).unwrap();
    }
    let hash = world.survey.hash();
    world.lists = world.layers.iter().map(|(&place, keys)| keys.list(hash, place, 1)).collect();
    assert!(world.lists.iter().all(|list| list.keys.len() == 3 && list.key_for(EPOCH + 9).unwrap().id == 0));
    world
}

/// A survey with its keys and documents, and one body.
fn case(
    number: u8,
    world: &World,
    shape: Shape,
    (label, epoch): (u32, u64),
    contents: &[Option<u32>],
) -> Value {
    let instance = shape.instances;
    let survey = world.survey.survey();
    let hash = *world.survey.hash().as_bytes();
    let keys: Vec<Value> = world
        .layers
        .iter()
        .flat_map(|(party, keys)| {
            // The private key file: number, first and last epoch, secret.
            let text = keys.to_file().to_string();
            let public = keys.public();
            let lines = text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
            lines.into_iter().zip(public).map(move |(line, public)| {
                json!({
                    "party": party.to_string(),
                    "id": public.id,
                    "first_epoch": public.lifetime.first_epoch,
                    "last_epoch": public.lifetime.last_epoch,
                    "secret": line.rsplit(' ').next(),
                    "public": public.public.to_string(),
                })
            })
        })
        .collect();
    let signing: Vec<Value> = world
        .signing
        .iter()
        .map(|(party, key)| {
            json!({
                "party": party.to_string(),
                "seed": key.to_file().lines().nth(1),
                "public": key.public().to_string(),
            })
        })
        .collect();

    let mut seals = Sealer { world, case: number, count: 0, label, epoch, instance, hash, log: Vec::new() };
    let mut envelopes = Vec::new();
    let mut listed = Vec::new();
    for content in contents {
        let from = seals.log.len();
        let (envelope, chaff) = seals.envelope(shape.hops, *content);
        listed.push(json!({
            "attribute": content,
            "chaff": chaff.map(|bytes| hex(&bytes)),
            "seals": seals.log.split_off(from),
            "envelope": hex(&envelope),
        }));
        envelopes.extend(envelope);
    }
    let body = seals.seal(1, &envelopes);
    let body_seal = seals.log.pop();
    opens(world, &world.path(label, epoch, instance), &body, contents);

    let path = world.path(label, epoch, instance);
    let seed = [0x80 + number; 32];
    let seeded = || {
        let fragments: Vec<Fragment> = contents.iter().flatten().copied().map(Fragment::new).collect();
        path.body(&fragments, &mut ChaCha20Rng::from_seed(seed)).unwrap()
    };
    let seeded_body = seeded();
    assert_eq!(seeded(), seeded_body, "all randomness of a body is an argument");

    let hop = Place::Hop { instance, hop: 1 };
    let route = *world.path(label, epoch, instance).route();
    let receipt = Receipt { route, body: Digest::of(&body), time_bucket: epoch * 86400 + 7200 };
    let others = (0..number).map(|other| Receipt { body: Digest::of(&[other]), ..receipt });
    let receipts = [receipt].into_iter().chain(others).collect();
    let receipts = ReceiptTree::new(receipts, &mut ChaCha20Rng::from_seed([number; 32]));
    let batch = Digest::of(&envelopes);
    let passed = |received, forwarded| Outcome::Released { respondents: 3000, received, forwarded, batch };
    let count = BatchCount::salted([0x60 + number; 32], 8000 + u64::from(number));
    let committed = ForwardedCount::Committed(count.commitment());
    let list = world.lists.iter().find(|list| list.party == hop).unwrap().clone();
    let list = Signed::new(list, &world.signing[&hop]).unwrap();
    let analyzers = world.lists.iter().find(|list| list.party == Place::Analyzer).unwrap().clone();
    let analyzers = Signed::new(analyzers, &world.signing[&Place::Analyzer]).unwrap();
    let statement = |outcome| EpochStatement {
        route,
        hop: 1,
        outcome,
        key_list: list.digest(),
        analyzer_key_list: analyzers.digest(),
    };
    let signed = |outcome| hex(&Signed::new(statement(outcome), &world.signing[&hop]).unwrap().to_bytes());
    let address = Address {
        survey: world.survey.hash(),
        party: hop,
        serial: 1,
        url: "https://hop.example".into(),
        certificate: Some(Digest::of(b"certificate")),
    };
    let secret = [0x40 + number; 32];
    let credential =
        Credential::from_file(&format!("throng-v1 credential (private)\n{}\n", hex(&secret))).unwrap();
    let tokens: Vec<Value> = (1..=shape.instances)
        .map(|instance| {
            let place = Place::hop(instance, 1);
            let token = credential.token(&world.survey.hash(), place).to_text();
            json!({ "party": place.to_string(), "token": *token })
        })
        .collect();
    json!({
        "credential": hex(&secret),
        "tokens": tokens,
        "survey_toml": survey.to_toml().unwrap(),
        "survey_json": survey.canonical().unwrap(),
        "survey_hash": world.survey.hash().to_string(),
        "signing_keys": signing,
        "layer_keys": keys,
        "approvals": world.approvals.iter().map(Signed::to_text).collect::<Vec<_>>(),
        "key_list": list.to_text(),
        "analyzer_key_list": analyzers.to_text(),
        "address": Signed::new(address, &world.signing[&hop]).unwrap().to_text(),
        "route": { "label": label, "epoch": epoch, "instance": instance },
        "envelopes": listed,
        "body_seal": body_seal,
        "body": hex(&body),
        "seeded_body": { "seed": hex(&seed), "body": hex(&seeded_body) },
        "receipt": hex(&receipts.sign(&world.signing[&hop]).receipt(0).to_bytes()),
        "batch_count": hex(&count.to_bytes()),
        "statement_released": signed(passed(Some(9000), ForwardedCount::Told(9000))),
        "statement_committed": signed(passed(Some(9000), committed)),
        "statement_without_cover": signed(passed(None, committed)),
        "statement_destroyed": signed(Outcome::Destroyed),
    })
}

/// The other implementation: layers as docs/wire-format.md describes them, by the `hpke` crate.
struct Sealer<'a> {
    world: &'a World,
    case: u8,
    count: u8,
    label: u32,
    epoch: u64,
    instance: u32,
    hash: [u8; 32],
    log: Vec<Value>,
}

impl Sealer<'_> {
    /// Randomness of its own for every use.
    fn rng(&mut self) -> ChaCha20Rng {
        self.count += 1;
        let mut seed = [0; 32];
        (seed[0], seed[1]) = (self.case, self.count);
        ChaCha20Rng::from_seed(seed)
    }

    fn envelope(&mut self, hops: u32, content: Option<u32>) -> (Vec<u8>, Option<Vec<u8>>) {
        let mark = u8::from(content.is_none());
        let mut fragment = [0; 8];
        fragment[..4].copy_from_slice(&content.unwrap_or(0).to_be_bytes());
        let mut chaff = vec![0; if hops == 1 { 8 } else { 57 }];
        self.rng().fill_bytes(&mut chaff);
        let chaff = content.is_none().then_some(chaff);
        let marked = |inner: &[u8]| [&[mark][..], inner].concat();
        let envelope = if hops == 1 {
            let marked = marked(chaff.as_deref().unwrap_or(&fragment));
            self.seal(0, &marked)
        } else {
            let inner = chaff.clone().unwrap_or_else(|| self.seal(0, &fragment));
            (2..=hops).rev().fold(marked(&inner), |inner, hop| self.seal(hop, &inner))
        };
        (envelope, chaff)
    }

    /// Seals for a hop, or for the analyzer, which is number 0.
    fn seal(&mut self, hop: u32, plaintext: &[u8]) -> Vec<u8> {
        let place = match hop {
            0 => Place::Analyzer,
            hop => Place::Hop { instance: self.instance, hop },
        };
        let public = self.world.layers[&place].public();
        let usable = public
            .iter()
            .filter(|key| (key.lifetime.first_epoch..=key.lifetime.last_epoch).contains(&self.epoch));
        let key = *usable.max_by_key(|key| key.lifetime.first_epoch).unwrap();
        let mut aad = self.hash.to_vec();
        aad.extend(self.label.to_be_bytes());
        aad.extend(self.epoch.to_be_bytes());
        aad.extend(self.instance.to_be_bytes());
        aad.extend(hop.to_be_bytes());
        aad.push(key.id);
        let public = <X25519HkdfSha256 as Kem>::PublicKey::from_bytes(key.public.as_bytes()).unwrap();
        let mut ikm = [0; 32];
        let mut rng = self.rng();
        rng.fill_bytes(&mut ikm);
        self.count -= 1; // the same randomness again, this time for the seal
        let (enc, ciphertext) = hpke::single_shot_seal_with_rng::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &public,
            b"throng-v1 layer",
            plaintext,
            &aad,
            &mut self.rng(),
        )
        .unwrap();
        let (_, ephemeral) = X25519HkdfSha256::derive_keypair(&ikm);
        assert_eq!(ephemeral.to_bytes(), enc.to_bytes(), "the seal draws its ikm first, and nothing else");
        let layer = [&[key.id][..], &enc.to_bytes(), &ciphertext].concat();
        self.log.push(json!({
            "for": place.to_string(),
            "ikm_e": hex(&ikm),
            "aad": hex(&aad),
            "plaintext": hex(plaintext),
            "layer": hex(&layer),
        }));
        layer
    }
}

/// Our side opens the body and finds what was sent.
fn opens(world: &World, path: &Path, body: &[u8], contents: &[Option<u32>]) {
    let (route, layout) = (path.route(), Layout::of(world.survey.survey()));
    let instance = route.instance;
    let opened = open_body(route, &layout, world.keys(instance, 1), body).unwrap();
    let mut found = Vec::new();
    'envelopes: for envelope in opened.chunks_exact(layout.envelope_len(layout.after(1))) {
        let mut envelope = envelope.to_vec();
        for hop in 2..=layout.hops() {
            match peel(route, &layout, hop, world.keys(instance, hop), &envelope).unwrap() {
                HopContent::Envelope(inner) => envelope = inner,
                HopContent::Chaff => {
                    found.push(None);
                    continue 'envelopes;
                }
            }
        }
        let keys = &world.layers[&Place::Analyzer];
        found.push(match open_fragment(route, &layout, 784, keys, &envelope).unwrap() {
            AnalyzerContent::Fragment(fragment) => Some(fragment.attribute()),
            AnalyzerContent::Chaff => None,
        });
    }
    assert_eq!(found, contents);
}

/// What a respondent's client has to refuse, each with the reason. Ours does.
fn refused() -> Value {
    let world = World::new(Shape { instances: 1, hops: 2, envelopes: 2, ..SHAPE });
    let (hop, survey) = (Place::hop(1, 1), world.survey.survey());
    let key = &world.signing[&hop];
    let toml = survey.to_toml().unwrap();
    let surveys: Vec<Value> = [
        ("an unknown field", toml.replacen("version = 1", "version = 1\nextra = 1", 1)),
        ("a field is missing", toml.replacen("epoch_s = 86400\n", "", 1)),
        ("another version", toml.replacen("version = 1", "version = 2", 1)),
        ("a crowd of one", toml.replacen("respondents_min = 3000", "respondents_min = 1", 1)),
        ("an epsilon of zero", toml.replacen("epsilon_local = 5.25", "epsilon_local = 0.0", 1)),
        ("a field of another encoding", toml.replacen("domain = 784", "domain = 784\nrows = 4", 1)),
        ("a bound that nobody knows", toml.replacen("\"exact\"", "\"better\"", 1)),
    ]
    .into_iter()
    .map(|(what, text)| {
        assert!(text != toml && Survey::from_toml(&text).is_err(), "{what}");
        json!({ "what": what, "survey_toml": text })
    })
    .collect();

    let list = world.lists.iter().find(|list| list.party == hop).unwrap().clone();
    let good = Signed::new(list.clone(), key).unwrap().to_text();
    let (json_line, signature) = good.split_once('\n').unwrap();
    // Signed as a document that our own code would not sign.
    let signed = |document: String| {
        let signature = key.sign("key list", document.as_bytes());
        format!("{document}\n{signature}\n")
    };
    let stranger = SigningKey::from_seed(&[77; 32]).unwrap();
    let documents: Vec<Value> = [
        (
            "another signature",
            good.replace(&signature[..2], if &signature[..2] == "00" { "01" } else { "00" }),
        ),
        ("signed by somebody else", Signed::new(list.clone(), &stranger).unwrap().to_text()),
        ("a space", signed(json_line.replacen(",\"party\"", ", \"party\"", 1))),
        ("another order of fields", signed(reordered(json_line))),
        ("a number in another form", signed(json_line.replacen("\"serial\":1", "\"serial\":1.0", 1))),
        ("an unknown field", signed(json_line.replacen("\"party\"", "\"other\":1,\"party\"", 1))),
        (
            "upper-case digits",
            signed(json_line.replacen(
                &list.keys[0].public.to_string(),
                &list.keys[0].public.to_string().to_uppercase(),
                1,
            )),
        ),
        ("no line feed at its end", good.trim_end().to_owned()),
        ("a line more", format!("{good}\n")),
        (
            "a place that the survey does not have",
            signed(json_line.replacen("instance-1-hop-1", "instance-2-hop-1", 1)),
        ),
        ("another survey", signed(json_line.replacen(&world.survey.hash().to_string(), &"0".repeat(64), 1))),
        (
            "two keys that begin at once",
            signed(json_line.replacen("\"first_epoch\":108", "\"first_epoch\":100", 1)),
        ),
        (
            "a key that ends before it begins",
            signed(json_line.replacen("\"last_epoch\":109", "\"last_epoch\":99", 1)),
        ),
    ]
    .into_iter()
    .map(|(what, text)| {
        let read = Signed::<KeyList>::from_text(&text);
        assert!(text != good && !read.is_ok_and(|read| read.verify(&world.survey).is_ok()), "{what}");
        json!({ "what": what, "key_list": text })
    })
    .collect();

    let body = Digest::of(b"the body");
    let receipt = Receipt { route: world.route(), body, time_bucket: EPOCH * 86400 };
    let by = |receipt: Receipt, key: &SigningKey| {
        ReceiptTree::new(vec![receipt], &mut ChaCha20Rng::from_seed([9; 32]))
            .sign(key)
            .receipt(0)
            .to_bytes()
            .to_vec()
    };
    let good = by(receipt, key);
    let changed = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        bytes
    };
    let receipts: Vec<Value> = [
        ("a place above 15", changed(88, good[88] + 16)),
        ("another place", changed(88, good[88] ^ 1)),
        ("another hash beside the way", changed(100, good[100] ^ 1)),
        ("another signature", changed(280, good[280] ^ 1)),
        ("another body", changed(48, good[48] ^ 1)),
        ("a byte less", good[..280].to_vec()),
        ("a byte more", [&good[..], &[0]].concat()),
        ("signed by hop 2", by(receipt, &world.signing[&Place::hop(1, 2)])),
        ("signed for other bytes", by(Receipt { body: Digest::of(b"another"), ..receipt }, key)),
        (
            "signed for the next epoch",
            by(Receipt { route: Route { epoch: EPOCH + 1, ..receipt.route }, ..receipt }, key),
        ),
        (
            "signed under another label",
            by(Receipt { route: Route { label: 1, ..receipt.route }, ..receipt }, key),
        ),
        (
            "signed for a time before the epoch",
            by(Receipt { time_bucket: EPOCH * 86400 - 3600, ..receipt }, key),
        ),
    ]
    .into_iter()
    .map(|(what, bytes)| {
        let read = SignedReceipt::from_bytes(&bytes);
        // What it is for, and the time, is for the caller to compare.
        assert!(!read.is_ok_and(|read| read.verify(&world.survey) == Ok(&receipt)), "{what}");
        json!({ "what": what, "receipt": hex(&bytes) })
    })
    .collect();
    json!({
        "survey_toml": toml,
        "surveys": surveys,
        "key_lists": documents,
        "route": { "label": 0, "epoch": EPOCH, "instance": 1 },
        "body": hex(b"the body"),
        "receipts": receipts,
    })
}

/// The same JSON with its last field first.
fn reordered(json_line: &str) -> String {
    let (rest, last) = json_line.trim_matches(['{', '}']).rsplit_once(",\"survey\"").unwrap();
    format!("{{\"survey\"{last},{rest}}}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
