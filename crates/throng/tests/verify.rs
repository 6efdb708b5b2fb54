//! `throng verify`: a genuine release holds, and every change to its files that can be noticed is.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;
use throng_host::ErrorKind;
use throng_serve::Analyzer;
use throng_serve::analysis::ReleaseSummary;
use throng_serve::verify::{Mark, Verdict, verify};
use throng_testing::analyst::{self, Analyst};
use throng_testing::program::{Program, names};
use throng_wire::statement::STATEMENT_LEN;

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));

/// A release of 3,000 people, made once for all tests.
fn genuine() -> &'static (Analyst, PathBuf) {
    static GENUINE: OnceLock<(Analyst, PathBuf)> = OnceLock::new();
    GENUINE.get_or_init(|| {
        let analyst = quick();
        let directory = analyst.release()["directory"].as_str().unwrap().into();
        (analyst, directory)
    })
}

/// One fragment for each bit: the accountant is asked many times here, and that is its quickest answer.
fn quick() -> Analyst {
    Analyst::planned(THRONG, &["--question", "Which pixel?", "--report-fragments", "1"], 0, "artists", 3000)
}

/// A copy of its files, one of which is changed.
struct Copy(TempDir);

impl Copy {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(&genuine().1).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
        }
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// With another text in a file.
    fn with_text(name: &str, change: impl Fn(&str) -> String) -> Self {
        let copy = Self::new();
        let path = copy.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let changed = change(&text);
        assert_ne!(changed, text, "{name} is not changed");
        fs::write(path, changed).unwrap();
        copy
    }

    /// With other statements.
    fn with_statements(change: impl Fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>) -> Self {
        let copy = Self::new();
        let path = copy.path().join("statements");
        let bytes = fs::read(&path).unwrap();
        let records: Vec<Vec<u8>> = bytes.chunks(STATEMENT_LEN).map(<[u8]>::to_vec).collect();
        fs::write(path, change(records).concat()).unwrap();
        copy
    }

    /// With another release.json.
    fn with_release(change: impl Fn(&mut Value)) -> Self {
        Self::with_text("release.json", |text| {
            let mut release: Value = serde_json::from_str(text).unwrap();
            change(&mut release);
            release.to_string()
        })
    }

    fn verdict(&self) -> Verdict {
        verify(self.path(), None).unwrap()
    }

    /// Does not hold, and a line that failed has this in it.
    fn fails(&self, part: &str) {
        let verdict = self.verdict();
        let named =
            verdict.failures().any(|check| format!("{}: {}", check.what, check.reason).contains(part));
        assert!(!verdict.holds && named, "{part:?} is not among the failures:\n{verdict}");
    }
}

#[test]
fn a_genuine_release_holds_and_says_what_nobody_can_check() {
    let (analyst, dir) = genuine();
    let verdict = verify(dir, None).unwrap();
    assert!(verdict.holds && verdict.failures().count() == 0, "{verdict}");
    let text = verdict.to_string();
    for part in [
        "all 7 parties signed",
        "instance 3",
        "agree on a crowd of 3000",
        "the analyzer's word",
        "What cannot be checked from outside",
        "counted people",
        "are honest",
        "opened nothing else",
        "The counts.",
        "How many fragments there were",
        "These fields of release.json: ",
        "All that can be checked holds.",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let outside = |check: &&throng_serve::verify::Check| check.mark == Mark::Outside;
    assert_eq!(verdict.checks.iter().filter(outside).count(), 1, "only whose survey it is: {text}");
    let trusted = verify(dir, Some(analyst.deployment.bundle.survey().hash())).unwrap();
    assert!(trusted.holds && !trusted.checks.iter().any(|check| check.mark == Mark::Outside));
}

/// The release that the target `published` of the fuzzer begins with, without its pictures.
#[test]
#[ignore = "writes into the source tree"]
fn the_corpus_is_written_of_a_release() {
    let fuzz = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"));
    fs::create_dir_all(fuzz.join("published")).unwrap();
    fs::create_dir_all(fuzz.join("corpus/published")).unwrap();
    let files = [
        "release.json",
        "estimates.csv",
        "survey.toml",
        "survey.signatures",
        "survey.keys",
        "statements",
        "ledger",
    ];
    for (which, name) in files.iter().enumerate() {
        let mut bytes = fs::read(genuine().1.join(name)).unwrap();
        if which == 0 {
            let mut release: Value = serde_json::from_slice(&bytes).unwrap();
            release["files"] = json!(files);
            bytes = serde_json::to_vec_pretty(&release).unwrap();
        }
        fs::write(fuzz.join("published").join(name), &bytes).unwrap();
        // The others have targets of their own.
        if which < 2 {
            fs::write(fuzz.join("corpus/published").join(name), [&[which as u8], &bytes[..]].concat())
                .unwrap();
        }
    }
}

/// Fields that others are computed from: they are changed one by one.
const SOURCES: [&str; 8] =
    ["survey", "epoch", "population", "epsilon_budget", "delta_budget", "confidence", "top", "liars"];

/// Every field of release.json is checked, or it is said that it cannot be. A field that is new has to be either.
#[test]
fn a_change_to_any_field_is_noticed_or_listed() {
    let release: Value =
        serde_json::from_slice(&fs::read(genuine().1.join("release.json")).unwrap()).unwrap();
    let names: Vec<&String> = release.as_object().unwrap().keys().collect();
    let others = || names.iter().filter(|name| !SOURCES.contains(&name.as_str()));
    // No other field is looked at to make one of these again, so all can be changed at once.
    let changed =
        Copy::with_release(|release| others().for_each(|name| change(&mut release[*name]))).verdict();
    let noticed = |name: &str| changed.failures().any(|check| check.reason.starts_with(&format!("{name}: ")));
    let mut unnoticed: BTreeSet<&str> =
        others().map(|name| name.as_str()).filter(|name| !noticed(name)).collect();
    for name in SOURCES {
        if Copy::with_release(|release| change(&mut release[name])).verdict().holds {
            unnoticed.insert(name);
        }
    }
    let genuine = verify(&genuine().1, None).unwrap();
    let listed: BTreeSet<&str> = genuine.fields_not_checked.iter().map(String::as_str).collect();
    assert_eq!(unnoticed, listed, "{changed}");
    assert!(listed.contains("rejected") && listed.contains("epsilon_budget"), "{listed:?}");
    // What is not there is missed.
    let without = |release: &mut Value| {
        others().for_each(|name| drop(release.as_object_mut().unwrap().remove(name.as_str())));
    };
    let missing = Copy::with_release(without).verdict();
    for name in others() {
        let line = format!("{name}: release.json does not have it");
        assert!(missing.failures().any(|check| check.reason == line), "{name}:\n{missing}");
    }
    for name in SOURCES {
        Copy::with_release(|release| drop(release.as_object_mut().unwrap().remove(name))).fails(name);
    }
    for name in release["top"][0].as_object().unwrap().keys() {
        Copy::with_release(|release| change(&mut release["top"][0][name])).fails("top");
    }
    Copy::with_release(|release| release["epsilon_of_mine"] = json!(0.1)).fails("none of the fields");
    // What is said of the budget has to allow what was spent.
    Copy::with_release(|release| release["epsilon_budget"] = json!(0.01)).fails("ledger");
    // To say that less is promised than is true is only modest.
    assert!(Copy::with_release(|release| release["epsilon_central"] = json!(5.0)).verdict().holds);
}

/// Something else of the same kind: smaller, where it is a number.
fn change(value: &mut Value) {
    match value {
        Value::Bool(yes) => *yes = !*yes,
        Value::Number(number) => {
            *value = match (number.as_u64(), number.as_f64()) {
                (Some(0), _) => json!(1),
                (Some(whole), _) => json!(whole - 1),
                (None, float) => json!(float.unwrap() * 0.9),
            }
        }
        Value::String(text) => text.push('x'),
        Value::Array(all) => match all.first_mut() {
            Some(first) => change(first),
            None => all.push(json!(1)),
        },
        Value::Object(fields) => change(fields.values_mut().next().unwrap()),
        Value::Null => panic!("a release has no null"),
    }
}

#[test]
fn larger_crowds_and_other_promises_are_noticed() {
    Copy::with_release(|release| release["respondents"] = json!(30_000)).fails("respondents");
    Copy::with_release(|release| release["honest_respondents"] = json!(30_000)).fails("honest_respondents");
    Copy::with_release(|release| release["delta"] = json!(1e-9)).fails("delta");
    Copy::with_release(|release| release["instances_present"] = json!([1, 2])).fails("instances_present");
    // A part of a field that is not there, and a file that a check needs.
    let without_part =
        |release: &mut Value| drop(release["one_liar"].as_object_mut().unwrap().remove("envelopes"));
    Copy::with_release(without_part).fails("one_liar");
    let without_ledger = |release: &mut Value| {
        release["files"].as_array_mut().unwrap().retain(|name| name != "ledger");
    };
    Copy::with_release(without_ledger).fails("ledger is not named");
    Copy::with_release(|release| release["survey"] = json!("0".repeat(64)))
        .fails("the files beside it are not");
}

#[test]
fn other_surveys_and_signatures_are_noticed() {
    let dir = &genuine().1;
    Copy::with_text("survey.toml", |text| text.replace("respondents_min = ", "respondents_min = 1"))
        .fails("survey");
    Copy::with_text("survey.signatures", |text| {
        text.lines().skip(2).fold(String::new(), |all, line| all + line + "\n")
    })
    .fails("survey signatures");
    let flip = |text: &str| {
        let at = text.len() - 2;
        let other = if text.as_bytes()[at] == b'0' { "1" } else { "0" };
        format!("{}{other}\n", &text[..at])
    };
    Copy::with_text("survey.signatures", flip).fails("survey signatures");
    Copy::with_text("survey.keys", flip).fails("key lists");
    Copy::with_text("survey.keys", |_| String::new()).fails("names a key list of");
    let trusted = throng_serve::verify::parse_hash(&"7".repeat(64)).unwrap();
    let verdict = verify(dir, Some(trusted)).unwrap();
    assert!(!verdict.holds && verdict.to_string().contains("which you trust"), "{verdict}");
    // All files of another survey, with this release.json.
    let other = quick();
    let other_dir = PathBuf::from(other.release()["directory"].as_str().unwrap());
    let copy = Copy::new();
    for name in ["survey.toml", "survey.signatures", "survey.keys"] {
        fs::copy(other_dir.join(name), copy.path().join(name)).unwrap();
    }
    copy.fails("the files beside it are not");
    let copy = Copy::new();
    fs::copy(other_dir.join("statements"), copy.path().join("statements")).unwrap();
    copy.fails("instance 1");
}

#[test]
fn other_statements_are_noticed() {
    let (analyst, _) = genuine();
    let hops = analyst.survey().delivery.hops as usize;
    Copy::with_statements(|mut all| {
        all.remove(0);
        all
    })
    .fails("instance 1: ");
    // Without all of an instance the release would be another.
    Copy::with_statements(|all| all[hops..].to_vec()).fails("instances_present");
    Copy::with_statements(|_| Vec::new()).fails("no instance");
    Copy::with_statements(|mut all| {
        *all[1].last_mut().unwrap() ^= 1;
        all
    })
    .fails("instance 1: ");
    Copy::with_statements(|mut all| {
        let last = all.len() - 1;
        all[last].pop();
        all
    })
    .fails("statements: ");
    let with = |instance: u32, (epoch, crowd): (u64, u64)| {
        let signed = analyst.statements(instance, epoch, crowd);
        Copy::with_statements(move |mut all| {
            let first = (instance as usize - 1) * hops;
            for (at, statement) in signed.iter().enumerate() {
                all[first + at] = statement.to_bytes();
            }
            all
        })
    };
    with(2, (analyst.epoch - 1, 3000)).fails("another survey, label or epoch");
    with(2, (analyst.epoch, 2950)).fails("respondents");
    with(2, (analyst.epoch, 10)).fails("smaller than the survey asks for");
    // One hop that says another number contradicts the others.
    let other = analyst.statements(1, analyst.epoch, 2999);
    Copy::with_statements(|mut all| {
        all[1] = other[1].to_bytes();
        all
    })
    .fails("instance 1: ");
    let copy = Copy::new();
    fs::remove_file(copy.path().join("statements")).unwrap();
    copy.fails("statements");
}

#[test]
fn other_ledgers_are_noticed() {
    Copy::with_text("ledger", |_| String::new()).fails("ledger");
    Copy::with_text("ledger", |text| text.replacen("\"epoch\":", "\"epoch\":1", 1)).fails("ledger");
    Copy::with_text("ledger", |text| text.replace("\"artists\"", "\"bakers\"")).fails("population");
    // Another population's lines beside its own.
    let bakers = |text: &str| {
        text.replace("\"artists\"", "\"bakers\"").replace("\"survey\":\"", "\"survey\":\"another-")
    };
    Copy::with_text("ledger", |text| format!("{text}{}", bakers(text))).fails("are not about the population");
    Copy::with_text("ledger", |text| text.replacen("\"honest\":", "\"honest\":1", 1))
        .fails("no line for this release");
    Copy::with_text("ledger", |text| text.trim_end().to_owned()).fails("not finished");
    let copy = Copy::new();
    fs::remove_file(copy.path().join("ledger")).unwrap();
    copy.fails("ledger");
}

/// A table with another line.
fn line(number: usize, change: impl Fn(Vec<String>) -> Vec<String>) -> impl Fn(&str) -> String {
    move |text: &str| {
        let lines = text.lines().enumerate().map(|(at, line)| match at == number {
            true => change(line.split(',').map(str::to_owned).collect()).join(","),
            false => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }
}

#[test]
fn other_tables_are_noticed() {
    // The pixel in the middle is among the largest.
    let middle = 7 * analyst::WIDTH as usize + 7 + 1;
    Copy::with_text(
        "estimates.csv",
        line(middle, |mut cells| {
            cells[2] = "2900.000".into();
            cells
        }),
    )
    .fails("top");
    Copy::with_text(
        "estimates.csv",
        line(1, |mut cells| {
            cells[3] = "0.100".into();
            cells
        }),
    )
    .fails("standard error");
    Copy::with_text(
        "estimates.csv",
        line(1, |mut cells| {
            cells[4] = "true".into();
            cells
        }),
    )
    .fails("stands out of the noise");
    Copy::with_text(
        "estimates.csv",
        line(1, |mut cells| {
            cells[1] = "nobody".into();
            cells
        }),
    )
    .fails("another name");
    Copy::with_text("estimates.csv", |text| {
        text.lines().skip(1).fold(String::new(), |all, line| all + line + "\n")
    })
    .fails("table");
    // A larger error than there is, a line less, a value that is left out, and one that is withheld and yet a signal.
    Copy::with_text(
        "estimates.csv",
        line(1, |mut cells| {
            cells[3] = "900.000".into();
            cells
        }),
    )
    .fails("standard error");
    Copy::with_text("estimates.csv", |text| {
        let lines: Vec<&str> = text.lines().collect();
        lines[..lines.len() - 1].join("\n") + "\n"
    })
    .fails("lines, and the survey has");
    let left_out = |mut cells: Vec<String>, significant: &str, mark: &str| {
        (cells[2], cells[3]) = (String::new(), String::new());
        (cells[4], cells[5]) = (significant.into(), mark.into());
        cells
    };
    Copy::with_text("estimates.csv", line(1, move |cells| left_out(cells, "false", "missing")))
        .fails("is left out, and its instance came");
    Copy::with_text("estimates.csv", line(1, move |cells| left_out(cells, "true", "impossible")))
        .fails("an error or a signal all the same");
    let copy = Copy::new();
    fs::remove_file(copy.path().join("estimates.csv")).unwrap();
    copy.fails("table");
}

fn throng(arguments: &[&str], dir: &Path) -> Output {
    THRONG.command().arg("verify").arg(dir).args(arguments).output().unwrap()
}

#[test]
fn the_exit_code_tells_what_holds_from_what_does_not() {
    let (analyst, dir) = genuine();
    let good = throng(&["--survey-hash", &analyst.hash()], dir);
    assert_eq!(good.status.code(), Some(0), "{}", String::from_utf8_lossy(&good.stdout));
    let mine = analyst.dir.path().join("survey.toml");
    assert_eq!(throng(&["--survey", mine.to_str().unwrap()], dir).status.code(), Some(0));
    let copy = Copy::with_release(|release| release["epsilon_central"] = json!(0.01));
    let bad = throng(&["--json"], copy.path());
    assert_eq!(bad.status.code(), Some(1));
    let said: Value = serde_json::from_slice(&bad.stdout).unwrap();
    assert_eq!(said["holds"], false);
    // What it does promise is said, too.
    let whole: Value = serde_json::from_slice(&fs::read(dir.join("release.json")).unwrap()).unwrap();
    assert_eq!(said["epsilon_central"], whole["epsilon_central"]);
    assert_eq!(said["honest_respondents"], whole["honest_respondents"]);
    assert!(String::from_utf8_lossy(&bad.stderr).contains("guarantee"), "{bad:?}");
    assert_eq!(throng(&[], &dir.join("nowhere")).status.code(), Some(2));
    assert_eq!(throng(&["--survey-hash", "5"], dir).status.code(), Some(2));
    fs::write(copy.path().join("release.json"), "[]").unwrap();
    assert_eq!(throng(&[], copy.path()).status.code(), Some(2));
}

/// A program that calls the analyzer gets what `throng release` makes, of the same ledger, and is refused the same.
#[test]
fn a_call_releases_what_the_command_does() {
    let analyst = quick();
    let command = || THRONG.command().args(["release", "--json", "--config"]).arg(analyst.config()).output();
    let call = || Analyzer::open(analyst.analyzer())?.release(analyst.bundle(), analyst.epoch);
    let config = fs::read_to_string(analyst.config()).unwrap();
    fs::write(analyst.config(), config.replace("epsilon_central = 10", "epsilon_central = 0.1")).unwrap();
    let (refused, refusal) = (command().unwrap(), call().unwrap_err());
    assert_eq!((refused.status.code(), refusal.kind()), (Some(1), ErrorKind::Refused));
    let rule = &refusal.refusal().unwrap().0;
    assert!(rule.contains("of 0.1 at delta 1e-5"), "{rule}");
    assert_eq!(String::from_utf8_lossy(&refused.stderr).trim_end(), format!("error: {refusal:#}"));
    assert!(!analyst.path("data/releases").exists(), "nothing is published that is refused");

    fs::write(analyst.config(), config).unwrap();
    let mut said: ReleaseSummary = serde_json::from_slice(&command().unwrap().stdout).unwrap();
    let ledger = fs::read(analyst.path("data/ledger")).unwrap();
    let released = call().unwrap();
    assert_eq!(fs::read(analyst.path("data/ledger")).unwrap(), ledger, "it costs nothing more");
    // The program brings somebody who draws.
    said.files.retain(|name| !name.starts_with("ranks."));
    assert_eq!(released, said);
    let verdict = verify(Path::new(&said.directory.unwrap()), None).unwrap();
    assert!(verdict.holds, "{verdict}");
    // What is asked for wrongly is told apart from what a rule refuses.
    for wrong in [
        Analyzer::open(analyst.dir.path()).err().unwrap(),
        Analyzer::open(analyst.analyzer()).unwrap().release(quick().bundle(), analyst.epoch).unwrap_err(),
        Analyzer::open(analyst.analyzer()).unwrap().release(analyst.bundle(), 1).unwrap_err(),
    ] {
        assert!(wrong.refusal().is_none(), "{wrong:#}");
    }
}

/// Ended at any place, `throng release --out` leaves all of the older release there or all of the new one.
#[test]
fn a_copy_of_a_release_is_the_older_one_or_the_new_one() {
    let analyst = quick();
    let out = analyst.dir.path().join("out");
    let release = |more: &[&str], place: &str| {
        let mut command = THRONG.command();
        command.args(["release", "--config"]).arg(analyst.config()).arg("--out").arg(&out).args(more);
        command.env("THRONG_TEST_ABORT_AT", place).output().unwrap()
    };
    let found = || {
        let release: ReleaseSummary =
            serde_json::from_slice(&fs::read(out.join("release.json")).unwrap()).unwrap();
        let mut files = release.files.clone();
        files.sort();
        assert_eq!(names(&out), files, "no file of another time");
        assert!(verify(&out, None).unwrap().holds);
        release.top.len()
    };
    assert!(release(&[], "").status.success());
    assert_eq!(found(), 20);
    let beside = names(analyst.dir.path());
    // The new one has a picture where the older one has plots.
    let new = ["--top", "5", "--width", "16"];
    for (place, top) in [("directory-written", 20), ("directory-replaced", 5)] {
        assert!(release(&new, place).status.signal().is_some(), "{place}");
        assert_eq!(found(), top, "{place}");
    }
    assert!(release(&new, "").status.success());
    assert_eq!((found(), names(analyst.dir.path())), (5, beside));
    // Whatever else is there would be lost.
    fs::write(out.join("mine.txt"), "").unwrap();
    let refused = release(&new, "");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("such as mine.txt"), "{said}");
    assert!(out.join("mine.txt").exists());
}

/// Names of values that stand in a file are in all that a release shows, and the file is among those of the release.
#[test]
fn names_in_a_file_are_shown_and_verified() {
    let names: String = (0..analyst::WIDTH * analyst::WIDTH).map(|value| format!("spot {value}\n")).collect();
    let arguments = ["--question", "Which pixel?", "--report-fragments", "1"];
    let mut analyst = Analyst::with_names(THRONG, &arguments, &names, 3000);
    let release = analyst.release();
    let dir: PathBuf = release["directory"].as_str().unwrap().into();
    let first = release["top"][0]["name"].as_str().unwrap_or_default();
    assert!(first.starts_with("spot "), "{release}");
    let table = fs::read_to_string(dir.join("estimates.csv")).unwrap();
    assert!(table.contains("\n7,spot 7,"), "{table}");
    assert_eq!(fs::read_to_string(dir.join("survey.names")).unwrap(), names);
    let verdict = verify(&dir, None).unwrap();
    assert!(verdict.holds, "{verdict}");
    analyst.serve();
    let page = analyst.get(&analyst.release_path());
    assert!(page.status == 200 && page.text().contains(first), "{}", page.text());
    // Other names are not those that were agreed on.
    let other = names.replace("spot 7\n", "spot seven\n");
    for text in [Some(other), None] {
        let _ = fs::remove_file(dir.join("survey.names"));
        text.into_iter().for_each(|text| fs::write(dir.join("survey.names"), text).unwrap());
        let verdict = verify(&dir, None).unwrap();
        assert!(verdict.failures().any(|check| check.what == "survey signatures"), "{verdict}");
    }
}
