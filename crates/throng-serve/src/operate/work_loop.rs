//! The worker loop of a party: what it does by itself, round after round, with exponential backoff for what fails.
//!
//! Every kind of work fails alone: it is said in the log, counted, and tried again after a pause that doubles each time, while all
//! other work goes on.

use std::hash::Hash;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use throng_shuffle::Channel;

use super::backoff::Backoff;
use super::log::Log;
use super::reasons::Reason;
use super::vitals::{Counter, Pulse, Vitals};
use crate::error::Result;
use throng_host::clock::{Clock, SystemClock, has_jumped_ahead};
use throng_host::ensure;

/// The kinds of work of a party, each of which can fail while the others do not.
pub(crate) trait Kind: Copy + Eq + Hash + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// That of looking at the clock.
    const CLOCK: Self;

    /// What it is called in the log and in the metrics.
    fn name(self) -> &'static str;

    /// Whether a party that fails at it is not ready: it is no fault of another one.
    fn is_own(self) -> bool;
}

/// A party that works by itself, in a thread of its own.
pub(crate) trait Worker {
    type Kind: Kind;

    /// What is said when the clock has jumped ahead.
    const CLOCK_JUMPED: &'static str;

    /// What is the same for all of them.
    fn work_loop(&mut self) -> &mut WorkLoop<Self::Kind>;

    /// How long it pauses between two rounds.
    fn pause(&self) -> Duration;

    /// Everything that is due now. Nothing in it waits for what fails. One that takes long looks whether the other end of `stop`
    /// is gone.
    fn round(&mut self, stop: &Receiver<()>);
}

/// Works until the other end of `stop` is gone.
pub(crate) fn run<W: Worker>(mut worker: W, stop: &Receiver<()>) {
    let pause = worker.pause();
    while stop.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        if worker.work_loop().believes_clock(W::CLOCK_JUMPED) {
            worker.round(stop);
        }
        worker.work_loop().beat();
    }
}

/// What is the same for every worker: until when failed work waits, and how its operator learns of it.
pub(crate) struct WorkLoop<K> {
    waits: Backoff<(K, Option<Channel>)>,
    /// When it began, by two clocks.
    started: (Instant, u64),
    pulse: Pulse,
    failures: Failures<K>,
    log: Log,
    /// Named in every line, where a party has a worker for each.
    instance: Option<u32>,
}

impl<K: Kind> WorkLoop<K> {
    pub(crate) fn new(pulse: Pulse, failures: Failures<K>, log: Log, instance: Option<u32>) -> Self {
        let started = (Instant::now(), SystemClock.now_s());
        Self { waits: Backoff::default(), started, pulse, failures, log, instance }
    }

    /// For how long it has worked.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.0.elapsed()
    }

    /// Whether this is to be tried now: it has not failed, or its pause is over. `None` is for the party as a whole.
    pub(crate) fn is_due(&self, work: K, channel: Option<Channel>) -> bool {
        self.waits.are_over(&(work, channel))
    }

    /// Forgets what has failed: somebody else does it now, or it begins anew.
    pub(crate) fn forget(&mut self) {
        self.waits = Backoff::default();
    }

    /// Says what went wrong, if something did and it was not said just now.
    pub(crate) fn note(&mut self, work: K, channel: Option<Channel>, result: Result<()>) {
        match result {
            Ok(()) => self.waits.end(&(work, channel)),
            Err(error) if self.is_due(work, channel) => {
                let wait = self.waits.longer((work, channel)).as_secs();
                self.failures.count(work);
                let mut entry = self.log.warn("work-failed").work(work.name());
                if let Some(instance) = self.instance {
                    entry = entry.instance(instance);
                }
                if let Some(Channel { label, epoch }) = channel {
                    entry = entry.epoch(epoch).label(label);
                }
                entry.reason(Reason::of(&error)).again_after_s(wait).write();
            }
            Err(_) => {}
        }
    }

    /// A clock that has jumped ahead since the start, which a second clock shows, is not believed: an epoch that is closed
    /// and a key that is erased do not come back with the time. Whoever has set the clock right, or on purpose, starts
    /// the party again.
    fn believes_clock(&mut self, jumped: &'static str) -> bool {
        let check = || -> Result<()> {
            ensure!(!has_jumped_ahead(self.started, SystemClock.now_s()), Invalid, "{jumped}");
            Ok(())
        };
        let checked = check();
        let believed = checked.is_ok();
        self.note(K::CLOCK, None, checked);
        believed
    }

    /// The end of a round, for the vitals.
    fn beat(&self) {
        for &work in K::ALL.iter().filter(|work| work.is_own()) {
            match self.waits.any(|(failing, _)| *failing == work) {
                true => self.pulse.fails(work.name()),
                false => self.pulse.succeeds(work.name()),
            }
        }
        self.pulse.round();
    }
}

/// How often each kind of work has failed.
#[derive(Clone)]
pub(crate) struct Failures<K>(Vec<(K, Counter)>);

impl<K: Kind> Failures<K> {
    /// Those of a party in a survey.
    pub(crate) fn new(vitals: &Vitals, [party, survey]: [(&str, &str); 2]) -> Self {
        let help = "What a party tried by itself and failed at, and tries again.";
        let counter = |&work: &K| {
            (work, vitals.counter("throng_failures", help, &[party, survey, ("work", work.name())]))
        };
        Self(K::ALL.iter().map(counter).collect())
    }

    fn count(&self, work: K) {
        self.0.iter().filter(|(one, _)| *one == work).for_each(|(_, count)| count.add());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use crate::error::Error;

    use super::*;
    use crate::operate::log::LogFormat;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Chore {
        Clock,
        Own,
        Others,
    }

    impl Kind for Chore {
        const ALL: &'static [Self] = &[Self::Clock, Self::Own, Self::Others];
        const CLOCK: Self = Self::Clock;

        fn name(self) -> &'static str {
            match self {
                Self::Clock => "clock",
                Self::Own => "own",
                Self::Others => "others",
            }
        }

        fn is_own(self) -> bool {
            self != Self::Others
        }
    }

    fn work_loop(vitals: &Vitals) -> WorkLoop<Chore> {
        let whose = [("party", "hop 1.1"), ("survey", "colours")];
        let log = Log::new(LogFormat::Text, "shuffler");
        WorkLoop::new(vitals.worker("hop 1.1", "colours"), Failures::new(vitals, whose), log, None)
    }

    /// How often a kind has failed, by the metrics.
    fn failed(vitals: &Vitals, work: &str) -> String {
        let text = vitals.open_metrics();
        let line = text.lines().find(|line| line.starts_with("throng_failures") && line.contains(work));
        line.unwrap().rsplit_once(' ').unwrap().1.to_owned()
    }

    #[test]
    fn what_fails_waits_and_nothing_else_does() {
        let vitals = Vitals::default();
        let mut one = work_loop(&vitals);
        let (channel, other) = (Channel { label: 1, epoch: 7 }, Channel { label: 2, epoch: 7 });
        one.note(Chore::Own, Some(channel), Err(Error::invalid("no")));
        assert_eq!((failed(&vitals, "own"), failed(&vitals, "others")), ("1".into(), "0".into()));
        // A minute, which is longer than this test.
        for _ in 0..9 {
            one.waits.longer((Chore::Own, Some(channel)));
        }
        assert!(!one.is_due(Chore::Own, Some(channel)));
        assert!(one.is_due(Chore::Own, Some(other)) && one.is_due(Chore::Others, Some(channel)));
        assert!(one.is_due(Chore::Own, None));
        // What fails again before it was due is neither said nor counted.
        one.note(Chore::Own, Some(channel), Err(Error::invalid("no")));
        assert_eq!(failed(&vitals, "own"), "1");
        one.note(Chore::Own, Some(channel), Ok(()));
        assert!(one.is_due(Chore::Own, Some(channel)));
        one.note(Chore::Own, Some(channel), Err(Error::invalid("no")));
        assert_eq!(failed(&vitals, "own"), "2");
    }

    struct Rounds {
        work_loop: WorkLoop<Chore>,
        left: u32,
        stop: Option<std::sync::mpsc::Sender<()>>,
    }

    impl Worker for Rounds {
        type Kind = Chore;

        const CLOCK_JUMPED: &'static str = "the clock has jumped ahead";

        fn work_loop(&mut self) -> &mut WorkLoop<Chore> {
            &mut self.work_loop
        }

        fn pause(&self) -> Duration {
            Duration::from_millis(1)
        }

        fn round(&mut self, _: &Receiver<()>) {
            self.left -= 1;
            if self.left == 0 {
                drop(self.stop.take());
            }
        }
    }

    #[test]
    fn rounds_go_on_until_the_other_end_is_gone() {
        let vitals = Vitals::default();
        let (stop, stopped) = channel();
        // More rounds than these would take more than there are.
        run(Rounds { work_loop: work_loop(&vitals), left: 3, stop: Some(stop) }, &stopped);
    }
}
