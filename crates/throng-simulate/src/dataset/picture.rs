//! Datasets that a person can look at: every pixel is a value, and its luminosity says how many hold it.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{Canvas, Dataset, name_of};
use throng_analyze::Picture;
use throng_plot::Png;

impl Dataset {
    /// The respondents at a pixel are its luminosity times `respondents_per_unit`, rounded down.
    ///
    /// The factor is taken as the decimal number that it prints as and the product is computed in integers: 0.29 of
    /// 100 is 29, where doubles would make it 28.999999999999996 and so 28.
    pub fn of_picture(name: impl Into<String>, picture: Picture, respondents_per_unit: f64) -> Result<Self> {
        ensure!(
            respondents_per_unit.is_finite() && respondents_per_unit > 0.0,
            "{respondents_per_unit} respondents per unit of luminosity make no crowd; give a number above 0"
        );
        ensure!(
            picture.luminosity() > 0,
            "every pixel is black, so nobody would answer; give a picture with some light in it"
        );
        let factor = Decimal::new(respondents_per_unit);
        let counts: Option<Vec<_>> = picture.pixels().iter().map(|&light| factor.times(light)).collect();
        let counts = counts.with_context(|| too_many(respondents_per_unit))?;
        ensure!(
            counts.iter().any(|&count| count > 0),
            "with {respondents_per_unit} respondents per unit of luminosity every count rounds down to 0; give more"
        );
        let dataset = Self::of_counts(name, counts).with_context(|| too_many(respondents_per_unit))?;
        Ok(Self { canvas: Some(Canvas { picture, respondents_per_unit }), ..dataset })
    }

    /// Reads a PNG file; see `of_picture`.
    pub fn open_picture(path: &Path, respondents_per_unit: f64) -> Result<Self> {
        let picture = Picture::open(path)?;
        Self::of_picture(name_of(path), picture, respondents_per_unit)
            .with_context(|| format!("cannot use {}", path.display()))
    }
}

impl Canvas {
    /// The picture that counts (or estimates of them) make: each divided by the respondents per unit, moved into
    /// [0, 255] and rounded. Panics unless there is one count per pixel.
    pub fn draw(&self, counts: &[f64]) -> Picture {
        let light: Vec<_> = counts.iter().map(|count| count / self.respondents_per_unit).collect();
        self.picture.redrawn(&light)
    }
}

/// A positive number as `digits` times 10 to the power of `tens`.
struct Decimal {
    digits: u128,
    tens: i32,
}

impl Decimal {
    /// The shortest decimal that reads as this double, which is the one that a person wrote.
    fn new(number: f64) -> Self {
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').expect("scientific notation has an e");
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().expect("a double prints at most 17 digits");
        let exponent: i32 = exponent.parse().expect("the exponent of a double is small");
        Self { digits, tens: exponent - fraction.len() as i32 }
    }

    /// The product rounded down, or nothing if it is too large.
    fn times(&self, units: u8) -> Option<u64> {
        let product = self.digits * u128::from(units);
        let power = 10_u128.checked_pow(self.tens.unsigned_abs());
        match (self.tens < 0, power) {
            _ if product == 0 => Some(0),
            (true, Some(power)) => u64::try_from(product / power).ok(),
            // The product has at most 20 digits, the power more than 38.
            (true, None) => Some(0),
            (false, power) => u64::try_from(product.checked_mul(power?)?).ok(),
        }
    }
}

fn too_many(respondents_per_unit: f64) -> String {
    format!("{respondents_per_unit} respondents per unit of luminosity are too many; give fewer")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pixels: &[u8], factor: f64) -> Vec<u64> {
        let picture = Picture::new(pixels.len() as u32, 1, pixels.to_vec()).unwrap();
        Dataset::of_picture("test", picture, factor).unwrap().counts
    }

    fn complaint(pixels: &[u8], factor: f64) -> String {
        let picture = Picture::new(pixels.len() as u32, 1, pixels.to_vec()).unwrap();
        format!("{:#}", Dataset::of_picture("test", picture, factor).unwrap_err())
    }

    #[test]
    fn respondents_are_rounded_down_per_pixel() {
        assert_eq!(counts(&[0, 1, 2, 3, 255], 2.5), [0, 2, 5, 7, 637]);
        assert_eq!(counts(&[0, 7, 255], 1.0), [0, 7, 255]);
        assert_eq!(counts(&[9, 10, 255], 0.1), [0, 1, 25]);
        assert_eq!(counts(&[255], 1e12), [255_000_000_000_000]);
        assert_eq!(counts(&[1], 1.0), [1]);
    }

    #[test]
    fn the_factor_is_the_decimal_that_was_written() {
        // Each of these is one less in doubles.
        for (factor, light, expected) in
            [(0.29, 100, 29), (0.57, 100, 57), (1.15, 100, 115), (4.35, 100, 435)]
        {
            assert_eq!(counts(&[light], factor), [expected]);
        }
        for hundredths in 1..1000_u32 {
            let factor: f64 = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
            let light = [100, 200, 255];
            let expected = light.map(|light| u64::from(hundredths) * u64::from(light) / 100);
            assert_eq!(counts(&light, factor), expected, "{factor}");
        }
    }

    #[test]
    fn a_picture_without_a_crowd_is_refused_with_a_reason() {
        assert!(complaint(&[0, 0], 1.0).contains("give a picture with some light"));
        assert!(complaint(&[255], 0.001).contains("rounds down to 0; give more"));
        assert!(complaint(&[255], f64::MIN_POSITIVE).contains("give more"));
        assert!(complaint(&[255, 0], 1e300).contains("too many"));
        assert!(complaint(&[255, 255], 3e16).contains("too many"));
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(complaint(&[1], factor).contains("above 0"), "{factor}");
        }
    }

    #[test]
    fn counts_are_drawn_in_units_of_luminosity() {
        let picture = Picture::new(3, 2, vec![0, 1, 2, 3, 200, 255]).unwrap();
        let dataset = Dataset::of_picture("test", picture.clone(), 2.5).unwrap();
        let truth: Vec<_> = dataset.counts().iter().map(|&count| count as f64).collect();
        let canvas = dataset.canvas().unwrap();
        assert_eq!(canvas.draw(&truth), picture);
        assert_eq!(canvas.draw(&[-9.0, 1.2, 1.3, 636.0, 637.5, 1e9]).pixels(), [0, 0, 1, 254, 255, 255]);
    }

    #[test]
    fn a_single_pixel_in_a_file_is_a_dataset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dot.png");
        std::fs::write(&path, Picture::new(1, 1, vec![3]).unwrap().to_png().unwrap()).unwrap();
        let dot = Dataset::open_picture(&path, 2.5).unwrap();
        assert_eq!((dot.name(), dot.counts()), ("dot", &[7][..]));
        let complaint = format!("{:#}", Dataset::open_picture(&path, 0.1).unwrap_err());
        assert!(complaint.contains("dot.png") && complaint.contains("give more"), "{complaint}");
        std::fs::write(&path, b"\x89PNG\r\n\x1a\n then nothing").unwrap();
        assert!(format!("{:#}", Dataset::open_picture(&path, 1.0).unwrap_err()).contains("damaged"));
    }
}
