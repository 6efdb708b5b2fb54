//! Pictures and labels in the IDX form, in which MNIST and Fashion-MNIST come.
//!
//! Both files start with a big-endian header: a magic number and the sizes. Sizes are believed only once the file turns
//! out to be as long as they say.

use super::Examples;
use crate::Error;

/// The pictures of an IDX file (unzipped), still without labels.
#[derive(Clone, Copy)]
pub struct IdxPictures<'a> {
    pixels: &'a [u8],
    count: u32,
    height: u32,
    width: u32,
}

impl<'a> IdxPictures<'a> {
    /// Reads a file of 8-bit gray pictures: magic number 2051, count, rows, columns, then the pixels row by row.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let ([count, height, width], pixels) = header(bytes, PICTURES_MAGIC, "pictures")?;
        if height == 0 || width == 0 {
            return Err(wrong(8, format!("pictures of {height} rows and {width} columns have no pixels")));
        }
        let expected = u128::from(count) * u128::from(height) * u128::from(width);
        check_length(pixels, bytes.len() - pixels.len(), expected, &|| {
            format!("{count} pictures of {height} x {width} pixels")
        })?;
        Ok(Self { pixels, count, height, width })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// How many rows each has.
    pub fn height(&self) -> usize {
        self.height as usize
    }

    /// How many columns each has.
    pub fn width(&self) -> usize {
        self.width as usize
    }

    /// The pictures as examples, every pixel from 0 to 1, with the labels of another IDX file (unzipped): magic number
    /// 2049, count, then one byte for each picture. An error's place is one in this file.
    pub fn labelled(&self, bytes: &[u8], classes: usize) -> Result<Examples, Error> {
        let ([count], labels) = header(bytes, LABELS_MAGIC, "labels")?;
        let start = bytes.len() - labels.len();
        check_length(labels, start, u128::from(count), &|| format!("{count} labels"))?;
        if count != self.count {
            return Err(wrong(
                4,
                format!("{count} labels for {} pictures; take two files that belong together", self.count),
            ));
        }
        if let Some(i) = labels.iter().position(|&label| usize::from(label) >= classes) {
            return Err(wrong(
                start + i,
                format!("label {}; with {classes} classes labels are below that", labels[i]),
            ));
        }
        let inputs = self.pixels.iter().map(|&pixel| f32::from(pixel) / 255.0).collect();
        Examples::new(inputs, self.height() * self.width(), labels.to_vec(), classes)
    }
}

/// Pictures may be respondents' data: only their shape is shown.
impl std::fmt::Debug for IdxPictures<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IdxPictures({} of {} x {} pixels)", self.count, self.height, self.width)
    }
}

/// The sizes in a header, and what comes after it.
fn header<'a, const N: usize>(
    bytes: &'a [u8],
    magic: u32,
    what: &str,
) -> Result<([u32; N], &'a [u8]), Error> {
    let (words, _) = bytes.as_chunks::<4>();
    let word = |at: usize| words.get(at).map(|&word| u32::from_be_bytes(word));
    if let Some(found) = word(0).filter(|&found| found != magic) {
        let hint = match found >> 16 {
            0x1f8b => "; the file is still zipped",
            _ => "",
        };
        return Err(wrong(0, format!("magic number {found} where an IDX file of {what} has {magic}{hint}")));
    }
    let length = 4 * (N + 1);
    if bytes.len() < length {
        return Err(wrong(bytes.len(), format!("the file ends within the header, which has {length} bytes")));
    }
    Ok((std::array::from_fn(|at| word(at + 1).unwrap_or(0)), &bytes[length..]))
}

/// Checks that as many bytes follow the header as it says.
fn check_length(data: &[u8], start: usize, expected: u128, what: &dyn Fn() -> String) -> Result<(), Error> {
    let end = start + data.len();
    match (data.len() as u128).cmp(&expected) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(wrong(
            end,
            format!(
                "the file ends, and {} bytes of {} are missing; get it again",
                expected - data.len() as u128,
                what()
            ),
        )),
        // Fewer are expected than there are, so the number fits.
        std::cmp::Ordering::Greater => Err(wrong(
            start + expected as usize,
            format!("{} bytes follow the {}; get the file again", data.len() as u128 - expected, what()),
        )),
    }
}

fn wrong(offset: usize, what: String) -> Error {
    Error::Bytes { offset: offset as u64, what }
}

const PICTURES_MAGIC: u32 = 2051;
const LABELS_MAGIC: u32 = 2049;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(words: &[u32], data: &[u8]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).chain(data.iter().copied()).collect()
    }

    /// Three pictures of one row and two columns.
    fn pictures() -> Vec<u8> {
        file(&[2051, 3, 1, 2], &[0, 255, 51, 102, 1, 2])
    }

    fn place(error: &Error) -> u64 {
        let Error::Bytes { offset, .. } = error else { panic!("{error} has no place") };
        *offset
    }

    #[test]
    fn pixels_are_from_0_to_1_row_by_row() {
        let file_of_pictures = pictures();
        let pictures = IdxPictures::new(&file_of_pictures).unwrap();
        assert_eq!((pictures.count(), pictures.height(), pictures.width()), (3, 1, 2));
        let examples = pictures.labelled(&file(&[2049, 3], &[1, 0, 1]), 2).unwrap();
        assert_eq!((examples.len(), examples.width(), examples.classes()), (3, 2, 2));
        assert_eq!((examples.input(0), examples.label(0)), ([0.0, 1.0].as_slice(), 1));
        assert_eq!((examples.input(1), examples.label(1)), ([0.2, 0.4].as_slice(), 0));
        assert_eq!(format!("{pictures:?}"), "IdxPictures(3 of 1 x 2 pixels)");
    }

    #[test]
    fn defects_of_pictures_are_named_with_their_place() {
        let refusal = |bytes: &[u8]| {
            let error = IdxPictures::new(bytes).unwrap_err();
            (place(&error), error.to_string())
        };
        let check = |bytes: &[u8], offset: u64, what: &str| {
            let (found, text) = refusal(bytes);
            assert_eq!(found, offset, "{text}");
            assert!(text.contains(what), "{text}");
        };
        let whole = pictures();
        check(&[], 0, "ends within the header, which has 16 bytes");
        check(&whole[..3], 3, "ends within the header");
        check(&whole[..15], 15, "ends within the header");
        check(&file(&[2049, 3], &[0; 3]), 0, "magic number 2049 where an IDX file of pictures has 2051");
        check(&[0x1f, 0x8b, 8, 0, 0], 0, "still zipped");
        check(&file(&[2051, 3, 0, 2], &[]), 8, "no pixels");
        check(&whole[..21], 21, "1 bytes of 3 pictures of 1 x 2 pixels are missing");
        check(&[&whole[..], &[7, 7]].concat(), 22, "2 bytes follow the 3 pictures");
        // Sizes whose product does not fit in 64 bits, and which nothing is reserved for.
        check(&file(&[2051, u32::MAX, u32::MAX, u32::MAX], &[0; 9]), 25, "missing");
    }

    #[test]
    fn defects_of_labels_are_named_with_their_place() {
        let whole = pictures();
        let pictures = IdxPictures::new(&whole).unwrap();
        let check = |bytes: &[u8], offset: u64, what: &str| {
            let error = pictures.labelled(bytes, 2).unwrap_err();
            assert_eq!(place(&error), offset, "{error}");
            assert!(error.to_string().contains(what), "{error}");
        };
        check(&file(&[2049], &[0]), 5, "ends within the header, which has 8 bytes");
        check(&whole, 0, "magic number 2051 where an IDX file of labels has 2049");
        check(&file(&[2049, 3], &[0, 1]), 10, "1 bytes of 3 labels are missing");
        check(&file(&[2049, 3], &[0, 1, 0, 0]), 11, "1 bytes follow the 3 labels");
        check(&file(&[2049, 2], &[0, 1]), 4, "2 labels for 3 pictures");
        check(&file(&[2049, 3], &[0, 1, 2]), 10, "label 2; with 2 classes");
        let gap = pictures.labelled(&file(&[2049, 3], &[0, 0, 0]), 2).unwrap_err();
        assert!(gap.to_string().contains("class 1 has no example"), "{gap}");
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(
            magic in prop::option::of(Just([0, 0, 8, 3])),
            bytes in prop::collection::vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..40),
            labels in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let bytes: Vec<u8> = magic.into_iter().flatten().chain(bytes).collect();
            if let Ok(pictures) = IdxPictures::new(&bytes) {
                let labels = [&[0, 0, 8, 1][..], &labels].concat();
                let _ = pictures.labelled(&labels, 10);
            }
        }

        #[test]
        fn a_file_cut_anywhere_is_refused_at_its_end(cut in 4_usize..22) {
            let error = IdxPictures::new(&pictures()[..cut]).unwrap_err();
            prop_assert_eq!(place(&error), cut as u64);
        }
    }
}
