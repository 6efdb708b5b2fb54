//! Names of values: what a number stands for, in words that people see.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use unicode_normalization::is_nfc;

use super::{Encoding, Survey, shows_as_written};
use crate::Error;

/// The names of the values of a survey that asks one question. Those of a record stand with its attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// One for each value, in the order of their numbers; no two the same.
    pub names: Vec<String>,
}

impl Survey {
    /// What a value is called where it is asked for and where estimates are shown: its name, or its number if it has none; in a
    /// survey of records with the attribute before it.
    pub fn value_name(&self, value: u64) -> String {
        let named = |names: Option<&Vec<String>>, number: u64| {
            let name = names.and_then(|names| names.get(usize::try_from(number).ok()?));
            name.cloned().unwrap_or_else(|| number.to_string())
        };
        let Encoding::Record { attributes } = &self.encoding else {
            return named(self.values.as_ref().map(|values| &values.names), value);
        };
        let mut rest = value;
        for attribute in attributes {
            if rest < attribute.values {
                return format!("{} = {}", attribute.name, named(attribute.names.as_ref(), rest));
            }
            rest -= attribute.values;
        }
        value.to_string()
    }

    /// Names are those of all values, or there are none.
    pub(super) fn check_values(&self) -> Result<(), Error> {
        match (&self.values, &self.encoding) {
            (None, Encoding::OneHot { .. } | Encoding::Sketch { .. }) => Ok(()),
            (Some(values), Encoding::OneHot { .. } | Encoding::Sketch { .. }) => {
                check_names("values.names", &values.names, self.domain())
            }
            (Some(_), Encoding::Record { .. }) => {
                let reason = "the values of a record are named by its attributes: encoding.attributes.names";
                Err(Error::Field { field: "values", reason: reason.to_owned() })
            }
            (None, Encoding::Record { attributes }) => attributes.iter().try_for_each(|attribute| {
                let field = "encoding.attributes.names";
                attribute.names.as_ref().map_or(Ok(()), |names| check_names(field, names, attribute.values))
            }),
        }
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
        return wrong(super::check::NOT_AS_WRITTEN);
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
