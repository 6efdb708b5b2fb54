//! Surveys of records with several attributes.

use super::*;

/// Values side by side in the order of the file, in one report or in fragments of one.
#[test]
fn records_have_the_values_of_all_their_attributes() {
    let text = tables(RECORD);
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
    let mechanism = Survey::from_toml(hourly::RECORD).unwrap().mechanism().unwrap();
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
    let text = tables(RECORD);
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
