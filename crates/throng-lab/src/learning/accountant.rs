//! Privacy accounting of a training, whatever its protocol.

use anyhow::{Result, ensure};
use throng_account::amplification::blanket::Inequality;
use throng_account::composition::{DpSgd, LdpSgd};
use throng_dp::{CentralGuarantee, Delta, Epsilon, Replacement};
use throng_learn::{Mechanism, Protocol, Settings};

use super::Mode;
use super::statement::{CentralStatement, GroupedGuarantee, LocalLosses, LocalStatement, Statement};

/// Accounts for a training.
#[derive(Clone, Debug)]
pub(crate) struct Accountant {
    respondents: u64,
    examples: u64,
    delta: Delta,
    protocol: AccountedProtocol,
}

/// A protocol, with the composition that accounts for it.
#[derive(Clone, Debug)]
enum AccountedProtocol {
    Nothing,
    Central(DpSgd<Replacement>),
    Local(Box<Reports>),
}

/// The reports of a training in which respondents randomize.
#[derive(Clone, Debug)]
struct Reports {
    mechanism: Mechanism,
    each: u32,
    mode: Mode,
    cover: bool,
    /// What the guarantee is stated for, as if sampling were hidden.
    sampled: LdpSgd,
    /// All reports of one example as those of one respondent.
    grouped: LdpSgd,
}

impl Accountant {
    pub(crate) fn new(
        settings: &Settings,
        dimension: usize,
        respondents: u64,
        mode: Mode,
        cover: bool,
        delta: Delta,
    ) -> Result<Self> {
        let examples = settings.examples_each_step as u64;
        let protocol = match settings.protocol {
            Protocol::Plain => AccountedProtocol::Nothing,
            Protocol::Central { noise, .. } => {
                AccountedProtocol::Central(DpSgd::new(respondents, examples, noise, settings.steps)?)
            }
            Protocol::Local { mechanism, epsilon, clip, reports_each, .. } => {
                let mechanism = Mechanism::new(mechanism, dimension, clip, epsilon)?;
                let (reports, steps) = (settings.reports(), settings.steps);
                let grouped = if reports_each == 1 {
                    single(&mechanism, respondents, reports, steps)?
                } else {
                    LdpSgd::grouped(respondents, reports, reports_each, mechanism.epsilon(), steps)?
                };
                let sampled = match mode {
                    Mode::Deploy => grouped,
                    Mode::SimulateBatch => {
                        ensure!(
                            reports <= respondents,
                            "a step of {reports} reports simulates as many distinct respondents, and there are only \
                             {respondents}; give --batch {respondents} or less"
                        );
                        single(&mechanism, respondents, reports, steps)?
                    }
                };
                let each = reports_each;
                AccountedProtocol::Local(Box::new(Reports { mechanism, each, mode, cover, sampled, grouped }))
            }
        };
        Ok(Self { respondents, examples, delta, protocol })
    }

    /// epsilon_central after each of these numbers of steps; none if nothing is promised.
    pub(crate) fn epsilons(&self, steps: &[u64]) -> Result<Vec<Option<f64>>> {
        Ok(match &self.protocol {
            AccountedProtocol::Nothing => vec![None; steps.len()],
            AccountedProtocol::Central(training) => {
                let noise = training.noise_multiplier();
                steps.iter().map(|&steps| self.central(noise, steps).map(Some)).collect::<Result<_>>()?
            }
            AccountedProtocol::Local(reports) => {
                let epsilons = reports.claimed().epsilons(steps, self.delta)?;
                epsilons.into_iter().map(|epsilon| Some(epsilon.value())).collect()
            }
        })
    }

    /// The largest number of steps that cost no more; none if nothing is promised.
    pub(super) fn steps_within(&self, epsilon: Epsilon) -> Result<Option<u64>> {
        Ok(match &self.protocol {
            AccountedProtocol::Nothing => None,
            AccountedProtocol::Central(training) => {
                let target = CentralGuarantee::new(epsilon, self.delta);
                // One step that costs more is no failure.
                Some(training.longest(target).map_or(0, |training| training.steps()))
            }
            AccountedProtocol::Local(reports) => Some(reports.claimed().steps_within(epsilon, self.delta)?),
        })
    }

    /// All that is promised about a training of `steps` steps.
    pub(super) fn statement(&self, steps: u64) -> Result<Statement> {
        let delta = self.delta.value();
        match &self.protocol {
            AccountedProtocol::Nothing => Ok(Statement::Plain),
            AccountedProtocol::Central(training) => Ok(Statement::Central(CentralStatement {
                neighbors: "replacement",
                epsilon_central: self.central(training.noise_multiplier(), steps)?,
                delta,
                noise: training.noise_multiplier(),
                respondents: self.respondents,
                asked: self.examples,
                sampling_rate: self.examples as f64 / self.respondents as f64,
                steps,
            })),
            AccountedProtocol::Local(reports) => {
                let epsilon = |training: LdpSgd| -> Result<f64> {
                    Ok(training.epsilons(&[steps], self.delta)?[0].value())
                };
                let (sampled, unsampled) =
                    (epsilon(reports.sampled)?, epsilon(reports.sampled.without_sampling())?);
                let grouped = (reports.mode == Mode::SimulateBatch && reports.each > 1).then(|| {
                    Ok::<_, anyhow::Error>(GroupedGuarantee {
                        respondents: self.examples,
                        epsilon_step: reports.mechanism.epsilon().value() * f64::from(reports.each),
                        epsilon_central_sampled: epsilon(reports.grouped)?,
                        epsilon_central_unsampled: epsilon(reports.grouped.without_sampling())?,
                    })
                });
                let asked = match reports.mode {
                    Mode::SimulateBatch => self.examples * u64::from(reports.each),
                    Mode::Deploy => self.examples,
                };
                let training = reports.sampled.with_steps(steps);
                let local = training.local()?;
                let as_paper = training.as_paper(Inequality::Bennett, self.delta);
                Ok(Statement::Local(LocalStatement {
                    neighbors: "replacement",
                    randomizer: reports.name(),
                    epsilon_local: reports.mechanism.epsilon().value(),
                    mode: reports.mode,
                    cover: reports.cover,
                    delta,
                    steps,
                    reports: self.examples * u64::from(reports.each),
                    reports_each: reports.each,
                    respondents: self.respondents,
                    asked,
                    sampling_rate: asked as f64 / self.respondents as f64,
                    epsilon_central: if reports.takes_credit() { sampled } else { unsampled },
                    epsilon_central_sampled: sampled,
                    epsilon_central_unsampled: unsampled,
                    epsilon_central_as_paper: as_paper.ok().map(|said| said.epsilon().value()),
                    grouped: grouped.transpose()?,
                    local: LocalLosses {
                        step: local.step.epsilon().value(),
                        epoch_if_asked_once: local.epoch_if_asked_once.epsilon().value(),
                        epoch_worst: local.epoch_worst.epsilon().value(),
                        epoch_steps: local.epoch_steps,
                        lifetime_worst: local.lifetime_worst.epsilon().value(),
                        steps_expected: local.steps_expected,
                    },
                }))
            }
        }
    }
}

impl Accountant {
    /// The cost of a trusted server's training of `steps` steps.
    fn central(&self, noise: f64, steps: u64) -> Result<f64> {
        let training = DpSgd::new(self.respondents, self.examples, noise, steps)?;
        Ok(training.guarantee(self.delta)?.epsilon().value())
    }
}

impl Reports {
    /// The training that the guarantee is stated for.
    fn claimed(&self) -> LdpSgd {
        if self.takes_credit() { self.sampled } else { self.sampled.without_sampling() }
    }

    /// Being asked is worth something only if nobody can tell who was. A simulation says that it is of a deployment with
    /// cover, as the paper's numbers are.
    fn takes_credit(&self) -> bool {
        self.mode == Mode::SimulateBatch || self.cover
    }

    fn name(&self) -> &'static str {
        match self.mechanism {
            Mechanism::Sign(_) => "sign",
            Mechanism::PrivUnit(_) => "privunit",
        }
    }
}

/// A training with one report from each respondent of a step.
fn single(mechanism: &Mechanism, respondents: u64, crowd: u64, steps: u64) -> Result<LdpSgd> {
    Ok(match mechanism {
        Mechanism::Sign(_) => LdpSgd::new(respondents, crowd, mechanism.epsilon(), steps)?,
        Mechanism::PrivUnit(priv_unit) => LdpSgd::priv_unit(respondents, crowd, priv_unit, steps)?,
    })
}
