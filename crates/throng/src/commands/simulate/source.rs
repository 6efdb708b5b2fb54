//! Where the truth comes from.

use std::fs;

use anyhow::{Context, Result, ensure};
use throng_wire::Survey;

use crate::cli::SimulateArgs;
use crate::cli::GeneratorArg;
use throng_simulate::dataset::{Dataset, Generator};

/// The survey file, if one was given.
pub(super) fn survey(args: &SimulateArgs) -> Result<Option<Survey>> {
    let Some(path) = &args.survey else { return Ok(None) };
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(Survey::from_toml(&text).with_context(|| format!("cannot use {}", path.display()))?))
}

/// The data that was named. A survey without data is answered by a power law of its own size.
pub(super) fn dataset(args: &SimulateArgs, survey: Option<&Survey>) -> Result<Dataset> {
    let data = if let Some(path) = &args.image {
        Dataset::open_picture(path, args.respondents_per_unit).context("--image")?
    } else if let Some(path) = &args.csv {
        Dataset::open_csv(path, args.column.as_deref()).context("--csv")?
    } else if let Some(name) = &args.data {
        Dataset::built_in(name).context("--data")?
    } else {
        ensure!(
            args.generator.is_some() || survey.is_some(),
            "say whose answers to simulate: --image FILE.png, --csv FILE.csv, --data NAME, --generator NAME or \
             --survey FILE.toml"
        );
        let kind = args.generator.unwrap_or(GeneratorArg::Zipf);
        ensure!(
            args.exponent.is_none() || kind == GeneratorArg::Zipf,
            "--exponent: only zipf has one; leave it out"
        );
        ensure!(
            args.share.is_none() || kind == GeneratorArg::HeavyHitters,
            "--share: only heavy-hitters has one; leave it out"
        );
        Dataset::generate(&generator(args, kind, survey)).context("--generator")?
    };
    match args.respondents_max {
        Some(most) => data.scaled_down(most).context("--respondents-max"),
        None => Ok(data),
    }
}

fn generator(args: &SimulateArgs, kind: GeneratorArg, survey: Option<&Survey>) -> Generator {
    let size = survey.map(|survey| (survey.crowd.respondents_min, survey.domain()));
    let respondents = args.respondents.or(size.map(|size| size.0)).unwrap_or(Generator::RESPONDENTS);
    let domain = args.domain.or(size.map(|size| size.1)).unwrap_or(Generator::DOMAIN);
    let exponent = args.exponent.unwrap_or(Generator::EXPONENT);
    match kind {
        GeneratorArg::HeavyHitters => {
            Generator::HeavyHitters { share: args.share.unwrap_or(Generator::SHARE), respondents, domain }
        }
        GeneratorArg::Zipf => Generator::Zipf { exponent, respondents, domain },
        GeneratorArg::Uniform => Generator::Uniform { respondents, domain },
    }
}
