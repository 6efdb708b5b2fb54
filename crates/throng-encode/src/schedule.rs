//! When an answer is sent, against traffic analysis: at times that say nothing about the value, nor about when the person
//! answered.

use rand_core::CryptoRng;
use throng_dp::sampling::below;
use throng_wire::Survey;

use crate::Error;

/// Which epoch an answer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EpochChoice {
    /// The next one, at a time uniform over all of it: nobody sees when the person answered.
    #[default]
    NextEpoch,
    /// The current one, at a time uniform over what is left of it: whoever watches learns that the person had not answered
    /// earlier.
    CurrentEpoch,
}

/// The epoch of an answer, and the time in which it may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    epoch: u64,
    first_ms: u64,
    end_ms: u64,
}

impl Schedule {
    /// The schedule of an answer that is made at `now_ms` (since 1970-01-01T00:00:00Z). A margin at both ends
    /// of the epoch is left free: for clocks that differ, and for one or two retries.
    pub fn new(survey: &Survey, when: EpochChoice, now_ms: u64) -> Result<Self, Error> {
        let epoch = survey.epoch_at(now_ms / 1000) + u64::from(when == EpochChoice::NextEpoch);
        let length_ms = survey.epoch_s.saturating_mul(1000);
        let margin_ms = (length_ms / 20).min(MARGIN_MS_MAX);
        let start_ms = epoch.saturating_mul(length_ms);
        let first_ms = (start_ms + margin_ms).max(now_ms);
        let end_ms = start_ms.saturating_add(length_ms - margin_ms);
        if first_ms < end_ms { Ok(Self { epoch, first_ms, end_ms }) } else { Err(Error::EpochEnds { epoch }) }
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// A time to send one body at, uniform over the window; every instance gets one of its own.
    pub fn draw_ms(&self, rng: &mut (impl CryptoRng + ?Sized)) -> u64 {
        self.first_ms + below(self.end_ms - self.first_ms, rng)
    }
}

/// Nobody's clock should be off by more.
const MARGIN_MS_MAX: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SURVEY, world};
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;

    /// 86,400 s to an epoch: the margin is a minute.
    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn the_next_epoch_does_not_show_when_the_person_answered() {
        let survey = world(SURVEY).survey.survey().clone();
        let early = Schedule::new(&survey, EpochChoice::NextEpoch, 7 * DAY_MS).unwrap();
        let late = Schedule::new(&survey, EpochChoice::NextEpoch, 8 * DAY_MS - 1).unwrap();
        assert_eq!(early, late);
        assert_eq!((early.epoch(), early.first_ms), (8, 8 * DAY_MS + 60_000));
        assert_eq!(early.end_ms, 9 * DAY_MS - 60_000);
    }

    #[test]
    fn the_current_epoch_has_what_is_left_of_it() {
        let survey = world(SURVEY).survey.survey().clone();
        let schedule = |now| Schedule::new(&survey, EpochChoice::CurrentEpoch, now);
        assert_eq!(schedule(7 * DAY_MS).unwrap().first_ms, 7 * DAY_MS + 60_000);
        assert_eq!(schedule(7 * DAY_MS + 500_000).unwrap().first_ms, 7 * DAY_MS + 500_000);
        assert_eq!(schedule(8 * DAY_MS - 60_001).unwrap().epoch(), 7);
        assert_eq!(schedule(8 * DAY_MS - 60_000), Err(Error::EpochEnds { epoch: 7 }));
        let short = Survey { epoch_s: 1, ..survey };
        assert_eq!(Schedule::new(&short, EpochChoice::CurrentEpoch, 5_100).unwrap().end_ms, 5_950);
    }

    /// Tenths of the window over 20,000 draws: each within 6 standard deviations, which fails with a chance
    /// below 2e-8.
    #[test]
    fn times_are_uniform_over_the_window() {
        let survey = world(SURVEY).survey.survey().clone();
        let schedule = Schedule::new(&survey, EpochChoice::NextEpoch, 0).unwrap();
        let rng = &mut ChaCha20Rng::from_seed([1; 32]);
        let mut tenths = [0_u32; 10];
        for _ in 0..20_000 {
            let at = schedule.draw_ms(rng);
            assert!((schedule.first_ms..schedule.end_ms).contains(&at));
            tenths[(10 * (at - schedule.first_ms) / (schedule.end_ms - schedule.first_ms)) as usize] += 1;
        }
        assert!(
            tenths.iter().all(|&hits| (f64::from(hits) - 2000.0).abs() < 6.0 * 1800_f64.sqrt()),
            "{tenths:?}"
        );
    }
}
