//! What people look at: plots with axes, gray pictures as PNG, and pictures in a terminal. Bytes are the same on every machine.
//!
//! | question | where |
//! |---|---|
//! | how do curves become SVG or PNG? | [`Plot`](plot::Plot) |
//! | how are counts drawn against their rank? | [`rank_plot`] |
//! | how is a picture read and written? | [`Png`] |
//! | how does it look in a terminal? | [`Canvas`](terminal::Canvas) |

pub mod plot;
pub mod png;
pub mod rank_plot;
pub mod terminal;

pub use png::Png;
