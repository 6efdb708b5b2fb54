//! Who holds the connections of a server, and who makes room once all places are taken.
//!
//! Nothing is known of a connection before its first request, so nobody can be told from anybody by then: whoever only holds
//! sockets open would keep all others out. Three things stand against that. A stranger, whom nothing is known of, has less time
//! the fewer places are left. When there is none left, the oldest of those who say nothing makes room for whoever comes. And
//! a quarter of the places is for those who have shown a credential, or the certificate of a party: no stranger takes these.
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
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// The places of a server.
#[derive(Debug)]
pub(crate) struct Places {
    begun: Instant,
    strangers_max: usize,
    known_max: usize,
    /// How long a stranger has for a head, while there is room.
    head: Duration,
    /// How long a stranger may be silent once there is none.
    silence: Duration,
    held: Mutex<Held>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Held {
    visitors: HashMap<u64, Holder>,
    known: usize,
    next: u64,
}

#[derive(Debug)]
struct Holder {
    visitor: Arc<Inner>,
    task: Option<AbortHandle>,
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
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Visitor);

/// A request that is being answered, until it is dropped with the last of its answer.
#[derive(Debug)]
pub(crate) struct Busy(Visitor);

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
            // Somebody leaves, or has been silent for long enough.
            let _ = timeout(self.silence / 8 + PAUSE_MIN, self.freed.notified()).await;
        }
    }

    /// The task that serves a place, to be ended if the place is taken away.
    pub(crate) fn serve(&self, number: u64, task: AbortHandle) {
        match lock(&self.held).visitors.get_mut(&number) {
            Some(holder) => holder.task = Some(task),
            // It has ended already.
            None => task.abort(),
        }
    }

    /// Drops strangers who have had their time, which is shorter the fewer places are left.
    pub(crate) fn sweep(&self) {
        let mut held = lock(&self.held);
        let Some(time) = self.time(held.strangers()) else { return };
        let now = self.now();
        let late: Vec<u64> = held
            .visitors
            .values()
            .filter(|holder| holder.visitor.is_unasking_stranger() && holder.visitor.age(now) >= time)
            .map(|holder| holder.visitor.number)
            .collect();
        for number in late {
            held.drop_visitor(number);
        }
    }

    fn try_enter(self: &Arc<Self>) -> Option<Place> {
        let mut held = lock(&self.held);
        while held.strangers() >= self.strangers_max {
            let least = self.least(&held)?;
            held.drop_visitor(least);
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
        });
        held.visitors.insert(number, Holder { visitor: Arc::clone(&visitor), task: None });
        Some(Place(Visitor(visitor)))
    }

    /// Who makes room: the oldest stranger without a request; or else between two requests; or else in the middle of a body;
    /// and of these only who keeps the server waiting.
    fn least(&self, held: &Held) -> Option<u64> {
        let (now, silence) = (self.now(), millis(self.silence));
        let slow = millis(self.head / SHRINK);
        let candidates = held.visitors.values().map(|holder| &*holder.visitor).filter(|visitor| {
            let silent = visitor.silent.load(Ordering::Relaxed);
            let is_silent = silent > 0 && now.saturating_sub(silent) >= silence;
            let is_slow = visitor.is_unasking_stranger() && visitor.age(now) >= slow;
            visitor.is_stranger() && visitor.stage.load(Ordering::Relaxed) < WORK && (is_silent || is_slow)
        });
        let order = |visitor: &&Inner| {
            (visitor.stage.load(Ordering::Relaxed), visitor.since.load(Ordering::Relaxed), visitor.number)
        };
        candidates.min_by_key(order).map(|visitor| visitor.number)
    }

    /// How long a stranger has, in milliseconds, while so many are there; `None` while there is room for as many again.
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
            let idle = held.visitors.values().map(|holder| &*holder.visitor);
            let idle =
                idle.filter(|one| !one.is_stranger() && one.stage.load(Ordering::Relaxed) == IDLE);
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

impl Held {
    fn strangers(&self) -> usize {
        self.visitors.len() - self.known
    }

    /// Takes a place away, unless a request has begun meanwhile.
    fn drop_visitor(&mut self, number: u64) {
        let Some(holder) = self.visitors.get(&number) else { return };
        let dropped = holder.visitor.stage.fetch_update(Ordering::AcqRel, Ordering::Acquire, |stage| {
            (stage < WORK).then_some(DROPPED)
        });
        if dropped.is_ok()
            && let Some(Holder { task: Some(task), .. }) = self.remove(number)
        {
            task.abort();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Holder> {
        let holder = self.visitors.remove(&number)?;
        self.known -= usize::from(holder.visitor.known.load(Ordering::Relaxed));
        Some(holder)
    }
}

impl Inner {
    fn is_stranger(&self) -> bool {
        !self.known.load(Ordering::Relaxed)
    }

    fn is_unasking_stranger(&self) -> bool {
        self.is_stranger() && self.stage.load(Ordering::Relaxed) <= IDLE
    }

    /// How long ago its stage began, in milliseconds.
    fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.since.load(Ordering::Relaxed))
    }

    /// Says whether it may: a place that was taken away stays so.
    fn enter_stage(&self, stage: u8) -> bool {
        let entered = self.stage.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| {
            (now != DROPPED).then_some(stage)
        });
        self.since.store(self.places.now(), Ordering::Relaxed);
        entered.is_ok()
    }
}

impl Visitor {
    /// The connection has shown a credential, or the certificate of a party: strangers do not take its place.
    pub fn is_known(&self) {
        if self.0.is_stranger() {
            self.0.places.promote(&self.0);
        }
    }

    /// A request begins, with a body or without; `None` if the place was taken away just now.
    pub(crate) fn begin(&self, has_body: bool) -> Option<Busy> {
        self.0.enter_stage(if has_body { BODY } else { WORK }).then(|| Busy(self.clone()))
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

    pub(crate) fn number(&self) -> u64 {
        self.0.0.number
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Inner { number, places, .. } = &*self.0.0;
        lock(&places.held).remove(*number);
        places.freed.notify_one();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.enter_stage(IDLE);
    }
}

/// A stream that notes whether the server waits for the other side to say something.
pub(crate) struct Heard<S> {
    stream: S,
    visitor: Visitor,
}

impl<S> Heard<S> {
    pub(crate) fn new(stream: S, visitor: Visitor) -> Self {
        Self { stream, visitor }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
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
fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
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
/// Its place was taken away.
const DROPPED: u8 = 4;

/// By how much the time of a stranger is shorter where no place is left.
const SHRINK: u32 = 4;

const PAUSE_MIN: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// All strangers' places of eight are taken by those who have been silent for long enough.
    fn full(silence: Duration) -> (Arc<Places>, Vec<Place>) {
        let places = Places::new(8, Duration::from_secs(600), silence);
        let all: Vec<Place> = (0..6).map(|_| places.try_enter().unwrap()).collect();
        all.iter().for_each(|place| place.visitor().0.silent.store(1, Ordering::Relaxed));
        (places, all)
    }

    fn has(places: &Places, place: &Place) -> bool {
        lock(&places.held).visitors.contains_key(&place.number())
    }

    #[tokio::test]
    async fn the_oldest_without_a_request_makes_room_first() {
        let (places, all) = full(Duration::ZERO);
        let idle = all[0].visitor().begin(false).unwrap();
        drop(idle);
        let body = all[1].visitor().begin(true).unwrap();
        let work = all[2].visitor().begin(false).unwrap();
        let mut newer = Vec::new();
        for gone in [3, 4, 5, 0, 1] {
            assert!(has(&places, &all[gone]), "{gone} is still there");
            newer.push(places.try_enter().unwrap());
            assert!(!has(&places, &all[gone]), "{gone} makes room");
        }
        assert!(all[1].visitor().begin(false).is_none(), "what was taken away stays so");
        // What is being answered is not disturbed, and those who have just come have time to speak.
        assert!(places.try_enter().is_none() && has(&places, &all[2]));
        drop((body, work));
    }

    #[tokio::test]
    async fn who_has_just_come_is_not_dropped_for_another() {
        let (places, all) = full(Duration::from_secs(600));
        all.iter().for_each(|place| place.visitor().0.silent.store(places.now(), Ordering::Relaxed));
        assert!(places.try_enter().is_none());
        drop(all);
        assert!(places.try_enter().is_some());
    }

    #[tokio::test]
    async fn strangers_do_not_take_the_places_of_those_who_are_known() {
        let (places, all) = full(Duration::ZERO);
        all[0].visitor().is_known();
        all[1].visitor().is_known();
        let strangers: Vec<Place> = (0..20)
            .map(|_| {
                let place = places.try_enter().unwrap();
                place.visitor().0.silent.store(1, Ordering::Relaxed);
                place
            })
            .collect();
        assert!(has(&places, &all[0]) && has(&places, &all[1]));
        assert_eq!(lock(&places.held).visitors.len(), 8, "and no more are open than are allowed");
        // A third one who is known has a place once one of the first two has been idle.
        drop(all[0].visitor().begin(false));
        let third = strangers.last().unwrap();
        third.visitor().is_known();
        assert!(!third.0.0.is_stranger() && all[0].0.0.is_stranger() && !all[1].0.0.is_stranger());
        assert_eq!(lock(&places.held).known, 2);
        drop((all, strangers));
        assert_eq!(lock(&places.held).known, 0);
    }

    #[test]
    fn the_fewer_places_are_left_the_less_time_a_stranger_has() {
        let places = Places::new(1024, Duration::from_secs(10), Duration::from_millis(500));
        assert_eq!((places.strangers_max, places.known_max), (768, 256));
        assert_eq!([0, 384].map(|strangers| places.time(strangers)), [None, None]);
        assert_eq!([576, 768, 900].map(|strangers| places.time(strangers)), [Some(6250), Some(2500), Some(2500)]);
        let one = Places::new(1, Duration::from_secs(10), Duration::ZERO);
        assert_eq!((one.strangers_max, one.known_max), (1, 0));
    }

    #[tokio::test]
    async fn a_stranger_who_trickles_has_no_longer() {
        let places = Places::new(8, Duration::ZERO, Duration::from_secs(600));
        let all: Vec<Place> = (0..4).map(|_| places.try_enter().unwrap()).collect();
        all[0].visitor().is_known();
        let work = all[1].visitor().begin(false).unwrap();
        let more = places.try_enter().unwrap();
        places.sweep();
        let left: Vec<bool> = all.iter().chain([&more]).map(|place| has(&places, place)).collect();
        assert_eq!(left, [true, true, false, false, false]);
        drop(work);
    }
}
