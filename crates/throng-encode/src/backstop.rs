//! A backstop as it is stored: the permanent randomized report of one value in one survey.
//!
//! Paper: Section IV, Algorithm ReportFrag, line 1. All fragments of all epochs are drawn from it, so that
//! together they never say more than epsilon_backstop about the value.

use std::fmt;

use rand_core::CryptoRng;
use throng_dp::randomizer::count_sketch::SketchReport;
use throng_dp::{Backstop, BitRandomizer, Error as DpError, Mechanism, Value};
use zeroize::Zeroizing;

use crate::Error;

/// A backstop that can be written down and read back. It says as much about the value as epsilon_backstop
/// allows: keep it like the value itself. Erased when dropped, and never shown.
pub struct StoredBackstop(Kind);

enum Kind {
    OneHot(Backstop<Vec<u32>>),
    Sketch(Backstop<SketchReport>),
    /// The report on the attribute that was sampled when it was drawn: fragments of all epochs are about that one.
    Record(Backstop<Vec<u32>>),
}

impl StoredBackstop {
    pub(crate) fn draw(
        mechanism: &Mechanism,
        value: Option<&Value>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Option<Self>, DpError> {
        Ok(match mechanism {
            Mechanism::FragmentedOneHot(fragments) => {
                let index = value.map(|value| value.index(fragments.backstop().size())).transpose()?;
                Some(Self(Kind::OneHot(fragments.draw_backstop(index.as_ref(), rng)?)))
            }
            Mechanism::FragmentedSketch(fragments) => {
                let one = value.map(Value::one).transpose()?;
                Some(Self(Kind::Sketch(fragments.draw_backstop(one.as_ref(), rng)?)))
            }
            Mechanism::FragmentedRecord(fragments) => {
                let record = value.map(Value::record).transpose()?;
                Some(Self(Kind::Record(fragments.draw_backstop(record, rng)?)))
            }
            Mechanism::OneHot(_)
            | Mechanism::RepeatedOneHot(_)
            | Mechanism::Sketch(_)
            | Mechanism::Record(_) => None,
        })
    }

    pub(crate) fn fragment(
        &self,
        mechanism: &Mechanism,
        out: &mut Vec<u32>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<(), DpError> {
        out.clear();
        match (mechanism, &self.0) {
            (Mechanism::FragmentedOneHot(fragments), Kind::OneHot(backstop)) => {
                let reports = fragments.fragment(backstop, rng)?;
                reports.iter().for_each(|report| out.extend(fragments.backstop().fragments(report)));
            }
            (Mechanism::FragmentedSketch(fragments), Kind::Sketch(backstop)) => {
                let reports = fragments.fragment(backstop, rng)?;
                reports.iter().for_each(|report| out.extend(fragments.backstop().fragments(report)));
            }
            (Mechanism::FragmentedRecord(fragments), Kind::Record(backstop)) => {
                let reports = fragments.fragment(backstop, rng)?;
                reports.iter().for_each(|report| out.extend(fragments.backstop().fragments(report)));
            }
            _ => return Err(DpError::ForeignBackstop),
        }
        Ok(())
    }

    /// The bytes to store: kind (1), the threshold of its coin (16), then for a sketch the number of sampled
    /// rows (4) and the rows (4 each), then the number of set bits (4) and the bits (4 each).
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (kind, threshold, rows, bits): (u8, u128, &[u32], &[u32]) = match &self.0 {
            Kind::OneHot(backstop) => (ONE_HOT, backstop.threshold(), &[], backstop.report()),
            Kind::Record(backstop) => (RECORD, backstop.threshold(), &[], backstop.report()),
            Kind::Sketch(backstop) => {
                (SKETCH, backstop.threshold(), &backstop.report().rows, &backstop.report().bits)
            }
        };
        // The size is reserved, so that no half-written copy is left in memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(25 + 4 * (rows.len() + bits.len())));
        bytes.push(kind);
        bytes.extend(threshold.to_be_bytes());
        for list in [rows, bits].into_iter().skip(usize::from(kind != SKETCH)) {
            bytes.extend((list.len() as u32).to_be_bytes());
            list.iter().for_each(|number| bytes.extend(number.to_be_bytes()));
        }
        bytes
    }

    /// Reads what `to_bytes` wrote. Whether it belongs to a mechanism is found out when it is used.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let short = || Error::Backstop("it is too short");
        let (&kind, rest) = bytes.split_first().ok_or_else(short)?;
        let (threshold, rest) = rest.split_first_chunk::<16>().ok_or_else(short)?;
        let threshold = u128::from_be_bytes(*threshold);
        let (first, rest) = numbers(rest).ok_or_else(short)?;
        let (kind, rest) = match kind {
            ONE_HOT => (Kind::OneHot(Backstop::from_stored(first, threshold)), rest),
            SKETCH => {
                let (bits, rest) = numbers(rest).ok_or_else(short)?;
                (Kind::Sketch(Backstop::from_stored(SketchReport { rows: first, bits }, threshold)), rest)
            }
            RECORD => (Kind::Record(Backstop::from_stored(first, threshold)), rest),
            _ => return Err(Error::Backstop("it is of no known kind")),
        };
        if rest.is_empty() { Ok(Self(kind)) } else { Err(Error::Backstop("it is too long")) }
    }
}

impl fmt::Debug for StoredBackstop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredBackstop(not shown)")
    }
}

/// A list of numbers after their count, and the bytes that follow.
fn numbers(bytes: &[u8]) -> Option<(Vec<u32>, &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    // On a small machine four times a count may be more than it can number.
    let length = usize::try_from(u32::from_be_bytes(*count)).ok()?.checked_mul(4)?;
    let (list, rest) = rest.split_at_checked(length)?;
    Some((list.as_chunks::<4>().0.iter().map(|number| u32::from_be_bytes(*number)).collect(), rest))
}

const ONE_HOT: u8 = 1;
const SKETCH: u8 = 2;
const RECORD: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoder;
    use crate::parsing::check_bytes;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::SeedableRng;
    use throng_dp::{Attributes, CountSketch, Epsilon, OneHot, Record, ReportFragments, SketchShape};

    fn encoders() -> [Encoder; 3] {
        let epsilon = |value| Epsilon::new(value).unwrap();
        let one_hot = OneHot::new(500, epsilon(3.0)).unwrap();
        let shape = SketchShape { domain: 500, rows: 8, cells: 64, seed: 3 };
        let sketch = CountSketch::new(shape, epsilon(3.0)).unwrap();
        let record = Record::new(Attributes::new(&[400, 100]).unwrap(), epsilon(3.0)).unwrap();
        [
            Mechanism::FragmentedOneHot(ReportFragments::new(one_hot, epsilon(2.0), 4).unwrap()),
            Mechanism::FragmentedSketch(ReportFragments::new(sketch, epsilon(2.0), 4).unwrap()),
            Mechanism::FragmentedRecord(ReportFragments::new(record, epsilon(2.0), 4).unwrap()),
        ]
        .map(Encoder::new)
    }

    #[test]
    fn what_is_stored_is_read_back_and_draws_alike() {
        for encoder in encoders() {
            assert!(encoder.has_backstop());
            let value = match encoder.mechanism().record() {
                Some(_) => Value::from(vec![Some(77), None]),
                None => Value::from(77),
            };
            for value in [None, Some(&value)] {
                let rng = &mut ChaCha20Rng::from_seed([1; 32]);
                let backstop = encoder.draw_backstop(value, rng).unwrap().unwrap();
                let bytes = backstop.to_bytes();
                let read = StoredBackstop::from_bytes(&bytes).unwrap();
                assert_eq!(read.to_bytes(), bytes);
                let draw = |backstop: &StoredBackstop| {
                    let mut fragments = vec![1, 2, 3];
                    encoder
                        .encode_from(backstop, &mut fragments, &mut ChaCha20Rng::from_seed([2; 32]))
                        .unwrap();
                    fragments
                };
                assert_eq!(draw(&read), draw(&backstop));
                for length in 0..bytes.len() {
                    assert!(StoredBackstop::from_bytes(&bytes[..length]).is_err(), "{length}");
                }
                assert!(StoredBackstop::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
                assert_eq!(format!("{read:?}"), "StoredBackstop(not shown)");
            }
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read_exactly() {
        for encoder in encoders() {
            let rng = &mut ChaCha20Rng::from_seed([3; 32]);
            let backstop = encoder.draw_backstop(None, rng).unwrap().unwrap();
            check_bytes(&backstop.to_bytes(), |bytes| {
                let read = StoredBackstop::from_bytes(bytes).ok()?;
                // What is none of this mechanism's is refused when it is used, and never drawn from.
                let mut fragments = Vec::new();
                let used = encoder.encode_from(&read, &mut fragments, &mut ChaCha20Rng::from_seed([4; 32]));
                assert!(matches!(used, Ok(()) | Err(DpError::ForeignBackstop)), "{used:?}");
                Some(read.to_bytes().to_vec())
            });
        }
    }

    #[test]
    fn a_backstop_of_another_mechanism_is_refused() {
        let [one_hot, sketch, record] = encoders();
        let rng = &mut ChaCha20Rng::from_seed([1; 32]);
        let backstop = one_hot.draw_backstop(Some(&Value::from(1)), rng).unwrap().unwrap();
        // A record has as many bits as the one-hot vector, and the same coin; still it is another survey's.
        for other in [&sketch, &record] {
            let refused = other.encode_from(&backstop, &mut Vec::new(), rng);
            assert_eq!(refused, Err(DpError::ForeignBackstop));
        }
        let mut refused = |encoder: &Encoder, value| encoder.draw_backstop(Some(&value), rng).unwrap_err();
        assert_eq!(refused(&one_hot, Value::from(500)), DpError::OutsideDomain { size: 500 });
        assert_eq!(refused(&record, vec![Some(0), Some(100)].into()), DpError::OutsideDomain { size: 100 });
        for (encoder, value) in [(&one_hot, vec![Some(0)].into()), (&record, 0.into())] {
            assert!(matches!(refused(encoder, value), DpError::ValueKind(_)));
        }
        let plain = Encoder::new(Mechanism::OneHot(OneHot::new(5, Epsilon::new(1.0).unwrap()).unwrap()));
        assert!(!plain.has_backstop() && plain.draw_backstop(None, rng).unwrap().is_none());
    }
}
