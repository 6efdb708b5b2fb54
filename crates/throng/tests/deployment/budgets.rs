//! Surveys that share processes, people and what those people's privacy may be spent on.

use std::fs;

use throng_testing::crowd::{
    ATTRIBUTE_FRAGMENTS, ONE_HOT, Turnout, answer, everyone, ledger, release, survey, table, until_taken,
};
use throng_testing::town::Town;
use throng_wire::Place;

use crate::THRONG;

/// Both surveys are answered in one epoch, by the same people.
fn both(one: &mut Town, two: &Town) -> [Turnout; 2] {
    let mut second = Err(());
    let first = everyone(one, 8, |_, epoch| second = answer(two, epoch, 0..8).map_err(drop));
    let survey = two.deployment.bundle.survey().survey().clone();
    second.expect("the first survey was answered afterwards, in the same epoch");
    let second = Turnout { survey, ..first.clone() };
    [first, second]
}

fn number(release: &serde_json::Value, name: &str) -> f64 {
    release[name].as_f64().unwrap()
}

/// Another budget in the analyzer's file.
pub(crate) fn set_budget(town: &Town, epsilon: f64) {
    let path = town.config(Place::Analyzer);
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().find(|line| line.starts_with("epsilon_central")).unwrap();
    fs::write(&path, text.replace(line, &format!("epsilon_central = {epsilon}"))).unwrap();
}

/// Every process is a party of both surveys. What is released of one counts for the other.
#[test]
fn two_surveys_run_in_the_same_processes_and_share_a_budget() {
    let mut one = Town::of(THRONG, &survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, ""), true, 8);
    let randomizer =
        r#"{ kind = "report-fragments", epsilon_backstop = 3.0, epsilon_fragment = 3.0, fragments = 4 }"#;
    let two = one.second(&survey(r#"{ kind = "one-hot", domain = 5 }"#, randomizer, 16, ""));
    one.start_all();
    one.start(Place::Analyzer, None);
    let [first, second] = both(&mut one, &two);
    let epoch = first.epoch;
    until_taken(&one, &[1, 2], epoch);
    until_taken(&two, &[1, 2], epoch);
    let said = one.release(&["--epoch", &epoch.to_string()]).unwrap_err();
    assert!(said.0 == 2 && said.1.contains("say which with --survey"), "{}", said.1);

    let of = |town: &Town| {
        let survey = town.deployment.survey.display().to_string();
        one.release(&["--epoch", &epoch.to_string(), "--survey", &survey])
    };
    let (released_one, released_two) = (of(&one).unwrap(), of(&two).unwrap());
    assert_eq!(table(&released_one), first.in_memory(&[1, 2]));
    assert_eq!(table(&released_two), second.in_memory(&[1, 2]));
    let (alone, together) = (number(&released_one, "epsilon_spent"), number(&released_two, "epsilon_spent"));
    let sum = alone + number(&released_two, "epsilon_central");
    assert!(alone < together && together <= sum * 1.001, "{alone} < {together} <= {sum}");
    assert_eq!(ledger(&one).len(), 2);

    // In the next epoch there is no budget for both any more.
    set_budget(&one, together * 1.0001);
    let [first, _] = both(&mut one, &two);
    let epoch = first.epoch;
    until_taken(&one, &[1, 2], epoch);
    until_taken(&two, &[1, 2], epoch);
    let releases = one.path(Place::Analyzer, "data/releases");
    for town in [&one, &two] {
        let survey = town.deployment.survey.display().to_string();
        let refused = one.release(&["--epoch", &epoch.to_string(), "--survey", &survey]).unwrap_err();
        assert_eq!(refused.0, 1, "{}", refused.1);
        assert!(refused.1.contains("would have spent"), "{}", refused.1);
        let made = releases.join(town.deployment.bundle.survey().hash().to_string());
        assert!(!made.join(format!("0-{epoch}")).exists(), "nothing is written");
    }
    assert_eq!(ledger(&one).len(), 2, "and nothing is spent");
}

/// A budget for one epoch of a survey, and not for two.
#[test]
fn the_ledger_refuses_the_epoch_that_is_one_too_many() {
    let mut town = Town::of(THRONG, &survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, ""), true, 8);
    set_budget(&town, 4.0);
    town.start_all();
    town.start(Place::Analyzer, None);
    let first = everyone(&mut town, 8, |_, _| {});
    until_taken(&town, &[1, 2], first.epoch);
    let released = release(&town, first.epoch);
    assert!(number(&released, "epsilon_spent") <= 4.0);
    let second = everyone(&mut town, 8, |_, _| {});
    until_taken(&town, &[1, 2], second.epoch);
    let refused = town.release(&["--epoch", &second.epoch.to_string()]).unwrap_err();
    assert_eq!(refused.0, 1, "{}", refused.1);
    assert!(refused.1.contains("would have spent"), "{}", refused.1);
    let releases = town.path(Place::Analyzer, "data/releases");
    let hash = town.deployment.bundle.survey().hash().to_string();
    assert!(!releases.join(hash).join(format!("0-{}", second.epoch)).exists(), "nothing is written");
    assert_eq!(ledger(&town).len(), 1);
    // What was released before can be looked at again; and with more budget the other one can be, too.
    assert_eq!(release(&town, first.epoch), released);
    set_budget(&town, 8.0);
    assert_eq!(table(&release(&town, second.epoch)), second.in_memory(&[1, 2]));
    assert_eq!(ledger(&town).len(), 2);
}
