//! Trust profiles of labels.

use super::*;

/// A label without a profile sends everywhere, and so does an answer without a label.
#[test]
fn trust_profiles_say_which_instances_get_fragments() {
    let survey = Survey::from_toml(&(sample() + PROFILES)).unwrap();
    let receiving: Vec<Vec<u32>> = survey.label_numbers().map(|label| survey.receiving(label)).collect();
    assert_eq!(receiving, [vec![1, 2, 3], vec![1, 3], vec![2]]);
    let labels = survey.labels.as_ref().unwrap();
    assert_eq!((labels.profile(1), labels.profile(2), labels.profile(0)), (None, Some(&[1, 3][..]), None));
    assert_eq!((labels.name(3), labels.name(4), labels.name(0)), (Some("1.0"), None, None));
    assert!(survey.canonical().unwrap().contains(
        r#""labels":{"delta_deletion":1e-9,"epsilon_deletion":0.2,"names":["de","fr","1.0"],"profiles":{"1.0":[2],"fr":[1,3]}}"#
    ));
    let plain = Survey::from_toml(&sample()).unwrap();
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
        let text = sample() + &PROFILES.replace(from, to);
        hashes.push(Survey::from_toml(&text).unwrap().hash().unwrap());
    }
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn trust_profiles_that_protect_nobody_are_refused_with_a_reason() {
    let text = sample() + PROFILES;
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
fn a_label_is_meant_by_its_name_and_none_where_there_are_none() {
    let plain = Survey::from_toml(&sample()).unwrap();
    let labelled = Survey::from_toml(&(sample() + LABELS)).unwrap();
    assert_eq!((plain.label_number(None), labelled.label_number(Some("fr"))), (Ok(0), Ok(2)));
    let refused = |survey: &Survey, name| survey.label_number(name).unwrap_err().to_string();
    assert!(refused(&plain, Some("de")).contains("leave the label out"));
    for name in [None, Some("1"), Some("")] {
        assert!(refused(&labelled, name).contains("labels: de, fr"), "{name:?}");
    }
}
