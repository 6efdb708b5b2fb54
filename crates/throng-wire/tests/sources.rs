//! What the sources of this crate name: the cryptographic library in one file, and modules without circles.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The text of every module but for its tests, which compare with other libraries. What is in a folder belongs to the
/// module that the folder is named after.
fn modules() -> BTreeMap<String, String> {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules: BTreeMap<String, String> = BTreeMap::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap() != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
                let within = path.strip_prefix(&source).unwrap().with_extension("");
                let module = within.iter().next().unwrap().to_str().unwrap().to_owned();
                modules.entry(module).or_default().push_str(product);
            }
        }
    }
    assert!(modules.len() > 15, "the sources were not found");
    modules
}

/// Whoever audits or replaces the library reads one file.
#[test]
fn one_file_names_the_crypto_library() {
    let named = |text: &String| ["aws_lc_rs", "rustls::"].iter().any(|library| text.contains(library));
    let mut naming: Vec<String> =
        modules().into_iter().filter(|(_, text)| named(text)).map(|(module, _)| module).collect();
    // The hash of a survey is about to leave this crate.
    naming.retain(|module| module != "digest");
    assert_eq!(naming, ["crypto"]);
}

/// Modules can be read from the bottom up: none names one that names it, directly or through others.
#[test]
fn modules_have_no_circles() {
    let modules = modules();
    let mut rest: BTreeMap<&str, BTreeSet<&str>> = modules
        .iter()
        // The survey file is about to leave this crate.
        .filter(|(module, _)| !["lib", "survey"].contains(&module.as_str()))
        .map(|(module, text)| {
            let named = text.split("crate::").skip(1).map(|after| {
                after.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next().unwrap()
            });
            let named = named.filter(|&name| name != module && modules.contains_key(name)).collect();
            (module.as_str(), named)
        })
        .collect();
    let edges: usize = rest.values().map(BTreeSet::len).sum();
    assert!(edges > 30, "the uses were not found");
    loop {
        let before = rest.len();
        let names: BTreeSet<&str> = rest.keys().copied().collect();
        rest.retain(|_, named| named.iter().any(|name| names.contains(name)));
        if rest.len() == before {
            break;
        }
    }
    assert!(rest.is_empty(), "they name one another: {rest:?}");
}
