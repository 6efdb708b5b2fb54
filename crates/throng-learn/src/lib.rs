//! LDP-SGD: the randomized gradients of a crowd become the steps of a model (the paper's Section VI and VII.C).
//!
//! Pure: values in, values out; files are read by `throng`.

mod error;
mod examples;
mod features;

pub use error::Error;
pub use examples::Examples;
pub use examples::cifar::{Cifar, CifarRecords};
pub use examples::idx::IdxPictures;
pub use examples::table::Table;
pub use features::channel_scale::ChannelScale;
pub use features::hog::Hog;
