//! Releases as they were published: lists, tables, ranks, pictures and files to keep.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Value, json};
use throng_dp::Estimates;
use throng_dp::estimate::Spread;
use throng_survey::Promise;

use super::query::{Query, bad};
use super::{
    DashboardState, DashboardSurvey, Download, JSON, Json, PathParam, SharedState, file_name, problem,
};
use crate::Raster;
use crate::analysis::published::EstimateLine;
use crate::analysis::{PublishedRelease, ReleaseName, ReleaseSummary, plot_title};
use crate::error::{Context, Error, Result};
use crate::studio::{RankPlot, StudioError};
use throng_analyze::Picture;
use throng_analyze::log_spaced;
use throng_host::net::Problem;

/// `GET /api/releases`: the newest first, what each is and guarantees.
pub(super) async fn all(State(serving): State<SharedState>) -> Result<Json<Value>, Problem> {
    let list = |serving: &DashboardState| -> Result<Value> {
        let mut all = Vec::new();
        for shown in &serving.dashboard.surveys {
            for name in serving.releases.of(shown.survey.hash())? {
                let published = serving.releases.at(shown.survey.hash(), name);
                let ended_s = shown.survey.survey().epoch_end_s(name.epoch);
                all.push(ListedRelease::new(published.release()?, name.label, ended_s));
            }
        }
        all.sort_by_key(|line| std::cmp::Reverse(line.ended_s));
        Ok(json!({ "releases": all }))
    };
    serving.work(move |serving| list(serving).map(Json).map_err(|error| problem(&error))).await
}

/// `GET /api/releases/{survey}/{label}/{epoch}`: `release` is `release.json` as it was published.
pub(super) async fn one(
    State(serving): State<SharedState>,
    PathParam(path): PathParam<(String, u32, u64)>,
) -> Result<Json<Value>, Problem> {
    serving
        .work(move |serving| {
            let (shown, published) = serving.published(&path)?;
            let published = read(published.open())?;
            let (release, width) = (read(published.release())?, published.picture_width());
            let ended_s = shown.survey.survey().epoch_end_s(path.2);
            Ok(Json(json!({ "release": release, "ended_s": ended_s, "picture_width": width })))
        })
        .await
}

/// `GET .../estimates?search&order&offset&limit`: lines of the table. `order` is `rank` (the largest first) or `value`.
pub(super) async fn estimates(
    State(serving): State<SharedState>,
    PathParam(path): PathParam<(String, u32, u64)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    let query = Query::read(query.as_deref(), &["search", "order", "offset", "limit"])?;
    let by_rank = match query.text("order").unwrap_or("rank") {
        "rank" => true,
        "value" => false,
        _ => return Err(bad("order is rank or value")),
    };
    let offset = query.number::<usize>("offset")?.unwrap_or(0);
    let limit = query.number::<usize>("limit")?.unwrap_or(100).min(LINES_MAX);
    let search = query.text("search").map(str::to_lowercase);
    serving
        .work(move |serving| {
            let lines = read(serving.published(&path)?.1.lines())?;
            let mut ranked = with_ranks(&lines);
            if !by_rank {
                ranked.sort_by_key(|(_, line)| line.value);
            }
            let matches = |line: &EstimateLine| match &search {
                Some(text) => line.name.to_lowercase().contains(text) || line.value.to_string() == *text,
                None => true,
            };
            let found: Vec<_> = ranked.into_iter().filter(|(_, line)| matches(line)).collect();
            let shown: Vec<RankedLine> = found
                .iter()
                .skip(offset)
                .take(limit)
                .map(|&(rank, line)| RankedLine::of(rank, line))
                .collect();
            Ok(Json(json!({ "domain": lines.len(), "found": found.len(), "offset": offset, "lines": shown })))
        })
        .await
}

/// `GET .../ranks`: estimates by rank, evenly spread on a log axis, with where noise is.
pub(super) async fn ranks(
    State(serving): State<SharedState>,
    PathParam(path): PathParam<(String, u32, u64)>,
) -> Result<Json<Value>, Problem> {
    serving
        .work(move |serving| {
            let (lines, release) = read(of_one_time(&serving.published(&path)?.1))?;
            let by_rank = ranked(&lines);
            let points: Vec<RankedLine> = log_spaced(by_rank.len())
                .map(|at| RankedLine::of(Some(at + 1), &lines[by_rank[at]]))
                .collect();
            Ok(Json(json!({
                "domain": lines.len(),
                "noise_floor": release.noise_floor,
                "noise_threshold": release.noise_threshold,
                "points": points,
            })))
        })
        .await
}

/// `GET .../picture?width`: the estimates as pixels, and which of them stand out of the noise.
pub(super) async fn picture(
    State(serving): State<SharedState>,
    PathParam(path): PathParam<(String, u32, u64)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Raster>, Problem> {
    let width = Query::read(query.as_deref(), &["width"])?.need("width")?;
    serving
        .work(move |serving| {
            let lines = read(serving.published(&path)?.1.lines())?;
            let significant = lines.iter().map(|line| line.significant);
            let missing = lines.iter().map(|line| line.estimate.is_none());
            Ok(Json(Raster::of(&drawn(&lines, width)?, Some(significant)).without(missing)))
        })
        .await
}

/// `GET .../files/{file}`: the release to keep.
pub(super) async fn file(
    State(serving): State<SharedState>,
    PathParam((survey, label, epoch, file)): PathParam<(String, u32, u64, String)>,
    RawQuery(query): RawQuery,
) -> Result<Download, Problem> {
    let width = Query::read(query.as_deref(), &["width"])?.number("width")?;
    serving
        .work(move |serving| {
            let (shown, published) = serving.published(&(survey, label, epoch))?;
            let plot = || -> Result<[Vec<u8>; 2], Problem> {
                let (lines, release) = read(of_one_time(&published))?;
                let counts = lines.iter().map(|line| line.estimate.unwrap_or(f64::NAN)).collect();
                let noise = Spread::constant(release.noise_floor.powi(2), 1.0);
                let estimates = Estimates::new(release.respondents_estimated, counts, noise);
                let title = plot_title(
                    (&release.name, release.label.as_deref()),
                    epoch,
                    release.promise.central.epsilon_central,
                    release.promise.local.epsilon_local,
                );
                let (title, by_rank) = (&*title, &*ranked(&lines));
                let plot =
                    RankPlot { title, by_rank, estimates: &estimates, threshold: release.noise_threshold };
                serving.studio()?.ranks(&plot).map_err(drawing)
            };
            let (kind, bytes) = match file.as_str() {
                "release.json" => (JSON, read(published.json())?),
                "estimates.csv" => ("text/csv; charset=utf-8", read(published.table())?),
                "estimates.json" => {
                    let lines = read(published.lines())?;
                    let ranked = with_ranks(&lines);
                    let all: Vec<RankedLine> =
                        ranked.into_iter().map(|(rank, line)| RankedLine::of(rank, line)).collect();
                    (JSON, read(serde_json::to_vec(&all).context("cannot be written"))?)
                }
                "ranks.svg" => ("image/svg+xml", plot()?.into_iter().next().unwrap_or_default()),
                "ranks.png" => ("image/png", plot()?.into_iter().last().unwrap_or_default()),
                "picture.png" => {
                    let width = width.or_else(|| published.picture_width());
                    let picture = drawn(&read(published.lines())?, width.ok_or_else(|| bad("give width"))?)?;
                    let factor = (PICTURE_SIDE / picture.width().max(picture.height())).max(1);
                    ("image/png", serving.studio()?.png(&picture.enlarged(factor)).map_err(drawing)?)
                }
                _ => return Err(Problem::new(StatusCode::NOT_FOUND, "unknown", FILES)),
            };
            let name = file_name::of_release(&shown.survey, label, epoch, &file);
            Ok(Download { name, kind, bytes })
        })
        .await
}

impl DashboardState {
    /// A release that was published.
    fn published(
        &self,
        (survey, label, epoch): &(String, u32, u64),
    ) -> Result<(&DashboardSurvey, PublishedRelease), Problem> {
        let shown = self.survey(survey)?;
        let name = ReleaseName { epoch: *epoch, label: *label };
        let published = self.releases.at(shown.survey.hash(), name);
        if published.exists() {
            return Ok((shown, published));
        }
        let detail = format!("epoch {epoch} has no release; make one with `throng release --epoch {epoch}`");
        Err(Problem::new(StatusCode::NOT_FOUND, "not-released", detail))
    }
}

/// The table and what `release.json` says of it.
fn of_one_time(published: &PublishedRelease) -> Result<(Vec<EstimateLine>, ReleaseSummary)> {
    let published = published.open()?;
    Ok((published.lines()?, published.release()?))
}

/// What a list of releases says of each.
#[derive(Serialize)]
struct ListedRelease {
    label_number: u32,
    ended_s: u64,
    survey: String,
    name: String,
    question: String,
    label: Option<String>,
    epoch: u64,
    domain: u64,
    respondents: u64,
    significant: u64,
    #[serde(flatten)]
    promise: Promise,
    population: String,
}

impl ListedRelease {
    fn new(release: ReleaseSummary, label_number: u32, ended_s: u64) -> Self {
        Self {
            label_number,
            ended_s,
            survey: release.survey,
            name: release.name,
            question: release.question,
            label: release.label,
            epoch: release.epoch,
            domain: release.domain,
            respondents: release.respondents,
            significant: release.significant,
            promise: release.promise,
            population: release.population,
        }
    }
}

/// A line of a table with its place among all; without one, and without numbers, where the value is missing.
#[derive(Serialize)]
struct RankedLine {
    rank: Option<usize>,
    value: u64,
    name: String,
    estimate: Option<f64>,
    standard_error: Option<f64>,
    significant: bool,
    mark: String,
}

impl RankedLine {
    fn of(rank: Option<usize>, line: &EstimateLine) -> Self {
        let EstimateLine { value, name, estimate, standard_error, significant, mark } = line.clone();
        Self { rank, value, name, estimate, standard_error, significant, mark }
    }
}

/// The places of the lines that have an estimate, the largest first and equal ones by value.
fn ranked(lines: &[EstimateLine]) -> Vec<usize> {
    let estimate = |at: usize| lines[at].estimate.unwrap_or(f64::NEG_INFINITY);
    let mut by_rank: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].estimate.is_some()).collect();
    by_rank.sort_by(|&a, &b| estimate(b).total_cmp(&estimate(a)).then(a.cmp(&b)));
    by_rank
}

/// All lines with their ranks, those that have none last.
fn with_ranks(lines: &[EstimateLine]) -> Vec<(Option<usize>, &EstimateLine)> {
    let known = (1..).zip(ranked(lines)).map(|(rank, at)| (Some(rank), &lines[at]));
    let missing = lines.iter().filter(|line| line.estimate.is_none()).map(|line| (None, line));
    known.chain(missing).collect()
}

fn drawn(lines: &[EstimateLine], width: u32) -> Result<Picture, Problem> {
    let counts: Vec<f64> = lines.iter().map(|line| line.estimate.unwrap_or(f64::NAN)).collect();
    let drawn = if width == 0 { None } else { Picture::of_counts(width, &counts) };
    drawn.ok_or_else(|| {
        bad(format!("{} values have no rows of {width}; give a width that divides them", lines.len()))
    })
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn drawing(error: StudioError) -> Problem {
    problem(&Error::invalid(format!("{error}")))
}

fn read<T>(result: Result<T>) -> Result<T, Problem> {
    result.map_err(|error| problem(&error))
}

const FILES: &str =
    "here are release.json, estimates.csv, estimates.json, ranks.svg, ranks.png and picture.png?width=W";
const LINES_MAX: usize = 1000;
/// About as many pixels as the longer side of a picture has when it is kept.
const PICTURE_SIDE: u32 = 800;

#[cfg(test)]
mod tests {
    use throng_wire::{SigningKey, SurveyHash};

    use super::*;
    use crate::analysis::published::{RELEASE, TABLE};
    use crate::analysis::release_summary::tests::sample;
    use crate::analysis::{DataKey, PublishedReleases};

    /// A batch that comes late refines a release: whoever reads meanwhile has both files of before, or both of after.
    #[test]
    fn a_table_is_shown_with_its_own_threshold() {
        let data = tempfile::tempdir().unwrap();
        let key = DataKey::new(&SigningKey::from_seed(&[1; 32]).unwrap(), &data.path().join("mark"));
        let one = PublishedReleases::new(data.path(), &key)
            .at(SurveyHash::new([7; 32]), ReleaseName { epoch: 1, label: 0 });
        let refine = |threshold: f64| {
            let release = ReleaseSummary { noise_threshold: threshold, ..sample() };
            let table =
                format!("value,name,estimate,standard_error,significant\n0,a,{threshold:.3},3.000,true\n");
            let files = [(RELEASE, serde_json::to_vec(&release).unwrap()), (TABLE, table.into_bytes())];
            one.write(&files).unwrap();
        };
        refine(1.0);
        std::thread::scope(|scope| {
            let refining = scope.spawn(|| (2..=40).for_each(|threshold| refine(f64::from(threshold))));
            while !refining.is_finished() {
                let (lines, release) = of_one_time(&one).unwrap();
                assert_eq!(lines[0].estimate, Some(release.noise_threshold));
                std::thread::yield_now();
            }
        });
        let (lines, release) = of_one_time(&one).unwrap();
        assert_eq!((lines[0].estimate, release.noise_threshold), (Some(40.0), 40.0));
    }
}
