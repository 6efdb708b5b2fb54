//! A page for the person who answers, served by their own machine to their own browser: what is sent about them, what it
//! spends, and whether a receipt is right.
//!
//! # Privacy
//! It listens on 127.0.0.1 alone, under a path with a random token, so that other users of the machine find nothing. A
//! request that names another host is refused, against DNS rebinding: no web site can have its own name point here. The
//! page changes nothing, sends nothing to anyone, and loads nothing from elsewhere. An analyzer has no such page: what it
//! would show is on no other machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, ORIGIN};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use getrandom::rand_core::CryptoRng;
use serde::Serialize;
use throng_dp::Epsilon;

use super::Respondent;
use super::personal_ledger::difference;
use super::receipts::{BodyCheck, ReceiptCheck};
use super::status::AnswerStatus;
use crate::error::{Error, Result};
use throng_host::clock::Clock;
use throng_host::net::exact::Heads;
use throng_host::net::server::Limits;
use throng_host::net::{LoopbackHosts, Problem, Server, Transport, Upload};
use throng_host::operator_token::OperatorToken;
use throng_host::page::{self, Asset, CSS, HTML, SCRIPT};

/// The page, while its address exists.
pub struct RespondentPage {
    server: Server,
    site: Arc<Site>,
}

impl RespondentPage {
    /// Listens on a port of 127.0.0.1; 0 is any that is free.
    pub async fn open(
        state: impl AsRef<Path>,
        port: u16,
        clock: impl Clock + Send + Sync + 'static,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let limits = Limits { connections_max: CONNECTIONS_MAX, heads: Heads::Any, ..Limits::default() };
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Server::bind(listen, Transport::Plain, limits).await?;
        let site = Site::new(state.as_ref(), server.address()?, Box::new(clock), rng);
        Ok(Self { server, site: Arc::new(site) })
    }

    /// The address to open. It has the token in it.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.site.address, self.site.token.as_str())
    }

    /// Serves until `shutdown` is over.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        Ok(self.server.serve(router(self.site), shutdown).await?)
    }
}

/// What the page tells of its respondent.
#[derive(Debug, Serialize)]
pub struct RespondentStatus {
    /// What all answers to all surveys spent together (local, removal).
    pub epsilon_spent: f64,
    /// The person's own limit, once there is one ...
    pub epsilon_limit: Option<f64>,
    /// ... and what is left of it.
    pub epsilon_left: f64,
    /// Each answer in the order in which it was made, with the sum so far.
    pub ledger: Vec<LedgerLine>,
    /// What was sent, or waits.
    pub answers: Vec<AnswerStatus>,
    /// Whether its receipts hold.
    pub receipts: Vec<BodyCheck>,
}

/// A line of the personal ledger.
#[derive(Debug, Serialize)]
pub struct LedgerLine {
    /// The survey's name.
    pub survey: String,
    /// The epoch.
    pub epoch: u64,
    /// What it added.
    pub epsilon_added: f64,
    /// What all answers up to this one spent.
    pub epsilon_spent: f64,
}

impl RespondentStatus {
    /// As the state directory has it now.
    pub fn of(respondent: &Respondent, now_ms: u64) -> Result<Self> {
        let ledger = respondent.ledger();
        let mut before = Epsilon::ZERO;
        let lines = ledger.spent_after_each()?.into_iter().map(|(entry, spent)| {
            let epsilon_added = difference(spent, std::mem::replace(&mut before, spent));
            let (survey, epsilon_spent) = (entry.name.clone(), spent.value());
            LedgerLine { survey, epoch: entry.epoch, epsilon_added, epsilon_spent }
        });
        Ok(Self {
            epsilon_spent: ledger.spent()?.value(),
            epsilon_limit: ledger.epsilon_limit(),
            epsilon_left: ledger.left()?,
            ledger: lines.collect(),
            answers: respondent.show(now_ms)?,
            receipts: respondent.check(&[])?,
        })
    }
}

/// What requests are answered from.
struct Site {
    state: PathBuf,
    /// Where it listens.
    address: SocketAddr,
    /// What its path has to begin with: whoever runs the program is the operator of this page.
    token: OperatorToken,
    clock: Box<dyn Clock + Send + Sync>,
}

impl Site {
    fn new(
        state: &Path,
        address: SocketAddr,
        clock: Box<dyn Clock + Send + Sync>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Self {
        let token = OperatorToken::generate(&mut &mut *rng);
        Self { state: state.to_owned(), address, token, clock }
    }

    /// Why a request is not answered, if it is not.
    fn refusal(&self, request: &Request) -> Option<Problem> {
        let host = match LoopbackHosts::of(self.address).named(request.headers()) {
            Ok(host) => host,
            Err(problem) => return Some(problem),
        };
        let own = format!("http://{host}");
        if request.headers().get(ORIGIN).is_some_and(|origin| origin.as_bytes() != own.as_bytes()) {
            let detail = "this page answers to itself alone";
            return Some(Problem::new(StatusCode::FORBIDDEN, "origin", detail));
        }
        let token = request.uri().path().split('/').nth(1).unwrap_or_default();
        (!self.token.is(token)).then(unknown)
    }
}

fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/{token}/", get(async |request: Request| INDEX.answer(&request)))
        .route("/{token}/about.json", get(about))
        .route("/{token}/receipt", post(receipt))
        .fallback(async || unknown())
        .method_not_allowed_fallback(Problem::method)
        .with_state(Arc::clone(&site))
        .nest("/{token}", page::routes(page::SHARED.iter().chain(OWN)))
        .layer(from_fn_with_state(site, admitted))
        .layer(map_response(page::secured))
}

/// Lets a request pass that was made for this page, by this page.
async fn admitted(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    match site.refusal(&request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn unknown() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "unknown",
        "there is nothing here: open the whole address that was printed",
    )
}

async fn about(State(site): State<Arc<Site>>) -> Result<Response, Problem> {
    let now_ms = site.clock.now_ms();
    answered(site, move |respondent| RespondentStatus::of(respondent, now_ms)).await
}

/// A receipt comes from the page to this process, on the same machine, and stays there.
async fn receipt(State(site): State<Arc<Site>>, request: Request) -> Result<Response, Problem> {
    let bytes = Upload::of_any_type(request, RECEIPT_LEN_MAX)?.bytes().await?;
    answered(site, move |respondent| -> Result<ReceiptCheck> { respondent.check_receipt(&bytes) }).await
}

/// What is found in the state directory, as JSON.
async fn answered<T: Serialize>(
    site: Arc<Site>,
    look: impl FnOnce(&Respondent) -> Result<T> + Send + 'static,
) -> Result<Response, Problem> {
    let text = move || Ok(serde_json::to_string(&look(&*Respondent::look_at(&site.state)?)?)?);
    let found = tokio::task::spawn_blocking(text).await.unwrap_or_else(|error| Err(error.into()));
    // The only reader is the person whose files these are: they are told which one is wrong.
    let failed =
        |error: Error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "state", format!("{error:#}"));
    Ok(([(CONTENT_TYPE, "application/json")], found.map_err(failed)?).into_response())
}

const INDEX: Asset =
    Asset { name: "index.html", kind: HTML, text: &[page::HEAD, include_str!("../assets/index.html")] };
const OWN: &[Asset] = &[
    Asset { name: "about-me.js", kind: SCRIPT, text: &[include_str!("../assets/about-me.js")] },
    Asset { name: "about-me.css", kind: CSS, text: &[include_str!("../assets/about-me.css")] },
];

const CONNECTIONS_MAX: usize = 16;
/// Enough to say of a file that it is no receipt.
const RECEIPT_LEN_MAX: u64 = 4096;
