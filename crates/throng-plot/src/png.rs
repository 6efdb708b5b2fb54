//! PNG files of pictures.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail};
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};
use throng_analyze::Picture;

/// Reading and writing PNG.
pub trait Png: Sized {
    /// Reads a PNG file.
    fn open(path: &Path) -> Result<Self>;

    /// A picture from the bytes of a PNG file.
    fn from_png(bytes: &[u8]) -> Result<Self>;

    /// The bytes of a PNG file.
    fn to_png(&self) -> Result<Vec<u8>>;
}

impl Png for Picture {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        read(BufReader::new(file)).with_context(|| format!("cannot use {}", path.display()))
    }

    fn from_png(bytes: &[u8]) -> Result<Self> {
        read(Cursor::new(bytes))
    }

    fn to_png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, self.width(), self.height());
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        if self.pixels().len() > LARGE {
            // Noise does not shrink, and trying hard takes seconds.
            encoder.set_compression(Compression::Fast);
        }
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels())?;
        writer.finish()?;
        Ok(bytes)
    }
}

fn read(mut bytes: impl BufRead + Seek) -> Result<Picture> {
    // The decoder would say the same of a JPEG and of a damaged PNG.
    if !bytes.fill_buf()?.starts_with(&PNG_SIGNATURE) {
        bail!("this is not a PNG; convert the picture to PNG first");
    }
    let mut decoder = Decoder::new(bytes);
    decoder.set_limits(Limits { bytes: DECODER_BYTES_MAX });
    decoder.set_ignore_text_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let header = decoder.read_header_info().context(DAMAGED)?;
    Picture::check_size(header.width, header.height)?;

    let mut reader = decoder.read_info().context(DAMAGED)?;
    let size = reader.output_buffer_size().context("the picture does not fit in memory; make it smaller")?;
    let mut samples = vec![0; size];
    let frame = reader.next_frame(&mut samples).context(DAMAGED)?;
    let pixels = match frame.color_type {
        ColorType::Grayscale => samples,
        ColorType::GrayscaleAlpha => samples.as_chunks().0.iter().map(|&[y, a]| over_black(y, a)).collect(),
        ColorType::Rgb => samples.as_chunks().0.iter().map(|&[r, g, b]| luma(r, g, b)).collect(),
        ColorType::Rgba => {
            samples.as_chunks().0.iter().map(|&[r, g, b, a]| over_black(luma(r, g, b), a)).collect()
        }
        // The transformations above turn palettes into colors.
        ColorType::Indexed => bail!("the palette could not be read; convert the picture to gray first"),
    };
    Ok(Picture::new(frame.width, frame.height, pixels)?)
}

/// How bright a color is (ITU-R BT.601).
fn luma(r: u8, g: u8, b: u8) -> u8 {
    ((299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) + 500) / 1000) as u8
}

/// A pixel over black (alpha blending): nobody holds what is transparent.
fn over_black(light: u8, alpha: u8) -> u8 {
    ((u32::from(light) * u32::from(alpha) + 127) / 255) as u8
}

const LARGE: usize = 1 << 20;
const PNG_SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const DAMAGED: &str = "the PNG is damaged; save it again";
/// For what the decoder holds beside the picture: a few rows, color profiles, palettes.
const DECODER_BYTES_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn png(color: ColorType, depth: BitDepth, width: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, width, 1);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette(vec![255, 255, 255, 0, 255, 0]);
        }
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        bytes
    }

    fn pixels(color: ColorType, depth: BitDepth, width: u32, data: &[u8]) -> Vec<u8> {
        Picture::from_png(&png(color, depth, width, data)).unwrap().pixels().to_vec()
    }

    fn complaint(bytes: &[u8]) -> String {
        format!("{:#}", Picture::from_png(bytes).unwrap_err())
    }

    #[test]
    fn a_picture_survives_a_round_trip() {
        let picture = Picture::new(16, 16, (0..=255).collect()).unwrap();
        assert_eq!(Picture::from_png(&picture.to_png().unwrap()).unwrap(), picture);
    }

    #[test]
    fn every_kind_of_png_becomes_gray() {
        assert_eq!(pixels(ColorType::Grayscale, BitDepth::One, 3, &[0b1010_0000]), [255, 0, 255]);
        assert_eq!(pixels(ColorType::Grayscale, BitDepth::Sixteen, 2, &[200, 9, 3, 255]), [200, 3]);
        assert_eq!(pixels(ColorType::GrayscaleAlpha, BitDepth::Eight, 2, &[200, 255, 200, 0]), [200, 0]);
        let colors = [255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255];
        assert_eq!(pixels(ColorType::Rgb, BitDepth::Eight, 4, &colors), [255, 76, 150, 29]);
        assert_eq!(pixels(ColorType::Rgba, BitDepth::Eight, 1, &[255, 255, 255, 128]), [128]);
        assert_eq!(pixels(ColorType::Indexed, BitDepth::Eight, 2, &[1, 0]), [150, 255]);
    }

    #[test]
    fn what_is_not_a_picture_is_refused_with_a_reason() {
        assert!(complaint(b"").contains("not a PNG"));
        assert!(complaint(b"\xff\xd8\xff\xe0 a JPEG").contains("convert"));
        let whole = Picture::new(64, 64, (0..4096).map(|i| (i * i % 251) as u8).collect()).unwrap();
        let bytes = whole.to_png().unwrap();
        assert!(complaint(&bytes[..20]).contains("damaged"));
        assert!(complaint(&bytes[..bytes.len() / 2]).contains("damaged"));
        // One bit per pixel, all black: a small file can be a huge picture.
        let huge = png(ColorType::Grayscale, BitDepth::One, (1 << 26) + 8, &vec![0; (1 << 23) + 1]);
        assert!(complaint(&huge).contains("too large"));
    }
}
