//! The public files of a survey on disk: whoever publishes the survey replaces them when an address or a key list changes,
//! and a server that runs takes that over.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Result;
use throng_host::bundle::Bundle;
use throng_host::ensure;

/// Where they are, and when they were read last.
#[derive(Clone, Debug)]
pub(crate) struct SurveyFiles {
    survey: PathBuf,
    seen: [Option<SystemTime>; 2],
}

impl SurveyFiles {
    /// Reads and checks them.
    pub(crate) fn read(survey: &Path) -> Result<(Self, Bundle)> {
        // The times come first: what changes while it is read is read again.
        let files = Self { survey: survey.to_owned(), seen: modified(survey) };
        let bundle = Bundle::read(survey)?;
        Ok((files, bundle))
    }

    /// What is new, if something is. Files that take something back are refused.
    pub(crate) fn refresh(&mut self, known: &Bundle, epoch: u64) -> Result<Option<Bundle>> {
        if modified(&self.survey) == self.seen {
            return Ok(None);
        }
        let (files, bundle) = Self::read(&self.survey)?;
        ensure!(
            bundle.survey().hash() == known.survey().hash(),
            Invalid,
            "the survey file is another one now: start again"
        );
        bundle.follows(known, epoch)?;
        *self = files;
        Ok(Some(bundle))
    }
}

fn modified(survey: &Path) -> [Option<SystemTime>; 2] {
    ["addresses", "keys"].map(|extension| {
        let metadata = fs::metadata(survey.with_extension(extension));
        metadata.and_then(|metadata| metadata.modified()).ok()
    })
}
