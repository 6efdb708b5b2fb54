//! Canonical JSON (RFC 8785): the one sequence of bytes that a value has, so that a hash or a signature of it means
//! the same to everyone, in every language.

use serde::Serialize;
use serde_json::Value;

use crate::Error;

/// The canonical JSON of a value.
pub fn to_string(value: &impl Serialize) -> Result<String, Error> {
    let value = serde_json::to_value(value).map_err(|error| Error::Canonical(error.to_string()))?;
    let mut out = String::new();
    write(&value, &mut out)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String) -> Result<(), Error> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => write_text(text, out)?,
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Object(fields) => {
            // Section 3.2.3: names are sorted as sequences of UTF-16 code units.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, field)) in fields.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(name, out)?;
                out.push(':');
                write(field, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Section 3.2.2.2: the two-character escapes, \u00xx with small letters for other control characters, everything
/// else as it is. That is what serde_json writes.
fn write_text(text: &str, out: &mut String) -> Result<(), Error> {
    out.push_str(&serde_json::to_string(text).map_err(|error| Error::Canonical(error.to_string()))?);
    Ok(())
}

/// Section 3.2.2.3. A number in JSON is a double; integers that a double may not hold are refused (RFC 7493, section
/// 2.2), because two programs could read two different numbers.
fn write_number(number: &serde_json::Number, out: &mut String) -> Result<(), Error> {
    if let Some(integer) = number.as_u64() {
        if integer > INTEGER_MAX {
            return Err(Error::Canonical("an integer above 2^53 - 1".into()));
        }
        out.push_str(&integer.to_string());
    } else if let Some(integer) = number.as_i64() {
        if integer.unsigned_abs() > INTEGER_MAX {
            return Err(Error::Canonical("an integer below -(2^53 - 1)".into()));
        }
        out.push_str(&integer.to_string());
    } else {
        match number.as_f64() {
            Some(double) if double.is_finite() => out.push_str(&ecmascript(double)),
            _ => return Err(Error::Canonical("a number that is no double".into())),
        }
    }
    Ok(())
}

/// A finite double as ECMAScript writes it (ECMA-262, Number::toString, radix 10).
fn ecmascript(double: f64) -> String {
    if double == 0.0 {
        return "0".into(); // also for -0
    }
    let (digits, point) = shortest(double.abs());
    let count = digits.len() as i32;
    let zeros = |count: i32| "0".repeat(count.max(0) as usize);
    let sign = if double < 0.0 { "-" } else { "" };
    if count <= point && point <= 21 {
        format!("{sign}{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, rest) = digits.split_at(point as usize);
        format!("{sign}{whole}.{rest}")
    } else if -6 < point && point <= 0 {
        format!("{sign}0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
    }
}

/// The fewest digits that read back as the same double, and among those the nearest; the decimal point stands after
/// the returned number of digits.
fn shortest(double: f64) -> (String, i32) {
    let split = |scientific: String| {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        (mantissa.replace('.', ""), exponent.parse::<i32>().unwrap_or(0) + 1)
    };
    // These are the digits of Rust's exponent form, but for one rule: of two that are equally near, ECMA-262 takes the
    // even one. No double has more than 767 digits, so the exact expansion shows a tie as a 5 followed by zeros.
    let (mut digits, point) = split(format!("{double:e}"));
    let (exact, _) = split(format!("{double:.780e}"));
    let (kept, rest) = exact.split_at(digits.len().min(exact.len()));
    let tie = rest.starts_with('5') && rest[1..].bytes().all(|digit| digit == b'0');
    let odd = |digits: &str| digits.bytes().last().is_some_and(|digit| digit % 2 == 1);
    if tie && odd(&digits) {
        // The even one is the neighbour on the other side: one less if Rust rounded up, else one more. A nine is never
        // carried: the result would end in a zero, and be shorter.
        let last = digits.pop().map_or(b'0', |digit| digit as u8);
        digits.push(char::from(if kept.as_bytes().last() == Some(&last) { last + 1 } else { last - 1 }));
    }
    (digits, point)
}

/// The largest integer n such that n and n + 1 are both doubles.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// RFC 8785, appendix B: doubles by their bits, and what stands for them.
    const NUMBERS: &[(u64, &str)] = &[
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn numbers_are_written_as_rfc_8785_appendix_b_has_them() {
        for &(bits, text) in NUMBERS {
            assert_eq!(ecmascript(f64::from_bits(bits)), text, "{bits:016x}");
        }
    }

    #[test]
    fn a_double_that_is_whole_is_written_like_the_integer() {
        assert_eq!(
            to_string(&json!([1.0, 1, 4.50, 2e-3, 1e-27, 1e30])).unwrap(),
            "[1,1,4.5,0.002,1e-27,1e+30]"
        );
    }

    #[test]
    fn text_and_order_are_those_of_rfc_8785() {
        // Section 3.2.2 without the numbers, and section 3.2.3.
        let text = json!({"string": "\u{20ac}$\u{000f}\u{000a}A'\u{0042}\u{0022}\u{005c}\\\"/", "literals": [null, true, false]});
        assert_eq!(
            to_string(&text).unwrap(),
            r#"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
        let order =
            json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
        assert_eq!(
            to_string(&order).unwrap(),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
        let control = json!("\u{8}\u{9}\u{a}\u{c}\u{d}\u{1f}\u{7f}");
        assert_eq!(to_string(&control).unwrap(), "\"\\b\\t\\n\\f\\r\\u001f\u{7f}\"");
    }

    #[test]
    fn integers_that_a_double_may_not_hold_are_refused() {
        assert_eq!(to_string(&json!(9_007_199_254_740_991_u64)).unwrap(), "9007199254740991");
        assert!(to_string(&json!(9_007_199_254_740_992_u64)).is_err());
        assert!(to_string(&json!(-9_007_199_254_740_992_i64)).is_err());
        assert!(to_string(&json!(u64::MAX)).is_err());
    }

    proptest! {
        #[test]
        fn every_double_reads_back(bits: u64) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            let text = ecmascript(double);
            prop_assert_eq!(text.parse::<f64>().unwrap(), double);
            prop_assert!(text.len() <= 25, "the shortest form");
            // The exponent form is used outside [1e-6, 1e21) and nowhere else.
            let plain = double == 0.0 || (1e-6..1e21).contains(&double.abs());
            prop_assert_eq!(!text.contains('e'), plain);
        }
    }
}
