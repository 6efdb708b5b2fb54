//! How layer keys follow one another.

use throng_wire::Survey;

/// How long a layer key lives, counted in epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How many epochs a key is for.
    pub epochs: u64,
    /// How many of them it shares with the key before, for respondents who have an older list.
    pub overlap: u64,
}

impl Schedule {
    /// What fits most surveys: thirty days, a tenth of which overlap; at least two epochs and one.
    pub fn of(survey: &Survey) -> Self {
        let epochs = (MONTH_S / survey.epoch_s.max(1)).max(2);
        Self { epochs, overlap: (epochs / 10).max(1) }
    }
}

const MONTH_S: u64 = 30 * 86_400;
