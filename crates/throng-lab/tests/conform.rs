//! The examiner of clients: it finds nothing wrong with our own client, and names what is wrong with others.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use aws_lc_rs::hmac;
use axum::http::Request;
use axum::http::request::Parts;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use rustls::crypto::aws_lc_rs::hpke::{DH_KEM_X25519_HKDF_SHA256_AES_128, DH_KEM_X25519_HKDF_SHA256_AES_256};
use rustls::crypto::hpke::{Hpke, HpkePublicKey};
use tempfile::TempDir;
use throng_dp::Epsilon;
use throng_host::bundle::Bundle;
use throng_host::net::{Problem, paths};
use throng_lab::conform::{Door, Examiner, Rehearsal, Rule, Shape, Verdict};
use throng_respondent::{AnswerOptions, Clock, EpochChoice, Respondent, SendError, Transport};
use throng_wire::{Address, Credential, LayerKey, Place, Route, Token};

const EPOCH_MS: u64 = 3_600_000;
const EPOCH: u64 = 500_000;

/// A rehearsal with its files, and the stub that looks on.
struct Stage {
    folder: TempDir,
    bundle: Bundle,
    examiner: RefCell<Examiner>,
    now_ms: Cell<u64>,
}

impl Stage {
    fn new(instances: u32, hops: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let door =
            |instance| Door { url: format!("http://127.0.0.1:{}", 1000 + instance), certificate: None };
        let doors: Vec<Door> = (1..=instances).map(door).collect();
        let shape = Shape { instances, hops, epoch_s: EPOCH_MS / 1000 };
        let rehearsal = Rehearsal::new(shape, &doors, EPOCH, &mut rng(1)).unwrap();
        for (name, text) in rehearsal.files() {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let credential = folder.path().join("credential");
        fs::write(&credential, rehearsal.credential().to_file().as_bytes()).unwrap();
        private(&credential);
        let bundle = Bundle::read(folder.path().join("survey.toml")).unwrap();
        let now_ms = Cell::new(EPOCH * EPOCH_MS + 100_000);
        Self { folder, bundle, examiner: RefCell::new(Examiner::new(rehearsal)), now_ms }
    }

    fn credential(&self) -> Credential {
        Credential::from_file(&fs::read_to_string(self.folder.path().join("credential")).unwrap()).unwrap()
    }

    fn route(&self, instance: u32) -> Route {
        Route { survey: self.bundle.survey().hash(), label: 0, epoch: EPOCH, instance }
    }

    fn token(&self, instance: u32) -> String {
        let place = Place::hop(instance, 1);
        self.credential().token(&self.bundle.survey().hash(), place).to_text().to_string()
    }

    fn take(&self, instance: u32, head: &Parts, body: &[u8]) -> Result<Vec<u8>, Problem> {
        self.examiner.borrow_mut().take(instance, head, Ok(body), self.now_ms.get(), &mut rng(9))
    }

    fn verdict(self) -> Verdict {
        self.examiner.into_inner().verdict()
    }
}

impl Clock for Stage {
    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    fn sleep_ms(&self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms);
    }
}

/// What the network does, without one.
impl Transport for Stage {
    fn send(&self, to: &Address, route: &Route, token: &Token, body: &[u8]) -> Result<Vec<u8>, SendError> {
        let Place::Hop { instance, .. } = to.party else { panic!("{}", to.party) };
        let head = head(&paths::path(route, "body"), &format!("Bearer {}", *token.to_text()));
        self.take(instance, &head, body).map_err(|problem| SendError::Unreachable(problem.to_string()))
    }
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn head(path: &str, authorization: &str) -> Parts {
    let request = Request::post(path)
        .header("authorization", authorization)
        .header("content-type", "application/octet-stream");
    request.body(()).unwrap().into_parts().0
}

#[test]
fn our_own_client_does_nothing_wrong() {
    for (instances, hops) in [(1, 1), (2, 2), (2, 3), (3, 4)] {
        let stage = Stage::new(instances, hops);
        let state = stage.folder.path().join("state");
        let mut respondent = Respondent::open_with(&state, &mut rng(2)).unwrap();
        respondent.set_epsilon_limit(Epsilon::new(10.0).unwrap()).unwrap();
        respondent.use_credential(stage.folder.path().join("credential")).unwrap();
        let options = AnswerOptions { label: None, when: EpochChoice::CurrentEpoch };
        respondent.answer_with(&stage.bundle, 5, &options, stage.now_ms.get(), &mut rng(3)).unwrap();
        respondent.send_with(&stage, &stage, |_, _| (), &mut rng(4)).unwrap();
        assert!(stage.examiner.borrow().waits_for().is_empty());
        let verdict = stage.verdict();
        assert!(verdict.right, "{instances} x {hops}: {verdict}");
        assert_eq!(verdict.bodies.len(), instances as usize);
        assert!(verdict.bodies.iter().all(|body| body.tries == 2 && body.acknowledged), "{verdict}");
    }
}

/// What a client does otherwise than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Twist {
    None,
    NoInfo,
    NoAad,
    InfoAndAadExchanged,
    Epoch,
    InstanceFromZero,
    HopFromZero,
    AnalyzerHop,
    IdOutsideAad,
    LittleEndian,
    HashAsText,
    Aes256,
    OldKey,
    LaterKey,
    OtherIdByte,
    EncLast,
    LayersSwapped,
    Garbage,
    ChaffSealed,
    ChaffOfZeros,
    ChaffBeginsAsASeal,
    Mark,
    Index,
    LittleFragment,
    Routing,
    SameFragmentTwice,
    SameEnvelopeTwice,
    OneEphemeralKey,
}

/// A client that was written from docs/wire-format.md, and does one thing wrong.
struct Client<'a> {
    stage: &'a Stage,
    twist: Twist,
    rng: ChaCha20Rng,
}

impl Client<'_> {
    fn seal(&self, route: &Route, hop: u32, plaintext: &[u8]) -> Vec<u8> {
        let twist = self.twist;
        let hops = self.stage.bundle.survey().survey().delivery.hops;
        let sealed_for = match hop {
            2 if twist == Twist::LayersSwapped => 3,
            3 if twist == Twist::LayersSwapped => 2,
            hop => hop,
        };
        assert!(sealed_for <= hops);
        let place = if sealed_for == 0 { Place::Analyzer } else { Place::hop(route.instance, sealed_for) };
        let list = self.stage.bundle.key_lists().iter().find(|list| list.party == place).unwrap();
        let key: LayerKey = match twist {
            Twist::OldKey => *list.keys.iter().find(|key| key.id == 7).unwrap(),
            Twist::LaterKey => *list.keys.iter().find(|key| key.id == 9).unwrap(),
            _ => *list.key_for(route.epoch).unwrap(),
        };
        let hop = sealed_for;
        let id = if twist == Twist::OtherIdByte { 7 } else { key.id };
        let epoch = if twist == Twist::Epoch { route.epoch + 1 } else { route.epoch };
        let instance = if twist == Twist::InstanceFromZero { route.instance - 1 } else { route.instance };
        let number = match twist {
            Twist::HopFromZero if hop > 0 => hop - 1,
            Twist::AnalyzerHop if hop == 0 => hops + 1,
            _ => hop,
        };
        let survey = match twist {
            Twist::HashAsText => route.survey.to_string().into_bytes(),
            _ => route.survey.as_bytes().to_vec(),
        };
        let mut aad = survey;
        if twist == Twist::LittleEndian {
            aad.extend(route.label.to_le_bytes());
            aad.extend(epoch.to_le_bytes());
            aad.extend(instance.to_le_bytes());
            aad.extend(number.to_le_bytes());
        } else {
            aad.extend(route.label.to_be_bytes());
            aad.extend(epoch.to_be_bytes());
            aad.extend(instance.to_be_bytes());
            aad.extend(number.to_be_bytes());
        }
        if twist != Twist::IdOutsideAad {
            aad.push(id);
        }
        let mut info = b"throng-v1 layer".to_vec();
        match twist {
            Twist::NoInfo => info.clear(),
            Twist::NoAad => aad.clear(),
            Twist::InfoAndAadExchanged => std::mem::swap(&mut info, &mut aad),
            _ => {}
        }
        let suite: &dyn Hpke = match twist {
            Twist::Aes256 => DH_KEM_X25519_HKDF_SHA256_AES_256,
            _ => DH_KEM_X25519_HKDF_SHA256_AES_128,
        };
        let public = HpkePublicKey(key.public.as_bytes().to_vec());
        if twist == Twist::OneEphemeralKey {
            let (enc, ciphertext) = seal_with_one_key(&info, &aad, plaintext, key.public.as_bytes());
            return [&[id][..], &enc, &ciphertext].concat();
        }
        let (enc, ciphertext) = suite.seal(&info, &aad, plaintext, &public).unwrap();
        match twist {
            Twist::EncLast => [&[id][..], &ciphertext, &enc.0].concat(),
            _ => [&[id][..], &enc.0, &ciphertext].concat(),
        }
    }

    fn envelope(&mut self, route: &Route, content: Option<u32>) -> Vec<u8> {
        let hops = self.stage.bundle.survey().survey().delivery.hops;
        let mut random = [0; 57];
        self.rng.fill_bytes(&mut random);
        let fragment = |attribute: u32| match self.twist {
            Twist::LittleFragment => [attribute.to_le_bytes(), [0; 4]].concat(),
            _ => [attribute.to_be_bytes(), [0; 4]].concat(),
        };
        let inner = match (content, self.twist) {
            (Some(attribute), _) => self.seal(route, 0, &fragment(attribute)),
            (None, Twist::ChaffSealed) => self.seal(route, 0, &fragment(0)),
            (None, Twist::ChaffOfZeros) => vec![0; 57],
            (None, Twist::ChaffBeginsAsASeal) => {
                random[0] = 2;
                random.to_vec()
            }
            (None, _) => random.to_vec(),
        };
        let mark = if self.twist == Twist::Mark { 2 } else { u8::from(content.is_none()) };
        let mut inner = [&[mark][..], &inner].concat();
        for hop in (2..=hops).rev() {
            inner = self.seal(route, hop, &inner);
        }
        inner
    }

    fn body(&mut self, instance: u32) -> Vec<u8> {
        let (route, delivery) = (self.stage.route(instance), &self.stage.bundle.survey().survey().delivery);
        let own = instance - 1;
        let fragments = match self.twist {
            Twist::Routing => vec![(own + 1) % delivery.instances],
            Twist::Index => vec![8],
            Twist::SameFragmentTwice => vec![own, own],
            Twist::LittleFragment => vec![own + 2],
            _ => vec![own, own + 2],
        };
        let mut envelopes: Vec<Vec<u8>> =
            fragments.iter().map(|&one| self.envelope(&route, Some(one))).collect();
        while envelopes.len() < delivery.envelopes as usize {
            envelopes.push(self.envelope(&route, None));
        }
        if self.twist == Twist::SameEnvelopeTwice {
            envelopes[1] = envelopes[0].clone();
        }
        let mut body = self.seal(&route, 1, &envelopes.concat());
        if self.twist == Twist::Garbage {
            self.rng.fill_bytes(&mut body[1..]);
        }
        body
    }
}

/// HPKE in base mode (RFC 9180) as a client would have it who draws one ephemeral key and uses it for everything.
fn seal_with_one_key(info: &[u8], aad: &[u8], plaintext: &[u8], public: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let hmac = |key: &[u8], parts: &[&[u8]]| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), &parts.concat()).as_ref().to_vec()
    };
    let extract = |suite: &[u8], salt: &[u8], label: &[u8], secret: &[u8]| {
        hmac(if salt.is_empty() { &[0; 32] } else { salt }, &[b"HPKE-v1", suite, label, secret])
    };
    // All that is asked for is in the first block.
    let expand = |suite: &[u8], secret: &[u8], label: &[u8], info: &[u8], len: u16| {
        let mut block = hmac(secret, &[&len.to_be_bytes(), b"HPKE-v1", suite, label, info, &[1]]);
        block.truncate(usize::from(len));
        block
    };
    let ephemeral = PrivateKey::from_private_key(&X25519, &[7; 32]).unwrap();
    let enc = ephemeral.compute_public_key().unwrap().as_ref().to_vec();
    let peer = UnparsedPublicKey::new(&X25519, public);
    let dh = agree(&ephemeral, peer, (), |dh| Ok(dh.to_vec())).unwrap();
    let kem: &[u8] = b"KEM\x00\x20";
    let shared = extract(kem, &[], b"eae_prk", &dh);
    let shared = expand(kem, &shared, b"shared_secret", &[&enc, public].concat(), 32);
    let suite: &[u8] = b"HPKE\x00\x20\x00\x01\x00\x01";
    let hash = |label: &[u8], what: &[u8]| extract(suite, &[], label, what);
    let context = [&[0][..], &hash(b"psk_id_hash", &[]), &hash(b"info_hash", info)].concat();
    let secret = extract(suite, &shared, b"secret", &[]);
    let key = expand(suite, &secret, b"key", &context, 16);
    let nonce = expand(suite, &secret, b"base_nonce", &context, 12);
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
    let mut sealed = plaintext.to_vec();
    let nonce = Nonce::try_assume_unique_for_key(&nonce).unwrap();
    key.seal_in_place_append_tag(nonce, Aad::from(aad), &mut sealed).unwrap();
    (enc, sealed)
}

/// Sends a body to each instance, and again until it is receipted.
fn rehearse(twist: Twist) -> Verdict {
    let stage = Stage::new(2, 3);
    let mut client = Client { stage: &stage, twist, rng: rng(5) };
    for instance in 1..=2 {
        let body = client.body(instance);
        let path = paths::path(&stage.route(instance), "body");
        let head = head(&path, &format!("Bearer {}", stage.token(instance)));
        for _ in 0..2 {
            let _ = stage.take(instance, &head, &body);
            stage.now_ms.set(stage.now_ms.get() + 400_000);
        }
    }
    stage.verdict()
}

#[test]
fn a_client_from_the_page_alone_does_nothing_wrong() {
    let verdict = rehearse(Twist::None);
    assert!(verdict.right, "{verdict}");
    assert_eq!(verdict.bodies[0].fragments, [0, 2]);
    assert_eq!(verdict.bodies[1].fragments, [1, 3]);
    assert!(verdict.bodies.iter().all(|body| body.chaff == 3), "{verdict}");
}

#[test]
fn every_mistake_in_a_body_is_named() {
    for (twist, rule, words) in [
        (Twist::NoInfo, Rule::Seal, "its HPKE info is empty"),
        (Twist::NoAad, Rule::Seal, "its associated data is empty"),
        (Twist::InfoAndAadExchanged, Rule::Seal, "info is what should be the associated data"),
        (Twist::Epoch, Rule::Seal, "has epoch 500001, not 500000"),
        (Twist::InstanceFromZero, Rule::Seal, "has instance 0, not 1"),
        (Twist::HopFromZero, Rule::Seal, "has hop 0, not 1"),
        (Twist::AnalyzerHop, Rule::Seal, "has hop 4, not 0"),
        (Twist::IdOutsideAad, Rule::Seal, "ends before the key id"),
        (Twist::LittleEndian, Rule::Seal, "little-endian"),
        (Twist::HashAsText, Rule::Seal, "hash as text"),
        (Twist::Aes256, Rule::Seal, "AES-256-GCM"),
        (Twist::OldKey, Rule::Key, "sealed to key 7"),
        (Twist::LaterKey, Rule::Key, "sealed to key 9"),
        (Twist::OtherIdByte, Rule::Seal, "its first byte names key 7, and it is sealed to key 2"),
        (Twist::EncLast, Rule::Seal, "stands after the ciphertext"),
        (Twist::LayersSwapped, Rule::Key, "the layer for hop 2: it is sealed for instance-1-hop-3"),
        (Twist::Garbage, Rule::Seal, "the body does not open"),
        (Twist::ChaffSealed, Rule::Chaff, "chaff holds a seal for the analyzer"),
        (Twist::ChaffOfZeros, Rule::Chaff, "is not random"),
        (Twist::ChaffBeginsAsASeal, Rule::Chaff, "begins with the analyzer's key id"),
        (Twist::Mark, Rule::Content, "the mark inside the last layer is 2"),
        (Twist::Index, Rule::Content, "an index that is not below 8"),
        (Twist::LittleFragment, Rule::Content, "an index that is not below 8"),
        (Twist::Routing, Rule::Routing, "belongs to instance 2"),
        (Twist::SameFragmentTwice, Rule::Content, "two fragments are of one attribute"),
        (Twist::SameEnvelopeTwice, Rule::Content, "two envelopes are the same bytes"),
        (Twist::OneEphemeralKey, Rule::Seal, "an encapsulated key occurs twice"),
    ] {
        let verdict = rehearse(twist);
        let named = verdict.findings.iter().any(|found| found.rule == rule && found.what.contains(words));
        assert!(named && !verdict.right, "{twist:?}: {verdict}");
        // What is right is not called wrong: one mistake, made everywhere, is found as what it is.
        let others = verdict.findings.iter().filter(|found| found.rule != rule).count();
        assert!(others == 0 || twist == Twist::LayersSwapped, "{twist:?}: {verdict}");
        assert!(verdict.bodies.iter().all(|body| body.acknowledged), "a receipt says stored, not opened");
    }
}

/// What goes wrong before anything is opened.
#[test]
fn every_mistake_in_a_request_is_named() {
    let found = |what: &dyn Fn(&Stage, &[u8])| {
        let stage = Stage::new(2, 3);
        let body = Client { stage: &stage, twist: Twist::None, rng: rng(5) }.body(1);
        what(&stage, &body);
        stage.verdict().findings
    };
    let send = |stage: &Stage, path: &str, authorization: &str, body: &[u8]| {
        stage
            .take(1, &head(path, authorization), body)
            .map_err(|problem| (problem.status.as_u16(), problem.name))
    };
    let good = |stage: &Stage| (paths::path(&stage.route(1), "body"), format!("Bearer {}", stage.token(1)));
    let named = |what: &dyn Fn(&Stage, &[u8]), rule: Rule, words: &str| {
        let all = found(what);
        assert!(all.iter().any(|one| one.rule == rule && one.what.contains(words)), "{words}: {all:?}");
    };
    let with_token = |token: fn(&Stage) -> String, words: &str| {
        let what = |stage: &Stage, body: &[u8]| {
            let refused = send(stage, &good(stage).0, &token(stage), body).unwrap_err();
            assert_eq!(refused, (401, "credential".into()));
        };
        named(&what, Rule::Credential, words);
    };
    with_token(|stage| format!("Bearer {}", stage.token(2)), "the one for instance-2-hop-1");
    with_token(|stage| format!("Bearer {}", stage.token(1).to_uppercase()), "upper-case");
    with_token(|stage| stage.token(1), "does not begin with");
    with_token(|stage| format!("Bearer {}", &stage.token(1)[1..]), "63 characters");
    with_token(|_| format!("Bearer {}", "0".repeat(64)), "HMAC-SHA256");
    with_token(
        |stage| format!("Bearer {}", stage.credential().to_file().lines().nth(1).unwrap()),
        "the credential's secret itself",
    );

    for (path, words) in [("instances/1", "instances/01"), ("/labels/0", "/labels/00"), ("/body", "/body/")] {
        let what = |stage: &Stage, body: &[u8]| {
            let (right, token) = good(stage);
            assert_eq!(send(stage, &right.replace(path, words), &token, body).unwrap_err().0, 404);
        };
        named(&what, Rule::Request, "there is nothing at this path");
    }
    for (path, by, words) in [
        ("/labels/0", "/labels/1", "has no labels"),
        ("/instances/1", "/instances/2", "names instance 2"),
        ("/body", "/body?x", "has a query"),
        ("/surveys/", "/surveys/00", "there is nothing at this path"),
    ] {
        let what = |stage: &Stage, body: &[u8]| {
            let (right, token) = good(stage);
            assert_eq!(send(stage, &right.replace(path, by), &token, body).unwrap_err().0, 404);
        };
        named(&what, Rule::Request, words);
    }
    for (epoch, status, words) in [(EPOCH - 1, 409, "is over"), (EPOCH + 1, 503, "has not begun")] {
        let what = |stage: &Stage, body: &[u8]| {
            let (path, token) = (paths::path(&Route { epoch, ..stage.route(1) }, "body"), good(stage).1);
            assert_eq!(send(stage, &path, &token, body).unwrap_err().0, status);
        };
        named(&what, Rule::Time, words);
    }
    let cut = |stage: &Stage, body: &[u8]| {
        let (path, token) = good(stage);
        assert_eq!(send(stage, &path, &token, &body[1..]).unwrap_err(), (400, "length".into()));
    };
    named(&cut, Rule::Length, "bytes and should have");
    let one_less = |stage: &Stage, body: &[u8]| {
        let (path, token) = good(stage);
        send(stage, &path, &token, &body[156..]).unwrap_err();
    };
    named(&one_less, Rule::Length, "it has 4 envelopes, and with chaff every body has 5");
    let others = |stage: &Stage, body: &[u8]| {
        let (path, token) = good(stage);
        assert_eq!(send(stage, &path, &token, body).unwrap_err().0, 503);
        stage.now_ms.set(stage.now_ms.get() + 2000);
        let again = Client { stage, twist: Twist::None, rng: rng(6) }.body(1);
        assert_eq!(send(stage, &path, &token, &again).unwrap_err(), (409, "conflict".into()));
    };
    named(&others, Rule::Retry, "other bytes than before");
    let at_once = |stage: &Stage, body: &[u8]| {
        let (path, token) = good(stage);
        send(stage, &path, &token, body).unwrap_err();
        send(stage, &path, &token, body).unwrap();
    };
    named(&at_once, Rule::Retry, "came again after 0 ms");
    let never = |stage: &Stage, body: &[u8]| {
        let (path, token) = good(stage);
        send(stage, &path, &token, body).unwrap_err();
    };
    named(&never, Rule::Retry, "did not come again after a 503");
    named(&never, Rule::Retry, "no body came");
}
