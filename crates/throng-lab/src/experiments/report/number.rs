//! Numbers as a person reads them.

/// A number with four significant digits, below 100,000 with two decimals at least, and without zeros at the end:
/// tables of the paper print two decimals even of thousands, and rounding those away would hide a difference.
pub fn shown(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if value.is_nan() => return "NaN".to_owned(),
        f64::INFINITY => "∞".to_owned(),
        0.0 => return "0".to_owned(),
        _ if size < TINY => scientific(size),
        _ if size >= LARGE => grouped(&format!("{size:.0}")),
        _ => {
            let (_, exponent) = rounded(size);
            let decimals = (3 - exponent).max(2) as usize;
            grouped(trimmed(&format!("{size:.decimals$}")))
        }
    };
    if value < 0.0 { format!("\u{2212}{digits}") } else { digits }
}

/// A time as long as it takes to say.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 9.95 => format!("{seconds:.1} s"),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// An amount of memory.
pub fn memory(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A whole number with separators.
pub(super) fn count(number: u32) -> String {
    grouped(&number.to_string())
}

/// What has to follow each number of a column so that decimal points are below each other.
pub(super) fn paddings(numbers: &[String]) -> Vec<String> {
    let tail = |number: &String| number.find('.').map_or(0, |point| number.len() - point);
    // Where the point of 1.5 × 10⁻⁶ is says nothing about its size.
    let is_part = |c: char| c.is_ascii_digit() || ",.\u{2212}".contains(c);
    let is_plain = |number: &String| !number.is_empty() && number.chars().all(is_part);
    let widest = numbers.iter().filter(|number| is_plain(number)).map(tail).max().unwrap_or(0);
    let padding = |number| match (is_plain(number), tail(number)) {
        (true, 0) if widest > 0 => format!(".{}", "0".repeat(widest - 1)),
        (false, _) => String::new(),
        (true, tail) => "0".repeat(widest - tail),
    };
    numbers.iter().map(padding).collect()
}

/// Four significant digits, and the power of ten of the first; rounding may have raised it.
fn rounded(size: f64) -> (String, i32) {
    let text = format!("{size:.3e}");
    let (digits, exponent) = text.split_once('e').expect("`e` asks for an exponent");
    (digits.to_owned(), exponent.parse().expect("an exponent is a small integer"))
}

fn scientific(size: f64) -> String {
    let (digits, exponent) = rounded(size);
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => SUPERSCRIPTS[digit as usize],
        None => '⁻',
    };
    format!("{} × 10{}", trimmed(&digits), exponent.to_string().chars().map(raised).collect::<String>())
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// With a comma before every third digit from the point.
fn grouped(digits: &str) -> String {
    let whole = digits.find('.').unwrap_or(digits.len());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at < whole && (whole - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Below this, zeros after the point are hard to count.
const TINY: f64 = 1e-4;
const LARGE: f64 = 1e5;
const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_a_person_would_write_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (1.23456, "1.235"),
            (12.3456, "12.35"),
            (99.996, "100"),
            (123.456, "123.46"),
            (1821.02, "1,821.02"),
            (1821.0, "1,821"),
            (-1821.5, "\u{2212}1,821.5"),
            (12_345.678, "12,345.68"),
            (99_999.999, "100,000"),
            (123_456.7, "123,457"),
            (1e6, "1,000,000"),
            (123_456_789_012.0, "123,456,789,012"),
            (0.012_345_6, "0.01235"),
            (0.000_999_96, "0.001"),
            (0.000_123_46, "0.0001235"),
            (0.000_099_9, "9.99 × 10⁻⁵"),
            (5e-324, "4.941 × 10⁻³²⁴"),
            (-1e-10, "\u{2212}1 × 10⁻¹⁰"),
            (f64::INFINITY, "∞"),
            (f64::NEG_INFINITY, "\u{2212}∞"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(shown(value), text, "{value:?}");
        }
    }

    #[test]
    fn times_and_amounts_have_units() {
        let times = [0.04, 9.94, 9.96, 59.4, 59.6, 125.0, 3599.6, 7260.0].map(duration);
        assert_eq!(
            times,
            ["0.0 s", "9.9 s", "10 s", "59 s", "1 min 0 s", "2 min 5 s", "1 h 0 min", "2 h 1 min"]
        );
        assert_eq!([1, 999_001, 1_000_001, 1_849_000_000].map(memory), ["1 kB", "1000 kB", "2 MB", "1.8 GB"]);
        assert_eq!([7, 999, 1000, 1_234_567].map(count), ["7", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn points_are_below_each_other() {
        let padded = |numbers: &[&str]| paddings(&numbers.iter().map(|&n| n.to_owned()).collect::<Vec<_>>());
        assert_eq!(padded(&["1,821.02", "", "7", "0.5", "0.125"]), ["0", "", ".000", "00", ""]);
        assert_eq!(padded(&["1.25 × 10⁻⁶", "3", "∞"]), ["", "", ""]);
        assert!(padded(&[]).is_empty());
    }
}
