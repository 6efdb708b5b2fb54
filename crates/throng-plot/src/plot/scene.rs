//! What a picture consists of, whichever format it is drawn in: strokes and texts, in units with y downwards.

use std::fmt;

use super::font;

/// Red, green, blue.
pub(super) type Color = [u8; 3];
/// Units to the right and down.
pub(super) type Point = (f32, f32);

/// A picture on white ground.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) width: f32,
    pub(super) height: f32,
    pub(super) strokes: Vec<Stroke>,
    pub(super) texts: Vec<Text>,
}

/// What one pen draws, with round ends: a line of a single point is a dot.
#[derive(Clone, Debug)]
pub(super) struct Stroke {
    pub(super) lines: Vec<Vec<Point>>,
    pub(super) width: f32,
    pub(super) color: Color,
    pub(super) dash: Option<[f32; 2]>,
    /// What it is, for formats that can tell.
    pub(super) name: Option<String>,
}

/// One line of text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) label: Label,
    /// On the baseline.
    pub(super) at: Point,
    pub(super) anchor: Anchor,
    pub(super) direction: Direction,
    pub(super) size: f32,
    pub(super) weight: Weight,
    pub(super) color: Color,
}

/// Characters, perhaps with an exponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) base: String,
    pub(super) exponent: String,
}

/// Which part of a text is where the text is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Which way a text runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Right,
    Up,
}

/// How heavy its letters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

impl Scene {
    pub(super) fn new(width: f32, height: f32) -> Self {
        Self { width, height, strokes: Vec::new(), texts: Vec::new() }
    }

    pub(super) fn add_stroke(&mut self, stroke: Stroke) {
        if !stroke.lines.is_empty() {
            self.strokes.push(stroke);
        }
    }

    pub(super) fn add_text(&mut self, text: Text) {
        if !text.label.base.is_empty() {
            self.texts.push(text);
        }
    }
}

impl Stroke {
    pub(super) fn named(self, name: &str) -> Self {
        Self { name: Some(printable(name)), ..self }
    }
}

impl Text {
    /// Black text that starts here and runs to the right.
    pub(super) fn new(label: Label, at: Point, size: f32) -> Self {
        let (anchor, direction, weight) = (Anchor::Start, Direction::Right, Weight::Regular);
        Self { label, at, anchor, direction, size, weight, color: [0x1a; 3] }
    }

    pub(super) fn width(&self) -> f32 {
        self.label.width(self.size, self.weight)
    }

    /// The same text, in smaller letters if it would be wider than this.
    pub(super) fn fit(self, width: f32) -> Self {
        Self { size: self.size * (width / self.width()).min(1.0), ..self }
    }

    /// How far the middle of its digits is above the baseline.
    pub(super) fn middle(&self) -> f32 {
        0.357 * self.size
    }
}

impl Label {
    pub(super) fn plain(text: &str) -> Self {
        Self { base: printable(text), exponent: String::new() }
    }

    pub(super) fn raised(base: &str, exponent: &str) -> Self {
        Self { base: base.to_owned(), exponent: exponent.to_owned() }
    }

    pub(super) fn width(&self, size: f32, weight: Weight) -> f32 {
        font::width(&self.base, size, weight) + font::width(&self.exponent, EXPONENT_SIZE * size, weight)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        if self.exponent.is_empty() { Ok(()) } else { write!(f, "^{}", self.exponent) }
    }
}

/// The same text on one line and without what XML cannot carry.
fn printable(text: &str) -> String {
    let blank = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if blank(c) { ' ' } else { c }).collect()
}

/// How large the digits of an exponent are, for text of size one.
pub(super) const EXPONENT_SIZE: f32 = 0.72;
/// How high they are.
pub(super) const EXPONENT_RISE: f32 = 0.4;
