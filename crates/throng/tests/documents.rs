//! Documents cite what is there: links lead to files, files of source exist, and tests are of the crate that is named.
//! (`architecture.rs` reads the threat model and the paper map more closely.)

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files below a folder, but those that are made.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, found);
        } else if path.is_file() {
            found.push(path);
        }
    }
}

fn all_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    found
}

/// The documents, each with its text outside of blocks of code.
fn documents() -> Vec<(PathBuf, String)> {
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let all = all_files().into_iter().filter(is_document);
    all.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let outside = text.split("```").step_by(2).collect();
        (path, outside)
    })
    .collect()
}

/// What stands in brackets after a link's text.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link).collect()
}

/// The names of source files in a text that have a folder before them.
fn sources(text: &str) -> Vec<&str> {
    let is_path = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let words = text.split(|letter: char| !is_path(letter));
    words.filter(|word| word.ends_with(".rs") && word.contains('/')).collect()
}

/// Tests that a text names as `test` or several of them, with their crate in brackets after them.
fn named_tests(text: &str) -> Vec<(String, String)> {
    let mut tests = Vec::new();
    for (at, _) in text.match_indices("` (throng") {
        let (name, _) = text[at + 3..].split_once(')').unwrap();
        let mut before = &text[..at + 1];
        while let Some(rest) = before.strip_suffix('`') {
            let Some((rest, test)) = rest.rsplit_once('`') else { break };
            tests.push((test.to_owned(), name.to_owned()));
            before = rest.strip_suffix(", ").or(rest.strip_suffix(" and ")).unwrap_or("");
        }
    }
    tests
}

#[test]
fn links_lead_to_files() {
    let mut checked = 0;
    for (document, text) in documents() {
        let folder = document.parent().unwrap();
        for link in links(&text).into_iter().filter(|link| !link.contains(':') && !link.starts_with('#')) {
            let path = link.split('#').next().unwrap();
            assert!(folder.join(path).exists(), "{}: {link}", document.display());
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn cited_sources_exist() {
    let (files, root) = (all_files(), root());
    let mut checked = 0;
    for (document, text) in documents() {
        for source in sources(&text) {
            // Paths are as short as they can be: below `crates/`, below a crate, or beside the file before them.
            let found = files.iter().any(|file| file.strip_prefix(&root).unwrap().ends_with(source));
            assert!(found, "{}: {source}", document.display());
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn tests_are_of_the_crate_that_is_named() {
    let files = all_files();
    let mut checked = 0;
    for (document, text) in documents() {
        for (test, name) in named_tests(&text) {
            let folder = root().join("crates").join(&name);
            let is_there = |file: &&PathBuf| {
                file.starts_with(&folder) && file.extension().is_some_and(|extension| extension == "rs") && {
                    fs::read_to_string(file).unwrap().contains(&format!("fn {test}("))
                }
            };
            assert!(files.iter().find(is_there).is_some(), "{}: {test} ({name})", document.display());
            checked += 1;
        }
    }
    assert!(checked > 15, "{checked}");
}

#[test]
fn citations_are_read_as_they_are_written() {
    assert_eq!(links("a [b](c.md#d), [e](https://f)"), ["c.md#d", "https://f"]);
    let text = "`a/b.rs` and throng-c/d.rs, e.rs; in f/g.rs";
    assert_eq!(sources(text), ["a/b.rs", "throng-c/d.rs", "f/g.rs"]);
    let named = named_tests("x; `one_test`, `two_test` (throng-dp); `three` and `four` (throng). `five`");
    let names: Vec<(&str, &str)> = named.iter().map(|(test, name)| (test.as_str(), name.as_str())).collect();
    assert_eq!(
        names,
        [("two_test", "throng-dp"), ("one_test", "throng-dp"), ("four", "throng"), ("three", "throng")]
    );
}
