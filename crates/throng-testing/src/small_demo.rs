//! Small demos, as tests start, read and stop them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;
use throng_analyze::Picture;
use throng_plot::Png;

use crate::program::Program;

/// A demo that is small enough for a test, with temporary files in a place of its own.
#[derive(Clone, Copy, Debug)]
pub struct SmallDemo(pub Program);

impl SmallDemo {
    /// The demo in a directory, with further arguments.
    pub fn command(self, dir: &TempDir, arguments: &[&str]) -> Command {
        prepared(dir, self.0.run_in(dir, &[&SMALL, arguments].concat()))
    }

    /// The same for somebody who ignores Ctrl-C, which is inherited.
    pub fn deaf_command(self, dir: &TempDir, arguments: &[&str]) -> Command {
        prepared(dir, self.0.run_deaf_in(dir, &[&SMALL, arguments].concat()))
    }
}

fn prepared(dir: &TempDir, mut command: Command) -> Command {
    fs::create_dir_all(dir.path().join("tmp")).unwrap();
    let cross = (0..SIDE * SIDE).map(|at| if at % SIDE == 7 || at / SIDE == 7 { 255 } else { 0 });
    let cross = Picture::new(SIDE, SIDE, cross.collect()).unwrap();
    fs::write(dir.path().join("cross.png"), cross.to_png().unwrap()).unwrap();
    command.env("TMPDIR", dir.path().join("tmp")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Reads what a demo says until a line that begins like this; returns the processes that it has named.
pub fn read_until(child: &mut Child, beginning: &str) -> Vec<(String, u32)> {
    read_until_with_dashboard(child, beginning).0
}

/// The same, with the address of the dashboard if it was named.
pub fn read_until_with_dashboard(child: &mut Child, beginning: &str) -> (Vec<(String, u32)>, Option<String>) {
    let (mut processes, mut dashboard, mut said) = (Vec::new(), None, String::new());
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    while let Some(Ok(line)) = lines.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["process", role, "pid", pid, ..] = words[..] {
            processes.push((role.to_owned(), pid.parse().unwrap()));
        }
        if let ["dashboard", url] = words[..] {
            dashboard = Some(url.to_owned());
        }
        if line.starts_with(beginning) {
            return (processes, dashboard);
        }
        said += &format!("{line}\n");
    }
    panic!("the demo never said {beginning}, but:\n{said}");
}

/// Whether a process is there.
pub fn is_alive(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

/// Sends a process a signal, for example `-INT`.
pub fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

/// Loops that take whatever this machine gives, until they are dropped.
pub struct BusyLoops(Arc<AtomicBool>);

impl BusyLoops {
    /// So many loops.
    pub fn start(loops: usize) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        for _ in 0..loops {
            let ended = Arc::clone(&ended);
            thread::spawn(move || while !ended.load(Ordering::Relaxed) {});
        }
        Self(ended)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The width and height of the picture.
pub const SIDE: u32 = 16;

const SMALL: [&str; 5] = ["demo", "--respondents", "150", "--image", "cross.png"];
