//! The files of a simulation: tables, pictures, plots.

use std::fmt::Write;

use anyhow::Result;

use super::result::SimulateResult;
use super::{Study, drawn};
use throng_account::rounding::at_most;
use throng_host::out_dir::OutDir;
use throng_plot::Png;
use throng_plot::rank_plot::rank_plot;
use throng_simulate::simulation::SimulationOutcome;

/// All files with their bytes; their names go into the result, which is one of them.
pub(super) fn of(
    study: &Study,
    simulated: &SimulationOutcome,
    result: &mut SimulateResult,
    out: &OutDir,
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = vec![("estimates.csv", csv(study, simulated).into_bytes())];
    match drawn(study, simulated) {
        Some((truth, estimate)) => {
            files.push(("truth.png", truth.to_png()?));
            files.push(("estimate.png", estimate.to_png()?));
            files.push(("side-by-side.png", truth.beside(&estimate).to_png()?));
        }
        None => {
            let title =
                format!("{}: epsilon_central {:.4}", result.data, at_most(result.central.epsilon_central));
            let plot = rank_plot(title, study.data.counts(), &simulated.estimates, result.noise_threshold);
            files.push(("ranks.svg", plot.to_svg()?.into_bytes()));
            files.push(("ranks.png", plot.to_png()?));
        }
    }
    let names = files.iter().map(|(name, _)| *name).chain(["result.json"]);
    result.files = names.map(|name| out.path(name).display().to_string()).collect();
    files.push(("result.json", (serde_json::to_string_pretty(result)? + "\n").into_bytes()));
    Ok(files)
}

/// One line per value.
fn csv(study: &Study, simulated: &SimulationOutcome) -> String {
    let estimates = &simulated.estimates;
    let mut text = String::from("value,label,truth,estimate,standard_error\n");
    for (value, (truth, estimate)) in study.data.counts().iter().zip(estimates.counts()).enumerate() {
        let label = study.data.label(value).replace('"', "\"\"");
        let quote = if label.contains([',', '"', '\n', '\r']) { "\"" } else { "" };
        let error = estimates.standard_error(value);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{value},{quote}{label}{quote},{truth},{estimate:.3},{error:.3}");
    }
    text
}
