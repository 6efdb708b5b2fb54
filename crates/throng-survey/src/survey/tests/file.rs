//! What a survey file may say: it is read, written, hashed, or refused with the field that is wrong.

use super::*;

#[test]
fn samples_are_read_and_written_back() {
    let plain = sample();
    let [fragmented, sketched, record] = [FRAGMENTED, hourly::SKETCHED, RECORD].map(tables);
    let complete = plain.clone() + LABELS + PARTIES;
    let profiles = plain.clone() + PROFILES + PARTIES;
    let never = fragmented.replace("fragments = 4", "fragments = 4\nanswer_changes = \"never\"");
    for text in [plain, fragmented, never, sketched, record, complete, profiles] {
        let survey = Survey::from_toml(&text).unwrap();
        assert_eq!(Survey::from_toml(&survey.to_toml().unwrap()).unwrap(), survey);
    }
    let survey = Survey::from_toml(&sample()).unwrap();
    assert_eq!((survey.domain(), survey.delivery.cover), (784, Cover::Chaff));
}

#[test]
fn a_survey_is_read_from_its_canonical_json_and_from_no_other() {
    for text in [sample(), sample() + LABELS + PARTIES] {
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

#[test]
fn the_hash_is_of_what_the_file_says_not_of_how() {
    let survey = Survey::from_toml(&sample()).unwrap();
    assert_eq!(
        survey.canonical().unwrap(),
        r#"{"claim":{"bound":"exact","delta":0.000001,"epsilon_central":1,"neighbors":"removal"},"crowd":{"enrolment":"credential","honest_fraction":0.9,"respondents_min":100000},"delivery":{"cover":"chaff","envelopes":40,"hops":2,"instances":3},"encoding":{"domain":784,"kind":"one-hot"},"epoch_s":86400,"name":"which-pixel","question":"Which pixel of the drawing do you hold?","randomizer":{"epsilon_local":5.25,"kind":"attribute-fragments"},"version":1}"#
    );
    let same = sample()
        .replace("epsilon_central = 1.0", "epsilon_central = 1 # as an integer")
        .replace("1e-6", "0.000_001");
    assert_eq!(Survey::from_toml(&same).unwrap().hash(), survey.hash());
    let complete = sample() + LABELS + PARTIES;
    let mut hashes = vec![survey.hash().unwrap()];
    for (from, to) in [
        ("", ""),
        ("5.25", "5.250000000000001"),
        ("100000", "99999"),
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
        let text = sample().replace(from, to);
        assert_ne!(text, sample());
        assert!(matches!(Survey::from_toml(&text), Err(Error::Format(_))), "{to}");
    }
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
        ("respondents_min = 100000", "respondents_min = 1", "crowd.respondents_min"),
        ("honest_fraction = 0.9", "honest_fraction = 1.1", "crowd.honest_fraction"),
        ("instances = 3", "instances = 0", "delivery"),
        ("delta = 1e-6", "delta = 1.0", "claim.delta"),
        ("neighbors = \"removal\"", "neighbors = \"replacement\"", "claim.neighbors"),
        ("bound = \"exact\"", "bound = \"guess\"", "claim.bound"),
        ("epsilon_central = 1.0", "epsilon_central = inf", "claim.epsilon_central"),
        ("respondents_min = 100000", "respondents_min = 9007199254740992", "crowd.respondents_min"),
        ("hops = 2", "hops = 17", "delivery"),
        ("envelopes = 40", "envelopes = 4000000000", "delivery.envelopes"),
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
        let complete = sample() + LABELS + PARTIES;
        let text = complete.replace(from, to);
        assert_ne!(text, complete);
        match Survey::from_toml(&text) {
            Err(Error::Field { field, .. }) => assert_eq!(field, named),
            other => panic!("{to}: {other:?}"),
        }
    }
}

/// Types make room for what comes; files do not: what has no meaning yet is refused, not ignored.
#[test]
fn fields_without_a_meaning_yet_are_refused() {
    let complete = sample() + LABELS + PARTIES;
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

#[test]
fn the_only_mode_is_shuffled() {
    let with = |mode: &str| {
        Survey::from_toml(&sample().replace("version = 1", &format!("version = 1\nmode = \"{mode}\"")))
    };
    assert_eq!(with("shuffled").unwrap().mode(), Mode::Shuffled);
    assert_eq!(Survey::from_toml(&sample()).unwrap().mode(), Mode::Shuffled);
    assert!(with("central").is_err() && with("").is_err());
}

/// Absent it means "allowed"; it is part of what is signed; and without a backstop there is nothing that it could mean.
#[test]
fn a_survey_says_whether_answers_may_change() {
    let text = tables(FRAGMENTED);
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
    assert_eq!(read(&sample()).answer_changes(), None);
    let plain = sample().replace("epsilon_local = 5.25", "epsilon_local = 5.25\nanswer_changes = \"never\"");
    let refused = Survey::from_toml(&plain).unwrap_err().to_string();
    assert!(refused.contains("answer_changes"), "{refused}");
}
