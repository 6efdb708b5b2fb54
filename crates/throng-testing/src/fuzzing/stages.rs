//! Parsers of the analyzer and of respondents: tallies, what hops say of a batch, stored backstops.

use throng_analyze::{BatchCounter, BatchHead, InstanceTally};
use throng_batch::{EmbeddedEngine, MemoryStore, Partition, Volume};
use throng_encode::{StoredBackstop, StoredCoins};
use throng_wire::statement::STATEMENT_LEN;
use throng_wire::{BatchCount, Digest, EpochStatement, ForwardedCount, Layout, Outcome, Place, Signed, Stop};

use super::Target;
use crate::wire::{SHAPE, World};

/// Their names, and what they do.
pub(super) const TARGETS: &[Target] =
    &[("instance_tally", instance_tally), ("batch_head", batch_head), ("backstop", backstop)];

thread_local! {
    static WORLD: World = World::new(SHAPE);
}

/// A tally as it is stored, with a checksum that fits.
fn instance_tally(bytes: &[u8]) {
    WORLD.with(|world| {
        let survey = world.survey.survey();
        drop(InstanceTally::from_bytes(survey, bytes));
        let whole = [bytes, Digest::of(bytes).as_bytes()].concat();
        if let Ok(read) = InstanceTally::from_bytes(survey, &whole) {
            assert_eq!(read.to_bytes(), whole);
        }
    });
}

/// Statements, of which each is signed by whom it names and commits to the number of envelopes that follows, and the batch
/// itself.
fn batch_head(bytes: &[u8]) {
    WORLD.with(|world| {
        let (statements, rest) = bytes.split_at(bytes.len().min(2 * STATEMENT_LEN));
        let Some((count, batch)) = rest.split_first_chunk() else { return };
        let count = BatchCount::from_bytes(count);
        let signed = statements.chunks_exact(STATEMENT_LEN).filter_map(|bytes| {
            let mut claimed = *Signed::<EpochStatement>::from_bytes(bytes).ok()?.claimed();
            (claimed.route.survey, claimed.route.instance) = (world.survey.hash(), 1);
            if let Outcome::Released { forwarded: forwarded @ ForwardedCount::Committed(_), .. } =
                &mut claimed.outcome
            {
                *forwarded = ForwardedCount::Committed(count.commitment());
            }
            let key = world.signing.get(&Place::Hop { instance: 1, hop: claimed.hop })?;
            Signed::new(claimed, key).ok()
        });
        let signed: Vec<_> = signed.collect();
        let Some(first) = signed.first() else { return };
        let route = first.claimed().route;
        let Ok(head) = BatchHead::check(&world.survey, route, &signed, count) else { return };
        let each = Layout::of(world.survey.survey()).envelope_len(Stop::Analyzer) as u64;
        assert_eq!(Some(head.len()), head.envelopes().checked_mul(each));
        let keys = &world.layers[&Place::Analyzer];
        if let Ok(counter) = BatchCounter::new(world.survey.survey(), head, keys) {
            let files = MemoryStore::new();
            let written = files.create("batch").and_then(|mut file| file.write_all(batch));
            assert!(written.is_ok());
            let engine = EmbeddedEngine::new(1 << 20);
            let counted = counter.count(&engine, (&files, &[Partition::whole("batch")]), &mut |_| ());
            assert!(counted.is_err() || batch.len() as u64 == head.len());
        }
    });
}

/// What respondents keep for good.
fn backstop(bytes: &[u8]) {
    if let Ok(read) = StoredBackstop::from_bytes(bytes) {
        assert_eq!(*read.to_bytes(), bytes);
    }
    if let Ok(read) = StoredCoins::from_bytes(bytes) {
        assert_eq!(*read.to_bytes(), bytes);
    }
}
