//! Inputs as fixed functions of pictures: nothing is learned from respondents, so they cost no privacy.

pub(crate) mod channel_scale;
pub(crate) mod hog;
