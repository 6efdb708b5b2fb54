//! Who runs a survey: drafts, what parties share, and what they state.

use super::*;

#[test]
fn a_draft_says_who_is_missing() {
    let draft = Survey::from_toml(&sample()).unwrap();
    match draft.ready() {
        Err(Error::Draft(missing)) => assert_eq!(missing, draft.places().collect::<Vec<_>>()),
        other => panic!("{other:?}"),
    }
    let partly = Survey::from_toml(&(sample() + PARTIES)).unwrap();
    assert_eq!(
        partly.ready().unwrap_err().to_string(),
        "the survey is a draft; it has no party yet for: instance-2-hop-2, instance-3-hop-1, instance-3-hop-2"
    );
    let smaller = sample().replace("instances = 3", "instances = 1") + PARTIES.rsplit_once("[[").unwrap().0;
    assert_eq!(Survey::from_toml(&smaller).unwrap().ready(), Ok(()));
}

#[test]
fn what_parties_share_is_warned_about() {
    let survey = Survey::from_toml(&(sample() + PARTIES)).unwrap();
    let warnings: Vec<String> = survey.warnings().iter().map(Warning::to_string).collect();
    assert_eq!(
        warnings,
        [
            "instance-1-hop-1, instance-2-hop-1 share the operator X: they may act as one".to_owned(),
            "analyzer, instance-1-hop-2 share the jurisdiction CH: they may act as one".to_owned(),
            format!("instance-1-hop-2, instance-2-hop-1 share the signing key {KEY_B}: they may act as one"),
        ]
    );
    let open = sample().replace("\"credential\"", "\"open\"").replace("hops = 2", "hops = 1");
    assert_eq!(Survey::from_toml(&open).unwrap().warnings(), [Warning::OpenEnrolment, Warning::OneHop]);
    assert_eq!(Survey::from_toml(&sample()).unwrap().warnings(), []);
}

/// Who runs everything alone may leave the honest share out, which is then all; with others it is stated.
#[test]
fn operators_who_sign_together_state_the_honest_share() {
    let unstated = sample().replace("honest_fraction = 0.9\n", "");
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

#[test]
fn unknown_fields_of_parties_and_labels_are_refused() {
    let complete = sample() + LABELS + PARTIES;
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
