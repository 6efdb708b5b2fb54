//! Memoized randomness (RAPPOR's permanent randomized response): what a respondent stores for a survey with report
//! fragments. That is permanent coins, from which every answer has its backstop, or, where answers may not change, the
//! backstop of the first answer alone.
//!
//! Paper: Section IV, Algorithm ReportFrag, line 1. The fragments of an epoch are drawn from the backstop of its answer.

use std::fmt;

use rand_core::CryptoRng;
use throng_dp::fragmenting::KEY_LEN;
use throng_dp::randomizer::count_sketch::SketchReport;
use throng_dp::{
    Backstop, EncodedReport, EncodingKind, Error as DpError, Fragments, Mechanism, PermanentCoins, Value,
};
use zeroize::Zeroizing;

use crate::Error;

/// Permanent coins that can be written down and read back. They were drawn before there was an answer and depend on none;
/// with what was sent they can tell it: keep them like the value itself. Erased when dropped, and never shown.
pub struct StoredCoins(PermanentCoins<EncodedReport>);

/// A backstop that can be written down and read back. It says as much about the value as epsilon_backstop
/// allows: keep it like the value itself. Erased when dropped, and never shown.
pub struct StoredBackstop(Backstop<EncodedReport>);

impl StoredCoins {
    /// Draws permanent coins, which depend on no answer: once for a survey, then they are stored. `None` where a mechanism has
    /// no backstops.
    pub fn draw(mechanism: &Mechanism, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Option<Self>, DpError> {
        match mechanism {
            Mechanism::Fragments(fragments) => Ok(Some(Self(fragments.draw_coins(rng)?))),
            Mechanism::Runs(_) => Ok(None),
        }
    }

    /// The backstop that these coins give an answer, or having nothing to say: always the same one.
    pub fn backstop(&self, mechanism: &Mechanism, value: Option<&Value>) -> Result<StoredBackstop, DpError> {
        match mechanism {
            Mechanism::Fragments(fragments) => Ok(StoredBackstop(fragments.backstop_of(&self.0, value)?)),
            Mechanism::Runs(_) => Err(DpError::ForeignBackstop),
        }
    }

    /// The bytes to store: kind (1), the threshold of the coin (16), the key (32), then for a sketch the number of sampled
    /// rows (4) and the rows (4 each), then the number of bits that are set with nothing to say (4) and these (4 each).
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let silent = self.0.silent();
        written(COINS | number(silent.kind()), self.0.threshold(), self.0.key(), silent)
    }

    /// Reads what `to_bytes` wrote. Whether it belongs to a mechanism is found out when it is used.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (kind, threshold, rest) = start(bytes)?;
        let known = kind.checked_sub(COINS).ok_or(NOT_KNOWN)?;
        let (key, rest) = rest.split_first_chunk::<KEY_LEN>().ok_or(TOO_SHORT)?;
        Ok(Self(PermanentCoins::from_stored(report(known, rest)?, Zeroizing::new(*key), threshold)))
    }
}

impl StoredBackstop {
    /// The fragments of one epoch, fresh ones from this backstop.
    pub fn fragments(
        &self,
        mechanism: &Mechanism,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Fragments, DpError> {
        let Mechanism::Fragments(fragments) = mechanism else { return Err(DpError::ForeignBackstop) };
        let reports = fragments.fragment(&self.0, rng)?;
        let attributes = reports.iter().flat_map(|report| report.bits()).copied().collect();
        Ok(Fragments::new(attributes, fragments.tau()))
    }

    /// The bytes to store: kind (1), the threshold of its coin (16), then for a sketch the number of sampled
    /// rows (4) and the rows (4 each), then the number of set bits (4) and the bits (4 each).
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let report = self.0.report();
        written(number(report.kind()), self.0.threshold(), &[], report)
    }

    /// Reads what `to_bytes` wrote. Whether it belongs to a mechanism is found out when it is used.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (kind, threshold, rest) = start(bytes)?;
        Ok(Self(Backstop::from_stored(report(kind, rest)?, threshold)))
    }
}

impl fmt::Debug for StoredCoins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredCoins(not shown)")
    }
}

impl fmt::Debug for StoredBackstop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredBackstop(not shown)")
    }
}

fn written(kind: u8, threshold: u128, key: &[u8], report: &EncodedReport) -> Zeroizing<Vec<u8>> {
    let lists: &[&[u32]] = match report.kind() {
        EncodingKind::Sketch => &[report.rows(), report.bits()],
        EncodingKind::OneHot | EncodingKind::Record => &[report.bits()],
    };
    // The size is reserved, so that no half-written copy is left in memory.
    let length = 17 + key.len() + lists.iter().map(|list| 4 + 4 * list.len()).sum::<usize>();
    let mut bytes = Zeroizing::new(Vec::with_capacity(length));
    bytes.push(kind);
    bytes.extend(threshold.to_be_bytes());
    bytes.extend(key);
    for list in lists {
        bytes.extend((list.len() as u32).to_be_bytes());
        list.iter().for_each(|number| bytes.extend(number.to_be_bytes()));
    }
    bytes
}

/// Kind and threshold, and what follows.
fn start(bytes: &[u8]) -> Result<(u8, u128, &[u8]), Error> {
    let (&kind, rest) = bytes.split_first().ok_or(TOO_SHORT)?;
    let (threshold, rest) = rest.split_first_chunk::<16>().ok_or(TOO_SHORT)?;
    Ok((kind, u128::from_be_bytes(*threshold), rest))
}

/// The report whose lists of numbers are the rest of the bytes.
fn report(kind: u8, bytes: &[u8]) -> Result<EncodedReport, Error> {
    let (first, rest) = numbers(bytes).ok_or(TOO_SHORT)?;
    let (report, rest) = match kind {
        ONE_HOT => (EncodedReport::one_hot(first), rest),
        SKETCH => {
            let (bits, rest) = numbers(rest).ok_or(TOO_SHORT)?;
            (EncodedReport::sketch(SketchReport { rows: first, bits }), rest)
        }
        RECORD => (EncodedReport::record(first), rest),
        _ => return Err(NOT_KNOWN),
    };
    if rest.is_empty() { Ok(report) } else { Err(Error::Backstop("it is too long")) }
}

/// A list of numbers after their count, and the bytes that follow.
fn numbers(bytes: &[u8]) -> Option<(Vec<u32>, &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    // On a small machine four times a count may be more than it can number.
    let length = usize::try_from(u32::from_be_bytes(*count)).ok()?.checked_mul(4)?;
    let (list, rest) = rest.split_at_checked(length)?;
    Some((list.as_chunks::<4>().0.iter().map(|number| u32::from_be_bytes(*number)).collect(), rest))
}

const TOO_SHORT: Error = Error::Backstop("it is too short");
const NOT_KNOWN: Error = Error::Backstop("it is of no known kind");

fn number(kind: EncodingKind) -> u8 {
    match kind {
        EncodingKind::OneHot => ONE_HOT,
        EncodingKind::Sketch => SKETCH,
        EncodingKind::Record => RECORD,
    }
}

const ONE_HOT: u8 = 1;
const SKETCH: u8 = 2;
const RECORD: u8 = 3;
/// What the kind of coins has beside that.
const COINS: u8 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_dp::{Attributes, CountSketch, Epsilon, OneHot, Record, SketchShape};
    use throng_testing::parsing::check_bytes;

    fn mechanisms() -> [Mechanism; 3] {
        let epsilon = |value| Epsilon::new(value).unwrap();
        let one_hot = OneHot::new(500, epsilon(3.0)).unwrap();
        let shape = SketchShape { domain: 500, rows: 8, cells: 64, seed: 3 };
        let sketch = CountSketch::new(shape, epsilon(3.0)).unwrap();
        let record = Record::new(Attributes::new(&[400, 100]).unwrap(), epsilon(3.0)).unwrap();
        [
            Mechanism::fragments(one_hot, epsilon(2.0), 4).unwrap(),
            Mechanism::fragments(sketch, epsilon(2.0), 4).unwrap(),
            Mechanism::fragments(record, epsilon(2.0), 4).unwrap(),
        ]
    }

    fn value(mechanism: &Mechanism) -> Value {
        match mechanism.record() {
            Some(_) => Value::from(vec![Some(77), None]),
            None => Value::from(77),
        }
    }

    #[test]
    fn what_is_stored_is_read_back_and_draws_alike() {
        for mechanism in mechanisms() {
            assert!(matches!(mechanism, Mechanism::Fragments(_)));
            let rng = &mut ChaCha20Rng::from_seed([1; 32]);
            let coins = StoredCoins::draw(&mechanism, rng).unwrap().unwrap();
            let bytes = coins.to_bytes();
            let again = StoredCoins::from_bytes(&bytes).unwrap();
            assert_eq!(again.to_bytes(), bytes);
            assert_eq!(format!("{again:?}"), "StoredCoins(not shown)");
            for length in 0..bytes.len() {
                assert!(StoredCoins::from_bytes(&bytes[..length]).is_err(), "{length}");
            }
            assert!(StoredCoins::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
            assert!(StoredBackstop::from_bytes(&bytes).is_err(), "coins are no backstop");
            let value = value(&mechanism);
            for value in [None, Some(&value)] {
                let backstop = coins.backstop(&mechanism, value).unwrap();
                let bytes = backstop.to_bytes();
                assert_eq!(again.backstop(&mechanism, value).unwrap().to_bytes(), bytes);
                let read = StoredBackstop::from_bytes(&bytes).unwrap();
                assert_eq!(read.to_bytes(), bytes);
                let draw = |backstop: &StoredBackstop| {
                    backstop.fragments(&mechanism, &mut ChaCha20Rng::from_seed([2; 32])).unwrap()
                };
                assert_eq!(draw(&read).tau(), 4);
                assert_eq!(draw(&read), draw(&backstop));
                for length in 0..bytes.len() {
                    assert!(StoredBackstop::from_bytes(&bytes[..length]).is_err(), "{length}");
                }
                assert!(StoredBackstop::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
                assert!(StoredCoins::from_bytes(&bytes).is_err(), "a backstop is no coins");
                assert_eq!(format!("{read:?}"), "StoredBackstop(not shown)");
            }
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read_exactly() {
        for mechanism in mechanisms() {
            let rng = &mut ChaCha20Rng::from_seed([3; 32]);
            let coins = StoredCoins::draw(&mechanism, rng).unwrap().unwrap();
            let value = value(&mechanism);
            check_bytes(&coins.to_bytes(), |bytes| {
                let read = StoredCoins::from_bytes(bytes).ok()?;
                let used = read.backstop(&mechanism, Some(&value));
                assert!(matches!(used, Ok(_) | Err(DpError::ForeignBackstop)), "{used:?}");
                Some(read.to_bytes().to_vec())
            });
            let backstop = coins.backstop(&mechanism, None).unwrap();
            check_bytes(&backstop.to_bytes(), |bytes| {
                let read = StoredBackstop::from_bytes(bytes).ok()?;
                // What is none of this mechanism's is refused when it is used, and never drawn from.
                let used = read.fragments(&mechanism, &mut ChaCha20Rng::from_seed([4; 32]));
                assert!(matches!(used, Ok(_) | Err(DpError::ForeignBackstop)), "{used:?}");
                Some(read.to_bytes().to_vec())
            });
        }
    }

    #[test]
    fn coins_of_another_mechanism_are_refused() {
        let [one_hot, sketch, record] = mechanisms();
        let rng = &mut ChaCha20Rng::from_seed([1; 32]);
        let coins = StoredCoins::draw(&one_hot, rng).unwrap().unwrap();
        let backstop = coins.backstop(&one_hot, Some(&Value::from(1))).unwrap();
        // A record has as many bits as the one-hot vector, and the same coin; still it is another survey's.
        for other in [&sketch, &record] {
            assert_eq!(coins.backstop(other, None).unwrap_err(), DpError::ForeignBackstop);
            let refused = backstop.fragments(other, rng);
            assert_eq!(refused, Err(DpError::ForeignBackstop));
        }
        let mut refused = |mechanism: &Mechanism, value| {
            let coins = StoredCoins::draw(mechanism, rng).unwrap().unwrap();
            coins.backstop(mechanism, Some(&value)).unwrap_err()
        };
        assert_eq!(refused(&one_hot, Value::from(500)), DpError::OutsideDomain { size: 500 });
        assert_eq!(refused(&record, vec![Some(0), Some(100)].into()), DpError::OutsideDomain { size: 100 });
        for (mechanism, value) in [(&one_hot, vec![Some(0)].into()), (&record, 0.into())] {
            assert!(matches!(refused(mechanism, value), DpError::ValueKind(_)));
        }
        let plain = Mechanism::plain(OneHot::new(5, Epsilon::new(1.0).unwrap()).unwrap());
        assert!(StoredCoins::draw(&plain, rng).unwrap().is_none());
        assert_eq!(coins.backstop(&plain, None).unwrap_err(), DpError::ForeignBackstop);
        assert_eq!(backstop.fragments(&plain, rng), Err(DpError::ForeignBackstop));
    }
}
