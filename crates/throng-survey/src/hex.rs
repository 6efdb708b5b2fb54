//! Bytes as lower-case hexadecimal digits: how keys, hashes and signatures stand in files.

/// The digits of some bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    encode_into(bytes, &mut text);
    text
}

/// Appends the digits of some bytes. Nothing is copied on the way, so that a caller who erases `out` erases all.
pub fn encode_into(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
}

/// Exactly N bytes. Upper-case digits, spaces and any other length are refused: bytes have one spelling.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let text = text.as_bytes();
    if text.len() != 2 * N {
        return None;
    }
    // Without branches: every other one would be guessed wrongly, and most of what is read here are tokens of uploads.
    let (mut bytes, mut wrong) = ([0; N], 0);
    for (byte, pair) in bytes.iter_mut().zip(text.as_chunks::<2>().0) {
        let [high, low] = pair.map(|character| {
            // 0 to 9 are 0x30 to 0x39, a to f are 0x61 to 0x66; what is neither is not the digit of its value.
            let value = (character & 15).wrapping_add(9 * (character >> 6)) & 15;
            wrong |= character ^ DIGITS[usize::from(value)];
            value
        });
        *byte = (high << 4) | low;
    }
    (wrong == 0).then_some(bytes)
}

/// Gives a type around a byte array the hexadecimal form in text and files. The type has `from_array`, which refuses
/// what is no such thing, and `as_bytes`.
#[macro_export]
macro_rules! hex_form {
    ($name:ident, $length:literal, $what:literal) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::hex::encode(self.as_bytes()))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::hex::decode::<$length>(text)
                    .and_then(Self::from_array)
                    .ok_or($crate::Error::Hex($what))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_spelling() {
        assert_eq!(encode(&[0, 0x9a, 0xff]), "009aff");
        assert_eq!(decode::<3>("009aff"), Some([0, 0x9a, 0xff]));
        for other in ["009AFF", "009af", "009aff0", "009aff00", " 09aff", "0x9aff", "009afg", "", "é9aff"] {
            assert_eq!(decode::<3>(other), None, "{other:?}");
        }
        for character in (0..0x80).map(char::from) {
            let value = character.to_digit(16).filter(|_| !character.is_ascii_uppercase()).map(|x| x as u8);
            assert_eq!(decode::<1>(&format!("{character}0")), value.map(|x| [x << 4]), "{character:?}");
            assert_eq!(decode::<1>(&format!("0{character}")), value.map(|x| [x]), "{character:?}");
        }
    }
}
