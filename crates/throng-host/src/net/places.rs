//! Connection limits against denial of service by silent clients (Slowloris): who holds the connections of a server, and
//! who makes room once all places are taken.
//!
//! Before its first request nothing is known of a connection, and all of them look alike: whoever only holds sockets open
//! would keep all others out. Three things stand against that. A stranger, whom nothing is known of, has less time the
//! fewer places are left. When none is left, the oldest stranger who says nothing makes room for whoever comes. And a
//! quarter of the places is for those who have shown a credential, or the certificate of a party: no stranger takes these.
//!
//! A connection is asked to make room, and its own task then looks once more whether something has arrived: a busy server
//! may have been too slow to read it, which is no fault of the stranger.
//!
//! A place is looked at when a connection begins, ends, or is known for the first time. What a request costs is a few numbers
//! that are changed without a lock.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::timeout;

/// The connections that a server has room for.
#[derive(Debug)]
pub(crate) struct Places {
    begun: Instant,
    strangers_max: usize,
    known_max: usize,
    /// How long a stranger has for a head, while there is room.
    head: Duration,
    /// How long a stranger may be silent once there is none.
    silence: Duration,
    held: Mutex<Occupancy>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Occupancy {
    visitors: HashMap<u64, Arc<Inner>>,
    known: usize,
    next: u64,
}

/// One connection, as handlers see it. Handlers of a router take `Extension<Visitor>`.
#[derive(Clone, Debug)]
pub struct Visitor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    number: u64,
    places: Arc<Places>,
    known: AtomicBool,
    stage: AtomicU8,
    /// When the stage began, in milliseconds since the server did.
    since: AtomicU64,
    /// Since when the server waits for it to say something; 0 while it does not.
    silent: AtomicU64,
    /// Whether it is to make room: not at all, if it is still silent, or in any case.
    asked: AtomicU8,
    leave: Notify,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Visitor);

/// A request that is being answered, until it is dropped with the last of its answer.
#[derive(Debug)]
pub(crate) struct RequestGuard(Visitor);

impl Places {
    /// So many, of which a quarter is for those who are known.
    pub(crate) fn new(all: usize, head: Duration, silence: Duration) -> Arc<Self> {
        let known_max = all / 4;
        Arc::new(Self {
            begun: Instant::now(),
            strangers_max: (all - known_max).max(1),
            known_max,
            head,
            silence,
            held: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// A place for a connection that has come. It waits while all are taken by those who may keep theirs.
    pub(crate) async fn enter(self: &Arc<Self>) -> Place {
        loop {
            if let Some(place) = self.try_enter() {
                return place;
            }
            // Somebody leaves, or has been silent for long enough, or one who was asked has spoken.
            let _ = timeout(PAUSE, self.freed.notified()).await;
        }
    }

    /// Asks strangers to leave who have had their time, which is shorter the fewer places are left.
    pub(crate) fn sweep(&self) {
        let held = lock(&self.held);
        let Some(time) = self.time(held.strangers()) else { return };
        let now = self.now();
        let is_late = |visitor: &&Arc<Inner>| visitor.is_unasking_stranger() && visitor.age(now) >= time;
        held.visitors.values().filter(is_late).for_each(|visitor| visitor.ask(IN_ANY_CASE));
    }

    fn try_enter(self: &Arc<Self>) -> Option<Place> {
        let mut held = lock(&self.held);
        if held.strangers() >= self.strangers_max {
            if let Some((least, how)) = self.least(&held) {
                least.ask(how);
            }
            return None;
        }
        let number = held.next;
        held.next += 1;
        let visitor = Arc::new(Inner {
            number,
            places: Arc::clone(self),
            known: AtomicBool::new(false),
            stage: AtomicU8::new(FRESH),
            since: AtomicU64::new(self.now()),
            silent: AtomicU64::new(0),
            asked: AtomicU8::new(NOT_ASKED),
            leave: Notify::new(),
        });
        held.visitors.insert(number, Arc::clone(&visitor));
        Some(Place(Visitor(visitor)))
    }

    /// Who is asked to make room: the oldest stranger without a request, or else one between two requests, or else one in
    /// the middle of a body; and of these only one who keeps the server waiting.
    fn least<'a>(&self, held: &'a Occupancy) -> Option<(&'a Inner, u8)> {
        let (now, silence) = (self.now(), millis(self.silence));
        let slow = millis(self.head / SHRINK);
        let candidates = held.visitors.values().filter_map(|visitor| {
            let (silent, stage) = (visitor.silent.load(Ordering::Relaxed), visitor.stage());
            let is_silent = silent > 0 && now.saturating_sub(silent) >= silence;
            let how = match visitor.is_unasking_stranger() && visitor.age(now) >= slow {
                true => IN_ANY_CASE,
                false => IF_SILENT,
            };
            let may = visitor.is_stranger() && stage < WORK && (is_silent || how == IN_ANY_CASE);
            (may && visitor.asked.load(Ordering::Relaxed) == NOT_ASKED).then_some((&**visitor, how))
        });
        candidates.min_by_key(|(visitor, _)| {
            (visitor.stage(), visitor.since.load(Ordering::Relaxed), visitor.number)
        })
    }

    /// How long a stranger has, in milliseconds, while there are so many of them; `None` while no more than half of the
    /// places are taken.
    fn time(&self, strangers: usize) -> Option<u64> {
        let (all, head) = (self.strangers_max as u64, millis(self.head));
        // From none at one half to all of it where there is no place left.
        let pressure = (2 * strangers as u64).checked_sub(all).filter(|&pressure| pressure > 0)?.min(all);
        Some(head - (head - head / u64::from(SHRINK)) * pressure / all)
    }

    fn promote(&self, visitor: &Inner) {
        let mut held = lock(&self.held);
        if visitor.known.load(Ordering::Relaxed) || !held.visitors.contains_key(&visitor.number) {
            return;
        }
        if held.known >= self.known_max {
            // Who has said nothing for the longest goes back among the strangers.
            let idle = held.visitors.values().filter(|one| !one.is_stranger() && one.stage() == IDLE);
            let Some(idle) = idle.min_by_key(|one| one.since.load(Ordering::Relaxed)) else { return };
            idle.known.store(false, Ordering::Relaxed);
            held.known -= 1;
        }
        visitor.known.store(true, Ordering::Relaxed);
        held.known += 1;
        drop(held);
        self.freed.notify_one();
    }

    /// Never 0.
    fn now(&self) -> u64 {
        millis(self.begun.elapsed()) + 1
    }
}

impl Occupancy {
    fn strangers(&self) -> usize {
        self.visitors.len() - self.known
    }

    fn remove(&mut self, number: u64) {
        if let Some(visitor) = self.visitors.remove(&number) {
            self.known -= usize::from(!visitor.is_stranger());
        }
    }
}

impl Inner {
    fn is_stranger(&self) -> bool {
        !self.known.load(Ordering::Relaxed)
    }

    /// A stranger without a request.
    fn is_unasking_stranger(&self) -> bool {
        self.is_stranger() && self.stage() <= IDLE
    }

    fn stage(&self) -> u8 {
        self.stage.load(Ordering::Relaxed)
    }

    /// How long ago its stage began, in milliseconds.
    fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.since.load(Ordering::Relaxed))
    }

    fn enter_stage(&self, stage: u8) {
        self.stage.store(stage, Ordering::Relaxed);
        self.since.store(self.places.now(), Ordering::Relaxed);
    }

    fn ask(&self, how: u8) {
        self.asked.store(how, Ordering::Relaxed);
        self.leave.notify_one();
    }

    /// Whether it has to leave, now that it was asked to. Called by its own task, after a look at what has arrived.
    fn has_to_leave(&self) -> bool {
        let how = self.asked.swap(NOT_ASKED, Ordering::Relaxed);
        let is_silent = self.silent.load(Ordering::Relaxed) > 0;
        self.is_stranger() && self.stage() < WORK && (how == IN_ANY_CASE || (how == IF_SILENT && is_silent))
    }
}

impl Visitor {
    /// The connection has shown a credential, or the certificate of a party: strangers do not take its place.
    pub fn is_known(&self) {
        if self.0.is_stranger() {
            self.0.places.promote(&self.0);
        }
    }

    /// A request begins, with a body or without.
    pub(crate) fn begin(&self, has_body: bool) -> RequestGuard {
        self.0.enter_stage(if has_body { BODY } else { WORK });
        RequestGuard(self.clone())
    }

    /// Waits until it has to make room. Always polled after the connection itself.
    pub(crate) async fn leaves(&self) {
        loop {
            self.0.leave.notified().await;
            if self.0.has_to_leave() {
                return;
            }
        }
    }

    /// All of a request's body is here.
    pub(crate) fn has_sent_all(&self) {
        self.0.enter_stage(WORK);
    }
}

impl Place {
    pub(crate) fn visitor(&self) -> &Visitor {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Inner { number, places, .. } = &*self.0.0;
        lock(&places.held).remove(*number);
        places.freed.notify_one();
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.0.enter_stage(IDLE);
    }
}

/// A stream that notes whether the server waits for the other side to say something.
pub(crate) struct VisitorStream<S> {
    stream: S,
    visitor: Visitor,
}

impl<S> VisitorStream<S> {
    pub(crate) fn new(stream: S, visitor: Visitor) -> Self {
        Self { stream, visitor }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for VisitorStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let Inner { silent, places, .. } = &*self.visitor.0;
        match (polled.is_pending(), silent.load(Ordering::Relaxed)) {
            (true, 0) => silent.store(places.now(), Ordering::Relaxed),
            (false, 1..) => silent.store(0, Ordering::Relaxed),
            _ => {}
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for VisitorStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4)
}

/// The map is never half-written.
fn lock(held: &Mutex<Occupancy>) -> MutexGuard<'_, Occupancy> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

// Where a connection stands. Those who make room come first, in this order.
/// No request yet: it has not even shaken hands, or has and says nothing.
const FRESH: u8 = 0;
/// Between two requests.
const IDLE: u8 = 1;
/// In the middle of a request's body.
const BODY: u8 = 2;
/// Its request is being answered. It is not disturbed.
const WORK: u8 = 3;

const NOT_ASKED: u8 = 0;
const IF_SILENT: u8 = 1;
const IN_ANY_CASE: u8 = 2;

/// By how much the time of a stranger is shorter where no place is left.
const SHRINK: u32 = 4;

/// After how long somebody else is asked, if the last one has neither left nor spoken: the server is busy.
const PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// All strangers' places of eight are taken by those who have been silent for long enough.
    fn full(silence: Duration) -> (Arc<Places>, Vec<Place>) {
        let places = Places::new(8, Duration::from_secs(600), silence);
        let all: Vec<Place> = (0..6).map(|_| places.try_enter().unwrap()).collect();
        all.iter().for_each(|place| place.0.0.silent.store(1, Ordering::Relaxed));
        (places, all)
    }

    /// Somebody comes: which of these has to leave for them.
    fn leaving(places: &Arc<Places>, all: &[Place]) -> Vec<usize> {
        assert!(places.try_enter().is_none());
        (0..all.len()).filter(|&index| all[index].0.0.has_to_leave()).collect()
    }

    #[test]
    fn the_oldest_without_a_request_makes_room_first() {
        let (places, all) = full(Duration::ZERO);
        drop(all[0].visitor().begin(false));
        let body = all[1].visitor().begin(true);
        let work = all[2].visitor().begin(false);
        for index in [3, 4, 5, 0, 1] {
            assert_eq!(leaving(&places, &all), [index]);
            // It goes, and one who has spoken has its place.
            all[index].0.0.silent.store(0, Ordering::Relaxed);
        }
        // What is being answered is not disturbed.
        assert!(leaving(&places, &all).is_empty());
        drop((body, work));
        drop(all);
        assert!(places.try_enter().is_some());
    }

    #[test]
    fn who_has_just_come_or_spoken_does_not_leave() {
        let (places, all) = full(Duration::from_secs(600));
        all.iter().for_each(|place| place.0.0.silent.store(places.now(), Ordering::Relaxed));
        assert!(leaving(&places, &all).is_empty());
        let (places, all) = full(Duration::ZERO);
        assert!(places.try_enter().is_none());
        // Something has arrived that the server had no time to look at.
        all[0].0.0.silent.store(0, Ordering::Relaxed);
        assert!(!all[0].0.0.has_to_leave());
        assert_eq!(leaving(&places, &all), [1]);
    }

    #[test]
    fn strangers_do_not_take_the_places_of_those_who_are_known() {
        let (places, mut all) = full(Duration::ZERO);
        all[0].visitor().is_known();
        all[1].visitor().is_known();
        all.extend([(); 2].map(|()| places.try_enter().unwrap()));
        assert_eq!(lock(&places.held).visitors.len(), 8, "and no more are open than are allowed");
        for index in 2..6 {
            assert_eq!(leaving(&places, &all), [index]);
            all[index].0.0.silent.store(0, Ordering::Relaxed);
        }
        assert!(leaving(&places, &all).is_empty());
        // A third one who is known has a place once one of the first two has been idle.
        all[2].visitor().is_known();
        assert!(all[2].0.0.is_stranger());
        drop(all[0].visitor().begin(false));
        all[2].visitor().is_known();
        assert!(!all[2].0.0.is_stranger() && all[0].0.0.is_stranger() && !all[1].0.0.is_stranger());
        assert_eq!(lock(&places.held).known, 2);
        drop(all);
        assert_eq!(lock(&places.held).known, 0);
    }

    #[test]
    fn the_fewer_places_are_left_the_less_time_a_stranger_has() {
        let places = Places::new(1024, Duration::from_secs(10), Duration::from_millis(500));
        assert_eq!((places.strangers_max, places.known_max), (768, 256));
        assert_eq!([0, 384].map(|strangers| places.time(strangers)), [None, None]);
        let times = [576, 768, 900].map(|strangers| places.time(strangers));
        assert_eq!(times, [Some(6250), Some(2500), Some(2500)]);
        let one = Places::new(1, Duration::from_secs(10), Duration::ZERO);
        assert_eq!((one.strangers_max, one.known_max), (1, 0));
    }

    #[test]
    fn a_stranger_who_trickles_has_no_longer() {
        let places = Places::new(8, Duration::ZERO, Duration::from_secs(600));
        let all: Vec<Place> = (0..5).map(|_| places.try_enter().unwrap()).collect();
        all[0].visitor().is_known();
        let work = all[1].visitor().begin(false);
        places.sweep();
        let left: Vec<bool> = all.iter().map(|place| place.0.0.has_to_leave()).collect();
        assert_eq!(left, [false, false, true, true, true]);
        drop(work);
    }
}
