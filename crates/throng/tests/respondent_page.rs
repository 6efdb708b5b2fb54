//! The respondent's own page, from the program that serves it to the browser that shows it.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use serde_json::{Value, json};
use tempfile::TempDir;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_respondent::{AnswerOptions, Respondent};
use throng_testing::browser::Browser;
use throng_testing::program::Program;
use throng_testing::town::{Shape, Town};
use throng_testing::world::{EPOCH_MS, FRAGMENTED, Hops, ONE_HOT, SKETCHED, TestClock, World};
use throng_wire::{Digest, Place, Route, SignedReceipt};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// In epoch 10.
const NOW_MS: u64 = 10 * EPOCH_MS + 1_234_567;

/// A person who has answered one survey in epoch 11, with all receipts, and another one for epoch 12, which waits. It is
/// epoch 11 now.
struct Person {
    folder: TempDir,
    sent: World,
    waiting: World,
}

impl Person {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [sent, waiting] = [(ONE_HOT, "a"), (FRAGMENTED, "b")].map(|(survey, name)| {
            fs::create_dir(folder.path().join(name)).unwrap();
            World::new(survey, &folder.path().join(name))
        });
        let person = Self { folder, sent, waiting };
        let mut respondent = Respondent::open_with(person.state(), &mut rng(1)).unwrap();
        respondent.set_epsilon_limit(throng_dp::Epsilon::new(50.0).unwrap()).unwrap();
        respondent.use_credential(person.sent.file.with_file_name("credential")).unwrap();
        let clock = TestClock::at(NOW_MS);
        let mut answer = |world: &World, now_ms, seed| {
            let bundle = Bundle::read(&world.file).unwrap();
            respondent.answer_with(&bundle, 7, &AnswerOptions::default(), now_ms, &mut rng(seed)).unwrap();
            if seed == 2 {
                let hops = Hops::honest(world, &clock);
                respondent.send_with(&hops, &clock, |_, _| (), &mut rng(3)).unwrap();
            }
        };
        answer(&person.sent, NOW_MS, 2);
        answer(&person.waiting, NOW_MS + EPOCH_MS, 4);
        drop(respondent);
        let now_s = i64::try_from(SystemClock.now_s()).unwrap();
        let then_s = i64::try_from((NOW_MS + EPOCH_MS) / 1000).unwrap();
        fs::write(person.folder.path().join("clock"), (then_s - now_s).to_string()).unwrap();
        person
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A file that is kept beside the first answer.
    fn receipt(&self, instance: u32) -> PathBuf {
        let hash = self.sent.survey.hash();
        self.state().join(format!("outbox/{hash}-11.receipt-{instance}"))
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = THRONG.run_in(&self.folder, &["respond", "--state", "state", "--json"]);
        command.args(arguments).env("THRONG_TEST_CLOCK_FILE", self.folder.path().join("clock"));
        command
    }

    fn serve(&self) -> PageProcess {
        PageProcess::start(self.program(&["--page"]))
    }

    /// All files of the state directory.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut folders = vec![self.state()];
        let mut all = BTreeMap::new();
        while let Some(folder) = folders.pop() {
            for name in throng_testing::program::names(&folder) {
                let path = folder.join(name);
                if path.is_dir() {
                    folders.push(path);
                } else {
                    all.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        all
    }

    /// A receipt that hop 1 of an instance of the second survey signed, for some bytes in some epoch.
    fn other_receipt(&self, epoch: u64, bytes: &[u8]) -> SignedReceipt {
        let route = Route { survey: self.waiting.survey.hash(), label: 0, epoch, instance: 2 };
        self.waiting.receipt(&route, bytes, epoch * EPOCH_MS)
    }
}

/// The program while it serves the page.
struct PageProcess {
    process: Child,
    url: String,
}

impl PageProcess {
    fn start(mut command: Command) -> Self {
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = serde_json::from_str::<Value>(&line).unwrap()["page"].as_str().unwrap().to_owned();
        Self { process, url }
    }

    fn host(&self) -> &str {
        self.url.split('/').nth(2).unwrap()
    }

    fn token(&self) -> &str {
        self.url.split('/').nth(3).unwrap()
    }

    /// Asks as a browser does that was given the address.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, String, String) {
        let path = format!("/{}/{path}", self.token());
        self.ask_as(method, &path, &format!("Host: {}\r\n", self.host()), body)
    }

    /// Status, head and body.
    fn ask_as(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // Refused before it was read, it cannot all be written.
        let _ = stream.write_all(body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    /// Ctrl-C; returns the exit code.
    fn interrupt(mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for PageProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

#[test]
fn the_page_tells_what_the_command_line_tells_and_changes_nothing() {
    let person = Person::new();
    let before = person.files();
    let served = person.serve();
    let shown = person.program(&["--show"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    // Also while another process works with the directory.
    let working = Respondent::open(person.state()).unwrap();
    let (status, head, about) = served.ask("GET", "about.json", b"");
    drop(working);
    assert_eq!(status, 200, "{about}");
    assert!(head.contains("application/json") && head.contains("no-store"), "{head}");
    let about: Value = serde_json::from_str(&about).unwrap();
    for field in ["answers", "epsilon_spent", "epsilon_limit"] {
        assert_eq!(about[field], shown[field], "{field}");
    }
    assert_eq!((about["epsilon_spent"].as_f64(), about["epsilon_left"].as_f64()), (Some(10.5), Some(39.5)));
    let spent: Vec<f64> = about["ledger"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["epsilon_spent"].as_f64().unwrap())
        .collect();
    assert_eq!(spent, [5.25, 10.5]);
    let fates = |survey: &str| -> Vec<Value> {
        let answers = about["answers"].as_array().unwrap();
        let answer = answers.iter().find(|answer| answer["survey"] == survey).unwrap();
        answer["bodies"].as_array().unwrap().iter().map(|body| body["fate"].clone()).collect()
    };
    assert_eq!(fates("which-pixel"), ["acknowledged"; 3]);
    assert_eq!(fates("which-pixel-hourly"), ["waiting"; 3]);
    assert_eq!(served.ask("POST", "receipt", &fs::read(person.receipt(1)).unwrap()).0, 200);
    assert_eq!(served.interrupt(), Some(0));
    assert_eq!(person.files(), before);
}

#[test]
fn only_the_one_who_was_given_the_address_is_answered() {
    let person = Person::new();
    let served = person.serve();
    let (host, token) = (served.host().to_owned(), served.token().to_owned());
    assert!(host.starts_with("127.0.0.1:") && token.len() == 43, "{}", served.url);
    let own = format!("Host: {host}\r\n");
    let (status, head, body) = served.ask_as("GET", &format!("/{token}/"), &own, b"");
    assert!(status == 200 && body.contains("<title>What is sent about me</title>"), "{head}\n{body}");
    for part in
        ["default-src 'none'", "frame-ancestors 'none'", "x-content-type-options: nosniff", "no-referrer"]
    {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(body.starts_with(throng_host::page::HEAD), "all pages have one head: {body}");
    // Nothing inline, and nothing from elsewhere.
    assert!(!body.contains("http") && !body.contains("style=") && !body.contains("onclick"), "{body}");

    let port = host.split(':').nth(1).unwrap();
    let guessed = format!("{}{}", &token[..42], if token.ends_with('A') { 'B' } else { 'A' });
    let foreign = format!("{own}Origin: http://attacker.test\r\n");
    for (method, path, headers, expected) in [
        ("GET", "/".to_owned(), own.clone(), 404),
        ("GET", "/about.json".into(), own.clone(), 404),
        ("GET", format!("/{guessed}/about.json"), own.clone(), 404),
        ("GET", format!("/{}/about.json", &token[..16]), own.clone(), 404),
        ("GET", "/x/assets/style.css".into(), own.clone(), 404),
        ("GET", format!("/{token}/state"), own.clone(), 404),
        ("GET", format!("/{token}/../ledger"), own.clone(), 404),
        // A name that its owner lets point to this machine.
        ("GET", format!("/{token}/about.json"), format!("Host: attacker.test:{port}\r\n"), 421),
        ("GET", format!("/{token}/about.json"), "Host: 127.0.0.1\r\n".into(), 421),
        ("GET", format!("/{token}/about.json"), format!("Host: localhost.attacker.test:{port}\r\n"), 421),
        ("GET", format!("/{token}/about.json"), format!("Host: localhost:{}\r\n", port.len()), 421),
        ("GET", format!("/{token}/about.json"), String::new(), 421),
        ("POST", format!("/{token}/receipt"), foreign.clone(), 403),
        ("GET", format!("/{token}/about.json"), foreign, 403),
        ("POST", format!("/{token}/about.json"), own.clone(), 405),
        ("PUT", format!("/{token}/receipt"), own.clone(), 405),
        ("DELETE", format!("/{token}/"), own, 405),
    ] {
        let (status, head, body) = served.ask_as(method, &path, &headers, b"");
        assert_eq!(status, expected, "{method} {path} {headers}: {body}");
        assert!(!body.contains("epsilon") && !head.contains("access-control"), "{head}\n{body}");
        assert!(head.contains("default-src 'none'"), "{head}");
    }
    assert_eq!(served.ask("POST", "receipt", &[0; 5000]).0, 413);
    // This machine has more than one name, and all of them are its own.
    for name in ["localhost", "127.0.0.2", "[::1]"] {
        let headers = format!("Host: {name}:{port}\r\nOrigin: http://{name}:{port}\r\n");
        assert_eq!(served.ask_as("GET", &format!("/{token}/about.json"), &headers, b"").0, 200, "{name}");
    }
    // It listens on this one address, and not on others of the same machine.
    assert!(TcpStream::connect(("127.0.0.2", port.parse::<u16>().unwrap())).is_err());
    // Another time it is another address.
    let again = person.serve();
    assert_ne!(again.token(), token);
}

#[test]
fn a_receipt_is_right_or_it_is_said_what_it_is() {
    let person = Person::new();
    let served = person.serve();
    let right = fs::read(person.receipt(3)).unwrap();
    let mut forged = right.clone();
    forged[87] ^= 1;
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = World::new(SKETCHED, elsewhere.path());
    let route = Route { survey: elsewhere.survey.hash(), label: 0, epoch: 11, instance: 1 };
    let elsewhere = elsewhere.receipt(&route, b"", 11 * EPOCH_MS).to_bytes();
    for (bytes, verdict, part) in [
        (
            right.clone(),
            "right",
            "hop 1 of instance 3 signed that it took the bytes of your answer for epoch 11 of which-pixel,",
        ),
        (forged, "forged", "It names the survey which-pixel, but the receipt is not signed by the key"),
        (elsewhere, "other-survey", "none that was answered with this state directory"),
        (person.other_receipt(12, b"not mine").to_bytes(), "not-yours", "but the receipt is for other bytes"),
        (person.other_receipt(13, b"").to_bytes(), "not-yours", "there is no such answer of yours"),
        (right[..280].to_vec(), "no-receipt", "those have 281 bytes of one form, and this has 280"),
        (Vec::new(), "no-receipt", "this has 0"),
    ] {
        let (status, _, found) = served.ask("POST", "receipt", &bytes);
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!((status, &found["verdict"]), (200, &json!(verdict)), "{found}");
        assert!(found["finding"].as_str().unwrap().contains(part), "{found}");
    }
    // A stored one that was changed is told, and the rest is shown as before.
    fs::write(person.receipt(2), person.other_receipt(12, b"").to_bytes()).unwrap();
    let about: Value = serde_json::from_str(&served.ask("GET", "about.json", b"").2).unwrap();
    let fates =
        about["answers"].as_array().unwrap().iter().flat_map(|answer| answer["bodies"].as_array().unwrap());
    assert_eq!(fates.filter(|body| body["fate"] == "damaged").count(), 1, "{about}");
    let checked = about["receipts"].as_array().unwrap();
    assert_eq!(checked.iter().filter(|body| body["contradiction"] == true).count(), 1, "{about}");
}

#[test]
fn a_browser_shows_it_in_plain_words() {
    let person = Person::new();
    let served = person.serve();
    let browser = Browser::start();
    let page = browser.page(&served.url);
    page.wait_for("#ledger");
    let about: Value = serde_json::from_str(&served.ask("GET", "about.json", b"").2).unwrap();
    assert_eq!(page.text("h1"), "What is sent about me");
    for id in ["epsilon_spent", "epsilon_left", "epsilon_limit"] {
        assert_eq!(Some(page.number(&format!("#{}", id.replace('_', "-")))), about[id].as_f64(), "{id}");
    }
    assert_eq!((page.text("#epsilon-spent"), page.text("#epsilon-left")), ("10.5".into(), "39.5".into()));
    // e^10.5 is 36315.5; a bound is rounded up.
    assert_eq!(page.text("#spent-factor"), "36,400 times");
    assert_eq!((page.number("#bodies-waiting"), page.number("#answers-count")), (3.0, 2.0));
    let floors: Vec<f64> = (1..=2).map(|survey| page.number(&format!("#floor-{survey}"))).collect();
    assert_eq!(floors, [5.25, 5.25]);
    let whole = page.text("main");
    for part in [
        "Your value does not leave this machine.",
        "Which pixel of the drawing do you hold?",
        "Operator of instance-1-hop-1 (CH)",
        "Receipt is right",
        "Hop 1 signed that it has it, at 1970-01-01 11:00:00 UTC or up to an hour later.",
        "Waits",
        "3 of 6 bodies have a receipt that is right. 3 bodies have none.",
        "Nothing is uploaded to anyone.",
    ] {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    let bytes: u64 = about["answers"][0]["bodies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(page.eval("+document.querySelector('[data-bytes]').dataset.bytes"), json!(bytes));
    page.screenshot("respondent-light");
    assert_eq!(page.faint_texts(), Vec::<String>::new());
    page.color_scheme("dark");
    page.screenshot("respondent-dark");
    assert_eq!(page.faint_texts(), Vec::<String>::new());
    page.phone();
    page.screenshot("respondent-phone-dark");
    page.color_scheme("light");
    page.eval("document.querySelectorAll('details').forEach(one => { one.open = true; })");
    page.phone();
    page.screenshot("respondent-phone-open");
    assert!(
        page.text("main")
            .contains("A single fragment that is known to be yours says epsilon 3.7482 (removal).")
    );
    let digest = &about["answers"][0]["bodies"][0]["sha256"];
    assert!(page.text("main").contains(digest.as_str().unwrap()));
}

#[test]
fn a_browser_checks_receipts_without_a_network() {
    let person = Person::new();
    let served = person.serve();
    let browser = Browser::start();
    let page = browser.page(&served.url);
    page.wait_for("#receipt-file");
    let chosen = |name: &str, bytes: &[u8]| {
        let file = person.folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        page.choose_file("#receipt-file", &file);
        page.wait_for_text("#receipt-verdict", &format!("{name}: "));
        page.eval("document.getElementById('receipt-verdict').dataset.verdict").as_str().unwrap().to_owned()
    };
    assert_eq!(chosen("mine", &fs::read(person.receipt(1)).unwrap()), "right");
    assert!(page.text("#receipt-verdict").contains("This receipt is right: hop 1 of instance 1 signed"));
    page.eval("document.getElementById('check').scrollIntoView()");
    page.screenshot("respondent-receipt-right");
    let mut forged = fs::read(person.receipt(1)).unwrap();
    forged[60] ^= 1;
    assert_eq!(chosen("forged", &forged), "forged");
    page.screenshot("respondent-receipt-forged");
    let other = World::new(SKETCHED, tempfile::tempdir().unwrap().path());
    let route = Route { survey: other.survey.hash(), label: 0, epoch: 11, instance: 1 };
    assert_eq!(chosen("foreign", &other.receipt(&route, b"", 11 * EPOCH_MS).to_bytes()), "other-survey");
    assert_eq!(chosen("a-picture", &[7; 100_000]), "no-receipt");
    // A name is a text, whatever is written in it.
    assert_eq!(chosen("<img src=x onerror=alert(1)>", b"?"), "no-receipt");
    assert_eq!(page.eval("document.querySelectorAll('main img').length"), json!(0));
    // Those that are kept: one is replaced behind the page's back.
    assert_eq!(page.number("#receipts-right"), 3.0);
    fs::write(person.receipt(1), &forged).unwrap();
    page.click("#check-stored");
    page.wait("document.getElementById('receipts-right').dataset.value === '2'");
    assert!(
        page.text("#stored-verdict").contains("which-pixel, epoch 11, instance 1: the receipt does not hold")
    );
    page.reload();
    page.wait_for_text("main", "Receipt does not hold");
    // A state directory that is gone is told, with what to do.
    fs::rename(person.state(), person.folder.path().join("moved")).unwrap();
    page.click("#check-stored");
    page.wait_for_text("#stored-verdict", "They could not be checked: ");
    page.wait_for_problem("request failed: 500");
    page.reload();
    page.wait_for_text("main", "is no state directory");
    page.wait_for_problem("request failed: 500");
    page.eval("0");
    page.take_problems();
}

#[test]
fn a_keyboard_reaches_everything_on_it() {
    let person = Person::new();
    let served = person.serve();
    let browser = Browser::start();
    let page = browser.page(&served.url);
    page.wait_for("#check");
    let reached = page.tab_through();
    for one in [
        "input#receipt-file",
        "button#check-stored",
        "a#json",
        "summary Answer by answer",
        "summary Which bytes",
    ] {
        assert!(reached.iter().any(|other| other == one), "{one}: {reached:?}");
    }
    page.reload();
    page.wait_for("#check");
    // Over the skip link into the page, and what is folded is opened.
    page.press("Tab");
    page.press("Enter");
    assert_eq!(page.eval("location.hash"), json!("#page"));
    page.press("Tab");
    page.press("Enter");
    page.wait("document.querySelector('#ledger details').open");
    // The epoch, what it added, and what was spent with it.
    assert_eq!(page.texts("#ledger-lines td.number"), ["11", "5.25", "5.25", "12", "5.25", "10.5"]);
}

#[test]
fn someone_who_has_answered_nothing_sees_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut respondent = Respondent::open(folder.path().join("state")).unwrap();
    respondent.set_epsilon_limit(throng_dp::Epsilon::new(7.5).unwrap()).unwrap();
    drop(respondent);
    let served =
        PageProcess::start(THRONG.run_in(&folder, &["respond", "--state", "state", "--json", "--page"]));
    let browser = Browser::start();
    let page = browser.page(&served.url);
    page.wait_for_text("#answers", "Nothing was answered yet.");
    assert_eq!((page.number("#epsilon-spent"), page.number("#epsilon-left")), (0.0, 7.5));
    assert_eq!(
        (page.text("#spent-factor"), page.text("#bodies-waiting")),
        ("1 times".into(), "Nothing".into())
    );
    assert_eq!(page.text("#stored-verdict"), "There are none yet.");
    page.screenshot("respondent-empty");
}

/// What the page shows is on no other machine: an analyzer has nothing of it, and none of its sources knows it.
#[test]
fn an_analyzer_has_no_such_page() {
    let shape = Shape { instances: 1, hops: 1, epoch_s: 3600, tls: false, labels: false };
    let mut town = Town::new(THRONG, shape, 0);
    town.start(Place::Analyzer, None);
    let token = Digest::of(b"a token").to_string()[..32].to_owned();
    for path in ["", "about.json", "receipt", "assets/about-me.js"] {
        for path in [format!("/{path}"), format!("/{token}/{path}"), format!("/respondent/{path}")] {
            let (_, body) = town.ask(Place::Analyzer, &path);
            for part in ["What is sent about me", "epsilon_left", "receipt-file"] {
                assert!(!body.contains(part), "{path}: {body}");
            }
        }
    }
    let (mut files, mut below): (Vec<PathBuf>, Vec<PathBuf>) =
        (Vec::new(), vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../throng-serve/src")]);
    while let Some(folder) = below.pop() {
        for name in throng_testing::program::names(&folder) {
            let path = folder.join(name);
            if path.is_dir() { below.push(path) } else { files.push(path) }
        }
    }
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for word in ["RespondentPage", "throng_respondent", "about-me"] {
            assert!(!text.contains(word), "{} names {word}", file.display());
        }
    }
}

#[test]
fn a_person_is_told_the_address_and_chooses_the_port() {
    let person = Person::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let arguments = ["respond", "--state", "state", "--page", "--port", &port.to_string()];
    let mut process = THRONG.run_in(&person.folder, &arguments).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let url = first.strip_prefix("What is sent about you: ").unwrap().to_owned();
    assert!(url.starts_with(&format!("http://127.0.0.1:{port}/")), "{url}");
    assert_eq!(lines.next().unwrap().unwrap(), "Only this machine can open it. Ctrl-C ends it.");
    let served = PageProcess { process, url };
    assert_eq!(served.ask("GET", "", b"").0, 200);
    assert_eq!(served.interrupt(), Some(0));
    // The page is one thing, and everything that sends or changes something is another.
    for other in [&["--show"][..], &["--check"], &["--no-wait"], &["--epsilon-limit", "3"]] {
        let status = person.program(&["--page"]).args(other).stderr(std::process::Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(2), "{other:?}");
    }
}

#[test]
fn a_directory_that_nobody_answered_with_has_no_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for state in ["nowhere", "empty"] {
        let output = THRONG
            .run_in(&folder, &["respond", "--page", "--state", state])
            .stderr(std::process::Stdio::piped())
            .output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(throng_testing::program::text(&output.stderr).contains("is no state directory"));
        assert!(throng_testing::program::text(&output.stdout).is_empty());
    }
    assert_eq!(throng_testing::program::names(folder.path()), ["empty"], "nothing was made");
    assert!(throng_testing::program::names(&folder.path().join("empty")).is_empty());
}
