//! LDP-SGD: the randomized gradients of a crowd become the steps of a model (the paper's Section VI and VII.C).
//!
//! Pure: values in, values out; files are read by `throng`.

mod convergence;
mod error;
mod examples;
pub mod membership;

pub use convergence::Convergence;
pub use error::Error;
pub use examples::Examples;
