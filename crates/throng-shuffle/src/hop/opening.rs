//! From what came in to what goes out: open the layer, drop what fails, permute.

use std::io::{BufWriter, Read, Write};

use rayon::prelude::*;
use throng_wire::batch_count::BATCH_COUNT_LEN;
use throng_wire::peel::{open_body, peel};
use throng_wire::statement::{forwarded_min, tells_forwarded};
use throng_wire::survey::Cover;
use throng_wire::{BatchCount, Digest, EpochStatement, Forwarded, Hasher, Outcome, Peeled, Signed, Stop};

use super::{Hop, Phase};
use crate::batch::BatchReader;
use crate::channel::{BATCH, COUNT, ChannelFile, INCOMING, SPOOL};
use crate::crowd::Kept;
use crate::draw::{Draw, Drawn};
use crate::intake::UploadReader;
use crate::shuffling::Shuffle;
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
        let (records, ends, input) = self.open_uploads(channel, uploads)?;
        let draw = draw.with(&input);
        let Some(kept) = self.rule.keep(ends.len(), draw.noise(&self.rule), &draw.seed("deletion")) else {
            return Ok(Outcome::Destroyed);
        };
        let dropped = ends.dropped(&kept);
        let received = records - dropped.iter().map(|(start, end)| end - start).sum::<u64>();
        let keep = |place: u64| {
            let before = dropped.partition_point(|(start, _)| *start <= place);
            before == 0 || dropped[before - 1].1 <= place
        };
        // Without cover this is the number of fragments.
        let received = (self.layout.cover() == Cover::Chaff).then_some(received);
        self.shuffle(channel, records, &draw, (kept.count, received), keep)
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
        let records = self.peel_incoming(channel, input)?;
        let received = match forwarded {
            Forwarded::Told(received) => Some(received),
            Forwarded::Committed(_) => None,
        };
        self.shuffle(channel, records, &draw, (respondents, received), |_| true)
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
                    let files = (&*self.store, &self.state_key);
                    let mut uploads = UploadReader::closed(files, channel, self.body_len_max(), len)?;
                    while uploads.next_body()?.is_some() {}
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

    fn shuffle(
        &self,
        channel: Channel,
        records: u64,
        draw: &Drawn,
        (respondents, received): (u64, Option<u64>),
        keep: impl Fn(u64) -> bool,
    ) -> Result<Outcome, Error> {
        let (spool, batch) = (channel.file(SPOOL), channel.file(BATCH));
        let shuffle = Shuffle {
            store: &*self.store,
            input: &spool,
            length: self.outgoing_len(),
            records,
            output: &batch,
            memory: self.memory / 2,
        };
        let manifest = shuffle.run(&draw.seed("shuffle"), keep)?;
        // A crowd of people who repeat one another is smaller than it seems.
        if manifest.records < forwarded_min(self.survey.survey(), self.hop) {
            return Ok(Outcome::Destroyed);
        }
        let forwarded = match tells_forwarded(self.survey.survey(), self.hop) {
            true => Forwarded::Told(manifest.records),
            false => {
                // The salt comes from the batch's own draw: whoever begins again after a crash commits to the same.
                let count = BatchCount::salted(draw.seed("count"), manifest.records);
                self.write_count(channel, &count)?;
                Forwarded::Committed(count.commitment())
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
            Outcome::Released { forwarded: Forwarded::Told(told), .. } => Some(BatchCount::told(told)),
            Outcome::Destroyed => Some(BatchCount::told(0)),
            Outcome::Released { forwarded: Forwarded::Committed(_), .. } => {
                let bytes = read_small(&*self.store, &channel.file(COUNT), BATCH_COUNT_LEN as u64)?;
                let bytes: Option<[u8; BATCH_COUNT_LEN]> = bytes.and_then(|bytes| bytes.try_into().ok());
                bytes.map(|bytes| BatchCount::from_bytes(&bytes))
            }
        };
        // What was signed cannot be said in another way any more.
        let count = count.filter(|count| count.fits(&own.outcome));
        count.ok_or(Error::Damaged { file: "count", at: channel.epoch })
    }

    /// Opens all bodies on all cores into the spool. Returns how many envelopes there are, where each body's end, and a hash
    /// of all bodies, opened or not, in their order.
    fn open_uploads(&self, channel: Channel, len: u64) -> Result<(u64, Ends, Digest), Error> {
        let mut spool = BufWriter::with_capacity(1 << 16, self.store.create(&channel.file(SPOOL))?);
        let length = self.layout.envelope_len(self.layout.after(1)) as u64;
        let (route, keys) = (self.route(channel), self.keys());
        let (mut ends, mut input) = (Ends::default(), Hasher::new());
        let files = (&*self.store, &self.state_key);
        let mut uploads = UploadReader::closed(files, channel, self.body_len_max(), len)?;
        loop {
            let (mut bodies, mut bytes) = (Vec::new(), 0);
            while bytes < self.part_len() {
                let Some((body, digest)) = uploads.next_body()? else { break };
                input.update(digest.as_bytes());
                bytes += body.len();
                bodies.push(body);
            }
            if bodies.is_empty() {
                break;
            }
            let opened: Vec<Option<Vec<u8>>> = bodies
                .into_par_iter()
                .map(|body| open_body(&route, &self.layout, &keys.0, &body).ok())
                .collect();
            for envelopes in opened.into_iter().flatten() {
                ends.push(envelopes.len() as u64 / length);
                spool.write_all(&envelopes)?;
            }
        }
        spool.flush()?;
        Ok((ends.last(), ends, input.finish()))
    }

    /// Opens all envelopes on all cores into the spool. Returns how many are left.
    fn peel_incoming(&self, channel: Channel, digest: Digest) -> Result<u64, Error> {
        let mut spool = BufWriter::with_capacity(1 << 16, self.store.create(&channel.file(SPOOL))?);
        let length = self.layout.envelope_len(Stop::Hop(self.hop));
        let (route, keys) = (self.route(channel), self.keys());
        let mut incoming = BatchReader::open(&*self.store, &channel.file(INCOMING), length, self.part_len())?;
        let (mut records, mut read, mut hasher) = (0, 0, Hasher::new());
        while let Some(part) = incoming.next_part()? {
            hasher.update(part.as_bytes());
            read += part.len() as u64;
            let envelopes: Vec<&[u8]> = part.iter().collect();
            let opened: Vec<Option<Vec<u8>>> = envelopes
                .into_par_iter()
                .map(|envelope| match peel(&route, &self.layout, self.hop, &keys.0, envelope) {
                    Ok(Peeled::Envelope(inner)) => Some(inner),
                    Ok(Peeled::Chaff) | Err(_) => None,
                })
                .collect();
            for inner in opened.into_iter().flatten() {
                records += 1;
                spool.write_all(&inner)?;
            }
        }
        spool.flush()?;
        let same = hasher.finish() == digest;
        if same { Ok(records) } else { Err(Error::Damaged { file: "incoming", at: read }) }
    }

    /// How many bytes of input are opened at once.
    fn part_len(&self) -> usize {
        (self.memory / 16).clamp(1 << 12, 1 << 22)
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

/// Where the envelopes of each body end, among all.
#[derive(Default)]
struct Ends(Vec<u64>);

impl Ends {
    fn push(&mut self, envelopes: u64) {
        self.0.push(self.last() + envelopes);
    }

    fn last(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The places of the envelopes of bodies that are not kept, as ranges in rising order.
    fn dropped(&self, kept: &Kept) -> Vec<(u64, u64)> {
        let start = |body: usize| if body == 0 { 0 } else { self.0[body - 1] };
        let dropped = (0..self.0.len()).filter(|&body| !kept.contains(body as u64));
        dropped.map(|body| (start(body), self.0[body])).filter(|(start, end)| start < end).collect()
    }
}
