//! Pictures and labels in the binary form of CIFAR-10 and CIFAR-100: records of one length, one after the other.

use super::Examples;
use crate::Error;

/// One of the two sets of pictures: 32 x 32 pixels in red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cifar {
    /// 10 classes; a record is the label and the pixels.
    Ten,
    /// 100 classes; a record is a coarse label, the label and the pixels. The coarse one is not used.
    Hundred,
}

impl Cifar {
    /// How many classes there are.
    pub fn classes(self) -> usize {
        match self {
            Self::Ten => 10,
            Self::Hundred => 100,
        }
    }

    /// How many bytes of labels a record starts with, of which the last is the one to learn.
    fn label_bytes(self) -> usize {
        match self {
            Self::Ten => 1,
            Self::Hundred => 2,
        }
    }
}

/// The records of one file after the other.
pub struct CifarRecords {
    set: Cifar,
    inputs: Vec<f32>,
    labels: Vec<u8>,
}

impl CifarRecords {
    /// None yet.
    pub fn new(set: Cifar) -> Self {
        Self { set, inputs: Vec::new(), labels: Vec::new() }
    }

    /// Adds all records of a file, or none of them if there is something wrong with one, and says how many there are.
    pub fn read(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let (label_bytes, classes) = (self.set.label_bytes(), self.set.classes());
        let length = label_bytes + PIXELS;
        let records = bytes.chunks_exact(length);
        let rest = records.remainder().len();
        if rest > 0 || bytes.is_empty() {
            let what = if bytes.is_empty() {
                format!("the file is empty; it should have records of {length} bytes")
            } else {
                format!("the file ends {rest} bytes into a record of {length}; get it again")
            };
            return Err(Error::Bytes { offset: (bytes.len() - rest) as u64, what });
        }
        let label = |record: &[u8]| record[label_bytes - 1];
        if let Some(i) = records.clone().position(|record| usize::from(label(record)) >= classes) {
            let offset = i * length + label_bytes - 1;
            let what = format!("label {} where there are {classes} classes", bytes[offset]);
            return Err(Error::Bytes { offset: offset as u64, what });
        }
        self.labels.extend(records.clone().map(label));
        let count = records.len();
        self.inputs.reserve(count * PIXELS);
        for record in records {
            self.inputs.extend(record[label_bytes..].iter().map(|&pixel| f32::from(pixel) / 255.0));
        }
        Ok(count)
    }

    /// All records as examples: 1,024 red, 1,024 green and 1,024 blue pixels, each row by row and from 0 to 1.
    pub fn into_examples(self) -> Result<Examples, Error> {
        Examples::new(self.inputs, PIXELS, self.labels, self.set.classes())
    }
}

/// Records may be respondents' data: only their number is shown.
impl std::fmt::Debug for CifarRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CifarRecords({} of {:?})", self.labels.len(), self.set)
    }
}

const PIXELS: usize = 3 * 32 * 32;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A record whose pixels count up from its label.
    fn record(labels: &[u8]) -> Vec<u8> {
        let first = labels[labels.len() - 1];
        labels.iter().copied().chain((0..PIXELS).map(|i| (i as u8).wrapping_add(first))).collect()
    }

    #[test]
    fn files_follow_one_another() {
        let mut records = CifarRecords::new(Cifar::Ten);
        let halves: Vec<Vec<u8>> =
            [0..5, 5..10].map(|labels| labels.flat_map(|label| record(&[label])).collect()).to_vec();
        halves.iter().for_each(|file| assert_eq!(records.read(file), Ok(5)));
        assert_eq!(format!("{records:?}"), "CifarRecords(10 of Ten)");
        let examples = records.into_examples().unwrap();
        assert_eq!((examples.len(), examples.width(), examples.classes()), (10, 3072, 10));
        assert_eq!(
            (examples.label(7), examples.input(7)[0], examples.input(7)[1024 + 2]),
            (7, 7.0 / 255.0, 9.0 / 255.0)
        );
    }

    #[test]
    fn the_fine_label_of_cifar_100_is_learned() {
        let mut records = CifarRecords::new(Cifar::Hundred);
        // Coarse labels are not looked at.
        let file: Vec<u8> = (0..100).flat_map(|fine| record(&[255, fine])).collect();
        records.read(&file).unwrap();
        let examples = records.into_examples().unwrap();
        assert_eq!((examples.label(99), examples.input(99)[0], examples.classes()), (99, 99.0 / 255.0, 100));
    }

    #[test]
    fn defects_are_named_with_their_place_and_leave_nothing_behind() {
        let mut records = CifarRecords::new(Cifar::Ten);
        let mut refusal = |bytes: &[u8]| records.read(bytes).unwrap_err().to_string();
        assert_eq!(refusal(&[]), "at byte 0: the file is empty; it should have records of 3073 bytes");
        let two = [record(&[1]), record(&[2])].concat();
        assert_eq!(
            refusal(&two[..2 * 3073 - 1]),
            "at byte 3073: the file ends 3072 bytes into a record of 3073; get it again"
        );
        assert!(
            refusal(&[&two[..], &[0]].concat())
                .starts_with("at byte 6146: the file ends 1 bytes into a record")
        );
        let bad = [record(&[1]), record(&[10])].concat();
        assert_eq!(refusal(&bad), "at byte 3073: label 10 where there are 10 classes");
        assert_eq!(format!("{records:?}"), "CifarRecords(0 of Ten)");

        let bad = [record(&[1, 1]), record(&[1, 100])].concat();
        let error = CifarRecords::new(Cifar::Hundred).read(&bad).unwrap_err();
        assert_eq!(error.to_string(), "at byte 3075: label 100 where there are 100 classes");
        let mut few = CifarRecords::new(Cifar::Ten);
        few.read(&record(&[0])).unwrap();
        assert!(few.into_examples().unwrap_err().to_string().contains("class 1 has no example"));
        assert!(
            CifarRecords::new(Cifar::Ten).into_examples().unwrap_err().to_string().contains("no examples")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn only_whole_records_are_taken(length in 0_usize..10_000, byte: u8, hundred: bool) {
            let set = if hundred { Cifar::Hundred } else { Cifar::Ten };
            let whole = length > 0 && length.is_multiple_of(PIXELS + set.label_bytes());
            let taken = CifarRecords::new(set).read(&vec![byte; length]).is_ok();
            prop_assert_eq!(taken, whole && usize::from(byte) < set.classes());
        }
    }
}
