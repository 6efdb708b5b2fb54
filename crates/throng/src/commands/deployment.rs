//! All parties of a survey on this machine, for a demo or an audit: made and started with the commands that operators of
//! a real deployment type.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use getrandom::rand_core::Rng;
use hyper::{HeaderMap, Method};
use serde::Serialize;
use throng_wire::survey::{Instance, Parties, Party};
use throng_wire::{EpochStatement, Outcome, Place, Route, Signed, Survey};

use throng_host::bundle::Bundle;
use throng_host::entropy::system_rng;
use throng_host::net::client::{Client, Limits, SendError};
use throng_host::net::{OutgoingBody, paths};

use throng_host::operator_token::OperatorToken;

/// Everything in one directory. Its processes end when it is dropped.
pub(super) struct Deployment {
    dir: PathBuf,
    program: PathBuf,
    ports: BTreeMap<Place, u16>,
    /// Keep others from taking the port of a party before it starts.
    held: BTreeMap<Place, TcpListener>,
    /// Where others reach a party, if not where it listens.
    fronts: BTreeMap<Place, u16>,
    processes: Vec<(PartyProcess, Child)>,
    /// Where the analyzer's dashboard is.
    dashboard: Option<String>,
    /// The commands so far, as one would type them.
    pub(super) commands: Vec<String>,
}

/// A process of the deployment.
#[derive(Clone, Debug, Serialize)]
pub struct PartyProcess {
    /// What it is: analyzer, or instance-I-hop-H.
    pub role: String,
    /// Its number.
    pub pid: u32,
    /// Where it answers; the analyzer comes for what it needs.
    pub address: String,
    #[serde(skip)]
    pub(super) place: Place,
}

impl Deployment {
    /// A deployment in an empty directory.
    pub(super) fn new(dir: PathBuf) -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let (ports, held, fronts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (processes, commands) = (Vec::new(), Vec::new());
        Ok(Self { dir, program, ports, held, fronts, processes, dashboard: None, commands })
    }

    /// Others are to reach a party at this port, where somebody has to hand on what comes.
    pub(super) fn set_front(&mut self, place: Place, port: u16) {
        self.fronts.insert(place, port);
    }

    /// Where a party listens, once parties are made.
    pub(super) fn port(&self, place: Place) -> u16 {
        self.ports.get(&place).copied().unwrap_or(0)
    }

    /// Where a file is.
    pub(super) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.join(name)
    }

    /// The survey file.
    pub(super) fn survey(&self) -> PathBuf {
        self.path("survey.toml")
    }

    /// Runs a command in the directory to its end; returns what it prints. Arguments with spaces in them come last.
    pub(super) fn run(&mut self, line: &str, more: &[&str]) -> Result<String> {
        let arguments: Vec<&str> = line.split(' ').chain(more.iter().copied()).collect();
        self.commands.push(typed(&arguments));
        let output = self.command(&arguments).output().context("cannot start this program again")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` failed: {}", typed(&arguments), said.trim().trim_start_matches("error: "));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Makes the keys of all parties, names them in the survey, and has all of them sign it.
    pub(super) fn make_parties(&mut self, draft: &Survey, step: impl Fn() -> Result<()>) -> Result<()> {
        let places: Vec<Place> = draft.places().collect();
        for place in &places {
            let listener = held_port()?;
            self.ports.insert(*place, listener.local_addr()?.port());
            self.held.insert(*place, listener);
        }
        let mut named = BTreeMap::new();
        for place in &places {
            step()?;
            let (operator, jurisdiction) = (format!("this machine, {place}"), "this machine".to_owned());
            let names = ["--operator", &operator, "--jurisdiction", &jurisdiction];
            let identity = self.run(&format!("keygen --json --out {place}"), &names)?;
            let identity: serde_json::Value = serde_json::from_str(&identity)?;
            let signing_key = serde_json::from_value(identity["signing_key"].clone())?;
            named.insert(*place, Party { operator, jurisdiction, signing_key });
        }
        let hops = |instance| (1..=draft.delivery.hops).map(move |hop| Place::hop(instance, hop));
        let cascade = |instance| Instance {
            hops: hops(instance).filter_map(|place| named.get(&place).cloned()).collect(),
        };
        let instances = (1..=draft.delivery.instances).map(cascade).collect();
        let parties = Parties { analyzer: named.get(&Place::Analyzer).cloned(), instances };
        let survey = Survey { parties: Some(parties), ..draft.clone() };
        fs::write(self.survey(), survey.to_toml()?)?;
        self.commands.push("# the parties are named in survey.toml, by the lines that keygen printed".into());
        for place in &places {
            step()?;
            let url = self.url(*place);
            let line = format!("keygen sign --out {place} --survey survey.toml --place {place} --url {url}");
            self.run(&line, &[])?;
        }
        let roles: Vec<String> = places.iter().map(Place::to_string).collect();
        self.run(&format!("keygen bundle --survey survey.toml {}", roles.join(" ")), &[])?;
        Ok(())
    }

    /// Makes a credential for every respondent, and the lists of the first hops.
    pub(super) fn enrol(&mut self, respondents: usize) -> Result<()> {
        let line = format!("keygen credentials --survey survey.toml --count {respondents} --out enrolment");
        self.run(&line, &[])?;
        Ok(())
    }

    /// Starts every party. When this returns all of them answer.
    pub(super) fn start(&mut self, survey: &Survey, step: impl Fn() -> Result<()>) -> Result<()> {
        for place in survey.places() {
            step()?;
            let role = place.to_string();
            let kind = if place == Place::Analyzer { "analyzer" } else { "shuffler" };
            let config = format!("{role}/{kind}.toml");
            fs::write(self.path(&config), self.config(place))?;
            let arguments = ["serve", kind, "--config", &config];
            self.commands.push(typed(&arguments) + " &");
            let log = File::create(self.path(format!("{role}/log")))?;
            drop(self.held.remove(&place));
            let mut child = self.command(&arguments).stdout(Stdio::piped()).stderr(log).spawn()?;
            let mut line = String::new();
            let stdout = child.stdout.take().context("a process without output")?;
            let pid = child.id();
            let address = if place == Place::Analyzer { String::new() } else { self.url(place) };
            self.processes.push((PartyProcess { role: role.clone(), pid, address, place }, child));
            BufReader::new(stdout).read_line(&mut line)?;
            let log = || fs::read_to_string(self.path(format!("{role}/log"))).unwrap_or_default();
            ensure!(!line.is_empty(), "{role} did not start: {}", log().trim());
            if let Some((_, said)) = line.split_once(DASHBOARD) {
                self.dashboard = said.split(',').next().map(str::to_owned);
            }
        }
        Ok(())
    }

    /// The address of the dashboard, with the token that it asks for behind the #, which browsers do not send.
    pub(super) fn dashboard(&self) -> Result<String> {
        let url = self.dashboard.as_deref().context("the analyzer has no dashboard")?;
        let token = OperatorToken::read(&self.path("analyzer/data/operator.token"))?;
        Ok(format!("{url}/#token={}", token.as_str()))
    }

    /// All processes that were started.
    pub(super) fn processes(&self) -> Vec<PartyProcess> {
        self.processes.iter().map(|(running, _)| running.clone()).collect()
    }

    /// Those that have ended by themselves.
    pub(super) fn ended(&mut self) -> Vec<Place> {
        let ended = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_some());
        self.processes
            .iter_mut()
            .filter_map(|(running, child)| ended(child).then_some(running.place))
            .collect()
    }

    fn url(&self, place: Place) -> String {
        format!("https://127.0.0.1:{}", self.fronts.get(&place).copied().unwrap_or(self.port(place)))
    }

    /// The file that the party's operator would write.
    fn config(&self, place: Place) -> String {
        if place == Place::Analyzer {
            // With a dashboard it would ask hops how they are, and whoever counts connections would count that.
            let dashboard = if self.fronts.is_empty() { "operator_listen = \"127.0.0.1:0\"\n" } else { "" };
            return format!(
                "identity = \".\"\ndata = \"data\"\n{dashboard}\n[budget]\nepsilon_central = 10\ndelta = 1e-5\n\n\
                 [[surveys]]\nsurvey = \"../survey.toml\"\npopulation = \"everyone here\"\n"
            );
        }
        let port = self.port(place);
        let credentials = match place {
            Place::Hop { hop: 1, .. } => format!("credentials = \"../enrolment/{place}.credentials\"\n"),
            _ => String::new(),
        };
        format!(
            "listen = \"127.0.0.1:{port}\"\nidentity = \".\"\ndata = \"data\"\nmemory_mib = 256\n\n\
             [[surveys]]\nsurvey = \"../survey.toml\"\nplace = \"{place}\"\n{credentials}"
        )
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.dir).stdin(Stdio::null());
        command
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        // All are told first, so that none waits for another.
        for (_, child) in &mut self.processes {
            let _ = child.kill();
        }
        for (_, child) in &mut self.processes {
            let _ = child.wait();
        }
    }
}

/// A free port below the ephemeral ones, which the system gives away by itself: no other connection on this machine takes
/// it before its party starts.
fn held_port() -> Result<TcpListener> {
    let mut rng = system_rng()?;
    let span = u32::from(PORTS.end() - PORTS.start());
    let mut any = || PORTS.start() + (rng.next_u32() % span) as u16;
    let tried = std::iter::repeat_with(|| TcpListener::bind(("127.0.0.1", any())));
    tried.take(PORT_TRIES).find_map(Result::ok).with_context(|| {
        let (first, last) = (PORTS.start(), PORTS.end());
        format!("found no free port between {first} and {last} of 127.0.0.1: end what listens there")
    })
}

const PORTS: std::ops::RangeInclusive<u16> = 20_000..=32_000;
const PORT_TRIES: usize = 1000;

/// What an analyzer says before the address of its dashboard.
const DASHBOARD: &str = "dashboard on ";

/// What every hop has signed about an epoch, as it publishes it; none where it has not, or is gone.
pub(super) fn outcomes(bundle: &Bundle, epoch: u64) -> Result<Vec<(Place, Option<Outcome>)>> {
    let survey = bundle.survey();
    // Asked for once: nothing is to stay open.
    let client = Client::new(None, Limits { idle_connections_max: 0, ..Limits::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut all = Vec::new();
    for place in survey.survey().places() {
        let Place::Hop { instance, .. } = place else { continue };
        let route = Route { survey: survey.hash(), label: 0, epoch, instance };
        let answer: Result<Vec<u8>, SendError> = runtime.block_on(async {
            let address = bundle.address(place).map_err(|error| SendError::Refused(error.to_string()))?;
            let (path, body) = (paths::path(&route, "statement"), OutgoingBody::bytes(Vec::new()));
            let reply = client.request(address, Method::GET, &path, HeaderMap::new(), body).await?;
            reply.success().await?.bytes().await
        });
        let outcome = answer.ok().and_then(|bytes| {
            Some(Signed::<EpochStatement>::from_bytes(&bytes).ok()?.verify(survey).ok()?.outcome)
        });
        all.push((place, outcome));
    }
    Ok(all)
}

/// A command as one would type it.
fn typed(arguments: &[&str]) -> String {
    let quoted = |argument: &&str| match argument.contains(' ') {
        true => format!("'{argument}'"),
        false => (*argument).to_owned(),
    };
    let words: Vec<String> = arguments.iter().map(quoted).collect();
    format!("throng {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_port_is_nobody_elses_and_below_those_of_clients() {
        let held: Vec<TcpListener> = (0..50).map(|_| held_port().unwrap()).collect();
        for listener in &held {
            let address = listener.local_addr().unwrap();
            assert!(PORTS.contains(&address.port()));
            assert!(TcpListener::bind(address).is_err(), "{address} is taken");
        }
    }
}
