//! A million envelopes through the last hop and the analyzer: on one scheduler and two executors of one core each, beside the
//! embedded engine on the same two cores. `cargo bench --profile dev --bench batch`
//!
//! Processor time counts all processes of the cluster: the driver, which is this one, scheduler and executors.
//! `THRONG_BENCH_ENVELOPES` sets another number. Sealing them takes longer than everything that is measured.

#![allow(clippy::unwrap_used)] // A bench has nobody to report to.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use rayon::prelude::*;
use throng_batch::{
    CountJob, EmbeddedEngine, Engine, Input, Layer, Manifest, OpenJob, Partition, PermuteJob, Volume,
};
use throng_cluster::bridge::Bridge;
use throng_cluster::engine::{ClusterEngine, Sizes};
use throng_cluster::jobs::{BallistaJobs, Patience};
use throng_cluster::objects::Objects;
use throng_dp::fragmenting::Assignment;
use throng_host::keygen::{self, Deployment, read_layer_keys};
use throng_serve::file_store::FileStore;
use throng_testing::wire::{EPOCH, SHAPE, Shape, draft};
use throng_wire::peel::open_body;
use throng_wire::{Digest, Fragment, Layout, Path as Way, Place, Route, Stop};

/// Of each body, half of it chaff.
const ENVELOPES: u32 = 100;
const MEMORY: usize = 64 << 20;
const TURNS: usize = 3;

fn main() {
    let wanted = std::env::var("THRONG_BENCH_ENVELOPES").ok().and_then(|text| text.parse().ok());
    let people = wanted.unwrap_or(1_000_000_u64).div_ceil(u64::from(ENVELOPES));
    let dir = tempfile::tempdir().unwrap();
    let survey = draft(Shape { instances: 1, envelopes: ENVELOPES, ..SHAPE });
    let url = |_| "https://127.0.0.1:1".to_owned();
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let deployment = keygen::deployment(&survey, dir.path(), url, EPOCH, &mut rng).unwrap();
    let envelopes = envelopes(&deployment, people);
    let cluster = Cluster::start(dir.path(), &deployment);
    println!(
        "{} of {} bytes",
        people * u64::from(ENVELOPES),
        envelopes.len() as u64 / (people * u64::from(ENVELOPES))
    );
    let mut ratios = Vec::new();
    for turn in 1..=TURNS {
        let store = FileStore::open(&dir.path().join(format!("embedded-{turn}"))).unwrap();
        let before = cpu_s(&[std::process::id()]);
        let begun = Instant::now();
        let expected = run(&EmbeddedEngine::new(MEMORY), &store, (&deployment, &envelopes), &mut |_| ());
        let embedded = (begun.elapsed().as_secs_f64(), cpu_s(&[std::process::id()]) - before);
        let before = cpu_s(&cluster.processes());
        let begun = Instant::now();
        let mut stage = (before, cpu_s(&[std::process::id()]));
        let mut tell = |name| {
            let now = (cpu_s(&cluster.processes()), cpu_s(&[std::process::id()]));
            let (all, driver) = (now.0 - stage.0, now.1 - stage.1);
            println!("  {name}: {all:.2} s of processor time, of which {driver:.2} s are the driver's");
            stage = now;
        };
        let here = cluster.objects.below("bench");
        let counted = run(&cluster.engine(), &here, (&deployment, &envelopes), &mut tell);
        let ours = (begun.elapsed().as_secs_f64(), cpu_s(&cluster.processes()) - before);
        assert_eq!(counted, expected, "the same counts");
        println!(
            "turn {turn}: embedded {:.1} s ({:.1} s of processor time), cluster {:.1} s ({:.1} s): {:.2} of its rate, {:.2} by processor time",
            embedded.0,
            embedded.1,
            ours.0,
            ours.1,
            embedded.0 / ours.0,
            embedded.1 / ours.1
        );
        ratios.push((embedded.0 / ours.0, embedded.1 / ours.1));
    }
    ratios.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (wall, cpu) = ratios[TURNS / 2];
    println!("cluster / embedded: {wall:.2} of the rate, {cpu:.2} by processor time");
    for (role, process) in ["scheduler", "executor", "executor"].iter().zip(&cluster.roles) {
        println!("{role}: {} MiB at most", peak_mib(process.id()));
    }
}

/// What hop 2 gets: envelopes of so many people.
fn envelopes(deployment: &Deployment, people: u64) -> Vec<u8> {
    let bundle = &deployment.bundle;
    let (layout, route) = (Layout::of(bundle.survey().survey()), route(deployment));
    let first = read_layer_keys(&deployment.dirs[&Place::hop(1, 1)]).unwrap();
    let fragments: Vec<Fragment> = (0..ENVELOPES / 2).map(Fragment::new).collect();
    let way = Way::new(bundle.survey(), 0, EPOCH, 1, bundle.key_lists()).unwrap();
    let seal = |person| {
        let body = way.body(&fragments, &mut ChaCha20Rng::seed_from_u64(person)).unwrap();
        open_body(&route, &layout, &first, &body).unwrap()
    };
    (0..people).into_par_iter().map(seal).collect::<Vec<_>>().concat()
}

fn route(deployment: &Deployment) -> Route {
    Route { survey: deployment.bundle.survey().hash(), label: 0, epoch: EPOCH, instance: 1 }
}

/// The work of hop 2 and of the analyzer; what was counted.
fn run(
    engine: &dyn Engine,
    volume: &dyn Volume,
    (deployment, envelopes): (&Deployment, &[u8]),
    tell: &mut dyn FnMut(&'static str),
) -> Vec<u64> {
    let (route, survey) = (route(deployment), deployment.bundle.survey().survey());
    let layout = Layout::of(survey);
    let keys = |place: Place| read_layer_keys(&deployment.dirs[&place]).unwrap();
    let (second, last) = (keys(Place::hop(1, 2)), keys(Place::Analyzer));
    let mut incoming = volume.create("incoming").unwrap();
    incoming.write_all(envelopes).unwrap();
    incoming.sync().unwrap();
    drop(incoming);
    let layer = Layer { route, layout, keys: &second };
    let input = [Partition::first("incoming", envelopes.len() as u64)];
    let opened =
        engine.open(&OpenJob { volume, layer, input: Input::Envelopes(&input, 2), spool: "spool" }).unwrap();
    assert_eq!(opened.input, Digest::of(envelopes));
    tell("open");
    let length = layout.envelope_len(Stop::Analyzer);
    let manifest: Manifest = engine
        .permute(&PermuteJob {
            volume,
            input: &opened.spool,
            records: opened.records,
            dropped: &[],
            added: &[],
            length,
            seed: &[7; 32],
            output: "batch",
        })
        .unwrap();
    tell("permute");
    let mut tally = survey.mechanism().unwrap().tally().unwrap();
    let job = CountJob {
        partitions: volume,
        input: &[Partition::first("batch", manifest.records * length as u64)],
        manifest,
        layer: Layer { route, layout, keys: &last },
        attributes: survey.attributes(),
        bound: Some((Assignment::new(1, 1).unwrap(), 0)),
    };
    engine.count(&job, &mut tally, &mut |_| ()).unwrap();
    tell("count");
    tally.counts().collect()
}

/// A scheduler and two executors.
struct Cluster {
    roles: Vec<Child>,
    objects: Objects,
    address: String,
}

impl Cluster {
    fn start(dir: &Path, deployment: &Deployment) -> Self {
        let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (scheduler, place) = (port(), format!("file://{}", dir.join("objects").display()));
        let objects = Objects::open(&place, Bridge::new().unwrap()).unwrap();
        let address = format!("df://127.0.0.1:{scheduler}");
        let mut command = Command::new(PROGRAM);
        command.args(["scheduler", "--listen", &format!("127.0.0.1:{scheduler}")]);
        let mut roles = vec![started(command)];
        for number in 0..2 {
            let mut text = format!(
                "listen = \"127.0.0.1:{}\"\nscheduler = \"{address}\"\nobjects = \"{place}\"\nowner = \"bench\"\ncores = 1\nwork = \"work-{number}\"\n",
                port()
            );
            for (place, keys) in &deployment.dirs {
                let survey = deployment.survey.display();
                text += &format!(
                    "[[surveys]]\nsurvey = \"{survey}\"\nplace = \"{place}\"\nkeys = \"{}\"\n",
                    keys.display()
                );
            }
            let file = dir.join(format!("executor-{number}.toml"));
            fs::write(&file, text).unwrap();
            let mut command = Command::new(PROGRAM);
            command.arg("executor").arg(file);
            roles.push(started(command));
        }
        Self { roles, objects, address }
    }

    fn engine(&self) -> ClusterEngine {
        let jobs = BallistaJobs::new(&self.address, None, self.objects.bridge().clone(), Patience::default());
        ClusterEngine::new(Arc::new(jobs), &self.objects, "bench", Sizes::default())
    }

    fn processes(&self) -> Vec<u32> {
        self.roles.iter().map(Child::id).chain([std::process::id()]).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for role in &mut self.roles {
            let _ = role.kill();
            let _ = role.wait();
        }
    }
}

fn started(mut command: Command) -> Child {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child
}

/// Processor time of processes so far, by the system: in hundredths of a second.
fn cpu_s(processes: &[u32]) -> f64 {
    let of = |id: &u32| -> f64 {
        let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
    };
    processes.iter().map(of).sum()
}

fn peak_mib(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) >> 10
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_throng-cluster");
