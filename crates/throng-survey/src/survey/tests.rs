//! Surveys that are read, written, hashed and refused. A file for each noun; what they share is here.

use throng_testing::survey::{FRAGMENTED, RECORD, SURVEY, hourly, tables};

use super::*;

mod delivery;
mod file;
mod parties;
mod profiles;
mod records;
mod texts;

/// A survey with a line for each field.
pub(super) fn sample() -> String {
    tables(SURVEY)
}

const LABELS: &str = r#"
[labels]
names = ["de", "fr"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
epsilon_label = 1.5
"#;

const PROFILES: &str = r#"
[labels]
names = ["de", "fr", "1.0"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
profiles = { fr = [1, 3], "1.0" = [2] }
"#;

/// Some of the parties, sharing all that they should not share.
const PARTIES: &str = r#"
[parties.analyzer]
operator = "Z"
jurisdiction = "CH"
signing_key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

[[parties.instances]]
hops = [
  { operator = "X", jurisdiction = "DE", signing_key = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c" },
  { operator = "Y", jurisdiction = " ch", signing_key = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025" },
]

[[parties.instances]]
hops = [
  { operator = "x ", jurisdiction = "US-CA", signing_key = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025" },
]
"#;

const KEY_A: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
const KEY_B: &str = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
