//! The bytes of a data file, zipped or not.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use flate2::read::MultiGzDecoder;

use crate::dataset::rows::GZIP_MAGIC;

/// A data file that was read.
pub(super) struct Bytes {
    /// Where it is.
    pub(super) path: PathBuf,
    /// What is in it, unzipped.
    pub(super) bytes: Vec<u8>,
}

impl Bytes {
    /// Reads a file, or the one with `.gz` at the end of its name. If there is neither, the error says so and adds
    /// `expected`: what to put where. Whether a file is zipped is told from its first bytes: names lie.
    pub(super) fn read(path: &Path, expected: &str) -> Result<Self> {
        let mut zipped = path.as_os_str().to_owned();
        zipped.push(".gz");
        for path in [path, Path::new(&zipped)] {
            match File::open(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                file => {
                    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
                    let bytes = read_up_to(FILE_BYTES_MAX, file)
                        .with_context(|| format!("cannot read {}", path.display()))?;
                    return Ok(Self { path: path.to_owned(), bytes });
                }
            }
        }
        bail!("there is no file {}, zipped (.gz) or not; {expected}", path.display())
    }

    /// What was found in the file, or an error with its name.
    pub(super) fn parsed<T>(&self, found: Result<T, throng_learn::Error>) -> Result<T> {
        found.with_context(|| format!("cannot use {}", self.path.display()))
    }
}

/// What is in a file, unzipped, of at most `bytes_max` bytes.
fn read_up_to(bytes_max: u64, input: impl Read) -> Result<Vec<u8>> {
    let whole = |input: &mut dyn Read| {
        let mut bytes = Vec::new();
        let result = input.take(bytes_max + 1).read_to_end(&mut bytes);
        (result, bytes)
    };
    let (result, mut bytes) = whole(&mut { input });
    result?;
    if bytes.starts_with(&GZIP_MAGIC) {
        let (result, unzipped) = whole(&mut MultiGzDecoder::new(&bytes[..]));
        result.map_err(|_| {
            anyhow!(
                "the gzip data is damaged or cut short after {} unzipped bytes; get the file again, or zip it again",
                unzipped.len()
            )
        })?;
        bytes = unzipped;
    }
    ensure!(
        bytes.len() as u64 <= bytes_max,
        "the file has more than {bytes_max} bytes, more than it can have if it is what its name says"
    );
    Ok(bytes)
}

/// The longest file there should be has 154 million.
const FILE_BYTES_MAX: u64 = 1 << 28;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn zip(bytes: &[u8]) -> Vec<u8> {
        let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
        zip.write_all(bytes).unwrap();
        zip.finish().unwrap()
    }

    #[test]
    fn a_file_may_be_zipped_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, zip(b"one")).unwrap();
        std::fs::write(folder.path().join("other.gz"), b"two").unwrap();
        assert_eq!(Bytes::read(&plain, "").unwrap().bytes, b"one");
        let other = Bytes::read(&folder.path().join("other"), "").unwrap();
        assert_eq!((&other.bytes[..], other.path.extension().unwrap().to_str()), (&b"two"[..], Some("gz")));
        let missing = Bytes::read(&folder.path().join("no"), "put it there").err().unwrap().to_string();
        assert!(missing.contains("/no, zipped (.gz) or not; put it there"), "{missing}");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let long = zip(&[7; 100_000]);
        assert_eq!(read_up_to(100_000, &long[..]).unwrap().len(), 100_000);
        let complaint = |bytes_max, bytes: &[u8]| read_up_to(bytes_max, bytes).unwrap_err().to_string();
        assert!(complaint(99_999, &long).contains("more than 99999 bytes"));
        assert!(complaint(10, &[1; 11]).contains("more than 10 bytes"));
        assert!(
            complaint(200_000, &long[..long.len() - 1]).contains("cut short after 100000 unzipped bytes")
        );
        assert!(complaint(200_000, &long[..5]).contains("cut short after 0 unzipped bytes"));
        let mut damaged = zip(b"some text");
        damaged[12] ^= 0xff;
        assert!(complaint(1_000, &damaged).contains("damaged"));
        let folder = tempfile::tempdir().unwrap();
        let error = Bytes::read(folder.path(), "").err().unwrap().to_string();
        assert!(error.starts_with("cannot read /"), "{error}");
    }
}
