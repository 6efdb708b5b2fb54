//! Where an epoch stands, and which files it needs there.

use throng_wire::{Digest, EpochStatement, Outcome, Signed};

use crate::channel::{BATCH, COUNT, DRAW, INCOMING, NOTED, SPOOL, UPLOADS};
use crate::journal::Step;

/// What the journal says about an epoch of a channel. Before the first record there is none: hop 1 takes uploads.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// No more uploads. There are so many bytes of them.
    Closed(u64),
    /// The batch of the hop before is here, with what the hops before said.
    Received(Vec<Signed<EpochStatement>>),
    /// Released or destroyed; waits to be taken.
    Decided { before: Vec<Signed<EpochStatement>>, own: Signed<EpochStatement> },
    /// Taken and erased. Only what was said is left, for ever, and what is answered if it comes again.
    Delivered { received: Option<Digest>, own: Signed<EpochStatement> },
    /// Not taken in time, and erased. What was said stays what it was.
    Expired { received: Option<Digest>, own: Signed<EpochStatement> },
}

impl Phase {
    /// The phase after a step, if the step may follow.
    pub(super) fn after(before: Option<Self>, step: Step) -> Option<Self> {
        match (before, step) {
            (None, Step::Closed(uploads)) => Some(Self::Closed(uploads)),
            (None, Step::Received(statements)) => Some(Self::Received(statements)),
            (Some(Self::Closed(_)), Step::Decided(own)) => {
                Some(Self::Decided { before: Vec::new(), own: *own })
            }
            (Some(Self::Received(before)), Step::Decided(own)) => Some(Self::Decided { before, own: *own }),
            (Some(Self::Decided { before, own }), Step::Delivered) => {
                let received = before.last().map(Self::batch);
                Some(Self::Delivered { received, own })
            }
            (Some(Self::Decided { before, own }), Step::Expired) => {
                let received = before.last().map(Self::batch);
                Some(Self::Expired { received, own })
            }
            _ => None,
        }
    }

    /// What this hop has said.
    pub(super) fn own(&self) -> Option<&Signed<EpochStatement>> {
        match self {
            Self::Decided { own, .. } | Self::Delivered { own, .. } | Self::Expired { own, .. } => Some(own),
            Self::Closed(_) | Self::Received(_) => None,
        }
    }

    /// Whether it is still to be opened and permuted.
    pub(super) fn is_undecided(&self) -> bool {
        matches!(self, Self::Closed(_) | Self::Received(_))
    }

    /// The hash of the batch that was received from the hop before.
    pub(super) fn received(&self) -> Option<Digest> {
        match self {
            Self::Received(before) | Self::Decided { before, .. } => before.last().map(Self::batch),
            Self::Delivered { received, .. } | Self::Expired { received, .. } => *received,
            Self::Closed(_) => None,
        }
    }

    /// The hash of the batch that a statement is about. A destroyed epoch is an empty one.
    pub(super) fn batch(statement: &Signed<EpochStatement>) -> Digest {
        match statement.claimed().outcome {
            Outcome::Released { batch, .. } => batch,
            Outcome::Destroyed => Digest::of(&[]),
        }
    }

    /// Whether an epoch that is open needs a file of some kind.
    pub(super) fn open_keeps(hop: u32, kind: &str) -> bool {
        kind == DRAW || hop == 1 && [UPLOADS, NOTED].contains(&kind)
    }

    /// Whether an epoch in this phase needs a file of some kind. What it does not need is erased.
    pub(super) fn keeps(&self, kind: &str) -> bool {
        match self {
            Self::Closed(_) | Self::Received(_) => [UPLOADS, INCOMING, DRAW].contains(&kind),
            // One that was destroyed has no batch, whatever was begun.
            Self::Decided { own, .. } => {
                [BATCH, COUNT].contains(&kind) && own.claimed().outcome != Outcome::Destroyed
            }
            Self::Delivered { .. } | Self::Expired { .. } => false,
        }
    }
}

/// All kinds of files of a channel.
pub(super) const KINDS: [&str; 7] = [UPLOADS, NOTED, INCOMING, DRAW, SPOOL, COUNT, BATCH];
