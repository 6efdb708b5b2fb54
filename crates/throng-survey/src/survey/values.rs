//! Names of values: what a number stands for, in words that people see.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::check::{NAME, NOT_AS_WRITTEN, is_name};
use super::{Encoding, Survey, shows_as_written};
use crate::{Digest, Error};

/// The names of the values of a survey that asks one question: a list in the survey, or a file beside it. Those of a record
/// stand with its attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// One for each value, in the order of their numbers; no two the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Or the name of a text file with one name in each line, which is published beside the survey ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// ... and its SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// What the file says, once it was read. The survey's hash covers it by `sha256`.
    #[serde(skip)]
    read: Option<Vec<String>>,
}

impl Values {
    /// Names that stand in the survey.
    pub fn of_names(names: Vec<String>) -> Self {
        Self { names: Some(names), ..Self::default() }
    }

    /// Names that stand in a file with this text.
    pub fn of_file(file: &str, text: &str) -> Self {
        let sha256 = Some(Digest::of(text.as_bytes()));
        Self { file: Some(file.to_owned()), sha256, ..Self::default() }
    }
}

impl Survey {
    /// What all values are called, where they have names, and these were read.
    pub fn value_names(&self) -> Option<&[String]> {
        let values = self.values.as_ref()?;
        values.names.as_deref().or(values.read.as_deref())
    }

    /// The file beside the survey that has the names of its values, where they are in one.
    pub fn names_file(&self) -> Option<&str> {
        self.values.as_ref()?.file.as_deref()
    }

    /// The same survey with the names that its file has: one in each line, in the order of their numbers. Refused if it is not
    /// the file whose hash the survey states.
    pub fn with_names(mut self, text: &str) -> Result<Self, Error> {
        let domain = self.domain();
        let wrong = |reason: &str| Error::Field { field: "values.file", reason: reason.to_owned() };
        let values = self.values.as_mut().filter(|values| values.file.is_some());
        let values = values.ok_or_else(|| wrong("this survey has no file with names"))?;
        if values.sha256 != Some(Digest::of(text.as_bytes())) {
            return Err(wrong(
                "the file is not the one that was agreed on: its SHA-256 is not values.sha256",
            ));
        }
        let lines = text.strip_suffix('\n').unwrap_or(text);
        let names: Vec<String> = lines.split('\n').map(str::to_owned).collect();
        check_names("values.file", &names, domain)?;
        values.read = Some(names);
        Ok(self)
    }

    /// What a value is called where it is asked for and where estimates are shown: its name, or its number if it has none; in a
    /// survey of records with the attribute before it.
    pub fn value_name(&self, value: u64) -> String {
        let named = |names: Option<&[String]>, number: u64| {
            let name = names.and_then(|names| names.get(usize::try_from(number).ok()?));
            name.cloned().unwrap_or_else(|| number.to_string())
        };
        let Encoding::Record { attributes } = &self.encoding else {
            return named(self.value_names(), value);
        };
        let mut rest = value;
        for attribute in attributes {
            if rest < attribute.values {
                return format!("{} = {}", attribute.name, named(attribute.names.as_deref(), rest));
            }
            rest -= attribute.values;
        }
        value.to_string()
    }

    /// Names are those of all values, or there are none.
    pub(super) fn check_values(&self) -> Result<(), Error> {
        let wrong = |field, reason: &str| Err(Error::Field { field, reason: reason.to_owned() });
        match (&self.values, &self.encoding) {
            (None, Encoding::OneHot { .. } | Encoding::Sketch { .. }) => Ok(()),
            (Some(values), Encoding::OneHot { .. } | Encoding::Sketch { .. }) => {
                match (&values.names, &values.file, &values.sha256) {
                    (Some(names), None, None) => check_names("values.names", names, self.domain()),
                    (None, Some(file), Some(_)) if is_name(file) => Ok(()),
                    (None, Some(_), Some(_)) => wrong("values.file", NAME),
                    _ => wrong("values", "give names, or else file and sha256"),
                }
            }
            (Some(_), Encoding::Record { .. }) => wrong(
                "values",
                "the values of a record are named by its attributes: encoding.attributes.names",
            ),
            (None, Encoding::Record { attributes }) => attributes.iter().try_for_each(|attribute| {
                let field = "encoding.attributes.names";
                attribute.names.as_ref().map_or(Ok(()), |names| check_names(field, names, attribute.values))
            }),
        }
    }
}

/// The value that a person means by a text: its name, or its number. A text that is the name of one value and the number of
/// another means neither; `#` before a number says that it is one.
pub fn value_meant(text: &str, names: Option<&[String]>) -> Option<u64> {
    if let (Some(number), Some(_)) = (text.strip_prefix('#'), names) {
        return number.parse().ok();
    }
    // Keyboards and terminals differ in how they write an accent; names are in normalization form C.
    let called = names.and_then(|names| names.iter().position(|name| text.nfc().eq(name.chars())));
    let called = called.map(|at| at as u64);
    let numbered = text.parse().ok();
    // A number that no value has is not meant by who writes a name of digits, such as a year.
    let numbered = numbered
        .filter(|&number: &u64| called.is_none() || names.is_none_or(|names| number < names.len() as u64));
    match (called, numbered) {
        (Some(called), Some(numbered)) => (called == numbered).then_some(called),
        (called, numbered) => called.or(numbered),
    }
}

/// Each name is one that people can read and tell from all others, and no number is left without one.
fn check_names(field: &'static str, names: &[String], values: u64) -> Result<(), Error> {
    let wrong = |reason: &str| Err(Error::Field { field, reason: reason.to_owned() });
    if names.len() as u64 != values {
        return wrong("list one name for each value");
    }
    if names.iter().any(|name| name.trim() != name || name.is_empty() || name.len() > NAME_LEN_MAX) {
        return wrong("a name has 1 to 200 bytes in UTF-8, and no space at its ends");
    }
    if !names.iter().all(|name| shows_as_written(name)) {
        return wrong(NOT_AS_WRITTEN);
    }
    if !names.iter().all(|name| is_nfc(name)) {
        return wrong("write names in Unicode's normalization form C, so that what looks alike is alike");
    }
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() < names.len() {
        return wrong("list each name once");
    }
    Ok(())
}

/// In bytes of UTF-8.
const NAME_LEN_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::tests::sample;

    const DISHES: &str = "Lentil soup\nCr\u{e8}me br\u{fb}l\u{e9}e\nNothing\n";

    fn survey(values: &str) -> Result<Survey, Error> {
        let text = sample().replacen("domain = 784", "domain = 3", 1);
        Survey::from_toml(&format!("{text}\n[values]\n{values}\n"))
    }

    fn with_file(text: &str) -> Survey {
        survey(&format!("file = \"dishes.txt\"\nsha256 = \"{}\"", Digest::of(text.as_bytes()))).unwrap()
    }

    #[test]
    fn names_in_a_file_are_those_that_the_survey_has_the_hash_of() {
        let draft = with_file(DISHES);
        assert_eq!((draft.names_file(), draft.value_names()), (Some("dishes.txt"), None));
        assert_eq!(draft.value_name(0), "0", "the file was not read");
        let named = draft.clone().with_names(DISHES).unwrap();
        assert_eq!(named.value_name(1), "Cr\u{e8}me br\u{fb}l\u{e9}e");
        assert_eq!((named.value_name(2), named.value_name(3)), ("Nothing".to_owned(), "3".to_owned()));
        // What was agreed on is the same, whoever has read the file.
        assert_eq!(named.hash().unwrap(), draft.hash().unwrap());
        assert_eq!(named.to_toml().unwrap(), draft.to_toml().unwrap());
        assert!(named.canonical().unwrap().contains(&format!(
            r#""values":{{"file":"dishes.txt","sha256":"{}"}}"#,
            Digest::of(DISHES.as_bytes())
        )));
        assert_eq!(draft.values, Some(Values::of_file("dishes.txt", DISHES)));
        // The last line feed may be missing; its hash is then another.
        let bare = DISHES.trim_end();
        assert_eq!(with_file(bare).with_names(bare).unwrap().value_name(2), "Nothing");
        for other in [bare, "", "Lentil soup\nNothing\n", &DISHES.replace("soup", "stew")] {
            let error = draft.clone().with_names(other).unwrap_err();
            assert!(
                matches!(&error, Error::Field { field: "values.file", reason } if reason.contains("SHA-256"))
            );
        }
        let listed = survey("names = [\"a\", \"b\", \"c\"]").unwrap();
        assert_eq!((listed.value_name(2).as_str(), listed.names_file()), ("c", None));
        assert!(listed.with_names(DISHES).is_err());
    }

    #[test]
    fn a_file_with_the_right_hash_and_wrong_names_is_refused() {
        let long = format!("{}\nb\nc\n", "a".repeat(201));
        for (text, because) in [
            ("a\nb\n", "one name for each value"),
            ("a\nb\nc\nd\n", "one name for each value"),
            ("a\nb\nc\n\n", "one name for each value"),
            ("a\n\nc\n", "1 to 200 bytes"),
            ("a\n b\nc\n", "no space at its ends"),
            (long.as_str(), "1 to 200 bytes"),
            ("a\r\nb\r\nc\r\n", "no space at its ends"),
            ("a\nb\tb\nc\n", "control characters"),
            ("a\nb\u{202e}b\nc\n", "control characters"),
            ("\u{feff}a\nb\nc\n", "control characters"),
            ("a\ne\u{301}\nc\n", "normalization form C"),
            ("a\nb\na\n", "each name once"),
        ] {
            match with_file(text).with_names(text) {
                Err(Error::Field { field: "values.file", reason }) => {
                    assert!(reason.contains(because), "{text:?}: {reason}");
                }
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn names_are_a_list_or_a_file_with_its_hash() {
        let hash = "0".repeat(64);
        for (values, named) in [
            ("", "values"),
            ("file = \"a.txt\"", "values"),
            (&*format!("sha256 = \"{hash}\""), "values"),
            (&*format!("names = [\"a\", \"b\", \"c\"]\nfile = \"a.txt\"\nsha256 = \"{hash}\""), "values"),
            (&*format!("names = [\"a\", \"b\", \"c\"]\nsha256 = \"{hash}\""), "values"),
            (&*format!("file = \"../a.txt\"\nsha256 = \"{hash}\""), "values.file"),
            (&*format!("file = \"/a.txt\"\nsha256 = \"{hash}\""), "values.file"),
            (&*format!("file = \"\"\nsha256 = \"{hash}\""), "values.file"),
        ] {
            match survey(values) {
                Err(Error::Field { field, .. }) => assert_eq!(field, named, "{values}"),
                other => panic!("{values}: {other:?}"),
            }
        }
        for values in
            [&*format!("file = \"a.txt\"\nsha256 = \"{}\"", &hash[1..]), "read = [\"a\", \"b\", \"c\"]"]
        {
            assert!(matches!(survey(values), Err(Error::Format(_))), "{values}");
        }
    }

    #[test]
    fn a_value_is_meant_by_its_name_or_its_number() {
        let dishes = ["Lentil soup", "Cr\u{e8}me", "1, 2 or 3"].map(str::to_owned);
        for (text, value) in [
            ("Lentil soup", Some(0)),
            ("Cr\u{e8}me", Some(1)),
            ("Cre\u{300}me", Some(1)),
            ("1, 2 or 3", Some(2)),
            ("2", Some(2)),
            ("#2", Some(2)),
            // Whether there is such a value is for the encoder to say.
            ("7", Some(7)),
            ("lentil soup", None),
            ("Lentil", None),
            ("#Lentil soup", None),
            ("", None),
            ("-1", None),
        ] {
            assert_eq!(value_meant(text, Some(&dishes)), value, "{text}");
        }
        // Grades from 1 to 4 have numbers from 0 to 3: most digits mean two things.
        let grades = ["1", "2", "3", "4"].map(str::to_owned);
        for (text, value) in
            [("0", Some(0)), ("1", None), ("3", None), ("4", Some(3)), ("#1", Some(1)), ("#0", Some(0))]
        {
            assert_eq!(value_meant(text, Some(&grades)), value, "{text}");
        }
        let same = ["0", "1"].map(str::to_owned);
        assert_eq!((value_meant("0", Some(&same)), value_meant("1", Some(&same))), (Some(0), Some(1)));
        assert_eq!(
            (value_meant("42", None), value_meant("#42", None), value_meant("x", None)),
            (Some(42), None, None)
        );
    }
}
