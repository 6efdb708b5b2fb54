//! Line plots: one description, drawn as SVG or as PNG.
//!
//! The letters of a PNG come from a font inside the program, so that the same description gives the same bytes
//! on every machine.
//!
//! ```
//! use throng_plot::plot::{Axis, Plot, Series, Style};
//!
//! let plot = Plot {
//!     title: "What shuffling is worth".into(),
//!     x: Axis::log("epsilon_local"),
//!     y: Axis::log("epsilon_central"),
//!     series: vec![Series {
//!         name: "no shuffler".into(),
//!         points: vec![(0.1, 0.1), (10.0, 10.0)],
//!         style: Style::Line,
//!     }],
//! };
//! assert!(plot.to_svg()?.contains("no shuffler"));
//! # Ok::<(), anyhow::Error>(())
//! ```

use std::collections::HashSet;
use std::f32::consts::FRAC_PI_4;
use std::iter;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use axis::{Range, Tick};
use scene::{Anchor, Color, Direction, Label, Point, Scene, Stroke, Text, Weight};
use throng_host::out_dir::OutDir;

pub use axis::{Axis, Scale};

mod axis;
mod font;
mod png;
mod scene;
mod svg;

/// What to draw: curves over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Stands above everything; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Drawn in this order, later ones on top. At most eight may have a colour of their own.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Stands in the legend.
    pub name: String,
    /// Joined in this order. A point with no place on the axes is left out, and a line has a gap there.
    pub points: Vec<(f64, f64)>,
    /// How the points are shown.
    pub style: Style,
}

/// How the points of a series are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Joined by a line.
    Line,
    /// Joined by a dashed line.
    Dashed,
    /// As dots.
    Points,
    /// Joined by a dashed line in the colour of the series before, to which it belongs; the legend does not name it.
    Beside,
}

/// The bytes of a PNG file with several plots, one above the other.
pub fn stacked_png(plots: &[Plot]) -> Result<Vec<u8>> {
    let mut all = Scene::new(WIDTH as f32, 0.0);
    for plot in plots {
        let scene = plot.scene()?;
        let down = all.height;
        for mut stroke in scene.strokes {
            stroke.lines.iter_mut().flatten().for_each(|at| at.1 += down);
            all.strokes.push(stroke);
        }
        all.texts
            .extend(scene.texts.into_iter().map(|text| Text { at: (text.at.0, text.at.1 + down), ..text }));
        all.height += scene.height;
    }
    png::draw(&all)
}

impl Plot {
    /// The text of an SVG file.
    pub fn to_svg(&self) -> Result<String> {
        Ok(svg::draw(&self.scene()?))
    }

    /// The bytes of a PNG file of `WIDTH * PNG_SCALE` by `HEIGHT * PNG_SCALE` pixels.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        png::draw(&self.scene()?)
    }

    /// Writes a file that is SVG or PNG as its name says, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let bytes = match extension.to_str() {
            Some("svg") => self.to_svg()?.into_bytes(),
            Some("png") => self.to_png()?,
            _ => bail!("a plot is SVG or PNG; let the name {} end in .svg or .png", path.display()),
        };
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| format!("choose a name in UTF-8 instead of {}", path.display()))?;
        let parent = path.parent().filter(|parent| *parent != "").unwrap_or(Path::new("."));
        Ok(OutDir::open(parent)?.write(&[(name, bytes)])?)
    }

    /// The plot as strokes and texts, from top to bottom: title, legend, curves over their grid, axis labels.
    fn scene(&self) -> Result<Scene> {
        let places: Vec<Vec<Option<Place>>> =
            self.series.iter().map(|series| self.places(&series.points)).collect();
        let kept = || places.iter().flatten().flatten();
        let (Some(x), Some(y)) = (Range::around(kept().map(|at| at.x)), Range::around(kept().map(|at| at.y)))
        else {
            bail!(
                "the plot \"{}\" is empty: give it points with finite coordinates, positive ones on log axes",
                self.title
            );
        };
        ensure!(x.is_finite() && y.is_finite(), "the points of \"{}\" are too far apart to draw", self.title);
        let named = self.series.iter().filter(|series| series.style != Style::Beside).count();
        ensure!(
            named <= PALETTE.len(),
            "{named} series in \"{}\" cannot be told apart; draw at most {} in one plot",
            self.title,
            PALETTE.len()
        );

        let mut scene = Scene::new(WIDTH as f32, HEIGHT as f32);
        let (x_ticks, y_ticks) = (x.ticks(self.x.scale), y.ticks(self.y.scale));
        let title_end = self.add_title(&mut scene);
        let area = Area {
            top: self.add_legend(&mut scene, &places, title_end) + GAP,
            bottom: scene.height - MARGIN - 2.0 * LABEL_SIZE - 2.0 * GAP,
            left: MARGIN
                + LABEL_SIZE
                + 2.0 * GAP
                + widest(y_ticks.iter().filter_map(|tick| tick.label.as_ref())),
            right: scene.width - 2.0 * MARGIN,
            x,
            y,
        };
        area.add_axes(&mut scene, &x_ticks, &y_ticks);
        self.add_axis_labels(&mut scene, &area);
        for ((series, places), color) in self.series.iter().zip(&places).zip(self.colors()) {
            scene
                .add_stroke(series.style.stroke(area.lines(places, series.style), color).named(&series.name));
        }
        Ok(scene)
    }

    /// The colour of each series.
    fn colors(&self) -> impl Iterator<Item = Color> {
        let mut named = 0usize;
        self.series.iter().map(move |series| {
            named += usize::from(series.style != Style::Beside);
            PALETTE[named.saturating_sub(1)]
        })
    }

    /// Where points are along the axes; none for a point that cannot be drawn.
    fn places(&self, points: &[(f64, f64)]) -> Vec<Option<Place>> {
        let place = |&(x, y): &_| Some(Place { x: self.x.scale.place(x)?, y: self.y.scale.place(y)? });
        points.iter().map(place).collect()
    }

    /// Draws the title, and says where it ends.
    fn add_title(&self, scene: &mut Scene) -> f32 {
        if self.title.is_empty() {
            return MARGIN;
        }
        let title = Text::new(Label::plain(&self.title), (MARGIN, MARGIN + TITLE_SIZE), TITLE_SIZE);
        scene.add_text(Text { weight: Weight::Bold, ..title }.fit(scene.width - 2.0 * MARGIN));
        MARGIN + TITLE_SIZE + GAP
    }

    /// Draws the names of all series in as few rows as they fit into, and says where the last row ends.
    fn add_legend(&self, scene: &mut Scene, places: &[Vec<Option<Place>>], top: f32) -> f32 {
        let width = scene.width - 2.0 * MARGIN;
        let named = |(series, _): &(&Series, _)| series.style != Style::Beside;
        let names = iter::zip(&self.series, places).filter(named).map(|(series, places)| {
            let nothing = if places.iter().all(Option::is_none) { " (no points)" } else { "" };
            let text = Text::new(Label::plain(&format!("{}{nothing}", series.name)), (0.0, 0.0), LABEL_SIZE);
            text.fit(width - SAMPLE_WIDTH - GAP)
        });
        let names: Vec<Text> = names.collect();
        let count = names.len();
        // The fewest rows into which they fit, filled evenly: six names make 3 + 3, not 5 + 1.
        let (columns, widths) = (1..=count)
            .map(|rows| count.div_ceil(rows))
            .map(|columns| (columns, column_widths(&names, columns)))
            .find(|(columns, widths)| *columns == 1 || widths.iter().sum::<f32>() <= width + COLUMN_GAP)
            .expect("one column serves any names, and a plot without series was refused");

        let series = self.series.iter().filter(|series| series.style != Style::Beside);
        for (index, ((name, series), color)) in names.into_iter().zip(series).zip(PALETTE).enumerate() {
            let left = MARGIN + widths[..index % columns].iter().sum::<f32>();
            let baseline = top + GAP + LABEL_SIZE + (index / columns) as f32 * ROW_HEIGHT;
            let middle = baseline - name.middle();
            let sample = match series.style {
                Style::Points => vec![(left + SAMPLE_WIDTH / 2.0, middle)],
                Style::Line | Style::Dashed | Style::Beside => {
                    vec![(left, middle), (left + SAMPLE_WIDTH, middle)]
                }
            };
            scene.add_stroke(series.style.stroke(vec![sample], color));
            scene.add_text(Text { at: (left + SAMPLE_WIDTH + GAP, baseline), ..name });
        }
        top + GAP + count.div_ceil(columns) as f32 * ROW_HEIGHT
    }

    fn add_axis_labels(&self, scene: &mut Scene, area: &Area) {
        let (middle, base) = ((area.left + area.right) / 2.0, scene.height - MARGIN);
        let x =
            Text::new(Label::plain(&self.x.label), (middle, base), LABEL_SIZE).fit(area.right - area.left);
        scene.add_text(Text { anchor: Anchor::Middle, ..x });

        let (middle, base) = ((area.top + area.bottom) / 2.0, MARGIN + LABEL_SIZE);
        let y =
            Text::new(Label::plain(&self.y.label), (base, middle), LABEL_SIZE).fit(area.bottom - area.top);
        scene.add_text(Text { anchor: Anchor::Middle, direction: Direction::Up, ..y });
    }
}

impl Style {
    fn stroke(self, lines: Vec<Vec<Point>>, color: Color) -> Stroke {
        let (width, dash) = match self {
            Self::Line => (LINE_WIDTH, None),
            Self::Dashed => (LINE_WIDTH, Some(DASH)),
            Self::Beside => (THIN_WIDTH, Some(DASH)),
            Self::Points => (DOT_WIDTH, None),
        };
        Stroke { lines, width, color, dash, name: None }
    }
}

/// A point in units that its axes are uniform in: its coordinates, or their logarithms.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
}

/// The part of the picture that the axes span.
struct Area {
    left: f32,
    right: f32,
    top: f32,
    bottom: f32,
    x: Range,
    y: Range,
}

impl Area {
    fn at_x(&self, place: f64) -> f32 {
        self.left + self.x.fraction(place) as f32 * (self.right - self.left)
    }

    fn at_y(&self, place: f64) -> f32 {
        self.bottom + self.y.fraction(place) as f32 * (self.top - self.bottom)
    }

    /// Where the pen moves: lines that end wherever a point is left out, or each point alone. A million ranks share
    /// a thousand columns, so what would be drawn in the same place is drawn once.
    fn lines(&self, places: &[Option<Place>], style: Style) -> Vec<Vec<Point>> {
        let at = |place: &Option<Place>| place.map(|at| (self.at_x(at.x), self.at_y(at.y)));
        let points: Vec<Option<Point>> = places.iter().map(at).collect();
        match style {
            Style::Points => {
                let mut seen = HashSet::new();
                let mut dots: Vec<Point> = points.into_iter().flatten().collect();
                dots.retain(|dot| seen.insert(cell(*dot, 0.5)));
                dots.into_iter().map(|dot| vec![dot]).collect()
            }
            Style::Line | Style::Dashed | Style::Beside => points
                .split(Option::is_none)
                .filter(|line| !line.is_empty())
                .map(|line| {
                    let mut line: Vec<Point> = line.iter().flatten().copied().collect();
                    line.dedup_by_key(|point| cell(*point, 0.05));
                    if let [lone] = line[..] { ring(lone) } else { line }
                })
                .collect(),
        }
    }

    /// Draws a grid through the labelled ticks, the axes, and ticks with labels outside of them.
    fn add_axes(&self, scene: &mut Scene, x_ticks: &[Tick], y_ticks: &[Tick]) {
        let (left, right, top, bottom) =
            (crisp(self.left), crisp(self.right), crisp(self.top), crisp(self.bottom));
        let (mut grid, mut marks) = (Vec::new(), Vec::new());
        for tick in x_ticks {
            let at = crisp(self.at_x(tick.place));
            marks.push(vec![(at, bottom), (at, bottom + tick.length())]);
            if let Some(label) = &tick.label {
                grid.push(vec![(at, top), (at, bottom)]);
                let text = Text::new(label.clone(), (at, bottom + GAP + LABEL_SIZE), TICK_LABEL_SIZE);
                scene.add_text(Text { anchor: Anchor::Middle, color: GRAY, ..text });
            }
        }
        for tick in y_ticks {
            let at = crisp(self.at_y(tick.place));
            marks.push(vec![(left - tick.length(), at), (left, at)]);
            if let Some(label) = &tick.label {
                grid.push(vec![(left, at), (right, at)]);
                let text = Text::new(label.clone(), (left - GAP, at), TICK_LABEL_SIZE);
                let at = (left - GAP, at + text.middle());
                scene.add_text(Text { at, anchor: Anchor::End, color: GRAY, ..text });
            }
        }
        marks.push(vec![(left, top), (left, bottom), (right, bottom)]);
        scene.add_stroke(Stroke { lines: grid, width: 1.0, color: PALE, dash: None, name: None });
        scene.add_stroke(Stroke { lines: marks, width: 1.0, color: GRAY, dash: None, name: None });
    }
}

impl Tick {
    fn length(&self) -> f32 {
        if self.label.is_some() { 5.0 } else { 3.0 }
    }
}

/// How wide each column of a legend is with the gap after it, when names fill row after row.
fn column_widths(names: &[Text], columns: usize) -> Vec<f32> {
    let widest =
        |column: &_| names.iter().skip(*column).step_by(columns).map(Text::width).fold(0.0, f32::max);
    (0..columns).map(|column| SAMPLE_WIDTH + GAP + widest(&column) + COLUMN_GAP).collect()
}

fn widest<'a>(labels: impl Iterator<Item = &'a Label>) -> f32 {
    labels.map(|label| label.width(TICK_LABEL_SIZE, Weight::Regular)).fold(0.0, f32::max)
}

/// The middle of a pixel, where a thin line is sharp.
fn crisp(at: f32) -> f32 {
    at.floor() + 0.5
}

/// Which cell of a grid of this width a point is in.
fn cell((x, y): Point, width: f32) -> (i32, i32) {
    ((x / width).round() as i32, (y / width).round() as i32)
}

/// A circle so small that a pen makes it a dot, which is easier to see than where the pen only touches; it is no
/// longer than a dash with its round ends.
fn ring((x, y): Point) -> Vec<Point> {
    let turn = |eighths: u8| f32::from(eighths) * FRAC_PI_4;
    (0..=8).map(turn).map(|turn| (x + turn.cos(), y + turn.sin())).collect()
}

/// The width of a plot in SVG units.
pub const WIDTH: u32 = 960;
/// The height of a plot in SVG units.
pub const HEIGHT: u32 = 600;
/// Pixels of a PNG per SVG unit: two, so that it is sharp on today's screens and in print.
pub const PNG_SCALE: u32 = 2;

/// The colours of Okabe and Ito (<https://jfly.uni-koeln.de/color/>), which readers with any kind of colour
/// vision tell apart, in an order that keeps neighbours apart; gray for their yellow, which is faint on white.
const PALETTE: [Color; 8] = [
    [0x00, 0x72, 0xb2], // blue
    [0xd5, 0x5e, 0x00], // vermilion
    [0x00, 0x9e, 0x73], // bluish green
    [0xe6, 0x9f, 0x00], // orange
    [0xcc, 0x79, 0xa7], // reddish purple
    [0x56, 0xb4, 0xe9], // sky blue
    [0x00, 0x00, 0x00], // black
    [0x8c, 0x8c, 0x8c], // gray
];
const GRAY: Color = [0x55, 0x55, 0x55];
const PALE: Color = [0xe4, 0xe4, 0xe4];

const MARGIN: f32 = 20.0;
const GAP: f32 = 9.0;
const TITLE_SIZE: f32 = 20.0;
const LABEL_SIZE: f32 = 15.0;
const TICK_LABEL_SIZE: f32 = 13.0;
const ROW_HEIGHT: f32 = 23.0;
const SAMPLE_WIDTH: f32 = 28.0;
const COLUMN_GAP: f32 = 30.0;
const LINE_WIDTH: f32 = 2.2;
const THIN_WIDTH: f32 = 1.2;
const DOT_WIDTH: f32 = 5.0;
/// Round ends make a dash longer and a gap shorter by the width of the line.
const DASH: [f32; 2] = [6.0, 6.0];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use super::*;

    fn series(name: &str, points: &[(f64, f64)], style: Style) -> Series {
        Series { name: name.into(), points: points.into(), style }
    }

    fn plot(series: Vec<Series>) -> Plot {
        let (x, y) = (Axis::log("epsilon_local"), Axis::log("epsilon_central"));
        Plot { title: "Trade-off at n < 10 & δ = 1e-8".into(), x, y, series }
    }

    fn three() -> Plot {
        plot(vec![
            series("no shuffler", &[(0.1, 0.1), (1.0, 1.0), (10.0, 10.0)], Style::Dashed),
            series("clones", &[(0.1, 0.001), (1.0, 0.02), (10.0, 5.0)], Style::Line),
            series("measured", &[(0.5, 0.01), (2.0, 0.04)], Style::Points),
        ])
    }

    /// The path data of each series, in order.
    fn paths(plot: &Plot) -> Vec<String> {
        let svg = plot.to_svg().unwrap();
        let named = svg.lines().filter(|line| line.starts_with("<path") && line.contains("<title>"));
        named.map(|line| line.split('"').nth(1).unwrap().to_owned()).collect()
    }

    fn pixels(plot: &Plot) -> Vec<u8> {
        let mut reader = ::png::Decoder::new(Cursor::new(plot.to_png().unwrap())).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height), (PNG_SCALE * WIDTH, PNG_SCALE * HEIGHT));
        assert_eq!(frame.color_type, ::png::ColorType::Rgb);
        pixels
    }

    fn refusal(result: Result<impl Sized>) -> String {
        format!("{:#}", result.err().unwrap())
    }

    #[test]
    fn an_svg_says_what_it_shows() {
        let svg = three().to_svg().unwrap();
        for text in [
            "Trade-off at n &lt; 10 &amp; δ = 1e-8",
            "epsilon_local",
            "epsilon_central",
            "no shuffler",
            "clones",
        ] {
            assert!(svg.contains(&format!(">{text}</text>")), "{text}");
        }
        let paths = paths(&three());
        assert_eq!(paths.len(), 3);
        assert_eq!(paths[1].matches('M').count(), 1);
        assert_eq!(paths[2].matches("h0").count(), 2);
        assert_eq!(svg.matches("stroke-dasharray").count(), 2); // in the legend and over the axes
        assert!(svg.ends_with("</svg>\n"));
    }

    #[test]
    fn a_png_shows_every_series_in_its_color() {
        let pixels = pixels(&three());
        for color in &PALETTE[..3] {
            let count = pixels.as_chunks().0.iter().filter(|pixel| *pixel == color).count();
            assert!(count > 100, "{count} pixels of {color:?}");
        }
        let white = pixels.iter().filter(|&&sample| sample == 255).count();
        assert!(white > pixels.len() * 9 / 10);
    }

    #[test]
    fn a_series_beside_another_has_its_color_and_no_name_in_the_legend() {
        let spread = |name: &str| series(name, &[(1.0, 2.0), (3.0, 4.0)], Style::Beside);
        let mut with = three();
        with.series.insert(1, spread("one deviation"));
        with.series.push(spread("another"));
        let svg = with.to_svg().unwrap();
        assert!(!svg.contains(">one deviation</text>"));
        let color = |name: &str| {
            let line = svg.lines().find(|line| line.contains(&format!("<title>{name}</title>"))).unwrap();
            line.split("stroke=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        assert_eq!(color("one deviation"), color("no shuffler"));
        assert_eq!(color("another"), color("measured"));
        assert_ne!(color("clones"), color("no shuffler"));
    }

    #[test]
    fn the_same_plot_gives_the_same_bytes() {
        assert_eq!(three().to_svg().unwrap(), three().to_svg().unwrap());
        assert_eq!(three().to_png().unwrap(), three().to_png().unwrap());
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let good = [(1.0, 1.0), (2.0, 3.0), (4.0, 4.0)];
        let bad = [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)];
        let both = [&bad[..], &good[..], &bad[..]].concat();
        for style in [Style::Line, Style::Dashed, Style::Points] {
            let of = |points| plot(vec![series("one", points, style)]).to_svg().unwrap();
            assert_eq!(of(&both), of(&good));
        }
        // Zero and less have a place on a linear axis.
        let linear = Plot { x: Axis::linear("x"), ..plot(vec![series("one", &bad[..2], Style::Points)]) };
        assert_eq!(paths(&linear)[0].matches('M').count(), 2);
    }

    #[test]
    fn a_line_has_a_gap_where_a_point_is_left_out() {
        let points = [(1.0, 1.0), (2.0, 2.0), (3.0, -1.0), (4.0, 4.0), (5.0, 5.0)];
        let plot = plot(vec![series("one", &points, Style::Line)]);
        assert_eq!(paths(&plot)[0].matches('M').count(), 2);
    }

    #[test]
    fn lone_points_of_lines_are_seen() {
        for style in [Style::Line, Style::Dashed, Style::Points] {
            let lone = plot(vec![series("one", &[(1.0, 1.0)], style), series("none", &[(0.0, 1.0)], style)]);
            assert_eq!(paths(&lone).len(), 1);
            assert!(lone.to_svg().unwrap().contains(">none (no points)</text>"));
            // The legend is in the upper fifth.
            let pixels = pixels(&lone);
            let lower = pixels[pixels.len() / 5..].as_chunks().0;
            assert!(lower.iter().filter(|pixel| **pixel == PALETTE[0]).count() > 20, "{style:?}");
        }
    }

    #[test]
    fn points_on_one_spot_are_drawn_once() {
        let points: Vec<(f64, f64)> =
            (1..200_000).map(|rank| (f64::from(rank), 1e5 / f64::from(rank))).collect();
        for style in [Style::Line, Style::Points] {
            let plot = plot(vec![series("ranks", &points, style)]);
            assert!(plot.to_svg().unwrap().len() < 300_000);
        }
    }

    #[test]
    fn names_of_any_length_stay_inside() {
        let long = "a name that is much longer than it should be ".repeat(5);
        let names = (0..8).map(|_| series(&long, &[(1.0, 1.0), (2.0, 2.0)], Style::Line)).collect();
        let scene = Plot { title: long.clone(), ..plot(names) }.scene().unwrap();
        for text in scene.texts.iter().filter(|text| text.anchor == Anchor::Start) {
            assert!(text.at.0 + text.width() < WIDTH as f32 - MARGIN + 0.1);
        }
    }

    #[test]
    fn plots_with_nothing_or_too_much_to_see_are_refused() {
        for series in
            [vec![], vec![series("one", &[], Style::Line), series("two", &[(0.0, 1.0)], Style::Line)]]
        {
            assert!(refusal(plot(series.clone()).to_svg()).contains("is empty"));
            assert!(refusal(plot(series).to_png()).contains("is empty"));
        }
        let far = series("far", &[(f64::MIN, 1.0), (f64::MAX, 1.0)], Style::Line);
        let far = Plot { x: Axis::linear("x"), ..plot(vec![far]) };
        assert!(refusal(far.to_svg()).contains("too far apart"));
        let many = plot(vec![series("one", &[(1.0, 1.0)], Style::Line); 9]);
        assert!(refusal(many.to_svg()).contains("at most 8"));
    }

    #[test]
    fn the_name_of_a_file_says_its_format() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        three().write(&at("a.svg")).unwrap();
        three().write(&at("new/a.PNG")).unwrap();
        assert_eq!(fs::read_to_string(at("a.svg")).unwrap(), three().to_svg().unwrap());
        assert_eq!(fs::read(at("new/a.PNG")).unwrap(), three().to_png().unwrap());

        for name in ["a.pdf", "a", "png", ".svg"] {
            assert!(refusal(three().write(&at(name))).contains("end in .svg or .png"), "{name}");
        }
        assert!(plot(vec![]).write(&at("empty.svg")).is_err());
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 2);
    }
}
