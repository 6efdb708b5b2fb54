//! Where a demo's deployment stands: a temporary directory, or one that is kept.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use throng_host::out_dir::OutDir;

/// A directory for a deployment.
pub(super) struct Ground {
    dir: PathBuf,
    /// Removed in the end, whatever happens.
    _temporary: Option<TempDir>,
    /// A lock file beside a directory that is to be kept, until the demo has succeeded. By it what an earlier demo left
    /// when it failed or was killed is told from what a finished one has kept.
    unfinished: Option<(PathBuf, File)>,
}

impl Ground {
    /// One that is gone in the end.
    pub(super) fn temporary() -> Result<Self> {
        let temporary =
            tempfile::Builder::new().prefix("throng-demo-").tempdir().context("no temporary directory")?;
        let dir = temporary.path().canonicalize()?.join(DEPLOYMENT);
        Ok(Self { dir, _temporary: Some(temporary), unfinished: None })
    }

    /// One that stays where the results are. What an unfinished demo left there is replaced; what a finished one kept is not.
    pub(super) fn kept(out: &OutDir) -> Result<Self> {
        let (dir, path) = (out.path(DEPLOYMENT), out.path(UNFINISHED));
        let is_unfinished = path.exists();
        ensure!(
            is_unfinished || is_empty(&dir),
            "{} has the deployment of an earlier demo: remove it, or choose another --out",
            dir.display()
        );
        let cannot = || format!("cannot write {}", path.display());
        let file = OpenOptions::new().create(true).append(true).open(&path).with_context(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another demo runs in {}: wait until it has ended, or choose another --out",
                    dir.display()
                )
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
        // Its parent exists, and is made absolute: processes run inside.
        let parent = out.path("").canonicalize()?;
        Ok(Self { dir: parent.join(DEPLOYMENT), _temporary: None, unfinished: Some((path, file)) })
    }

    /// The directory, made anew and empty.
    pub(super) fn clear(&self) -> Result<PathBuf> {
        let cannot =
            || format!("cannot make {} anew: remove it, or choose another --out", self.dir.display());
        if self.dir.exists() {
            fs::remove_dir_all(&self.dir).with_context(cannot)?;
        }
        fs::create_dir_all(&self.dir).with_context(cannot)?;
        Ok(self.dir.clone())
    }

    /// What is there is complete, and to be kept if it is not temporary.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.unfinished.take() {
            Some((path, _)) => {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))
            }
            None => Ok(()),
        }
    }

    /// Where what a failure has left can be looked at, until the next demo replaces it.
    pub(super) fn left(&self) -> Option<&Path> {
        self.unfinished.as_ref().map(|_| self.dir.as_path())
    }

    /// Nobody wants to look at it.
    pub(super) fn abandon(&mut self) {
        if let Some((path, _)) = self.unfinished.take() {
            // In this order: what cannot be removed now is replaced by the next demo.
            if fs::remove_dir_all(&self.dir).is_ok() {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none()) || !dir.exists()
}

const DEPLOYMENT: &str = "deployment";
const UNFINISHED: &str = "deployment.unfinished";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_replaced_and_what_was_kept_is_not() {
        let base = tempfile::tempdir().unwrap();
        let out = OutDir::open(base.path()).unwrap();
        // One that fails, or is killed.
        let failed = Ground::kept(&out).unwrap();
        fs::write(failed.clear().unwrap().join("survey.toml"), "half").unwrap();
        assert_eq!(failed.left(), Some(base.path().canonicalize().unwrap().join(DEPLOYMENT).as_path()));
        let refused = Ground::kept(&out).err().unwrap().to_string();
        assert!(refused.contains("another demo runs"), "{refused}");
        drop(failed);
        // One that succeeds.
        let mut ground = Ground::kept(&out).unwrap();
        let dir = ground.clear().unwrap();
        assert!(is_empty(&dir), "what failed is gone");
        fs::write(dir.join("survey.toml"), "whole").unwrap();
        ground.finish().unwrap();
        ground.abandon();
        assert!(ground.left().is_none() && !base.path().join(UNFINISHED).exists());
        let refused = Ground::kept(&out).err().unwrap().to_string();
        assert!(refused.contains("the deployment of an earlier demo"), "{refused}");
        assert_eq!(fs::read_to_string(dir.join("survey.toml")).unwrap(), "whole");
        assert!(!base.path().join(UNFINISHED).exists());
        // One that is stopped.
        fs::remove_dir_all(&dir).unwrap();
        let mut stopped = Ground::kept(&out).unwrap();
        stopped.clear().unwrap();
        stopped.abandon();
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }
}
