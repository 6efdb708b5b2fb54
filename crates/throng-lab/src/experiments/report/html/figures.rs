//! What there is to look at in the page: pictures side by side, plots one below another.

use std::collections::HashMap;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::escaped;
use crate::experiments::report::number::count;
use crate::experiments::report::thumbnail::{Thumbnail, thumbnails};
use crate::experiments::{Figure, Image};
use throng_analyze::Picture;
use throng_plot::plot::Plot;

/// The pictures of all sections as they stand in the page, by the names of their figures.
pub(super) struct Thumbnails<'a>(HashMap<&'a str, Thumbnail>);

impl<'a> Thumbnails<'a> {
    /// All of them at once, because they share the bytes that a page may have.
    pub(super) fn of(pictures: impl Iterator<Item = (&'a str, &'a Picture)>) -> Result<Self> {
        let (names, pictures): (Vec<&str>, Vec<&Picture>) = pictures.unzip();
        Ok(Self(names.into_iter().zip(thumbnails(&pictures, BYTES_MAX)?).collect()))
    }
}

/// The figures of a section.
pub(super) fn draw(figures: &[Figure], thumbnails: &Thumbnails) -> Result<String> {
    let is_picture = |figure: &Figure| matches!(figure.image, Image::Picture(_));
    let mut text = String::new();
    for group in figures.chunk_by(|a, b| is_picture(a) == is_picture(b)) {
        let drawn: Vec<String> = group.iter().map(|figure| one(figure, thumbnails)).collect::<Result<_>>()?;
        let class = match group {
            [first, ..] if !is_picture(first) => "plots",
            [_] => "pictures one",
            [_, _] => "pictures two",
            _ => "pictures",
        };
        text += &format!("<div class=\"{class}\">\n{}</div>\n", drawn.concat());
    }
    Ok(text)
}

fn one(figure: &Figure, thumbnails: &Thumbnails) -> Result<String> {
    let Figure { name, caption, image } = figure;
    match image {
        Image::Picture(picture) => Ok(picture_figure(name, caption, picture, &thumbnails.0[name.as_str()])),
        Image::Plot(plot) => {
            plot_figure(caption, plot).with_context(|| format!("the figure {name} cannot be drawn"))
        }
    }
}

fn picture_figure(name: &str, caption: &str, picture: &Picture, thumbnail: &Thumbnail) -> String {
    let caption = escaped(caption);
    let class = if picture.width() < SMALL { " class=\"small\"" } else { "" };
    // The link serves those who have the file beside the page; the page does without.
    let size = if thumbnail.width < picture.width() {
        let (width, height) = (count(picture.width()), count(picture.height()));
        format!(" <a class=\"full\" href=\"{name}.png\">{width} × {height}</a>")
    } else {
        String::new()
    };
    format!(
        "<figure><img{class} src=\"data:image/png;base64,{}\" width=\"{}\" height=\"{}\" alt=\"{caption}\"><figcaption>{caption}{size}</figcaption></figure>\n",
        STANDARD.encode(&thumbnail.png),
        thumbnail.width,
        thumbnail.height
    )
}

fn plot_figure(caption: &str, plot: &Plot) -> Result<String> {
    let caption = escaped(caption);
    let svg = plot.to_svg()?.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{caption}\" "), 1);
    // On a narrow screen a plot stays wide enough for its letters to be read, and is moved sideways with a finger or,
    // since it can have the focus, with the arrow keys.
    Ok(format!(
        "<figure><div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"Plot\">{svg}</div><figcaption>{caption}</figcaption></figure>\n"
    ))
}

/// PNGs of all pictures together; a third more as base64, which leaves room for plots below 10 MB.
const BYTES_MAX: usize = 6_500_000;
/// Pictures narrower than this are enlarged wherever they stand, and shown pixel by pixel.
const SMALL: u32 = 160;

#[cfg(test)]
mod tests {
    use super::*;
    use throng_plot::Png;
    use crate::experiments::report::{html, sample};

    /// The pictures of a page, decoded.
    fn pictures(page: &str) -> Vec<Picture> {
        let data = page.split("data:image/png;base64,").skip(1).map(|rest| rest.split('"').next().unwrap());
        data.map(|data| Picture::from_png(&STANDARD.decode(data).unwrap()).unwrap()).collect()
    }

    #[test]
    fn pictures_are_in_the_page_and_large_ones_are_shrunk() {
        let report = sample::report();
        let page = html::page(&report).unwrap();
        let [truth, _, large] = &pictures(&page)[..] else { panic!("three pictures") };
        let Image::Picture(original) = &report.sections[0].figures[0].image else { panic!("a picture") };
        assert_eq!(truth, original);
        assert_eq!((large.width(), large.height()), (640, 320));
        assert!(page.contains(
            "As large as the paper&#39;s <a class=\"full\" href=\"horse-large.png\">1,000 × 500</a>"
        ));
        assert_eq!(page.matches("class=\"full\"").count(), 1);
        assert_eq!(page.matches("<img class=\"small\"").count(), 2);
    }

    #[test]
    fn captions_are_below_and_are_read_aloud() {
        let page = html::page(&sample::report()).unwrap();
        let caption = "The truth: 25 x 20 pixels &amp; no noise";
        assert!(page.contains(&format!("alt=\"{caption}\"><figcaption>{caption}</figcaption>")));
        let caption = "Lower is better; &lt;both&gt; axes are logarithmic";
        assert!(page.contains(&format!("<svg role=\"img\" aria-label=\"{caption}\" xmlns=")));
        assert!(page.contains(&format!("<figcaption>{caption}</figcaption>")));
    }

    #[test]
    fn pictures_stand_side_by_side_and_plots_alone() {
        let report = sample::report();
        let (pictures, plots) = (&report.sections[0].figures, &report.sections[1].figures);
        let thumbnails = Thumbnails::of(pictures.iter().map(|figure| match &figure.image {
            Image::Picture(picture) => (figure.name.as_str(), picture),
            Image::Plot(_) => panic!("a picture"),
        }))
        .unwrap();
        let classes = |figures: &[Figure]| -> Vec<String> {
            let text = draw(figures, &thumbnails).unwrap();
            let groups =
                text.lines().filter_map(|line| line.strip_prefix("<div class=\"")?.strip_suffix("\">"));
            groups.map(str::to_owned).collect()
        };
        assert_eq!(classes(pictures), ["pictures"]);
        assert_eq!(
            classes(&[&pictures[..2], plots, plots, &pictures[2..]].concat()),
            ["pictures two", "plots", "pictures one"]
        );
    }

    #[test]
    fn sixty_noisy_pictures_fit() {
        // As wide as a page shows them, and nothing that a mean would smooth.
        let picture = sample::noise(640, 427);
        let mut report = sample::report();
        report.sections[0].figures = (0..60)
            .map(|at| Figure {
                name: format!("noise-{at}"),
                caption: "Noise".into(),
                image: Image::Picture(picture.clone()),
            })
            .collect();
        let page = html::page(&report).unwrap();
        assert!(page.len() < 10_000_000, "{} bytes", page.len());
        let all = pictures(&page);
        assert!(all.len() == 60 && all[0].width() >= 320, "{} wide", all[0].width());
    }
}
