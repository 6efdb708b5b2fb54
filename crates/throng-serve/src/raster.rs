//! Pictures as pages draw them: gray values in base64.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use throng_analyze::Picture;

/// A picture, row by row.
#[derive(Debug, Serialize)]
pub struct Raster {
    width: u32,
    height: u32,
    /// A byte for each pixel, 0 is black.
    pixels: String,
    /// A byte for each pixel, 1 where it stands out of the noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    significant: Option<String>,
    /// A byte for each pixel, 1 where nothing is known of it; left out where all are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

impl Raster {
    /// A picture, with what stands out of the noise.
    pub fn of(picture: &Picture, significant: Option<impl Iterator<Item = bool>>) -> Self {
        let bytes = |flags: &mut dyn Iterator<Item = bool>| flags.map(u8::from).collect::<Vec<u8>>();
        Self {
            width: picture.width(),
            height: picture.height(),
            pixels: BASE64_STANDARD.encode(picture.pixels()),
            significant: significant.map(|mut flags| BASE64_STANDARD.encode(bytes(&mut flags))),
            missing: None,
        }
    }

    /// The same picture, of some of whose pixels nothing is known.
    pub fn without(self, missing: impl Iterator<Item = bool>) -> Self {
        let flags: Vec<u8> = missing.map(u8::from).collect();
        let missing = flags.contains(&1).then(|| BASE64_STANDARD.encode(flags));
        Self { missing, ..self }
    }
}
