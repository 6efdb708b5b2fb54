//! Vectors of documents for clients in other languages: numbers and texts that are hard to write as canonical JSON, addresses and
//! signature files to be refused, and key lists that may follow one another or may not.
//!
//! `THRONG_WRITE_VECTORS=1 cargo test -p throng-wire --test document_vectors` writes the file again after a change of the format;
//! `check.py` beside it comes to the same verdicts with Python alone.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::path::PathBuf;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use serde_json::{Value, json};
use throng_testing::wire::{EPOCH, SHAPE, Shape, World};
use throng_wire::{
    Address, Digest, KeyList, LayerKey, LayerSecretKey, Lifetime, Place, Signed, SignedSurvey, SurveyHash,
    jcs,
};

#[test]
fn the_vectors_are_what_the_program_makes_of_them() {
    let world = World::new(Shape { instances: 1, hops: 2, envelopes: 2, ..SHAPE });
    let toml = world.survey.survey().to_toml().unwrap();
    let made = json!({
        "about": "Test vectors of docs/wire-format.md, sections 1 to 3. Made by tests/document_vectors.rs.",
        "numbers": numbers(),
        "texts": texts(),
        "objects": objects(),
        "survey_toml": toml,
        "addresses": addresses(&world),
        "signatures": signatures(&world, &toml),
        "key_lists": key_lists(&world),
    });
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/documents.json");
    if std::env::var_os("THRONG_WRITE_VECTORS").is_some() {
        std::fs::write(&path, serde_json::to_string_pretty(&made).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(kept == made, "the vectors have changed; see the head of this file");
}

/// Doubles by their bits. The first are those of RFC 8785, appendix B; then what surveys have, and neighbours of limits.
fn numbers() -> Vec<Value> {
    [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        (1e-7_f64.to_bits(), "1e-7"),
        (1.5e-9_f64.to_bits(), "1.5e-9"),
        (0.1_f64.to_bits(), "0.1"),
        (0x3fd3_3333_3333_3334, "0.30000000000000004"),
        (5.25_f64.to_bits(), "5.25"),
        (2_f64.to_bits(), "2"),
        (100_f64.to_bits(), "100"),
        (0x3fef_ffff_ffff_ffff, "0.9999999999999999"),
        // Two shortest forms are equally near to 2^-44: the one with the even digit is taken.
        (0x3d30_0000_0000_0000, "5.684341886080802e-14"),
    ]
    .into_iter()
    .map(|(bits, canonical)| {
        assert_eq!(jcs::to_string(&f64::from_bits(bits)).unwrap(), canonical, "{bits:016x}");
        json!({ "bits": format!("{bits:016x}"), "canonical": canonical })
    })
    .collect()
}

/// Texts by their code points, and the bytes of their canonical form.
fn texts() -> Vec<Value> {
    [
        "",
        "a\"b\\c/d",
        "\u{8}\t\n\u{c}\r",
        "\u{0}\u{1}\u{1f}",
        "\u{7f}\u{80}",
        "é€\u{2028}\u{2029}",
        "😀\u{fb33}",
        "<&>'",
    ]
    .into_iter()
    .map(|text| {
        let points: Vec<u32> = text.chars().map(u32::from).collect();
        json!({ "code_points": points, "canonical": hex(jcs::to_string(&text).unwrap().as_bytes()) })
    })
    .collect()
}

/// Names are sorted by UTF-16 code units: 😀 (d83d de00) before U+FB33, which is the other way round by code points or UTF-8.
fn objects() -> Vec<Value> {
    [
        json!({ "\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7 }),
        json!({ "b": { "z": [], "a": {} }, "a": [true, null, { "y": 0.5, "x": 1.0 }] }),
        json!({ "aa": 1, "a": 2, "A": 3, "": 4 }),
    ]
    .into_iter()
    .map(|object| json!({ "value": object, "canonical": hex(jcs::to_string(&object).unwrap().as_bytes()) }))
    .collect()
}

/// Addresses of hop 1, taken or refused.
fn addresses(world: &World) -> Vec<Value> {
    let hop = Place::hop(1, 1);
    let key = &world.signing[&hop];
    let pinned = Some(Digest::of(b"certificate"));
    let address = |url: &str, certificate| Address {
        survey: world.survey.hash(),
        party: hop,
        serial: 1,
        url: url.into(),
        certificate,
    };
    let text = |address: &Address| {
        let document = jcs::to_string(address).unwrap();
        format!("{document}\n{}\n", key.sign("address", document.as_bytes()))
    };
    let good = address("https://hop.example:8443", pinned);
    let wrong_kind = {
        let document = jcs::to_string(&good).unwrap();
        format!("{document}\n{}\n", key.sign("key list", document.as_bytes()))
    };
    [
        ("https with a certificate", true, text(&good)),
        ("http without one", true, text(&address("http://127.0.0.1:8080", None))),
        ("https without a certificate", false, text(&address("https://hop.example", None))),
        ("http with a certificate", false, text(&address("http://127.0.0.1:8080", pinned))),
        ("another scheme", false, text(&address("ftp://hop.example", None))),
        ("a space", false, text(&address("https://hop. example", pinned))),
        ("not ASCII", false, text(&address("https://höp.example", pinned))),
        ("an IPv4 address", true, text(&address("https://192.0.2.7", pinned))),
        ("an IPv6 address", true, text(&address("https://[2001:db8::1]:8443", pinned))),
        ("http on this machine by its name", true, text(&address("http://localhost:8080", None))),
        ("http on this machine by IPv6", true, text(&address("http://[::1]:8080", None))),
        ("http to another machine", false, text(&address("http://hop.example", None))),
        ("a slash", false, text(&address("https://hop.example/", pinned))),
        ("a path", false, text(&address("https://hop.example:8443/v1", pinned))),
        ("a query", false, text(&address("https://hop.example?v=1", pinned))),
        ("a user", false, text(&address("https://user@hop.example", pinned))),
        ("no host", false, text(&address("https://:8443", pinned))),
        ("no port after the colon", false, text(&address("https://hop.example:", pinned))),
        ("port 0", false, text(&address("https://hop.example:0", pinned))),
        ("a port with a leading zero", false, text(&address("https://hop.example:0443", pinned))),
        ("a port above 65535", false, text(&address("https://hop.example:65536", pinned))),
        ("IPv6 without brackets", false, text(&address("https://2001:db8::1", pinned))),
        ("IPv6 with a zone", false, text(&address("https://[fe80::1%25eth0]", pinned))),
        ("a number for an IPv4 address", false, text(&address("https://2130706433", pinned))),
        ("a dot at the end", false, text(&address("https://hop.example.", pinned))),
        ("signed as a key list", false, wrong_kind),
        ("another survey", false, text(&Address { survey: SurveyHash::new([0; 32]), ..good.clone() })),
        (
            "another party, with this one's signature",
            false,
            text(&Address { party: Place::hop(1, 2), ..good.clone() }),
        ),
        ("a carriage return", false, text(&good).replace('\n', "\r\n")),
        ("a byte order mark", false, format!("\u{feff}{}", text(&good))),
        ("a number in another form", false, text(&good).replace("\"serial\":1", "\"serial\":1e0")),
        ("a name twice", false, text(&good).replace("\"serial\":1", "\"serial\":1,\"serial\":1")),
    ]
    .into_iter()
    .map(|(what, taken, text)| {
        let read = Signed::<Address>::from_text(&text);
        assert_eq!(read.is_ok_and(|read| read.verify(&world.survey).is_ok()), taken, "{what}");
        json!({ "what": what, "taken": taken, "address": text })
    })
    .collect()
}

/// Signature files of a survey with three parties.
fn signatures(world: &World, toml: &str) -> Vec<Value> {
    let texts: Vec<String> = world.approvals.iter().map(Signed::to_text).collect();
    let other = World::new(Shape { instances: 1, hops: 2, envelopes: 3, ..SHAPE });
    [
        ("all three", true, texts.concat()),
        ("in another order", true, texts.iter().rev().cloned().collect()),
        ("one is missing", false, texts[1..].concat()),
        ("one is there twice", false, texts.concat() + &texts[0]),
        ("an empty line between them", false, texts.join("\n")),
        ("nothing", false, String::new()),
        ("one is of another survey", false, texts[1..].concat() + &other.approvals[0].to_text()),
        ("the last line feed is missing", false, texts.concat().trim_end().to_owned()),
    ]
    .into_iter()
    .map(|(what, taken, text)| {
        assert_eq!(SignedSurvey::from_files(toml, &text).is_ok(), taken, "{what}");
        json!({ "what": what, "taken": taken, "signatures": text })
    })
    .collect()
}

/// A list that was seen, one that comes after it, the epoch that it is now, and whether it may.
fn key_lists(world: &World) -> Vec<Value> {
    let rng = &mut ChaCha20Rng::from_seed([3; 32]);
    let mut key = |id, first_epoch, last_epoch| -> LayerKey {
        *LayerSecretKey::generate(id, Lifetime { first_epoch, last_epoch }, rng).unwrap().key()
    };
    let (old, next, other) = (key(1, 90, 110), key(2, 105, 130), key(1, 105, 130));
    let longer = LayerKey { lifetime: Lifetime { first_epoch: 90, last_epoch: 120 }, ..old };
    let (hop, survey) = (Place::hop(1, 1), world.survey.hash());
    let list = |serial, keys: &[LayerKey]| KeyList { survey, party: hop, serial, keys: keys.to_vec() };
    let seen = list(4, &[old]);
    [
        ("one key more", true, EPOCH, list(5, &[old, next])),
        ("some serials were not seen", true, EPOCH, list(9, &[old, next])),
        ("the old key has gone before its time", true, EPOCH, list(5, &[next])),
        ("the same key lives longer", true, EPOCH, list(5, &[longer])),
        ("the id of a key in use names another", false, EPOCH, list(5, &[other])),
        ("the same in the last epoch of the old key", false, 110, list(5, &[other])),
        ("the same when the old key is over", true, 111, list(5, &[other])),
        ("an older serial", false, EPOCH, list(3, &[old])),
        ("another list under one serial", false, EPOCH, list(4, &[old, next])),
        ("of another party", false, EPOCH, KeyList { party: Place::hop(1, 2), ..list(5, &[old]) }),
    ]
    .into_iter()
    .map(|(what, follows, epoch, new)| {
        assert_eq!(new.follows(&seen, epoch).is_ok(), follows, "{what}");
        json!({
            "what": what, "epoch": epoch, "follows": follows,
            "seen": jcs::to_string(&seen).unwrap(), "new": jcs::to_string(&new).unwrap(),
        })
    })
    .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
