//! Texts that people read, without spoofing: one line, which shows as it is written.

/// Whether a text is one line that shows what it says. What is not seen, and what changes how the rest is shown, is refused:
/// control characters and line separators, characters that turn the direction of text, and those without a width or a
/// shape (Unicode's `Default_Ignorable_Code_Point`). With them a question could read otherwise than it is, a
/// name look like another one, or a person's copy carry a mark.
pub fn shows_as_written(text: &str) -> bool {
    !text
        .chars()
        .any(|one| one.is_control() || HIDDEN.iter().any(|&(first, last)| (first..=last).contains(&one)))
}

/// Beside control characters (C0, delete and C1). Unicode 16.
const HIDDEN: [(char, char); 18] = [
    ('\u{ad}', '\u{ad}'),       // soft hyphen
    ('\u{34f}', '\u{34f}'),     // combining grapheme joiner
    ('\u{61c}', '\u{61c}'),     // Arabic letter mark
    ('\u{115f}', '\u{1160}'),   // Hangul fillers
    ('\u{17b4}', '\u{17b5}'),   // Khmer inherent vowels
    ('\u{180b}', '\u{180f}'),   // Mongolian selectors and vowel separator
    ('\u{200b}', '\u{200f}'),   // zero-width spaces and joiners, marks of direction
    ('\u{2028}', '\u{202e}'),   // line and paragraph separators, embeddings and overrides of direction
    ('\u{2060}', '\u{206f}'),   // word joiner, invisible operators, isolates of direction
    ('\u{3164}', '\u{3164}'),   // Hangul filler
    ('\u{fe00}', '\u{fe0f}'),   // variation selectors
    ('\u{feff}', '\u{feff}'),   // zero-width no-break space
    ('\u{ffa0}', '\u{ffa0}'),   // half-width Hangul filler
    ('\u{fff0}', '\u{fffb}'),   // unassigned, interlinear annotations
    ('\u{13430}', '\u{13455}'), // format controls of hieroglyphs
    ('\u{1bca0}', '\u{1bca3}'), // shorthand format controls
    ('\u{1d173}', '\u{1d17a}'), // format controls of music
    ('\u{e0000}', '\u{e0fff}'), // tags, and more variation selectors
];
