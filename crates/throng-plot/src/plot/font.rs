//! The letters: Noto Sans, which has Latin, Greek and Cyrillic ones. Characters that it lacks become boxes.

use ttf_parser::{Face, GlyphId};

use super::scene::Weight;

/// The font of this weight.
pub(super) fn face(weight: Weight) -> Face<'static> {
    let bytes = match weight {
        Weight::Regular => notosans::REGULAR_TTF,
        Weight::Bold => notosans::BOLD_TTF,
    };
    Face::parse(bytes, 0).expect("both fonts are part of the program, and a test parses them")
}

/// Each glyph of a text, and how far to the right of its start it stands, for letters of size one.
pub(super) fn glyphs(face: &Face<'_>, text: &str) -> Vec<(GlyphId, f32)> {
    let mut at = 0.0;
    let glyphs = text.chars().map(|c| {
        let glyph = face.glyph_index(c).unwrap_or_default();
        let start = at;
        at += advance(face, glyph);
        (glyph, start)
    });
    glyphs.collect()
}

/// How wide a text is.
pub(super) fn width(text: &str, size: f32, weight: Weight) -> f32 {
    let face = face(weight);
    size * glyphs(&face, text).last().map_or(0.0, |&(glyph, start)| start + advance(&face, glyph))
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> f32 {
    f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) / f32::from(face.units_per_em())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_weights_have_what_labels_need() {
        for weight in [Weight::Regular, Weight::Bold] {
            let face = face(weight);
            assert!("Az09_.,()εδ−×≤é".chars().all(|c| face.glyph_index(c).is_some()));
        }
    }

    #[test]
    fn widths_add_up() {
        let width = |text| width(text, 10.0, Weight::Regular);
        assert_eq!(width(""), 0.0);
        assert!((width("one two") - width("one") - width(" two")).abs() < 1e-4);
        assert!(width("iii") < width("mmm"));
    }
}
