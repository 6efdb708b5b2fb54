//! A network that was trained on public pictures, as a file, and the features that it gives.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use throng_learn::{ChannelScale, Examples, Network, State};
use throng_wire::{Digest, Hasher};

use super::seen::{Both, seen};
use crate::dataset::{Labelled, PictureSet};
use crate::out_dir::OutDir;

/// Public pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Public {
    /// The training set of CIFAR-100, as in the paper.
    Cifar100,
    /// The last fifth of the training set of CIFAR-10, which then has no respondents. It is of the same distribution as the
    /// rest, which is easier than the paper's setting.
    StandIn,
}

/// A network for CIFAR-10 whose training is complete.
#[derive(Clone, Debug)]
pub(super) struct Pretrained {
    pub(super) public: Public,
    folder: PathBuf,
}

impl Public {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Cifar100 => "CIFAR-100",
            Self::StandIn => {
                "10,000 pictures of CIFAR-10 itself (data_batch_5, a stand-in for CIFAR-100 of the same distribution)"
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cifar100 => "cifar-100",
            Self::StandIn => "stand-in",
        }
    }

    pub(super) fn classes(self) -> usize {
        match self {
            Self::Cifar100 => 100,
            Self::StandIn => 10,
        }
    }

    /// How many training pictures of CIFAR-10 are not public.
    pub(super) fn respondents_left(self) -> u64 {
        match self {
            Self::Cifar100 => 50_000,
            Self::StandIn => 40_000,
        }
    }

    /// CIFAR-100 where the user has it.
    pub(super) fn in_directory(data: &Path) -> Self {
        let file = |name: &str| data.join("cifar-100").join(name).is_file();
        if file("train.bin") || file("train.bin.gz") { Self::Cifar100 } else { Self::StandIn }
    }

    /// The public pictures.
    pub(super) fn open(self, data: &Path) -> Result<Examples> {
        match self {
            Self::Cifar100 => Labelled::open_cifar_100(data),
            Self::StandIn => {
                let all = Labelled::open_pictures(data, PictureSet::Cifar10)?.training;
                Ok(all.split(self.respondents_left() as usize).1)
            }
        }
    }

    /// Where its training is kept.
    pub(super) fn path(self, folder: &Path) -> PathBuf {
        folder.join(format!("pretrained-{}.bin", self.name()))
    }

    /// Where CIFAR-10 is kept as its network sees it.
    fn seen_path(self, folder: &Path) -> PathBuf {
        folder.join(format!("seen-{}.bin", self.name()))
    }
}

impl Pretrained {
    /// The better of those that are complete.
    pub(super) fn best_in(folder: &Path) -> Option<Self> {
        let complete = |public: &Public| {
            let progress = Progress::read_header(&public.path(folder)).ok().flatten();
            progress.is_some_and(|(step, steps)| step == steps)
        };
        let public = [Public::Cifar100, Public::StandIn].into_iter().find(complete)?;
        Some(Self { public, folder: folder.to_owned() })
    }

    /// What tells it from another that was trained in its place.
    pub(super) fn identity(&self) -> String {
        let changed = fs::metadata(self.public.path(&self.folder)).and_then(|file| file.modified()).ok();
        format!(" {:?} {changed:?}", self.public)
    }

    /// Training and test pictures of CIFAR-10, as the numbers that the last layer gets, scaled to norm 1. Public pictures are
    /// not among those to train on. What was computed before from the same weights and pictures is found beside the network.
    pub(super) fn features_of_cifar_10(&self, data: &Path) -> Result<Both> {
        let labelled = Labelled::open_pictures(data, PictureSet::Cifar10)?;
        let scale = ChannelScale::of(&self.public.open(data)?, 3)?;
        let network = paper_network(self.public.classes());
        let progress = Progress::read(&self.public.path(&self.folder), network.dimension())?;
        let (_, parameters, ..) = progress.state.parts();
        let left = self.public.respondents_left() as usize;
        seen(&self.public.seen_path(&self.folder), origin(parameters, &scale, left, &labelled), || {
            let features = |examples: &Examples| features(&network, parameters, &scale, examples);
            Ok((features(&labelled.training.split(left).0), features(&labelled.test)))
        })
    }
}

/// A hash of all that features are a function of: weights, the scale of channels, how many training pictures are not
/// public, and all pictures.
fn origin(parameters: &[f32], scale: &ChannelScale, left: usize, labelled: &Labelled) -> Digest {
    let mut hasher = Hasher::new();
    let channels = scale.channels().iter().flat_map(|&(mean, deviation)| [mean, deviation]);
    let numbers: Vec<u8> = parameters.iter().copied().chain(channels).flat_map(f32::to_le_bytes).collect();
    hasher.update(&numbers);
    hasher.update(&(left as u64).to_le_bytes());
    hasher.update(labelled.digest().as_bytes());
    hasher.finish()
}

/// The numbers that the last layer of a network gets, scaled to norm 1: a fixed function of each picture.
pub(super) fn features(
    network: &Network,
    parameters: &[f32],
    scale: &ChannelScale,
    examples: &Examples,
) -> Examples {
    let mut one = network.workspace::<f32>(1);
    let width = network.features(parameters, &[examples.input(0)], &mut one).len();
    examples.map(width, |pixels, out| {
        let mut scaled = vec![0.0; pixels.len()];
        scale.fill(pixels, &mut scaled);
        let mut workspace = network.workspace::<f32>(1);
        out.copy_from_slice(network.features(parameters, &[&scaled], &mut workspace));
        let norm = out.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
        out.iter_mut().for_each(|x| *x /= norm);
    })
}

/// The paper's network for CIFAR-10.
pub(super) fn paper_network(classes: usize) -> Network {
    Network::cifar(32, [32, 64, 128], FEATURES, classes)
}

/// A training on public pictures, as it is kept.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) state: State,
    pub(super) steps: u64,
}

impl Progress {
    /// How many steps were made, and of how many; none if there is no file.
    fn read_header(path: &Path) -> Result<Option<(u64, u64)>> {
        use std::io::Read;
        let Ok(mut file) = fs::File::open(path) else { return Ok(None) };
        let mut header = [0; HEADER];
        file.read_exact(&mut header)?;
        header_of(&header).map(Some)
    }

    /// The training in a file.
    pub(super) fn read(path: &Path, dimension: usize) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let parse = || -> Result<Self> {
            let (step, steps) = header_of(bytes.get(..HEADER).context("it is cut short")?)?;
            let numbers: Vec<f32> = bytes[HEADER..]
                .chunks_exact(4)
                .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
                .collect();
            ensure!(
                numbers.len() == 2 * dimension && bytes.len() == HEADER + 8 * dimension,
                "it has {} numbers, and a network of {dimension} parameters needs twice that",
                numbers.len()
            );
            let (parameters, velocity) = numbers.split_at(dimension);
            let state = State::from_parts(step, parameters.to_vec(), velocity.to_vec(), parameters.to_vec());
            Ok(Self { state, steps })
        };
        parse().with_context(|| format!("cannot use {}; remove it to begin again", path.display()))
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let (step, parameters, velocity, _) = self.state.parts();
        let mut bytes = MAGIC.to_vec();
        bytes.extend([step, self.steps].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(parameters.iter().chain(velocity).flat_map(|x| x.to_le_bytes()));
        let name = path.file_name().and_then(|name| name.to_str()).context("a file needs a name")?;
        OutDir::open(path.parent().unwrap_or(Path::new(".")))?.write(&[(name, bytes)])
    }
}

fn header_of(header: &[u8]) -> Result<(u64, u64)> {
    ensure!(header.starts_with(MAGIC), "it is no training on public pictures");
    let number = |at: usize| -> Result<u64> {
        Ok(u64::from_le_bytes(header[at..at + 8].try_into().context("it is cut short")?))
    };
    Ok((number(MAGIC.len())?, number(MAGIC.len() + 8)?))
}

/// The width of the paper's last hidden layer.
pub(super) const FEATURES: usize = 1024;
const MAGIC: &[u8; 16] = b"throng public 1\n";
const HEADER: usize = MAGIC.len() + 16;

#[cfg(test)]
mod tests {
    use super::super::drawn::drawn;
    use super::*;

    #[test]
    fn features_of_other_weights_or_pictures_have_another_origin() {
        let (training, test) = drawn(PictureSet::Cifar10).unwrap();
        let labelled = Labelled { name: String::new(), training, test, classes: Vec::new() };
        let scale = ChannelScale::of(&labelled.training, 3).unwrap();
        let one = origin(&[1.0, 2.0], &scale, 9, &labelled);
        assert_eq!(one, origin(&[1.0, 2.0], &scale, 9, &labelled));
        let exchanged = Labelled { training: labelled.test.clone(), ..labelled.clone() };
        let others = [
            origin(&[1.0, 2.5], &scale, 9, &labelled),
            origin(&[1.0, 2.0], &ChannelScale::of(&labelled.test, 3).unwrap(), 9, &labelled),
            origin(&[1.0, 2.0], &scale, 8, &labelled),
            origin(&[1.0, 2.0], &scale, 9, &exchanged),
        ];
        assert!(others.iter().all(|other| *other != one));
    }
}
