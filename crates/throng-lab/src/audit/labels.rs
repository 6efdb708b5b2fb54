//! The game on a label that is not public: a respondent has one label of a survey, or another one.

use anyhow::{Context, Result, ensure};
use chacha20::ChaCha8Rng;
use throng_dp::Epsilon;
use throng_encode::label;
use throng_wire::Survey;

use super::game::{Game, Statistic, World};

/// Labels as respondents draw them.
#[derive(Debug)]
pub struct DrawnLabels {
    survey: Survey,
    /// The names and numbers of the labels of both worlds.
    labels: [(String, u32); 2],
}

impl DrawnLabels {
    /// The first two labels of a survey.
    pub fn new(survey: Survey) -> Result<Self> {
        let labels = survey.labels.as_ref().context("the survey has no labels")?;
        ensure!(labels.names.len() >= 2, "one label alone hides among no others");
        let labels = [(labels.names[0].clone(), 1), (labels.names[1].clone(), 2)];
        Ok(Self { survey, labels })
    }

    /// What is promised about them (replacement); none where labels are public.
    pub fn claimed(survey: &Survey) -> Result<Option<Epsilon>> {
        let epsilon = survey.labels.as_ref().and_then(|labels| labels.epsilon_label);
        Ok(epsilon.map(Epsilon::new).transpose()?)
    }
}

impl Game for DrawnLabels {
    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic { name: "label", outcomes: 3 }]
    }

    fn play(&self, world: World, games: u64, counts: &mut [Vec<u64>], rng: &mut ChaCha8Rng) -> Result<()> {
        let [first, second] = &self.labels;
        let (name, _) = if world == World::First { first } else { second };
        for _ in 0..games {
            let drawn = label::draw(&self.survey, Some(name), rng)?;
            // From the second one's to the first one's.
            let outcome = if drawn == second.1 { 0 } else { 1 + usize::from(drawn == first.1) };
            counts[0][outcome] += 1;
        }
        Ok(())
    }
}
