//! The verdict of a conformance test.

use std::fmt;

use serde::Serialize;

/// The rule that a finding is about; sections are those of docs/wire-format.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Method, path and headers (section 9).
    Request,
    /// The token (section 8).
    Credential,
    /// When bodies are sent (section 12).
    Time,
    /// How long a body is (section 5).
    Length,
    /// Which key of a party is sealed to (section 3).
    Key,
    /// How a layer is sealed (section 4).
    Seal,
    /// What is inside (section 5).
    Content,
    /// What stands for fragments that there are not (section 5).
    Chaff,
    /// Which instance a fragment goes to (section 12).
    Routing,
    /// What is sent again, and what is not (sections 5, 6 and 9).
    Retry,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Of which instance's body.
    pub instance: u32,
    /// What it is about.
    pub rule: Rule,
    /// What is wrong, and what to change.
    pub what: String,
    /// How often it was seen.
    pub times: u32,
}

/// One body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenBody {
    /// The instance that it was sent to.
    pub instance: u32,
    /// How many bytes it has.
    pub bytes: usize,
    /// How often the same bytes came.
    pub tries: u32,
    /// Whether there was a receipt for it that holds.
    pub acknowledged: bool,
    /// The attributes of the fragments that were found in it. Nobody's: the survey is a rehearsal, and its keys are public.
    pub fragments: Vec<u32>,
    /// How many envelopes are chaff.
    pub chaff: usize,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether a body came to every instance, and nothing was wrong.
    pub right: bool,
    /// The survey's hash.
    pub survey: String,
    /// The epoch that was answered.
    pub epoch: Option<u64>,
    /// The bodies.
    pub bodies: Vec<SeenBody>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What may be right, and is worth a look.
    pub notes: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instance {}: {}", self.instance, self.what)?;
        if self.times > 1 { write!(f, " ({} times)", self.times) } else { Ok(()) }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for body in &self.bodies {
            let SeenBody { instance, bytes, tries, fragments, chaff, .. } = body;
            let receipt = if body.acknowledged { "receipted" } else { "not receipted" };
            writeln!(
                f,
                "instance {instance}: {bytes} bytes, sent {tries} times, {receipt}; fragments {fragments:?} and {chaff} chaff"
            )?;
        }
        for finding in &self.findings {
            writeln!(f, "WRONG  {finding}")?;
        }
        for note in &self.notes {
            writeln!(f, "note   {note}")?;
        }
        if self.right {
            writeln!(
                f,
                "All of it is as docs/wire-format.md has it. Whether values are drawn right one answer cannot show:"
            )?;
            writeln!(f, "compare that with the vectors.")?;
        }
        Ok(())
    }
}
