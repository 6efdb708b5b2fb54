//! A respondent's value: the secret that a randomizer reads.

use std::fmt;

use zeroize::Zeroize;

use crate::Error;

/// A respondent's value, in a survey of any kind. Erased when dropped, and never shown.
///
/// ```
/// use throng_dp::Value;
///
/// let pixel = Value::from(42); // one question
/// let person = Value::from(vec![Some(3), Some(1), None]); // three attributes, the last of them missing
/// assert_eq!(format!("{pixel:?} {person:?}"), "Value(not shown) Value(not shown)");
/// ```
#[derive(Clone)]
pub enum Value {
    /// One of the values of a single question.
    One(u64),
    /// One value of each attribute, in the survey's order; none where there is nothing to say about it.
    Record(Vec<Option<u32>>),
}

impl Value {
    /// The value of a single question.
    pub fn one(&self) -> Result<u64, Error> {
        match self {
            Self::One(value) => Ok(*value),
            Self::Record(_) => Err(Error::ValueKind("a single value")),
        }
    }

    /// The value of a single question over `size` values, at most 2^32 of them.
    pub fn index(&self, size: u64) -> Result<u32, Error> {
        let value = self.one()?;
        u32::try_from(value).ok().filter(|_| value < size).ok_or(Error::OutsideDomain { size })
    }

    /// The values of all attributes.
    pub fn record(&self) -> Result<&[Option<u32>], Error> {
        match self {
            Self::Record(record) => Ok(record),
            Self::One(_) => Err(Error::ValueKind("a record: one value for each attribute")),
        }
    }

    /// Whether it is a record without any value, which is reported as having nothing to say.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Record(record) if record.iter().all(Option::is_none))
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::One(value)
    }
}

impl From<Vec<Option<u32>>> for Value {
    fn from(record: Vec<Option<u32>>) -> Self {
        Self::Record(record)
    }
}

impl Zeroize for Value {
    fn zeroize(&mut self) {
        match self {
            Self::One(value) => value.zeroize(),
            Self::Record(record) => record.zeroize(),
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.zeroize();
    }
}

/// Shows nothing: not the kind of the value, nor how much of a record is missing.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Value(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_what_it_is_and_as_nothing_else() {
        assert_eq!((Value::from(7).one(), Value::from(7).index(8)), (Ok(7), Ok(7)));
        for (value, size) in [(8, 8), (1 << 32, 1 << 33), (u64::MAX, 1 << 32)] {
            assert_eq!(Value::One(value).index(size), Err(Error::OutsideDomain { size }));
        }
        assert_eq!(Value::from(u64::from(u32::MAX)).index(1 << 32), Ok(u32::MAX));
        let record = Value::from(vec![Some(7), None]);
        assert_eq!(record.record(), Ok(&[Some(7), None][..]));
        assert!(matches!(record.one(), Err(Error::ValueKind(_))));
        assert!(matches!(record.index(8), Err(Error::ValueKind(_))));
        assert!(matches!(Value::One(7).record(), Err(Error::ValueKind(_))));
    }

    #[test]
    fn only_a_record_without_any_value_is_empty() {
        assert!(Value::from(vec![None, None]).is_empty() && Value::from(vec![]).is_empty());
        assert!(!Value::from(vec![None, Some(0)]).is_empty() && !Value::One(0).is_empty());
    }

    #[test]
    fn a_value_is_erased_and_not_shown() {
        for mut value in [Value::from(70_707), Value::from(vec![Some(70_707), None])] {
            assert_eq!(format!("{value:?}"), "Value(not shown)");
            value.zeroize();
            match &value {
                Value::One(left) => assert_eq!(*left, 0),
                Value::Record(left) => assert!(left.is_empty()),
            }
        }
        let errors = [Value::One(70_707).index(5), Value::from(vec![Some(70_707)]).index(5)];
        assert!(errors.iter().all(|error| !format!("{error:?}").contains("70707")));
    }
}
