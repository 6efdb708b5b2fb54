//! LDP-SGD: the randomized gradients of a crowd become the steps of a model (the paper's Section VI and VII.C).
//!
//! Pure: values in, values out; files are read by `throng`.

mod error;
mod examples;
mod layer;
mod network;
mod number;

pub use error::Error;
pub use examples::Examples;
pub use examples::cifar::{Cifar, CifarRecords};
pub use examples::idx::IdxPictures;
pub use examples::table::Table;
pub use layer::Curve;
pub use network::{Judged, Network, Workspace};
pub use number::Number;
