//! A hop's storage in a test: a schema and a directory of objects that outlive the processes that use them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tempfile::TempDir;
use throng_batch::Partitions;
use throng_cluster::objects::Objects;
use throng_cluster::postgres::{Lease, ObjectMark, PgStore, Postgres};
use throng_cluster::ratchet::Ratchet;
use throng_shuffle::{Channel, Mark, Store};
use throng_testing::cascade::Disk;
use throng_testing::wire::{EPOCH, World};
use throng_wire::{Digest, Place, SigningKey, SurveyHash};

use crate::faults::{Faults, FaultyMark, FaultyStore};
use crate::server::Server;

/// What one hop is kept on. Each has a schema and a bucket of its own, as parties have.
pub(crate) struct PgDisk {
    pub(crate) schema: String,
    directory: TempDir,
    survey: SurveyHash,
    place: Place,
    signing: SigningKey,
    faults: Arc<Faults>,
    /// Somebody who only looks.
    reader: OnceLock<PgStore>,
}

impl PgDisk {
    /// On a server of one's own.
    pub(crate) fn on(server: &Server, world: &World, hop: u32) -> Self {
        let (survey, place) = (world.survey.hash(), Place::hop(1, hop));
        let signing = SigningKey::from_file(&world.signing[&place].to_file()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        Ratchet::create(&directory.path().join("ratchet"), EPOCH - 10, &[hop as u8; 32]).unwrap();
        Self {
            schema: server.schema(),
            directory,
            survey,
            place,
            signing,
            faults: Arc::default(),
            reader: OnceLock::new(),
        }
    }

    /// The store as a process opens it that follows.
    pub(crate) fn store(&self) -> PgStore {
        self.try_store().unwrap()
    }

    pub(crate) fn reader(&self) -> &PgStore {
        self.reader.get_or_init(|| self.store())
    }

    pub(crate) fn try_store(&self) -> std::io::Result<PgStore> {
        let bridge = Server::shared().bridge();
        let postgres = Postgres::open(&self.schema, "party", bridge.clone())?;
        let objects = Objects::open(&format!("file://{}", self.objects().display()), bridge)?;
        let ratchet = Arc::new(Ratchet::open(&self.directory.path().join("ratchet"))?);
        PgStore::new(&postgres, &objects, ratchet, self.survey, self.place, &self.signing)
    }

    /// Where objects are.
    pub(crate) fn objects(&self) -> PathBuf {
        self.directory.path().join("objects")
    }

    /// All objects, with their paths.
    pub(crate) fn object_files(&self) -> Vec<PathBuf> {
        fn below(directory: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { below(&path, found) } else { found.push(path) }
            }
        }
        let mut found = Vec::new();
        below(&self.objects(), &mut found);
        found.sort();
        found
    }

    /// Leads, as if the one before had ended long ago.
    pub(crate) fn lead(&self) -> (PgStore, Arc<Lease>, ObjectMark) {
        let store = self.store();
        self.expire();
        store.lead(Duration::from_secs(600)).unwrap().unwrap()
    }

    /// The deadline of whoever leads passes.
    pub(crate) fn expire(&self) {
        self.sql("UPDATE hops SET deadline = '-infinity'");
    }

    /// What a test may do, and a program would not.
    pub(crate) fn sql(&self, statement: &str) -> Vec<tokio_postgres::Row> {
        Server::shared().sql(statement, &self.schema)
    }

    /// The bytes of a channel's segments, one after another.
    pub(crate) fn segments(&self, channel: Channel) -> Vec<Vec<u8>> {
        let store = self.reader();
        let segment = |partition: &throng_batch::Partition| {
            let mut bytes = Vec::new();
            store
                .read_range(&partition.name, partition.bytes.clone())
                .unwrap()
                .read_to_end(&mut bytes)
                .unwrap();
            assert_eq!(partition.digest, Some(Digest::of(&bytes)));
            bytes
        };
        store.segments(channel).unwrap().iter().map(segment).collect()
    }
}

impl Disk for PgDisk {
    fn new(world: &World, hop: u32) -> Self {
        Self::on(Server::shared(), world, hop)
    }

    fn start(&self) -> (Box<dyn Store>, Box<dyn Mark>) {
        let (store, _, mark) = self.lead();
        let faults = Arc::clone(&self.faults);
        (
            Box::new(FaultyStore { store: Arc::new(store), faults: Arc::clone(&faults) }),
            Box::new(FaultyMark { mark, faults }),
        )
    }

    fn look(&self) -> Box<dyn Store> {
        Box::new(self.reader().clone())
    }

    fn fail_after(&self, operations: u64) {
        self.faults.fail_after(operations);
    }

    /// What a database and object storage have acknowledged they have, and what they have not is not there.
    fn restart(&self, _: usize) {
        self.faults.fail_after(u64::MAX);
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        if let Some(channel) = name.strip_suffix(".uploads") {
            let (label, epoch) = channel.split_once('-').unwrap();
            let channel = Channel { label: label.parse().unwrap(), epoch: epoch.parse().unwrap() };
            return Some(self.segments(channel).concat());
        }
        let mut bytes = Vec::new();
        self.look().read(name).ok()?.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}
