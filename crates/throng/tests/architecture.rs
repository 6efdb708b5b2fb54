//! The walls between the crates, as ARCHITECTURE.md states them, read from the manifests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate and what it may depend on within the workspace. A crate that is not listed here has no business
/// existing until it is.
const ARROWS: &[(&str, &[&str])] = &[
    ("throng-dp", &[]),
    ("throng-account", &["throng-dp"]),
    ("throng-wire", &["throng-dp"]),
    ("throng-encode", &["throng-dp", "throng-account", "throng-wire"]),
    ("throng-analyze", &["throng-dp", "throng-account", "throng-wire"]),
    ("throng-learn", &["throng-dp", "throng-account"]),
    ("throng-shuffle", &["throng-dp", "throng-wire"]),
    (
        "throng",
        &[
            "throng-dp",
            "throng-account",
            "throng-wire",
            "throng-encode",
            "throng-analyze",
            "throng-learn",
            "throng-shuffle",
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

#[test]
fn only_throng_touches_the_outside_world() {
    let mut files = 0;
    for (name, _) in ARROWS.iter().filter(|(name, _)| *name != "throng") {
        let mut folders = vec![crates().join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let source = fs::read_to_string(&path).unwrap();
                    for word in IO {
                        assert!(!source.contains(word), "{} names {word}", path.display());
                    }
                    files += 1;
                }
            }
        }
    }
    assert!(files > 20, "the sources were not found");
}

/// docs/threat-model.md names the tests that show what it says. All of them exist.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let text = fs::read_to_string(crates().join("../docs/threat-model.md")).unwrap();
    let mut sources = String::new();
    let mut folders = vec![crates()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources += &fs::read_to_string(path).unwrap();
            }
        }
    }
    let named: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|word| word.contains('_')).collect();
    let tests =
        named.iter().filter(|word| !word.contains("::") && !word.contains(' ') && !word.contains('.'));
    let tests: Vec<&&str> = tests.filter(|word| **word != "plain_http").collect();
    assert!(tests.len() > 40, "{}", tests.len());
    for test in tests {
        assert!(sources.contains(&format!("fn {test}(")), "there is no test {test}");
    }
}
