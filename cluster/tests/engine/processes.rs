//! On Ballista, with a scheduler and executors as processes of their own, over mutual TLS.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use throng_batch::EmbeddedEngine;
use throng_cluster::bridge::Bridge;
use throng_cluster::engine::{ClusterEngine, Sizes};
use throng_cluster::jobs::{BallistaJobs, Jobs, Patience};
use throng_cluster::objects::Objects;
use throng_cluster::task::{Range, Task, Work};
use throng_cluster::tls::{self, Tls, TlsFiles};

use crate::epoch::Epoch;
use crate::local::objects;

/// A scheduler and executors on this machine.
struct Cluster {
    dir: TempDir,
    scheduler: Option<Child>,
    executors: Vec<Option<Child>>,
    address: String,
    port: u16,
}

impl Cluster {
    /// All of them, with the keys of an epoch's parties.
    fn start(epoch: &Epoch, executors: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let roles = ["driver", "scheduler", "executor"].map(str::to_owned);
        tls::make(&dir.path().join("tls"), &roles).unwrap();
        let port = free_port();
        let address = format!("df://127.0.0.1:{port}");
        let executors_none = (0..executors).map(|_| None).collect();
        let mut cluster = Self { dir, scheduler: None, executors: executors_none, address, port };
        cluster.start_scheduler();
        for number in 0..executors {
            cluster.write_file(epoch, number);
            cluster.start_executor(number);
        }
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn objects(&self) -> Objects {
        fs::create_dir_all(self.path("objects")).unwrap();
        let objects = format!("file://{}", self.path("objects").display());
        Objects::open(&objects, Bridge::new().unwrap()).unwrap()
    }

    fn start_scheduler(&mut self) {
        let mut command = Command::new(PROGRAM);
        command.args(["scheduler", "--listen", &format!("127.0.0.1:{}", self.port)]);
        command.args(["--executor-timeout-s", "6", "--tls"]).arg(self.path("tls/scheduler"));
        self.scheduler = Some(started(command, &self.path("scheduler.log")));
    }

    fn write_file(&self, epoch: &Epoch, number: usize) {
        let mut text = format!(
            "listen = \"127.0.0.1:{}\"\nscheduler = \"{}\"\nobjects = \"file://{}\"\nowner = \"test\"\ncores = 1\nwork = \"work-{number}\"\n\
             [tls]\nauthority = \"tls/authority.pem\"\ncertificate = \"tls/executor.pem\"\nkey = \"tls/executor.key\"\n",
            free_port(),
            self.address,
            self.path("objects").display(),
        );
        fs::create_dir_all(self.path("objects")).unwrap();
        for (place, keys) in &epoch.deployment.dirs {
            let survey = epoch.deployment.survey.display();
            text += &format!(
                "[[surveys]]\nsurvey = \"{survey}\"\nplace = \"{place}\"\nkeys = \"{}\"\n",
                keys.display()
            );
        }
        fs::write(self.path(&format!("executor-{number}.toml")), text).unwrap();
    }

    fn start_executor(&mut self, number: usize) {
        let mut command = Command::new(PROGRAM);
        command.arg("executor").arg(self.path(&format!("executor-{number}.toml")));
        self.executors[number] = Some(started(command, &self.path(&format!("executor-{number}.log"))));
    }

    /// kill -9.
    fn kill_executor(&mut self, number: usize) {
        let mut child = self.executors[number].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn kill_scheduler(&mut self) {
        let mut child = self.scheduler.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn tls(&self, role: &str) -> Tls {
        Tls::read(&TlsFiles {
            authority: self.path("tls/authority.pem"),
            certificate: self.path(&format!("tls/{role}.pem")),
            key: self.path(&format!("tls/{role}.key")),
        })
        .unwrap()
    }

    fn jobs(&self, tls: Option<Tls>, patience: Patience) -> BallistaJobs {
        BallistaJobs::new(&self.address, tls, Bridge::new().unwrap(), patience)
    }

    fn engine(&self, sizes: Sizes) -> ClusterEngine {
        let jobs = self.jobs(Some(self.tls("driver")), PATIENCE);
        ClusterEngine::new(Arc::new(jobs), &self.objects(), "hop", sizes)
    }

    fn logs(&self) -> String {
        let logs = ["scheduler.log", "executor-0.log", "executor-1.log"];
        logs.map(|log| fs::read_to_string(self.path(log)).unwrap_or_default()).concat()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.executors.iter_mut().chain([&mut self.scheduler]).flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if thread::panicking() {
            eprintln!("{}", self.logs());
        }
    }
}

/// Starts a role; returns once it has said its first line.
fn started(mut command: Command, log: &Path) -> Child {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "a role has ended: {command:?}");
    child
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What the embedded engine makes of an epoch.
fn embedded(epoch: &Epoch) -> crate::epoch::Outcome {
    let dir = tempfile::tempdir().unwrap();
    epoch.run(&EmbeddedEngine::new(1 << 24), &objects(&dir))
}

#[test]
fn an_epoch_on_two_executors_comes_to_the_same() {
    let epoch = Epoch::new(2, 60);
    let cluster = Cluster::start(&epoch, 2);
    let outcome = epoch.run(&cluster.engine(SMALL), &cluster.objects().below("hop"));
    assert!(outcome == embedded(&epoch));
    // Nothing of a key is in any log.
    let keys = fs::read_to_string(epoch.deployment.dirs.values().next().unwrap().join("layer.keys")).unwrap();
    let secret = keys.split_whitespace().find(|word| word.len() >= 64).unwrap().to_owned();
    assert!(!cluster.logs().contains(&secret));
}

#[test]
fn whoever_has_no_certificate_of_the_party_gets_nothing() {
    let epoch = Epoch::new(1, 40);
    let cluster = Cluster::start(&epoch, 1);
    let task = [Task::new("hop", Work::Count { input: Vec::new() })];
    let once = Patience { tries: 1, deadline: Duration::from_secs(20), ..PATIENCE };
    cluster.jobs(Some(cluster.tls("driver")), PATIENCE).run(&task).unwrap();
    assert!(cluster.jobs(None, once).run(&task).is_err(), "no certificate");
    let other = tempfile::tempdir().unwrap();
    tls::make(&other.path().join("tls"), &["driver".to_owned()]).unwrap();
    let stranger = Tls::read(&TlsFiles {
        authority: cluster.path("tls/authority.pem"),
        certificate: other.path().join("tls/driver.pem"),
        key: other.path().join("tls/driver.key"),
    });
    assert!(cluster.jobs(Some(stranger.unwrap()), once).run(&task).is_err(), "of another authority");
}

/// kill -9 of an executor while it works, of the scheduler, and of all of them: the job is done again, and the answer is the same.
#[test]
fn what_is_killed_is_done_again() {
    let epoch = Epoch::new(2, 400);
    let expected = embedded(&epoch);
    let mut cluster = Cluster::start(&epoch, 2);
    let (engine, here) = (cluster.engine(SMALL), cluster.objects().below("hop"));
    let (done, is_done) = std::sync::mpsc::channel();
    let outcome = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let outcome = epoch.run(&engine, &here);
            done.send(()).unwrap();
            outcome
        });
        // Each role once, in turn, for as long as there is work.
        let mut turn = 0;
        while is_done.recv_timeout(Duration::from_millis(1500)).is_err() {
            match turn % 3 {
                0 | 1 => {
                    cluster.kill_executor(turn % 3);
                    cluster.start_executor(turn % 3);
                }
                _ => {
                    cluster.kill_scheduler();
                    cluster.start_scheduler();
                }
            }
            turn += 1;
            if turn >= 6 {
                is_done.recv().unwrap();
                break;
            }
        }
        running.join().unwrap()
    });
    assert!(outcome == expected);
}

/// A task that fails fails its job, with its reason, and the cluster goes on.
#[test]
fn a_task_that_fails_says_why() {
    let epoch = Epoch::new(1, 40);
    let cluster = Cluster::start(&epoch, 1);
    let jobs = cluster.jobs(Some(cluster.tls("driver")), Patience { tries: 1, ..PATIENCE });
    let missing = Range { name: "none".into(), start: 0, end: 21, digest: None };
    let error = jobs.run(&[Task::new("hop", Work::Count { input: vec![missing] })]).unwrap_err().to_string();
    assert!(error.contains("no such object"), "{error}");
    let old = Task {
        version: "throng-cluster 0.0.1 tasks 1".into(),
        ..Task::new("hop", Work::Count { input: vec![] })
    };
    let error = jobs.run(&[old]).unwrap_err().to_string();
    assert!(error.contains("run one version everywhere"), "{error}");
    let begun = Instant::now();
    jobs.run(&[Task::new("hop", Work::Count { input: Vec::new() })]).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(600));
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_throng-cluster");

const SMALL: Sizes = Sizes { task: 20_000, bucket: 20_000 };

const PATIENCE: Patience =
    Patience { deadline: Duration::from_secs(60), tries: 20, pause: Duration::from_millis(200) };
