//! The walls between the crates, as ARCHITECTURE.md states them, read from the manifests, and those between modules, read from what they name.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each crate and what it may depend on within the workspace. A crate that is not listed here has no business
/// existing until it is.
const ARROWS: &[(&str, &[&str])] = &[
    // Pure.
    ("throng-dp", &[]),
    ("throng-account", &["throng-dp"]),
    ("throng-survey", &["throng-dp", "throng-account"]),
    ("throng-wire", &["throng-dp", "throng-survey"]),
    ("throng-batch", &["throng-dp", "throng-survey", "throng-wire"]),
    ("throng-encode", &["throng-dp", "throng-account", "throng-survey", "throng-wire"]),
    ("throng-shuffle", &["throng-dp", "throng-survey", "throng-wire", "throng-batch"]),
    ("throng-analyze", &["throng-dp", "throng-account", "throng-survey", "throng-wire", "throng-batch"]),
    ("throng-learn", &["throng-dp", "throng-account"]),
    // The product.
    ("throng-host", &["throng-account", "throng-survey", "throng-wire"]),
    (
        "throng-respondent",
        &["throng-account", "throng-dp", "throng-encode", "throng-host", "throng-survey", "throng-wire"],
    ),
    (
        "throng-serve",
        &[
            "throng-account",
            "throng-analyze",
            "throng-batch",
            "throng-dp",
            "throng-host",
            "throng-shuffle",
            "throng-survey",
            "throng-wire",
        ],
    ),
    // The laboratory.
    ("throng-plot", &["throng-analyze", "throng-dp", "throng-host"]),
    (
        "throng-simulate",
        &[
            "throng-account",
            "throng-analyze",
            "throng-dp",
            "throng-encode",
            "throng-learn",
            "throng-plot",
            "throng-shuffle",
            "throng-survey",
            "throng-wire",
        ],
    ),
    (
        "throng-lab",
        &[
            "throng-account",
            "throng-analyze",
            "throng-dp",
            "throng-encode",
            "throng-host",
            "throng-learn",
            "throng-plot",
            "throng-serve",
            "throng-shuffle",
            "throng-simulate",
            "throng-survey",
            "throng-wire",
        ],
    ),
    // Programs.
    (
        "throng",
        &[
            "throng-account",
            "throng-analyze",
            "throng-batch",
            "throng-dp",
            "throng-encode",
            "throng-host",
            "throng-lab",
            "throng-learn",
            "throng-plot",
            "throng-respondent",
            "throng-serve",
            "throng-shuffle",
            "throng-simulate",
            "throng-survey",
            "throng-wire",
        ],
    ),
    // For tests alone.
    (
        "throng-testing",
        &[
            "throng-account",
            "throng-analyze",
            "throng-batch",
            "throng-dp",
            "throng-encode",
            "throng-host",
            "throng-lab",
            "throng-learn",
            "throng-plot",
            "throng-respondent",
            "throng-serve",
            "throng-shuffle",
            "throng-simulate",
            "throng-survey",
            "throng-wire",
        ],
    ),
];

/// What a pure crate must not name: sockets, files, clocks, entropy.
const IO: &[&str] =
    &["std::fs", "std::net", "std::time", "std::process", "std::env", "SystemTime", "getrandom"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The workspace crates that a manifest's `[dependencies]` name.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section =
        manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap_or_default();
    section
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| name.starts_with("throng"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let mut seen = BTreeSet::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let (_, allowed) = ARROWS.iter().find(|(known, _)| *known == name).expect("a crate without a place");
        for dependency in dependencies(&manifest) {
            assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
        seen.insert(name);
    }
    assert_eq!(seen.len(), ARROWS.len(), "ARROWS lists a crate that is gone");
}

/// The pure floor: values in, values out.
const PURE: &[&str] = &[
    "throng-dp",
    "throng-account",
    "throng-survey",
    "throng-wire",
    "throng-batch",
    "throng-encode",
    "throng-shuffle",
    "throng-analyze",
    "throng-learn",
];
/// What is there to measure, and what is there for people to type: what parties do without.
const LABORATORY: &[&str] = &["throng-plot", "throng-simulate", "throng-lab"];
const PROGRAMS: &[&str] = &["throng", "throng-testing"];

/// Every source file of a crate, with its path.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![crates().join(name).join("src")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).unwrap();
                found.push((path, source));
            }
        }
    }
    assert!(!found.is_empty(), "{name} has no sources");
    found
}

#[test]
fn the_pure_floor_does_not_touch_the_outside_world() {
    for (path, source) in PURE.iter().flat_map(|name| sources(name)) {
        // Addresses as numbers are no sockets.
        let source = source.replace("use std::net::{Ipv4Addr, Ipv6Addr};", "");
        for word in IO {
            assert!(!source.contains(word), "{} names {word}", path.display());
        }
    }
}

#[test]
fn the_command_line_is_in_the_program_alone() {
    for (name, _) in ARROWS.iter().filter(|(name, _)| *name != "throng") {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("\nclap"), "{name} depends on clap");
        for (path, source) in sources(name) {
            assert!(!source.contains("clap::"), "{} names clap", path.display());
        }
    }
}

/// Errors of libraries are typed: whoever embeds one can tell a refusal from a full disk.
#[test]
fn errors_without_a_type_are_in_programs_and_the_laboratory_alone() {
    let lower = |name: &str| !LABORATORY.contains(&name) && !PROGRAMS.contains(&name);
    for (name, _) in ARROWS.iter().filter(|(name, _)| lower(name)) {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("\nanyhow"), "{name} depends on anyhow");
        for (path, source) in sources(name) {
            assert!(!source.contains("anyhow::"), "{} names anyhow", path.display());
        }
    }
}

/// A cluster is made of the product and the pure floor, and nothing is made of it: the default programs carry none of its dependencies.
#[test]
fn a_cluster_depends_on_parties_and_no_crate_on_it() {
    let manifest = fs::read_to_string(crates().join("../cluster/Cargo.toml")).unwrap();
    let own = dependencies(&manifest);
    assert!(own.contains("throng-serve"));
    for name in own {
        let above = LABORATORY.contains(&name.as_str()) || PROGRAMS.contains(&name.as_str());
        assert!(!above, "throng-cluster must not depend on {name}");
    }
    for (name, _) in ARROWS {
        let manifest = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        assert!(!manifest.contains("throng-cluster"), "{name} depends on throng-cluster");
    }
}

#[test]
fn parties_do_not_depend_on_the_laboratory() {
    let lower = |name: &str| !LABORATORY.contains(&name) && !PROGRAMS.contains(&name);
    for (name, allowed) in ARROWS.iter().filter(|(name, _)| lower(name)) {
        assert!(allowed.iter().all(|name| lower(name)), "{name} may not depend on {LABORATORY:?}");
    }
}

/// All crates that a package takes, with these features.
fn tree(package: &str, features: &[&str]) -> BTreeSet<String> {
    let arguments = ["tree", "-p", package, "-e", "normal", "--prefix", "none", "--offline"];
    let output = Command::new(env!("CARGO")).args(arguments).args(features).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The operator's program has no crate that draws, trains or reads data sets; the default one has them all.
#[test]
fn the_operators_program_neither_draws_nor_trains() {
    let (operator, whole) = (tree("throng", &["--no-default-features"]), tree("throng", &[]));
    let drawing_and_data = ["tiny-skia", "png", "notosans", "ttf-parser", "faer", "flate2", "throng-learn"];
    for name in LABORATORY.iter().chain(&drawing_and_data) {
        assert!(!operator.contains(*name), "the operator's program depends on {name}");
        assert!(whole.contains(*name), "nothing depends on {name}: it need not be listed here");
    }
}

/// An app that answers surveys takes no web server, and makes no certificates; the respondent's own page takes the one and the
/// keys of parties the other.
#[test]
fn a_respondent_that_is_embedded_serves_nothing() {
    let (embedded, page) =
        (tree("throng-respondent", &[]), tree("throng-respondent", &["--features", "page"]));
    for name in ["axum", "rcgen", "rayon", "tower"] {
        assert!(!embedded.contains(name), "throng-respondent depends on {name}");
        assert!(page.contains(name), "nothing depends on {name}: it need not be listed here");
    }
    let readme = fs::read_to_string(crates().join("throng-respondent/README.md")).unwrap();
    // It takes all of them but itself.
    let (all, own) =
        (embedded.len() - 1, embedded.iter().filter(|name| name.starts_with("throng")).count() - 1);
    let told = format!("{all} crates, of which {own} are Throng's");
    assert!(readme.contains(&told), "crates/throng-respondent/README.md is to say: {told}");
}

/// The top-level modules of a crate form no circle: each can be read with those that it uses, and without those that use it.
/// Tests do not count.
#[test]
fn no_module_depends_on_itself_through_others() {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(crates()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let circles = circles(&module_uses(&path.join("src")));
        found.extend(circles.into_iter().map(|circle| (name.clone(), circle)));
    }
    assert!(found.is_empty(), "modules that depend on one another in a circle: {found:?}");
}

/// Which of its sibling modules each top-level module of a crate names.
fn module_uses(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let lib = without_tests(&fs::read_to_string(src.join("lib.rs")).unwrap());
    let mut modules = BTreeSet::new();
    let mut exported = BTreeMap::new();
    for item in lib.split_inclusive([';', '}']) {
        // A module that a feature turns on is one all the same.
        let item = item.rsplit("]\n").next().unwrap_or_default();
        let item = item.trim().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        if let Some(module) = item.strip_prefix("mod ") {
            modules.insert(module.trim_end_matches(';').to_owned());
        }
    }
    for (at, _) in lib.match_indices("use ") {
        // `pub use module::{One, Other};`: who names `crate::One` uses the module.
        let statement = lib[at + 4..].split(';').next().unwrap_or_default();
        if let Some((module, names)) = statement.split_once("::") {
            for name in
                names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty())
            {
                exported.entry(name.to_owned()).or_insert_with(|| module.to_owned());
            }
        }
    }
    let mut uses: BTreeMap<String, BTreeSet<String>> =
        modules.iter().map(|module| (module.clone(), BTreeSet::new())).collect();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let place = path.strip_prefix(src).unwrap().with_extension("");
            let place: Vec<&str> = place.iter().filter_map(|part| part.to_str()).collect();
            if path.extension().is_none_or(|extension| extension != "rs") || place.contains(&"tests") {
                continue;
            }
            let Some(used) = uses.get_mut(place[0]) else { continue };
            let source = without_tests(&fs::read_to_string(&path).unwrap());
            // From `a/b.rs` the root of the crate is two up.
            let names = ["crate::".to_owned(), "super::".repeat(place.len())];
            for name in names.iter().flat_map(|root| names_below(&source, root)) {
                let module = if modules.contains(&name) { Some(&name) } else { exported.get(&name) };
                used.extend(
                    module.filter(|module| *module != place[0] && modules.contains(*module)).cloned(),
                );
            }
        }
    }
    uses
}

/// What follows a root: `root::name`, and each of `root::{name, other::{..}}`.
fn names_below(source: &str, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    for (at, _) in source.match_indices(root) {
        // Not the end of a longer path.
        if source[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &source[at + root.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(word(rest));
            continue;
        };
        let (mut depth, mut fresh) = (1, true);
        for (place, c) in group.char_indices() {
            if fresh && !c.is_whitespace() {
                names.push(word(&group[place..]));
                fresh = false;
            }
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' => fresh = depth == 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    names.retain(|name| !name.is_empty() && name != "super");
    names
}

/// A source without comments, and without modules that are compiled for tests alone, which come last or are files.
fn without_tests(source: &str) -> String {
    let mut kept = String::new();
    let mut in_test = false;
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        if line.trim() == "#[cfg(test)]" {
            in_test = true;
        } else if in_test && line.starts_with("mod ") && line.ends_with('{') {
            break;
        } else if !(in_test && (line.starts_with("#[") || line.starts_with("mod "))) {
            kept.push_str(line);
            kept.push('\n');
            in_test = false;
        } else {
            in_test = line.starts_with("#[");
        }
    }
    kept
}

/// The sets of modules that all reach one another.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reached = |from: &String| -> BTreeSet<String> {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(uses[module].iter().filter(|used| seen.insert((*used).clone())));
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|module| (module, reached(module))).collect();
    let with = |module: &String| -> BTreeSet<String> {
        uses.keys()
            .filter(|other| reached[module].contains(*other) && reached[other].contains(module))
            .cloned()
            .collect()
    };
    uses.keys().map(with).filter(|circle| circle.len() > 1).collect()
}

#[test]
fn circles_are_found_in_what_modules_name() {
    let source =
        "use crate::{Error, a::{B, c::D}, e};\nuse crate::f::G;\nlet h = crate::h::i();\nother_crate::j::K";
    assert_eq!(names_below(source, "crate::"), ["Error", "a", "e", "f", "h"]);
    let source = "use super::super::{a, b::C};\nuse super::d;\n";
    assert_eq!(names_below(source, "super::super::"), ["a", "b"]);
    assert_eq!(names_below(source, "super::"), ["d"]);
    let source = "mod a;\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod b;\n// use crate::c;\nmod d;\n#[cfg(test)]\nmod tests {\n";
    assert_eq!(without_tests(source), "mod a;\nmod d;\n");
    let uses = [("a", &["b", "d"][..]), ("b", &["c"]), ("c", &["a"]), ("d", &[]), ("e", &["a"])];
    let uses = uses.map(|(from, to)| (from.to_owned(), to.iter().map(|to| to.to_string()).collect()));
    assert_eq!(circles(&uses.into()), [["a", "b", "c"].map(str::to_owned).into()].into());
}

/// Every test below `crates/` and `cluster/`, by the file that it is in, from the crate on: functions under `#[test]` or `#[tokio::test]`. Helpers are none.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut tests = BTreeMap::new();
    let root = crates().join("..");
    let mut folders = vec![(crates(), crates()), (root.join("cluster"), root)];
    while let Some((folder, base)) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") {
                folders.push((path, base.clone()));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&base).unwrap().to_str().unwrap().to_owned();
                tests.insert(name, tests_in(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    tests
}

fn tests_in(source: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let marked = lines.iter().enumerate().filter(|(_, line)| {
        **line == "#[test]" || line.starts_with("#[tokio::test]") || line.starts_with("#[tokio::test(")
    });
    let named = marked.filter_map(|(at, _)| {
        let function =
            lines[at + 1..].iter().find(|line| !line.starts_with("#[") && !line.starts_with("//"))?;
        let name = function.trim_start_matches("async ").strip_prefix("fn ")?;
        Some(name.split('(').next()?.to_owned())
    });
    // What holds on any store is a test of each kind (`any_store_tests!`).
    let of_stores =
        lines.iter().filter_map(|line| line.strip_prefix("pub fn ")?.strip_suffix("<D: Disk>() {"));
    named.chain(of_stores.map(str::to_owned)).collect()
}

/// Names of tests in a text, each with the file that it is said to be in: `one`, `another` (a remark) in this/file.rs;
/// names in other pieces, and in brackets of their own, have other files.
fn named_tests(text: &str, is_test: impl Fn(&str) -> bool) -> Vec<(String, Option<String>)> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut named, mut waiting): (Vec<(String, Option<String>)>, Vec<String>) = Default::default();
    // Every second part is between backticks.
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 1 {
            let word = part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if word && part.contains('_') && is_test(part) {
                waiting.push(part.to_owned());
            }
            continue;
        }
        let file = part.split_once(" in ").and_then(|(before, after)| {
            let file = after.split([' ', ',', ';', ')', '|']).next()?.trim_end_matches('.');
            (file.ends_with(".rs") && !before.contains([';', '|'])).then(|| file.to_owned())
        });
        let ends = part.contains([';', '|']) || part.ends_with('(') || part.contains("),");
        if file.is_some() || ends {
            named.extend(waiting.drain(..).map(|name| (name, file.clone())));
        }
    }
    named.extend(waiting.into_iter().map(|name| (name, None)));
    named
}

/// docs/threat-model.md names the tests that show what it says. All of them are tests, in the files that it names.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let text = fs::read_to_string(crates().join("../docs/threat-model.md")).unwrap();
    let tests = tests();
    // The last column of a table of attacks has tests alone; elsewhere settings have names, too, which are shorter.
    let (rows, prose): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("| "));
    let last = rows.iter().filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let mut named: Vec<_> = last.flat_map(|cell| named_tests(cell, |_| true)).collect();
    named.extend(named_tests(&prose.join("\n"), |word| word.matches('_').count() > 2));
    assert!(named.len() > 100, "{}", named.len());
    for (name, file) in named {
        match file {
            Some(file) => {
                let found = tests.get(&file).unwrap_or_else(|| panic!("there is no file {file} for {name}"));
                assert!(found.contains(&name), "{name} is no test in {file}");
            }
            None => assert!(tests.values().any(|found| found.contains(&name)), "{name} is no test"),
        }
    }
}

/// docs/paper-map.md: in its last column, tests are functions in the files of the row unless a file is named.
#[test]
fn the_paper_map_names_tests_that_exist() {
    let text = fs::read_to_string(crates().join("../docs/paper-map.md")).unwrap();
    let tests = tests();
    let mut count = 0;
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_start_matches("| ").trim_end_matches(" |").split(" | ").collect();
        let [_, _, files, cell] = cells[..] else { panic!("a row has four columns: {row}") };
        let files = with_braces(files);
        for (name, file) in named_tests(cell, |_| true) {
            let fits = |path: &str| match &file {
                Some(file) => path.ends_with(file.as_str()),
                // Also in a file of tests below.
                None => files.iter().any(|file| {
                    path.ends_with(file.as_str())
                        || path.contains(&format!("{}/", file.trim_end_matches(".rs")))
                }),
            };
            let found = tests.iter().any(|(path, found)| fits(path) && found.contains(&name));
            assert!(found, "{name} is no test in {file:?} or {files:?}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// `a/{b,c}.rs, d.rs` as a/b.rs, a/c.rs and d.rs.
fn with_braces(files: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = files;
    while !rest.is_empty() {
        let brace = rest.find('{').filter(|&at| rest.find(", ").is_none_or(|comma| at < comma));
        let from = brace.map_or(0, |at| at + rest[at..].find('}').unwrap_or(0));
        let end = rest[from..].find(", ").map_or(rest.len(), |at| from + at);
        let (one, after) = rest.split_at(end);
        rest = after.trim_start_matches(", ");
        match (one.split_once('{'), one.split_once('}')) {
            (Some((before, _)), Some((inner, behind))) => {
                let inner = inner.rsplit('{').next().unwrap_or_default();
                all.extend(inner.split(',').map(|name| format!("{before}{name}{behind}")));
            }
            _ => all.push(one.to_owned()),
        }
    }
    all
}

#[test]
fn names_of_tests_and_files_are_read_as_they_are_written() {
    let text =
        "`one_a`, `one_b` (a remark) in x/y.rs; `two_a` (z.rs), a disk (`three_a`), more (`four_a` in\nq.rs)";
    let named = named_tests(text, |_| true);
    let names: Vec<(&str, Option<&str>)> =
        named.iter().map(|(name, file)| (name.as_str(), file.as_deref())).collect();
    assert_eq!(
        names,
        [
            ("one_a", Some("x/y.rs")),
            ("one_b", Some("x/y.rs")),
            ("two_a", None),
            ("three_a", None),
            ("four_a", Some("q.rs"))
        ]
    );
    assert_eq!(with_braces("a/{b,c}.rs, d.rs, e/{f,g}.rs"), ["a/b.rs", "a/c.rs", "d.rs", "e/f.rs", "e/g.rs"]);
    let source =
        "#[test]\n#[ignore]\nfn a_test() {}\nfn a_helper() {}\n#[tokio::test]\nasync fn another() {}\n";
    assert_eq!(tests_in(source), ["a_test", "another"].map(str::to_owned).into());
}
