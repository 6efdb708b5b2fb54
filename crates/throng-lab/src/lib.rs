//! The laboratory: what measures, reproduces and attacks. No party depends on it.
//!
//! | question | where |
//! |---|---|
//! | what do the paper's tables and figures look like with this software? | [`experiments`] |
//! | can the promises be broken? | [`audit`] |
//! | how is a model trained on anonymous reports, and what is its guarantee? | [`learning`] |
//! | what does a release look like, and what does a plan make of a known crowd? | [`studio`] |
//! | does somebody else's client do everything right? | [`conform`] |

pub mod audit;
pub mod conform;
pub mod experiments;
pub mod learning;
pub mod studio;
