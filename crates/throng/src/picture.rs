//! Gray pictures: a histogram that a person can look at. Each pixel is a value, and each unit of its
//! luminosity is a respondent who holds it, as in the paper's Section VII.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};
use throng_dp::estimate::clip;

/// A gray picture with 8 bits per pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Picture {
    /// A picture from its pixels, row by row. It may have up to 2^26 of them.
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Result<Self> {
        check_size(width, height)?;
        let size = u64::from(width) * u64::from(height);
        ensure!(pixels.len() as u64 == size, "{} pixels do not make {width} x {height}", pixels.len());
        Ok(Self { width, height, pixels })
    }

    /// Reads a PNG file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        Self::read(BufReader::new(file)).with_context(|| format!("cannot use {}", path.display()))
    }

    /// A picture from the bytes of a PNG file.
    pub fn from_png(bytes: &[u8]) -> Result<Self> {
        Self::read(Cursor::new(bytes))
    }

    /// The bytes of a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(BitDepth::Eight);
        if self.pixels.len() > LARGE {
            // Noise does not shrink, and trying hard takes seconds.
            encoder.set_compression(Compression::Fast);
        }
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(bytes)
    }

    /// The number of columns.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The pixels, row by row.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The number of pixels, which is the number of values that a respondent can hold.
    pub fn domain(&self) -> u64 {
        self.pixels.len() as u64
    }

    /// The sum over all pixels, which is the number of respondents.
    pub fn luminosity(&self) -> u64 {
        self.pixels.iter().copied().map(u64::from).sum()
    }

    /// A picture of the same shape from counts, each moved into [0, 255] and rounded. Panics unless there is
    /// one count per pixel.
    pub fn redrawn(&self, counts: &[f64]) -> Self {
        assert_eq!(counts.len(), self.pixels.len(), "one count per pixel");
        let pixels = clip(counts, 0.0, 255.0).into_iter().map(|count| count.round() as u8).collect();
        Self { width: self.width, height: self.height, pixels }
    }

    /// A picture from counts, row by row, the largest of which is white and all that are not positive black; one that is
    /// missing (not a number) is gray. `None` unless the rows have this width.
    pub fn of_counts(width: u32, counts: &[f64]) -> Option<Self> {
        let height = u32::try_from(counts.len()).ok()?.checked_div(width)?;
        let largest = counts.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let pixels = counts.iter().map(|&count| light(count, largest));
        (u64::from(width) * u64::from(height) == counts.len() as u64)
            .then(|| Self::new(width, height, pixels.collect()).ok())?
    }

    /// The same picture with squares of `factor` pixels for each of its own.
    pub fn enlarged(&self, factor: u32) -> Self {
        let factor = factor.max(1) as usize;
        let row = |row: &[u8]| row.iter().flat_map(|&pixel| vec![pixel; factor]).collect::<Vec<u8>>();
        let rows = self.pixels.chunks(self.width as usize).map(row);
        let pixels: Vec<u8> = rows.flat_map(|row| row.repeat(factor)).collect();
        Self { width: self.width * factor as u32, height: self.height * factor as u32, pixels }
    }

    /// This picture on the left, another of the same height on the right, and a gap between them. Panics if
    /// the heights differ.
    pub fn beside(&self, right: &Self) -> Self {
        assert_eq!(self.height, right.height, "pictures of one height");
        let rows = self.pixels.chunks(self.width as usize).zip(right.pixels.chunks(right.width as usize));
        let pixels = rows.flat_map(|(left, right)| [left, &[GAP_GRAY; GAP_WIDTH], right].concat()).collect();
        Self { width: self.width + GAP_WIDTH as u32 + right.width, height: self.height, pixels }
    }

    fn read(mut bytes: impl BufRead + Seek) -> Result<Self> {
        // The decoder would say the same of a JPEG and of a damaged PNG.
        if !bytes.fill_buf()?.starts_with(&PNG_SIGNATURE) {
            bail!("this is not a PNG; convert the picture to PNG first");
        }
        let mut decoder = Decoder::new(bytes);
        decoder.set_limits(Limits { bytes: DECODER_BYTES_MAX });
        decoder.set_ignore_text_chunk(true);
        decoder.set_transformations(Transformations::normalize_to_color8());
        let header = decoder.read_header_info().context(DAMAGED)?;
        check_size(header.width, header.height)?;

        let mut reader = decoder.read_info().context(DAMAGED)?;
        let size =
            reader.output_buffer_size().context("the picture does not fit in memory; make it smaller")?;
        let mut samples = vec![0; size];
        let frame = reader.next_frame(&mut samples).context(DAMAGED)?;
        let pixels = match frame.color_type {
            ColorType::Grayscale => samples,
            ColorType::GrayscaleAlpha => {
                samples.as_chunks().0.iter().map(|&[y, a]| over_black(y, a)).collect()
            }
            ColorType::Rgb => samples.as_chunks().0.iter().map(|&[r, g, b]| luma(r, g, b)).collect(),
            ColorType::Rgba => {
                samples.as_chunks().0.iter().map(|&[r, g, b, a]| over_black(luma(r, g, b), a)).collect()
            }
            // The transformations above turn palettes into colors.
            ColorType::Indexed => bail!("the palette could not be read; convert the picture to gray first"),
        };
        Self::new(frame.width, frame.height, pixels)
    }
}

fn check_size(width: u32, height: u32) -> Result<()> {
    ensure!(width > 0 && height > 0, "the picture has no pixels");
    ensure!(
        u64::from(width) * u64::from(height) <= PIXELS_MAX,
        "the picture is too large ({width} x {height} pixels); make it smaller, to at most 2^26 pixels in all"
    );
    Ok(())
}

/// How bright a color is (ITU-R BT.601).
fn luma(r: u8, g: u8, b: u8) -> u8 {
    ((299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) + 500) / 1000) as u8
}

/// What is seen of a pixel on a black ground: nobody holds what is transparent.
fn over_black(light: u8, alpha: u8) -> u8 {
    ((u32::from(light) * u32::from(alpha) + 127) / 255) as u8
}

const PIXELS_MAX: u64 = 1 << 26;
const LARGE: usize = 1 << 20;
const PNG_SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
const DAMAGED: &str = "the PNG is damaged; save it again";
/// For what the decoder holds beside the picture: a few rows, color profiles, palettes.
const DECODER_BYTES_MAX: usize = 1 << 30;
const GAP_WIDTH: usize = 8;
/// How bright a pixel is that stands for a count, if `white` is the brightest: gray where the count is missing (not a number).
pub fn light(count: f64, white: f64) -> u8 {
    if count.is_nan() {
        return MISSING_GRAY;
    }
    (255.0 * count / white).clamp(0.0, 255.0).round() as u8
}

/// Neither dark nor lit: nothing is known of this pixel.
pub const MISSING_GRAY: u8 = 96;
const GAP_GRAY: u8 = 96;

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
        Picture::from_png(&png(color, depth, width, data)).unwrap().pixels
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

    #[test]
    fn every_unit_of_luminosity_is_a_respondent() {
        let picture = Picture::new(2, 2, vec![2, 0, 1, 3]).unwrap();
        assert_eq!((picture.luminosity(), picture.domain()), (6, 4));
        assert!(Picture::new(2, 2, vec![0; 5]).is_err() && Picture::new(0, 2, vec![]).is_err());
    }

    #[test]
    fn counts_become_a_picture() {
        let picture = Picture::new(4, 1, vec![0; 4]).unwrap();
        let missing = Picture::of_counts(2, &[4.0, f64::NAN, -1.0, 2.0]).unwrap();
        assert_eq!(missing.pixels(), [255, MISSING_GRAY, 0, 128]);
        assert_eq!(picture.redrawn(&[-3.0, 0.6, 254.4, 900.0]).pixels(), [0, 1, 254, 255]);
    }

    #[test]
    fn two_pictures_stand_side_by_side() {
        let (left, right) =
            (Picture::new(1, 2, vec![1, 2]).unwrap(), Picture::new(2, 2, vec![3, 4, 5, 6]).unwrap());
        let both = left.beside(&right);
        let gap = [GAP_GRAY; GAP_WIDTH];
        assert_eq!(both.pixels(), [&[1], &gap[..], &[3, 4], &[2], &gap, &[5, 6]].concat());
        assert_eq!((both.width(), both.height()), (11, 2));
    }
}
