//! Respondents who send what is not theirs, or not for here.

use serde_json::json;
use throng::net::client::SendError;
use throng_wire::{Place, Route};

use crate::crowd::{Answered, everyone, release, sealed, tally, two_instances, until_taken};
use crate::town::{Town, sender};

/// What a bad respondent sends besides: a body of somebody else, of another survey, epoch or instance, or sealed to keys
/// that nobody has. Each is one respondent at most, and nothing is counted of it that is not its own.
#[test]
fn what_a_bad_respondent_sends_is_counted_once_at_most() {
    let mut town = two_instances();
    town.start_all();
    town.start(Place::Analyzer, None);
    let elsewhere = two_instances();
    let mut taken = false;
    let answered = everyone(&mut town, 8, |town, epoch| taken = bad_answers(town, &elsewhere, epoch).is_ok());
    assert!(taken, "everyone has answered, so there was time");
    let epoch = answered.epoch;
    until_taken(&town, &[1, 2], epoch);
    let released = release(&town, epoch);
    // Person 9 has sent what person 8 did, and is a respondent like others; what 10, 11 and 12 sent does not open.
    assert_eq!(released["respondents"], 10, "{released}");
    for instance in [1, 2] {
        let counted = tally(&town, instance, epoch).unwrap().counted.unwrap();
        let with_8 = Answered { people: 9, ..answered.clone() };
        assert_eq!(counted.tally.counts().sum::<u64>(), with_8.fragments(instance), "every fragment once");
    }
    for (reason, count) in released["rejected"].as_object().unwrap() {
        assert_eq!(*count, json!(0), "{reason}: hops have dropped them before");
    }
}

fn bad_answers(town: &Town, elsewhere: &Town, epoch: u64) -> Result<(), SendError> {
    let sender = sender();
    for body in sealed(town, epoch, 8).bodies {
        town.send(&sender, body.route, 8, &body.bytes)?;
        // Under another credential, the very same bytes.
        town.send(&sender, body.route, 9, &body.bytes)?;
    }
    for instance in 1..=2 {
        let route = town.route(instance, epoch);
        // For another epoch, for another instance, for another survey with other keys.
        town.send(&sender, route, 10, &town.body(Route { epoch: epoch + 1, ..route }, 3))?;
        town.send(&sender, route, 11, &town.body(Route { instance: 3 - instance, ..route }, 3))?;
        town.send(&sender, route, 12, &elsewhere.body(elsewhere.route(instance, epoch), 3))?;
        // One person has one body.
        match town.send(&sender, route, 10, &town.body(route, 3)) {
            Err(SendError::Refused(text)) if text.contains("conflict") => {}
            Err(error) => return Err(error),
            Ok(_) => panic!("two bodies of one person"),
        }
    }
    Ok(())
}
