//! Learning from a crowd (the paper's Section VI): what is trained on what, what it guarantees, and the training itself.
//!
//! [`Plan`] goes from what somebody asks for to a training that is decided, with its guarantee; [`Run`] makes it.
//!
//! ```
//! use throng_lab::learning::{Choices, Plan, Run, Source};
//! use throng_learn::Randomness;
//!
//! let few = Choices { batch: Some(1000), steps: Some(3), ..Choices::default() };
//! let plan = Plan::new(&Source::Census, &few)?;
//! let trained = Run::start(&plan, Randomness::numbered(1))?.to_end(|_| ())?;
//! assert_eq!(trained.curve.last().map(|point| point.step), Some(3));
//! println!("{}", plan.statement);
//! # Ok::<(), anyhow::Error>(())
//! ```

mod accountant;
pub mod attack;
mod card;
mod checkpoint;
mod choices;
mod curve;
mod defaults;
mod model;
mod plan;
mod pretrained_network;
mod run;
mod safetensors;
mod seen;
mod source;
mod statement;

pub(crate) use accountant::Accountant;
pub use card::{accuracies, card, mean_and_deviation};
pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::{PROGRAM, program};
pub use choices::{Choices, ProtocolName};
pub use curve::{curve_csv, curve_png};
pub(crate) use defaults::Defaults;
pub use model::ModelName;
pub use plan::{HELD_OUT_ONE_IN, Plan};
pub(crate) use pretrained_network::{
    FEATURES, NetworkName, PICTURES_DIGEST, PretrainedNetwork, Progress, PublicPictures, STEPS, paper_network,
};
pub use run::{Point, Run, TrainedModel};
pub use safetensors::safetensors;
pub(crate) use seen::TrainTestSplit;
pub use source::Source;
pub use statement::{CentralStatement, GroupedGuarantee, LocalLosses, LocalStatement, Mode, Statement};
