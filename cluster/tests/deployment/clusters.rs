//! All parties of a survey, each on what a cluster gives it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use throng_testing::crowd::{ATTRIBUTE_FRAGMENTS, ONE_HOT, survey};
use throng_testing::program::Program;
use throng_testing::town::Town;
use throng_wire::{Place, Survey};

use crate::balancer::Balancer;
use crate::bucket::Bucket;
use crate::server::Server;

/// A town whose hops and analyzer run on PostgreSQL, objects and executors.
pub(crate) struct Clusters {
    pub(crate) town: Town,
    pub(crate) server: Server,
    pub(crate) bucket: Bucket,
    dir: TempDir,
    schemas: Vec<(Place, String)>,
    balancers: Vec<Balancer>,
    roles: Vec<(String, Option<Child>)>,
    program: &'static str,
}

impl Clusters {
    /// Everybody runs when this returns, in epochs of so many seconds.
    pub(crate) fn start(epoch_s: u64) -> Self {
        let (server, bucket, dir) = (Server::start(), Bucket::start(), tempfile::tempdir().unwrap());
        // The keys of the bucket come from the environment, as on any machine.
        let program = dir.path().join("throng-cluster");
        let exports: Vec<String> = bucket
            .environment()
            .into_iter()
            .map(|(name, value)| format!("export {name}={value}\n"))
            .collect();
        let script =
            format!("#!/bin/sh\n{}exec {} \"$@\"\n", exports.concat(), env!("CARGO_BIN_EXE_throng-cluster"));
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let program: &'static str = Box::leak(program.display().to_string().into_boxed_str());
        let survey = Survey { epoch_s, ..survey(ONE_HOT, ATTRIBUTE_FRAGMENTS, 9, "") };
        let town = Town::of(Program::at(program), &survey, true, 14);
        let (schemas, balancers, roles) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = Self { town, server, bucket, dir, schemas, balancers, roles, program };
        all.write_executors();
        for role in ["scheduler-hop", "executor-0", "executor-1", "scheduler-analyzer", "executor-analyzer"] {
            all.roles.push((role.to_owned(), None));
            all.start_role(role);
        }
        for place in all.town.hops() {
            all.write_hop(place);
            all.town.start(place, None);
            if matches!(place, Place::Hop { hop: 1, .. }) {
                all.start_second(place);
            }
        }
        all.write_analyzer();
        all.town.start(Place::Analyzer, None);
        all
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The file of a hop, for its cluster. A first hop has a second replica, and both are behind a load balancer.
    fn write_hop(&mut self, place: Place) {
        let schema = self.server.schema();
        let objects = match place {
            super::FIRST => "s3://bucket/first".to_owned(),
            _ => format!("file://{}", self.path(&format!("objects-{place}")).display()),
        };
        let mut more = format!("store = \"{schema}\"\nobjects = \"{objects}\"\nlease_s = 2\n");
        if place == super::FIRST {
            more += &format!("engine = \"df://127.0.0.1:{}\"\njob_s = 60\n", self.port("scheduler-hop"));
        }
        self.schemas.push((place, schema));
        let (config, text) = (self.town.config(place), fs::read_to_string(self.town.config(place)).unwrap());
        let mut text = more + &text;
        if matches!(place, Place::Hop { hop: 1, .. }) {
            let address = self.town.address(place).url.rsplit_once(':').unwrap().1.to_owned();
            let [first, second] = [free_port(), free_port()];
            let listen = |port: u16| format!("listen = \"127.0.0.1:{port}\"");
            let given = format!("listen = \"127.0.0.1:{address}\"");
            assert!(text.contains(&given), "{text}");
            let operator = text.lines().find(|line| line.starts_with("operator_listen")).unwrap().to_owned();
            let other = text.replacen(&given, &listen(second), 1).replacen(&operator, "", 1);
            fs::write(config.with_file_name("second.toml"), other).unwrap();
            text = text.replacen(&given, &listen(first), 1);
            self.balancers.push(Balancer::start(address.parse().unwrap(), vec![first, second]));
        }
        fs::write(&config, text).unwrap();
        let made = Command::new(self.program).args(["ratchets", "--config"]).arg(&config).status().unwrap();
        assert!(made.success());
    }

    fn write_analyzer(&self) {
        let config = self.town.config(Place::Analyzer);
        let text = fs::read_to_string(&config).unwrap();
        let objects = self.path("objects-analyzer");
        let more = format!(
            "objects = \"file://{}\"\nengine = \"df://127.0.0.1:{}\"\njob_s = 60\n",
            objects.display(),
            self.port("scheduler-analyzer")
        );
        fs::write(&config, more + &text).unwrap();
    }

    fn write_executors(&self) {
        let executors = [
            ("executor-0", super::FIRST),
            ("executor-1", super::FIRST),
            ("executor-analyzer", Place::Analyzer),
        ];
        for role in ["scheduler-hop", "scheduler-analyzer"] {
            fs::write(self.path(&format!("{role}.port")), free_port().to_string()).unwrap();
        }
        for (role, place) in executors {
            let identity = &self.town.deployment.dirs[&place];
            let key = fs::read_to_string(identity.join("signing.pub")).unwrap();
            let (scheduler, objects) = match place {
                Place::Analyzer => {
                    ("scheduler-analyzer", format!("file://{}", self.path("objects-analyzer").display()))
                }
                _ => ("scheduler-hop", "s3://bucket/first".to_owned()),
            };
            let text = format!(
                "listen = \"127.0.0.1:{}\"\nscheduler = \"df://127.0.0.1:{}\"\nobjects = \"{objects}\"\nowner = \"party {}\"\ncores = 1\n\
                 work = \"work-{role}\"\n[[surveys]]\nsurvey = \"{}\"\nplace = \"{place}\"\nkeys = \"{}\"\n",
                free_port(),
                self.port(scheduler),
                key.trim(),
                self.town.deployment.survey.display(),
                identity.display(),
            );
            fs::write(self.path(&format!("{role}.toml")), text).unwrap();
        }
    }

    fn port(&self, scheduler: &str) -> String {
        fs::read_to_string(self.path(&format!("{scheduler}.port"))).unwrap()
    }

    fn start_second(&mut self, place: Place) {
        let mut command = Command::new(self.program);
        command.args(["serve", "shuffler", "--config"]).arg(self.town.path(place, "second.toml"));
        command.env("THRONG_TEST_CLOCK_FILE", self.town.path(place, "clock"));
        let child = self.started(command, &format!("second-{place}"));
        self.roles.push((format!("second-{place}"), Some(child)));
    }

    fn start_role(&mut self, role: &str) {
        let mut command = Command::new(self.program);
        if role.starts_with("scheduler") {
            let listen = format!("127.0.0.1:{}", self.port(role));
            command.args(["scheduler", "--executor-timeout-s", "6", "--listen", &listen]);
        } else {
            command.arg("executor").arg(self.path(&format!("{role}.toml")));
        }
        let child = self.started(command, role);
        self.roles.iter_mut().find(|(name, _)| name == role).unwrap().1 = Some(child);
    }

    fn started(&self, mut command: Command, role: &str) -> Child {
        let log = File::options().create(true).append(true).open(self.path(&format!("{role}.log"))).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "{role} has ended: {}", self.log(role));
        child
    }

    fn log(&self, role: &str) -> String {
        fs::read_to_string(self.path(&format!("{role}.log"))).unwrap_or_default()
    }

    fn kill_role(&mut self, role: &str) {
        let mut child = self.roles.iter_mut().find(|(name, _)| name == role).unwrap().1.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn kill_executor(&mut self, number: usize) {
        self.kill_role(&format!("executor-{number}"));
    }

    pub(crate) fn start_executor(&mut self, number: usize) {
        self.start_role(&format!("executor-{number}"));
    }

    pub(crate) fn kill_scheduler(&mut self) {
        self.kill_role("scheduler-hop");
    }

    pub(crate) fn start_scheduler(&mut self) {
        self.start_role("scheduler-hop");
    }

    /// Whether a command on the file of a hop succeeds.
    pub(crate) fn asks(&self, place: Place, option: &str) -> bool {
        let mut command = Command::new(self.program);
        command.args(["serve", "shuffler", "--config"]).arg(self.town.config(place)).arg(option);
        command.env("THRONG_TEST_CLOCK_FILE", self.town.path(place, "clock"));
        command.stdin(Stdio::null()).output().unwrap().status.success()
    }

    /// Both replicas of a first hop are killed.
    pub(crate) fn end_replicas(&mut self, place: Place) {
        self.kill_role(&format!("second-{place}"));
        self.town.kill(place);
    }

    /// How many connections each replica of the first hop got.
    pub(crate) fn replicas_asked(&self) -> Vec<usize> {
        self.balancers[0].asked()
    }

    /// How many rows the tables have, in the schema of the first hop, whose names begin like this.
    pub(crate) fn rows(&self, tables: &str) -> i64 {
        let schema = &self.schemas.iter().find(|(place, _)| *place == super::FIRST).unwrap().1;
        let names = self.server.sql(
            &format!("SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema() AND table_name LIKE '{tables}%'"),
            schema,
        );
        let count =
            |name: &str| self.server.sql(&format!("SELECT count(*) FROM {name}"), schema)[0].get::<_, i64>(0);
        names.iter().map(|row| count(row.get(0))).sum()
    }
}

impl Drop for Clusters {
    fn drop(&mut self) {
        for (_, child) in &mut self.roles {
            if let Some(child) = child {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
        if std::thread::panicking() {
            for (role, _) in &self.roles {
                eprintln!("== {role}\n{}", self.log(role));
            }
            for place in self.town.hops() {
                eprintln!("== {place}\n{}", self.town.log(place));
            }
            eprintln!("== analyzer\n{}", self.town.log(Place::Analyzer));
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
