//! The demo's picture: each of its respondents holds one of the pixels.

use anyhow::{Result, ensure};

use throng_analyze::Picture;

/// The built-in drawing.
pub fn cat() -> Result<Picture> {
    let pixels: Vec<u8> = CAT.bytes().filter(|byte| b".#".contains(byte)).map(light).collect();
    ensure!(pixels.len() == SIDE * SIDE, "the drawing has another size");
    Ok(Picture::new(SIDE as u32, SIDE as u32, pixels)?)
}

/// A picture in at most as many pixels as the built-in one has on a side: more of them would need more respondents.
pub fn fitted(picture: &Picture) -> Result<Picture> {
    let longer = picture.width().max(picture.height());
    if longer <= SIDE as u32 {
        return Ok(picture.clone());
    }
    let scaled = |side: u32| (u64::from(side) * SIDE as u64 / u64::from(longer)).max(1) as usize;
    let (width, height) = (scaled(picture.width()), scaled(picture.height()));
    let rows = throng_plot::terminal::shrunk(picture, width, height);
    Ok(Picture::new(width as u32, height as u32, rows.concat())?)
}

/// The pixel of each of `respondents` respondents: every pixel gets a share that is its part of all light, as evenly as whole
/// respondents allow.
pub fn values(picture: &Picture, respondents: u64) -> Result<Vec<u64>> {
    let shares = shares(picture, respondents)?;
    Ok((0..).zip(shares).flat_map(|(pixel, held)| (0..held).map(move |_| pixel)).collect())
}

/// How many of `respondents` respondents hold each pixel.
pub fn shares(picture: &Picture, respondents: u64) -> Result<Vec<u64>> {
    let light = picture.luminosity();
    ensure!(light > 0, "the picture is black: nobody would hold any of its pixels");
    let mut seen = 0_u128;
    let share = |light_so_far: u128| light_so_far * u128::from(respondents) / u128::from(light);
    let held = |&gray: &u8| {
        let before = share(seen);
        seen += u128::from(gray);
        (share(seen) - before) as u64
    };
    Ok(picture.pixels().iter().map(held).collect())
}

fn light(byte: u8) -> u8 {
    if byte == b'#' { 255 } else { 0 }
}

const SIDE: usize = 28;

const CAT: &str = "
............................
............................
............................
............................
............................
............................
......#..............#......
......##............##......
......#.#..........#.#......
......#..##########..#......
.....#................#.....
.....#....#......#....#.....
.....#....#......#....#.....
.....#................#.....
...###.......##.......###...
.....#................#.....
...###....#..##..#....###...
.....#.....##..##.....#.....
......#..............#......
.......##..........##.......
.........##########.........
............................
............................
............................
............................
............................
............................
............................
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cat_is_a_line_drawing() {
        let cat = cat().unwrap();
        let lit = cat.pixels().iter().filter(|&&pixel| pixel > 0).count();
        assert!((60..=100).contains(&lit), "{lit}");
        assert_eq!(cat.domain(), 784);
    }

    #[test]
    fn everyone_holds_a_pixel_and_light_is_shared_evenly() {
        let picture = Picture::new(2, 2, vec![200, 0, 100, 100]).unwrap();
        assert_eq!(values(&picture, 8).unwrap(), [0, 0, 0, 0, 2, 2, 3, 3]);
        assert_eq!(values(&picture, 1001).unwrap().len(), 1001);
        let cat = cat().unwrap();
        let values = values(&cat, 3000).unwrap();
        assert!(values.len() == 3000 && values.iter().all(|&pixel| cat.pixels()[pixel as usize] > 0));
        assert!(super::values(&Picture::new(1, 1, vec![0]).unwrap(), 5).is_err());
    }

    #[test]
    fn large_pictures_are_shrunk_and_small_ones_are_not() {
        let large = Picture::new(100, 50, vec![90; 5000]).unwrap();
        let fitted_large = fitted(&large).unwrap();
        assert_eq!((fitted_large.width(), fitted_large.height()), (28, 14));
        assert!(fitted_large.pixels().iter().all(|&pixel| pixel == 90));
        let small = Picture::new(3, 1, vec![1, 2, 3]).unwrap();
        assert_eq!(fitted(&small).unwrap(), small);
    }
}
