//! The randomness of one batch: drawn when its epoch opens, written down before anything comes in, erased when the batch is done.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use rand_core::CryptoRng;
use throng_batch::derive;
use throng_wire::Digest;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::channel::{ChannelFile, DRAW};
use crate::crowd::CrowdRule;
use crate::state_key::{StateKey, Tag};
use crate::store::{Store, read_small};
use crate::{Channel, Error, Seed};

/// What the order and the noise of a batch come from.
///
/// Two orders of one batch, or two noises of one crowd, would tell more than one. So both follow from a secret that is on disk
/// before the first upload is: copies of a hop that have the same input make the same batch of it.
///
/// And they follow from the input, too. Copies that have different inputs, since one was restored from an older state, would
/// with one noise tell by how many people exactly their inputs differ, and with one order which envelopes were exchanged. With noises
/// and orders that have nothing to do with one another they tell what two releases tell, which the guarantees of both bound.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Draw {
    secret: Seed,
}

impl Draw {
    /// Draws and writes it. When this returns it survives a crash. One that is there is replaced: nothing was made with it yet.
    pub(crate) fn make(
        store: &dyn Store,
        channel: Channel,
        key: &StateKey,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), Error> {
        write_secret(store, &channel.file(DRAW), |secret| key.tag_of(DRAW, channel, [secret, &[]]), rng)
    }

    /// Reads it from disk. A missing one is an error.
    pub(crate) fn read(store: &dyn Store, channel: Channel, key: &StateKey) -> Result<Self, Error> {
        let secret =
            read_secret(store, &channel.file(DRAW), |secret| key.tag_of(DRAW, channel, [secret, &[]]))?;
        let secret = secret.ok_or(Error::Damaged { file: DRAW, at: channel.epoch })?;
        Ok(Self { secret: *secret })
    }

    /// What it gives for the input with this hash.
    pub(crate) fn with(&self, input: &Digest) -> InputDraw {
        let mut bytes = Zeroizing::new([0; 64]);
        bytes[..32].copy_from_slice(&self.secret);
        bytes[32..].copy_from_slice(input.as_bytes());
        InputDraw { seed: *Digest::of(&*bytes).as_bytes() }
    }
}

/// What one input is thinned and permuted with.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct InputDraw {
    seed: Seed,
}

impl InputDraw {
    /// A seed for one purpose.
    pub(crate) fn seed(&self, purpose: &str) -> Seed {
        derive(&self.seed, purpose, 0)
    }

    /// The noise of the deletion, where the crowd has a label.
    pub(crate) fn noise(&self, rule: &CrowdRule) -> Option<i128> {
        rule.draw(&mut ChaCha20Rng::from_seed(self.seed("noise")))
    }
}

/// Draws a secret and writes it with its tag; when this returns it survives a crash.
pub(crate) fn write_secret(
    store: &dyn Store,
    name: &str,
    tag: impl Fn(&[u8]) -> Tag,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<(), Error> {
    let mut bytes = Zeroizing::new([0; 64]);
    rng.fill_bytes(&mut bytes[..32]);
    let tag = tag(&bytes[..32]);
    bytes[32..].copy_from_slice(&tag);
    let mut file = store.create(name)?;
    file.write_all(&*bytes)?;
    file.sync()?;
    Ok(())
}

/// What `write_secret` wrote, if it is there and as it was.
pub(crate) fn read_secret(
    store: &dyn Store,
    name: &str,
    tag: impl Fn(&[u8]) -> Tag,
) -> Result<Option<Zeroizing<Seed>>, Error> {
    let Some(bytes) = read_small(store, name, 64)?.map(Zeroizing::new) else { return Ok(None) };
    let secret = bytes.split_first_chunk::<32>().filter(|(secret, rest)| tag(&secret[..])[..] == **rest);
    Ok(secret.map(|(secret, _)| Zeroizing::new(*secret)))
}

#[cfg(test)]
mod tests {
    use throng_dp::sampling::{DeletionNoise, DiscreteLaplace};
    use throng_wire::{Place, SigningKey, SurveyHash};

    use super::*;
    use crate::{MemoryStore, Volume};

    const HERE: Channel = Channel { label: 1, epoch: 7 };

    fn key() -> StateKey {
        StateKey::new(&SigningKey::from_seed(&[3; 32]).unwrap(), SurveyHash::new([4; 32]), Place::hop(1, 1))
    }

    #[test]
    fn a_draw_is_read_as_it_was_made_or_not_at_all() {
        let (store, rng, key) = (MemoryStore::new(), &mut ChaCha20Rng::from_seed([2; 32]), key());
        assert!(Draw::read(&store, HERE, &key).is_err(), "it has to be there");
        Draw::make(&store, HERE, &key, rng).unwrap();
        store.restart(0);
        let bytes = store.bytes("1-7.draw").unwrap();
        let first = Draw::read(&store, HERE, &key).unwrap();
        assert!(first.secret[..] == bytes[..32]);
        let put = |name: &str, bytes: &[u8]| store.create(name).unwrap().write_all(bytes).unwrap();
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            put("1-7.draw", &changed);
            assert!(matches!(Draw::read(&store, HERE, &key), Err(Error::Damaged { .. })), "bit {bit}");
        }
        (0..bytes.len()).for_each(|cut| {
            put("1-7.draw", &bytes[..cut]);
            assert!(Draw::read(&store, HERE, &key).is_err());
        });
        put("1-7.draw", &[&bytes[..], &[0]].concat());
        assert!(Draw::read(&store, HERE, &key).is_err());
        put("2-7.draw", &bytes);
        assert!(Draw::read(&store, Channel { label: 2, ..HERE }, &key).is_err(), "of another channel");
    }

    /// The same secret and input make the same draw, others nothing alike; and noise, deletion, order and salt of one draw come
    /// from seeds of their own.
    #[test]
    fn a_draw_follows_from_secret_and_input() {
        let noise = DeletionNoise::new(20, DiscreteLaplace::from_ratio(1, 1000).unwrap());
        let (rule, none) = (CrowdRule::new(5, Some(noise)), CrowdRule::new(5, None));
        let [one, other] = [1, 2].map(|secret| Draw { secret: [secret; 32] });
        let [input, another] = [b"a", b"b"].map(|bytes| Digest::of(bytes));
        let all = [one.with(&input), one.with(&another), other.with(&input)];
        let again = one.with(&input);
        assert_eq!(again.seed("shuffle"), all[0].seed("shuffle"));
        assert_eq!(again.noise(&rule), all[0].noise(&rule));
        assert_eq!(again.noise(&none), None);
        let mut seeds: Vec<Seed> = all
            .iter()
            .flat_map(|drawn| ["noise", "deletion", "shuffle", "count"].map(|purpose| drawn.seed(purpose)))
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 12);
        let noises = all.map(|drawn| drawn.noise(&rule));
        assert!(noises[0] != noises[1] && noises[0] != noises[2] && noises[1] != noises[2], "{noises:?}");
    }
}
