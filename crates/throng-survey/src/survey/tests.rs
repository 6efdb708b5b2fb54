//! Surveys that are read, written, hashed and refused.

use proptest::prelude::*;

use super::*;

const SAMPLE: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400

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
envelopes = 24
cover = "chaff"

[claim]
epsilon_central = 1.0
delta = 1e-6
neighbors = "removal"
bound = "exact"
"#;

const FRAGMENTED: &str = r#"kind = "report-fragments"
epsilon_backstop = 5.25
epsilon_fragment = 4.0
fragments = 4"#;

const SKETCHED: &str = r#"kind = "sketch"
domain = 1000000000000
rows = 1024
cells = 65536
seed = 7"#;

const RECORD: &str = r#"kind = "record"
attributes = [{ name = "age", values = 9 }, { name = "sex", values = 2 }, { name = "county", values = 773 }]"#;

const LABELS: &str = r#"
[labels]
names = ["de", "fr"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
epsilon_label = 1.5
"#;

const PROFILES: &str = r#"
[labels]
names = ["de", "fr", "1.0"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
profiles = { fr = [1, 3], "1.0" = [2] }
"#;

/// Some of the parties, sharing all that they should not share.
const PARTIES: &str = r#"
[parties.analyzer]
operator = "Z"
jurisdiction = "CH"
signing_key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

[[parties.instances]]
hops = [
  { operator = "X", jurisdiction = "DE", signing_key = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c" },
  { operator = "Y", jurisdiction = " ch", signing_key = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025" },
]

[[parties.instances]]
hops = [
  { operator = "x ", jurisdiction = "US-CA", signing_key = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025" },
]
"#;

const KEY_A: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
const KEY_B: &str = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";

#[test]
fn samples_are_read_and_written_back() {
    let plain = SAMPLE.to_owned();
    let fragmented = plain.replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", FRAGMENTED);
    let sketched = plain.replace("kind = \"one-hot\"\ndomain = 784", SKETCHED);
    let record = plain.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
    let complete = plain.clone() + LABELS + PARTIES;
    let profiles = plain.clone() + PROFILES + PARTIES;
    let never = fragmented.replace("fragments = 4", "fragments = 4\nanswer_changes = \"never\"");
    for text in [plain, fragmented, never, sketched, record, complete, profiles] {
        let survey = Survey::from_toml(&text).unwrap();
        assert_eq!(Survey::from_toml(&survey.to_toml().unwrap()).unwrap(), survey);
    }
    let survey = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!((survey.domain(), survey.delivery.cover), (784, Cover::Chaff));
}

/// Absent it means "allowed"; it is part of what is signed; and without a backstop there is nothing that it could mean.
#[test]
fn a_survey_says_whether_answers_may_change() {
    let text = SAMPLE.replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", FRAGMENTED);
    let with =
        |changes: &str| text.replace("fragments = 4", &format!("fragments = 4\nanswer_changes = {changes}"));
    let read = |text: &str| Survey::from_toml(text).unwrap();
    assert_eq!(read(&text).answer_changes(), Some(AnswerChanges::Allowed));
    assert_eq!(read(&with("\"allowed\"")).answer_changes(), Some(AnswerChanges::Allowed));
    let never = read(&with("\"never\""));
    assert_eq!(never.answer_changes(), Some(AnswerChanges::Never));
    assert!(never.canonical().unwrap().contains(r#""answer_changes":"never""#));
    assert_ne!(never.hash().unwrap(), read(&text).hash().unwrap());
    assert_eq!(read(&never.to_toml().unwrap()), never);
    assert!(Survey::from_toml(&with("\"sometimes\"")).is_err() && Survey::from_toml(&with("true")).is_err());
    assert_eq!(read(SAMPLE).answer_changes(), None);
    let plain = SAMPLE.replace("epsilon_local = 5.25", "epsilon_local = 5.25\nanswer_changes = \"never\"");
    let refused = Survey::from_toml(&plain).unwrap_err().to_string();
    assert!(refused.contains("answer_changes"), "{refused}");
}

#[test]
fn sealed_batches_are_kept_for_a_month_or_as_long_as_the_survey_says() {
    let sample = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!(sample.keep_sealed_s(), 30 * 86400);
    assert!(!sample.canonical().unwrap().contains("keep_sealed_s"), "older surveys keep their hash");
    let keep = |seconds: u64| {
        let mut survey = sample.clone();
        survey.delivery.keep_sealed_s = Some(seconds);
        survey.to_toml().and_then(|text| Survey::from_toml(&text)).map(|read| read.keep_sealed_s())
    };
    assert_eq!(keep(sample.epoch_s), Ok(sample.epoch_s));
    assert!(keep(sample.epoch_s - 1).is_err() && keep(u64::MAX).is_err());
    let long = Survey { epoch_s: 40 * 86400, ..sample.clone() };
    assert_eq!(long.keep_sealed_s(), 40 * 86400, "no less than an epoch");
}

#[test]
fn batches_wait_for_a_month_or_as_long_as_the_survey_says() {
    let sample = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!(sample.keep_batches_s(), 30 * 86400);
    assert!(!sample.canonical().unwrap().contains("keep_batches_s"));
    let keep = |seconds: u64| {
        let mut survey = sample.clone();
        survey.delivery.keep_batches_s = Some(seconds);
        survey.to_toml().and_then(|text| Survey::from_toml(&text)).map(|read| read.keep_batches_s())
    };
    assert_eq!(keep(sample.epoch_s), Ok(sample.epoch_s));
    let mut stated = sample.clone();
    stated.delivery.keep_batches_s = Some(86400);
    assert!(
        stated.canonical().unwrap().contains("\"instances\":3,\"keep_batches_s\":86400"),
        "its place in JSON"
    );
    let refused = keep(sample.epoch_s - 1).unwrap_err().to_string();
    assert!(refused.contains("delivery.keep_batches_s") && keep(u64::MAX).is_err(), "{refused}");
    let long = Survey { epoch_s: 40 * 86400, ..sample.clone() };
    assert_eq!(long.keep_batches_s(), 40 * 86400, "no less than an epoch");
}

/// Values side by side in the order of the file, in one report or in fragments of one.
#[test]
fn records_have_the_values_of_all_their_attributes() {
    let text = SAMPLE.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
    let survey = Survey::from_toml(&text).unwrap();
    assert_eq!((survey.domain(), survey.attributes()), (784, 784));
    assert!(survey.canonical().unwrap().contains(
        r#""encoding":{"attributes":[{"name":"age","values":9},{"name":"sex","values":2},{"name":"county","values":773}],"kind":"record"}"#
    ));
    let mechanism = survey.mechanism().unwrap();
    assert!(matches!(&mechanism, Mechanism::Runs(runs) if runs.runs() == 1));
    let record = mechanism.record().unwrap().clone();
    let ranges: Vec<_> = (0..3).map(|attribute| record.layout().range(attribute)).collect();
    assert_eq!(ranges, [0..9, 9..11, 11..784]);
    let fragmented = text.replace("kind = \"attribute-fragments\"\nepsilon_local = 5.25", FRAGMENTED);
    let mechanism = Survey::from_toml(&fragmented).unwrap().mechanism().unwrap();
    assert!(matches!(&mechanism, Mechanism::Fragments(tau) if tau.tau() == 4));
    assert_eq!(mechanism.record().unwrap().layout(), record.layout());
    // The order and the names are part of what is asked.
    let mut hashes = vec![survey.hash().unwrap()];
    for (from, to) in [
        ("\"sex\"", "\"gender\""),
        (
            "{ name = \"age\", values = 9 }, { name = \"sex\", values = 2 }",
            "{ name = \"sex\", values = 2 }, { name = \"age\", values = 9 }",
        ),
        ("values = 773", "values = 774"),
    ] {
        let other = text.replace(from, to);
        assert_ne!(other, text);
        hashes.push(Survey::from_toml(&other).unwrap().hash().unwrap());
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 4);
}

#[test]
fn records_that_make_no_sense_are_refused() {
    let text = SAMPLE.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
    for (from, to) in [
        ("values = 2 }", "values = 1 }"),
        ("values = 2 }", "values = 0 }"),
        ("values = 2 }", "values = 4294966515 }"),
        ("\"sex\"", "\"age\""),
        ("\"sex\"", "\"\""),
        ("\"sex\"", "\"s=x\""),
        ("attributes = [{", "attributes = [] # [{"),
    ] {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, text);
        match Survey::from_toml(&wrong) {
            Err(Error::Field { field, .. }) => assert_eq!(field, "encoding.attributes", "{to}"),
            other => panic!("{to}: {other:?}"),
        }
    }
    let largest = text.replace("values = 2 }", "values = 4294966514 }");
    assert_eq!(Survey::from_toml(&largest).unwrap().domain(), 1 << 32);
    for (from, to) in [
        ("values = 2 }", "values = 2, size = 2 }"),
        ("values = 2 }", "values = -2 }"),
        ("name = \"sex\", ", ""),
        ("kind = \"record\"", "kind = \"record\"\ndomain = 784"),
    ] {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, text);
        assert!(matches!(Survey::from_toml(&wrong), Err(Error::Format(_))), "{to}");
    }
}

/// A label without a profile sends everywhere, and so does an answer without a label.
#[test]
fn trust_profiles_say_which_instances_get_fragments() {
    let survey = Survey::from_toml(&(SAMPLE.to_owned() + PROFILES)).unwrap();
    let receiving: Vec<Vec<u32>> = survey.label_numbers().map(|label| survey.receiving(label)).collect();
    assert_eq!(receiving, [vec![1, 2, 3], vec![1, 3], vec![2]]);
    let labels = survey.labels.as_ref().unwrap();
    assert_eq!((labels.profile(1), labels.profile(2), labels.profile(0)), (None, Some(&[1, 3][..]), None));
    assert_eq!((labels.name(3), labels.name(4), labels.name(0)), (Some("1.0"), None, None));
    assert!(survey.canonical().unwrap().contains(
        r#""labels":{"delta_deletion":1e-9,"epsilon_deletion":0.2,"names":["de","fr","1.0"],"profiles":{"1.0":[2],"fr":[1,3]}}"#
    ));
    let plain = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!((plain.label_numbers(), plain.receiving(0)), (0..=0, vec![1, 2, 3]));
    // Who gets fragments is part of what is agreed on; a survey without profiles is hashed as it was without the field.
    let mut hashes = Vec::new();
    for (from, to) in [
        ("", ""),
        ("fr = [1, 3]", "fr = [1, 2]"),
        ("fr = [1, 3]", "fr = [1, 2, 3]"),
        ("fr = [1, 3]", "de = [1, 3]"),
        ("profiles = { fr = [1, 3], \"1.0\" = [2] }", ""),
    ] {
        let text = SAMPLE.to_owned() + &PROFILES.replace(from, to);
        hashes.push(Survey::from_toml(&text).unwrap().hash().unwrap());
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn trust_profiles_that_protect_nobody_are_refused_with_a_reason() {
    let text = SAMPLE.to_owned() + PROFILES;
    for (from, to, because) in [
        ("fr = [1, 3]", "fr = []", "at least one instance"),
        ("fr = [1, 3]", "fr = [1, 4]", "from 1 to delivery.instances"),
        ("fr = [1, 3]", "fr = [0, 1]", "from 1 to delivery.instances"),
        ("fr = [1, 3]", "fr = [1, 1]", "each instance once"),
        ("fr = [1, 3]", "fr = [3, 1]", "in rising order"),
        ("fr = [1, 3]", "it = [1, 3]", "labels.names lists"),
        ("{ fr = [1, 3], \"1.0\" = [2] }", "{}", "leave the table out"),
        ("delta_deletion", "epsilon_label = 1.5\ndelta_deletion", "leave epsilon_label out"),
        ("cover = \"chaff\"", "cover = \"none\"", "need cover"),
        ("instances = 3", "instances = 2", "from 1 to delivery.instances"),
    ] {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, text);
        match Survey::from_toml(&wrong) {
            Err(Error::Field { field: "labels.profiles", reason }) => {
                assert!(reason.contains(because), "{to}: {reason}");
            }
            other => panic!("{to}: {other:?}"),
        }
    }
    for (from, to) in
        [("fr = [1, 3]", "fr = 1"), ("fr = [1, 3]", "fr = [-1]"), ("fr = [1, 3]", "fr = [1], fr = [3]")]
    {
        assert!(matches!(Survey::from_toml(&text.replace(from, to)), Err(Error::Format(_))), "{to}");
    }
}

#[test]
fn unknown_and_missing_fields_are_refused() {
    for (from, to) in [
        ("hops = 2", "hops = 2\nhop = 3"),
        ("domain = 784", "domain = 784\nrows = 3"),
        ("cover = \"chaff\"", ""),
        ("cover = \"chaff\"", "cover = \"maybe\""),
        ("version = 1", "version = \"1\""),
        ("enrolment = \"credential\"", ""),
        ("enrolment = \"credential\"", "enrolment = \"anyone\""),
    ] {
        let text = SAMPLE.replace(from, to);
        assert_ne!(text, SAMPLE);
        assert!(matches!(Survey::from_toml(&text), Err(Error::Format(_))), "{to}");
    }
}

#[test]
fn unknown_fields_of_parties_and_labels_are_refused() {
    let complete = SAMPLE.to_owned() + LABELS + PARTIES;
    for (from, to) in [
        ("delta_deletion = 1e-9", "delta_deletion = 1e-9\nshift = 3"),
        ("operator = \"Z\"", "operator = \"Z\"\nurl = \"https://z.example\""),
        ("operator = \"Z\"", ""),
        ("[[parties.instances]]", "[[parties.instances]]\nname = \"first\""),
        (KEY_A, &KEY_A.to_uppercase()),
        (KEY_A, &KEY_A[..62]),
        (KEY_A, "0100000000000000000000000000000000000000000000000000000000000000"),
    ] {
        let text = complete.replacen(from, to, 1);
        assert_ne!(text, complete);
        assert!(matches!(Survey::from_toml(&text), Err(Error::Format(_))), "{to}");
    }
}

#[test]
fn the_hash_is_of_what_the_file_says_not_of_how() {
    let survey = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!(
        survey.canonical().unwrap(),
        r#"{"claim":{"bound":"exact","delta":0.000001,"epsilon_central":1,"neighbors":"removal"},"crowd":{"enrolment":"credential","honest_fraction":0.9,"respondents_min":3000},"delivery":{"cover":"chaff","envelopes":24,"hops":2,"instances":3},"encoding":{"domain":784,"kind":"one-hot"},"epoch_s":86400,"name":"which-pixel","question":"Which pixel of the drawing do you hold?","randomizer":{"epsilon_local":5.25,"kind":"attribute-fragments"},"version":1}"#
    );
    let same = SAMPLE
        .replace("epsilon_central = 1.0", "epsilon_central = 1 # as an integer")
        .replace("1e-6", "0.000_001");
    assert_eq!(Survey::from_toml(&same).unwrap().hash(), survey.hash());
    let complete = SAMPLE.to_owned() + LABELS + PARTIES;
    let mut hashes = vec![survey.hash().unwrap()];
    for (from, to) in [
        ("", ""),
        ("5.25", "5.250000000000001"),
        ("3000", "2999"),
        ("\"de\", \"fr\"", "\"fr\", \"de\""),
        ("\"credential\"", "\"open\""),
        (KEY_A, KEY_B),
        ("\"CH\"", "\"IS\""),
        ("86400", "86399"),
    ] {
        hashes.push(Survey::from_toml(&complete.replace(from, to)).unwrap().hash().unwrap());
    }
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count, "one changed digit is another survey");
}

#[test]
fn a_draft_says_who_is_missing() {
    let draft = Survey::from_toml(SAMPLE).unwrap();
    match draft.ready() {
        Err(Error::Draft(missing)) => assert_eq!(missing, draft.places().collect::<Vec<_>>()),
        other => panic!("{other:?}"),
    }
    let partly = Survey::from_toml(&(SAMPLE.to_owned() + PARTIES)).unwrap();
    assert_eq!(
        partly.ready().unwrap_err().to_string(),
        "the survey is a draft; it has no party yet for: instance-2-hop-2, instance-3-hop-1, instance-3-hop-2"
    );
    let smaller = SAMPLE.replace("instances = 3", "instances = 1") + PARTIES.rsplit_once("[[").unwrap().0;
    assert_eq!(Survey::from_toml(&smaller).unwrap().ready(), Ok(()));
}

#[test]
fn what_parties_share_is_warned_about() {
    let survey = Survey::from_toml(&(SAMPLE.to_owned() + PARTIES)).unwrap();
    let warnings: Vec<String> = survey.warnings().iter().map(Warning::to_string).collect();
    assert_eq!(
        warnings,
        [
            "instance-1-hop-1, instance-2-hop-1 share the operator X: they may act as one".to_owned(),
            "analyzer, instance-1-hop-2 share the jurisdiction CH: they may act as one".to_owned(),
            format!("instance-1-hop-2, instance-2-hop-1 share the signing key {KEY_B}: they may act as one"),
        ]
    );
    let open = SAMPLE.replace("\"credential\"", "\"open\"").replace("hops = 2", "hops = 1");
    assert_eq!(Survey::from_toml(&open).unwrap().warnings(), [Warning::OpenEnrolment, Warning::OneHop]);
    assert_eq!(Survey::from_toml(SAMPLE).unwrap().warnings(), []);
}

#[test]
fn epochs_follow_the_clock() {
    let survey = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!((survey.epoch_at(0), survey.epoch_at(86399), survey.epoch_at(86400)), (0, 0, 1));
    assert_eq!(survey.epoch_end_s(survey.epoch_at(1_700_000_000)) % 86400, 0);
    assert_eq!(survey.epoch_at(survey.epoch_end_s(7)), 8);
}

#[test]
fn values_that_make_no_sense_are_refused_with_their_field() {
    for (from, to, named) in [
        ("version = 1", "version = 2", "version"),
        ("name = \"which-pixel\"", "name = \"a/b\"", "name"),
        ("epoch_s = 86400", "epoch_s = 0", "epoch_s"),
        ("domain = 784", "domain = 0", "encoding.domain"),
        ("epsilon_local = 5.25", "epsilon_local = nan", "randomizer.epsilon_local"),
        ("epsilon_local = 5.25", "epsilon_local = 0.0", "randomizer.epsilon_local"),
        ("respondents_min = 3000", "respondents_min = 1", "crowd.respondents_min"),
        ("honest_fraction = 0.9", "honest_fraction = 1.1", "crowd.honest_fraction"),
        ("instances = 3", "instances = 0", "delivery"),
        ("delta = 1e-6", "delta = 1.0", "claim.delta"),
        ("neighbors = \"removal\"", "neighbors = \"replacement\"", "claim.neighbors"),
        ("bound = \"exact\"", "bound = \"guess\"", "claim.bound"),
        ("epsilon_central = 1.0", "epsilon_central = inf", "claim.epsilon_central"),
        ("respondents_min = 3000", "respondents_min = 9007199254740992", "crowd.respondents_min"),
        ("hops = 2", "hops = 17", "delivery"),
        ("envelopes = 24", "envelopes = 4000000000", "delivery.envelopes"),
        ("instances = 3", "instances = 1", "parties.instances"),
        ("hops = 2", "hops = 1", "parties.instances"),
        ("operator = \"Z\"", "operator = \" \"", "parties: operator"),
        ("operator = \"Z\"", "operator = \"Z\u{202e}\"", "parties: operator"),
        ("hold?", "hold?\\n", "question"),
        ("hold?", "hold\u{200b}?", "question"),
        ("\"CH\"", "\"C\\nH\"", "parties: jurisdiction"),
        ("honest_fraction = 0.9\n", "", "crowd.honest_fraction"),
        ("[\"de\", \"fr\"]", "[\"de\", \"de\"]", "labels.names"),
        ("[\"de\", \"fr\"]", "[]", "labels.names"),
        ("[\"de\", \"fr\"]", "[\"d/e\"]", "labels.names"),
        ("epsilon_deletion = 0.2", "epsilon_deletion = 0.0", "labels.epsilon_deletion"),
        ("delta_deletion = 1e-9", "delta_deletion = 0.0", "labels.delta_deletion"),
        ("epsilon_label = 1.5", "epsilon_label = -1.0", "labels.epsilon_label"),
    ] {
        let complete = SAMPLE.to_owned() + LABELS + PARTIES;
        let text = complete.replace(from, to);
        assert_ne!(text, complete);
        match Survey::from_toml(&text) {
            Err(Error::Field { field, .. }) => assert_eq!(field, named),
            other => panic!("{to}: {other:?}"),
        }
    }
}

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
    let sample = Survey::from_toml(&(SAMPLE.to_owned() + LABELS + PARTIES)).unwrap();
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

/// Who runs everything alone may leave the honest share out, which is then all; with others it is stated.
#[test]
fn operators_who_sign_together_state_the_honest_share() {
    let unstated = SAMPLE.replace("honest_fraction = 0.9\n", "");
    let draft = Survey::from_toml(&unstated).unwrap();
    assert_eq!((draft.crowd.honest_fraction, draft.honest_fraction()), (None, 1.0));
    assert!(!draft.canonical().unwrap().contains("honest_fraction"));
    assert_ne!(
        draft.hash(),
        Survey::from_toml(&unstated.replace("[crowd]", "[crowd]\nhonest_fraction = 1.0")).unwrap().hash()
    );
    let alone = PARTIES.replace("\"Y\"", "\"X\"").replace("\"Z\"", "\"X\"");
    Survey::from_toml(&(unstated.clone() + &alone)).unwrap();
    let error = Survey::from_toml(&(unstated + PARTIES)).unwrap_err().to_string();
    assert!(error.contains("crowd.honest_fraction") && error.contains("more than one operator"), "{error}");
}

fn named(names: &str) -> String {
    SAMPLE.replace("domain = 784", "domain = 3") + "[values]\nnames = " + names + "\n"
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
    let plain = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!(plain.value_name(7), "7");
    assert!(!plain.canonical().unwrap().contains("values"));
    let record = SAMPLE.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
    let record = record.replace("values = 2 }", "values = 2, names = [\"f\", \"m\"] }");
    let survey = Survey::from_toml(&record).unwrap();
    assert_eq!(
        [8, 9, 10, 11].map(|value| survey.value_name(value)),
        ["age = 8", "sex = f", "sex = m", "county = 0"]
    );
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
    let record = SAMPLE.replace("kind = \"one-hot\"\ndomain = 784", RECORD);
    let beside = record.clone() + "[values]\nnames = [\"a\"]\n";
    assert!(matches!(Survey::from_toml(&beside), Err(Error::Field { field: "values", .. })));
    let one = record.replace("values = 2 }", "values = 2, names = [\"f\"] }");
    assert!(matches!(Survey::from_toml(&one), Err(Error::Field { field: "encoding.attributes.names", .. })));
}

#[test]
fn a_name_is_no_hidden_file_and_no_way_up() {
    let named = |name: &str| Survey::from_toml(&SAMPLE.replace("which-pixel", name));
    for name in ["a", "a.b", "-_.Z9", "v1..2", &"x".repeat(100)] {
        assert!(named(name).is_ok(), "{name}");
    }
    for name in [".", "..", ".a", "...", "", "a/b", "a b", &"x".repeat(101)] {
        assert!(matches!(named(name), Err(Error::Field { field: "name", .. })), "{name}");
    }
}

#[test]
fn the_only_mode_is_shuffled() {
    let with = |mode: &str| {
        Survey::from_toml(&SAMPLE.replace("version = 1", &format!("version = 1\nmode = \"{mode}\"")))
    };
    assert_eq!(with("shuffled").unwrap().mode(), Mode::Shuffled);
    assert_eq!(Survey::from_toml(SAMPLE).unwrap().mode(), Mode::Shuffled);
    assert!(with("central").is_err() && with("").is_err());
}

#[test]
fn a_survey_is_read_from_its_canonical_json_and_from_no_other() {
    for text in [SAMPLE.to_owned(), SAMPLE.to_owned() + LABELS + PARTIES] {
        let survey = Survey::from_toml(&text).unwrap();
        let json = survey.canonical().unwrap();
        assert_eq!(Survey::from_json(&json).unwrap(), survey);
        for other in [
            format!("{json}\n"),
            json.replace("\"version\":1", "\"version\":1.0"),
            json.replacen(',', ", ", 1),
            json.replacen("\"version\":1", "\"version\":1,\"zzz\":1", 1),
            json.replacen("\"version\":1", "\"version\":2", 1),
        ] {
            assert!(Survey::from_json(&other).is_err(), "{other}");
        }
    }
}

/// How long a payload is follows from the survey; in version 1 it is the same for all.
#[test]
fn a_payload_is_as_long_as_the_survey_has_it() {
    let survey = Survey::from_toml(SAMPLE).unwrap();
    assert_eq!(survey.payload_len(), 8);
    let delivery = &survey.delivery;
    assert_eq!(survey.body_len(), crate::lengths::body_len(8, delivery.hops, delivery.envelopes));
    assert_eq!((survey.issuer(), survey.hop_noise()), (Issuer::FirstHops, HopNoise::None));
}

/// Types make room for what comes; files do not: what has no meaning yet is refused, not ignored.
#[test]
fn fields_without_a_meaning_yet_are_refused() {
    let complete = SAMPLE.to_owned() + LABELS + PARTIES;
    Survey::from_toml(&complete).unwrap();
    for (table, field) in [
        ("[delivery]", "payload_len = 8"),
        ("[delivery]", "noise = 0.5"),
        ("[delivery]", "hop_noise = { kind = \"none\" }"),
        ("[encoding]", "payload_len = 8"),
        ("[crowd]", "issuer = \"Z\""),
        ("[parties.analyzer]", "issuer = true"),
    ] {
        let text = complete.replacen(table, &format!("{table}\n{field}"), 1);
        assert_ne!(text, complete, "{table}");
        assert!(matches!(Survey::from_toml(&text), Err(Error::Format(_))), "{table} {field}");
    }
    let key = "00".repeat(32);
    for table in [
        format!("[parties.issuer]\noperator = \"Z\"\njurisdiction = \"CH\"\nsigning_key = \"{key}\"\n"),
        "[noise]\nkind = \"none\"\n".to_owned(),
        "[issuer]\noperator = \"Z\"\n".to_owned(),
    ] {
        let error = Survey::from_toml(&format!("{complete}\n{table}")).unwrap_err();
        assert!(matches!(&error, Error::Format(text) if text.contains("unknown field")), "{table}: {error}");
    }
}
