//! Checks of a hop's log (attack 14 of the threat model): no count is in it, and nothing that a respondent sent.

use std::thread;
use std::time::Duration;

use serde_json::Value;
use throng_wire::Place;

use crate::town::Town;

/// The events that a hop has logged, after a look at every line of it.
pub fn events(town: &Town, place: Place) -> Vec<Value> {
    let log = town.log(place);
    let secrets: Vec<String> = town
        .credentials
        .iter()
        .map(|one| one.token(&town.deployment.bundle.survey().hash(), Place::hop(1, 1)).to_text().to_string())
        .collect();
    assert!(!log.contains("127.0.0.1") && secrets.iter().all(|token| !log.contains(token)), "{log}");
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        for (name, value) in event.as_object().unwrap() {
            let fits = match name.as_str() {
                "time" | "level" | "event" | "survey" | "outcome" | "work" => value.is_string(),
                "party" => [&*place.to_string(), "shuffler"].contains(&value.as_str().unwrap()),
                "epoch" | "label" | "instance" | "again_after_s" => value.is_u64(),
                // Words, names of places and of errors of the operating system.
                "reason" => town
                    .hops()
                    .iter()
                    .fold(value.as_str().unwrap().to_owned(), |text, one| text.replace(&one.to_string(), ""))
                    .replace(" answers ", "(")
                    .split('(')
                    .all(|text| {
                        // The number of an error, or the status of an answer.
                        let text = text.strip_prefix("os error ").unwrap_or(text);
                        let text = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
                        !text.contains(|letter: char| letter.is_ascii_digit())
                    }),
                _ => false,
            };
            assert!(fits, "{name}: {event}");
        }
    }
    events
}

/// Waits for an event: a hop says what it has done after others can see it.
pub fn wait_for(town: &Town, place: Place, is_wanted: impl Fn(&Value) -> bool) {
    while !events(town, place).iter().any(&is_wanted) {
        thread::sleep(Duration::from_millis(20));
    }
}
