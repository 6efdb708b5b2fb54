//! Hexadecimal (base 16) in lower case: how keys, hashes and signatures stand in files.

use zeroize::Zeroizing;

/// The digits of some bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    encode_into(bytes, &mut text);
    text
}

/// Appends the digits of some bytes, in constant time. No other copy is left, so that a caller who erases `out` erases all.
pub fn encode_into(bytes: &[u8], out: &mut String) {
    let mut digits = Zeroizing::new([0; 128]);
    for part in bytes.chunks(64) {
        // There is room for all digits of a part.
        out.push_str(base16ct::lower::encode_str(part, digits.as_mut()).unwrap_or_default());
    }
}

/// Exactly N bytes, read in constant time: most of what is read here are keys and tokens. Upper-case digits, spaces and any
/// other length are refused: bytes have one spelling.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let read = base16ct::lower::decode(text, &mut bytes).ok()?;
    (read.len() == N).then_some(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_spelling() {
        assert_eq!(encode(&[0, 0x9a, 0xff]), "009aff");
        assert_eq!(encode(&[]), "");
        let long: Vec<u8> = (0..=255).collect();
        assert_eq!(encode(&long), long.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
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
