//! Checkpoints: where a training was when it was stopped, on disk.
//!
//! A file is a magic line, the length of a header (8 bytes, little-endian), the header as JSON, f32 numbers (little-endian)
//! and the SHA-256 of all before. It holds the seed of a training that goes on, which undoes its noise: it is for its owner
//! alone, and removed when the training is done.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use throng_learn::{Protocol, Randomness, State};
use throng_wire::Digest;

use super::{Plan, Point};
use throng_host::atomic_file;

/// A checkpoint: all that it takes to go on.
#[derive(Clone, PartialEq)]
pub struct Checkpoint {
    /// What the training is, by name: another one cannot go on from here.
    pub identity: BTreeMap<String, String>,
    /// The seeds of all runs.
    pub seeds: Vec<[u8; 32]>,
    /// The curves of the runs that are done.
    pub done: Vec<Vec<Point>>,
    /// The model of the first run, if that is done.
    pub model: Vec<f32>,
    /// The curve of the run that goes on.
    pub curve: Vec<Point>,
    /// Where that is; none at its start.
    pub state: Option<State>,
}

impl Checkpoint {
    /// What a training is: the program, its settings, its data, and the seed that was asked for, if one was.
    pub fn identity(plan: &Plan, runs: u64, seed: Option<u64>) -> BTreeMap<String, String> {
        let mut identity: BTreeMap<String, String> =
            plan.shown().into_iter().map(|(name, value)| (name, value.to_string())).collect();
        identity.insert(PROGRAM.into(), program(&plan.settings.protocol));
        identity.insert("data_digest".into(), plan.data.digest().to_string());
        identity.insert("seeds".into(), runs.to_string());
        identity.insert("seed".into(), seed.map_or_else(|| "random".into(), |seed| seed.to_string()));
        identity
    }

    /// The number that the first run's randomness comes from; none if it is secret.
    pub fn seed(&self) -> Option<u64> {
        Randomness::new(*self.seeds.first()?).number()
    }

    /// Reads a checkpoint, if there is one.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        Self::parse(&bytes).map(Some).with_context(|| {
            format!("cannot go on from {}; put back a copy of it, or remove it to start anew", path.display())
        })
    }

    /// Writes it, so that it is whole and on the disk when this returns, whatever happens.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic_file::write(path, &self.bytes()?, atomic_file::PRIVATE)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Refuses to go on with another program or another training, and says what differs.
    pub fn check(&self, identity: &BTreeMap<String, String>) -> Result<()> {
        let nothing = "nothing".to_owned();
        let (was, is) = (self.identity.get(PROGRAM), identity.get(PROGRAM));
        ensure!(
            was == is,
            "the directory of --out holds a training that throng {} began, and this is {}: the same seed may mean other steps; \
             go on with that version, or give another directory",
            was.map_or("of an earlier version", String::as_str),
            is.unwrap_or(&nothing)
        );
        let names: std::collections::BTreeSet<&String> =
            self.identity.keys().chain(identity.keys()).collect();
        let differ: Vec<String> = names
            .into_iter()
            .filter(|name| self.identity.get(*name) != identity.get(*name))
            .map(|name| {
                let (was, is) = (self.identity.get(name), identity.get(name));
                format!("{name} was {}, is {}", was.unwrap_or(&nothing), is.unwrap_or(&nothing))
            })
            .collect();
        ensure!(
            differ.is_empty(),
            "the directory of --out holds another training that was stopped ({}); give its settings to go on with it, or \
             another directory",
            differ.join("; ")
        );
        Ok(())
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let (step, parts) = match &self.state {
            None => (None, [&[][..]; 3]),
            Some(state) => {
                let (step, parameters, velocity, average) = state.parts();
                (Some(step), [parameters, velocity, average])
            }
        };
        let header = Header {
            identity: self.identity.clone(),
            seeds: self.seeds.iter().map(|seed| Digest::new(*seed).to_string()).collect(),
            done: self.done.iter().map(|curve| curve.iter().map(exact).collect()).collect(),
            curve: self.curve.iter().map(exact).collect(),
            step,
            lengths: [self.model.len(), parts[0].len(), parts[1].len(), parts[2].len()],
        };
        let header = serde_json::to_vec(&header)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(header.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        for part in [&self.model[..], parts[0], parts[1], parts[2]] {
            part.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
        }
        let digest = Digest::of(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        Ok(bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let start = MAGIC.len() + 8;
        ensure!(bytes.starts_with(MAGIC), "at byte 0: this is no checkpoint of this version");
        ensure!(bytes.len() >= start + HASH_LEN, "at byte {}: the file ends too early", bytes.len());
        let (content, hash) = bytes.split_at(bytes.len() - HASH_LEN);
        let mut length = [0; 8];
        length.copy_from_slice(&content[MAGIC.len()..start]);
        let header_end =
            usize::try_from(u64::from_le_bytes(length)).ok().and_then(|len| start.checked_add(len));
        let Some(header_end) = header_end.filter(|&end| end <= content.len()) else {
            bail!("at byte {}: the header is longer than the file", MAGIC.len());
        };
        ensure!(
            Digest::of(content).as_bytes() == hash,
            "at byte {}: the checksum is not that of the bytes before it; the file was changed or cut short",
            content.len()
        );
        let header: Header = serde_json::from_slice(&content[start..header_end])
            .with_context(|| format!("at byte {start}: the header cannot be read"))?;
        let numbers = &content[header_end..];
        ensure!(
            numbers.len() as u128 == header.lengths.iter().map(|&len| 4 * len as u128).sum(),
            "at byte {header_end}: other numbers follow than the header says"
        );
        let mut numbers = numbers.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]]));
        let [model, parameters, velocity, average] =
            header.lengths.map(|len| numbers.by_ref().take(len).collect::<Vec<f32>>());
        let seeds = header.seeds.iter().map(|seed| Ok(*seed.parse::<Digest>()?.as_bytes()));
        Ok(Self {
            identity: header.identity,
            seeds: seeds.collect::<Result<_>>().with_context(|| format!("at byte {start}: a seed"))?,
            done: header.done.iter().map(|curve| curve.iter().map(point).collect()).collect(),
            model,
            curve: header.curve.iter().map(point).collect(),
            state: header.step.map(|step| State::from_parts(step, parameters, velocity, average)),
        })
    }
}

/// The seeds are not shown.
impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoint").field("done", &self.done.len()).finish_non_exhaustive()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    identity: BTreeMap<String, String>,
    seeds: Vec<String>,
    done: Vec<Vec<PointBits>>,
    curve: Vec<PointBits>,
    step: Option<u64>,
    lengths: [usize; 4],
}

/// A point whose numbers are bits: decimal digits might not give the same ones back.
type PointBits = (u64, u64, u64, Option<u64>);

fn exact(point: &Point) -> PointBits {
    let bits = f64::to_bits;
    (point.step, bits(point.accuracy), bits(point.loss), point.epsilon_central.map(bits))
}

fn point(&(step, accuracy, loss, epsilon): &PointBits) -> Point {
    let number = f64::from_bits;
    Point { step, accuracy: number(accuracy), loss: number(loss), epsilon_central: epsilon.map(number) }
}

/// Which program computes with this protocol: another one does not go on to the same bytes.
pub(crate) fn program(protocol: &Protocol) -> String {
    format!("{} (numerics {})", env!("CARGO_PKG_VERSION"), protocol.numerics())
}

/// Under which name an identity has the version of the program.
pub(crate) const PROGRAM: &str = "program";
const MAGIC: &[u8] = b"throng learn checkpoint 1\n";
const HASH_LEN: usize = 32;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::learning::{Choices, Source};

    fn some() -> Checkpoint {
        let point =
            Point { step: 3, accuracy: 1.0 / 3.0, loss: f64::INFINITY, epsilon_central: Some(0.1 + 0.2) };
        Checkpoint {
            identity: BTreeMap::from([("steps".into(), "7".into())]),
            seeds: vec![[7; 32], [9; 32]],
            done: vec![vec![point, Point { epsilon_central: None, ..point }]],
            model: vec![1.5, f32::NAN],
            curve: vec![point],
            state: Some(State::from_parts(3, vec![0.1; 5], vec![], vec![-0.0; 5])),
        }
    }

    #[test]
    fn what_is_written_is_read_to_the_bit_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        assert!(Checkpoint::read(&path).unwrap().is_none());
        some().write(&path).unwrap();
        let back = Checkpoint::read(&path).unwrap().unwrap();
        assert_eq!(back.bytes().unwrap(), some().bytes().unwrap());
        assert_eq!(back.state, some().state);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{back:?}").contains('7'), "seeds are not shown");
    }

    #[test]
    fn every_change_and_every_cut_is_noticed_with_its_place() {
        let bytes = some().bytes().unwrap();
        for i in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[i] ^= 1;
            let error = Checkpoint::parse(&changed).unwrap_err().to_string();
            assert!(error.starts_with("at byte "), "{i}: {error}");
            let error = Checkpoint::parse(&bytes[..i]).unwrap_err().to_string();
            assert!(error.starts_with("at byte "), "{i}: {error}");
        }
    }

    #[test]
    fn another_training_is_told_what_differs() {
        let other = BTreeMap::from([("steps".into(), "8".into()), ("clip".into(), "1".into())]);
        let error = some().check(&other).unwrap_err().to_string();
        assert!(error.contains("(clip was nothing, is 1; steps was 7, is 8)"), "{error}");
        some().check(&some().identity).unwrap();
    }

    #[test]
    fn another_program_does_not_go_on() {
        let plan = Plan::new(&Source::Census, &Choices { steps: Some(1), ..Choices::default() }).unwrap();
        let ours = Checkpoint::identity(&plan, 1, None);
        let with = |program: &str| {
            let mut identity = ours.clone();
            identity.insert(PROGRAM.into(), program.into());
            Checkpoint { identity, ..some() }
        };
        let version = format!("{} (numerics 1)", env!("CARGO_PKG_VERSION"));
        with(&version).check(&ours).unwrap();
        let error = with("0.0.9 (numerics 0)").check(&ours).unwrap_err().to_string();
        assert!(
            error.contains(&format!("throng 0.0.9 (numerics 0) began, and this is {version}")),
            "{error}"
        );
        // Checkpoints had no version at first.
        let mut old = with("");
        old.identity.remove(PROGRAM);
        let error = old.check(&ours).unwrap_err().to_string();
        assert!(error.contains("throng of an earlier version began"), "{error}");
    }
}
