//! What a check came to, line by line.

use std::fmt;

use serde::Serialize;
use throng_survey::Promise;
use throng_wire::SignedSurvey;
use throng_wire::survey::Enrolment;

use super::rebuilt_release::RebuiltRelease;

/// Everything that was checked, and what nobody can check from outside.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Whether every check holds.
    pub holds: bool,
    /// What the release promises, as our own accountant finds; absent where that cannot be worked out.
    #[serde(flatten)]
    pub promise: Option<Promise>,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// The fields of release.json that are the analyzer's word.
    pub fields_not_checked: Vec<String>,
    /// What the guarantee rests on that no file shows.
    pub cannot_be_checked: Vec<String>,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What came out.
    pub mark: Mark,
    /// What was checked.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// What came out of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// It holds.
    Ok,
    /// It does not.
    Failed,
    /// The published files do not show it.
    Outside,
}

impl Verdict {
    pub(super) fn new() -> Self {
        Self {
            holds: true,
            promise: None,
            checks: Vec::new(),
            fields_not_checked: Vec::new(),
            cannot_be_checked: Vec::new(),
        }
    }

    pub(super) fn ok(&mut self, what: &str, reason: String) {
        self.add(Mark::Ok, what, reason);
    }

    pub(super) fn failed(&mut self, what: &str, reason: String) {
        self.holds = false;
        self.add(Mark::Failed, what, reason);
    }

    pub(super) fn outside(&mut self, what: &str, reason: String) {
        self.add(Mark::Outside, what, reason);
    }

    /// Reasons quote what strangers have written: nothing of it moves the cursor of a terminal, or turns its text around.
    #[allow(clippy::needless_pass_by_value, reason = "a sentence is made for its line")]
    fn add(&mut self, mark: Mark, what: &str, reason: String) {
        let shown = |one: char| matches!(one, '\n' | '"' | '\'' | '\\');
        let mut safe = String::with_capacity(reason.len());
        for one in reason.chars() {
            if shown(one) { safe.push(one) } else { safe.extend(one.escape_debug()) }
        }
        self.checks.push(Check { mark, what: what.to_owned(), reason: safe });
    }

    /// The lines that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.mark == Mark::Failed)
    }

    /// What no file can show.
    pub(super) fn note_outside(&mut self, survey: &SignedSurvey, rebuilt: &RebuiltRelease) {
        let crowd = &survey.survey().crowd;
        let mut say = |sentence: String| self.cannot_be_checked.push(sentence);
        say("That the first hop of each instance counted people, each of them once. The \
             hops after it only repeat its number."
            .into());
        if crowd.enrolment == Enrolment::Open {
            say("That the crowd is one of distinct people: enrolment was open, so one person can be many."
                .into());
        }
        say(format!(
            "That {} of those who were counted are honest: that they drew their own coins, and told nobody.",
            rebuilt.promise.honest_respondents
        ));
        say(format!(
            "That one hop among the {} of each instance is honest: that it mixed the envelopes and forgot their order.",
            survey.survey().delivery.hops
        ));
        say("The counts. Only the analyzer opened the envelopes; the hops signed hashes of what they passed on, and not what \
             is in it. Numbers that are wrong in release.json and in estimates.csv alike are not noticed."
            .into());
        say("How many fragments there were, and how many envelopes were not counted, and why: last hops commit to the number, and \
             only the analyzer was told the rest."
            .into());
        say("That the analyzer opened nothing else, tells nobody more than this, and that its ledger has all its lines: the \
             lines, the name of the population and its budget are the analyzer's word."
            .into());
        say("That an instance which is not in the release has released nothing: ask its hops for their statements.".into());
        say("Pictures and plots: they are not read.".into());
        say("That what is withheld or in doubt is so, and nothing else: that was seen in counts of each instance, which are not \
             published."
            .into());
        if rebuilt.is_sketch {
            say("The part of the errors that values add which share a cell of the sketch: it was estimated from the sketch. The \
                 part of the coins is checked as the least that they can be."
                .into());
        }
    }
}

/// The text for a person.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Check { mark, what, reason } in &self.checks {
            let mark = match mark {
                Mark::Ok => "ok",
                Mark::Failed => "FAILED",
                Mark::Outside => "?",
            };
            // Only a verdict of ours begins a line.
            let reason = reason.replace('\n', &format!("\n{:27}", ""));
            writeln!(f, "{mark:<7} {what:<18} {reason}")?;
        }
        if !self.cannot_be_checked.is_empty() {
            writeln!(f, "\nWhat cannot be checked from outside:")?;
            self.cannot_be_checked.iter().try_for_each(|sentence| writeln!(f, "- {sentence}"))?;
            writeln!(f, "- These fields of release.json: {}.", self.fields_not_checked.join(", "))?;
        }
        let failed = self.failures().count();
        match failed {
            0 => writeln!(f, "\nAll that can be checked holds."),
            _ => {
                writeln!(f, "\nThis release does not hold: {failed} of {} checks failed.", self.checks.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_wrote_is_shown_as_it_is_and_does_nothing() {
        let mut verdict = Verdict::new();
        verdict.failed("survey", "of \"\u{9b}2J\u{202e}\\é\",\r\nok      all".into());
        let text = verdict.to_string();
        let expected = format!(
            "FAILED  survey             of \"\\u{{9b}}2J\\u{{202e}}\\é\",\\r\n{:27}ok      all\n\nThis release",
            ""
        );
        assert!(text.starts_with(&expected), "{text:?}");
    }
}
