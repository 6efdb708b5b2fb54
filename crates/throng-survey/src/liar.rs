//! Poisoning: what one respondent who lies can do to an estimate, as plans and releases say it.

use serde::{Deserialize, Serialize};
use throng_account::liar::OneLiar;
use throng_dp::fragmenting::Assignment;

use crate::{Error, Survey};

/// The influence of one liar on one estimate, in respondents, as results show it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneLiarJson {
    /// How many envelopes with fragments of one value are counted of one respondent at most.
    pub envelopes: u64,
    /// By how much an estimate rises at most.
    pub estimate_up_max: f64,
    /// By how much it falls at most.
    pub estimate_down_max: f64,
}

impl From<OneLiar> for OneLiarJson {
    fn from(liar: OneLiar) -> Self {
        let OneLiar { envelopes, up, down } = liar;
        Self { envelopes, estimate_up_max: up, estimate_down_max: down }
    }
}

impl From<OneLiarJson> for OneLiar {
    fn from(shown: OneLiarJson) -> Self {
        Self { envelopes: shown.envelopes, up: shown.estimate_up_max, down: shown.estimate_down_max }
    }
}

/// The influence of one liar, the largest over all labels: they differ in how many instances count a value.
pub fn of(survey: &Survey) -> Result<OneLiar, Error> {
    let mechanism = survey.mechanism()?;
    let labels = survey.labels.as_ref().map_or(0..=0, |labels| 1..=labels.names.len() as u32);
    let mut worst = OneLiar { envelopes: 0, up: 0.0, down: 0.0 };
    for label in labels {
        let receiving = survey.receiving(label).len() as u32;
        let assignment = Assignment::new(mechanism.coins().draws(), receiving)?;
        let OneLiar { envelopes, up, down } = OneLiar::of(&mechanism, survey.delivery.envelopes, assignment);
        worst = OneLiar {
            envelopes: worst.envelopes.max(envelopes),
            up: worst.up.max(up),
            down: worst.down.max(down),
        };
    }
    Ok(worst)
}

/// The influence of one liar in words, for whoever plans.
pub fn in_words(liar: &OneLiar, body: u32, noise_threshold: f64) -> String {
    let instances = liar.envelopes / u64::from(body.max(1));
    let signal = if liar.up > noise_threshold {
        "; that is beyond where noise ends, so a release marks what one liar could have made"
    } else {
        ""
    };
    format!(
        "can have {} envelopes counted for one value ({body} for each of {instances} instances): its estimate is up to \
         {:.1} too high, or {:.1} too low{signal}",
        liar.envelopes,
        up_to_tenths(liar.up),
        up_to_tenths(liar.down)
    )
}

/// The influence of one liar in words, for whoever is asked.
pub fn consent(liar: &OneLiar) -> String {
    format!(
        "Nobody checks that answers are true: one participant who breaks the rules can change a published count by up to {} \
         people.",
        liar.up.max(liar.down).ceil()
    )
}

/// A limit, rounded up to tenths.
pub fn up_to_tenths(people: f64) -> f64 {
    (10.0 * people).ceil() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use throng_testing::survey::{SURVEY, with};

    fn survey(encoding: &str, instances: u32) -> Survey {
        let delivery = format!("{{ instances = {instances}, hops = 2, envelopes = 24, cover = \"chaff\" }}");
        let fields = [
            ("encoding", encoding),
            ("randomizer", r#"{ kind = "attribute-fragments", epsilon_local = 2.0 }"#),
            ("crowd", r#"{ respondents_min = 3000, honest_fraction = 0.9, enrolment = "credential" }"#),
            ("delivery", &delivery),
        ];
        Survey::from_toml(&with(SURVEY, &fields)).unwrap()
    }

    /// epsilon_local 2: a bit flips with probability p = 1/(1 + e^2), and an estimate is (sum - n p)/(1 - 2p).
    #[test]
    fn a_plan_says_what_one_liar_can_do() {
        let p = 1.0 / (1.0 + 2f64.exp());
        let near = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-9, "{got} {expected}");
        let one_hot = of(&survey(r#"{ kind = "one-hot", domain = 10 }"#, 5)).unwrap();
        assert_eq!(one_hot.envelopes, 24, "a value is counted by one instance");
        near(one_hot.up, (24.0 - p) / (1.0 - 2.0 * p));
        near(one_hot.down, (1.0 - p) / (1.0 - 2.0 * p));
        let record =
            r#"{ kind = "record", attributes = [{ name = "a", values = 4 }, { name = "b", values = 6 }] }"#;
        near(of(&survey(record, 5)).unwrap().up, 2.0 * one_hot.up);
        let sketch =
            of(&survey(r#"{ kind = "sketch", domain = 1000, rows = 8, cells = 16, seed = 1 }"#, 5)).unwrap();
        assert_eq!(sketch.envelopes, 5 * 24, "its cells are counted by all");
        near(sketch.up, 120.0 / (1.0 - 2.0 * p));
        let words = in_words(&one_hot, 24, 20.0);
        assert!(words.contains("24 envelopes") && words.contains("24 for each of 1 instances"), "{words}");
        assert!(
            words.contains("up to 31.4 too high, or 1.2 too low; that is beyond where noise ends"),
            "{words}"
        );
        assert!(!in_words(&one_hot, 24, 40.0).contains("beyond"));
        assert!(consent(&one_hot).contains("by up to 32 people"), "{}", consent(&one_hot));
    }

    /// Of two labels, one of which keeps to a single instance, the one is said under which a liar can do more, in either order.
    #[test]
    fn the_worst_label_is_said() {
        let labelled = |first: &str, second: &str, profiles: &str| {
            let mut survey = survey(r#"{ kind = "one-hot", domain = 10 }"#, 3);
            survey.randomizer = crate::survey::Randomizer::ReportFragments {
                epsilon_backstop: 2.0,
                epsilon_fragment: 1.5,
                fragments: 4,
                answer_changes: None,
            };
            survey.labels = Some(crate::survey::Labels {
                names: vec![first.into(), second.into()],
                epsilon_deletion: 0.2,
                delta_deletion: 1e-9,
                epsilon_label: None,
                profiles: Some([(profiles.to_owned(), vec![2])].into()),
            });
            of(&survey).unwrap()
        };
        let (one_last, one_first) = (labelled("all", "one", "one"), labelled("one", "all", "one"));
        assert_eq!(one_last, one_first);
        assert_eq!(one_last.envelopes, 72, "three instances have fragments of a value");
        let alone = labelled("one", "other", "one");
        assert_eq!(alone, one_last, "a label without a profile is one of all instances");
    }
}
