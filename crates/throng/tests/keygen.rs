//! The keys of a deployment, step by step as its operators make them.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;
use throng_host::bundle::Bundle;
use throng_host::keygen::{self, Party, Schedule, Signer};
use throng_testing::program::{Program, names, text};
use throng_testing::survey::{SURVEY, with};
use throng_wire::{Credential, CredentialList, LayerKeys, Place, SigningKey, Survey, VerifyingKey};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

#[test]
fn an_identity_is_made_once() {
    let dir = TempDir::new().unwrap();
    let flags = ["keygen", "--out", "hop", "--operator", "Say \"hi\"", "--jurisdiction", "CH"];
    let output = throng(&dir, &flags);
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let hop = dir.path().join("hop");
    assert_eq!(names(&hop), ["signing.key", "signing.pub", "tls.crt", "tls.key"]);
    let secret = read(&hop.join("signing.key"));
    let key = SigningKey::from_file(&secret).unwrap();
    assert_eq!(read(&hop.join("signing.pub")), format!("{}\n", key.public()));
    let party = Party::read(&hop).unwrap();
    assert_eq!(party.signing_key().public(), key.public());

    // What is printed is the public part, as a survey wants it.
    let analyzer = stdout.split("[parties.analyzer]\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let named =
        format!("operator = \"Say \\\"hi\\\"\"\njurisdiction = \"CH\"\nsigning_key = \"{}\"", key.public());
    assert_eq!(analyzer, named);
    let tls_key = read(&hop.join("tls.key"));
    for line in secret.lines().chain(tls_key.lines()).skip(1) {
        assert!(!stdout.contains(line), "a secret is printed");
    }

    let output = throng(&dir, &["keygen", "--out", "hop"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("never overwritten"), "{}", text(&output.stderr));
    assert_eq!(read(&hop.join("signing.key")), secret);
}

#[cfg(unix)]
#[test]
fn secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let (dir, deployment) = deployment();
    keygen::credentials(deployment.bundle.survey().survey(), 2, dir.path(), &mut rng()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for party in deployment.dirs.values() {
        for name in names(party) {
            let secret = name.ends_with(".key") || name.ends_with(".keys");
            assert_eq!(mode(&party.join(&name)) & 0o077 == 0, secret, "{name}");
        }
    }
    let respondents = dir.path().join("respondents");
    assert_eq!(mode(&respondents), 0o700);
    for name in names(&respondents) {
        assert_eq!(mode(&respondents.join(name)), 0o600);
    }
}

#[test]
fn a_deployment_is_made_step_by_step() {
    let dir = TempDir::new().unwrap();
    let mut survey = Survey::from_toml(&draft()).unwrap();
    let mut parties = String::from("\n[parties.analyzer]\n");
    let places: Vec<Place> = survey.places().collect();
    for place in &places {
        let name = place.to_string();
        let json =
            done(&dir, &["keygen", "--out", &name, "--operator", &name, "--jurisdiction", "CH", "--json"]);
        match place {
            Place::Hop { hop: 1, .. } => parties += "[[parties.instances]]\n[[parties.instances.hops]]\n",
            Place::Hop { .. } => parties += "[[parties.instances.hops]]\n",
            Place::Analyzer => {}
        }
        let key = json["signing_key"].as_str().unwrap();
        key.parse::<VerifyingKey>().unwrap();
        parties += &format!("operator = \"{name}\"\njurisdiction = \"CH\"\nsigning_key = \"{key}\"\n");
    }
    fs::write(dir.path().join("survey.toml"), draft() + &parties).unwrap();
    survey = Survey::from_toml(&(draft() + &parties)).unwrap();

    for (index, place) in places.iter().enumerate() {
        let (name, url) = (place.to_string(), format!("https://127.0.0.1:{}", 9000 + index));
        let at = ["--out", &name, "--survey", "survey.toml", "--place", &name];
        let sign = [&["keygen", "sign", "--url", &url][..], &at].concat();
        let output = throng(&dir, &sign);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        // What is signed is changed by other steps.
        assert_eq!(throng(&dir, &sign).status.code(), Some(2));
    }
    let bundle: Vec<&str> = ["keygen", "bundle", "--survey", "survey.toml", "--json"].into();
    let names_of: Vec<String> = places.iter().map(Place::to_string).collect();
    let all: Vec<&str> = bundle.iter().copied().chain(names_of.iter().map(String::as_str)).collect();
    let json = done(&dir, &all);
    assert_eq!(json["survey"], survey.hash().unwrap().to_string());
    assert!(json["warnings"].to_string().contains("share the jurisdiction CH"));
    assert!(json["warnings"].to_string().contains("share a host"));

    let path = dir.path().join("survey.toml");
    let read = Bundle::read(&path).unwrap();
    assert_eq!(read.survey().hash(), survey.hash().unwrap());
    // For clients without TOML.
    let published = fs::read_to_string(dir.path().join("survey.json")).unwrap();
    assert_eq!(Survey::from_json(&published).unwrap(), survey);
    assert_eq!(read.key_lists().len(), places.len());
    for place in &places {
        let party = Party::read(&dir.path().join(place.to_string())).unwrap();
        assert_eq!(read.address(*place).unwrap().certificate, Some(party.identity().digest()));
    }

    // A later address and a later key replace the first ones; the first ones do not come back.
    let hop = ["--out", "instance-1-hop-1", "--survey", "survey.toml", "--place", "instance-1-hop-1"];
    let copy = dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["approval", "address", "key-list"] {
        fs::copy(dir.path().join("instance-1-hop-1").join(name), copy.join(name)).unwrap();
    }
    let moved = [&["keygen", "address", "--url", "https://hop.example", "--json"][..], &hop].concat();
    assert_eq!(done(&dir, &moved)["address"]["serial"], 2);
    let rotated = [&["keygen", "rotate", "--json"][..], &hop].concat();
    let json = done(&dir, &rotated);
    assert_eq!(
        (&json["key_list"]["serial"], json["key_list"]["keys"].as_array().unwrap().len()),
        (&Value::from(2), 2)
    );
    let before = read.key_list_digest(Place::hop(1, 1)).unwrap();
    done(&dir, &all);
    let read = Bundle::read(&path).unwrap();
    assert_ne!(read.key_list_digest(Place::hop(1, 1)), Some(before));
    assert!(read.all_key_lists().find(Place::hop(1, 1), before).is_some(), "statements may still name it");
    assert_eq!(read.address(Place::hop(1, 1)).unwrap().url, "https://hop.example");
    let older: Vec<&str> =
        all.iter().map(|&arg| if arg == "instance-1-hop-1" { "copy" } else { arg }).collect();
    let output = throng(&dir, &older);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("not newer"), "{}", text(&output.stderr));
}

#[test]
fn a_rotation_keeps_the_old_key_as_long_as_it_is_used() {
    let (dir, deployment) = deployment();
    let survey = deployment.bundle.survey().survey();
    let place = Place::hop(1, 2);
    let party_dir = &deployment.dirs[&place];
    let party = Party::read(party_dir).unwrap();
    let signer = Signer::new(&party, survey, place).unwrap();
    let schedule = Schedule { epochs: 10, overlap: 2 };
    let first = LayerKeys::from_file(&read(&party_dir.join("layer.keys"))).unwrap().public()[0];
    let last_epoch = first.lifetime.last_epoch;

    let list = signer.rotate(party_dir, FIRST_EPOCH, schedule, &mut rng()).unwrap();
    assert_eq!(list.serial, 2);
    let layer_keys = || LayerKeys::from_file(&read(&party_dir.join("layer.keys"))).unwrap();
    assert_eq!(layer_keys().public(), list.keys);
    assert!(layer_keys().find(first.id, last_epoch).is_some());
    assert_eq!(list.keys[1].lifetime.first_epoch, last_epoch - 1);

    // Batches and late answers of its epochs may still have to be opened long after them: the party that runs knows.
    for (pause, serial) in [(1, 3), (2, 4), (5, 5)] {
        let list = signer.rotate(party_dir, last_epoch + pause, schedule, &mut rng()).unwrap();
        assert_eq!(list.serial, serial);
        assert!(layer_keys().find(first.id, last_epoch).is_some(), "a rotation erases nothing");
    }

    // After a long pause there is a key for now.
    let epoch = last_epoch + 1000;
    let list = signer.rotate(party_dir, epoch, schedule, &mut rng()).unwrap();
    assert_eq!(list.key_for(epoch).unwrap().lifetime.first_epoch, epoch);
    assert!(layer_keys().find(first.id, last_epoch).is_some());

    // And so there is where the party has erased all of them meanwhile, under a number that nobody knows yet.
    keygen::erase_layer_keys(party_dir, epoch + 1000).unwrap();
    let (before, epoch) = (list, epoch + 1000);
    let rotated = signer.rotate(party_dir, epoch, schedule, &mut rng()).unwrap();
    assert_eq!((rotated.keys.len(), rotated.serial), (1, before.serial + 1));
    assert!(before.keys.iter().all(|key| key.id != rotated.keys[0].id));

    let dirs: Vec<_> = deployment.dirs.values().collect();
    let bundle = keygen::bundle(&deployment.survey, &dirs, epoch).unwrap();
    let list = bundle.key_lists().iter().find(|list| list.party == place).unwrap();
    assert_eq!(*list, rotated);
    drop(dir);
}

#[test]
fn nobody_signs_for_another() {
    let (dir, deployment) = deployment();
    let survey = deployment.bundle.survey().survey();
    let party = Party::read(&deployment.dirs[&Place::hop(1, 1)]).unwrap();
    let error = Signer::new(&party, survey, Place::hop(2, 1)).unwrap_err().to_string();
    assert!(error.contains("pins the signing key") && error.contains("instance-2-hop-1"), "{error}");
    assert!(Signer::new(&party, survey, Place::hop(9, 1)).is_err());
    let draft = Survey { parties: None, ..survey.clone() };
    assert!(Signer::new(&party, &draft, Place::hop(1, 1)).unwrap_err().to_string().contains("draft"));

    // A document of another party in one's own directory is not put beside the survey.
    let [one, two] = [Place::hop(1, 1), Place::hop(2, 1)].map(|place| &deployment.dirs[&place]);
    fs::copy(two.join("key-list"), one.join("key-list")).unwrap();
    let dirs: Vec<_> = deployment.dirs.values().collect();
    let error = keygen::bundle(&deployment.survey, &dirs, FIRST_EPOCH).unwrap_err();
    assert!(format!("{error:#}").contains("different parties"), "{error:#}");
    // Nor is a party left out, or there twice.
    let error = keygen::bundle(&deployment.survey, &dirs[1..], FIRST_EPOCH).unwrap_err();
    assert!(format!("{error:#}").contains("not signed by: analyzer"), "{error:#}");
    let twice: Vec<_> = dirs.iter().chain(&dirs[..1]).collect();
    assert!(
        keygen::bundle(&deployment.survey, &twice, FIRST_EPOCH).unwrap_err().to_string().contains("both")
    );
    drop(dir);
}

#[test]
fn a_url_is_one_that_can_be_called() {
    let (_dir, deployment) = deployment();
    let place = Place::Analyzer;
    let party = Party::read(&deployment.dirs[&place]).unwrap();
    let signer = Signer::new(&party, deployment.bundle.survey().survey(), place).unwrap();
    for url in ["hop.example", "https://hop.example/path", "ftp://hop.example", "https://a b"] {
        assert!(signer.readdress(&deployment.dirs[&place], url).is_err(), "{url}");
    }
    let address = signer.readdress(&deployment.dirs[&place], "http://127.0.0.1:80").unwrap();
    assert_eq!((address.serial, address.certificate), (2, None));
}

#[test]
fn respondents_are_on_the_list_of_every_first_hop() {
    let (dir, deployment) = deployment();
    let survey = deployment.bundle.survey();
    let flags = ["keygen", "credentials", "--survey", "survey.toml", "--count", "12", "--out", "enrolment"];
    let output = throng(&dir, &flags);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // For trials, and it says so.
    let warning = text(&output.stderr);
    assert!(warning.contains("for trials") && warning.contains("throng respond --enrol"), "{warning}");
    let out = dir.path().join("enrolment");
    assert_eq!(names(&out), ["instance-1-hop-1.credentials", "instance-2-hop-1.credentials", "respondents"]);
    let files = names(&out.join("respondents"));
    assert_eq!((files.len(), files[0].as_str()), (12, "000001.credential"));
    for hop in [Place::hop(1, 1), Place::hop(2, 1)] {
        let list = CredentialList::from_file(&read(&out.join(format!("{hop}.credentials")))).unwrap();
        assert_eq!(list.len(), 12);
        for file in &files {
            let secret = read(&out.join("respondents").join(file));
            assert!(!text(&output.stdout).contains(secret.lines().nth(1).unwrap()));
            let credential = Credential::from_file(&secret).unwrap();
            assert!(list.contains(&credential.token(&survey.hash(), hop).id()));
        }
    }
    let output = throng(&dir, &flags);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("never overwritten"), "{}", text(&output.stderr));
}

#[test]
fn help_shows_the_way() {
    let dir = TempDir::new().unwrap();
    let help = text(&throng(&dir, &["keygen", "--help"]).stdout);
    for word in ["--out", "sign", "rotate", "bundle", "enrol ", "credentials", "ever printed", "Examples"] {
        assert!(help.contains(word), "{word} is missing in:\n{help}");
    }
    assert!(text(&throng(&dir, &["keygen"]).stderr).contains("--out"));
}

/// Operators who sign together say which share of the respondents they count on; one who is alone need not.
#[test]
fn operators_sign_nothing_together_that_does_not_state_the_honest_share() {
    let dir = TempDir::new().unwrap();
    let keys = |name: &str, operator: &str| {
        let flags = ["keygen", "--json", "--out", name, "--operator", operator, "--jurisdiction", "CH"];
        done(&dir, &flags)["signing_key"].as_str().unwrap().to_owned()
    };
    let draft = draft().replace("instances = 2", "instances = 1").replace("hops = 2", "hops = 1");
    let (analyst, hop) = (keys("analyst", "A"), keys("hop", "B"));
    let survey = |other: &str, stated: &str| {
        let party = |operator: &str, key: &str| {
            format!("operator = \"{operator}\"\njurisdiction = \"CH\"\nsigning_key = \"{key}\"\n")
        };
        let text = draft.replace("honest_fraction = 1.0, ", stated)
            + "[parties.analyzer]\n"
            + &party("A", &analyst)
            + "[[parties.instances]]\n[[parties.instances.hops]]\n"
            + &party(other, &hop);
        fs::write(dir.path().join("survey.toml"), text).unwrap();
        let url = "https://127.0.0.1:1";
        let place = ["--survey", "survey.toml", "--place", "analyzer", "--url", url];
        throng(&dir, &[&["keygen", "sign", "--out", "analyst"], &place[..]].concat())
    };
    let output = survey("B", "");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("crowd.honest_fraction") && said.contains("more than one operator"), "{said}");
    assert!(!dir.path().join("analyst/approval").exists());
    assert_eq!(survey("B", "honest_fraction = 0.5, ").status.code(), Some(0));
    fs::remove_dir_all(dir.path().join("analyst")).unwrap();
    keys("analyst", "A");
    // Another key is another party; what counts here is that A is alone.
    let output = survey("A", "");
    assert!(!text(&output.stderr).contains("crowd.honest_fraction"), "{}", text(&output.stderr));
}

fn deployment() -> (TempDir, keygen::Deployment) {
    let dir = TempDir::new().unwrap();
    let draft = Survey::from_toml(&draft()).unwrap();
    let urls = |_| "https://127.0.0.1:1".to_owned();
    let deployment = keygen::deployment(&draft, dir.path(), urls, FIRST_EPOCH, &mut rng()).unwrap();
    (dir, deployment)
}

fn rng() -> impl getrandom::rand_core::CryptoRng {
    throng_host::entropy::system_rng().unwrap()
}

fn throng(dir: &TempDir, arguments: &[&str]) -> Output {
    THRONG.run_in(dir, arguments).stderr(std::process::Stdio::piped()).output().unwrap()
}

/// The JSON of a command that works.
fn done(dir: &TempDir, arguments: &[&str]) -> Value {
    let output = throng(dir, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

const FIRST_EPOCH: u64 = 20_000;

fn draft() -> String {
    let fields = [
        ("name", r#""test""#),
        ("question", r#""""#),
        ("encoding", r#"{ kind = "one-hot", domain = 16 }"#),
        ("randomizer", r#"{ kind = "attribute-fragments", epsilon_local = 4.0 }"#),
        ("crowd", r#"{ respondents_min = 2, honest_fraction = 1.0, enrolment = "credential" }"#),
        ("delivery", r#"{ instances = 2, hops = 2, envelopes = 4, cover = "chaff" }"#),
        ("claim", r#"{ epsilon_central = 4.0, delta = 1e-6, neighbors = "removal", bound = "exact" }"#),
    ];
    with(SURVEY, &fields)
}
