//! The examples of a run.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use throng_learn::Examples;
use throng_wire::Digest;

use super::drawn::drawn;
use super::run_log::RunLog;
use super::{convex, paper};
use crate::learning::{FEATURES, PretrainedNetwork, TrainTestSplit};
use throng_simulate::dataset::{LabelledExamples, PictureSet, digest_of};

/// What a run learns from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    /// Pictures, seen as some features.
    Pictures(PictureSet, Features),
    /// A convex problem that is drawn.
    Drawn(convex::Problem),
}

/// What a model sees of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Features {
    /// The pixels from 0 to 1.
    Pixels,
    /// The directions of its edges: a fixed function of the picture.
    Edges,
    /// The last hidden layer of a network that was trained on public pictures.
    Learned,
}

/// Which examples are trained on, and which are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// All training examples, and the test set.
    Test,
    /// Five sixths of the training examples, and the rest of them: for choosing settings. The test set is not looked at.
    HeldOut,
    /// Half of the training examples, and the test set; then who can tell that half from the other?
    Membership,
    /// All training examples, and those again: the empirical risk.
    Risk,
}

/// Where examples are.
#[derive(Debug)]
pub(super) struct Place {
    /// The data directory, if there is one.
    pub(super) data: Option<PathBuf>,
    /// Where results are, and with them networks that were trained on public pictures.
    pub(super) out: Option<PathBuf>,
    /// Whether small drawn pictures stand for all sets.
    pub(super) quick: bool,
    /// The network that learned features come from, if there is one.
    pub(super) network: Option<PretrainedNetwork>,
}

/// What the features of a source are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The hash of all examples.
    pub(super) digest: Digest,
    /// How many there are to train on.
    pub(super) training: u64,
}

/// The examples of a run.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) training: Examples,
    pub(super) judged: Examples,
    /// The half that was not trained on, if membership is asked for.
    pub(super) others: Option<Examples>,
}

impl Source {
    /// What it is called, which is part of the name of a file.
    pub(super) fn name(self) -> String {
        match self {
            Self::Pictures(set, Features::Pixels) => format!("{}-pixels", set.name()),
            Self::Pictures(set, Features::Edges) => format!("{}-edges", set.name()),
            Self::Pictures(set, Features::Learned) => format!("{}-learned", set.name()),
            Self::Drawn(problem) => problem.name(),
        }
    }

    /// What its examples are called before anything is made of them.
    pub(super) fn origin_name(self) -> String {
        match self {
            Self::Pictures(set, _) => set.name().into(),
            Self::Drawn(problem) => problem.name(),
        }
    }

    /// Whether its features are those of a network that was trained before.
    pub(super) fn is_learned(self) -> bool {
        matches!(self, Self::Pictures(_, Features::Learned))
    }

    /// How many numbers an input has, and how many classes there are.
    pub(super) fn shape(self) -> (usize, usize) {
        match self {
            Self::Pictures(set, features) => {
                let width = match features {
                    Features::Pixels => set.shape().iter().product(),
                    Features::Edges => set.hog().len(),
                    Features::Learned => FEATURES,
                };
                (width, 10)
            }
            Self::Drawn(problem) => (problem.inputs, 2),
        }
    }
}

impl Place {
    /// Why a source cannot be had, if so.
    pub(super) fn missing(&self, source: Source) -> Option<String> {
        let Source::Pictures(set, features) = source else { return None };
        if self.quick {
            return None;
        }
        let title = paper::title(set);
        let Some(data) = &self.data else {
            return Some(format!(
                "{title} was not measured, because no folder with data was named (--data or THRONG_DATASETS)."
            ));
        };
        if !data.join(set.name()).is_dir() {
            return Some(format!(
                "{title} was not measured, because the data directory has no folder {}.",
                set.name()
            ));
        }
        if features == Features::Learned && self.network.is_none() {
            return Some(format!(
                "{title} with learned features was not measured, because no network was trained on public pictures before, \
                 and there are no finished runs that agree on one: run this experiment with --only pretrain and the same \
                 --out first."
            ));
        }
        None
    }

    /// Looks for the network that was trained on public pictures. Where it is gone, finished runs may still say which one
    /// they are of.
    pub(super) fn find_network(&mut self) -> Result<()> {
        let Some(out) = self.out.as_deref().filter(|_| !self.quick) else { return Ok(()) };
        self.network = match PretrainedNetwork::best_in(out)? {
            Some(network) => Some(network),
            None => match RunLog::new(Some(out)).networks()?[..] {
                [name] => Some(PretrainedNetwork::remembered(name)),
                _ => None,
            },
        };
        Ok(())
    }

    /// Whether examples of a source can be had, and not only runs that have learned from them.
    pub(super) fn can_open(&self, source: Source) -> bool {
        self.quick || !source.is_learned() || self.network.as_ref().is_some_and(PretrainedNetwork::is_at_hand)
    }

    /// What the features of a source are made of.
    pub(super) fn origin(&self, source: Source) -> Result<Origin> {
        Ok(match source {
            Source::Pictures(set, _) => {
                let (training, test) = self.pixels(set)?;
                Origin { digest: digest_of(&[&training, &test]), training: training.len() as u64 }
            }
            Source::Drawn(problem) => {
                let examples = problem.examples()?;
                Origin { digest: digest_of(&[&examples]), training: examples.len() as u64 }
            }
        })
    }

    /// How many respondents a source has, given how many examples it has to train on.
    pub(super) fn respondents(&self, source: Source, training: u64) -> u64 {
        let left = self.network.as_ref().map(|network| network.name.public.respondents_left());
        left.filter(|_| source.is_learned()).map_or(training, |left| left.min(training))
    }

    /// Training examples and those to test with.
    pub(super) fn open(&self, source: Source) -> Result<TrainTestSplit> {
        match source {
            Source::Drawn(problem) => {
                let examples = problem.examples()?;
                Ok((examples.clone(), examples))
            }
            Source::Pictures(set, features) => {
                if self.quick && features == Features::Learned {
                    return edges(set, drawn(set)?);
                }
                match features {
                    Features::Pixels => self.pixels(set),
                    Features::Edges => edges(set, self.pixels(set)?),
                    Features::Learned => {
                        let (Some(data), Some(network)) = (&self.data, &self.network) else {
                            bail!("there is no network that was trained on public pictures")
                        };
                        let LabelledExamples { training, test, .. } = network.cifar_10(data)?;
                        Ok((training, test))
                    }
                }
            }
        }
    }

    fn pixels(&self, set: PictureSet) -> Result<TrainTestSplit> {
        if self.quick {
            return drawn(set);
        }
        let labelled = LabelledExamples::open_pictures(self.data.as_deref().unwrap_or(Path::new(".")), set)?;
        Ok((labelled.training, labelled.test))
    }
}

impl Question {
    /// How many of `respondents` respondents are trained on; `None` if it depends on who they are.
    pub(super) fn trained_on(self, respondents: u64) -> Option<u64> {
        match self {
            Self::Test | Self::Risk => Some(respondents),
            Self::Membership => Some(respondents / 2),
            Self::HeldOut => None,
        }
    }

    /// Divides examples as the question needs it.
    pub(super) fn divide(self, training: &Examples, test: &Examples) -> Result<Data> {
        Ok(match self {
            Self::Test => Data { training: training.clone(), judged: test.clone(), others: None },
            Self::Risk => Data { training: training.clone(), judged: training.clone(), others: None },
            Self::HeldOut => {
                let (training, judged) = training.held_out(crate::learning::HELD_OUT_ONE_IN)?;
                Data { training, judged, others: None }
            }
            Self::Membership => {
                // Always the same ones: the order of a file may say something about its pictures.
                let (members, others) = training.halves(&mut ChaCha20Rng::seed_from_u64(HALVES_SEED));
                Data { training: members, judged: test.clone(), others: Some(others) }
            }
        })
    }
}

fn edges(set: PictureSet, (training, test): TrainTestSplit) -> Result<TrainTestSplit> {
    let hog = set.hog();
    let features = |examples: &Examples| examples.map(hog.len(), |pixels, out| hog.fill(pixels, out));
    Ok((features(&training), features(&test)))
}

const HALVES_SEED: u64 = 2;
