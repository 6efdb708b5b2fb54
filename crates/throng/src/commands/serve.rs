//! `throng serve`: a party that runs for as long as a survey does.

use anyhow::{Context, Result};
use serde_json::json;

use super::stop::stop_signal;
use super::studio::studio;
use super::{Format, print};
use crate::cli::serve::{AnalyzerArgs, ServeArgs, ServeParty, ShufflerArgs};
use throng_serve::{AnalyzerConfig, AnalyzerServer, Log, Shuffler, ShufflerConfig};

/// Runs the command.
pub fn run(args: &ServeArgs, format: Format) -> Result<()> {
    match &args.party {
        ServeParty::Shuffler(args) => shuffler(args, format),
        ServeParty::Analyzer(args) => analyzer(args, format),
    }
}

fn shuffler(args: &ShufflerArgs, format: Format) -> Result<()> {
    let mut config = ShufflerConfig::read(&args.config)?;
    config.listen = args.listen.unwrap_or(config.listen);
    let ShufflerConfig { operator_listen, identity, data, .. } = &mut config;
    args.overrides.clone().apply(operator_listen, identity, data);
    let prepare = if args.reset { Shuffler::prepare_reset } else { Shuffler::prepare };
    let mut shuffler = prepare(config)?;
    if let Some(name) = &args.survey {
        shuffler.select(name)?;
    }
    let summary = shuffler.summary();
    if args.check || args.reset {
        warn(&shuffler.warnings());
    }
    let places = places(&summary);
    if args.check {
        shuffler.check()?;
        return checked(&summary, &places, format);
    }
    if args.reset {
        shuffler.reset()?;
        return match format {
            Format::Text => print(&format!(
                "Reset: {places}. What was not released is given up, and nothing is ever stated about it; the layer keys are \
                 new: give the signed key-list to everyone (`throng keygen bundle`).\n"
            )),
            Format::Json => print(&format!("{:#}\n", json!({ "reset": summary }))),
        };
    }
    runtime()?.block_on(async {
        let ready = |url: &str| {
            // A reader that is gone does not matter to a server.
            let _ = match format {
                Format::Text => print(&format!("{places}: listening on {url}\n")),
                Format::Json => print(&format!("{}\n", json!({ "listening": url, "surveys": summary }))),
            };
        };
        let log = Log::new(args.log.log_format.into(), "shuffler");
        Ok(shuffler.serve(&log, stop_signal(), ready).await?)
    })
}

fn analyzer(args: &AnalyzerArgs, format: Format) -> Result<()> {
    let mut config = AnalyzerConfig::read(&args.config)?;
    let AnalyzerConfig { operator_listen, identity, data, .. } = &mut config;
    args.overrides.clone().apply(operator_listen, identity, data);
    let token = config.operator_token();
    if args.accept_ledger {
        let lines = AnalyzerServer::accept_ledger(&config)?;
        return match format {
            Format::Text => print(&format!(
                "Accepted: the ledger has {lines} lines. What it lacks will be spent a second time, unless you take it off \
                 the budget.\n"
            )),
            Format::Json => print(&format!("{:#}\n", json!({ "accepted_lines": lines }))),
        };
    }
    let analyzer = AnalyzerServer::prepare(config)?;
    let summary = analyzer.summary();
    if args.check {
        warn(&analyzer.warnings());
    }
    let places = places(&summary);
    if args.check {
        analyzer.check()?;
        return checked(&summary, &places, format);
    }
    runtime()?.block_on(async {
        let ready = |dashboard: Option<&str>| {
            let seen = dashboard.map_or(String::new(), |url| {
                format!("; dashboard on {url}, for the token in {}", token.display())
            });
            let token = dashboard.map(|_| &token);
            let json =
                json!({ "ready": true, "surveys": summary, "dashboard": dashboard, "operator_token": token });
            // A reader that is gone does not matter to a server.
            let _ = match format {
                Format::Text => print(&format!("{places}: ready{seen}\n")),
                Format::Json => print(&format!("{json}\n")),
            };
        };
        let log = Log::new(args.log.log_format.into(), "analyzer");
        Ok(analyzer.serve(&log, studio(), stop_signal(), ready).await?)
    })
}

fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// What a party is for.
fn places(summary: &[serde_json::Value]) -> String {
    let place = |one: &serde_json::Value| format!("{} of {}", text(&one["place"]), text(&one["name"]));
    summary.iter().map(place).collect::<Vec<_>>().join(", ")
}

fn checked(summary: &[serde_json::Value], places: &str, format: Format) -> Result<()> {
    match format {
        Format::Text => print(&format!("Everything is there for {places}.\n")),
        Format::Json => print(&format!("{:#}\n", json!({ "surveys": summary }))),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("the operating system gives no threads")
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}
