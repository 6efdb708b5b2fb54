//! A network that was trained on public pictures, as a file, and the features that it gives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use throng_learn::{ChannelScale, Examples, Network, State};
use throng_wire::{Digest, Hasher};

use super::seen::{Both, seen};
use crate::dataset::{Labelled, PictureSet, digest_of};
use crate::learning::Checkpoint;

/// Public pictures.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Public {
    /// The training set of CIFAR-100, as in the paper.
    #[serde(rename = "cifar-100")]
    Cifar100,
    /// The last fifth of the training set of CIFAR-10, which then has no respondents. It is of the same distribution as the
    /// rest, which is easier than the paper's setting.
    StandIn,
}

/// What tells a network from others.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkName {
    /// What it was trained on.
    pub(super) public: Public,
    /// The hash of its parameters; none in runs that were kept before it was written down, which are all of one network.
    pub(super) weights: Option<Digest>,
}

/// A network for CIFAR-10 whose training is complete.
#[derive(Clone, Debug)]
pub(super) struct Pretrained {
    pub(super) name: NetworkName,
    /// Where it is; none if only runs that have learned from its features are left.
    folder: Option<PathBuf>,
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
    /// The better of those that are complete: one of CIFAR-100 is preferred, as the paper has it.
    pub(super) fn best_in(folder: &Path) -> Result<Option<Self>> {
        for public in [Public::Cifar100, Public::StandIn] {
            if let Some(progress) = Progress::read(&public.path(folder))?.filter(Progress::is_complete) {
                let (_, parameters, ..) = progress.state.parts();
                let bytes: Vec<u8> = parameters.iter().flat_map(|x| x.to_le_bytes()).collect();
                let name = NetworkName { public, weights: Some(Digest::of(&bytes)) };
                return Ok(Some(Self { name, folder: Some(folder.to_owned()) }));
            }
        }
        Ok(None)
    }

    /// One of which only finished runs are left.
    pub(super) fn remembered(name: NetworkName) -> Self {
        Self { name, folder: None }
    }

    /// Whether it can still be asked for features.
    pub(super) fn is_at_hand(&self) -> bool {
        self.folder.is_some()
    }

    /// Training and test pictures of CIFAR-10, as the numbers that the last layer gets, scaled to norm 1. Public pictures are
    /// not among those to train on. What was computed before from the same weights and pictures is found beside the network.
    pub(super) fn features_of_cifar_10(&self, data: &Path) -> Result<Both> {
        let public = self.name.public;
        let folder = self.folder.as_deref().context("the network that finished runs are of is gone")?;
        let path = public.path(folder);
        let labelled = Labelled::open_pictures(data, PictureSet::Cifar10)?;
        let pictures = public.open(data)?;
        let network = paper_network(public.classes());
        let progress = Progress::read(&path)?.with_context(|| format!("{} is gone", path.display()))?;
        let (_, parameters, ..) = progress.state.parts();
        ensure!(
            parameters.len() == network.dimension(),
            "{} has {} parameters, and the network has {}; remove it to begin again",
            path.display(),
            parameters.len(),
            network.dimension()
        );
        // The scale of channels is that of the public pictures, so these have to be the ones it was trained on.
        ensure!(
            progress.identity.get(PUBLIC_DIGEST) == Some(&digest_of(&[&pictures]).to_string()),
            "{} was trained on other public pictures than those in {}; name the directory with those, or remove the file and \
             run --only pretrain again",
            path.display(),
            data.display()
        );
        let scale = ChannelScale::of(&pictures, 3)?;
        let left = public.respondents_left() as usize;
        seen(&public.seen_path(folder), origin(parameters, &scale, left, &labelled), || {
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

/// A training on public pictures, as it is kept: a checkpoint of `throng learn`, with its checksum.
#[derive(Debug)]
pub(super) struct Progress {
    /// What the training is, by name: another one cannot go on from here.
    pub(super) identity: BTreeMap<String, String>,
    pub(super) state: State,
}

impl Progress {
    /// The training in a file, if there is one. What is wrong with a file is said with its place.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        let Some(Checkpoint { identity, state, .. }) = Checkpoint::read(path)? else { return Ok(None) };
        let state = state.with_context(|| {
            format!("{} is no training on public pictures; remove it to begin again", path.display())
        })?;
        Ok(Some(Self { identity, state }))
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        self.checkpoint().write(path)
    }

    /// Refuses to go on with another training, and says what differs.
    pub(super) fn check(&self, path: &Path, identity: &BTreeMap<String, String>) -> Result<()> {
        self.checkpoint()
            .check(identity)
            .with_context(|| format!("cannot go on from {}; remove it to begin again", path.display()))
    }

    /// Whether no step is left.
    fn is_complete(&self) -> bool {
        self.identity.get(STEPS) == Some(&self.state.step().to_string())
    }

    fn checkpoint(&self) -> Checkpoint {
        let Self { identity, state } = self;
        Checkpoint {
            identity: identity.clone(),
            seeds: Vec::new(),
            done: Vec::new(),
            model: Vec::new(),
            curve: Vec::new(),
            state: Some(state.clone()),
        }
    }
}

/// What the length of a training is called in its file.
pub(super) const STEPS: &str = "steps";
/// What the hash of the public pictures is called there.
pub(super) const PUBLIC_DIGEST: &str = "public_digest";
/// The width of the paper's last hidden layer.
pub(super) const FEATURES: usize = 1024;

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
