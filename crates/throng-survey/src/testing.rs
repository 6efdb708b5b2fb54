//! Surveys that the tests of this crate share.

pub(crate) const SURVEY: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 40, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

/// As wide as `SURVEY`.
pub(crate) const RECORD: &str = r#"
version = 1
name = "people"
question = "How old are you, of which sex, and where do you live?"
epoch_s = 86400
encoding = { kind = "record", attributes = [{ name = "age", values = 9 }, { name = "sex", values = 2 }, { name = "county", values = 773 }] }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 40, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

pub(crate) const FRAGMENTED: &str = r#"
version = 1
name = "which-pixel-daily"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "report-fragments", epsilon_backstop = 5.25, epsilon_fragment = 4.0, fragments = 4 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "open" }
delivery = { instances = 3, hops = 2, envelopes = 80, cover = "chaff" }
claim = { epsilon_central = 1.0, delta = 1e-6, neighbors = "removal", bound = "exact" }
"#;

/// Under the first label fragments go to all instances, under the second to two of them, under the third to one.
pub(crate) const PROFILES: &str = r#"
version = 1
name = "which-pixel"
question = "Which pixel of the drawing do you hold?"
epoch_s = 86400
encoding = { kind = "one-hot", domain = 784 }
randomizer = { kind = "attribute-fragments", epsilon_local = 5.25 }
crowd = { respondents_min = 100000, honest_fraction = 0.9, enrolment = "credential" }
delivery = { instances = 3, hops = 2, envelopes = 60, cover = "chaff" }
claim = { epsilon_central = 1.5, delta = 1e-6, neighbors = "removal", bound = "exact" }
[labels]
names = ["all", "two", "one"]
epsilon_deletion = 0.2
delta_deletion = 1e-9
profiles = { two = [1, 3], one = [2] }
"#;
