//! What every hop signs about an epoch: that it was released, with the counts that can be checked, or destroyed.

use crate::Error;
use crate::codec::Reader;
use crate::digest::{Digest, SurveyHash};
use crate::envelope::Layout;
use crate::place::Place;
use crate::route::Route;
use crate::signed::{Document, refused};
use crate::survey::{Cover, Survey};

/// One hop's statement about one epoch of one channel.
///
/// Bytes: survey (32), label (4), epoch (8), instance (4), hop (4), outcome (1: 1 released, 2 destroyed), respondents
/// (8), received (8), forwarded (8), batch (32), key list (32), analyzer's key list (32). Where an epoch was destroyed,
/// counts and batch are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStatement {
    /// Which epoch of which channel.
    pub route: Route,
    /// Which hop of the instance, from 1.
    pub hop: u32,
    /// What became of it.
    pub outcome: Outcome,
    /// SHA-256 of the hop's key list in force, as `Signed::digest` has it: a respondent who was shown another list has
    /// two signatures that contradict one another.
    pub key_list: Digest,
    /// The same of the analyzer's key list, as this hop has it. The analyzer signs no statement of its own, and may well be
    /// who gives respondents their files: so every hop says which list of it everyone has.
    pub analyzer_key_list: Digest,
}

/// What became of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The crowd was reached, and its envelopes went on.
    Released {
        /// The distinct respondents as hop 1 counted them, after deletion where the crowd has a label. Later hops repeat
        /// the number that they checked.
        respondents: u64,
        /// The envelopes that arrived: in hop 1 those in the bodies that were kept.
        received: u64,
        /// The envelopes that went on: without failures, duplicates and, after the last hop, chaff.
        forwarded: u64,
        /// SHA-256 of the forwarded envelopes, one after another.
        batch: Digest,
    },
    /// The crowd was not reached, or a hop before said so. How far it was missed is not told.
    Destroyed,
}

impl Document for EpochStatement {
    const KIND: &'static str = "epoch statement";

    fn canonical(&self) -> Result<Vec<u8>, Error> {
        let (outcome, counts, batch) = match self.outcome {
            Outcome::Released { respondents, received, forwarded, batch } => {
                (RELEASED, [respondents, received, forwarded], batch)
            }
            Outcome::Destroyed => (DESTROYED, [0; 3], Digest::NONE),
        };
        let mut bytes = self.route.to_bytes().to_vec();
        bytes.extend(self.hop.to_be_bytes());
        bytes.push(outcome);
        counts.iter().for_each(|count| bytes.extend(count.to_be_bytes()));
        bytes.extend(batch.as_bytes());
        bytes.extend(self.key_list.as_bytes());
        bytes.extend(self.analyzer_key_list.as_bytes());
        Ok(bytes)
    }

    fn from_canonical(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let read = (|| {
            let (route, hop, [outcome]) =
                (reader.route()?, u32::from_be_bytes(reader.take()?), reader.take()?);
            let [respondents, received, forwarded] =
                [reader.take()?, reader.take()?, reader.take()?].map(u64::from_be_bytes);
            let [batch, key_list, analyzer_key_list] =
                [reader.take()?, reader.take()?, reader.take()?].map(Digest::new);
            // Numbers beside "destroyed" are not read here; the canonical form has none, so `Signed` refuses them.
            let outcome = match outcome {
                RELEASED => Outcome::Released { respondents, received, forwarded, batch },
                DESTROYED => Outcome::Destroyed,
                _ => return None,
            };
            let statement = Self { route, hop, outcome, key_list, analyzer_key_list };
            (reader.end() && hop > 0).then_some(statement)
        })();
        read.ok_or_else(|| refused::<Self>("an epoch statement has 173 bytes and a signature"))
    }

    fn survey(&self) -> SurveyHash {
        self.route.survey
    }

    fn party(&self) -> Place {
        Place::Hop { instance: self.route.instance, hop: self.hop }
    }
}

/// Checks the statements of a cascade against one another and the survey: all hops in order, the crowd reached, every
/// hop received what the one before forwarded, hop 1 had as many envelopes as its respondents send, and enough for the
/// smallest crowd went on. Returns the crowd, or `None` for an epoch that one of them destroyed, and all after it.
///
/// This shows that the hops agree. That hop 1 counted people and not inventions rests on hop 1.
pub fn check_cascade(survey: &Survey, statements: &[EpochStatement]) -> Result<Option<u64>, Error> {
    if statements.len() != survey.delivery.hops as usize {
        return Err(Error::Statement("there is not one of every hop".to_owned()));
    }
    check_hops(survey, statements)
}

/// The same for the first hops of a cascade, as the next one checks them before it goes on.
pub fn check_hops(survey: &Survey, statements: &[EpochStatement]) -> Result<Option<u64>, Error> {
    let wrong = |reason: &str| Err(Error::Statement(reason.to_owned()));
    let layout = Layout::of(survey);
    let Some(first) = statements.first() else { return wrong("there is none") };
    if (1..).zip(statements).any(|(hop, statement)| statement.hop != hop || statement.route != first.route) {
        return wrong("they are not about one epoch of one channel, hop by hop");
    }
    let destroyed = |statement: &EpochStatement| statement.outcome == Outcome::Destroyed;
    let released = statements.iter().take_while(|statement| !destroyed(statement)).count();
    if !statements[released..].iter().all(destroyed) {
        return wrong("a hop went on after the one before had destroyed");
    }
    let Outcome::Released { respondents: crowd, received, .. } = first.outcome else { return Ok(None) };
    if crowd < survey.crowd.respondents_min {
        return wrong("the crowd is smaller than the survey asks for");
    }
    let sent = crowd.checked_mul(u64::from(layout.envelopes()));
    let sent_holds = match layout.cover() {
        Cover::Chaff => sent == Some(received),
        Cover::None => sent.is_some_and(|sent| received <= sent),
    };
    if !sent_holds {
        return wrong("hop 1 has another number of envelopes than its respondents send");
    }
    let mut arriving = received;
    for statement in &statements[..released] {
        if let Outcome::Released { respondents, received, forwarded, .. } = statement.outcome {
            if respondents != crowd {
                return wrong("a hop checked another crowd");
            }
            if received != arriving || forwarded > received {
                return wrong("a hop received or forwarded more or less than was there");
            }
            if forwarded < forwarded_min(survey, statement.hop) {
                return wrong("a hop forwarded fewer envelopes than the smallest crowd sends");
            }
            arriving = forwarded;
        }
    }
    Ok((released == statements.len()).then_some(crowd))
}

/// The fewest envelopes that a hop may forward: those of the smallest crowd, as long as chaff is among them. A hop that
/// counts a crowd and passes on a few people's envelopes would show these alone. Without cover, and behind the last of
/// several hops, where chaff is gone, any number may be left.
pub fn forwarded_min(survey: &Survey, hop: u32) -> u64 {
    let layout = Layout::of(survey);
    let has_chaff = layout.cover() == Cover::Chaff && (hop < layout.hops() || layout.hops() == 1);
    let of_crowd = || survey.crowd.respondents_min.saturating_mul(u64::from(layout.envelopes()));
    if has_chaff { of_crowd() } else { 0 }
}

/// The bytes of a signed statement: 173, and the signature.
pub const STATEMENT_LEN: usize = 173 + 64;

const RELEASED: u8 = 1;
const DESTROYED: u8 = 2;
