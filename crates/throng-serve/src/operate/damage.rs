//! Surveys of a server that cannot be served: the others run.

use std::fmt;
use std::path::Path;

use throng_wire::{Place, Survey, SurveyHash};

use super::log::Log;
use super::reasons::Reason;
use super::vitals::Vitals;
use crate::error::{Context, Error, Result};

/// A survey whose files are not as they should be.
pub(crate) struct Damage {
    /// Its place in the survey.
    pub(crate) place: Place,
    /// Which survey it is, if its own file can be read.
    pub(crate) survey: Option<SurveyHash>,
    file: String,
    error: Error,
}

impl Damage {
    /// What is wrong with the survey of this file.
    pub(crate) fn new(file: &Path, place: Place, error: Error) -> Self {
        let text = std::fs::read_to_string(file).ok();
        let survey = text.and_then(|text| Survey::from_toml(&text).ok()?.hash().ok());
        Self { place, survey, file: file.display().to_string(), error }
    }

    /// An error for a command that needs all surveys; nothing if all are whole.
    pub(crate) fn none(damages: Vec<Self>) -> Result<()> {
        let mut damages = damages.into_iter();
        let Some(first) = damages.next() else { return Ok(()) };
        let Self { place, file, error, .. } = first;
        let first = Err(error).with_context(|| format!("for {place} of {file}"));
        let rest: Vec<String> = damages.map(|damage| damage.to_string()).collect();
        match rest.as_slice() {
            [] => first,
            rest => first.map_err(|first| Error::invalid(format!("{first:#}; {}", rest.join("; ")))),
        }
    }

    /// Tells the operator: the log says why, and /readyz that it is so.
    pub(crate) fn tell(&self, log: &Log, vitals: &Vitals) {
        let reason = Box::new(Reason::of(&self.error));
        log.error("survey-not-served").reason(Reason::Survey { file: self.file.clone(), reason }).write();
        let text = format!("{} of {} is not served: its log says why", self.place, self.file);
        vitals.damaged(format!("files of {} in {}", self.place, self.file), text);
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "for {} of {}: {:#}", self.place, self.file, self.error)
    }
}
