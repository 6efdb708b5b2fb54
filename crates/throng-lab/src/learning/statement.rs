//! Guarantees of trainings, in numbers and in words.

use std::fmt;

use indicatif::HumanCount;
use serde::Serialize;

use throng_account::rounding::at_most_to;

throng_simulate::choices! {
    /// Whose reports a simulation is of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Mode {
        /// Every report stands for another respondent, even if several are about one example, as in the paper's tables
        SimulateBatch = "simulate-batch",
        /// All reports about one example are those of one respondent, as in a deployment with these people
        Deploy = "deploy",
    }
}

/// What a training guarantees.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "protocol", rename_all = "lowercase")]
pub enum Statement {
    /// LDP-SGD.
    Local(LocalStatement),
    /// DP-SGD by a trusted server.
    Central(CentralStatement),
    /// Nothing.
    Plain,
}

/// What LDP-SGD guarantees. Every ε is for replacement: you hold this example, or another one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LocalStatement {
    /// Which worlds are compared.
    pub neighbors: &'static str,
    /// The randomizer.
    pub randomizer: &'static str,
    /// What one report guarantees by itself, computed from its coins.
    pub epsilon_local: f64,
    /// Whose reports they are taken to be.
    pub mode: Mode,
    /// Whether those who are not asked send chaff.
    pub cover: bool,
    /// The allowance beside `epsilon_central`: `throng_dp::Delta` says what that is.
    pub delta: f64,
    /// How many steps: T.
    pub steps: u64,
    /// How many reports in each: m.
    pub reports: u64,
    /// How many of them are about one example: tau.
    pub reports_each: u32,
    /// How many respondents there are in all: n.
    pub respondents: u64,
    /// How many of them the guarantee takes a step to ask: `reports`, or in a deployment `reports / reports_each`.
    pub asked: u64,
    /// `asked / respondents`, drawn without replacement.
    pub sampling_rate: f64,
    /// What is promised: one of the next two.
    pub epsilon_central: f64,
    /// With credit for sampling: if nobody can tell who was asked.
    pub epsilon_central_sampled: f64,
    /// Without: for someone who is known to be asked in every step.
    pub epsilon_central_unsampled: f64,
    /// What the paper's theorems would say; none where they do not apply.
    pub epsilon_central_as_paper: Option<f64>,
    /// With all reports about one example as one respondent's, where the mode takes them for those of several.
    pub grouped: Option<GroupedGuarantee>,
    /// What one respondent's reports guarantee, to whoever sees them with their sender.
    pub local: LocalLosses,
}

/// A training in which all reports about one example are one respondent's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupedGuarantee {
    /// How many respondents a step asks.
    pub respondents: u64,
    /// What all reports of one of them in one step guarantee by themselves.
    pub epsilon_step: f64,
    /// With credit for sampling.
    pub epsilon_central_sampled: f64,
    /// Without.
    pub epsilon_central_unsampled: f64,
}

/// What the reports of one respondent guarantee by themselves, without any shuffling.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LocalLosses {
    /// In one step.
    pub step: f64,
    /// In an epoch, if it asked everybody once, as the paper assumes. Steps here draw anew, and do not.
    pub epoch_if_asked_once: f64,
    /// In an epoch, for someone who is asked in all of its steps; it has as many as it takes to ask as many times as there are
    /// respondents. For an epoch to be all that is seen, each has to go through another instance, and only one is observed.
    pub epoch_worst: f64,
    /// How many steps that is.
    pub epoch_steps: u64,
    /// In all steps, for someone who is asked in all of them.
    pub lifetime_worst: f64,
    /// In how many steps a respondent is asked on average.
    pub steps_expected: f64,
}

/// What DP-SGD guarantees, for replacement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CentralStatement {
    /// Which worlds are compared.
    pub neighbors: &'static str,
    /// What is promised.
    pub epsilon_central: f64,
    /// The allowance beside it: `throng_dp::Delta` says what that is.
    pub delta: f64,
    /// The standard deviation of the noise on each coordinate of the sum, in clipping norms.
    pub noise: f64,
    /// How many respondents there are in all.
    pub respondents: u64,
    /// How many of them take part in a step.
    pub asked: u64,
    /// `asked / respondents`, drawn without replacement.
    pub sampling_rate: f64,
    /// How many steps.
    pub steps: u64,
}

impl Statement {
    /// What is promised at the statement's δ; none if nothing is.
    pub fn epsilon_central(&self) -> Option<f64> {
        match self {
            Self::Local(local) => Some(local.epsilon_central),
            Self::Central(central) => Some(central.epsilon_central),
            Self::Plain => None,
        }
    }

    /// The same in sentences, each of which stands by itself.
    pub fn sentences(&self) -> Vec<String> {
        match self {
            Self::Local(local) => local.sentences(),
            Self::Central(central) => central.sentences(),
            Self::Plain => vec![
                "No guarantee: gradients reached the server as they are. Whoever has the model may learn from it \
                 whom it was trained on."
                    .into(),
            ],
        }
    }
}

impl LocalStatement {
    fn sentences(&self) -> Vec<String> {
        let mut all = vec![
            format!(
                "Each report is randomized before it is sent: epsilon_local {} (replacement), whoever sees it.",
                short(self.epsilon_local)
            ),
            format!(
                "There are {} steps of {} reports, {} about each example drawn; a step asks {} of {} respondents, drawn \
                 without replacement ({:.1} %).",
                HumanCount(self.steps),
                HumanCount(self.reports),
                self.reports_each,
                HumanCount(self.asked),
                HumanCount(self.respondents),
                100.0 * self.sampling_rate
            ),
            self.central(),
        ];
        if let Some(grouped) = &self.grouped {
            all.push(format!(
                "That is the guarantee of the simulated deployment, in which every report of a step comes from another \
                 respondent. Here {} of them are about the same example. Taken as the reports of one person, {} people in a \
                 step at epsilon_local {} each, the guarantee is epsilon_central {} with credit for sampling and {} \
                 without.",
                self.reports_each,
                HumanCount(grouped.respondents),
                short(grouped.epsilon_step),
                short(grouped.epsilon_central_sampled),
                short(grouped.epsilon_central_unsampled)
            ));
        }
        all.push(match self.epsilon_central_as_paper {
            Some(epsilon) => {
                format!("The paper's own theorems would say epsilon_central {}.", short(epsilon))
            }
            None => "The paper's own theorems say nothing about this training: they do not apply.".into(),
        });
        let local = &self.local;
        all.push(format!(
            "Whoever sees a respondent's reports with their sender is held to epsilon_local {} in a step, and over all steps to \
             {}, for someone asked in all of them; on average a respondent is asked in {:.1} steps. If each epoch of {} steps \
             goes through another instance, and only one of them is observed, to {}{}.",
            short(local.step),
            short(local.lifetime_worst),
            local.steps_expected,
            local.epoch_steps,
            short(local.epoch_worst),
            if local.epoch_steps > 1 {
                format!(
                    ", since every step draws anew and may ask the same respondent; it would be {} if an epoch asked everybody \
                     once, as the paper assumes",
                    short(local.epoch_if_asked_once)
                )
            } else {
                String::new()
            }
        ));
        if self.randomizer == "privunit" {
            all.push(
                "PrivUnit's reports are seeds chosen by what they expand to, so their privacy leans on ChaCha being \
                 indistinguishable from random; that of sign reports does not."
                    .into(),
            );
        }
        all
    }

    fn central(&self) -> String {
        let start = format!(
            "The model guarantees epsilon_central {} at delta {:e} (replacement)",
            short(self.epsilon_central),
            self.delta
        );
        let whole = self.asked == self.respondents;
        match (self.mode, self.cover) {
            _ if whole => format!("{start}; every step asks everybody, so no credit is taken for sampling."),
            (Mode::Deploy, false) => format!(
                "{start}, without credit for sampling: whoever sees that somebody sends knows that they were asked. If those \
                 who are not asked sent chaff (--cover), it would be {}.",
                short(self.epsilon_central_sampled)
            ),
            (Mode::Deploy, true) => format!(
                "{start}, with credit for sampling: it holds if those who are not asked send chaff, so that nobody can \
                 tell who was asked. Without that it is {}.",
                short(self.epsilon_central_unsampled)
            ),
            (Mode::SimulateBatch, _) => format!(
                "{start}, with credit for sampling: it holds if nobody can tell who was asked. Without that credit it is \
                 {}.",
                short(self.epsilon_central_unsampled)
            ),
        }
    }
}

impl CentralStatement {
    fn sentences(&self) -> Vec<String> {
        vec![
            format!(
                "The model guarantees epsilon_central {} at delta {:e} (replacement): a trusted server adds normal noise of {} \
                 clipping norms to the sum of {} gradients in each of {} steps, drawn without replacement from {} \
                 respondents ({:.1} %), and tells nobody whom it drew.",
                short(self.epsilon_central),
                self.delta,
                short(self.noise),
                HumanCount(self.asked),
                HumanCount(self.steps),
                HumanCount(self.respondents),
                100.0 * self.sampling_rate
            ),
            "The noise is drawn as it is accounted: gradients are clipped and rounded to a grid before they are added, and the \
             noise is exactly normal, rounded down to the same grid."
                .into(),
            "There is no local guarantee: the server sees every gradient as it is.".into(),
        ]
    }
}

/// Plain words, a sentence or two on each line.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentences().join("\n"))
    }
}

/// Four digits, rounded up: what is printed is promised as well.
fn short(epsilon: f64) -> String {
    if epsilon == 0.0 || !epsilon.is_finite() {
        return epsilon.to_string();
    }
    let digits = (3 - epsilon.log10().floor() as i32).clamp(0, 9);
    format!("{:.*}", digits as usize, at_most_to(digits, epsilon))
}

#[cfg(test)]
mod tests {
    use throng_account::amplification::blanket::Inequality;
    use throng_account::composition::{DpSgd, LdpSgd};
    use throng_dp::{Delta, Epsilon, PrivUnit};
    use throng_learn::{Average, MechanismName, Protocol, Rate, Settings, Simulation};

    use super::super::accountant::Accountant;
    use super::*;

    fn settings(mechanism: MechanismName, reports_each: u32) -> Settings {
        Settings {
            protocol: Protocol::Local {
                mechanism,
                epsilon: Epsilon::new(1.9).unwrap(),
                clip: 1.0,
                reports_each,
                simulation: Simulation::Fast,
            },
            examples_each_step: 1_000 / reports_each as usize,
            steps: 40,
            rate: Rate::Constant(1.0),
            momentum: 0.0,
            average: Average::Last,
            radius: None,
        }
    }

    fn local(mechanism: MechanismName, reports_each: u32, mode: Mode, cover: bool) -> LocalStatement {
        let accountant =
            Accountant::new(&settings(mechanism, reports_each), 50, 6_000, mode, cover, delta()).unwrap();
        match accountant.statement(40).unwrap() {
            Statement::Local(local) => local,
            other => panic!("{other:?}"),
        }
    }

    fn delta() -> Delta {
        Delta::new(1e-5).unwrap()
    }

    /// What the accountant of the paper's Section VI says itself.
    fn epsilon(training: LdpSgd) -> f64 {
        training.guarantee(delta()).unwrap().epsilon().value()
    }

    #[test]
    fn numbers_are_those_of_the_accountant() {
        let said = local(MechanismName::Sign, 1, Mode::SimulateBatch, false);
        let coin = Epsilon::new(said.epsilon_local).unwrap();
        assert!((said.epsilon_local - 1.9).abs() < 1e-9);
        let direct = LdpSgd::new(6_000, 1_000, coin, 40).unwrap();
        assert_eq!(said.epsilon_central, epsilon(direct));
        assert_eq!(said.epsilon_central_sampled, epsilon(direct));
        assert_eq!(said.epsilon_central_unsampled, epsilon(direct.without_sampling()));
        let paper = direct.as_paper(Inequality::Bennett, delta()).unwrap().epsilon().value();
        assert_eq!(said.epsilon_central_as_paper, Some(paper));
        assert!(said.grouped.is_none(), "one report each: there is nothing to group");
        let spent = direct.local().unwrap();
        assert_eq!(
            (said.local.step, said.local.lifetime_worst),
            (coin.value(), spent.lifetime_worst.epsilon().value())
        );
        // Six steps ask as many as there are, and somebody may be asked by all of them.
        assert_eq!(said.local.epoch_steps, 6);
        let text = Statement::Local(said.clone()).to_string();
        assert!(text.contains("epoch of 6 steps") && text.contains("is observed, to 11.40, since"), "{text}");

        let quiet = local(MechanismName::PrivUnit, 1, Mode::SimulateBatch, false);
        let mechanism = PrivUnit::new(50, 1.0, Epsilon::new(1.9).unwrap()).unwrap();
        let direct = LdpSgd::priv_unit(6_000, 1_000, &mechanism, 40).unwrap();
        assert_eq!(quiet.epsilon_central, epsilon(direct));
        assert!(Statement::Local(quiet).to_string().contains("leans on ChaCha"));
    }

    #[test]
    fn a_deployment_takes_credit_for_sampling_only_with_cover() {
        let grouped = |reports_each| {
            LdpSgd::grouped(6_000, 1_000, reports_each, Epsilon::new(1.9).unwrap(), 40).unwrap()
        };
        for each in [1, 4] {
            let bare = local(MechanismName::Sign, each, Mode::Deploy, false);
            let covered = local(MechanismName::Sign, each, Mode::Deploy, true);
            assert_eq!(bare.asked, 1_000 / u64::from(each), "people, not reports");
            assert!((bare.epsilon_central - epsilon(grouped(each).without_sampling())).abs() < 1e-6);
            assert!((covered.epsilon_central - epsilon(grouped(each))).abs() < 1e-6);
            assert!(bare.epsilon_central > covered.epsilon_central);
            assert_eq!(bare.epsilon_central_sampled, covered.epsilon_central);
            assert!(bare.grouped.is_none());
            assert!(Statement::Local(bare).to_string().contains("without credit for sampling"));
            assert!(Statement::Local(covered).to_string().contains("send chaff"));
        }
    }

    #[test]
    fn a_simulated_batch_states_what_it_would_be_for_the_people_there_are() {
        let said = local(MechanismName::Sign, 4, Mode::SimulateBatch, false);
        let one = local(MechanismName::Sign, 1, Mode::SimulateBatch, false);
        assert_eq!(said.epsilon_central, one.epsilon_central, "as if every report were another person's");
        let grouped = said.grouped.clone().unwrap();
        let deployed = local(MechanismName::Sign, 4, Mode::Deploy, false);
        assert_eq!(grouped.epsilon_central_unsampled, deployed.epsilon_central);
        assert_eq!(grouped.epsilon_central_sampled, deployed.epsilon_central_sampled);
        assert!((grouped.epsilon_step - 7.6).abs() < 1e-6 && grouped.respondents == 250);
        let text = Statement::Local(said.clone()).to_string();
        for part in [
            "simulated deployment",
            &short(said.epsilon_central),
            &short(grouped.epsilon_central_sampled),
            &short(grouped.epsilon_central_unsampled),
        ] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
    }

    #[test]
    fn a_trusted_server_and_no_privacy_say_what_they_are() {
        let central = Settings {
            protocol: Protocol::Central { clip: 1.0, noise: 2.0 },
            examples_each_step: 1_000,
            ..settings(MechanismName::Sign, 1)
        };
        let account = |settings: &Settings| {
            Accountant::new(settings, 50, 6_000, Mode::SimulateBatch, false, delta()).unwrap()
        };
        let direct = DpSgd::new(6_000, 1_000, 2.0, 40).unwrap().guarantee(delta()).unwrap().epsilon();
        let said = account(&central).statement(40).unwrap();
        assert_eq!(said.epsilon_central(), Some(direct.value()));
        assert!(
            said.to_string().contains("no local guarantee") && said.to_string().contains("exactly normal")
        );
        let plain = account(&Settings { protocol: Protocol::Plain, ..central }).statement(40).unwrap();
        assert_eq!(plain.epsilon_central(), None);
        assert!(plain.to_string().starts_with("No guarantee"));
    }

    #[test]
    fn a_batch_of_more_people_than_there_are_is_refused() {
        let large = settings(MechanismName::Sign, 4);
        let account = |mode| Accountant::new(&large, 50, 500, mode, false, delta());
        assert!(account(Mode::SimulateBatch).unwrap_err().to_string().contains("--batch 500 or less"));
        assert!(account(Mode::Deploy).is_ok(), "250 people send four reports each");
    }

    #[test]
    fn what_is_printed_is_never_below_what_is_proved() {
        for (epsilon, printed) in [
            (1.9, "1.900"),
            (0.801_23, "0.8013"),
            (18.0001, "18.01"),
            (3800.0, "3800"),
            (0.0, "0"),
            (12_345.6, "12346"),
        ] {
            assert_eq!(short(epsilon), printed);
        }
        assert_eq!(short(f64::INFINITY), "inf");
    }
}
