//! The journal of a hop, and what it says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use throng_wire::{EpochStatement, Signed};

use super::phase::Phase;
use crate::journal::{Entry, Journal, Step};
use crate::state_key::StateKey;
use crate::{Channel, Error};

/// The journal, and what it says.
pub(super) struct Record {
    /// `None` where another replica writes it.
    journal: Option<Journal>,
    pub(super) phases: BTreeMap<Channel, Phase>,
    /// The epochs whose secrets are drawn, since the store began.
    pub(super) opened: BTreeSet<u64>,
    /// Nothing is stated about an epoch before this one, but what is already.
    pub(super) first: u64,
    /// The last epoch that has a phase.
    pub(super) last: Option<u64>,
    /// What the hop before said about the last epochs.
    pub(super) seen: VecDeque<Signed<EpochStatement>>,
    /// Another party has a statement about this epoch that is not in the journal: no step may follow.
    pub(super) contradicted: Option<u64>,
}

impl Record {
    pub(super) fn new(journal: Option<Journal>) -> Self {
        Self {
            journal,
            phases: BTreeMap::new(),
            opened: BTreeSet::new(),
            first: 0,
            last: None,
            seen: VecDeque::new(),
            contradicted: None,
        }
    }

    /// Whether steps can be taken here.
    pub(super) fn leads(&self) -> bool {
        self.journal.is_some()
    }

    /// Whether the journal on disk may say more than is known here: a step that failed, and could not be taken back.
    pub(super) fn is_broken(&self) -> bool {
        self.journal.as_ref().is_some_and(Journal::is_broken)
    }

    /// The first epoch that may still be open.
    pub(super) fn first_open(&self) -> u64 {
        self.first.max(self.last.map_or(0, |last| last.saturating_add(1)))
    }

    /// Takes a step: journal first, then memory.
    pub(super) fn take(&mut self, channel: Channel, step: Step, key: &StateKey) -> Result<(), Error> {
        if let Some(epoch) = self.contradicted {
            return Err(Error::Contradicted { epoch });
        }
        if self.phase_after(channel, &step).is_none() {
            return Err(Error::Damaged { file: "journal", at: channel.epoch });
        }
        let entry = Entry { channel, step };
        self.journal.as_mut().ok_or(Error::Follower)?.record(&entry, key)?;
        self.apply(entry)
    }

    /// What follows from a step that the journal has.
    pub(super) fn apply(&mut self, Entry { channel, step }: Entry) -> Result<(), Error> {
        let after = self.phase_after(channel, &step);
        let after = after.ok_or(Error::Damaged { file: "journal", at: channel.epoch })?;
        match step {
            Step::Begun => {
                self.first = self.first.max(channel.epoch);
                self.opened.clear();
                self.phases.retain(|_, phase| !phase.is_undecided());
            }
            Step::Opened => drop(self.opened.insert(channel.epoch)),
            Step::Received(statements) => {
                self.seen.extend(statements.last().cloned());
                if self.seen.len() > SEEN_MAX {
                    self.seen.pop_front();
                }
            }
            _ => {}
        }
        if let Some(phase) = after {
            self.phases.insert(channel, phase);
            self.last = self.last.max(Some(channel.epoch));
        }
        Ok(())
    }

    /// The phase after a step, where it changes one; `None` if the step may not follow.
    #[allow(
        clippy::option_option,
        reason = "a step that may not follow, and one that leaves all phases as they are"
    )]
    fn phase_after(&self, channel: Channel, step: &Step) -> Option<Option<Phase>> {
        match step {
            Step::Begun | Step::Opened => Some(None),
            step => Phase::after(self.phases.get(&channel).cloned(), step.clone()).map(Some),
        }
    }
}

/// Statements of the hop before that are kept in memory, and told at once when it asks: in an answer of 64 KiB.
const SEEN_MAX: usize = 200;
