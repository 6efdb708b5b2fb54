//! `throng keygen` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use throng_wire::Place;

/// The arguments of `throng keygen`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_value_name = "STEP",
    subcommand_help_heading = "Further steps",
    after_help = "\
Examples, in the order of a deployment:
  throng keygen --out hop --operator 'Example Foundation' --jurisdiction CH
      each operator: an identity, and the lines that name it in the survey
  throng keygen sign --out hop --survey survey.toml --place instance-1-hop-1 \\
      --url https://hop.example:8443
      each operator, once the survey names everyone: the survey, its address and a first layer key
  throng keygen bundle --survey survey.toml analyzer hop other-hop
      whoever publishes the survey: one directory of each party, with what it signed
  throng keygen enrol --survey survey.toml --place instance-1-hop-1 --out hop handed-in
      each first hop's operator, or whoever enrols for it: a list of what respondents handed in, who have
      drawn their own secrets with throng respond --enrol
  throng keygen credentials --survey survey.toml --count 1000 --out enrolment
      for trials: the secrets of all respondents at once, in one hand, and a list for each first hop
  throng keygen rotate --out hop --survey survey.toml --place instance-1-hop-1
      each operator, before a layer key ends: the next one

signing.key, tls.key, layer.keys and credentials are secret: only their owner can read the files, and
none of them is ever printed."
)]
pub struct KeygenArgs {
    /// A further step; without one, an identity is made
    #[command(subcommand)]
    pub step: Option<KeygenStep>,

    /// The identity to make.
    #[command(flatten)]
    pub identity: IdentityArgs,
}

/// The arguments of `throng keygen` without a step.
#[derive(Args, Debug)]
pub struct IdentityArgs {
    /// Where to write signing.key, signing.pub, tls.key and tls.crt; existing ones are never overwritten
    #[arg(long, value_name = "DIR", required = true)]
    pub out: Option<PathBuf>,

    /// Who runs the party: an organisation or person
    #[arg(long, value_name = "NAME")]
    pub operator: Option<String>,

    /// Whose law the operator is under, such as CH or US-CA
    #[arg(long, value_name = "WHERE")]
    pub jurisdiction: Option<String>,
}

/// The steps after an identity.
#[derive(Debug, Subcommand)]
pub enum KeygenStep {
    /// Sign a complete survey, this party's address and its first layer key
    ///
    /// Writes approval, address and key-list, which are public, and layer.keys, which is not.
    Sign(SignArgs),

    /// Make the next layer key, and sign the new key list; a party that runs erases expired keys by itself
    Rotate(RotateArgs),

    /// Sign another address, or the same one after a new TLS certificate
    Address(AddressArgs),

    /// Check what all parties signed, and put it beside the survey
    ///
    /// Writes NAME.signatures, NAME.addresses and NAME.keys beside NAME.toml.
    Bundle(BundleArgs),

    /// Make the lists of first hops from what respondents handed in; no secret is seen
    ///
    /// Respondents draw their own secrets (throng respond --enrol) and hand in a file for each first hop. Writes
    /// instance-1-hop-1.credentials and so on. Files of another survey or hop, damaged ones and people who are there twice are
    /// refused.
    Enrol(EnrolArgs),

    /// For trials: draw everybody's credential in one place, and make the lists of the first hops
    ///
    /// Whoever holds the result can answer in anyone's name: in a real survey respondents draw their own secrets, with
    /// throng respond --enrol. Writes respondents/000001.credential and so on, and instance-1-hop-1.credentials and so on.
    Credentials(CredentialsArgs),
}

/// Which party of which survey signs.
#[derive(Args, Debug)]
pub struct PlaceArgs {
    /// The survey file, with all parties named
    #[arg(long, value_name = "FILE.toml")]
    pub survey: PathBuf,

    /// This party: analyzer, or instance-I-hop-H
    #[arg(long, value_name = "PLACE")]
    pub place: Place,

    /// The directory of what the party signs
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// The directory of the party's identity [default: that of --out]
    #[arg(long, value_name = "DIR")]
    pub identity: Option<PathBuf>,
}

/// How long layer keys live.
#[derive(Args, Debug)]
pub struct ScheduleArgs {
    /// How many epochs a layer key is for [default: thirty days' worth, at least 2]
    #[arg(long, value_name = "N")]
    pub epochs: Option<u64>,

    /// How many epochs a key shares with the one before [default: a tenth of --epochs, at least 1]
    #[arg(long, value_name = "N")]
    pub overlap: Option<u64>,
}

/// The arguments of `throng keygen sign`.
#[derive(Args, Debug)]
pub struct SignArgs {
    /// Who signs.
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Where this party answers: https://HOST:PORT, or http://127.0.0.1:PORT for tests on one machine
    #[arg(long)]
    pub url: String,

    /// How long layer keys live.
    #[command(flatten)]
    pub schedule: ScheduleArgs,

    /// The first epoch of the layer key [default: the current one]
    #[arg(long, value_name = "E")]
    pub first_epoch: Option<u64>,
}

/// The arguments of `throng keygen rotate`.
#[derive(Args, Debug)]
pub struct RotateArgs {
    /// Who signs.
    #[command(flatten)]
    pub place: PlaceArgs,

    /// How long layer keys live.
    #[command(flatten)]
    pub schedule: ScheduleArgs,
}

/// The arguments of `throng keygen address`.
#[derive(Args, Debug)]
pub struct AddressArgs {
    /// Who signs.
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Where this party answers from now on
    #[arg(long)]
    pub url: String,
}

/// The arguments of `throng keygen bundle`.
#[derive(Args, Debug)]
pub struct BundleArgs {
    /// The survey file
    #[arg(long, value_name = "FILE.toml")]
    pub survey: PathBuf,

    /// One directory of each party, with its approval, address and key-list
    #[arg(value_name = "PARTYDIR", required = true)]
    pub parties: Vec<PathBuf>,
}

/// The arguments of `throng keygen enrol`.
#[derive(Args, Debug)]
pub struct EnrolArgs {
    /// The survey file, with all parties named
    #[arg(long, value_name = "FILE.toml")]
    pub survey: PathBuf,

    /// The first hop to make a list for, instance-I-hop-1 [default: all of them]
    #[arg(long, value_name = "PLACE")]
    pub place: Option<Place>,

    /// Where to write the lists; existing ones are never overwritten
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// What was handed in: files, and directories of files whose names end in .enrolment
    #[arg(value_name = "FILE|DIR", required = true)]
    pub handed_in: Vec<PathBuf>,
}

/// The arguments of `throng keygen credentials`.
#[derive(Args, Debug)]
pub struct CredentialsArgs {
    /// The survey file, with all parties named
    #[arg(long, value_name = "FILE.toml")]
    pub survey: PathBuf,

    /// How many respondents
    #[arg(long, value_name = "N")]
    pub count: u64,

    /// Where to write them
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}
