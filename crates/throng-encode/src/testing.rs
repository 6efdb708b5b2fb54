//! What the tests of this crate share: small surveys with all their parties, from fixed seeds.

pub(crate) use throng_testing::survey::{FRAGMENTED, PROFILES, RECORD, SURVEY};
pub(crate) use throng_testing::wire::World;
use throng_wire::{Lifetime, Survey};

/// Signs a survey's text by parties whose layer keys live in the first ten epochs.
pub(crate) fn world(text: &str) -> World {
    World::with_keys(Survey::from_toml(text).unwrap(), Lifetime { first_epoch: 0, last_epoch: 9 })
}
