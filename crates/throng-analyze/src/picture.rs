//! Gray pictures: a histogram that a person can look at. Each pixel is a value, and each unit of its
//! luminosity is a respondent who holds it, as in the paper's Section VII.

use thiserror::Error;
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
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Result<Self, PictureError> {
        Self::check_size(width, height)?;
        if pixels.len() as u64 != u64::from(width) * u64::from(height) {
            return Err(PictureError::Pixels { given: pixels.len(), width, height });
        }
        Ok(Self { width, height, pixels })
    }

    /// Whether a picture can have this size.
    pub fn check_size(width: u32, height: u32) -> Result<(), PictureError> {
        match u64::from(width) * u64::from(height) {
            0 => Err(PictureError::Empty),
            1..=PIXELS_MAX => Ok(()),
            _ => Err(PictureError::Large { width, height }),
        }
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

    /// A picture from counts, row by row. The largest count is white, all that are not positive are black, and a missing one
    /// (NaN) is gray. `None` unless the counts fill rows of this width.
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
}

/// Why there is no such picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// No width, or no height.
    #[error("the picture has no pixels")]
    Empty,
    /// More pixels than anyone looks at.
    #[error(
        "the picture is too large ({width} x {height} pixels); make it smaller, to at most 2^26 pixels in all"
    )]
    Large {
        /// Its columns.
        width: u32,
        /// Its rows.
        height: u32,
    },
    /// Pixels that do not fill the rows.
    #[error("{given} pixels do not make {width} x {height}")]
    Pixels {
        /// How many there are.
        given: usize,
        /// The columns.
        width: u32,
        /// The rows.
        height: u32,
    },
}

const PIXELS_MAX: u64 = 1 << 26;
const GAP_WIDTH: usize = 8;
/// The brightness of a count's pixel, if `white` is the brightest; gray where the count is missing (NaN).
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
