//! Respondents who send what is not theirs, or not for here.

use serde_json::json;
use throng_host::net::client::SendError;
use throng_testing::crowd::{Turnout, everyone, release, sealed, tally, two_instances, until_taken};
use throng_testing::town::{Town, sender};
use throng_wire::{Place, Route};

use crate::THRONG;

/// What a bad respondent sends besides: a body of somebody else, of another survey, epoch or instance, or sealed to keys
/// that nobody has. Each is one respondent at most, and nothing is counted of it that is not its own. And one who fills all
/// envelopes with one value: what is not for this instance is not counted, and the release says what one liar can do.
#[test]
fn what_a_bad_respondent_sends_is_counted_once_at_most() {
    let mut town = two_instances(THRONG);
    town.start_all();
    town.start(Place::Analyzer, None);
    let elsewhere = town.elsewhere();
    let mut taken = false;
    let answered = everyone(&mut town, 8, |town, epoch| taken = bad_answers(town, &elsewhere, epoch).is_ok());
    assert!(taken, "everyone has answered, so there was time");
    let epoch = answered.epoch;
    until_taken(&town, &[1, 2], epoch);
    let released = release(&town, epoch);
    // Person 9 has sent what person 8 did, and is a respondent like others; what 10, 11 and 12 sent does not open. Person 13 lies.
    assert_eq!(released["respondents"], 11, "{released}");
    for instance in [1, 2] {
        let counted = tally(&town, instance, epoch).unwrap().counted.unwrap();
        let with_8 = Turnout { people: 9, ..answered.clone() };
        // Value 3 is counted by the second instance alone.
        let lies = if instance == 2 { LIES } else { 0 };
        assert_eq!(
            counted.tally.counts().sum::<u64>(),
            with_8.fragments(instance) + lies,
            "every fragment once"
        );
        assert_eq!(counted.rejected.foreign, LIES - lies);
    }
    for (reason, count) in released["rejected"].as_object().unwrap() {
        let expected = if reason == "foreign" { LIES } else { 0 };
        assert_eq!(*count, json!(expected), "{reason}: hops have dropped them before");
    }
    assert_eq!(released["one_liar"]["envelopes"], LIES);
    let said = town.release(&["--epoch", &epoch.to_string(), "--liars", "1"]).unwrap();
    assert_eq!(said["liars"], 1);
    let of_value_3 = |one: &serde_json::Value| one["value"] == 3;
    let value_3 = said["top"].as_array().unwrap().iter().find(|one| of_value_3(one)).unwrap();
    assert_eq!(value_3["significant_with_liars"], false, "one liar could have made it: {value_3}");
    assert!(value_3["low_with_liars"].as_f64() < Some(1.0), "{value_3}");
}

/// As many envelopes as a body has.
const LIES: u64 = 9;

fn bad_answers(town: &Town, elsewhere: &Town, epoch: u64) -> Result<(), SendError> {
    let sender = sender();
    for body in sealed(town, epoch, 8) {
        let route = town.route(body.instance, epoch);
        town.send(&sender, route, 8, body.bytes())?;
        // Under another credential, the very same bytes.
        town.send(&sender, route, 9, body.bytes())?;
    }
    for instance in 1..=2 {
        let route = town.route(instance, epoch);
        // For another epoch, for another instance, for another survey with other keys.
        town.send(&sender, route, 10, &town.body(Route { epoch: epoch + 1, ..route }, 3))?;
        town.send(&sender, route, 11, &town.body(Route { instance: 3 - instance, ..route }, 3))?;
        town.send(&sender, route, 12, &elsewhere.body(elsewhere.route(instance, epoch), 3))?;
        // Nothing but one value.
        town.send(&sender, route, 13, &town.body_of(route, &[3; LIES as usize]))?;
        // One person has one body.
        match town.send(&sender, route, 10, &town.body(route, 3)) {
            Err(SendError::Refused(text)) if text.contains("conflict") => {}
            Err(error) => return Err(error),
            Ok(_) => panic!("two bodies of one person"),
        }
    }
    Ok(())
}
