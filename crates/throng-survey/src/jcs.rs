//! Canonical JSON (RFC 8785): the one sequence of bytes that a value has, so that a hash or a signature of it means
//! the same to everyone, in every language.

use serde::Serialize;
use serde_json::Value;

use crate::Error;

/// The canonical JSON of a value. An integer that a double may not hold is refused (RFC 7493, section 2.2): two programs could
/// read two different numbers.
pub fn to_string(value: &impl Serialize) -> Result<String, Error> {
    let refused = |error: serde_json::Error| Error::Canonical(error.to_string());
    let value = serde_json::to_value(value).map_err(refused)?;
    check_integers(&value)?;
    serde_json_canonicalizer::to_string(&value).map_err(refused)
}

fn check_integers(value: &Value) -> Result<(), Error> {
    match value {
        Value::Number(number) if number.as_u64().is_some_and(|integer| integer > INTEGER_MAX) => {
            Err(Error::Canonical("an integer above 2^53 - 1".into()))
        }
        Value::Number(number) if number.as_i64().is_some_and(|one| one.unsigned_abs() > INTEGER_MAX) => {
            Err(Error::Canonical("an integer below -(2^53 - 1)".into()))
        }
        Value::Array(items) => items.iter().try_for_each(check_integers),
        Value::Object(fields) => fields.values().try_for_each(check_integers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// The largest integer n such that n and n + 1 are both doubles.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A finite double, as ECMAScript writes it.
    fn ecmascript(double: f64) -> String {
        to_string(&double).unwrap()
    }

    /// Below a power of two doubles are twice as close, so the even one of two decimals that are equally near may be another
    /// double. Node writes these texts, too.
    #[test]
    fn powers_of_two_read_back() {
        assert_eq!(ecmascript(2_f64.powi(-24)), "5.960464477539063e-8");
        for exponent in -1074..1024 {
            let double = 2_f64.powi(exponent);
            assert_eq!(ecmascript(double).parse(), Ok(double), "2^{exponent}");
        }
    }

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
