//! A feature cache: pictures as a network sees them, kept as a file. These are minutes of work that need to be done once.
//!
//! A file is a magic line, the hash of all that the numbers come from, both parts (the numbers of examples, of inputs and of
//! classes, 8 bytes each, little-endian; the inputs as f32, little-endian; one byte for each label) and the SHA-256 of all
//! before.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use throng_learn::Examples;
use throng_wire::Digest;

use throng_host::out_dir::OutDir;

/// Examples to train on, and others to test with.
pub(crate) type TrainTestSplit = (Examples, Examples);

/// What is in a file, if it was made from what `origin` is the hash of and is whole; otherwise it is made, and kept there.
pub(crate) fn seen(
    path: &Path,
    origin: Digest,
    make: impl FnOnce() -> Result<TrainTestSplit>,
) -> Result<TrainTestSplit> {
    if let Some(both) = fs::read(path).ok().and_then(|bytes| parse(&bytes, origin)) {
        return Ok(both);
    }
    let both = make()?;
    keep(path, bytes(&both, origin));
    Ok(both)
}

/// Keeps features for the next time, if that is possible: they can be computed again.
fn keep(path: &Path, bytes: Vec<u8>) {
    let write = || -> Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).context("a file needs a name")?;
        Ok(OutDir::open(path.parent().unwrap_or(Path::new(".")))?.write(&[(name, bytes)])?)
    };
    if let Err(error) = write() {
        eprintln!("features are computed again the next time: {error:#}");
    }
}

fn bytes((training, test): &TrainTestSplit, origin: Digest) -> Vec<u8> {
    let mut bytes = [MAGIC, origin.as_bytes()].concat();
    for examples in [training, test] {
        for number in [examples.len(), examples.width(), examples.classes()] {
            bytes.extend_from_slice(&(number as u64).to_le_bytes());
        }
        for i in 0..examples.len() {
            examples.input(i).iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        }
        bytes.extend((0..examples.len()).map(|i| examples.label(i)));
    }
    let digest = Digest::of(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    bytes
}

/// None if the file is damaged, cut short, or of something else.
fn parse(bytes: &[u8], origin: Digest) -> Option<TrainTestSplit> {
    let (content, hash) = bytes.split_last_chunk::<32>()?;
    let mut rest = content.strip_prefix(MAGIC)?.strip_prefix(origin.as_bytes())?;
    if Digest::of(content).as_bytes() != hash {
        return None;
    }
    let both = (part(&mut rest)?, part(&mut rest)?);
    rest.is_empty().then_some(both)
}

fn part(rest: &mut &[u8]) -> Option<Examples> {
    let mut take = |len: usize| -> Option<&[u8]> {
        let (first, behind) = rest.split_at_checked(len)?;
        *rest = behind;
        Some(first)
    };
    let mut number =
        || -> Option<usize> { usize::try_from(u64::from_le_bytes(take(8)?.try_into().ok()?)).ok() };
    let (len, width, classes) = (number()?, number()?, number()?);
    let inputs = take(len.checked_mul(width)?.checked_mul(4)?)?;
    let inputs = inputs.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect();
    Examples::new(inputs, width, take(len)?.to_vec(), classes).ok()
}

const MAGIC: &[u8] = b"throng seen 1\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn both(first: f32) -> TrainTestSplit {
        let training = Examples::new(vec![first, 0.1, -0.0, 1e-9, 5.0, 6.0], 3, vec![1, 0], 2).unwrap();
        (training, Examples::new(vec![0.5, 0.25, 0.125, 3.0], 2, vec![1, 0], 2).unwrap())
    }

    #[test]
    fn what_was_seen_is_found_again_and_what_is_damaged_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.bin");
        let origin = Digest::of(b"weights and pictures");
        let mut made = 0;
        let mut ask = |origin: Digest, first: f32| {
            seen(&path, origin, || {
                made += 1;
                Ok(both(first))
            })
            .unwrap()
        };
        assert_eq!(ask(origin, 1.0), both(1.0));
        assert_eq!(ask(origin, 2.0), both(1.0), "it is kept");
        assert_eq!(ask(Digest::of(b"other weights"), 3.0), both(3.0), "of something else");
        assert_eq!(ask(origin, 4.0), both(4.0));
        let good = fs::read(&path).unwrap();
        for i in 0..good.len() {
            let mut changed = good.clone();
            changed[i] ^= 1;
            assert!(parse(&changed, origin).is_none() && parse(&good[..i], origin).is_none(), "byte {i}");
        }
        assert_eq!(parse(&good, origin), Some(both(4.0)));
        fs::write(&path, &good[..good.len() - 1]).unwrap();
        assert_eq!(ask(origin, 5.0), both(5.0));
        assert_eq!(ask(origin, 6.0), both(5.0));
        assert_eq!(made, 4);
    }
}
