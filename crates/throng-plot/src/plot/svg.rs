//! A scene as SVG. Texts stay texts, to be searched and read aloud, in whichever font the reader has.

use super::scene::{
    Anchor, Color, Direction, EXPONENT_RISE, EXPONENT_SIZE, Point, Scene, Stroke, Text, Weight,
};

/// The text of an SVG file.
pub(super) fn draw(scene: &Scene) -> String {
    let (width, height) = (number(scene.width), number(scene.height));
    let mut lines = vec![
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{FONTS}">"#
        ),
        r#"<rect width="100%" height="100%" fill="white"/>"#.to_owned(),
        r#"<g fill="none" stroke-linecap="round" stroke-linejoin="round">"#.to_owned(),
    ];
    lines.extend(scene.strokes.iter().map(path));
    lines.push("</g>".to_owned());
    lines.extend(scene.texts.iter().map(text));
    lines.push("</svg>\n".to_owned());
    lines.join("\n")
}

fn path(stroke: &Stroke) -> String {
    let dash = stroke.dash.map_or(String::new(), |[dash, gap]| {
        format!(r#" stroke-dasharray="{} {}""#, number(dash), number(gap))
    });
    let attributes = format!(
        r#"d="{}" stroke="{}" stroke-width="{}"{dash}"#,
        stroke.lines.iter().map(|line| moves(line)).collect::<String>(),
        hex(stroke.color),
        number(stroke.width)
    );
    // Browsers show the title of what the pointer is on.
    match &stroke.name {
        Some(name) => format!("<path {attributes}><title>{}</title></path>", escaped(name)),
        None => format!("<path {attributes}/>"),
    }
}

fn moves(line: &[Point]) -> String {
    let at = |&(x, y): &Point| format!("{},{}", number(x), number(y));
    match line {
        [] => String::new(),
        // A line of length zero, which round ends make visible.
        [dot] => format!("M{}h0", at(dot)),
        [start, rest @ ..] => format!("M{}L{}", at(start), rest.iter().map(at).collect::<Vec<_>>().join(" ")),
    }
}

fn text(text: &Text) -> String {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => r#" text-anchor="middle""#,
        Anchor::End => r#" text-anchor="end""#,
    };
    let weight = match text.weight {
        Weight::Regular => "",
        Weight::Bold => r#" font-weight="bold""#,
    };
    let turn = match text.direction {
        Direction::Right => String::new(),
        Direction::Up => format!(r#" transform="rotate(-90 {x} {y})""#),
    };
    // The layout counts on the widths of our font: another one is squeezed or stretched to them.
    let width = match text.label.exponent.as_str() {
        "" => format!(r#" textLength="{}" lengthAdjust="spacingAndGlyphs""#, number(text.width())),
        _ => String::new(),
    };
    let exponent = match text.label.exponent.as_str() {
        "" => String::new(),
        exponent => format!(
            r#"<tspan dy="-{}" font-size="{}">{}</tspan>"#,
            number(EXPONENT_RISE * text.size),
            number(EXPONENT_SIZE * text.size),
            escaped(exponent)
        ),
    };
    format!(
        r#"<text x="{x}" y="{y}" font-size="{}" fill="{}"{anchor}{weight}{turn}{width}>{}{exponent}</text>"#,
        number(text.size),
        hex(text.color),
        escaped(&text.label.base)
    )
}

fn hex([red, green, blue]: Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Hundredths are finer than any screen.
fn number(value: f32) -> String {
    let hundredths = format!("{value:.2}");
    hundredths.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const FONTS: &str = "Noto Sans, Open Sans, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 20.0, 0.5, 1.234, 100.999].map(number), ["0", "20", "0.5", "1.23", "101"]);
    }

    #[test]
    fn dots_have_no_length_and_text_is_escaped() {
        assert_eq!(moves(&[(1.0, 2.0)]), "M1,2h0");
        assert_eq!(moves(&[(1.0, 2.0), (3.0, 4.0), (5.0, 6.5)]), "M1,2L3,4 5,6.5");
        assert_eq!(escaped("a < b & c"), "a &lt; b &amp; c");
    }
}
