//! From what came in to what goes out: open the layer, drop what fails, permute.

use std::io::{self, Read};

use throng_batch::{Framing, Input, Layer, OpenJob, OpenedBatch, Partition, PermuteJob};
use throng_wire::batch_count::BATCH_COUNT_LEN;
use throng_wire::statement::{forwarded_min, tells_forwarded};
use throng_wire::survey::Cover;
use throng_wire::{BatchCount, Digest, EpochStatement, ForwardedCount, Hasher, Outcome, Signed};

use super::{Hop, Phase};
use crate::channel::{BATCH, COUNT, ChannelFile, INCOMING, SPOOL, UPLOADS};
use crate::crowd::KeptUploads;
use crate::draw::{Draw, InputDraw};
use crate::intake::ClosedUploads;
use crate::store::{read_full, read_small};
use crate::{Channel, Error};

impl Hop {
    /// Hop 1: the bodies that open are the crowd; some are deleted where it has a label; enough must be left.
    pub(super) fn shuffle_uploads(&self, channel: Channel, uploads: u64) -> Result<Outcome, Error> {
        // An epoch that nobody answered in may never have been opened.
        if uploads == 0 || !self.has_key_for(channel) {
            return Ok(Outcome::Destroyed);
        }
        let draw = Draw::read(&*self.store, channel, &self.state_key)?;
        let (partitions, framing) = self.closed_uploads(channel, uploads)?;
        let opened = self.open_layer(channel, Input::Bodies(&partitions, &framing)).map_err(missing)?;
        let draw = draw.with(&opened.input);
        let crowd = opened.ends.len() as u64;
        let Some(kept) = self.rule.keep(crowd, draw.noise(&self.rule), &draw.seed("deletion")) else {
            return Ok(Outcome::Destroyed);
        };
        let dropped = dropped(&opened.ends, &kept);
        let received = opened.records - dropped.iter().map(|(start, end)| end - start).sum::<u64>();
        // Without cover this is the number of fragments.
        let received = (self.layout.cover() == Cover::Chaff).then_some(received);
        self.permute(channel, &opened, &dropped, &draw, (kept.count, received))
    }

    /// A later hop: every envelope is opened; what fails is dropped, and the last hop drops chaff.
    pub(super) fn shuffle_incoming(
        &self,
        channel: Channel,
        before: &[Signed<EpochStatement>],
    ) -> Result<Outcome, Error> {
        let Some((last, Outcome::Released { respondents, forwarded, .. })) =
            before.last().map(|last| (last, last.claimed().outcome))
        else {
            return Ok(Outcome::Destroyed);
        };
        // A hop that lost its keys would release those alone who sealed to another.
        if !self.has_key_for(channel) {
            return Ok(Outcome::Destroyed);
        }
        let input = Phase::batch(last);
        let draw = Draw::read(&*self.store, channel, &self.state_key)?.with(&input);
        let partitions = [Partition::whole(channel.file(INCOMING))];
        let opened = self.open_layer(channel, Input::Envelopes(&partitions, self.hop))?;
        if opened.input != input {
            return Err(Error::Damaged { file: "incoming", at: opened.read });
        }
        let received = match forwarded {
            ForwardedCount::Told(received) => Some(received),
            ForwardedCount::Committed(_) => None,
        };
        self.permute(channel, &opened, &[], &draw, (respondents, received))
    }

    /// Reads what waits to be worked on and what waits to be taken, and compares it with what was said about it. Changes
    /// nothing. (What is still open was read when the hop was.)
    pub fn check_files(&self) -> Result<(), Error> {
        for channel in self.undecided() {
            let phase = super::lock(&self.record).phases.get(&channel).cloned();
            match phase {
                Some(Phase::Received(before)) => {
                    Draw::read(&*self.store, channel, &self.state_key)?;
                    let digest = before.last().map(Phase::batch).unwrap_or(Digest::NONE);
                    self.check_incoming(channel, digest)?;
                }
                Some(Phase::Closed(len @ 1..)) => {
                    Draw::read(&*self.store, channel, &self.state_key)?;
                    let (partitions, framing) = self.closed_uploads(channel, len)?;
                    for partition in &partitions {
                        let reader = self.store.read_range(&partition.name, partition.bytes.clone());
                        let reader = reader.map_err(|error| missing(error.into()))?;
                        framing.bodies(partition, reader).try_for_each(|body| body.map(drop))?;
                    }
                }
                _ => {}
            }
        }
        for channel in self.waiting() {
            let mut batch = self.outgoing(channel)?;
            let (len, digest) = hashed(&mut batch.records)?;
            if (len, digest) != (batch.len, batch.manifest.digest) {
                return Err(Error::Damaged { file: "batch", at: channel.epoch });
            }
        }
        Ok(())
    }

    fn check_incoming(&self, channel: Channel, digest: Digest) -> Result<(), Error> {
        let (len, found) = hashed(&mut self.store.read(&channel.file(INCOMING))?)?;
        if found == digest { Ok(()) } else { Err(Error::Damaged { file: "incoming", at: len }) }
    }

    fn has_key_for(&self, channel: Channel) -> bool {
        self.keys().0.public().iter().any(|key| key.lifetime.covers(channel.epoch))
    }

    /// The bodies of an epoch that was closed with so many bytes of them.
    fn closed_uploads(
        &self,
        channel: Channel,
        len: u64,
    ) -> Result<(Vec<Partition>, ClosedUploads<'_>), Error> {
        let framing = ClosedUploads { key: &self.state_key, channel, body_len_max: self.body_len_max() };
        Ok((self.store.uploads(channel, len)?, framing))
    }

    fn open_layer(&self, channel: Channel, input: Input<'_>) -> Result<OpenedBatch, Error> {
        let keys = self.keys();
        let layer = Layer { route: self.route(channel), layout: self.layout, keys: &keys.0 };
        let volume = &*self.store;
        Ok(self.engine.open(&OpenJob { volume, layer, input, spool: &channel.file(SPOOL) })?)
    }

    fn permute(
        &self,
        channel: Channel,
        opened: &OpenedBatch,
        dropped: &[(u64, u64)],
        draw: &InputDraw,
        (respondents, received): (u64, Option<u64>),
    ) -> Result<Outcome, Error> {
        let manifest = self.engine.permute(&PermuteJob {
            volume: &*self.store,
            input: &opened.spool,
            records: opened.records,
            dropped,
            added: &[],
            length: self.outgoing_len(),
            seed: &draw.seed("shuffle"),
            output: &channel.file(BATCH),
        })?;
        // A crowd of people who repeat one another is smaller than it seems.
        if manifest.records < forwarded_min(self.survey.survey(), self.hop) {
            return Ok(Outcome::Destroyed);
        }
        let forwarded = match tells_forwarded(self.survey.survey(), self.hop) {
            true => ForwardedCount::Told(manifest.records),
            false => {
                // The salt comes from the batch's own draw: whoever begins again after a crash commits to the same.
                let count = BatchCount::salted(draw.seed("count"), manifest.records);
                self.write_count(channel, &count)?;
                ForwardedCount::Committed(count.commitment())
            }
        };
        Ok(Outcome::Released { respondents, received, forwarded, batch: manifest.digest })
    }

    /// Stores what a commitment opens to, for as long as the batch is here. When this returns it survives a crash; the
    /// statement is signed after that.
    fn write_count(&self, channel: Channel, count: &BatchCount) -> Result<(), Error> {
        let mut file = self.store.create(&channel.file(COUNT))?;
        file.write_all(&count.to_bytes())?;
        file.sync()?;
        Ok(())
    }

    /// How many envelopes the batch has that a statement of this hop is about.
    pub(super) fn count_of(&self, channel: Channel, own: &EpochStatement) -> Result<BatchCount, Error> {
        let count = match own.outcome {
            Outcome::Released { forwarded: ForwardedCount::Told(told), .. } => Some(BatchCount::told(told)),
            Outcome::Destroyed => Some(BatchCount::told(0)),
            Outcome::Released { forwarded: ForwardedCount::Committed(_), .. } => {
                let bytes = read_small(&*self.store, &channel.file(COUNT), BATCH_COUNT_LEN as u64)?;
                let bytes: Option<[u8; BATCH_COUNT_LEN]> = bytes.and_then(|bytes| bytes.try_into().ok());
                bytes.map(|bytes| BatchCount::from_bytes(&bytes))
            }
        };
        // What was signed cannot be said in another way any more.
        let count = count.filter(|count| count.fits(&own.outcome));
        count.ok_or(Error::Damaged { file: "count", at: channel.epoch })
    }
}

/// Uploads that the journal knows and that are not there are damaged.
fn missing(error: Error) -> Error {
    match error {
        Error::Store(error) if error.kind() == io::ErrorKind::NotFound => {
            Error::Damaged { file: UPLOADS, at: 0 }
        }
        other => other,
    }
}

/// How many bytes there are, and their hash.
fn hashed(reader: &mut dyn Read) -> Result<(u64, Digest), Error> {
    let (mut len, mut hasher, mut part) = (0, Hasher::new(), vec![0; 1 << 16]);
    loop {
        match read_full(reader, &mut part)? {
            0 => return Ok((len, hasher.finish())),
            read => {
                hasher.update(&part[..read]);
                len += read as u64;
            }
        }
    }
}

/// The places of the envelopes of bodies that are not kept, as ranges in rising order, from where each body's end.
fn dropped(ends: &[u64], kept: &KeptUploads) -> Vec<(u64, u64)> {
    let start = |body: usize| if body == 0 { 0 } else { ends[body - 1] };
    let dropped = (0..ends.len()).filter(|&body| !kept.contains(body as u64));
    dropped.map(|body| (start(body), ends[body])).filter(|(start, end)| start < end).collect()
}
