//! What the tests of this crate share.

use throng_wire::Survey;

/// A survey without parties.
pub(crate) fn survey() -> Survey {
    Survey::from_toml(SURVEY).expect("a survey")
}

const SURVEY: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 3000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 24, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;
