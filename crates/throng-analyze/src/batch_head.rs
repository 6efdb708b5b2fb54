//! Verification of a batch: what its hops signed about it, and whether these are its bytes. No key is needed, and nothing is
//! opened.

use throng_batch::{Manifest, ManifestCheck};
use throng_wire::statement::{check_cascade, check_count};
use throng_wire::{BatchCount, Digest, EpochStatement, Layout, Outcome, Route, Signed, SignedSurvey, Stop};

use crate::Error;

/// What the hops of an instance agree on about one epoch, with the number of envelopes that the last one committed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHead {
    route: Route,
    respondents: Option<u64>,
    count: BatchCount,
    batch: Digest,
    envelope_len: usize,
}

impl BatchHead {
    /// The head of the batch that these statements are about, if all of them hold: signatures, one channel, hop by hop, the
    /// crowd, the number of envelopes.
    pub fn check(
        survey: &SignedSurvey,
        route: Route,
        statements: &[Signed<EpochStatement>],
        count: BatchCount,
    ) -> Result<Self, Error> {
        let wrong = |error: throng_wire::Error| Error::Statements(error.to_string());
        let verified: Result<Vec<EpochStatement>, _> =
            statements.iter().map(|statement| statement.verify(survey).copied()).collect();
        let verified = verified.map_err(wrong)?;
        if verified.iter().any(|statement| statement.route != route) {
            return Err(Error::Statements("they are about another epoch, label, instance or survey".into()));
        }
        let respondents = check_cascade(survey.survey(), &verified).map_err(wrong)?;
        let last = verified.last().ok_or_else(|| Error::Statements("there is none".into()))?;
        check_count(survey.survey(), last, &count).map_err(wrong)?;
        let batch = match last.outcome {
            Outcome::Released { batch, .. } => batch,
            Outcome::Destroyed => Digest::of(&[]),
        };
        let envelope_len = Layout::of(survey.survey()).envelope_len(Stop::Analyzer);
        let len = count.envelopes().checked_mul(envelope_len as u64);
        len.ok_or(Error::Batch("it is longer than any batch can be"))?;
        Ok(Self { route, respondents, count, batch, envelope_len })
    }

    /// Which epoch of which channel and instance.
    pub fn route(&self) -> Route {
        self.route
    }

    /// The crowd that the hops agree on; `None` if they destroyed the epoch.
    pub fn respondents(&self) -> Option<u64> {
        self.respondents
    }

    /// How many envelopes there are.
    pub fn envelopes(&self) -> u64 {
        self.count.envelopes()
    }

    /// The hash of the batch, to be acknowledged once the batch cannot be lost.
    pub fn batch(&self) -> Digest {
        self.batch
    }

    /// How many bytes the envelopes have in all.
    pub fn len(&self) -> u64 {
        self.envelopes() * self.envelope_len as u64
    }

    /// Whether there is nothing to read, as of an epoch that was destroyed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Checks while a batch is read that it is the one that its hops mean.
pub struct BatchCheck {
    head: BatchHead,
    check: ManifestCheck,
}

impl BatchCheck {
    /// From the first byte on.
    pub fn new(head: BatchHead) -> Self {
        let manifest = Manifest { records: head.envelopes(), digest: head.batch() };
        Self { head, check: ManifestCheck::new(manifest, head.envelope_len) }
    }

    /// What the hops say about it.
    pub fn head(&self) -> &BatchHead {
        &self.head
    }

    /// Takes the next bytes of the batch, as many as there are. More than the hops said is an error at once.
    pub fn read(&mut self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.check.read(bytes)?)
    }

    /// Whether that was all of it. The next byte is the first again.
    pub fn end(&mut self) -> Result<(), Error> {
        Ok(self.check.end()?)
    }
}
