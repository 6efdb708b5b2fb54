//! LDP-SGD: the randomized gradients of a crowd become the steps of a model (the paper's Section VI and VII.C).
//!
//! Pure: values in, values out; files are read by `throng`.

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
pub use network::{Judged, Network, Workspace};
pub use number::Number;
pub use randomness::Randomness;
pub use rate::Rate;
pub use reports::Simulation;
pub use training::{Average, Protocol, Settings, State, Step, Training};
