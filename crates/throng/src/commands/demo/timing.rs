//! How long the demo takes here, and which epoch begins when everyone is ready.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use throng_wire::{LayerSecretKey, Lifetime, Route, Stop, SurveyHash, seal};

use throng_host::clock::Clock;
use throng_host::entropy::system_rng;

/// How fast this machine is, with all else that runs on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speed {
    /// What one seal takes while all cores seal, in microseconds.
    pub(super) seal_us: f64,
    /// How much of the cores this program gets: the rest goes to others.
    pub(super) share: f64,
}

/// What there is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Seals of all respondents.
    pub(super) seals: u64,
    /// How long these take.
    seals_s: f64,
    /// Before the epoch: keys, credentials, processes, seals.
    ready_s: f64,
    /// The part of it that goes on while respondents seal: credentials and processes.
    start_s: f64,
    /// In it: connections, uploads.
    epoch_min_s: u64,
    /// After it: opening.
    open_s: f64,
}

/// When the demo's respondents answer, if all goes as it was worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    /// The length of an epoch.
    pub(super) epoch_s: u64,
    /// The epoch.
    pub(super) epoch: u64,
}

/// What became of one attempt to have all answers sealed before their epoch begins.
pub(super) enum SealingOutcome<T> {
    /// All are sealed.
    Done(T),
    /// The epoch began when so much of the work was done, between 0 and 1.
    Late(f64),
}

/// The error of a demo that other programs left too little of the machine for. No rule has refused anything.
#[derive(Debug)]
pub(super) struct BusyMachine(pub(super) String);

impl fmt::Display for BusyMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this machine was too busy: {}; end other programs, or choose fewer --respondents", self.0)
    }
}

impl std::error::Error for BusyMachine {}

impl Speed {
    /// Seals on all cores for a while, beside whatever else runs.
    pub(super) fn measure() -> Result<Self> {
        let lifetime = Lifetime { first_epoch: 0, last_epoch: 0 };
        let key = LayerSecretKey::generate(0, lifetime, &mut system_rng()?)?;
        let route = Route { survey: SurveyHash::new([0; 32]), label: 0, epoch: 0, instance: 1 };
        // For each core: how many seals, how long they took, and how much of that time it worked on them.
        let sample = |_| -> Result<(f64, f64, f64)> {
            let mut rng = system_rng()?;
            let mut seal = || seal::seal(&route, Stop::Analyzer, key.key(), &[0; 64], &mut rng);
            // The first ones of a thread make ready what the others use.
            for _ in 0..SEALS_MIN {
                seal()?;
            }
            let (start, worked, mut seals) = (Instant::now(), self::worked(), 0.0);
            while start.elapsed() < SAMPLE {
                seal()?;
                seals += 1.0;
            }
            Ok((seals, start.elapsed().as_secs_f64(), (self::worked() - worked).as_secs_f64()))
        };
        let threads = rayon::current_num_threads();
        let sampled: Vec<_> = (0..threads).into_par_iter().map(sample).collect::<Result<_>>()?;
        let sum = |of: fn(&(f64, f64, f64)) -> f64| sampled.iter().map(of).sum::<f64>();
        let (seals, took, worked) = (sum(|one| one.0), sum(|one| one.1), sum(|one| one.2));
        let share = (worked / took).clamp(SHARE_MIN, 1.0);
        Ok(Self { seal_us: worked * 1e6 / seals / share / threads as f64, share })
    }

    /// What so many respondents take: each seals b envelopes for every instance, in a layer for each hop but the first and
    /// one for the analyzer, and each body once more. Epochs are `times` as long as they would have to be.
    pub(super) fn work(
        &self,
        respondents: u64,
        (instances, hops): (u64, u64),
        envelopes: u64,
        times: u64,
    ) -> Work {
        let (bodies, each) = (respondents * instances, 1 + envelopes * hops);
        let seals = bodies * each;
        let seals_s = |seals: f64| seals * self.seal_us / 1e6;
        let start_s = (respondents as f64 * CREDENTIAL_S + START_S) / self.share;
        // Opening takes about two thirds of sealing, and is done once less for every envelope that is chaff.
        let opens = bodies * (1 + envelopes * (hops - 1));
        // More processes work on uploads than cores seal, so that others get less of the machine then.
        let rivals = (1.0 - self.share) / self.share;
        let uploads_s = seals_s(bodies as f64 * UPLOAD_SEALS) * self.share * (1.0 + rivals / UPLOADERS);
        let epoch_min_s = uploads_s * MARGIN + EPOCH_MIN_S * (1.0 / self.share).min(SLOWER_MAX);
        Work {
            seals,
            seals_s: seals_s(seals as f64),
            ready_s: KEYS_S / self.share + start_s.max(seals_s(seals as f64) * (MARGIN + SAMPLED)),
            start_s,
            epoch_min_s: epoch_min_s.ceil() as u64 * times,
            open_s: 1.0 + seals_s(opens as f64 * 0.7),
        }
    }

    /// What others take of this machine, if it is worth a word.
    pub(super) fn busy(&self) -> Option<String> {
        let others = 100.0 * (1.0 - self.share);
        (others > 25.0)
            .then(|| format!("other programs take {others:.0} % of this machine, so it takes longer"))
    }
}

impl Work {
    /// All of it together.
    pub(super) fn all_s(&self) -> f64 {
        self.ready_s + self.epoch_min_s as f64 + self.open_s
    }

    /// How long it takes until all answers are sealed and all parties are there, if this share of the answers took so long.
    /// Other programs weigh much in a small sample, so it is believed within limits only.
    pub(super) fn rest(&self, share: f64, took: Duration) -> Duration {
        let sealing_s = (took.as_secs_f64() / share).clamp(self.seals_s / 2.0, self.seals_s * 2.0);
        Duration::from_secs_f64(sealing_s.max(self.start_s))
    }
}

impl Timing {
    /// Epochs are numbered from 1970 on: of the lengths that are enough, the one of which an epoch begins soonest after
    /// everyone is ready.
    pub(super) fn choose(now_s: u64, work: &Work) -> Self {
        let (ready, shortest) = (now_s + work.ready_s.ceil() as u64, work.epoch_min_s);
        let begins = |epoch_s: u64| ready.div_ceil(epoch_s) * epoch_s;
        let lengths = shortest..=2 * shortest;
        let epoch_s = lengths.min_by_key(|&length| begins(length) + length).unwrap_or(shortest);
        Self { epoch_s, epoch: ready.div_ceil(epoch_s) }
    }
}

/// Has answers sealed for an epoch that has not begun when they are ready: the first that leaves room by what a sample took.
/// The epoch is inside every seal, so if it begins earlier all the same, everything is sealed again for a later one, with
/// more room. Returns the epoch.
pub(super) fn in_time<T>(
    epoch_s: u64,
    sampled: Duration,
    clock: &dyn Clock,
    mut seal: impl FnMut(u64) -> Result<SealingOutcome<T>>,
    say: impl Fn(&str),
) -> Result<(u64, T)> {
    let (mut takes_ms, mut room, mut room_ms) = (sampled.as_millis() as f64, MARGIN, 0);
    for attempt in 1..=SEALINGS {
        let start_ms = clock.now_ms();
        let epoch = (start_ms + (takes_ms * room) as u64).div_ceil(epoch_s * 1000);
        room_ms = epoch * epoch_s * 1000 - start_ms;
        say(&format!("sealing    for an epoch that begins in {:.0} s", room_ms as f64 / 1000.0));
        let sealing = seal(epoch)?;
        let took_ms = clock.now_ms().saturating_sub(start_ms) as f64;
        let share = match sealing {
            SealingOutcome::Done(answers) if clock.now_ms() < epoch * epoch_s * 1000 => {
                return Ok((epoch, answers));
            }
            SealingOutcome::Done(_) => 1.0,
            SealingOutcome::Late(share) => share,
        };
        // From the little that a machine did before it stood still nobody knows how long all takes.
        let twice = 2.0 * takes_ms;
        takes_ms = takes_ms.max(if share < SHARE_TOLD_MIN { twice } else { took_ms / share });
        room *= 1.5;
        if attempt < SEALINGS {
            say(&format!(
                "late       other programs slowed this machine down: after {:.1} s {:.0} % of the answers were sealed \
                 when their epoch began; all are sealed again for a later one",
                took_ms / 1000.0,
                100.0 * share
            ));
        }
    }
    Err(anyhow!(BusyMachine(format!(
        "{SEALINGS} times the epoch began before all answers were sealed, the last time after {} s",
        room_ms / 1000
    ))))
}

/// How long this thread has worked so far.
fn worked() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// How long seals are timed for, and how many come before on each core.
const SAMPLE: Duration = Duration::from_millis(500);
const SEALS_MIN: u32 = 30;
/// A smaller share of the machine is taken for this.
const SHARE_MIN: f64 = 0.1;
/// A smaller share of the answers says little about all.
const SHARE_TOLD_MIN: f64 = 0.1;
/// How much of all answers the sample is.
pub(super) const SAMPLED: f64 = 0.03;
/// How often answers are sealed, at most.
const SEALINGS: u32 = 5;
/// Keys and signatures of seven parties, on a machine without other work.
const KEYS_S: f64 = 1.5;
/// Seven processes.
const START_S: f64 = 1.5;
/// What one credential takes: a file of its own, on disk.
const CREDENTIAL_S: f64 = 0.002;
/// What a connection with TLS, an upload and its receipt take on both sides, in seals.
const UPLOAD_SEALS: f64 = 30.0;
/// How many processes are at work for each core then.
const UPLOADERS: f64 = 2.0;
/// How much longer things may take than was worked out.
const MARGIN: f64 = 1.4;
/// Some are sent in the last moment, and take this much longer to arrive where others are at work, too.
const EPOCH_MIN_S: f64 = 4.0;
const SLOWER_MAX: f64 = 3.0;

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use throng_testing::world::TestClock;

    use super::*;

    #[test]
    fn an_epoch_begins_soon_after_everyone_is_ready() {
        let speed = Speed { seal_us: 25.0, share: 1.0 };
        for now in (1_800_000_000..1_800_000_600).step_by(7) {
            let work = speed.work(3000, (3, 2), 23, 1);
            assert_eq!(work.seals, 3000 * 3 * 47);
            let timing = Timing::choose(now, &work);
            let begins = timing.epoch * timing.epoch_s;
            let ready = now + work.ready_s.ceil() as u64;
            assert!(begins >= ready && timing.epoch_s >= work.epoch_min_s);
            // No longer than with the shortest epoch, and the demo's minute is not over.
            let shortest = work.epoch_min_s;
            assert!(begins + timing.epoch_s <= ready.div_ceil(shortest) * shortest + shortest);
            let all_s = (begins + timing.epoch_s - now) as f64 + work.open_s;
            assert!(all_s < 60.0, "{all_s} s, {work:?}");
        }
    }

    #[test]
    fn more_respondents_and_less_of_the_machine_take_longer() {
        let speed = Speed::measure().unwrap();
        assert!(speed.seal_us > 0.0 && (SHARE_MIN..=1.0).contains(&speed.share));
        let few = speed.work(300, (3, 2), 23, 1);
        assert!(speed.work(9000, (3, 2), 23, 1).all_s() > few.all_s());
        assert_eq!(speed.work(300, (3, 2), 23, 4).epoch_min_s, 4 * few.epoch_min_s);
        let [idle, busy] = [1.0, 0.2].map(|share| Speed { seal_us: 25.0 / share, share });
        assert!(busy.work(300, (3, 2), 23, 1).all_s() > 2.0 * idle.work(300, (3, 2), 23, 1).all_s());
        let work = idle.work(3000, (3, 2), 23, 1);
        let rest = |took_s: f64| work.rest(0.1, Duration::from_secs_f64(took_s)).as_secs_f64();
        assert!((rest(work.seals_s / 10.0) - work.seals_s).abs() < 1e-6);
        assert!((rest(work.seals_s) - 2.0 * work.seals_s).abs() < 1e-6 && rest(0.0) >= work.seals_s / 2.0);
        assert!(idle.busy().is_none() && busy.busy().unwrap().contains("80 %"));
    }

    /// A machine of which a sample said that everything takes a second, and on which it takes `seconds`, one by one.
    fn sealed(seconds: &[u64]) -> (Result<(u64, u64)>, Vec<String>) {
        let (clock, said) = (TestClock::at(1_000_000), RefCell::new(Vec::new()));
        let mut left = seconds.iter();
        let mut seal = |epoch: u64| {
            let (takes_ms, begins_ms) = (1000 * left.next().unwrap(), epoch * 10_000);
            let room_ms = begins_ms - clock.now_ms();
            let late = takes_ms > 2 * room_ms;
            clock.sleep_ms(if late { room_ms } else { takes_ms });
            // Work ends when it is seen to be late, or is done and late.
            Ok(if late {
                SealingOutcome::Late(room_ms as f64 / takes_ms as f64)
            } else {
                SealingOutcome::Done(epoch)
            })
        };
        let say = |line: &str| {
            if line.starts_with("late") {
                said.borrow_mut().push(line.to_owned());
            }
        };
        let result = in_time(10, Duration::from_secs(1), &clock, &mut seal, say);
        if let Ok((epoch, sealed_for)) = &result {
            assert_eq!(epoch, sealed_for);
            assert!(clock.now_ms() < epoch * 10_000, "it has not begun");
        }
        (result, said.into_inner())
    }

    #[test]
    fn answers_that_are_late_are_sealed_again_for_a_later_epoch() {
        let (result, said) = sealed(&[1]);
        assert_eq!((result.unwrap().0, said.len()), (101, 0));
        let (result, said) = sealed(&[12, 12]);
        assert_eq!((result.unwrap().0, said.len()), (104, 1));
        assert!(said[0].contains("100 % of the answers were sealed when their epoch began"), "{said:?}");
        assert!(said[0].contains("sealed again for a later one"), "{said:?}");
        // A machine that stands still for once, and one that is much slower than the sample said.
        let (result, said) = sealed(&[1000, 1]);
        assert_eq!((result.unwrap().0, said.len()), (102, 1));
        let (result, said) = sealed(&[300; 5]);
        assert_eq!((result.unwrap().0 > 130, said.len()), (true, 4));
    }

    /// Nothing says that a rule has refused it.
    #[test]
    fn a_machine_that_gets_busier_all_the_time_is_called_busy() {
        let (result, said) = sealed(&[100, 10_000, 1_000_000, 100_000_000, 10_000_000_000]);
        let error = result.unwrap_err();
        assert_eq!(said.len(), 4);
        assert_eq!(crate::exit::code(&error), crate::exit::FAILED);
        let text = error.to_string();
        assert!(
            text.starts_with("this machine was too busy: 5 times") && text.contains("fewer --respondents"),
            "{text}"
        );
    }
}
