//! LDP-SGD: the randomized gradients of a crowd become the steps of a model (the paper's Section VI and VII.C).
//!
//! | question | type |
//! |---|---|
//! | what is learned from? | [`Examples`], [`IdxPictures`], [`Cifar`], [`Table`] |
//! | which features are computed first? | [`Hog`], [`ChannelScale`] |
//! | what is learned, and how well does it do? | [`Network`], [`Evaluation`] |
//! | what does a respondent send? | [`Mechanism`] (signs or PrivUnit) |
//! | what is a training, step by step? | [`Training`], [`Settings`], [`State`] |
//! | are reports drawn one by one, or all at once? | [`Simulation`] |
//! | how fast does theory say that it learns? | [`Convergence`] |
//! | who can tell whether an example was learned from? | [`membership`] |
//! | where does a step's randomness come from? | [`Randomness`] |
//!
//! Pure: values in, values out; whoever calls reads the files.

mod convergence;
mod error;
mod examples;
mod features;
mod layer;
mod mechanism;
pub mod membership;
mod network;
mod number;
mod randomness;
mod rate;
mod reports;
mod training;

pub use convergence::Convergence;
pub use error::Error;
pub use examples::Examples;
pub use examples::cifar::{Cifar, CifarRecords};
pub use examples::idx::IdxPictures;
pub use examples::table::Table;
pub use features::channel_scale::ChannelScale;
pub use features::hog::Hog;
pub use layer::Curve;
pub use mechanism::{Mechanism, MechanismName};
pub use network::{Evaluation, Network, Workspace};
pub use number::Number;
pub use randomness::Randomness;
pub use rate::Rate;
pub use reports::Simulation;
pub use training::{Average, Protocol, Settings, State, Step, Training};
