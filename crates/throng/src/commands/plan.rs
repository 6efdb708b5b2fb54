//! `throng plan`: from a target guarantee to a survey file.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use throng_account::Error;
use throng_account::planner::Distribution;
use throng_survey::plan::{Domain, EncodingChoice, LabelTarget, Target};
use throng_survey::survey::Attribute;

use super::{Format, print};
use crate::cli::{EncodingArg, PlanArgs};
use throng_account::Refusal;
use throng_host::out_dir::OutDir;

/// Plans a survey, prints it, and writes its file where asked to.
pub fn run(args: &PlanArgs, format: Format) -> Result<()> {
    let planned = throng_survey::plan(&target(args)?).map_err(refused)?;
    if let Some(path) = &args.out {
        write(path, &planned.survey.to_toml()?)?;
    }
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&planned)? + "\n")),
        Format::Text => {
            let mut page = planned.to_string();
            match &args.out {
                Some(path) => writeln!(page, "\nSurvey file: {}", path.display())?,
                None => writeln!(page, "\nWith --out FILE the survey file is written.")?,
            }
            print(&page)
        }
    }
}

/// The target that the arguments name.
fn target(args: &PlanArgs) -> Result<Target> {
    ensure!(
        args.answer_changes.is_none() || args.report_fragments > 1,
        "--answer-changes is about a backstop, which only report fragments have: give --report-fragments, too"
    );
    for attribute in &args.attribute {
        ensure!(attribute.values >= 2, "--attribute {}: give it at least 2 values", attribute.name);
    }
    let attributes = args.attribute.iter();
    let attributes =
        attributes.map(|one| Attribute { name: one.name.clone(), values: one.values, names: None }).collect();
    let label = |label: &crate::cli::LabelArg| LabelTarget {
        name: label.name.clone(),
        profile: label.profile.clone(),
    };
    Ok(Target {
        epsilon_central: args.epsilon_central,
        delta: args.delta,
        respondents: args.respondents,
        honest_fraction: args.honest_fraction,
        asked: args.domain.map_or(Domain::Record(attributes), Domain::Values),
        encoding: args.encoding.map(|typed| match typed {
            EncodingArg::OneHot => EncodingChoice::OneHot,
            EncodingArg::Sketch => EncodingChoice::Sketch,
        }),
        distribution: match (&args.sample, args.zipf) {
            (Some(path), _) => Distribution::Sample(sample(path)?),
            (None, Some(exponent)) => Distribution::Zipf(exponent),
            (None, None) => Distribution::Uniform,
        },
        report_fragments: args.report_fragments,
        answer_changes: args.answer_changes.map(Into::into),
        instances: args.instances,
        hops: args.hops,
        labels: args.label.iter().map(label).collect(),
        epsilon_deletion: args.epsilon_deletion,
        delta_deletion: args.delta_deletion,
        crowd_for_share: args.crowd_for_share,
        hash_seed: args.hash_seed,
        name: args.name.clone(),
        question: args.question.clone(),
        epoch_s: args.epoch_s,
    })
}

/// A target that cannot be met is a refusal; a parameter that makes no sense is a failure, named by its flag.
fn refused(error: throng_survey::Error) -> anyhow::Error {
    match error {
        throng_survey::Error::Unmet(rule) => refusal(rule),
        throng_survey::Error::Target { field, reason } => {
            anyhow!(reason).context(format!("--{}", field.replace('_', "-")))
        }
        other => other.into(),
    }
}

/// The counts of a CSV file: what follows the last comma of each line. A first line without one is a header.
fn sample(path: &Path) -> Result<Vec<u64>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut counts = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.rsplit(',').next().unwrap_or_default().trim().parse() {
            Ok(count) => counts.push(count),
            Err(_) if number == 0 => {}
            Err(_) => bail!("{}, line {}: no count after the last comma", path.display(), number + 1),
        }
    }
    Ok(counts)
}

/// A target that cannot be met is a refusal; a parameter that makes no sense is a failure.
pub(super) fn refusal(error: Error) -> anyhow::Error {
    match error {
        Error::Infeasible { .. } | Error::NotApplicable(_) | Error::TooManyFragments { .. } => {
            Refusal(error.to_string()).into()
        }
        other => other.into(),
    }
}

/// Whole or not at all.
fn write(path: &Path, text: &str) -> Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).context("--out needs the name of a file")?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(OutDir::open(folder)?.write(&[(name, text.as_bytes().to_vec())])?)
}
