//! The randomness of one batch: drawn once, written down before it is used, erased when the batch is done.

use rand_core::CryptoRng;
use throng_wire::Digest;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::crowd::CrowdRule;
use crate::store::{Store, read_small};
use crate::{Error, Seed};

/// What a batch is thinned and permuted by.
///
/// Two orders of one batch, or two noises of one crowd, would tell more than one. So whoever wants a draw gets the one
/// that is on disk, if a whole one is there.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Draw {
    seed: Seed,
    /// The noise of the deletion, where the crowd has a label.
    pub(crate) noise: Option<i128>,
}

impl Draw {
    /// The batch's draw: what is on disk, or a fresh one that is on disk when this returns.
    pub(crate) fn once(
        store: &dyn Store,
        name: &str,
        rule: &CrowdRule,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self, Error> {
        if let Some(draw) = Self::read(store, name)? {
            // Whoever wrote it may have failed to sync it.
            store.append(name)?.sync()?;
            return Ok(draw);
        }
        let mut draw = Self { seed: [0; 32], noise: rule.draw(rng) };
        rng.fill_bytes(&mut draw.seed);
        let mut bytes = draw.to_bytes();
        let mut file = store.create(name)?;
        let written = file.write_all(&bytes).and_then(|()| file.sync());
        bytes.zeroize();
        written?;
        Ok(draw)
    }

    /// What is on disk. One that a crash left unfinished was never used, and is none.
    pub(crate) fn read(store: &dyn Store, name: &str) -> Result<Option<Self>, Error> {
        let Some(mut bytes) = read_small(store, name, LEN as u64)? else { return Ok(None) };
        let draw = Self::from_bytes(&bytes);
        bytes.zeroize();
        Ok(draw)
    }

    /// A seed for one purpose.
    pub(crate) fn seed(&self, purpose: &str) -> Seed {
        derive(&self.seed, purpose, 0)
    }

    /// Seed (32), whether there is noise (1), noise (16), and the first bytes of their SHA-256.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LEN);
        bytes.extend(self.seed);
        bytes.push(u8::from(self.noise.is_some()));
        bytes.extend(self.noise.unwrap_or_default().to_be_bytes());
        let check = Digest::of(&bytes);
        bytes.extend(&check.as_bytes()[..CHECK_LEN]);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (drawn, check) = bytes.split_last_chunk::<CHECK_LEN>()?;
        if drawn.len() + CHECK_LEN != LEN || Digest::of(drawn).as_bytes()[..CHECK_LEN] != *check {
            return None;
        }
        let (seed, rest) = drawn.split_first_chunk()?;
        let (&flag, noise) = rest.split_first()?;
        let noise = i128::from_be_bytes(noise.try_into().ok()?);
        Some(Self { seed: *seed, noise: (flag == 1).then_some(noise) })
    }
}

/// A seed from another one, for one purpose.
pub(crate) fn derive(seed: &Seed, purpose: &str, number: u64) -> Seed {
    *Digest::of(&[&seed[..], purpose.as_bytes(), &number.to_be_bytes()].concat()).as_bytes()
}

const CHECK_LEN: usize = 8;
const LEN: usize = 32 + 1 + 16 + CHECK_LEN;

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_dp::sampling::{DeletionNoise, DiscreteLaplace};

    use super::*;
    use crate::MemoryStore;

    /// A disk that fails to sync and then works again has lost nothing yet; a crash after that must not, either.
    #[test]
    fn a_draw_whose_sync_failed_is_synced_before_it_is_used() {
        let (store, rule) = (MemoryStore::new(), CrowdRule::new(5, None));
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        // It is looked for, created and written, and the power goes.
        store.fail_after(3);
        assert!(Draw::once(&store, "draw", &rule, &mut rng).is_err());
        store.fail_after(100);
        let draw = Draw::once(&store, "draw", &rule, &mut rng).unwrap();
        store.restart(0);
        assert!(Draw::read(&store, "draw").unwrap() == Some(draw));
    }

    #[test]
    fn a_draw_is_made_once() {
        let noise = DeletionNoise::new(20, DiscreteLaplace::from_ratio(1, 10).unwrap());
        for rule in [CrowdRule::new(5, None), CrowdRule::new(5, Some(noise))] {
            let (store, rng) = (MemoryStore::new(), &mut ChaCha20Rng::from_seed([2; 32]));
            let first = Draw::once(&store, "draw", &rule, rng).unwrap();
            assert!(Draw::once(&store, "draw", &rule, rng).unwrap() == first);
            assert_eq!(first.noise.is_some(), rule != CrowdRule::new(5, None));
            assert_ne!(first.seed("a"), first.seed("b"));
            store.restart(0);
            assert!(Draw::once(&store, "draw", &rule, rng).unwrap() == first, "it survives a crash");
            // One that was cut short was never used.
            let bytes = store.bytes("draw").unwrap();
            store.create("draw").unwrap().write_all(&bytes[..bytes.len() - 1]).unwrap();
            assert!(Draw::read(&store, "draw").unwrap().is_none());
            assert!(Draw::once(&store, "draw", &rule, rng).unwrap() != first);
        }
    }
}
