//! `throng respond --enrol`: a person's own secret, and what each first hop needs to know of it.

use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::super::{Format, print};
use throng_host::bundle::Bundle;
use crate::cli::RespondArgs;
use throng_host::entropy::system_rng;
use throng_host::out_dir::OutDir;
use throng_respondent::Respondent;

/// Draws the secret, if there is none yet, and writes a file for each first hop.
pub(super) fn run(args: &RespondArgs, bundle: &Bundle, out: &Path, format: Format) -> Result<()> {
    let files = Respondent::open(&args.state)?.enrol(bundle, &mut system_rng()?)?;
    let names: Vec<String> = files.iter().map(|file| file.file_name()).collect();
    let texts: Vec<(&str, Vec<u8>)> =
        names.iter().zip(&files).map(|(name, file)| (name.as_str(), file.to_file().into_bytes())).collect();
    OutDir::open(out)?.write(&texts)?;
    let survey = bundle.survey();
    match format {
        Format::Json => {
            print(&format!("{:#}\n", json!({ "survey": survey.hash(), "out": out, "files": names })))
        }
        Format::Text => print(&format!(
            "Your secret is in {}, and stays there. In {} is a file for each first hop of {}:\n  {}\n\
             Hand each to who runs that hop, or to whoever enrols for it; none of them is secret. Whoever gets all of them\n\
             knows which of your names at the hops belong together.\n",
            args.state.display(),
            out.display(),
            survey.survey().name,
            names.join("\n  ")
        )),
    }
}
