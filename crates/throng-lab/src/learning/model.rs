//! Models by their names.

use anyhow::{Result, bail};
use serde::Serialize;
use throng_learn::{Curve, Network};

use super::FEATURES;
use throng_simulate::dataset::{LabelledExamples, PictureSet};

throng_simulate::choices! {
    /// The name of a model.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ModelName {
        /// The paper's network for MNIST, with tanh: 26,010 parameters
        Cnn = "cnn",
        /// The same with pools of stride 2: 10,650 parameters
        #[serde(rename = "cnn-stride-2")]
        CnnStride2 = "cnn-stride-2",
        /// Softmax regression on the inputs as they are
        Linear = "linear",
        /// Softmax regression on the directions of a picture's edges, which are no function of other pictures
        Hog = "hog",
        /// The paper's network for CIFAR-10, of which only the last layer is trained: the others were, on public pictures
        Pretrained = "pretrained",
    }
}

impl ModelName {
    /// What suits some data: the paper's network where it fits.
    pub fn suited(set: Option<PictureSet>) -> Self {
        match set {
            Some(PictureSet::Mnist | PictureSet::FashionMnist) => Self::Cnn,
            Some(PictureSet::Cifar10) => Self::Hog,
            None => Self::Linear,
        }
    }

    /// The data as this model reads them, and its network; `set` says which pictures they are.
    pub fn prepare(
        self,
        set: Option<PictureSet>,
        data: LabelledExamples,
    ) -> Result<(LabelledExamples, Network)> {
        let classes = data.training.classes();
        match (self, set) {
            // What such a network sees is made where the pictures are opened.
            (Self::Pretrained, Some(PictureSet::Cifar10)) if data.training.width() == FEATURES => {
                Ok((data, Network::linear(FEATURES, classes)))
            }
            (Self::Pretrained, _) => bail!(
                "--model pretrained is for cifar-10, and needs a network that was trained on public pictures: --pretrained \
                 FILE, made by throng experiment learning --only pretrain"
            ),
            (_, Some(set)) if data.training.width() != set.shape().iter().product::<usize>() => {
                bail!(
                    "--model {} is for pixels, not for what a network sees of them; use pretrained",
                    self.name()
                )
            }
            (Self::Linear, _) => {
                let network = Network::linear(data.training.width(), classes);
                Ok((data, network))
            }
            (Self::Hog, Some(set)) => {
                let hog = set.hog();
                let seen = |examples: &throng_learn::Examples| {
                    examples.map(hog.len(), |pixels, out| hog.fill(pixels, out))
                };
                let (training, test) = (seen(&data.training), seen(&data.test));
                Ok((LabelledExamples { training, test, ..data }, Network::linear(hog.len(), classes)))
            }
            (Self::Cnn | Self::CnnStride2, Some(PictureSet::Mnist | PictureSet::FashionMnist)) => {
                let stride = if self == Self::Cnn { 1 } else { 2 };
                Ok((data, Network::paper_cnn(stride, Curve::Tanh, classes)))
            }
            (Self::Cnn | Self::CnnStride2, Some(PictureSet::Cifar10)) => {
                bail!("--model {} is for 28 x 28 gray pixels; for cifar-10 use hog or linear", self.name())
            }
            (Self::Cnn | Self::CnnStride2 | Self::Hog, None) => {
                bail!("--model {} is for pictures; for a table use linear", self.name())
            }
        }
    }
}
