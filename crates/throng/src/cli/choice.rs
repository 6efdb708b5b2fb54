//! Choices of the libraries, as arguments.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use throng_simulate::Choice;

/// Takes the name of a choice; `--help` lists all of them, each with its line.
pub(super) fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|one| PossibleValue::new(one.name()).help(one.help()));
    PossibleValuesParser::new(values).try_map(|name| T::named(&name).ok_or("no such choice"))
}
