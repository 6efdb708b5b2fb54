//! Pictures small enough for a page that holds dozens of them.

use anyhow::Result;

use throng_analyze::Picture;
use throng_plot::Png;

/// A picture as it stands in the page.
pub(super) struct Thumbnail {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) png: Vec<u8>,
}

/// Thumbnails of all pictures, as wide as `WIDTHS` lets them be while all files together have at most `bytes_max`
/// bytes, or else of the least width. Noise does not compress, so the width alone says little about the bytes.
pub(super) fn thumbnails(pictures: &[&Picture], bytes_max: usize) -> Result<Vec<Thumbnail>> {
    let mut all = Vec::new();
    for width_max in WIDTHS {
        let thumbnail = |picture: &&Picture| {
            let small = shrunk(picture, width_max)?;
            Ok(Thumbnail { width: small.width(), height: small.height(), png: small.to_png()? })
        };
        all = pictures.iter().map(thumbnail).collect::<Result<Vec<_>>>()?;
        if all.iter().map(|thumbnail| thumbnail.png.len()).sum::<usize>() <= bytes_max {
            break;
        }
    }
    Ok(all)
}

/// The picture itself if it is narrow enough; otherwise each pixel is the mean of the area that it covers.
pub(super) fn shrunk(picture: &Picture, width_max: u32) -> Result<Picture> {
    if picture.width() <= width_max {
        return Ok(picture.clone());
    }
    let area = u64::from(picture.width()) * u64::from(picture.height());
    let height = u64::from(picture.height()) * u64::from(width_max) / u64::from(picture.width());
    let height = height.max(1) as u32; // less than that of the picture
    let (columns, rows) = (shares(picture.width(), width_max), shares(picture.height(), height));
    let mut pixels = Vec::new();
    for row in &rows {
        for column in &columns {
            let along =
                |line: &[u8]| -> u64 { column.iter().map(|&(x, share)| u64::from(line[x]) * share).sum() };
            let line = |y: usize| &picture.pixels()[y * picture.width() as usize..];
            let sum: u64 = row.iter().map(|&(y, share)| along(line(y)) * share).sum();
            pixels.push(((sum + area / 2) / area) as u8);
        }
    }
    Ok(Picture::new(width_max, height, pixels)?)
}

/// For each of `parts` equal parts of a line of `whole` pixels: which pixels it covers, and how much of each. All is
/// counted in units of 1/`parts` of a pixel, so that integers are exact and every part is worth `whole`.
fn shares(whole: u32, parts: u32) -> Vec<Vec<(usize, u64)>> {
    let (whole, parts) = (u64::from(whole), u64::from(parts));
    let part = |at: u64| {
        let (start, end) = (at * whole, (at + 1) * whole);
        let covered = |pixel: u64| ((pixel + 1) * parts).min(end) - (pixel * parts).max(start);
        (start / parts..end.div_ceil(parts)).map(|pixel| (pixel as usize, covered(pixel))).collect()
    };
    (0..parts).map(part).collect()
}

/// From what fills the column of a page to what can just be recognised.
const WIDTHS: [u32; 6] = [640, 512, 400, 320, 240, 160];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::report::sample::noise;

    #[test]
    fn a_pixel_is_the_mean_of_what_it_covers() {
        // Two of three pixels in each part: the middle one is shared.
        assert_eq!(shares(3, 2), [[(0, 2), (1, 1)], [(1, 1), (2, 2)]]);
        let picture = Picture::new(3, 3, vec![90, 0, 30, 0, 0, 0, 60, 0, 250]).unwrap();
        let small = shrunk(&picture, 2).unwrap();
        // (4 * 90) / 9, (4 * 30) / 9, (4 * 60) / 9, (4 * 250) / 9, to the nearest.
        assert_eq!(small.pixels(), [40, 13, 27, 111]);
        assert_eq!((small.width(), small.height()), (2, 2));
    }

    #[test]
    fn brightness_and_shape_are_kept() {
        let white = Picture::new(1000, 500, vec![255; 500_000]).unwrap();
        let small = shrunk(&white, 640).unwrap();
        assert_eq!((small.width(), small.height()), (640, 320));
        assert!(small.pixels().iter().all(|&pixel| pixel == 255));
        let line = Picture::new(5000, 1, vec![7; 5000]).unwrap();
        assert_eq!(shrunk(&line, 640).unwrap().pixels(), [7; 640]);
    }

    #[test]
    fn small_pictures_stay_as_they_are() {
        let picture = Picture::new(16, 16, (0..=255).collect()).unwrap();
        let png = &thumbnails(&[&picture], usize::MAX).unwrap()[0].png;
        assert_eq!(Picture::from_png(png).unwrap(), picture);
    }

    #[test]
    fn many_noisy_pictures_are_made_narrower_until_they_fit() {
        let picture = noise(800, 100);
        let width = |bytes_max| thumbnails(&[&picture; 3], bytes_max).unwrap()[2].width;
        assert_eq!(width(usize::MAX), 640);
        let bytes = 3 * shrunk(&picture, 400).unwrap().to_png().unwrap().len();
        assert_eq!((width(bytes), width(bytes - 1)), (400, 320));
        assert_eq!(width(0), 160);
    }
}
