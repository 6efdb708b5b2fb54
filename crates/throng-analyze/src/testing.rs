//! What the tests of this crate share.

use throng_testing::survey::{SURVEY, with};
use throng_wire::Survey;

/// A survey without parties.
pub(crate) fn survey() -> Survey {
    let crowd = r#"{ respondents_min = 3000, honest_fraction = 0.9, enrolment = "credential" }"#;
    let delivery = r#"{ instances = 3, hops = 2, envelopes = 24, cover = "chaff" }"#;
    Survey::from_toml(&with(SURVEY, &[("crowd", crowd), ("delivery", delivery)])).expect("a survey")
}
