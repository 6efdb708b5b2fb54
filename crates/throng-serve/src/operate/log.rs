//! The structured log of a server, line by line on standard error.
//!
//! A line has a time, a level, the party, the name of the event and fields; as text or as JSON. The fields are the
//! methods of `Entry`, and there are no others: a survey, an epoch, a label, what became of it, a reason. There is none for an
//! address of a respondent, a token, a number of people or of bytes. Nothing is written when somebody sends: a line for
//! each upload would be a count, and its time would tell who it was.
//!
//! A facade such as `tracing` would do the opposite: any library below could write any field.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};

use super::reasons::Reason;
use throng_host::clock::{Clock, SystemClock, rfc3339};

/// How a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Words for people.
    #[default]
    Text,
    /// One JSON object with the same fields.
    Json,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Info,
    /// Tried again by itself, or to be looked at when there is time.
    Warn,
    /// It does not go on without its operator.
    Error,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Where a party writes. Clones write to the same place.
#[derive(Clone, Debug)]
pub struct Log {
    format: LogFormat,
    party: Arc<str>,
    survey: Option<Arc<str>>,
}

impl Log {
    /// The log of a process, by the role that it has.
    pub fn new(format: LogFormat, role: &str) -> Self {
        Self { format, party: role.into(), survey: None }
    }

    /// The same for what a process does as one party of one survey.
    pub fn of(&self, party: &str, survey: &str) -> Self {
        Self { format: self.format, party: party.into(), survey: Some(survey.into()) }
    }

    /// Something that is as it should be.
    pub fn info(&self, event: &'static str) -> Entry<'_> {
        self.entry(Level::Info, event)
    }

    /// Something that is tried again, or should be looked at.
    pub fn warn(&self, event: &'static str) -> Entry<'_> {
        self.entry(Level::Warn, event)
    }

    /// Something that needs the operator.
    pub fn error(&self, event: &'static str) -> Entry<'_> {
        self.entry(Level::Error, event)
    }

    fn entry(&self, level: Level, event: &'static str) -> Entry<'_> {
        let fields = self.survey.iter().map(|survey| ("survey", Value::from(&**survey))).collect();
        Entry { log: self, level, event, fields }
    }
}

/// A line that is being put together.
#[must_use = "a line is written by `write`"]
#[derive(Debug)]
pub struct Entry<'a> {
    log: &'a Log,
    level: Level,
    event: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Entry<'_> {
    /// Which epoch.
    pub fn epoch(self, epoch: u64) -> Self {
        self.field("epoch", epoch)
    }

    /// The number of the crowd label.
    pub fn label(self, label: u32) -> Self {
        self.field("label", label)
    }

    /// Which instance.
    pub fn instance(self, instance: u32) -> Self {
        self.field("instance", instance)
    }

    /// What became of it: one of a few words.
    pub fn outcome(self, outcome: &'static str) -> Self {
        self.field("outcome", outcome)
    }

    /// What was being done: one of a few words.
    pub fn work(self, work: &'static str) -> Self {
        self.field("work", work)
    }

    /// Why: one of a closed set, with no count in it, and nothing that a respondent sent.
    #[allow(clippy::needless_pass_by_value, reason = "a reason is made for its line")]
    pub fn reason(self, reason: Reason) -> Self {
        self.field("reason", reason.to_string())
    }

    /// After how many seconds it is tried again.
    pub fn again_after_s(self, seconds: u64) -> Self {
        self.field("again_after_s", seconds)
    }

    /// Writes the line. A log that nobody reads does not matter to a server.
    pub fn write(self) {
        let mut line = self.line(SystemClock.now_ms());
        line.push('\n');
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    /// The same, at most once a minute: for what can happen as often as strangers like, and would be a count.
    pub fn write_seldom(self, seldom: &LogThrottle) {
        if seldom.is_due(SystemClock.now_s()) {
            self.write();
        }
    }

    fn field(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    fn line(&self, now_ms: u64) -> String {
        let (time, level, party) = (rfc3339(now_ms / 1000), self.level.name(), &*self.log.party);
        match self.log.format {
            LogFormat::Text => {
                let mut line = format!("{time} {level} {party} {}", self.event);
                for (name, value) in &self.fields {
                    // Writing to a string does not fail.
                    let _ = match value {
                        Value::String(text) if is_plain(text) => write!(line, " {name}={text}"),
                        other => write!(line, " {name}={other}"),
                    };
                }
                line
            }
            LogFormat::Json => {
                let head =
                    [("time", time.as_str()), ("level", level), ("party", party), ("event", self.event)];
                let head = head.map(|(name, text)| (name.to_owned(), Value::from(text)));
                let fields = self.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
                Value::Object(head.into_iter().chain(fields).collect::<Map<_, _>>()).to_string()
            }
        }
    }
}

/// Text that needs no quotes.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| character.is_alphanumeric() || "-_.:/".contains(character))
}

/// Rate limit of a log line: when something was last said that is said seldom.
#[derive(Debug, Default)]
pub struct LogThrottle(AtomicU64);

impl LogThrottle {
    fn is_due(&self, now_s: u64) -> bool {
        let due = |last: u64| (last == 0 || now_s.abs_diff(last) >= SELDOM_S).then_some(now_s.max(1));
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
    }
}

const SELDOM_S: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_text_or_json_with_the_same_fields() {
        let line = |format| {
            let log = Log::new(format, "shuffler").of("instance-1-hop-1", "which pixel");
            let entry = log.warn("work-failed").epoch(7).label(0).work("shuffle");
            entry.reason(Reason::Own("no \"room\"\nleft".into())).again_after_s(2).line(1_769_860_800_999)
        };
        assert_eq!(
            line(LogFormat::Text),
            "2026-01-31T12:00:00Z warn instance-1-hop-1 work-failed survey=\"which pixel\" epoch=7 label=0 \
             work=shuffle reason=\"no \\\"room\\\"\\nleft\" again_after_s=2"
        );
        let json: Value = serde_json::from_str(&line(LogFormat::Json)).unwrap();
        let expected = serde_json::json!({
            "time": "2026-01-31T12:00:00Z", "level": "warn", "party": "instance-1-hop-1", "event": "work-failed",
            "survey": "which pixel", "epoch": 7, "label": 0, "work": "shuffle", "reason": "no \"room\"\nleft",
            "again_after_s": 2,
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn what_strangers_cause_is_said_once_a_minute() {
        let seldom = LogThrottle::default();
        let said: Vec<u64> = (1000..1200).filter(|&now_s| seldom.is_due(now_s)).collect();
        assert_eq!(said, [1000, 1060, 1120, 1180]);
        assert!(seldom.is_due(10), "a clock that was set back does not silence it");
    }
}
