//! The requests that a shuffler answers, as section 9 of docs/wire-format.md lists them.

use std::io::{self, Read};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{ALLOW, AUTHORIZATION};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Extension, Router};
use hyper::body::{Bytes, Incoming};
use throng_shuffle::{Channel, Error, Refusal, Upload as Body};
use throng_wire::batch_count::BATCH_COUNT_LEN;
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{Address, BatchCount, Digest, EpochStatement, Place, Route, Signed, SurveyHash, Token};
use tokio::sync::mpsc;

use super::{HopServer, ShufflerState};
use crate::operate::damage::Damage;
use crate::operate::reasons::Reason;
use crate::shuffler::worker::{BlockingReader, wire_batch};
use throng_host::clock::{Clock, SystemClock, has_jumped_ahead};
use throng_host::entropy::system_rng;
use throng_host::net::body::TimedBody;
use throng_host::net::{
    Answer, InstancePath, OutgoingBody, Peer, Problem, RoutePath, Shortcut, Upload, Visitor, paths,
};

type Hops = State<Arc<ShufflerState>>;

/// The router of these hops, for all but uploads.
pub(super) fn router(hops: Arc<ShufflerState>) -> Router {
    Router::new()
        .route(&paths::pattern("batch"), put(take_batch).get(give_batch))
        .route(&paths::pattern("ack"), post(acknowledge))
        .route(&paths::pattern("statement"), get(statement))
        .route(paths::WAITING, get(waiting))
        .route(paths::SEEN, get(seen))
        .fallback(unknown)
        .method_not_allowed_fallback(Problem::method)
        .with_state(hops)
}

/// 404 for an unknown path, and 405 for another method at that of uploads.
async fn unknown(uri: Uri) -> Response {
    match paths::upload(uri.path()) {
        Some(_) => ([(ALLOW, "POST")], Problem::method().await).into_response(),
        None => Problem::unknown().await.into_response(),
    }
}

/// Uploads, whose paths are read in place.
#[derive(Clone)]
pub(super) struct Uploads(pub(super) Arc<ShufflerState>);

impl Shortcut for Uploads {
    fn takes<B>(&self, request: &hyper::Request<B>) -> bool {
        request.method() == Method::POST && paths::upload(request.uri().path()).is_some()
    }

    async fn answer(
        &self,
        request: hyper::Request<TimedBody<Incoming>>,
        visitor: &Visitor,
    ) -> hyper::Response<Answer> {
        match take_body(&self.0, request, visitor).await {
            Ok(receipt) => Answer::short(receipt),
            Err(problem) => Answer::routed(problem),
        }
    }
}

async fn take_body(
    hops: &ShufflerState,
    request: hyper::Request<TimedBody<Incoming>>,
    visitor: &Visitor,
) -> Result<OutgoingBody, Problem> {
    let Some(route) = paths::upload(request.uri().path()) else { return Err(Problem::unknown().await) };
    let (hop, channel) = find(hops, &route)?;
    let id = respondent(hop, request.headers())?;
    // With open enrolment anybody has a token, and nobody is known by it.
    if hop.credentials.is_some() {
        visitor.is_known();
    }
    let current = hop.hop.now();
    let layout = current.layout();
    let upload = Upload::new(request, layout.body_len(layout.envelopes()) as u64)?;
    // A refusal because the epoch is over would be for good.
    let now_s = SystemClock.now_s();
    if has_jumped_ahead(hop.started, now_s) {
        return Err(clock());
    }
    current.admits(channel, upload.len() as usize, now_s).map_err(|refusal| match refusal {
        Refusal::Closed if current.is_past_keys(now_s, 0) => clock(),
        refusal => problem(refusal),
    })?;
    let body = upload.bytes_in(hop.intake.memory()).await?;
    let body = Body::new(channel, id, body);
    let taken = hop.intake.take(body).await.map_err(|refusal| {
        if refusal == Refusal::Full {
            // Seldom, since each line would be an upload.
            hop.log.error("uploads-not-taken").reason(Reason::NoRoom).write_seldom(&hop.seldom);
        }
        problem(refusal)
    })?;
    Ok(OutgoingBody::bytes(taken.receipt().to_bytes()))
}

async fn take_batch(
    State(hops): Hops,
    RoutePath(route): RoutePath,
    Extension(peer): Extension<Peer>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<OutgoingBody, Problem> {
    let (running, channel) = find(&hops, &route)?;
    // The first hop has nobody before it.
    known(running, (peer, &visitor), running.peers.now().before.as_ref())?;
    let mut upload = Upload::new(request, u64::MAX)?;
    let head_len = (running.number as usize - 1) * STATEMENT_LEN + BATCH_COUNT_LEN;
    let (mut head, mut rest) = (Vec::new(), Bytes::new());
    while head.len() < head_len {
        let Some(mut chunk) = upload.chunk().await? else { return Err(problem(Refusal::Length)) };
        let more = chunk.split_to(chunk.len().min(head_len - head.len()));
        head.extend_from_slice(&more);
        rest = chunk;
    }
    let Some((statements, count)) = head.split_last_chunk() else { return Err(problem(Refusal::Length)) };
    let count = BatchCount::from_bytes(count);
    let statements: Vec<Signed<EpochStatement>> = statements
        .chunks_exact(STATEMENT_LEN)
        .map(Signed::from_bytes)
        .collect::<Result<_, _>>()
        .map_err(|_| problem(Refusal::Statements))?;
    // The hop reads in a thread of its own; what has arrived waits for it in a short queue.
    let (parts, queue) = mpsc::channel(QUEUE);
    let hop = running.hop.now();
    let receiving = tokio::task::spawn_blocking(move || {
        let mut records = Queue { queue, part: rest };
        let mut rng = system_rng().map_err(|error| Error::Store(io::Error::other(error.to_string())))?;
        hop.receive(channel, statements, count, &mut records, SystemClock.now_s(), &mut rng)
    });
    let (mut broken, mut wanted) = (None, true);
    while broken.is_none() {
        let part = match upload.chunk().await {
            Ok(Some(part)) => Ok(part),
            Ok(None) => break,
            Err(problem) => {
                broken = Some(problem);
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        };
        // A hop that has made up its mind reads no more; but who sends wants to finish before they listen.
        wanted = wanted && parts.send(part).await.is_ok();
    }
    drop(parts);
    let received = receiving.await.map_err(|_| internal())?;
    if let Some(problem) = broken {
        return Err(problem);
    }
    let digest = received.map_err(|error| running.failed(error))?;
    Ok(OutgoingBody::bytes(digest.as_bytes().to_vec()))
}

async fn give_batch(
    State(hops): Hops,
    RoutePath(route): RoutePath,
    Extension(peer): Extension<Peer>,
    Extension(visitor): Extension<Visitor>,
) -> Result<OutgoingBody, Problem> {
    let (running, channel) = last_hop(&hops, &route, (peer, &visitor))?;
    let (body, len) = wire_batch(running.hop.now().outgoing(channel).map_err(|error| running.failed(error))?);
    Ok(OutgoingBody::reader(BlockingReader(body), len))
}

async fn acknowledge(
    State(hops): Hops,
    RoutePath(route): RoutePath,
    Extension(peer): Extension<Peer>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Result<Response, Problem> {
    let (running, channel) = last_hop(&hops, &route, (peer, &visitor))?;
    let digest: Result<[u8; 32], _> = Upload::new(request, 32)?.bytes().await?.try_into();
    let digest = Digest::new(digest.map_err(|_| problem(Refusal::Length))?);
    let (hop, handed_on) = (running.hop.now(), running.handed_on.clone());
    let done = tokio::task::spawn_blocking(move || {
        let waited = hop.waiting().contains(&channel);
        hop.acknowledge(channel, digest)?;
        if waited {
            handed_on.add();
        }
        Ok(waited)
    });
    let waited = done.await.map_err(|_| internal())?.map_err(|error| running.failed(error))?;
    if waited {
        running.log.info("batch-handed-on").epoch(channel.epoch).label(channel.label).write();
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn statement(State(hops): Hops, RoutePath(route): RoutePath) -> Result<OutgoingBody, Problem> {
    let (running, channel) = find(&hops, &route)?;
    let statement = running.hop.now().statement(channel).map_err(problem)?;
    Ok(OutgoingBody::bytes(statement.to_bytes()))
}

/// Which batches wait for the analyzer.
async fn waiting(
    State(hops): Hops,
    InstancePath(survey, instance): InstancePath,
    Extension(peer): Extension<Peer>,
    Extension(visitor): Extension<Visitor>,
) -> Result<OutgoingBody, Problem> {
    let hop = hops.of(survey, instance)?;
    let last = hop.number == hop.hop.now().layout().hops();
    known(hop, (peer, &visitor), last.then_some(&hop.peers.now().after))?;
    // Those that nobody takes any more do not hide the others.
    let mut channels = hop.hop.now().waiting();
    channels.sort_by_key(|channel| std::cmp::Reverse(channel.epoch));
    let channels = channels.into_iter().take(WAITING_MAX);
    Ok(OutgoingBody::bytes(channels.flat_map(paths::channel_bytes).collect::<Vec<u8>>()))
}

/// What the hop before has signed, as far as it came here: it asks when it starts.
async fn seen(
    State(hops): Hops,
    InstancePath(survey, instance): InstancePath,
    Extension(peer): Extension<Peer>,
    Extension(visitor): Extension<Visitor>,
) -> Result<OutgoingBody, Problem> {
    let hop = hops.of(survey, instance)?;
    known(hop, (peer, &visitor), hop.peers.now().before.as_ref())?;
    Ok(OutgoingBody::bytes(hop.hop.now().seen().iter().flat_map(|one| one.to_bytes()).collect::<Vec<u8>>()))
}

/// The hop and channel of a route.
fn find<'a>(hops: &'a ShufflerState, route: &Route) -> Result<(&'a HopServer, Channel), Problem> {
    let hop = hops.of(route.survey, route.instance)?;
    match hop.hop.now().has_label(route.label) {
        true => Ok((hop, Channel { label: route.label, epoch: route.epoch })),
        false => Err(problem(Refusal::Unknown)),
    }
}

/// The same for who comes for batches: the survey's own analyzer, at the last hop.
fn last_hop<'a>(
    hops: &'a ShufflerState,
    route: &Route,
    who: (Peer, &Visitor),
) -> Result<(&'a HopServer, Channel), Problem> {
    let (hop, channel) = find(hops, route)?;
    let last = hop.number == hop.hop.now().layout().hops();
    known(hop, who, last.then_some(&hop.peers.now().after))?;
    Ok((hop, channel))
}

/// Whether a request comes from a party: it has proved to have the key of the certificate that the party's signed address
/// names. Where this server itself has no TLS, which is for one machine only, nobody can.
fn known(
    running: &HopServer,
    (peer, visitor): (Peer, &Visitor),
    party: Option<&Address>,
) -> Result<(), Problem> {
    let proved = |party: &Address| party.certificate.is_some() && party.certificate == peer.certificate;
    if !party.is_some_and(|party| running.plain || proved(party)) {
        let detail = "this is for a party of the survey, with the certificate that its address names";
        return Err(Problem::new(StatusCode::FORBIDDEN, "party", detail));
    }
    visitor.is_known();
    Ok(())
}

/// The respondent's name at this hop, by the token that they show.
fn respondent(hop: &HopServer, head: &HeaderMap) -> Result<Digest, Problem> {
    let token = head
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .and_then(Token::from_text);
    let id = token.map(|token| token.id());
    id.filter(|id| hop.credentials.as_ref().is_none_or(|list| list.contains(id))).ok_or_else(|| {
        let detail =
            "this survey asks for a credential, as `Authorization: Bearer` with a token for this hop";
        Problem::new(StatusCode::UNAUTHORIZED, "credential", detail)
    })
}

/// What has arrived of a batch, to be read where waiting is allowed.
struct Queue {
    queue: mpsc::Receiver<io::Result<Bytes>>,
    part: Bytes,
}

impl Read for Queue {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            match self.queue.blocking_recv() {
                Some(part) => self.part = part?,
                None => return Ok(0),
            }
        }
        let len = buffer.len().min(self.part.len());
        buffer[..len].copy_from_slice(&self.part.split_to(len));
        Ok(len)
    }
}

impl ShufflerState {
    /// The hop of a survey and instance. One whose files are damaged is away, not unknown: who is told that something is
    /// unknown does not come again.
    fn of(&self, survey: SurveyHash, instance: u32) -> Result<&HopServer, Problem> {
        let is_it = |hop: &&HopServer| hop.instance == instance && hop.survey == survey;
        self.running.iter().find(is_it).ok_or_else(|| {
            // One whose file cannot be read may be any.
            let may_be = |damage: &Damage| {
                matches!(damage.place, Place::Hop { instance: its, .. } if its == instance)
                    && damage.survey.is_none_or(|its| its == survey)
            };
            match self.damages.iter().any(may_be) {
                true => {
                    let detail =
                        "this hop cannot serve this survey until its operator has mended it; try again later";
                    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "damaged", detail).after_s(AGAIN_S)
                }
                false => problem(Refusal::Unknown),
            }
        })
    }
}

impl HopServer {
    /// The answer to a request that this hop could not carry out. Its log says so seldom, since strangers can ask often.
    fn failed(&self, error: Error) -> Problem {
        match error {
            Error::Refused(refusal) => problem(refusal),
            error => {
                self.log.error("request-failed").reason(Reason::of_hop(&error)).write_seldom(&self.seldom);
                internal()
            }
        }
    }
}

fn clock() -> Problem {
    let detail = "the clock of this hop is not believed; try again later";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "clock", detail)
}

fn internal() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "this hop has a problem; try again later")
}

fn problem(refusal: Refusal) -> Problem {
    let (status, name) = match refusal {
        Refusal::Unknown => (StatusCode::NOT_FOUND, "unknown"),
        Refusal::Closed => (StatusCode::CONFLICT, "closed"),
        Refusal::Early => (StatusCode::SERVICE_UNAVAILABLE, "early"),
        Refusal::Conflict => (StatusCode::CONFLICT, "conflict"),
        Refusal::Length => (StatusCode::BAD_REQUEST, "length"),
        Refusal::Full => (StatusCode::INSUFFICIENT_STORAGE, "full"),
        Refusal::Gone => (StatusCode::GONE, "gone"),
        Refusal::Expired => (StatusCode::GONE, "expired"),
        Refusal::Undecided => (StatusCode::NOT_FOUND, "undecided"),
        Refusal::Statements => (StatusCode::UNPROCESSABLE_ENTITY, "statements"),
        Refusal::Batch => (StatusCode::UNPROCESSABLE_ENTITY, "batch"),
        Refusal::Before => (StatusCode::GONE, "before"),
        Refusal::Stopped => (StatusCode::SERVICE_UNAVAILABLE, "stopped"),
        Refusal::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    let problem = Problem::new(status, name, refusal.to_string());
    match refusal {
        // Whoever asks can tell whether it is their clock that is wrong.
        Refusal::Closed | Refusal::Early => problem.at_s(SystemClock.now_s()),
        _ => problem,
    }
}

/// Batches that are listed at once, 12 bytes each; an analyzer that has taken these asks again.
const WAITING_MAX: usize = 1000;

/// After how many seconds a survey that is damaged is asked for again.
const AGAIN_S: u64 = 60;

/// Parts of a batch that wait to be written.
const QUEUE: usize = 8;
