//! `throng respond` as typed.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use throng_wire::SurveyHash;

use throng_respondent::{Answer, Origin, Respondent};

/// The arguments of `throng respond`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  throng respond --survey survey.toml --enrol hand-in --state state
      draw a secret of your own; hand each file in hand-in to the first hop that it is for
  throng respond --survey survey.toml --state state
      ask for your answer, seal it for the next epoch, wait for the times, and send
  throng respond --survey survey.toml --state state --value - < answer --no-wait
      the answer from standard input; leave what is sealed in the outbox
  throng respond --survey people.toml --value 3,1,- --state state
      a record: a number for each attribute of the survey, in order; - where there is nothing to say.
      For scripts: like this it is in the shell's history, and in the list of processes until sealed
  throng respond --state state
      send what is in the outbox
  throng respond --survey survey.toml --absent --state state
      nothing to say: what is sent looks like any other answer
  throng respond --state state --show
      what was sent, when, and under which guarantee
  throng respond --state state --check --statement epoch.statements
      check the receipts, and what the hops said about the epoch; with --survey, by the survey's files of today
  throng respond --state state --page
      all of this in a browser: prints an address that only this machine can open, until Ctrl-C",
    group = clap::ArgGroup::new("purpose").args(["value", "absent", "check", "enrol"]))]
pub struct RespondArgs {
    /// Where everything is kept that must not be lost: ledger, backstops, outbox, receipts
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,

    /// The survey file, with its .signatures, .addresses and .keys beside it; with --check, to take over what is new in them
    #[arg(long, value_name = "FILE.toml")]
    pub survey: Option<PathBuf>,

    /// The value, instead of asking for it: its name, or a number below the survey's domain; for each attribute one or -. A single - reads
    /// standard input; anything else shows in the shell's history, and in the list of processes until it is sealed
    #[arg(long, value_name = "V", requires = "survey", allow_hyphen_values = true)]
    pub value: Option<ValueArg>,

    /// There is nothing to say; this is sent like any answer
    #[arg(long, requires = "survey")]
    pub absent: bool,

    /// The label, in a survey that has some; with a trust profile it says which instances get your fragments
    #[arg(long, value_name = "NAME", requires = "survey")]
    pub label: Option<String>,

    /// Draw a secret of your own, once, and write into this directory what each first hop has to know of it; nothing is sent
    #[arg(long, value_name = "DIR", requires = "survey", conflicts_with_all = ["credential", "epsilon_limit", "show", "no_wait"])]
    pub enrol: Option<PathBuf>,

    /// The file of a credential that you were given, in a survey that asks for one and that you did not --enrol for
    #[arg(long, value_name = "FILE")]
    pub credential: Option<PathBuf>,

    /// Which epoch to answer in; with the next one, nobody sees when you answered
    #[arg(long, value_enum, default_value_t = EpochArg::Next, requires = "survey")]
    pub epoch: EpochArg,

    /// Do not wait: leave an answer in the outbox; without --survey send only what is due now
    #[arg(long)]
    pub no_wait: bool,

    /// Your own limit for what all answers to all surveys spend together; it is kept. Nothing is answered without one: on a
    /// terminal the first answer asks for it
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub epsilon_limit: Option<f64>,

    /// Show everything that was sent or waits, and under which guarantee; without --survey nothing is sent
    #[arg(long)]
    pub show: bool,

    /// Check all receipts; nothing is sent
    #[arg(long)]
    pub check: bool,

    /// With --check: signed epoch statements of hops, as they publish them, one after another
    #[arg(long, value_name = "FILE", requires = "check")]
    pub statement: Vec<PathBuf>,

    /// Serve a page about you on this machine, for this machine: what is sent, what it spends, whether receipts are right
    #[arg(long, conflicts_with_all = ["survey", "credential", "no_wait", "epsilon_limit", "show", "check", "made"])]
    pub page: bool,

    /// With --page: the port on 127.0.0.1; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "page")]
    pub port: u16,

    /// Send on, and then tell of this answer: how a process that has sealed one goes on without the value
    #[arg(long, hide = true, value_name = "SURVEY:EPOCH:ORIGIN", conflicts_with_all = ["survey", "no_wait", "epsilon_limit", "check"])]
    pub made: Option<MadeArg>,
}

/// An answer that was made before this program began: which one, and what it was drawn from. It says nothing of the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeArg {
    survey: SurveyHash,
    epoch: u64,
    origin: Origin,
}

impl MadeArg {
    /// The argument for an answer.
    pub fn of(answer: &Answer) -> Self {
        Self { survey: answer.survey, epoch: answer.epoch, origin: answer.origin }
    }

    /// The answer.
    pub fn find(&self, respondent: &Respondent) -> anyhow::Result<Answer> {
        let answer = respondent.answer_of(&self.survey, self.epoch)?;
        let answer = answer.context("the answer is not in the state directory any more")?;
        Ok(Answer { origin: self.origin, ..answer })
    }
}

impl std::fmt::Display for MadeArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.survey, self.epoch, name(self.origin))
    }
}

impl std::str::FromStr for MadeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (survey, rest) = text.split_once(':')?;
            let (epoch, origin) = rest.split_once(':')?;
            let origin = ORIGINS.into_iter().find(|one| name(*one) == origin)?;
            Some(Self { survey: survey.parse().ok()?, epoch: epoch.parse().ok()?, origin })
        };
        read().ok_or_else(|| "write the hash of a survey, an epoch, and now, as-first or before".to_owned())
    }
}

fn name(origin: Origin) -> &'static str {
    match origin {
        Origin::Now => "now",
        Origin::First => "as-first",
        Origin::Before => "before",
    }
}

const ORIGINS: [Origin; 3] = [Origin::Now, Origin::First, Origin::Before];

/// Which epoch to answer in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EpochArg {
    /// The next one, at any time
    Next,
    /// The current one, in what is left of it
    Current,
}

/// A value as typed. It is not shown in errors or for debugging, not even one that is no number.
#[derive(Clone)]
pub struct ValueArg(pub String);

impl std::str::FromStr for ValueArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Debug for ValueArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ValueArg(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_made_is_named_in_one_way() {
        let hash = "ab".repeat(32);
        for origin in ORIGINS {
            let text = format!("{hash}:20500:{}", name(origin));
            assert_eq!(text.parse::<MadeArg>().unwrap().to_string(), text);
        }
        for wrong in
            ["", "ab:1:now", &format!("{hash}:x:now"), &format!("{hash}:1:never"), &format!("{hash}:1")]
        {
            assert!(wrong.parse::<MadeArg>().is_err(), "{wrong}");
        }
    }
}
