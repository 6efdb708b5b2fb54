//! The table of a survey's fields in docs/wire-format.md: it has every field that the program reads, and the program refuses
//! what the table does.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, BTreeSet};

use throng_wire::Survey;

const DOCUMENT: &str = include_str!("../../../docs/wire-format.md");

const ONE_HOT: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 60
[encoding]
kind = "one-hot"
domain = 784
[randomizer]
kind = "attribute-fragments"
epsilon_local = 5.25
[crowd]
respondents_min = 3000
honest_fraction = 0.9
enrolment = "credential"
[delivery]
instances = 3
hops = 2
envelopes = 4
cover = "chaff"
keep_sealed_s = 6000
keep_batches_s = 6000
[claim]
epsilon_central = 1.0
delta = 1e-6
neighbors = "removal"
bound = "exact"
[labels]
names = ["de", "fr"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
profiles = { fr = [1] }
[parties]
analyzer = { operator = "Me", jurisdiction = "CH", signing_key = "ac5cf4cd09c2382d00e51ee759a7b92025f6bc6311691919abd44830277c3158" }
instances = [{ hops = [] }]
"#;

fn sketch() -> String {
    ONE_HOT.replace(
        "kind = \"one-hot\"\ndomain = 784",
        "kind = \"sketch\"\ndomain = 784\nrows = 4\ncells = 64\nseed = 1",
    )
}

fn record() -> String {
    let attributes =
        "kind = \"record\"\nattributes = [{ name = \"age\", values = 9 }, { name = \"sex\", values = 2 }]";
    ONE_HOT.replace("kind = \"one-hot\"\ndomain = 784", attributes)
}

fn report() -> String {
    let randomizer = "kind = \"report-fragments\"\nepsilon_backstop = 5.25\nepsilon_fragment = 4.0\nfragments = 4\nanswer_changes = \"never\"";
    ONE_HOT.replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", randomizer)
}

fn labelled() -> String {
    ONE_HOT.replace("profiles = { fr = [1] }", "epsilon_label = 2.0")
}

/// The rows of the table: field, type, range.
fn rows() -> BTreeMap<String, [String; 2]> {
    let section = DOCUMENT.split("## 1. Survey").nth(1).unwrap().split("\n## 2.").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `") || line.starts_with("| party: `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let field = cells[0].replace('`', "").replace("party: ", "party.");
        (field, [cells[1].to_owned(), cells[2].to_owned()])
    })
    .collect()
}

/// Whoever does not know a field is told which ones there are: what the program itself says, whatever is added to it.
fn known(text: &str) -> BTreeSet<String> {
    let error = Survey::from_toml(text).unwrap_err().to_string();
    let listed = error.split("expected ").nth(1).unwrap_or_else(|| panic!("{error}"));
    let names: BTreeSet<String> = listed.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(!names.is_empty(), "{error}");
    names
}

#[test]
fn the_table_has_every_field_that_the_program_reads_and_no_other() {
    let unknown = |base: &str, after: &str| known(&base.replacen(after, &format!("{after}\nzzz = 1"), 1));
    let inline = |base: &str, within: &str| known(&base.replacen(within, &format!("{within}zzz = 1, "), 1));
    let mut fields = BTreeSet::new();
    let mut add = |prefix: &str, names: BTreeSet<String>| {
        fields.extend(names.into_iter().map(|name| format!("{prefix}{name}")));
    };
    add("", unknown(ONE_HOT, "version = 1"));
    for base in [ONE_HOT, &sketch(), &record()] {
        add("encoding.", unknown(base, "[encoding]"));
    }
    for base in [ONE_HOT, &report()] {
        add("randomizer.", unknown(base, "[randomizer]"));
    }
    for table in ["crowd", "delivery", "claim", "labels", "parties"] {
        add(&format!("{table}."), unknown(ONE_HOT, &format!("[{table}]")));
    }
    add("values.", unknown(&format!("{ONE_HOT}[values]\nnames = []\n"), "[values]"));
    add("encoding.attributes.", inline(&record(), "[{ "));
    add("parties.instances.", inline(ONE_HOT, "instances = [{ "));
    add("party.", inline(ONE_HOT, "analyzer = { "));
    // Which kind it is comes from a tag, which lists of fields leave out.
    fields.extend(["encoding.kind".into(), "randomizer.kind".into()]);
    let rows: BTreeSet<String> = rows().into_keys().collect();
    assert_eq!(fields, rows);
}

/// Of every field with a range: what is just inside, and what is just outside.
#[test]
fn ranges_are_enforced_as_the_table_has_them() {
    let max = ((1_u64 << 53) - 1).to_string();
    let over = (1_u64 << 53).to_string();
    let (sketch, record, report, labelled) = (sketch(), record(), report(), labelled());
    let one_hot = ONE_HOT.replace("keep_sealed_s = 6000\nkeep_batches_s = 6000\n", "");
    let above_0 = (
        &["5e-324", "1.7976931348623157e308", "3"][..],
        &["0", "0.0", "-1.0", "inf", "nan", "\"1\"", "true"][..],
    );
    let share = (&["5e-324", "0.9999999999999999"][..], &["0.0", "1.0", "-0.1", "nan"][..]);
    let mut covered = BTreeSet::new();
    // Field, where it stands, text to replace, what is taken, what is refused, and what the table has to say.
    for (field, base, old, good, bad, range) in [
        ("version", ONE_HOT, "version = 1", &["1"][..], &["0", "2", "1.0", "\"1\""][..], "1 to 1"),
        ("epoch_s", &one_hot, "epoch_s = 60", &["1", &max], &["0", "-1", &over, "60.0"], "1 to 2^53 - 1"),
        (
            "encoding.domain",
            ONE_HOT,
            "domain = 784",
            &["1", "4294967296"],
            &["0", "4294967297", "7.0"],
            "1 to 2^32",
        ),
        ("encoding.domain", &sketch, "domain = 784", &["1", &max], &["0", &over], "sketch: 1 to 2^53 - 1"),
        ("encoding.rows", &sketch, "rows = 4", &["1", "1048576"], &["0", "1048577"], "1 to 2^20"),
        (
            "encoding.cells",
            &sketch,
            "rows = 4\ncells = 64",
            &["1\ncells = 4294967295", "4\ncells = 2", "65536\ncells = 65536"],
            &["1\ncells = 4294967296", "4\ncells = 1", "65537\ncells = 65536"],
            "2 to 2^32 - 1; rows x cells at most 2^32",
        ),
        ("encoding.seed", &sketch, "seed = 1", &["0", &max], &["-1", &over], "0 to 2^53 - 1"),
        (
            "encoding.attributes.values",
            &record,
            "values = 9",
            &["2", "4294967294"],
            &["1", "0", "4294967295"],
            "2 to 2^32; of all attributes together at most 2^32",
        ),
        ("randomizer.epsilon_local", ONE_HOT, "epsilon_local = 5.25", above_0.0, above_0.1, "above 0"),
        ("randomizer.epsilon_backstop", &report, "epsilon_backstop = 5.25", above_0.0, above_0.1, "above 0"),
        ("randomizer.epsilon_fragment", &report, "epsilon_fragment = 4.0", above_0.0, above_0.1, "above 0"),
        ("randomizer.fragments", &report, "fragments = 4", &["1", "65536"], &["0", "65537"], "1 to 65536"),
        (
            "crowd.respondents_min",
            ONE_HOT,
            "respondents_min = 3000",
            &["2", &max],
            &["1", &over],
            "2 to 2^53 - 1",
        ),
        (
            "crowd.honest_fraction",
            ONE_HOT,
            "honest_fraction = 0.9",
            &["5e-324", "1.0", "1"],
            &["0.0", "1.0000000000000002", "nan"],
            "above 0, to 1",
        ),
        ("delivery.instances", ONE_HOT, "\ninstances = 3", &["1", "255"], &["0", "256"], "1 to 255"),
        ("delivery.hops", ONE_HOT, "hops = 2", &["1", "16"], &["0", "17"], "1 to 16"),
        // A body has 49 + 107 b bytes: with 10034969 envelopes less than 2^30, and with one more above it.
        (
            "delivery.envelopes",
            ONE_HOT,
            "envelopes = 4",
            &["1", "10034969"],
            &["0", "10034970", "4294967296"],
            "2^30 bytes",
        ),
        (
            "delivery.keep_sealed_s",
            ONE_HOT,
            "keep_sealed_s = 6000",
            &["60", "3162240000"],
            &["59", "0", "3162240001"],
            "`epoch_s` to 3162240000",
        ),
        (
            "delivery.keep_batches_s",
            ONE_HOT,
            "keep_batches_s = 6000",
            &["60", "3162240000"],
            &["59", "0", "3162240001"],
            "`epoch_s` to 3162240000",
        ),
        ("claim.epsilon_central", ONE_HOT, "epsilon_central = 1.0", above_0.0, above_0.1, "above 0"),
        ("claim.delta", ONE_HOT, "delta = 1e-6", share.0, share.1, "above 0, below 1"),
        ("labels.epsilon_deletion", ONE_HOT, "epsilon_deletion = 0.2", above_0.0, above_0.1, "above 0"),
        ("labels.delta_deletion", ONE_HOT, "delta_deletion = 1e-9", share.0, share.1, "above 0, below 1"),
        ("labels.epsilon_label", &labelled, "epsilon_label = 2.0", above_0.0, above_0.1, "above 0"),
        (
            "labels.profiles",
            ONE_HOT,
            "profiles = { fr = [1] }",
            &["{ fr = [1, 3] }", "{ de = [2], fr = [1] }"],
            &[
                "{}",
                "{ fr = [] }",
                "{ fr = [0] }",
                "{ fr = [4] }",
                "{ fr = [2, 1] }",
                "{ fr = [1, 1] }",
                "{ it = [1] }",
            ],
            "one or more of 1 to K, rising",
        ),
    ] {
        let name = old.trim().split(" = ").next().unwrap();
        let with = |value: &str| {
            assert_eq!(base.matches(old).count(), 1, "{field}");
            let start = if old.starts_with('\n') { "\n" } else { "" };
            Survey::from_toml(&base.replacen(old, &format!("{start}{name} = {value}"), 1))
        };
        for value in good {
            assert!(with(value).is_ok(), "{field} = {value}: {:?}", with(value).err());
        }
        for value in bad {
            assert!(with(value).is_err(), "{field} = {value}");
        }
        assert!(rows()[field][1].contains(range), "{field}: {:?}", rows()[field]);
        covered.insert(field);
    }
    // No field with a range of numbers was forgotten.
    for (field, [kind, _]) in rows() {
        let numeric = ["integer", "number"].iter().any(|word| kind.contains(word));
        assert!(!numeric || covered.contains(&*field), "{field}");
    }
}

/// Of every field with a list of words: all of them are taken, and no other.
#[test]
fn words_are_those_of_the_table() {
    for (field, base, old) in [
        ("mode", ONE_HOT.replace("version = 1", "version = 1\nmode = \"shuffled\""), "mode = \"shuffled\""),
        ("randomizer.answer_changes", report(), "answer_changes = \"never\""),
        ("crowd.enrolment", ONE_HOT.to_owned(), "enrolment = \"credential\""),
        ("delivery.cover", ONE_HOT.replace("profiles = { fr = [1] }\n", ""), "cover = \"chaff\""),
        ("claim.neighbors", ONE_HOT.to_owned(), "neighbors = \"removal\""),
        ("claim.bound", ONE_HOT.to_owned(), "bound = \"exact\""),
    ] {
        let name = old.split(" = ").next().unwrap();
        let range = &rows()[field][1];
        let words: Vec<&str> = range.split('`').skip(1).step_by(2).collect();
        assert!(!words.is_empty(), "{field}");
        let with = |word: &str| Survey::from_toml(&base.replacen(old, &format!("{name} = \"{word}\""), 1));
        assert!(words.iter().all(|word| with(word).is_ok()), "{field}: {words:?}");
        for wrong in ["", "other", &words[0].to_uppercase(), &format!("{} ", words[0])] {
            assert!(with(wrong).is_err(), "{field} = {wrong:?}");
        }
    }
    for (base, old, good, bad) in [
        (
            ONE_HOT.to_owned(),
            "name = \"which-pixel\"",
            &["a", "-_.Z9"][..],
            &["", "a b", "é", "a/b", ".", "..", ".a"][..],
        ),
        (record(), "name = \"age\"", &["a", "AGE"], &["", "sex", "a b"]),
    ] {
        let with =
            |word: &&str| Survey::from_toml(&base.replacen(old, &format!("name = \"{word}\""), 1)).is_ok();
        assert!(good.iter().all(with) && !bad.iter().any(with), "{old}");
    }
}
