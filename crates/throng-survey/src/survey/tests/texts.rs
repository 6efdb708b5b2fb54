//! Texts and names that people read.

use proptest::prelude::*;

use super::*;
use crate::plan::{Domain, Target};

/// Wherever it stands in a text that people read, a character that is not seen or that turns what is seen is refused, and the
/// error names the field; letters of any script are taken.
#[test]
fn texts_that_do_not_show_as_they_are_written_are_refused() {
    type Change = fn(&mut Survey, String);
    let fields: [(&str, Change); 6] = [
        ("question", |survey, text| survey.question = text),
        ("name", |survey, text| survey.name = text),
        ("labels.names", |survey, text| survey.labels.as_mut().unwrap().names = vec![text]),
        ("parties: operator", |survey, text| {
            survey.parties.as_mut().unwrap().analyzer.as_mut().unwrap().operator = text;
        }),
        ("parties: jurisdiction", |survey, text| {
            survey.parties.as_mut().unwrap().instances[0].hops[0].jurisdiction = text;
        }),
        ("encoding.attributes", |survey, text| {
            survey.encoding =
                Encoding::Record { attributes: vec![Attribute { name: text, values: 2, names: None }] };
        }),
    ];
    let sample = Survey::from_toml(&(sample() + LABELS + PARTIES)).unwrap();
    let hidden = prop_oneof![
        // C0, delete and C1; directions; without width; fillers; selectors and tags.
        prop::char::range('\0', '\u{1f}'),
        prop::char::range('\u{7f}', '\u{9f}'),
        prop::char::range('\u{202a}', '\u{202e}'),
        prop::char::range('\u{2066}', '\u{2069}'),
        prop::char::range('\u{200b}', '\u{200f}'),
        prop::sample::select(vec![
            '\u{61c}',
            '\u{2028}',
            '\u{2029}',
            '\u{2060}',
            '\u{feff}',
            '\u{ad}',
            '\u{180e}',
            '\u{3164}',
            '\u{fe0f}',
            '\u{e0001}',
            '\u{e007f}',
            '\u{fff9}',
        ]),
    ];
    let seen = "[a-zA-Z0-9äßçñ кириллица 漢字 עברית العربية ?!,.-]{0,12}";
    proptest!(ProptestConfig::with_cases(1024), |(hidden in hidden, before in seen, after in seen, field in 0..6_usize)| {
        let (named, change) = fields[field];
        let with = |text: String| {
            let mut survey = sample.clone();
            change(&mut survey, text);
            survey.to_toml()
        };
        match with(format!("{before}{hidden}{after}")) {
            Err(Error::Field { field, .. }) => prop_assert_eq!(field, named),
            other => prop_assert!(false, "{:?}", other),
        }
        // What is left without it is a question like any other; names have rules of their own.
        if named == "question" {
            let shown = with(format!("{before}{after}"));
            prop_assert!(shown.is_ok(), "{:?}", shown);
        }
    });
}

#[test]
fn a_name_is_no_hidden_file_and_no_way_up() {
    let named = |name: &str| Survey::from_toml(&sample().replace("which-pixel", name));
    for name in ["a", "a.b", "-_.Z9", "v1..2", &"x".repeat(100)] {
        assert!(named(name).is_ok(), "{name}");
    }
    for name in [".", "..", ".a", "...", "", "a/b", "a b", &"x".repeat(101)] {
        assert!(matches!(named(name), Err(Error::Field { field: "name", .. })), "{name}");
    }
}

#[test]
fn values_are_called_by_their_names_where_they_have_some() {
    let survey = Survey::from_toml(&named(r#"["Zürich", "Genève", "somewhere else"]"#)).unwrap();
    assert_eq!(
        [0, 1, 2, 3].map(|value| survey.value_name(value)),
        ["Zürich", "Genève", "somewhere else", "3"]
    );
    assert!(
        survey.canonical().unwrap().contains(r#""values":{"names":["Zürich","Genève","somewhere else"]}"#)
    );
    assert_eq!(Survey::from_toml(&survey.to_toml().unwrap()).unwrap(), survey);
    // Without names nothing changes, also not the hash.
    let plain = Survey::from_toml(&sample()).unwrap();
    assert_eq!(plain.value_name(7), "7");
    assert!(!plain.canonical().unwrap().contains("values"));
    let record = tables(RECORD);
    let record = record.replace("values = 2 }", "values = 2, names = [\"f\", \"m\"] }");
    let survey = Survey::from_toml(&record).unwrap();
    assert_eq!(
        [8, 9, 10, 11].map(|value| survey.value_name(value)),
        ["age = 8", "sex = f", "sex = m", "county = 0"]
    );
}

/// People are told of a value by its name, so no text that is written for them has its number: not what a claim means, not
/// the warnings, not the page of a plan with its reasons and its consent form.
#[test]
fn no_text_for_people_calls_a_value_by_its_number() {
    let mut texts = Vec::new();
    for text in [SURVEY, RECORD, FRAGMENTED, throng_testing::survey::PROFILES] {
        let survey = Survey::from_toml(text).unwrap();
        texts.extend(crate::CheckedClaim::check(&survey).unwrap().sentences());
        texts.extend(survey.warnings().iter().map(Warning::to_string));
    }
    let attribute = |name: &str, values| Attribute { name: name.into(), values, names: None };
    for asked in [Domain::Values(784), Domain::Record(vec![attribute("age", 9), attribute("sex", 2)])] {
        let target = Target { respondents: 100_000, asked, ..Target::default() };
        texts.push(crate::plan(&target).unwrap().to_string());
    }
    let number = |word: &str| word.starts_with(|first: char| first == '#' || first.is_ascii_digit());
    for text in texts {
        let words: Vec<&str> = text.split_whitespace().collect();
        let called = words.windows(2).find(|pair| ["value", "values"].contains(&pair[0]) && number(pair[1]));
        assert_eq!(called, None, "{text}");
    }
}

#[test]
fn names_of_values_that_mislead_are_refused() {
    let long = "x".repeat(200);
    Survey::from_toml(&named(&format!(r#"["a", "b", "{long}"]"#))).unwrap();
    for names in [
        r#"["a", "b"]"#.to_owned(),
        r#"["a", "b", "c", "d"]"#.to_owned(),
        r#"["a", "b", "a"]"#.to_owned(),
        r#"["a", "b", ""]"#.to_owned(),
        r#"["a", "b", " c"]"#.to_owned(),
        r#"["a", "b", "c\n"]"#.to_owned(),
        r#"["a", "b", "c\u202e"]"#.to_owned(),
        // e and a combining accent: it looks like the one letter.
        r#"["a", "b", "e\u0301"]"#.to_owned(),
        format!(r#"["a", "b", "{long}x"]"#),
    ] {
        match Survey::from_toml(&named(&names)) {
            Err(Error::Field { field, .. }) => assert_eq!(field, "values.names", "{names}"),
            other => panic!("{names}: {other:?}"),
        }
    }
    let record = tables(RECORD);
    let beside = record.clone() + "[values]\nnames = [\"a\"]\n";
    assert!(matches!(Survey::from_toml(&beside), Err(Error::Field { field: "values", .. })));
    let one = record.replace("values = 2 }", "values = 2, names = [\"f\"] }");
    assert!(matches!(Survey::from_toml(&one), Err(Error::Field { field: "encoding.attributes.names", .. })));
}

fn named(names: &str) -> String {
    sample().replace("domain = 784", "domain = 3") + "[values]\nnames = " + names + "\n"
}
