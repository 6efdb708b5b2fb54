//! The arguments, checked: all that can be wrong with them is known before the first step.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use getrandom::rand_core::Rng;
use throng_learn::Randomness;

use crate::cli::learn::{DataArg, LearnArgs, TrainingArgs};
use throng_simulate::dataset::PictureSet;
use throng_host::entropy::system_rng;
use throng_lab::learning::{Checkpoint, Choices, Mode, ModelName, Plan, Source, Statement};
use throng_host::out_dir::OutDir;

/// What is to be trained, how often, and where it is kept.
#[derive(Debug)]
pub(super) struct Study {
    pub(super) plan: Plan,
    mode: Mode,
    pub(super) checkpoint_every: u64,
    /// Where results go, and the checkpoint.
    pub(super) out: Option<(OutDir, PathBuf)>,
    /// What the first run's randomness should come from.
    seed: Option<u64>,
    runs: u64,
    identity: BTreeMap<String, String>,
    _lock: Option<File>,
}

impl Study {
    pub(super) fn check(args: &LearnArgs) -> Result<Self> {
        let deploy = args.mode == Mode::Deploy;
        ensure!(
            !deploy || args.seed.is_none(),
            "--seed with --mode deploy: whoever knows the seed can undo the noise; leave it out"
        );
        ensure!(
            !deploy || args.seeds.is_none_or(|runs| runs == 1),
            "--seeds with --mode deploy: every training asks the same people again and costs as much again; leave it out"
        );
        let plan = Plan::new(&source(&args.training)?, &choices(args))?;
        let runs = args.seeds.unwrap_or(if deploy { 1 } else { 3 });
        let mut study = Self {
            mode: args.mode,
            checkpoint_every: args
                .checkpoint_every
                .unwrap_or_else(|| plan.settings.steps.div_ceil(CHECKPOINTS).max(1)),
            out: None,
            seed: args.seed,
            runs,
            identity: BTreeMap::new(),
            _lock: None,
            plan,
        };
        // The last check, since it may make a directory.
        if let Some(path) = &args.out {
            study.out = Some((OutDir::open(path)?, path.join(CHECKPOINT)));
            study.identity = Checkpoint::identity(&study.plan, runs, args.seed);
            study._lock = Some(lock(path)?);
        }
        Ok(study)
    }

    /// Where the training was when it was stopped, or its start.
    pub(super) fn resumed(&self) -> Result<Checkpoint> {
        if let Some((_, path)) = &self.out
            && let Some(checkpoint) = Checkpoint::read(path)?
        {
            checkpoint.check(&self.identity)?;
            let step = checkpoint.state.as_ref().map_or(0, throng_learn::State::step);
            eprintln!("goes on after step {step} of run {}", checkpoint.done.len() + 1);
            return Ok(checkpoint);
        }
        let rng = &mut system_rng()?;
        let first = match self.seed {
            Some(seed) => Some(seed),
            None if self.is_secret() => None,
            None => Some(rng.next_u64()),
        };
        let seeds = (0..self.runs).map(|run| match first {
            Some(first) => *Randomness::numbered(first.wrapping_add(run)).seed(),
            None => {
                let mut seed = [0; 32];
                rng.fill_bytes(&mut seed);
                seed
            }
        });
        Ok(Checkpoint {
            identity: self.identity.clone(),
            seeds: seeds.collect(),
            done: Vec::new(),
            model: Vec::new(),
            curve: Vec::new(),
            state: None,
        })
    }

    /// Whether the guarantee is that of the model itself, and whoever knew the seed could undo its noise. That of a
    /// simulated batch belongs to the simulated deployment.
    fn is_secret(&self) -> bool {
        self.mode == Mode::Deploy || matches!(self.plan.statement, Statement::Central(_))
    }

    /// Writes a checkpoint, if there is a place for it.
    pub(super) fn write(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.out.as_ref().map_or(Ok(()), |(_, path)| checkpoint.write(path))
    }
}

/// Removes a checkpoint that is no longer needed, and with it the seed.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}, which holds the seed", path.display()))
        }
        _ => Ok(()),
    }
}

/// What to learn from, as it is typed.
pub(in crate::commands) fn source(args: &TrainingArgs) -> Result<Source> {
    let (name, data, target) = (args.source, args.data.as_deref(), args.target.as_deref());
    let is_pretrained = |model| model == ModelName::Pretrained;
    ensure!(
        args.pretrained.is_none() || name == DataArg::Cifar10 && args.model.is_none_or(is_pretrained),
        "--pretrained is for cifar-10 and --model pretrained; leave it out, or give those"
    );
    ensure!(
        args.pretrained.is_some() || !args.model.is_some_and(is_pretrained),
        "--model pretrained needs a network that was trained on public pictures: --pretrained FILE, made by throng experiment \
         learning --only pretrain"
    );
    let set = match name {
        DataArg::Census => None,
        DataArg::Mnist => Some(PictureSet::Mnist),
        DataArg::FashionMnist => Some(PictureSet::FashionMnist),
        DataArg::Cifar10 => Some(PictureSet::Cifar10),
        DataArg::Csv => {
            let (Some(path), Some(target)) = (data, target) else {
                bail!("csv needs --data FILE.csv (a header and one row per respondent) and --target COLUMN");
            };
            return Ok(Source::Csv { path: path.to_owned(), target: target.to_owned() });
        }
    };
    ensure!(target.is_none(), "--target is for csv; {name:?} data have their labels");
    match (set, data) {
        (None, _) => Ok(Source::Census),
        (Some(_), Some(data)) if args.pretrained.is_some() => {
            Ok(Source::Seen { data: data.to_owned(), network: args.pretrained.clone().unwrap_or_default() })
        }
        (Some(set), Some(data)) => Ok(Source::Pictures { set, data: data.to_owned() }),
        (Some(set), None) => bail!(
            "{0} does not come with the program: give --data DIR, a directory with a folder {0} in it that has the files \
             of its authors (or set THRONG_DATASETS)",
            set.name()
        ),
    }
}

fn choices(args: &LearnArgs) -> Choices {
    Choices {
        reports_each: args.reports_each,
        mode: args.mode,
        simulation: args.simulation.map(Into::into),
        clip: args.clip,
        rate: args.rate,
        average: args.average.map(Into::into),
        radius: args.radius,
        noise: args.noise,
        cover: args.cover,
        held_out: args.held_out,
        ..Choices::from(&args.training)
    }
}

/// One training at a time in a directory.
fn lock(path: &Path) -> Result<File> {
    let folder = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    match folder.try_lock() {
        Ok(()) => Ok(folder),
        Err(TryLockError::WouldBlock) => {
            bail!(
                "another process trains in {}; wait until it is done, or choose another --out",
                path.display()
            )
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

const CHECKPOINT: &str = "checkpoint";
const CHECKPOINTS: u64 = 20;
