//! `throng conform`: plays the first hops of a tiny survey for a client under test, and says what is wrong.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
use tokio::time::interval;

use super::stop::stop_signal;
use super::{Format, print};
use crate::cli::conform::ConformArgs;
use crate::exit::BrokenPromise;
use throng_host::clock::{Clock, SystemClock, rfc3339};
use throng_host::entropy::system_rng;
use throng_host::net::server::Limits;
use throng_host::net::{Identity, OutgoingBody, Server, Transport, Upload};
use throng_host::out_dir::OutDir;
use throng_lab::conform::{Door, Examiner, Rehearsal, Shape, Verdict};

/// Waits for one answer, and says what is wrong with it.
pub fn run(args: &ConformArgs, format: Format) -> Result<()> {
    let out = OutDir::open(&args.out)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("the operating system gives no threads")?;
    let verdict = runtime.block_on(rehearse(args, &out))?;
    match format {
        Format::Json => print(&(serde_json::to_string_pretty(&verdict)? + "\n"))?,
        Format::Text => print(&verdict.to_string())?,
    }
    match verdict.findings.len() {
        0 => Ok(()),
        1 => Err(BrokenPromise("the client does one thing that is not as docs/wire-format.md has it".into())
            .into()),
        wrong => Err(BrokenPromise(format!(
            "the client does {wrong} things that are not as docs/wire-format.md has them"
        ))
        .into()),
    }
}

async fn rehearse(args: &ConformArgs, out: &OutDir) -> Result<Verdict> {
    let (mut servers, mut doors) = (Vec::new(), Vec::new());
    for _ in 0..args.instances {
        let identity = if args.tls { Some(Identity::generate()?) } else { None };
        let transport = identity.as_ref().map_or(Transport::Plain, Transport::Tls);
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(any_port, transport, Limits::default()).await?;
        let scheme = if args.tls { "https" } else { "http" };
        let url = format!("{scheme}://{}", server.address()?);
        doors.push(Door { url, certificate: identity.map(|identity| identity.digest()) });
        servers.push(server);
    }
    let shape = Shape { instances: args.instances, hops: args.hops, epoch_s: args.epoch_s };
    let epoch = SystemClock.now_s() / args.epoch_s;
    let rehearsal = Rehearsal::new(shape, &doors, epoch, &mut system_rng()?)?;
    write(&rehearsal, args, out)?;
    let examiner = Arc::new(Mutex::new(Examiner::new(rehearsal)));

    let (stop, stopped) = watch::channel(());
    let mut tasks = Vec::new();
    for (instance, server) in (1..).zip(servers) {
        let router = Router::new().fallback(answer).with_state((Arc::clone(&examiner), instance));
        let mut stopped = stopped.clone();
        let end = async move {
            let _ = stopped.changed().await;
        };
        tasks.push(tokio::spawn(server.serve(router, end)));
    }
    let urls: Vec<&str> = doors.iter().map(|door| &*door.url).collect();
    eprintln!("ready: the first hops of {} are {}", args.out.join("survey.toml").display(), urls.join(", "));
    let waited = wait(args, &examiner).await;
    drop(stop);
    for task in tasks {
        task.await.context("a hop of the rehearsal ended")??;
    }
    waited?;
    show(&mut lock(&examiner));
    let Some(examiner) = Arc::into_inner(examiner) else { bail!("a hop of the rehearsal has not ended") };
    Ok(examiner.into_inner().unwrap_or_else(PoisonError::into_inner).verdict())
}

/// Writes what a client needs, the credential for its owner alone.
fn write(rehearsal: &Rehearsal, args: &ConformArgs, out: &OutDir) -> Result<()> {
    let path = out.path("credential");
    let wrong = || format!("cannot write {}", path.display());
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path).with_context(wrong)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).with_context(wrong)?;
    std::io::Write::write_all(&mut &file, rehearsal.credential().to_file().as_bytes()).with_context(wrong)?;
    let files: Vec<_> =
        rehearsal.files().iter().map(|(name, text)| (*name, text.clone().into_bytes())).collect();
    out.write(&files).with_context(|| format!("cannot write to {}", args.out.display()))
}

/// Waits until all instances have what they need, the epoch that was answered is over, or nobody came; and says what it
/// waits for.
async fn wait(args: &ConformArgs, examiner: &Mutex<Examiner>) -> Result<()> {
    let patience_ms = args.wait_s.unwrap_or(3 * args.epoch_s).saturating_mul(1000);
    let until_ms = SystemClock.now_ms().saturating_add(patience_ms);
    eprintln!("waiting for a body to every instance, until {}", rfc3339(until_ms / 1000));
    let mut beat = interval(BEAT);
    let mut asked_to_stop = std::pin::pin!(stop_signal());
    loop {
        let stopped = tokio::select! {
            () = &mut asked_to_stop => true,
            _ = beat.tick() => false,
        };
        let mut examiner = lock(examiner);
        show(&mut examiner);
        let waits_for = examiner.waits_for();
        let end_ms = examiner.end_ms();
        if waits_for.is_empty() || end_ms.is_some_and(|end_ms| SystemClock.now_ms() >= end_ms) {
            return Ok(());
        }
        match end_ms {
            Some(_) if stopped => return Ok(()),
            None if stopped => bail!("stopped before anything was sent"),
            None if SystemClock.now_ms() >= until_ms => {
                bail!(
                    "nothing that could be looked into was sent in {} s; --wait-s waits longer",
                    patience_ms / 1000
                )
            }
            _ => {}
        }
    }
}

/// Says what has happened, and what is still to come.
fn show(examiner: &mut Examiner) {
    let news = examiner.progress();
    if news.is_empty() {
        return;
    }
    news.iter().for_each(|line| eprintln!("{line}"));
    let waits_for: Vec<String> = examiner.waits_for().iter().map(u32::to_string).collect();
    if let (false, Some(end_ms)) = (waits_for.is_empty(), examiner.end_ms()) {
        eprintln!("waiting for instance {}, until {}", waits_for.join(", "), rfc3339(end_ms / 1000));
    }
}

async fn answer(
    State((examiner, instance)): State<(Arc<Mutex<Examiner>>, u32)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let request = Request::from_parts(head.clone(), body);
    let body = match Upload::new(request, BODY_LEN_MAX) {
        Ok(upload) => upload.bytes().await,
        Err(problem) => Err(problem),
    };
    let body = body.as_deref().map_err(Clone::clone);
    let Ok(mut rng) = system_rng() else { return throng_host::net::Problem::unknown().await.into_response() };
    let answered = lock(&examiner).take(instance, &head, body, SystemClock.now_ms(), &mut rng);
    match answered {
        Ok(receipt) => OutgoingBody::bytes(receipt).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// What a panic left of it is still what was seen.
fn lock(examiner: &Mutex<Examiner>) -> MutexGuard<'_, Examiner> {
    examiner.lock().unwrap_or_else(PoisonError::into_inner)
}

const BEAT: Duration = Duration::from_millis(100);

/// More than any body of a rehearsal has.
const BODY_LEN_MAX: u64 = 1 << 20;
