//! An analyzer with a finished epoch, made in a moment: its tallies are those of a crowd in memory, and no hop ran.

use std::fs;
use std::path::PathBuf;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use tempfile::TempDir;
use throng_analyze::{CountedBatch, InstanceTally, Rejected};
use throng_dp::Value;
use throng_encode::Routing;
use throng_host::bundle::Bundle;
use throng_host::clock::{Clock, SystemClock};
use throng_host::keygen::{self, Deployment};
use throng_serve::analysis::TallyFiles;
use throng_survey::plan::Domain;
use throng_survey::{Target, plan};
use throng_wire::{Digest, EpochStatement, ForwardedCount, Outcome, Place, Route, Signed, Survey};

/// A survey of pixels, an epoch of it that is over, and the files of its analyzer.
pub struct FinishedEpoch {
    /// Where all files are.
    pub dir: TempDir,
    /// All parties, their keys and files.
    pub deployment: Deployment,
    /// The epoch that people answered in.
    pub epoch: u64,
    /// The label that they answered under; 0 without labels.
    pub label: u32,
}

/// So many epochs before the one that people answered in there were keys already, and nobody answered.
pub const EPOCHS_BEFORE: u64 = 3;

/// The width of the picture that people hold pixels of.
pub const WIDTH: u32 = 16;

impl FinishedEpoch {
    /// So many people have answered, and all instances were counted; nothing is released. The survey asks for 2,900.
    pub fn new(people: u64) -> Self {
        let target = Target {
            respondents: 2900,
            honest_fraction: Some(0.995),
            asked: Domain::Values(u64::from(WIDTH * WIDTH)),
            epoch_s: 3600,
            name: "drawing".into(),
            question: "Which pixel do you hold?".into(),
            ..Target::default()
        };
        let planned = plan(&target).unwrap();
        Self::of(tempfile::tempdir().unwrap(), &planned.survey, 0, "artists", people)
    }

    /// The same of a draft, under a label, about another population.
    pub fn of(dir: TempDir, draft: &Survey, label: u32, population: &str, people: u64) -> Self {
        let epoch = SystemClock.now_s() / draft.epoch_s - 1;
        let mut rng = throng_host::entropy::system_rng().unwrap();
        let url = |_| "https://127.0.0.1:1".to_owned();
        let deployment = keygen::deployment(draft, dir.path(), url, epoch - EPOCHS_BEFORE, &mut rng).unwrap();
        let finished = Self { dir, deployment, epoch, label };
        finished.count("data", people);
        let config = format!(
            "operator_listen = \"127.0.0.1:0\"\nidentity = \".\"\ndata = \"data\"\nmemory_mib = 16\n[budget]\n\
                      epsilon_central = 10\ndelta = 1e-5\n[[surveys]]\nsurvey = \"../survey.toml\"\npopulation = {population:?}\n"
        );
        fs::write(finished.config(), config).unwrap();
        finished
    }

    /// Puts what a crowd of so many came to into a data directory.
    pub fn count(&self, data: &str, people: u64) {
        let signed = self.deployment.bundle.survey();
        let survey = signed.survey();
        let mechanism = survey.mechanism().unwrap();
        let (delivery, tau) = (&survey.delivery, mechanism.coins().draws());
        let routing = Routing::of(survey, self.label, tau).unwrap();
        let mut tallies: Vec<_> = (0..delivery.instances).map(|_| mechanism.tally().unwrap()).collect();
        let mut rng = ChaCha20Rng::seed_from_u64(people);
        for person in 0..people {
            let fragments = mechanism.randomize(Some(&pixel(person)), &mut rng).unwrap();
            for (tally, routed) in tallies.iter_mut().zip(routing.route(fragments.attributes(), &mut rng)) {
                tally.add_fragments(&routed).unwrap();
            }
        }
        let files = TallyFiles::new(&self.path(data), signed.hash());
        files.create().unwrap();
        for (instance, mut tally) in (1..).zip(tallies) {
            tally.add_respondents(people);
            let route = Route { survey: signed.hash(), label: self.label, epoch: self.epoch, instance };
            let envelopes = people * u64::from(delivery.envelopes);
            let counted = CountedBatch {
                batch: Digest::of(&[instance as u8]),
                envelopes,
                rejected: Rejected::default(),
                tally,
            };
            files.store_statements(&route, &self.statements(instance, self.epoch, people)).unwrap();
            files.store(&InstanceTally { route, counted: Some(counted) }).unwrap();
        }
    }

    /// What the hops of an instance sign about a crowd that all of them agree on.
    pub fn statements(&self, instance: u32, epoch: u64, people: u64) -> Vec<Signed<EpochStatement>> {
        let bundle = &self.deployment.bundle;
        let (survey, delivery) = (bundle.survey(), &bundle.survey().survey().delivery);
        let envelopes = people * u64::from(delivery.envelopes);
        let batch = Digest::of(&[instance as u8]);
        let outcome = |hop| Outcome::Released {
            respondents: people,
            received: Some(envelopes),
            // The last hop tells nobody but the analyzer.
            forwarded: match hop == delivery.hops {
                true => ForwardedCount::Committed(Digest::of(b"salt and number")),
                false => ForwardedCount::Told(envelopes),
            },
            batch,
        };
        let route = Route { survey: survey.hash(), label: self.label, epoch, instance };
        let analyzer_key_list = bundle.key_list_digest(Place::Analyzer).unwrap();
        let sign = |hop| {
            let place = Place::hop(instance, hop);
            let key_list = bundle.key_list_digest(place).unwrap();
            let outcome = outcome(hop);
            let statement = EpochStatement { route, hop, outcome, key_list, analyzer_key_list };
            let party = keygen::Party::read(&self.deployment.dirs[&place]).unwrap();
            Signed::new(statement, party.signing_key()).unwrap()
        };
        (1..=delivery.hops).map(sign).collect()
    }

    /// The survey.
    pub fn survey(&self) -> &Survey {
        self.deployment.bundle.survey().survey()
    }

    /// Its hash, as text.
    pub fn hash(&self) -> String {
        self.deployment.bundle.survey().hash().to_string()
    }

    /// Where the analyzer's file is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.deployment.dirs[&Place::Analyzer].join(name)
    }

    /// The file that the analyzer's operator wrote.
    pub fn config(&self) -> PathBuf {
        self.path("analyzer.toml")
    }

    /// The directory that it is in.
    pub fn analyzer(&self) -> PathBuf {
        self.deployment.dirs[&Place::Analyzer].clone()
    }

    /// The public files of the survey.
    pub fn bundle(&self) -> &Bundle {
        &self.deployment.bundle
    }
}

/// Everybody holds a pixel of a cross.
fn pixel(person: u64) -> Value {
    let (width, at) = (u64::from(WIDTH), person / 2 % u64::from(WIDTH));
    Value::from(if person.is_multiple_of(2) { 7 * width + at } else { at * width + 7 })
}
