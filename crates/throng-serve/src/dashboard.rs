//! The operator's dashboard: a page for the people who run a survey, served beside `/healthz` at the analyzer's operator port.
//!
//! It reads releases, never fragments: of what has not been released it tells no number that depends on a person, only which
//! epochs reached their crowd, which the hops say in public. Pages are files inside the program and have no data in them;
//! all data is below `/api/`, as JSON, for whoever shows the operator's token. docs/dashboard.md lists the paths.

mod file_name;
mod guarantees;
mod ledger;
mod planner;
mod query;
mod releases;
mod surveys;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use serde::de::DeserializeOwned;
use throng_account::CancelToken;
use throng_dp::{CentralGuarantee, Removal};
use throng_wire::SignedSurvey;
use tokio::sync::Semaphore;

use crate::analysis::{DataKey, PublishedReleases};
use crate::error::{Error, Result};
use crate::operate::{Contacts, Vitals};
use crate::studio::Studio;
use throng_account::Refusal;
use throng_host::net::Problem;
use throng_host::operator_token::OperatorToken;
use throng_host::page::{self, Asset, HTML, SCRIPT};

/// What the dashboard of an analyzer shows.
#[derive(Debug)]
pub struct Dashboard {
    /// The analyzer's data directory.
    pub data: PathBuf,
    /// What all releases about one population may spend together.
    pub budget: CentralGuarantee<Removal>,
    /// What its data is authenticated by.
    pub key: DataKey,
    /// Its surveys.
    pub surveys: Vec<DashboardSurvey>,
    /// Who may see it.
    pub token: OperatorToken,
    /// How the server is.
    pub vitals: Vitals,
    /// How its instances are.
    pub contacts: Contacts,
    /// Who draws and simulates, if anybody does.
    pub studio: Option<Arc<dyn Studio>>,
}

/// A survey on the dashboard.
#[derive(Clone, Debug)]
pub struct DashboardSurvey {
    /// What all parties have signed.
    pub survey: SignedSurvey,
    /// Whose budget it spends.
    pub population: String,
    /// The first epoch that its analyzer has a key for: before that nobody was asked.
    pub first_epoch: u64,
}

/// What the handlers share.
struct DashboardState {
    dashboard: Dashboard,
    releases: PublishedReleases,
    /// How many requests are worked on at once: the analyzer itself comes first.
    places: Arc<Semaphore>,
    ledger: Mutex<Option<ledger::CachedLedger>>,
    outcomes: Mutex<surveys::Outcomes>,
}

type SharedState = Arc<DashboardState>;

/// The pages, their files, and what they ask for. Every answer has the headers of [`page::secured`].
pub fn router(dashboard: Dashboard) -> Router {
    let releases = PublishedReleases::new(&dashboard.data, &dashboard.key);
    let places = Arc::new(Semaphore::new(PLACES));
    let serving =
        DashboardState { dashboard, releases, places, ledger: Mutex::default(), outcomes: Mutex::default() };
    let serving: SharedState = Arc::new(serving);
    let api = Router::new()
        .route("/surveys", get(surveys::all))
        .route("/surveys/{survey}/guarantee", get(guarantees::what_if))
        .route("/releases", get(releases::all))
        .route("/releases/{survey}/{label}/{epoch}", get(releases::one))
        .route("/releases/{survey}/{label}/{epoch}/estimates", get(releases::estimates))
        .route("/releases/{survey}/{label}/{epoch}/ranks", get(releases::ranks))
        .route("/releases/{survey}/{label}/{epoch}/picture", get(releases::picture))
        .route("/releases/{survey}/{label}/{epoch}/files/{file}", get(releases::file))
        .route("/ledger", get(ledger::all))
        .route("/plan", get(planner::plan))
        .route("/plan/survey.toml", get(planner::survey_file))
        .fallback(async || {
            Problem::new(
                StatusCode::NOT_FOUND,
                "unknown",
                "there is no such path; docs/dashboard.md lists them",
            )
        })
        .method_not_allowed_fallback(Problem::method)
        .layer(from_fn_with_state(serving.clone(), authorized))
        .with_state(serving);
    let pages = PAGES.iter().fold(Router::new(), |router, page| {
        router.route(page, get(async |request: Request| PAGE.answer(&request)))
    });
    pages.merge(page::routes(page::SHARED.iter().chain(SCRIPTS))).nest("/api", api)
}

/// Lets through whoever shows the token.
async fn authorized(State(serving): State<SharedState>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.strip_prefix("Bearer "));
    if shown.is_some_and(|shown| serving.dashboard.token.is(shown)) {
        return next.run(request).await;
    }
    let detail = "this needs the operator's token, as `Authorization: Bearer TOKEN`; it is in the file operator.token of the \
                  analyzer's data directory";
    Problem::new(StatusCode::UNAUTHORIZED, "token", detail).into_response()
}

impl DashboardState {
    /// Works on a request where it keeps nobody else waiting.
    async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.work_while_wanted(move |serving, _| work(serving)).await
    }

    /// The same, for work that may take long and can be cancelled: it asks now and then whether it is still wanted.
    async fn work_while_wanted<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Cancellation) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let serving = Arc::clone(self);
        in_place(&self.places, PATIENCE, move |wanted| work(&serving, wanted)).await
    }

    /// Who draws and simulates.
    fn studio(&self) -> Result<&dyn Studio, Problem> {
        self.dashboard.studio.as_deref().ok_or_else(|| {
            Problem::new(
                StatusCode::NOT_FOUND,
                "no-studio",
                "this program neither draws nor simulates; use one that was built with its default features",
            )
        })
    }

    /// The survey of a hash.
    fn survey(&self, hash: &str) -> Result<&DashboardSurvey, Problem> {
        let surveys = &self.dashboard.surveys;
        let found = surveys.iter().find(|one| one.survey.hash().to_string() == hash);
        found.ok_or_else(|| {
            Problem::new(StatusCode::NOT_FOUND, "unknown", "this analyzer has no survey of that hash")
        })
    }
}

/// Does some work once a place is free, and gives it a limit of time. Where the client has hung up, a request that waits
/// leaves at once; one that is worked on keeps its place until its work is over, or has found that nobody wants it.
async fn in_place<T: Send + 'static>(
    places: &Arc<Semaphore>,
    patience: Duration,
    work: impl FnOnce(&Cancellation) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let place = Arc::clone(places).acquire_owned().await.map_err(|_| broken())?;
    let waiting = Arc::new(());
    let waiting_for = Arc::downgrade(&waiting);
    let working = tokio::task::spawn_blocking(move || {
        let _place = place;
        let wanted = Cancellation { waiting: waiting_for, until: Instant::now() + patience };
        wanted.check("")?;
        work(&wanted)
    });
    let done = working.await.map_err(|_| broken())?;
    drop(waiting);
    done
}

/// Cancellation: whether to go on with an answer, because somebody waits for it and its time is not over.
#[derive(Clone)]
struct Cancellation {
    waiting: Weak<()>,
    until: Instant,
}

impl Cancellation {
    /// Fails once it is given up: with what can be done about it, or with an error that nobody will read.
    fn check(&self, advice: &str) -> Result<(), Problem> {
        match self.waiting.strong_count() {
            0 => Err(broken()),
            _ if Instant::now() < self.until => Ok(()),
            _ => Err(too_much(format!("this takes too long to work out here{advice}"))),
        }
    }

    /// Asks the accountant, for as long as it is wanted. The result of work that was given up is never told, whatever it
    /// is.
    fn account<T>(&self, advice: &str, work: impl FnOnce(CancelToken<'_>) -> T) -> Result<T, Problem> {
        let gave_up = Cell::new(false);
        let done = work(&|| {
            gave_up.set(gave_up.get() || self.check("").is_err());
            !gave_up.get()
        });
        match gave_up.get() {
            false => Ok(done),
            true => Err(self.check(advice).err().unwrap_or_else(broken)),
        }
    }
}

/// 422 for what takes more than there is here; some command of the program does it.
pub fn too_much(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too-much", detail)
}

/// A rule that says no is 422, with its sentence; what cannot be read is 500, with what to look at.
pub fn problem(error: &Error) -> Problem {
    match error.refusal() {
        Some(Refusal(sentence)) => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", sentence.clone())
        }
        None => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", format!("{error:#}")),
    }
}

fn broken() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "this cannot be answered; the log says why")
}

/// An answer for a program.
struct Json<T>(T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.0) {
            Ok(text) => ([(CONTENT_TYPE, JSON)], text + "\n").into_response(),
            Err(_) => broken().into_response(),
        }
    }
}

/// What a path names. What does not fit is a problem like any other.
struct PathParam<T>(T);

impl<T: DeserializeOwned + Send> FromRequestParts<SharedState> for PathParam<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, serving: &SharedState) -> Result<Self, Problem> {
        let Path(named) = Path::from_request_parts(parts, serving).await.map_err(|rejection| {
            let detail = "in this path a survey is its hash, and a label and an epoch are numbers";
            Problem::new(rejection.status(), "parameter", detail)
        })?;
        Ok(Self(named))
    }
}

/// A file to be kept.
struct Download {
    name: String,
    kind: &'static str,
    bytes: Vec<u8>,
}

impl IntoResponse for Download {
    fn into_response(self) -> Response {
        let disposition = format!("attachment; filename=\"{}\"", self.name);
        ([(CONTENT_TYPE, self.kind), (CONTENT_DISPOSITION, disposition.as_str())], self.bytes).into_response()
    }
}

const JSON: &str = "application/json";

/// How many requests are worked on at once.
const PLACES: usize = 2;

/// How long one of them may take, if it can be given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Every page is the same file; its script shows what the address asks for.
const PAGE: Asset = Asset {
    name: "index.html",
    kind: HTML,
    text: &[page::HEAD, include_str!("../assets/dashboard/index.html")],
};
const PAGES: [&str; 6] = ["/", "/releases", "/release", "/guarantees", "/ledger", "/planner"];

macro_rules! script {
    ($($name:literal),*) => {
        &[$(Asset { name: $name, kind: SCRIPT, text: &[include_str!(concat!("../assets/dashboard/", $name))] }),*]
    };
}

const SCRIPTS: &[Asset] = script![
    "main.js",
    "api.js",
    "chart.js",
    "picture.js",
    "slider.js",
    "surveys.js",
    "releases.js",
    "release.js",
    "guarantees.js",
    "ledger.js",
    "planner.js"
];

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::Poll;

    use super::*;

    /// Polls a future once; what it gave, if it is over.
    async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
        poll_fn(|context| {
            Poll::Ready(match future.as_mut().poll(context) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[test]
    fn an_answer_is_worked_on_while_somebody_waits_and_not_for_ever() {
        let waiting = Arc::new(());
        let (now, later) = (Instant::now(), Instant::now() + PATIENCE);
        let name = |waiting: Weak<()>, until| {
            Cancellation { waiting, until }.check("").map_err(|problem| problem.name)
        };
        assert_eq!(name(Arc::downgrade(&waiting), later), Ok(()));
        assert_eq!(name(Arc::downgrade(&waiting), now), Err("too-much".into()));
        assert_eq!(name(Weak::new(), later), Err("internal".into()));
    }

    /// Those who hung up while they waited are not worked on, and those who hung up while they were worked on leave when they
    /// look up. Waits for ever if one of them keeps its place.
    #[tokio::test]
    async fn whoever_hangs_up_leaves_their_place() {
        let places = Arc::new(Semaphore::new(2));
        let worked = Arc::new(AtomicUsize::new(0));
        let (begin, begun) = mpsc::channel();
        // Two take both places, and go on for as long as somebody wants them to.
        let long = || {
            let (begin, worked) = (begin.clone(), Arc::clone(&worked));
            Box::pin(in_place(&places, PATIENCE, move |wanted: &Cancellation| {
                begin.send(()).unwrap();
                while wanted.check("").is_ok() {
                    std::thread::yield_now();
                }
                worked.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }))
        };
        let mut both = [long(), long()];
        for one in &mut both {
            assert!(poll_once(one.as_mut()).await.is_none());
        }
        (0..2).for_each(|_| begun.recv().unwrap());
        // Three more wait, and hang up.
        let waiting = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let counted = Arc::clone(&waiting);
            let mut one = pin!(in_place(&places, PATIENCE, move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }));
            assert!(poll_once(one.as_mut()).await.is_none());
        }
        assert_eq!(places.available_permits(), 0, "both places are taken by work that is wanted");
        drop(both);
        // Whoever comes now is answered, by both places.
        assert_eq!(in_place(&places, PATIENCE, |_| Ok(7)).await, Ok(7));
        let _all = places.acquire_many(2).await.unwrap();
        assert_eq!((worked.load(Ordering::SeqCst), waiting.load(Ordering::SeqCst)), (2, 0));
    }

    #[tokio::test]
    async fn what_takes_too_long_is_given_up_and_said() {
        let places = Arc::new(Semaphore::new(1));
        let patience = Duration::from_millis(30);
        let given_up = in_place(&places, patience, |wanted| {
            while wanted.check("").is_ok() {
                std::thread::yield_now();
            }
            wanted.check(": ask for less")
        });
        let problem = given_up.await.unwrap_err();
        assert_eq!((problem.status, problem.name.as_ref()), (StatusCode::UNPROCESSABLE_ENTITY, "too-much"));
        assert_eq!(problem.detail, "this takes too long to work out here: ask for less");
        assert_eq!(places.available_permits(), 1, "others have the place again");
    }
}
