//! Sets of labelled pictures, in the files that their authors publish.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use throng_learn::{Cifar, CifarRecords, Examples, Hog, IdxPictures};

use super::LabelledExamples;
use super::bytes::Bytes;

crate::choices! {
    /// A set of pictures in ten classes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PictureSet {
        /// Handwritten digits: 28 x 28 gray pixels, 60,000 to train on and 10,000 to test with.
        Mnist = "mnist",
        /// Articles of clothing, in the sizes of MNIST.
        FashionMnist = "fashion-mnist",
        /// Animals and vehicles: 32 x 32 pixels in red, green and blue, 50,000 to train on and 10,000 to test with.
        Cifar10 = "cifar-10",
    }
}

impl PictureSet {
    /// How many channels, rows and columns a picture has.
    pub fn shape(self) -> [usize; 3] {
        match self {
            Self::Mnist | Self::FashionMnist => [1, 28, 28],
            Self::Cifar10 => [3, 32, 32],
        }
    }

    /// The directions of the edges of its pictures.
    pub fn hog(self) -> Hog {
        let [channels, rows, columns] = self.shape();
        if channels == 1 { Hog::gray(columns, rows) } else { Hog::colour(columns, rows) }
    }

    /// How many pictures there are to train on and to test with.
    fn sizes(self) -> [usize; 2] {
        match self {
            Self::Mnist | Self::FashionMnist => [60_000, 10_000],
            Self::Cifar10 => [50_000, 10_000],
        }
    }

    fn classes(self) -> [&'static str; CLASSES] {
        match self {
            Self::Mnist => ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            Self::FashionMnist => [
                "T-shirt",
                "trouser",
                "pullover",
                "dress",
                "coat",
                "sandal",
                "shirt",
                "sneaker",
                "bag",
                "ankle boot",
            ],
            Self::Cifar10 => {
                ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
            }
        }
    }
}

impl LabelledExamples {
    /// The pictures of a set, from its folder in a data directory. There have to be all of them: guarantees are worked out for
    /// that many respondents.
    pub fn open_pictures(data: &Path, set: PictureSet) -> Result<Self> {
        Self::pictures(data, set, set.sizes())
    }

    fn pictures(data: &Path, set: PictureSet, [training, test]: [usize; 2]) -> Result<Self> {
        let folder = data.join(set.name());
        let (training, test) = match set {
            PictureSet::Mnist | PictureSet::FashionMnist => {
                (idx(&folder, set, "train", training)?, idx(&folder, set, "t10k", test)?)
            }
            PictureSet::Cifar10 => (
                cifar(&folder, Cifar::Ten, &CIFAR_10_TRAINING, training)?,
                cifar(&folder, Cifar::Ten, &["test_batch.bin"], test)?,
            ),
        };
        let classes = set.classes().map(str::to_owned).to_vec();
        Ok(Self { name: set.name().into(), training, test, classes })
    }

    /// The training pictures of CIFAR-100, from its folder in a data directory: public pictures, which a network may be
    /// trained on before it meets respondents.
    pub fn open_cifar_100(data: &Path) -> Result<Examples> {
        Self::cifar_100(data, 50_000)
    }

    fn cifar_100(data: &Path, training: usize) -> Result<Examples> {
        cifar(&data.join("cifar-100"), Cifar::Hundred, &["train.bin"], training)
    }
}

/// One part of a set in the IDX form, which has to have `count` pictures.
fn idx(folder: &Path, set: PictureSet, part: &str, count: usize) -> Result<Examples> {
    let expected = format!(
        "the data directory needs a folder {} with the four files of that set in the IDX form, named \
         train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (with .gz \
         if zipped), as its authors publish them; name another directory with --data",
        set.name()
    );
    let pictures = Bytes::read(&folder.join(format!("{part}-images-idx3-ubyte")), &expected)?;
    let labels = Bytes::read(&folder.join(format!("{part}-labels-idx1-ubyte")), &expected)?;
    let found = pictures.parsed(IdxPictures::new(&pictures.bytes))?;
    let [_, rows, columns] = set.shape();
    ensure!(
        (found.height(), found.width()) == (rows, columns),
        "cannot use {}: at byte 8: pictures of {} x {} pixels where those of {} have {rows} x {columns}",
        pictures.path.display(),
        found.height(),
        found.width(),
        set.name()
    );
    ensure!(
        found.count() == count,
        "cannot use {}: at byte 4: {} pictures where this file of {} has {count}; get it again",
        pictures.path.display(),
        found.count(),
        set.name()
    );
    labels.parsed(found.labelled(&labels.bytes, CLASSES))
}

/// The records of some files of CIFAR, `count` in all and the same number in each.
fn cifar(folder: &Path, set: Cifar, files: &[&str], count: usize) -> Result<Examples> {
    let expected = match set {
        Cifar::Ten => {
            "the data directory needs a folder cifar-10 with the binary version of that set: data_batch_1.bin to \
             data_batch_5.bin and test_batch.bin; name another directory with --data"
        }
        Cifar::Hundred => {
            "the data directory needs a folder cifar-100 with train.bin of the binary version of that set; name another \
             directory with --data"
        }
    };
    let mut records = CifarRecords::new(set);
    for file in files {
        let file = Bytes::read(&folder.join(file), expected)?;
        let (found, each) = (file.parsed(records.read(&file.bytes))?, count / files.len());
        ensure!(
            found == each,
            "cannot use {}: at byte {}: {found} records where this file has {each}; get it again",
            file.path.display(),
            file.bytes.len() / found.max(1) * found.min(each)
        );
    }
    records.into_examples().with_context(|| format!("cannot use the files in {}", folder.display()))
}

const CLASSES: usize = 10;
const CIFAR_10_TRAINING: [&str; 5] =
    ["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::TempDir;

    use super::*;

    /// Ten pictures of each part, one for each class, whose pixels are their label.
    fn small_mnist(set: PictureSet) -> TempDir {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join(set.name());
        fs::create_dir(&folder).unwrap();
        for part in ["train", "t10k"] {
            let pixels = (0..10_u8).flat_map(|label| [label; 28 * 28]);
            let words = [2051_u32, 10, 28, 28].into_iter().flat_map(u32::to_be_bytes);
            let pictures: Vec<u8> = words.chain(pixels).collect();
            let labels: Vec<u8> =
                [2049_u32, 10].into_iter().flat_map(u32::to_be_bytes).chain(0..10).collect();
            fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels).unwrap();
            let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
            zip.write_all(&pictures).unwrap();
            fs::write(folder.join(format!("{part}-images-idx3-ubyte.gz")), zip.finish().unwrap()).unwrap();
        }
        data
    }

    /// As if the sets had ten pictures in each file.
    fn open_small(data: &TempDir, set: PictureSet) -> Result<LabelledExamples> {
        let training = if set == PictureSet::Cifar10 { 50 } else { 10 };
        LabelledExamples::pictures(data.path(), set, [training, 10])
    }

    fn complaint(data: &TempDir, set: PictureSet) -> String {
        format!("{:#}", open_small(data, set).unwrap_err())
    }

    #[test]
    fn idx_files_are_read_zipped_or_not() {
        for set in [PictureSet::Mnist, PictureSet::FashionMnist] {
            let labelled = open_small(&small_mnist(set), set).unwrap();
            assert_eq!((labelled.name.as_str(), labelled.classes.len()), (set.name(), 10));
            assert_eq!((labelled.training.len(), labelled.test.len(), labelled.test.width()), (10, 10, 784));
            assert_eq!((labelled.test.label(9), labelled.test.input(9)[783]), (9, 9.0 / 255.0));
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_place() {
        let set = PictureSet::Mnist;
        let data = small_mnist(set);
        let file = |name: &str| data.path().join("mnist").join(name);
        let (pictures, labels) = (file("t10k-images-idx3-ubyte.gz"), file("t10k-labels-idx1-ubyte"));
        let spoilt = |path: &Path, bytes: &[u8]| {
            let whole = fs::read(path).unwrap();
            fs::write(path, bytes).unwrap();
            let complaint = complaint(&data, set);
            fs::write(path, whole).unwrap();
            complaint
        };
        let check = |complaint: &str, parts: [&str; 2]| {
            assert!(parts.iter().all(|part| complaint.contains(part)), "{complaint}");
        };
        let zipped = fs::read(&pictures).unwrap();
        check(
            &spoilt(&pictures, &zipped[..zipped.len() - 9]),
            ["cannot read ", "t10k-images-idx3-ubyte.gz: the gzip data is damaged or cut short"],
        );
        check(
            &spoilt(&pictures, b"garbage, and more of it"),
            ["t10k-images-idx3-ubyte.gz: at byte 0: magic number ", "where an IDX file of pictures has 2051"],
        );
        let one: Vec<u8> = [2051_u32, 1, 1, 1].into_iter().flat_map(u32::to_be_bytes).chain([0]).collect();
        check(&spoilt(&pictures, &one), ["at byte 8: pictures of 1 x 1 pixels", "28 x 28"]);
        check(&spoilt(&pictures, &one[..16]), ["at byte 16: the file ends", "1 bytes of 1 pictures"]);
        let whole = fs::read(&labels).unwrap();
        check(
            &spoilt(&labels, &whole[..12]),
            ["t10k-labels-idx1-ubyte: at byte 12: ", "6 bytes of 10 labels"],
        );
        let nine: Vec<u8> = [2049_u32, 9].into_iter().flat_map(u32::to_be_bytes).chain(0..9).collect();
        check(&spoilt(&labels, &nine), ["t10k-labels-idx1-ubyte: at byte 4: ", "9 labels for 10 pictures"]);
        fs::remove_file(&labels).unwrap();
        check(&complaint(&data, set), ["mnist/t10k-labels-idx1-ubyte, zipped (.gz) or not; ", "--data"]);
        check(&complaint(&data, PictureSet::Cifar10), ["cifar-10/data_batch_1.bin", "test_batch.bin; "]);
        let error = LabelledExamples::open_cifar_100(data.path()).unwrap_err().to_string();
        check(&error, ["there is no file ", "cifar-100/train.bin, zipped"]);
    }

    #[test]
    fn cifar_is_read_from_its_batches() {
        let data = tempfile::tempdir().unwrap();
        let (ten, hundred) = (data.path().join("cifar-10"), data.path().join("cifar-100"));
        [&ten, &hundred].iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let batch: Vec<u8> = (0..10_u8).flat_map(|label| [label; 3073]).collect();
        for file in CIFAR_10_TRAINING.iter().chain(&["test_batch.bin"]) {
            fs::write(ten.join(file), &batch).unwrap();
        }
        let labelled = open_small(&data, PictureSet::Cifar10).unwrap();
        assert_eq!((labelled.training.len(), labelled.test.len()), (50, 10));
        assert_eq!((labelled.classes[3].as_str(), labelled.training.label(43)), ("cat", 3));
        fs::write(ten.join("data_batch_4.bin"), &batch[1..]).unwrap();
        let cut = complaint(&data, PictureSet::Cifar10);
        assert!(
            cut.contains("cifar-10/data_batch_4.bin: at byte 27657: the file ends 3072 bytes into"),
            "{cut}"
        );

        fs::write(hundred.join("train.bin"), (0..100_u8).flat_map(|label| [label; 3074]).collect::<Vec<_>>())
            .unwrap();
        let examples = LabelledExamples::cifar_100(data.path(), 100).unwrap();
        assert_eq!((examples.len(), examples.classes()), (100, 100));
        let few = LabelledExamples::open_cifar_100(data.path()).unwrap_err().to_string();
        assert!(
            few.contains(
                "cifar-100/train.bin: at byte 307400: 100 records where this file has 50000; get it"
            ),
            "{few}"
        );
    }

    #[test]
    fn a_set_that_is_not_whole_is_refused() {
        let mnist = small_mnist(PictureSet::Mnist);
        let error =
            |data: &TempDir, set| LabelledExamples::open_pictures(data.path(), set).unwrap_err().to_string();
        let few = error(&mnist, PictureSet::Mnist);
        assert!(
            few.contains(
                "train-images-idx3-ubyte.gz: at byte 4: 10 pictures where this file of mnist has 60000"
            ),
            "{few}"
        );
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("cifar-10");
        fs::create_dir(&folder).unwrap();
        let record = [7_u8; 3073];
        for (i, file) in CIFAR_10_TRAINING.iter().enumerate() {
            // The third lacks a record, and whole ones are no excuse.
            fs::write(folder.join(file), record.repeat(if i == 2 { 9 } else { 10 })).unwrap();
        }
        let short = complaint(&data, PictureSet::Cifar10);
        assert!(
            short.contains("data_batch_3.bin: at byte 27657: 9 records where this file has 10; get it again"),
            "{short}"
        );
        let few = error(&data, PictureSet::Cifar10);
        assert!(
            few.contains("data_batch_1.bin: at byte 30730: 10 records where this file has 10000"),
            "{few}"
        );
    }
}
