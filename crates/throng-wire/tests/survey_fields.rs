//! The table of a survey's fields in docs/wire-format.md: it has every field that the program reads, and the program refuses
//! what the table does.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::collections::{BTreeMap, BTreeSet};

use throng_testing::survey::{SURVEY, tables, with};
use throng_wire::Survey;

const DOCUMENT: &str = include_str!("../../../docs/wire-format.md");

/// A survey with every table that there is, and a line for each field.
fn one_hot() -> String {
    let delivery = "{ instances = 3, hops = 2, envelopes = 4, cover = \"chaff\", keep_sealed_s = 6000, keep_batches_s = 6000 }";
    tables(&with(SURVEY, &[("epoch_s", "60"), ("delivery", delivery)])) + LABELS_AND_PARTIES
}

const LABELS_AND_PARTIES: &str = r#"
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
    one_hot().replace(
        "kind = \"one-hot\"\ndomain = 784",
        "kind = \"sketch\"\ndomain = 784\nrows = 4\ncells = 64\nseed = 1",
    )
}

fn record() -> String {
    let attributes =
        "kind = \"record\"\nattributes = [{ name = \"age\", values = 9 }, { name = \"sex\", values = 2 }]";
    one_hot().replace("kind = \"one-hot\"\ndomain = 784", attributes)
}

fn report() -> String {
    let randomizer = "kind = \"report-fragments\"\nepsilon_backstop = 5.25\nepsilon_fragment = 4.0\nfragments = 4\nanswer_changes = \"never\"";
    one_hot().replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", randomizer)
}

fn labelled() -> String {
    one_hot().replace("profiles = { fr = [1] }", "epsilon_label = 2.0")
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
    let one_hot = one_hot();
    let mut fields = BTreeSet::new();
    let mut add = |prefix: &str, names: BTreeSet<String>| {
        fields.extend(names.into_iter().map(|name| format!("{prefix}{name}")));
    };
    add("", unknown(&one_hot, "version = 1"));
    for base in [&one_hot, &sketch(), &record()] {
        add("encoding.", unknown(base, "[encoding]"));
    }
    for base in [&one_hot, &report()] {
        add("randomizer.", unknown(base, "[randomizer]"));
    }
    for table in ["crowd", "delivery", "claim", "labels", "parties"] {
        add(&format!("{table}."), unknown(&one_hot, &format!("[{table}]")));
    }
    add("values.", unknown(&format!("{one_hot}[values]\nnames = []\n"), "[values]"));
    add("encoding.attributes.", inline(&record(), "[{ "));
    add("parties.instances.", inline(&one_hot, "instances = [{ "));
    add("party.", inline(&one_hot, "analyzer = { "));
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
    let one_hot = one_hot();
    let not_kept = one_hot.replace("keep_sealed_s = 6000\nkeep_batches_s = 6000\n", "");
    let above_0 = (
        &["5e-324", "1.7976931348623157e308", "3"][..],
        &["0", "0.0", "-1.0", "inf", "nan", "\"1\"", "true"][..],
    );
    let share = (&["5e-324", "0.9999999999999999"][..], &["0.0", "1.0", "-0.1", "nan"][..]);
    let mut covered = BTreeSet::new();
    // Field, where it stands, text to replace, what is taken, what is refused, and what the table has to say.
    for (field, base, old, good, bad, range) in [
        ("version", &one_hot, "version = 1", &["1"][..], &["0", "2", "1.0", "\"1\""][..], "1 to 1"),
        ("epoch_s", &not_kept, "epoch_s = 60", &["1", &max], &["0", "-1", &over, "60.0"], "1 to 2^53 - 1"),
        (
            "encoding.domain",
            &one_hot,
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
        ("randomizer.epsilon_local", &one_hot, "epsilon_local = 5.25", above_0.0, above_0.1, "above 0"),
        ("randomizer.epsilon_backstop", &report, "epsilon_backstop = 5.25", above_0.0, above_0.1, "above 0"),
        ("randomizer.epsilon_fragment", &report, "epsilon_fragment = 4.0", above_0.0, above_0.1, "above 0"),
        ("randomizer.fragments", &report, "fragments = 4", &["1", "65536"], &["0", "65537"], "1 to 65536"),
        (
            "crowd.respondents_min",
            &one_hot,
            "respondents_min = 100000",
            &["2", &max],
            &["1", &over],
            "2 to 2^53 - 1",
        ),
        (
            "crowd.honest_fraction",
            &one_hot,
            "honest_fraction = 0.9",
            &["5e-324", "1.0", "1"],
            &["0.0", "1.0000000000000002", "nan"],
            "above 0, to 1",
        ),
        ("delivery.instances", &one_hot, "\ninstances = 3", &["1", "255"], &["0", "256"], "1 to 255"),
        ("delivery.hops", &one_hot, "hops = 2", &["1", "16"], &["0", "17"], "1 to 16"),
        // A body has 49 + 107 b bytes: with 10034969 envelopes less than 2^30, and with one more above it.
        (
            "delivery.envelopes",
            &one_hot,
            "envelopes = 4",
            &["1", "10034969"],
            &["0", "10034970", "4294967296"],
            "2^30 bytes",
        ),
        (
            "delivery.keep_sealed_s",
            &one_hot,
            "keep_sealed_s = 6000",
            &["60", "3162240000"],
            &["59", "0", "3162240001"],
            "`epoch_s` to 3162240000",
        ),
        (
            "delivery.keep_batches_s",
            &one_hot,
            "keep_batches_s = 6000",
            &["60", "3162240000"],
            &["59", "0", "3162240001"],
            "`epoch_s` to 3162240000",
        ),
        ("claim.epsilon_central", &one_hot, "epsilon_central = 1.0", above_0.0, above_0.1, "above 0"),
        ("claim.delta", &one_hot, "delta = 1e-6", share.0, share.1, "above 0, below 1"),
        ("labels.epsilon_deletion", &one_hot, "epsilon_deletion = 0.2", above_0.0, above_0.1, "above 0"),
        ("labels.delta_deletion", &one_hot, "delta_deletion = 1e-9", share.0, share.1, "above 0, below 1"),
        ("labels.epsilon_label", &labelled, "epsilon_label = 2.0", above_0.0, above_0.1, "above 0"),
        (
            "labels.profiles",
            &one_hot,
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
        ("mode", one_hot().replace("version = 1", "version = 1\nmode = \"shuffled\""), "mode = \"shuffled\""),
        ("randomizer.answer_changes", report(), "answer_changes = \"never\""),
        ("crowd.enrolment", one_hot(), "enrolment = \"credential\""),
        ("delivery.cover", one_hot().replace("profiles = { fr = [1] }\n", ""), "cover = \"chaff\""),
        ("claim.neighbors", one_hot(), "neighbors = \"removal\""),
        ("claim.bound", one_hot(), "bound = \"exact\""),
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
            one_hot(),
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
