//! Pictures drawn with the characters of a terminal, or of a plain text file.

use std::env;
use std::fmt::Write;
use std::io::{self, IsTerminal};

use terminal_size::{Height, Width, terminal_size_of};

use throng_analyze::Picture;

/// Room for pictures, in characters, each about twice as high as it is wide.
#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
    /// What is drawn with.
    pub ink: Ink,
}

/// What a picture is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Half blocks in 24-bit gray: two pixels in a character.
    HalfBlocks,
    /// Plain characters, the brighter the denser.
    Ascii,
}

impl Canvas {
    /// What stdout has room for: colored blocks on a terminal, plain text in a file or where NO_COLOR is set.
    pub fn of_stdout() -> Self {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = is_set("NO_COLOR") || env::var_os("TERM").is_some_and(|term| term == "dumb");
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Self { columns: COLUMNS_DEFAULT, rows: ROWS_MAX, ink: Ink::Ascii };
        }
        let (columns, rows) = match terminal_size_of(&stdout) {
            // Some terminals (serial lines, editors) say that they are 0 x 0.
            Some((Width(columns), Height(rows))) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
            _ => (COLUMNS_DEFAULT, ROWS_MAX),
        };
        Self {
            columns: columns.min(COLUMNS_MAX),
            // The label and the line that the prompt ends up on are part of the screen, too.
            rows: rows.saturating_sub(2).clamp(ROWS_MIN, ROWS_MAX),
            ink: if plain { Ink::Ascii } else { Ink::HalfBlocks },
        }
    }

    /// Draws pictures next to each other with a label above each. Every line ends with a newline.
    pub fn draw(&self, pictures: &[(&str, &Picture)]) -> String {
        let count = pictures.len().max(1);
        let room = self.columns.saturating_sub(GAP * (count - 1)) / count;
        let drawings: Vec<Drawing> =
            pictures.iter().map(|(_, picture)| self.drawing(picture, room)).collect();
        let widths: Vec<usize> = pictures
            .iter()
            .zip(&drawings)
            .map(|((label, _), d)| d.width.max(label.chars().count()))
            .collect();

        let labels: Vec<String> =
            pictures.iter().zip(&widths).map(|((label, _), width)| format!("{label:<width$}")).collect();
        let mut text = labels.join(&" ".repeat(GAP)).trim_end().to_owned() + "\n";
        for row in 0..drawings.iter().map(|drawing| drawing.lines.len()).max().unwrap_or(0) {
            let mut line = String::new();
            let mut indent = 0;
            for (drawing, width) in drawings.iter().zip(&widths) {
                line += &" ".repeat(indent);
                line += drawing.lines.get(row).map_or("", String::as_str);
                indent = width - drawing.lines.get(row).map_or(0, |_| drawing.width) + GAP;
            }
            text += line.trim_end_matches(' ');
            text.push('\n');
        }
        text
    }

    /// One picture, at most `room` characters wide. Small pictures are not enlarged.
    fn drawing(&self, picture: &Picture, room: usize) -> Drawing {
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        let columns = room.min(width).min(2 * self.rows * width / height).max(1);
        // A character is two squares high.
        let rows = (height * columns).div_ceil(2 * width).clamp(1, self.rows.max(1));
        let lines = match self.ink {
            Ink::Ascii => shrunk(picture, columns, rows).iter().map(|row| ascii_line(row)).collect(),
            Ink::HalfBlocks => shrunk(picture, columns, 2 * rows)
                .chunks(2)
                .map(|pair| half_block_line(&pair[0], &pair[1]))
                .collect(),
        };
        Drawing { width: columns, lines }
    }
}

/// Lines that all show `width` characters.
struct Drawing {
    width: usize,
    lines: Vec<String>,
}

/// A picture in fewer pixels, each as bright as those it stands for look from afar: screens emit about the
/// square of a pixel's number, so that is what is averaged. Thin lines stay visible.
pub fn shrunk(picture: &Picture, columns: usize, rows: usize) -> Vec<Vec<u8>> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let span = |at: usize, parts: usize, whole: usize| {
        let start = at * whole / parts;
        start..((at + 1) * whole / parts).max(start + 1)
    };
    let mean = |column: usize, row: usize| {
        let (across, down) = (span(column, columns, width), span(row, rows, height));
        let area = (across.len() * down.len()) as u64;
        let sum: u64 = down
            .flat_map(|y| &picture.pixels()[y * width + across.start..y * width + across.end])
            .map(|&pixel| u64::from(pixel).pow(2))
            .sum();
        (sum / area).isqrt() as u8
    };
    (0..rows).map(|row| (0..columns).map(|column| mean(column, row)).collect()).collect()
}

fn ascii_line(row: &[u8]) -> String {
    row.iter().map(|&light| char::from(RAMP[usize::from(light) * RAMP.len() / 256])).collect()
}

/// Upper halves in the ink's color, lower halves in the ground's, each named only where it changes.
fn half_block_line(upper: &[u8], lower: &[u8]) -> String {
    let mut line = String::new();
    let mut last = (None, None);
    for (&u, &l) in upper.iter().zip(lower) {
        // Writing to a String cannot fail.
        if last.0 != Some(u) {
            let _ = write!(line, "\x1b[38;2;{u};{u};{u}m");
        }
        if last.1 != Some(l) {
            let _ = write!(line, "\x1b[48;2;{l};{l};{l}m");
        }
        last = (Some(u), Some(l));
        line.push('▀');
    }
    line + "\x1b[0m"
}

/// From dark to bright.
const RAMP: &[u8] = b" .:-=+*#%@";
const GAP: usize = 2;
const COLUMNS_DEFAULT: usize = 80;
const COLUMNS_MAX: usize = 160;
const ROWS_MIN: usize = 8;
const ROWS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        Picture::new(4, 4, vec![0, 0, 255, 255, 0, 0, 255, 255, 128, 128, 0, 0, 128, 128, 0, 0]).unwrap()
    }

    fn draw(ink: Ink, columns: usize, rows: usize) -> String {
        Canvas { columns, rows, ink }.draw(&[("truth", &picture()), ("estimate", &picture())])
    }

    #[test]
    fn a_small_picture_in_plain_characters() {
        assert_eq!(draw(Ink::Ascii, 80, 20), "truth  estimate\n  @@     @@\n++     ++\n");
    }

    #[test]
    fn a_picture_is_shrunk_to_the_room_it_has() {
        // Two columns each, and the brightness of eight pixels in each character.
        assert_eq!(draw(Ink::Ascii, 6, 20), "truth  estimate\n-#     -#\n");
    }

    #[test]
    fn a_small_picture_in_half_blocks() {
        let text = Canvas { columns: 80, rows: 20, ink: Ink::HalfBlocks }.draw(&[("", &picture())]);
        let dark = "\x1b[38;2;0;0;0m\x1b[48;2;0;0;0m▀▀";
        let bright = "\x1b[38;2;255;255;255m\x1b[48;2;255;255;255m▀▀";
        let gray = "\x1b[38;2;128;128;128m\x1b[48;2;128;128;128m▀▀";
        assert_eq!(text, format!("\n{dark}{bright}\x1b[0m\n{gray}{dark}\x1b[0m\n"));
    }

    #[test]
    fn no_shape_and_no_room_is_too_extreme() {
        for (width, height) in [(1, 1), (1, 5000), (5000, 1), (1000, 1000)] {
            let picture = Picture::new(width, height, vec![200; (width * height) as usize]).unwrap();
            for (columns, rows) in [(0, 0), (1, 1), (80, 24), (160, 60)] {
                for ink in [Ink::Ascii, Ink::HalfBlocks] {
                    let text = Canvas { columns, rows, ink }.draw(&[("", &picture), ("", &picture)]);
                    let lines: Vec<&str> = text.lines().collect();
                    assert!((2..=rows.max(1) + 1).contains(&lines.len()));
                    let shown = |line: &&str| line.chars().filter(|c| "▀#".contains(*c)).count();
                    assert!(lines.iter().all(|line| shown(line) <= columns.max(2)));
                }
            }
        }
    }
}
