//! Sources of examples.

use std::path::PathBuf;

use anyhow::Result;

use super::PretrainedNetwork;
use throng_simulate::dataset::{LabelledExamples, PictureSet};

/// Data to learn from, every example of which is one respondent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The census records that come with the program: who earns more than 50,000 dollars a year?
    Census,
    /// A set of pictures.
    Pictures {
        /// Which one.
        set: PictureSet,
        /// The directory that its folder is in.
        data: PathBuf,
    },
    /// CIFAR-10 as a network sees it that was trained on public pictures.
    Seen {
        /// The directory that its folder is in, and that of the public pictures.
        data: PathBuf,
        /// The file of the network.
        network: PathBuf,
    },
    /// A CSV file with a header and one row per respondent.
    Csv {
        /// The file.
        path: PathBuf,
        /// The column that is to be learned from the others.
        target: String,
    },
}

impl Source {
    /// Reads the examples.
    pub fn open(&self) -> Result<LabelledExamples> {
        match self {
            Self::Census => LabelledExamples::census(),
            Self::Pictures { set, data } => LabelledExamples::open_pictures(data, *set),
            Self::Seen { data, network } => PretrainedNetwork::open(network)?.cifar_10(data),
            Self::Csv { path, target } => LabelledExamples::open_csv(path, target),
        }
    }

    /// The set, if it is one of pictures.
    pub fn pictures(&self) -> Option<PictureSet> {
        match self {
            Self::Pictures { set, .. } => Some(*set),
            Self::Seen { .. } => Some(PictureSet::Cifar10),
            Self::Census | Self::Csv { .. } => None,
        }
    }
}
