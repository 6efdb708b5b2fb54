//! The targets of the fuzzer on a stable toolchain: over its corpus, and over what is near. The corpus is made by
//! `cargo test -p throng --test fuzzing -- --ignored`, from the vectors and small real files.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use throng_account::ledger::{Entry, Spending};
use throng_analyze::{BatchHead, CountedBatch, InstanceTally, Rejected};
use throng_dp::{CentralGuarantee, Delta, Epsilon};
use throng_serve::analysis::{DataKey, ReleaseLedger};
use throng_testing::fuzzing::{corpus_body, hop_files, targets};
use throng_testing::wire::{SHAPE, World};
use throng_wire::peel::open_body;
use throng_wire::seal::open;
use throng_wire::{
    BatchCount, Credential, CredentialList, Digest, EpochStatement, ForwardedCount, Layout, Outcome, Place,
    Signed, SignedReceipt, SignedSurvey, SigningKey, Stop, Survey,
};

fn fuzz() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"))
}

fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(fuzz().join("corpus").join(target)).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect()
}

/// Any bytes, what is in the corpus, and what is near that.
#[test]
fn no_target_fails_near_its_corpus() {
    for (name, target) in targets() {
        let seeds = corpus(name);
        assert!(!seeds.is_empty(), "{name} has no corpus");
        target(b"");
        for bytes in seeds.into_values() {
            target(&bytes);
            let config =
                ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
            let strategy = prop_oneof![1 => any::<Vec<u8>>(), 6 => throng_testing::parsing::near(bytes)];
            let run = TestRunner::new(config).run(&strategy, |bytes| {
                target(&bytes);
                Ok(())
            });
            run.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// Every target has a binary, and every binary a corpus; the one that is not here is in throng-shuffle/tests/operations.rs.
#[test]
fn the_fuzzer_has_all_targets() {
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    let bins = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let bins: BTreeSet<&str> = bins.collect();
    let known: BTreeSet<&str> = targets().iter().map(|(name, _)| *name).chain(["hop_operations"]).collect();
    assert_eq!(bins, known);
    assert!(known.iter().all(|name| !corpus(name).is_empty()));
}

/// Where everything is refused at once, nothing behind is looked at: of each kind there is something that is taken.
#[test]
fn the_corpus_has_what_parsers_take() {
    fn taken<T>(target: &str, parse: impl Fn(&[u8]) -> Option<T>) {
        let corpus = corpus(target);
        assert!(corpus.values().any(|bytes| parse(bytes).is_some()), "{target}: all is refused");
    }
    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap_or_default()
    }
    let world = World::new(SHAPE);
    taken("survey", |bytes| Survey::from_toml(text(bytes)).ok());
    taken("signed_survey", |bytes| {
        let (survey, signatures) = text(bytes).split_once('\0')?;
        SignedSurvey::from_files(survey, signatures).ok()
    });
    taken("documents", |bytes| Signed::<throng_wire::KeyList>::from_text(text(bytes)).ok());
    taken("private_files", |bytes| CredentialList::from_file(text(bytes)).ok());
    taken("records", |bytes| SignedReceipt::from_bytes(bytes).ok());
    taken("records", |bytes| Signed::<EpochStatement>::from_bytes(bytes).ok());
    taken("instance_tally", |bytes| {
        let whole = [bytes, Digest::of(bytes).as_bytes()].concat();
        InstanceTally::from_bytes(world.survey.survey(), &whole).ok()?.counted
    });
    taken("backstop", |bytes| throng_encode::StoredBackstop::from_bytes(bytes).ok());
    taken("backstop", |bytes| throng_encode::StoredCoins::from_bytes(bytes).ok());
    taken("net_paths", |bytes| throng_host::net::paths::upload(text(bytes)));
    taken("personal_ledger", |bytes| {
        let ledger = serde_json::from_slice::<throng_respondent::PersonalLedger>(bytes).ok()?;
        (!ledger.entries().is_empty()).then_some(ledger.spent().ok()?)
    });
    taken("stored_answer", |bytes| throng_respondent::Answer::from_bytes(bytes).ok());
    taken("release_ledger", |bytes| {
        let budget = CentralGuarantee::new(Epsilon::new(20.0).unwrap(), Delta::new(1e-3).unwrap());
        ReleaseLedger::of_excerpt(text(bytes), budget).ok()
    });
    let folder = tempfile::tempdir().unwrap();
    let file = |bytes: &[u8]| {
        let path = folder.path().join("file");
        fs::write(&path, bytes).unwrap();
        path
    };
    taken("tables", |bytes| throng_simulate::dataset::Dataset::open_csv(&file(bytes), None).ok());
    taken("pictures", |bytes| throng_simulate::dataset::Dataset::open_picture(&file(bytes), 1.0).ok());
    taken("config_files", |bytes| throng_serve::ShufflerConfig::read(&file(bytes)).ok());
    taken("config_files", |bytes| throng_serve::AnalyzerConfig::read(&file(bytes)).ok());
    taken("labelled", |bytes| {
        throng_simulate::dataset::LabelledExamples::open_csv(&file(bytes), "class").ok()
    });
    taken("labelled", |bytes| throng_learn::CifarRecords::new(throng_learn::Cifar::Ten).read(bytes).ok());
    taken("labelled", |bytes| Some(throng_learn::IdxPictures::new(bytes.get(2..2 + 16 + 12)?).ok()?.count()));
    taken("checkpoint", |bytes| {
        let whole = [bytes, Digest::of(bytes).as_bytes()].concat();
        throng_lab::learning::Checkpoint::read(&file(&whole)).ok()??.state
    });
    let mark = throng_testing::fuzzing::product::marked_ledger().2;
    taken("ledger_mark", |bytes| (bytes == mark).then_some(()));
    // A release that holds but for the bytes of one file holds with its own.
    let published = folder.path().join("published");
    fs::create_dir(&published).unwrap();
    throng_testing::fuzzing::product::PUBLISHED
        .iter()
        .for_each(|(name, bytes)| fs::write(published.join(name), bytes).unwrap());
    let verdict = throng_serve::verify::verify(&published, None).unwrap();
    assert!(verdict.holds, "write it anew with `cargo test -p throng --test verify -- --ignored`: {verdict}");
    for (name, whole) in &throng_testing::fuzzing::product::PUBLISHED[..2] {
        taken("published", |bytes| (&bytes[1..] == *whole).then_some(name));
    }
}

/// Writes the corpus anew. Files that fuzzers have added stay.
#[test]
#[ignore = "writes into the source tree"]
fn the_corpus_is_written() {
    let mut seeds: Vec<(&str, String, Vec<u8>)> = Vec::new();
    let mut add = |target, name: String, bytes: Vec<u8>| seeds.push((target, name, bytes));
    of_vectors(&mut add);
    of_world(&mut add);
    of_product(&mut add);
    for (which, (name, bytes)) in hop_files::seeds() {
        add("hop_files", name, [&[which], &bytes[..]].concat());
    }
    for (target, name, bytes) in seeds {
        let folder = fuzz().join("corpus").join(target);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), bytes).unwrap();
    }
}

type CorpusSink<'a> = dyn FnMut(&'static str, String, Vec<u8>) + 'a;

/// What the vectors of the wire format have, refused documents included.
fn of_vectors(add: &mut CorpusSink<'_>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../throng-wire/tests/vectors/wire.json");
    let vectors: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().as_bytes().to_vec();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for (number, case) in list(&vectors["cases"]).iter().enumerate().take(CASES_KEPT) {
        let approvals: Vec<u8> = list(&case["approvals"]).iter().flat_map(text).collect();
        add("survey", format!("case-{number}"), text(&case["survey_toml"]));
        let signed = [&text(&case["survey_toml"]), &[0][..], &approvals].concat();
        add("signed_survey", format!("case-{number}"), signed);
        add("documents", format!("key-list-{number}"), text(&case["key_list"]));
        add("documents", format!("address-{number}"), text(&case["address"]));
        add("documents", format!("approvals-{number}"), approvals);
        let record = |name: &str| hex(case[name].as_str().unwrap_or_default());
        for name in ["receipt", "statement_committed", "statement_destroyed", "statement_released"] {
            add("records", format!("{name}-{number}"), record(name));
        }
        let head = ["statement_released", "statement_committed", "batch_count"].map(record).concat();
        add("batch_head", format!("case-{number}"), head);
        add("private_files", format!("credential-{number}"), text(&case["credential"]));
    }
    let refused = &vectors["refused"];
    for (kind, key, target) in [("surveys", "survey_toml", "survey"), ("key_lists", "key_list", "documents")]
    {
        for (number, document) in list(&refused[kind]).iter().enumerate() {
            add(target, format!("refused-{number}"), text(&document[key]));
        }
    }
}

/// What the parties of a small survey have.
fn of_world(add: &mut CorpusSink<'_>) {
    let world = World::new(SHAPE);
    let (first, route) = (Place::hop(1, 1), world.route());
    let credentials = [1, 2].map(|seed| Credential::generate(&mut ChaCha20Rng::from_seed([seed; 32])));
    let file = |text: &str| text.as_bytes().to_vec();
    add("private_files", "credential".into(), file(&credentials[0].to_file()));
    add("private_files", "signing".into(), file(&world.signing[&first].to_file()));
    add("private_files", "layers".into(), file(&world.layers[&first].to_file()));
    let list = CredentialList::new(&credentials, &route.survey, first);
    add("private_files", "list".into(), file(&list.to_file()));
    add("private_files", "token".into(), file(&credentials[0].token(&route.survey, first).to_text()));
    for text in [first.to_string(), Place::Analyzer.to_string(), route.survey.to_string()] {
        add("private_files", format!("text-{}", text.len()), file(&text));
    }
    add("private_files", "key".into(), file(&world.signing[&first].public().to_string()));
    // What is inside each layer.
    let body = corpus_body(&world);
    let layout = Layout::of(world.survey.survey());
    let envelopes = open_body(&route, &layout, world.keys(1, 1), &body).unwrap();
    for envelope in envelopes.chunks_exact(layout.envelope_len(Stop::Hop(2))) {
        let inner = open(&route, Stop::Hop(2), world.keys(1, 2), envelope).unwrap();
        if inner[0] == 0 {
            let last = open(&route, Stop::Analyzer, &world.layers[&Place::Analyzer], &inner[1..]).unwrap();
            add("layers", "fragment".into(), last);
            add("layers", "envelope".into(), inner);
        } else {
            add("layers", "chaff".into(), inner);
        }
    }
    add("layers", "body".into(), envelopes);
    let mut tally = world.survey.survey().mechanism().unwrap().tally().unwrap();
    tally.add_fragments(&[3, 3, 700]).unwrap();
    let (batch, rejected) = (Digest::of(b"batch"), Rejected::default());
    let counted = Some(CountedBatch { batch, envelopes: 5, rejected, tally });
    for (name, counted) in [("counted", counted), ("destroyed", None)] {
        let bytes = InstanceTally { route, counted }.to_bytes();
        // The target puts the checksum behind it.
        add("instance_tally", name.into(), bytes[..bytes.len() - 32].to_vec());
    }
    let (batch, count) = (Digest::of(b"batch"), BatchCount::salted([6; 32], 3_000));
    let said = |hop, forwarded| {
        let outcome = Outcome::Released { respondents: 3_000, received: Some(12_000), forwarded, batch };
        let key_list = Digest::of(b"list");
        let said = EpochStatement { route, hop, outcome, key_list, analyzer_key_list: key_list };
        Signed::new(said, &world.signing[&Place::hop(1, hop)]).unwrap()
    };
    let said =
        [said(1, ForwardedCount::Told(12_000)), said(2, ForwardedCount::Committed(count.commitment()))];
    assert!(BatchHead::check(&world.survey, route, &said, count).is_ok());
    let said: Vec<u8> = said.iter().flat_map(Signed::to_bytes).collect();
    add("batch_head", "released".into(), [&said[..], &count.to_bytes(), &[9; 200]].concat());
    // Kinds (1, 2, 3; with 16, coins and their key), a threshold, one list or two.
    let (threshold, bits, rows) = ([9; 16], [0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 1, 7], [0, 0, 0, 1, 0, 0, 0, 4]);
    for kind in [1, 3] {
        add("backstop", format!("kind-{kind}"), [&[kind][..], &threshold, &bits].concat());
        add("backstop", format!("coins-{kind}"), [&[16 + kind][..], &threshold, &[7; 32], &bits].concat());
    }
    add("backstop", "kind-2".into(), [&[2][..], &threshold, &rows, &bits].concat());
    add("backstop", "coins-2".into(), [&[18][..], &threshold, &[7; 32], &rows, &bits].concat());
}

/// What the program keeps and reads.
fn of_product(add: &mut CorpusSink<'_>) {
    let world = World::new(SHAPE);
    add("net_paths", "body".into(), throng_host::net::paths::path(&world.route(), "body").into_bytes());
    let problem =
        r#"{"type":"urn:throng:closed","title":"Conflict","detail":"the epoch is over","status":409}"#;
    add("problem", "closed".into(), problem.into());
    let folder = tempfile::tempdir().unwrap();
    let guarantee =
        |epsilon, delta| CentralGuarantee::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
    let key = DataKey::new(&SigningKey::from_seed(&[1; 32]).unwrap(), &folder.path().join("mark"));
    let mut ledger = ReleaseLedger::open(&folder.path().join("data"), &key, guarantee(20.0, 1e-3)).unwrap();
    for epoch in [7, 8] {
        let spending = Spending::Guarantee(guarantee(1.5, 1e-7));
        ledger.record("people", Entry { survey: "survey".into(), epoch, spending }).unwrap();
    }
    add("release_ledger", "two".into(), ledger.excerpt("people").unwrap().0.into_bytes());
    let hash = world.survey.hash();
    let entry = format!(
        r#"{{"survey":"{hash}","name":"survey","epoch":7,"answer":"{}","spending":{{"epsilon_local":0.0,"permanent":[{{"id":"a","epsilon":4.0}}],"given":{{"coins":"c","answer":"b","epsilon_backstop":5.0,"epsilon_fragment":0.5,"fragments":4,"bits":1}}}}}}"#,
        Digest::of(b"answer")
    );
    let personal = format!(r#"{{"version":2,"epsilon_limit":50.0,"entries":[{entry}]}}"#);
    add("personal_ledger", "one".into(), personal.into_bytes());
    add("personal_ledger", "empty".into(), br#"{"version":2,"epsilon_limit":50.0,"entries":[]}"#.to_vec());
    let manifest = format!(
        r#"{{"survey":"{hash}","name":"survey","label":0,"epoch":7,"epoch_end_s":604800,"key_lists":{{"analyzer":"{0}"}},"bodies":[{{"instance":1,"send_at_ms":5,"digest":"{0}","length":4,"kept":true}}]}}"#,
        Digest::of(b"body")
    );
    let length = u32::try_from(manifest.len()).unwrap().to_be_bytes();
    add("stored_answer", "one".into(), [&length[..], manifest.as_bytes(), b"body"].concat());
    add("tables", "values".into(), b"value,count\nred,3\n\"blue, dark\",0\n".to_vec());
    add("tables", "records".into(), b"a,b\r\nx,1\r\ny,2\r\nx,\r\n".to_vec());
    add("tables", "counts".into(), b"3\n0\n17\n".to_vec());
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 3, 2);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[0, 50, 100, 150, 200, 255]).unwrap();
    add("pictures", "grey".into(), png);
    let shuffler = "listen = \"127.0.0.1:8443\"\noperator_listen = \"127.0.0.1:9443\"\nidentity = \"keys\"\ndata = \"/var/lib\"\n\
        memory_mib = 64\n[[surveys]]\nsurvey = \"survey.toml\"\nplace = \"instance-1-hop-1\"\ncredentials = \"list\"\nmark = \"m\"\n";
    add("config_files", "shuffler".into(), shuffler.into());
    let analyzer = "identity = \"keys\"\ndata = \"data\"\nmemory_mib = 16\n[budget]\nepsilon_central = 20\ndelta = 0.01\n\
        [[surveys]]\nsurvey = \"survey.toml\"\npopulation = \"people\"\n";
    add("config_files", "analyzer".into(), analyzer.into());
    add("ledger_mark", "one".into(), throng_testing::fuzzing::product::marked_ledger().2);
    // The target puts the checksum behind it.
    let note = format!("throng-v1 erased batch\n{}\n", Digest::of(b"batch"));
    add("erased_note", "note".into(), note.into_bytes());
    add("labelled", "table".into(), b"age,class\n3,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,a\n1,b\n2,a\n".to_vec());
    let words = |words: &[u32]| words.iter().copied().flat_map(u32::to_be_bytes).collect::<Vec<u8>>();
    let (pictures, labels) =
        ([words(&[2051, 3, 2, 2]), vec![7; 12]].concat(), [words(&[2049, 3]), vec![1, 0, 9]].concat());
    let length = u16::try_from(pictures.len()).unwrap().to_be_bytes();
    add("labelled", "idx".into(), [&length[..], &pictures, &labels].concat());
    add("labelled", "cifar".into(), [[3; 3073], [4; 3073]].concat());
    let checkpoint = throng_lab::learning::Checkpoint {
        identity: BTreeMap::from([("program".to_owned(), "1".to_owned())]),
        seeds: vec![[5; 32], [6; 32]],
        done: vec![vec![throng_lab::learning::Point {
            step: 3,
            accuracy: 0.5,
            loss: 0.25,
            epsilon_central: Some(1.5),
        }]],
        model: vec![1.5, -2.0],
        curve: Vec::new(),
        state: Some(throng_learn::State::from_parts(7, vec![1.0, 2.0], vec![0.5, 0.5], Vec::new())),
    };
    let path = folder.path().join("checkpoint");
    checkpoint.write(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    add("checkpoint", "two".into(), bytes[..bytes.len() - 32].to_vec());
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// For each file of the corpus.
const CASES: u32 = 48;
/// The vectors' cases are alike; a few are enough to begin with.
const CASES_KEPT: usize = 3;
