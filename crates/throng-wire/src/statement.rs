//! Epoch statements, which every hop signs: that an epoch was released, with the counts that can be checked, or destroyed.

use crate::Error;
use crate::batch_count::BatchCount;
use crate::codec::Reader;
use crate::digest::{Digest, SurveyHash};
use crate::envelope::Layout;
use crate::place::Place;
use crate::route::Route;
use crate::signed::{Document, refused};
use crate::survey::{Cover, Survey};

/// One hop's statement about one epoch of one channel.
///
/// Bytes: survey (32), label (4), epoch (8), instance (4), hop (4), outcome (1: 1 released and all counts told, 2 destroyed,
/// 3 released and `forwarded` committed to, 4 the same and `received` not told), respondents (8), received (8), forwarded
/// (32: a commitment, or zeros and the number in the last 8), batch (32), key list (32), analyzer's key list (32). Where an
/// epoch was destroyed, counts and batch are zero.
///
/// It is public. So it has no number that tells how many fragments there were: with cover, every hop but the last counts
/// chaff, too, and tells its numbers; the last one, behind which only fragments are left, commits to its own. Without cover
/// all hops do, and none tells what it received.
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
        /// The envelopes that arrived: in hop 1 those in the bodies that were kept. `None` without cover.
        received: Option<u64>,
        /// The envelopes that went on: without failures, duplicates and, after the last hop, chaff.
        forwarded: ForwardedCount,
        /// SHA-256 of the forwarded envelopes, one after another.
        batch: Digest,
    },
    /// The crowd was not reached, or a hop before said so. How far it was missed is not told.
    Destroyed,
}

/// The number of envelopes that went on: told to everybody, or committed to for whoever gets the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardedCount {
    /// This many, chaff included.
    Told(u64),
    /// The number that is in the [`BatchCount`] with this hash, which travels with the batch only.
    Committed(Digest),
}

impl Document for EpochStatement {
    const KIND: &'static str = "epoch statement";

    fn canonical(&self) -> Result<Vec<u8>, Error> {
        let (outcome, [respondents, received], forwarded, batch) = match self.outcome {
            Outcome::Released { respondents, received, forwarded, batch } => {
                let (outcome, received, forwarded) = match (received, forwarded) {
                    (Some(received), ForwardedCount::Told(told)) => (RELEASED_TOLD, received, padded(told)),
                    (Some(received), ForwardedCount::Committed(to)) => {
                        (RELEASED_COMMITTED, received, *to.as_bytes())
                    }
                    (None, ForwardedCount::Committed(to)) => (RELEASED_WITHOUT_COVER, 0, *to.as_bytes()),
                    (None, ForwardedCount::Told(_)) => {
                        return Err(refused::<Self>("it tells what went on and not what arrived"));
                    }
                };
                (outcome, [respondents, received], forwarded, batch)
            }
            Outcome::Destroyed => (DESTROYED, [0; 2], [0; 32], Digest::NONE),
        };
        let mut bytes = self.route.to_bytes().to_vec();
        bytes.extend(self.hop.to_be_bytes());
        bytes.push(outcome);
        [respondents, received].iter().for_each(|count| bytes.extend(count.to_be_bytes()));
        bytes.extend(forwarded);
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
            let [respondents, received] = [reader.take()?, reader.take()?].map(u64::from_be_bytes);
            let forwarded: [u8; 32] = reader.take()?;
            let [batch, key_list, analyzer_key_list] =
                [reader.take()?, reader.take()?, reader.take()?].map(Digest::new);
            let told = forwarded.last_chunk().copied().map(u64::from_be_bytes);
            let committed = ForwardedCount::Committed(Digest::new(forwarded));
            // What is not read here, as numbers beside "destroyed", is not in the canonical form: `Signed` refuses it.
            let outcome = match outcome {
                RELEASED_TOLD => {
                    let (received, forwarded) = (Some(received), ForwardedCount::Told(told?));
                    Outcome::Released { respondents, received, forwarded, batch }
                }
                RELEASED_COMMITTED => {
                    Outcome::Released { respondents, received: Some(received), forwarded: committed, batch }
                }
                RELEASED_WITHOUT_COVER => {
                    Outcome::Released { respondents, received: None, forwarded: committed, batch }
                }
                DESTROYED => Outcome::Destroyed,
                _ => return None,
            };
            let statement = Self { route, hop, outcome, key_list, analyzer_key_list };
            (reader.end() && hop > 0).then_some(statement)
        })();
        read.ok_or_else(|| refused::<Self>("an epoch statement has 197 bytes and a signature"))
    }

    fn survey(&self) -> SurveyHash {
        self.route.survey
    }

    fn party(&self) -> Place {
        Place::Hop { instance: self.route.instance, hop: self.hop }
    }
}

impl BatchCount {
    /// Whether this is the number that a statement tells or has committed to.
    pub fn fits(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Released { forwarded: ForwardedCount::Committed(commitment), .. } => {
                self.commitment() == *commitment
            }
            Outcome::Released { forwarded: ForwardedCount::Told(told), .. } => *self == Self::told(*told),
            Outcome::Destroyed => *self == Self::told(0),
        }
    }
}

/// Checks the statements of a cascade against one another and the survey: all hops in order, the crowd reached, every
/// hop received what the one before forwarded, hop 1 had as many envelopes as its respondents send, and enough for the
/// smallest crowd went on; each tells its numbers, or does not, as the survey has it. Returns the crowd, or `None` for an
/// epoch that one of them destroyed, and all after it.
///
/// This shows that the hops agree. That hop 1 counted people and not inventions rests on hop 1. What a number is that a hop
/// has committed to is checked with the batch, by [`check_count`].
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
    let Outcome::Released { respondents: crowd, .. } = first.outcome else { return Ok(None) };
    if crowd < survey.crowd.respondents_min {
        return wrong("the crowd is smaller than the survey asks for");
    }
    let Some(sent) = crowd.checked_mul(u64::from(layout.envelopes())) else {
        return wrong("the crowd is larger than any");
    };
    let mut arriving = sent;
    for statement in &statements[..released] {
        if let Outcome::Released { respondents, received, forwarded, .. } = statement.outcome {
            if respondents != crowd {
                return wrong("a hop checked another crowd");
            }
            let has_cover = layout.cover() == Cover::Chaff;
            let told = matches!(forwarded, ForwardedCount::Told(_));
            if received.is_some() != has_cover || told != tells_forwarded(survey, statement.hop) {
                return wrong("a hop tells a number that tells of fragments, or hides another");
            }
            if received.is_some_and(|received| received != arriving) {
                return wrong(match statement.hop {
                    1 => "hop 1 has another number of envelopes than its respondents send",
                    _ => "a hop received more or less than was there",
                });
            }
            if let ForwardedCount::Told(forwarded) = forwarded {
                check_forwarded(survey, statement.hop, forwarded, arriving)?;
                arriving = forwarded;
            }
        }
    }
    Ok((released == statements.len()).then_some(crowd))
}

/// Checks the number of envelopes of a batch against the statement of the hop that handed it on, for whoever has both: it is
/// the one that the hop told or committed to, and not more than could arrive there, nor less than may be left.
pub fn check_count(survey: &Survey, statement: &EpochStatement, count: &BatchCount) -> Result<(), Error> {
    if !count.fits(&statement.outcome) {
        return Err(Error::Statement("it has committed to another number of envelopes".to_owned()));
    }
    let Outcome::Released { respondents, received, .. } = statement.outcome else { return Ok(()) };
    let sent = respondents.saturating_mul(u64::from(Layout::of(survey).envelopes()));
    check_forwarded(survey, statement.hop, count.envelopes(), received.unwrap_or(sent))
}

fn check_forwarded(survey: &Survey, hop: u32, forwarded: u64, arriving: u64) -> Result<(), Error> {
    let wrong = |reason: &str| Err(Error::Statement(reason.to_owned()));
    if forwarded > arriving {
        return wrong("a hop forwarded more than was there");
    }
    if forwarded < forwarded_min(survey, hop) {
        return wrong("a hop forwarded fewer envelopes than the smallest crowd sends");
    }
    Ok(())
}

/// Whether a hop's statement tells how many envelopes it forwarded. That of the last hop commits to it, since its batch has
/// fragments alone (where it is the only hop, it does so, too), and without cover that of every hop.
pub fn tells_forwarded(survey: &Survey, hop: u32) -> bool {
    let layout = Layout::of(survey);
    layout.cover() == Cover::Chaff && hop < layout.hops()
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

fn padded(number: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[24..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The bytes of a signed statement: 197, and the signature.
pub const STATEMENT_LEN: usize = 197 + 64;

const RELEASED_TOLD: u8 = 1;
const DESTROYED: u8 = 2;
const RELEASED_COMMITTED: u8 = 3;
const RELEASED_WITHOUT_COVER: u8 = 4;
