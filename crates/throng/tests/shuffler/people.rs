//! People who draw their own secrets, and whose answers are in no command line: with the commands that they would use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use throng_testing::town::Town;
use throng_wire::statement::check_cascade;
use throng_wire::{Credential, CredentialList, Place, Survey};

use crate::THRONG;
use crate::respond::{planned, throng};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn done(arguments: &[&str], dir: &Path) -> Output {
    let output = throng(arguments).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    output
}

/// A file for its owner alone, as keygen makes them.
fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Six people draw their own secrets; each first hop's list is made of what they handed in to it alone. They answer through real
/// hops, and one who handed in nothing does not. Nothing that was handed in, or made of it, has a secret in it.
#[test]
fn people_who_drew_their_own_secrets_answer_through_real_hops() {
    let mut town = Town::of(THRONG, &planned(), true, 0);
    let dir = town.deployment.survey.parent().unwrap().to_owned();
    let hash = town.deployment.bundle.survey().hash();
    let enrol = |person: usize| {
        let (state, out) = (format!("state-{person}"), format!("hand-in-{person}"));
        done(&["respond", "--survey", "survey.toml", "--state", &state, "--enrol", &out], &dir);
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(dir.join(&out)).unwrap() {
            let path = entry.unwrap().path();
            files.insert(
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                fs::read_to_string(&path).unwrap(),
            );
        }
        files
    };
    for person in 0..7 {
        let files = enrol(person);
        assert_eq!(files.len(), 2, "one for each first hop");
        assert_eq!(enrol(person), files, "the same secret, and the same files");
        let stored = fs::read_to_string(dir.join(format!("state-{person}/credential"))).unwrap();
        // Behind the two lines that authenticate it.
        let secret = stored.splitn(3, '\n').nth(2).unwrap();
        let own = Credential::from_file(secret).unwrap();
        for (instance, (name, file)) in (1..).zip(&files) {
            let place = Place::hop(instance, 1);
            let token = own.token(&hash, place);
            assert!(
                name.starts_with(&place.to_string()) && file.contains(&token.id().to_string()),
                "{name}: {file}"
            );
            assert!(
                !file.contains(secret.lines().nth(1).unwrap()) && !file.contains(token.to_text().as_str())
            );
            // The last one keeps theirs to themself.
            if person < 6 {
                let handed_in = town.path(place, "handed-in");
                fs::create_dir_all(&handed_in).unwrap();
                fs::write(handed_in.join(name), file).unwrap();
            }
        }
    }
    for instance in 1..=2 {
        let place = Place::hop(instance, 1);
        let (hop, handed_in) = (place.to_string(), format!("{place}/handed-in"));
        let made = [
            "keygen",
            "enrol",
            "--survey",
            "survey.toml",
            "--place",
            &hop,
            "--out",
            &hop,
            &handed_in,
            "--json",
        ];
        let said: Value = serde_json::from_slice(&done(&made, &dir).stdout).unwrap();
        assert_eq!(said["lists"][&hop], 6);
        let list = fs::read_to_string(town.path(place, &format!("{place}.credentials"))).unwrap();
        assert_eq!(CredentialList::from_file(&list).unwrap().len(), 6);
        fs::write(town.path(place, "credentials"), list).unwrap();
    }
    town.start_all();
    let epoch = town.next_epoch();
    let sending: Vec<Child> = (0..7)
        .map(|person| {
            let state = format!("state-{person}");
            let flags = [
                "respond",
                "--survey",
                "survey.toml",
                "--epoch",
                "current",
                "--value",
                "-",
                "--epsilon-limit",
                "20",
            ];
            let mut command = throng(&flags);
            let mut child =
                command.arg("--state").arg(state).current_dir(&dir).stdin(Stdio::piped()).spawn().unwrap();
            writeln!(child.stdin.take().unwrap(), "{}", person % 8).unwrap();
            child
        })
        .collect();
    for (person, child) in sending.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.success(), person < 6, "{person}: {said}");
    }
    let pulled = town.pull(town.route(1, epoch));
    let survey = town.deployment.bundle.survey().survey();
    assert_eq!(check_cascade(survey, &pulled.statements).unwrap(), Some(6));
}

/// What is damaged, of another survey or hop, or there twice makes no list; nor does a list take another's place.
#[test]
fn whoever_enrols_takes_only_what_is_right() {
    let town = Town::of(THRONG, &planned(), true, 0);
    let other = town.elsewhere();
    let dir = town.deployment.survey.parent().unwrap();
    let elsewhere = other.deployment.survey.to_str().unwrap();
    for (survey, person) in [("survey.toml", "a"), ("survey.toml", "b"), (elsewhere, "c")] {
        done(&["respond", "--survey", survey, "--state", person, "--enrol", &format!("of-{person}")], dir);
    }
    let file = |person: &str, instance: u32| {
        let mut files =
            fs::read_dir(dir.join(format!("of-{person}"))).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.to_str().unwrap().contains(&format!("instance-{instance}-"))).unwrap()
    };
    let refused = |files: &[&Path], flags: &[&str]| {
        let mut command = throng(&["keygen", "enrol", "--survey", "survey.toml", "--out", "lists"]);
        let output = command.args(flags).args(files).current_dir(dir).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{files:?}");
        assert!(!dir.join("lists").exists(), "nothing is written");
        text(&output.stderr)
    };
    let (a, b) = (file("a", 1), file("b", 1));
    let (copy, cut, long) = (dir.join("copy"), dir.join("cut.enrolment"), dir.join("long"));
    fs::copy(&a, &copy).unwrap();
    let whole = fs::read_to_string(&b).unwrap();
    fs::write(&cut, &whole[..whole.len() - 9]).unwrap();
    fs::write(&long, whole.repeat(10_000)).unwrap();
    let first = ["--place", "instance-1-hop-1"];
    for (files, flags, part) in [
        (&[&*a, &b, &copy][..], &first[..], "enrol the same respondent"),
        (&[&a, &cut], &first, "not as throng respond --enrol wrote it"),
        (&[&a, &long], &first, "not as throng respond --enrol wrote it"),
        (&[&a, &dir.join("a/credential")], &first, "not as throng respond --enrol wrote it"),
        (&[&a, &file("c", 1)], &first, "for another survey"),
        (&[&a, &file("a", 2)], &first, "is for instance-2-hop-1"),
        (&[&a, &b], &[], "nobody is enrolled at instance-2-hop-1"),
        (&[&a, &b], &["--place", "instance-1-hop-2"], "first hop of an instance"),
        (&[&dir.join("nowhere")], &first, "cannot read"),
    ] {
        let said = refused(files, flags);
        assert!(said.contains(part), "{part}: {said}");
        assert!(!said.contains(&fs::read_to_string(dir.join("a/credential")).unwrap()[31..]), "{said}");
    }
    let both = ["keygen", "enrol", "--survey", "survey.toml", "--out", "lists", "of-a", "of-b"];
    let output = done(&both, dir);
    assert_eq!(text(&output.stdout).matches("2 respondents are enrolled").count(), 2);
    assert!(text(&output.stderr).contains("needs 6 respondents"), "{}", text(&output.stderr));
    let again = throng(&both).current_dir(dir).output().unwrap();
    assert!(text(&again.stderr).contains("never overwritten"));
}

/// The arguments of a process, and its environment.
fn seen(child: &Child) -> (Vec<String>, Vec<String>) {
    let parts = |file: &str| {
        let bytes = fs::read(format!("/proc/{}/{file}", child.id())).unwrap_or_default();
        text(&bytes).split_terminator('\0').map(str::to_owned).collect::<Vec<_>>()
    };
    (parts("cmdline"), parts("environ"))
}

/// Attack: whoever may list processes, or read a shell's history, looks for the answer. The process that waits for its time is the
/// one that was started, and its command line and environment are the same for every answer and for none.
#[test]
#[cfg(target_os = "linux")]
fn the_process_that_waits_has_no_answer_in_its_command_line() {
    let town = Town::of(THRONG, &Survey { epoch_s: 7200, ..planned() }, true, 1);
    let dir = town.deployment.survey.parent().unwrap();
    write_private(&dir.join("credential"), &town.credentials[0].to_file());
    let mut all = Vec::new();
    for (person, said) in [Some("5"), Some("3"), None, Some("-")].into_iter().enumerate() {
        let state = format!("person-{person}");
        let mut command =
            throng(&["respond", "--survey", "survey.toml", "--credential", "credential", "--json"]);
        command.args(["--state", &state, "--epsilon-limit", "20"]).current_dir(dir);
        match said {
            Some(value) => command.args(["--value", value]),
            None => command.arg("--absent"),
        };
        fs::write(dir.join("answer"), "6\n").unwrap();
        let mut child = command.stdin(File::open(dir.join("answer")).unwrap()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(300);
        let waiting = loop {
            let (arguments, environment) = seen(&child);
            if arguments.iter().any(|argument| argument.starts_with("--made")) {
                break (arguments, environment);
            }
            assert!(child.try_wait().unwrap().is_none() && Instant::now() < deadline, "{arguments:?}");
            std::thread::sleep(Duration::from_millis(20));
        };
        // What it was given to read is not there to be read again.
        let input = fs::read_link(format!("/proc/{}/fd/0", child.id())).unwrap();
        assert_eq!(input, Path::new("/dev/null"));
        child.kill().unwrap();
        child.wait().unwrap();
        let (arguments, environment) = waiting;
        let arguments: Vec<String> = arguments[1..].iter().map(|one| one.replace(&state, "person")).collect();
        let hash = town.deployment.bundle.survey().hash();
        assert_eq!(arguments[..4], ["respond", "--state=person", "--credential=credential", "--json"]);
        assert!(
            arguments.len() == 5 && arguments[4].starts_with(&format!("--made={hash}:")),
            "{arguments:?}"
        );
        assert!(arguments[4].ends_with(":now"), "{arguments:?}");
        all.push((arguments, environment));
    }
    // The epoch may have changed once meanwhile.
    let alike = |one: &(Vec<String>, Vec<String>)| (one.0[..4].to_vec(), one.1.clone());
    assert!(all.iter().all(|one| alike(one) == alike(&all[0])));
}

/// At a terminal a person is asked, for the limit once and for the answer, and neither is an argument of anything.
#[test]
#[cfg(target_os = "linux")]
fn a_person_at_a_terminal_is_asked() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let town = Town::of(THRONG, &planned(), true, 1);
    let dir = town.deployment.survey.parent().unwrap();
    write_private(&dir.join("credential"), &town.credentials[0].to_file());
    // What is typed into a terminal, what it shows, and what the command printed.
    let at_terminal = |typed: &str| {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let side = File::options().read(true).write(true).open(name).unwrap();
        let mut terminal = File::from(terminal);
        terminal.write_all(typed.as_bytes()).unwrap();
        let mut command =
            throng(&["respond", "--survey", "survey.toml", "--credential", "credential", "--no-wait"]);
        command.args(["--state", "state"]).current_dir(dir);
        command.stdin(side.try_clone().unwrap()).stderr(side);
        let output = command.output().unwrap();
        // The command holds the other side.
        drop(command);
        let mut shown = Vec::new();
        // A terminal that nobody else holds ends in an error.
        let _ = terminal.read_to_end(&mut shown);
        (output, text(&shown))
    };
    let (output, shown) = at_terminal("much\n12.5\nfive\n5\n");
    assert!(output.status.success(), "{shown}");
    for part in [
        "to all surveys",
        "Your limit, an epsilon: ",
        "Write a number",
        "from 0 to 7",
        "--value takes a number",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(text(&output.stdout).contains("of your limit of 12.5"), "{}", text(&output.stdout));
    // The limit is asked for once. Whatever is answered again in this epoch, or the next, is an answer all the same.
    let (output, shown) = at_terminal("3\n");
    assert!(!shown.contains("Your limit") && shown.contains("from 0 to 7"), "{shown}");
    assert!(output.status.success() || shown.contains("of your limit of 12.5"), "{shown}");
}
