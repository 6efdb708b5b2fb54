//! A network that was trained on public pictures, as a file, and the features that it gives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use throng_learn::{ChannelScale, Examples, Network, Protocol, State};
use throng_wire::{Digest, Hasher};

use super::seen::seen;
use super::{Checkpoint, program};
use throng_simulate::dataset::{LabelledExamples, PictureSet, digest_of};

/// Public pictures.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PublicPictures {
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
pub(crate) struct NetworkName {
    /// What it was trained on.
    pub(crate) public: PublicPictures,
    /// The hash of its parameters; none in runs that were kept before it was written down, which are all of one network.
    pub(crate) weights: Option<Digest>,
}

/// A network for CIFAR-10 whose training is complete.
#[derive(Clone, Debug)]
pub(crate) struct PretrainedNetwork {
    pub(crate) name: NetworkName,
    /// The file it is in; none if only runs that have learned from its features are left.
    path: Option<PathBuf>,
}

impl PublicPictures {
    pub(crate) fn title(self) -> &'static str {
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

    pub(crate) fn classes(self) -> usize {
        match self {
            Self::Cifar100 => 100,
            Self::StandIn => 10,
        }
    }

    /// How many training pictures of CIFAR-10 are not public.
    pub(crate) fn respondents_left(self) -> u64 {
        self.left_of(50_000) as u64
    }

    fn left_of(self, training: usize) -> usize {
        match self {
            Self::Cifar100 => training,
            Self::StandIn => training - training / 5,
        }
    }

    /// CIFAR-100 where the user has it.
    pub(crate) fn in_directory(data: &Path) -> Self {
        let file = |name: &str| data.join("cifar-100").join(name).is_file();
        if file("train.bin") || file("train.bin.gz") { Self::Cifar100 } else { Self::StandIn }
    }

    /// The public pictures.
    pub(crate) fn open(self, data: &Path) -> Result<Examples> {
        match self {
            Self::Cifar100 => LabelledExamples::open_cifar_100(data),
            Self::StandIn => {
                let all = LabelledExamples::open_pictures(data, PictureSet::Cifar10)?.training;
                Ok(all.split(self.left_of(all.len())).1)
            }
        }
    }

    /// Where its training is kept.
    pub(crate) fn path(self, folder: &Path) -> PathBuf {
        folder.join(format!("pretrained-{}.bin", self.name()))
    }

    /// What a network with so many parameters was trained on: it has as many classes.
    fn of_parameters(parameters: usize) -> Option<Self> {
        let fits = |public: &Self| paper_network(public.classes()).dimension() == parameters;
        [Self::Cifar100, Self::StandIn].into_iter().find(fits)
    }
}

impl PretrainedNetwork {
    /// The better of those that are complete: one of CIFAR-100 is preferred, as the paper has it.
    pub(crate) fn best_in(folder: &Path) -> Result<Option<Self>> {
        for public in [PublicPictures::Cifar100, PublicPictures::StandIn] {
            let path = public.path(folder);
            if let Some(progress) = Progress::read(&path)?.filter(Progress::is_complete) {
                return Self::of(&progress, &path).map(Some);
            }
        }
        Ok(None)
    }

    /// The one in a file, which has to be there and complete.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let progress = Progress::read(path)?.with_context(|| {
            format!(
                "there is no {}; throng experiment learning --only pretrain makes such a file",
                path.display()
            )
        })?;
        ensure!(
            progress.identity.contains_key(PICTURES_DIGEST),
            "{} is no network that was trained on public pictures; throng experiment learning --only pretrain makes one",
            path.display()
        );
        ensure!(
            progress.is_complete(),
            "the training in {} stopped after step {} of {}; throng experiment learning --only pretrain goes on with it",
            path.display(),
            progress.state.step(),
            progress.identity.get(STEPS).map_or("?", String::as_str)
        );
        Self::of(&progress, path)
    }

    fn of(progress: &Progress, path: &Path) -> Result<Self> {
        let (_, parameters, ..) = progress.state.parts();
        let public = PublicPictures::of_parameters(parameters.len()).with_context(|| {
            format!(
                "{} has {} parameters, and no network for CIFAR-10 has; remove it to begin again",
                path.display(),
                parameters.len()
            )
        })?;
        let bytes: Vec<u8> = parameters.iter().flat_map(|x| x.to_le_bytes()).collect();
        let name = NetworkName { public, weights: Some(Digest::of(&bytes)) };
        Ok(Self { name, path: Some(path.to_owned()) })
    }

    /// One of which only finished runs are left.
    pub(crate) fn remembered(name: NetworkName) -> Self {
        Self { name, path: None }
    }

    /// Whether it can still be asked for features.
    pub(crate) fn is_at_hand(&self) -> bool {
        self.path.is_some()
    }

    /// CIFAR-10 as this network sees it.
    pub(crate) fn cifar_10(&self, data: &Path) -> Result<LabelledExamples> {
        self.sees(LabelledExamples::open_pictures(data, PictureSet::Cifar10)?, &self.name.public.open(data)?)
            .with_context(|| format!("in {}", data.display()))
    }

    /// Pictures as the numbers that the last layer gets, scaled to norm 1. Public pictures are not among those to train on. What
    /// was computed before from the same weights and pictures is found beside the network.
    fn sees(&self, labelled: LabelledExamples, public: &Examples) -> Result<LabelledExamples> {
        let path = self.path.as_deref().context("the network that finished runs are of is gone")?;
        let network = paper_network(self.name.public.classes());
        let progress = Progress::read(path)?.with_context(|| format!("{} is gone", path.display()))?;
        let (_, parameters, ..) = progress.state.parts();
        let digest = progress.identity.get(PICTURES_DIGEST);
        // The scale of channels is that of the public pictures, so these have to be the ones it was trained on.
        ensure!(
            digest == Some(&digest_of(&[public]).to_string()),
            "{} was trained on other public pictures than these; name the directory with those, or remove the file and run \
             throng experiment learning --only pretrain again",
            path.display()
        );
        let scale = ChannelScale::of(public, 3)?;
        let left = self.name.public.left_of(labelled.training.len());
        let seen_path = path.with_extension("seen");
        let (training, test) = seen(&seen_path, origin(parameters, &scale, left, &labelled), || {
            let features = |examples: &Examples| features(&network, parameters, &scale, examples);
            Ok((features(&labelled.training.split(left).0), features(&labelled.test)))
        })?;
        let weights = self.name.weights.map_or_else(String::new, |weights| format!(", weights {weights}"));
        let public = self.name.public.title();
        let name = format!("{} through a network trained on {public}{weights}", labelled.name);
        Ok(LabelledExamples { name, training, test, ..labelled })
    }
}

/// A hash of all that features are a function of: the program, weights, the scale of channels, how many training pictures are not
/// public, and all pictures.
fn origin(parameters: &[f32], scale: &ChannelScale, left: usize, labelled: &LabelledExamples) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(program(&Protocol::Plain).as_bytes());
    let channels = scale.channels().iter().flat_map(|&(mean, deviation)| [mean, deviation]);
    let numbers: Vec<u8> = parameters.iter().copied().chain(channels).flat_map(f32::to_le_bytes).collect();
    hasher.update(&numbers);
    hasher.update(&(left as u64).to_le_bytes());
    hasher.update(labelled.digest().as_bytes());
    hasher.finish()
}

/// The numbers that the last layer of a network gets, scaled to norm 1: a fixed function of each picture.
pub(crate) fn features(
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
pub(crate) fn paper_network(classes: usize) -> Network {
    Network::cifar(32, [32, 64, 128], FEATURES, classes)
}

/// A training on pictures without privacy, as it is kept: a checkpoint of `throng learn`, with its checksum.
#[derive(Debug)]
pub(crate) struct Progress {
    /// What the training is, by name: another one cannot go on from here.
    pub(crate) identity: BTreeMap<String, String>,
    pub(crate) state: State,
}

impl Progress {
    /// The training in a file, if there is one. What is wrong with a file is said with its place.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let Some(Checkpoint { identity, state, .. }) = Checkpoint::read(path)? else { return Ok(None) };
        let state = state.with_context(|| {
            format!("{} is no training on pictures; remove it to begin again", path.display())
        })?;
        Ok(Some(Self { identity, state }))
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        self.checkpoint().write(path)
    }

    /// Refuses to go on with another training, and says what differs.
    pub(crate) fn check(&self, path: &Path, identity: &BTreeMap<String, String>) -> Result<()> {
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
pub(crate) const STEPS: &str = "steps";
/// What the hash of the pictures it learns from is called there.
pub(crate) const PICTURES_DIGEST: &str = "pictures_digest";
/// The width of the paper's last hidden layer.
pub(crate) const FEATURES: usize = 1024;

#[cfg(test)]
mod tests {
    use throng_learn::{Average, Randomness, Rate, Settings, Training};

    use super::*;
    use crate::learning::{Choices, ModelName, Plan, Run};

    /// Pictures of three colours in which nothing is to be seen.
    fn pictures(count: usize, first: usize) -> Examples {
        let pixel = |i: usize| ((i + first) * 7919 % 251) as f32 / 250.0;
        let labels = (0..count).map(|i| (i % 10) as u8).collect();
        Examples::new((0..count * 3072).map(pixel).collect(), 3072, labels, 10).unwrap()
    }

    fn labelled() -> LabelledExamples {
        let classes = (0..10).map(|class: u32| class.to_string()).collect();
        LabelledExamples {
            name: "pictures".into(),
            training: pictures(25, 0),
            test: pictures(10, 5),
            classes,
        }
    }

    #[test]
    fn features_of_other_weights_or_pictures_have_another_origin() {
        let labelled = labelled();
        let scale = ChannelScale::of(&labelled.training, 3).unwrap();
        let one = origin(&[1.0, 2.0], &scale, 9, &labelled);
        assert_eq!(one, origin(&[1.0, 2.0], &scale, 9, &labelled));
        let exchanged = LabelledExamples { training: labelled.test.clone(), ..labelled.clone() };
        let others = [
            origin(&[1.0, 2.5], &scale, 9, &labelled),
            origin(&[1.0, 2.0], &ChannelScale::of(&labelled.test, 3).unwrap(), 9, &labelled),
            origin(&[1.0, 2.0], &scale, 8, &labelled),
            origin(&[1.0, 2.0], &scale, 9, &exchanged),
        ];
        assert!(others.iter().all(|other| *other != one));
    }

    /// From the file of a training to a private last layer on what its network sees; and nothing goes through that is not
    /// complete, not of these pictures, or not for this model.
    #[test]
    fn a_last_layer_is_trained_on_what_a_network_sees() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("network.bin");
        let refusal = |result: Result<PretrainedNetwork>| format!("{:#}", result.unwrap_err());
        assert!(refusal(PretrainedNetwork::open(&path)).contains("--only pretrain makes such a file"));

        let labelled = labelled();
        let public = labelled.training.split(20).1;
        let network = paper_network(10);
        let settings = Settings {
            protocol: Protocol::Plain,
            examples_each_step: 1,
            steps: 1,
            rate: Rate::Constant(0.01),
            momentum: 0.0,
            average: Average::Last,
            radius: None,
        };
        let mut training = Training::new(&network, &public, settings, Randomness::numbered(1)).unwrap();
        let write = |training: &Training<'_>| {
            let digest = digest_of(&[&public]).to_string();
            let known = [(STEPS, "1".to_owned()), (PICTURES_DIGEST, digest)];
            let identity = known.map(|(name, value)| (name.to_owned(), value)).into();
            Progress { identity, state: training.state().clone() }.write(&path).unwrap();
        };
        write(&training);
        assert!(refusal(PretrainedNetwork::open(&path)).contains("stopped after step 0 of 1"));
        assert!(
            PublicPictures::StandIn.path(folder.path()) != path
                && PretrainedNetwork::best_in(folder.path()).unwrap().is_none()
        );
        training.step().unwrap();
        write(&training);
        let pretrained = PretrainedNetwork::open(&path).unwrap();
        assert_eq!(pretrained.name.public, PublicPictures::StandIn);

        let seen = pretrained.sees(labelled.clone(), &public).unwrap();
        assert_eq!((seen.training.len(), seen.training.width(), seen.test.len()), (20, FEATURES, 10));
        let norm = seen.training.input(3).iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((norm - 1.0).abs() < 1e-4, "{norm}");
        assert!(seen.name.contains("stand-in") && seen.name.contains("weights "), "{}", seen.name);
        let error = pretrained.sees(labelled.clone(), &labelled.test).unwrap_err().to_string();
        assert!(error.contains("trained on other public pictures"), "{error}");

        let model =
            |model| Choices { model: Some(model), batch: Some(20), steps: Some(2), ..Choices::default() };
        let set = Some(PictureSet::Cifar10);
        let plan = Plan::of(seen.clone(), set, &model(ModelName::Pretrained)).unwrap();
        assert_eq!(plan.network.dimension(), 10 * (FEATURES + 1));
        assert_eq!(plan.shown()["data"], seen.name.as_str());
        let trained = Run::start(&plan, Randomness::numbered(1)).unwrap().to_end(|_| ()).unwrap();
        assert!(trained.model.iter().any(|&x| x != 0.0));
        for (data, other) in
            [(&seen, ModelName::Hog), (&seen, ModelName::Linear), (&labelled, ModelName::Pretrained)]
        {
            let error = Plan::of(data.clone(), set, &model(other)).unwrap_err().to_string();
            assert!(error.contains("pretrained"), "{error}");
        }
    }
}
