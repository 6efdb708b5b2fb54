//! A scene as PNG.

use anyhow::{Context, Result};
use png::{BitDepth, ColorType, Encoder};
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, StrokeDash, Transform};
use ttf_parser::OutlineBuilder;

use super::PNG_SCALE;
use super::font;
use super::scene::{Anchor, Color, Direction, EXPONENT_RISE, EXPONENT_SIZE, Scene, Stroke, Text};

/// The bytes of a PNG file.
pub(super) fn draw(scene: &Scene) -> Result<Vec<u8>> {
    let (width, height) = (PNG_SCALE * scene.width as u32, PNG_SCALE * scene.height as u32);
    let mut pixels = Pixmap::new(width, height).context("no memory for a plot")?;
    pixels.fill(tiny_skia::Color::WHITE);
    scene.strokes.iter().for_each(|stroke| draw_stroke(&mut pixels, stroke));
    scene.texts.iter().for_each(|text| draw_text(&mut pixels, text));

    // White ground leaves nothing transparent.
    let data: Vec<u8> =
        pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, width, height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&data)?;
    writer.finish()?;
    Ok(bytes)
}

fn draw_stroke(pixels: &mut Pixmap, stroke: &Stroke) {
    let pen = tiny_skia::Stroke {
        width: stroke.width,
        line_cap: LineCap::Round,
        line_join: LineJoin::Round,
        dash: stroke.dash.and_then(|dash| StrokeDash::new(dash.to_vec(), 0.0)),
        ..tiny_skia::Stroke::default()
    };
    // One line at a time: a path of a hundred thousand dots would be filled as one shape, slowly.
    for line in &stroke.lines {
        let mut path = PathBuilder::new();
        for (index, &(x, y)) in line.iter().enumerate() {
            if index == 0 {
                path.move_to(x, y);
            }
            // A line of length zero is a dot.
            if index > 0 || line.len() == 1 {
                path.line_to(x, y);
            }
        }
        if let Some(path) = path.finish() {
            pixels.stroke_path(&path, &paint(stroke.color), &pen, scale(), None);
        }
    }
}

fn draw_text(pixels: &mut Pixmap, text: &Text) {
    let shift = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -text.width() / 2.0,
        Anchor::End => -text.width(),
    };
    let turn = match text.direction {
        Direction::Right => 0.0,
        Direction::Up => -90.0,
    };
    let transform = scale().pre_translate(text.at.0, text.at.1).pre_concat(Transform::from_rotate(turn));

    let face = font::face(text.weight);
    let (label, size) = (&text.label, text.size);
    let end = shift + font::width(&label.base, size, text.weight);
    let parts = [
        (&label.base, size, shift, 0.0),
        (&label.exponent, EXPONENT_SIZE * size, end, -EXPONENT_RISE * size),
    ];
    for (part, size, left, baseline) in parts {
        let mut outline = Outline { path: PathBuilder::new(), left, baseline, unit: 0.0 };
        outline.unit = size / f32::from(face.units_per_em());
        for (glyph, start) in font::glyphs(&face, part) {
            outline.left = left + size * start;
            // A space has no outline.
            let _ = face.outline_glyph(glyph, &mut outline);
        }
        if let Some(path) = outline.path.finish() {
            pixels.fill_path(&path, &paint(text.color), FillRule::Winding, transform, None);
        }
    }
}

fn paint([red, green, blue]: Color) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

fn scale() -> Transform {
    let scale = PNG_SCALE as f32;
    Transform::from_scale(scale, scale)
}

/// Takes the outlines of glyphs, in units of the font and with y upwards, to where the glyphs stand.
struct Outline {
    path: PathBuilder,
    left: f32,
    baseline: f32,
    unit: f32,
}

impl Outline {
    fn x(&self, x: f32) -> f32 {
        self.left + self.unit * x
    }

    fn y(&self, y: f32) -> f32 {
        self.baseline - self.unit * y
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x(x), self.y(y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x(x), self.y(y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x(x1), self.y(y1), self.x(x), self.y(y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x(x1), self.y(y1), self.x(x2), self.y(y2), self.x(x), self.y(y));
    }

    fn close(&mut self) {
        self.path.close();
    }
}
