//! A step erases what its epoch does not need any more; another thread may work on that epoch at the same time.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use throng_shuffle::{Hop, Log, MemoryStore, Partitions, Store, StoreFile, Volume, VolumeFile};
use throng_testing::cascade::{Cascade, FIRST, NEXT_DAY, SMALL, day};
use throng_testing::wire::EPOCH;

type Interruption = Box<dyn FnOnce() + Send>;

/// Memory in which something else happens before a batch is erased.
#[derive(Clone)]
struct InterruptedStore {
    files: MemoryStore,
    meanwhile: Arc<Mutex<Option<Interruption>>>,
}

impl Partitions for InterruptedStore {
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        self.files.read_range(name, bytes)
    }
}

impl Volume for InterruptedStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        self.files.create(name)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let meanwhile = name.ends_with(".batch").then(|| self.meanwhile.lock().unwrap().take()).flatten();
        meanwhile.into_iter().for_each(|happens| happens());
        self.files.remove(name)
    }
}

impl Store for InterruptedStore {
    fn append(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.files.append(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.files.names()
    }

    fn log(&self, name: &str) -> io::Result<Box<dyn Log>> {
        self.files.log(name)
    }
}

/// A batch that was written while the step before it still erased was lost, after it had been signed.
#[test]
fn a_batch_is_not_erased_by_the_step_before_it() {
    let mut cascade = Cascade::new(SMALL);
    let store = InterruptedStore { files: MemoryStore::new(), meanwhile: Arc::default() };
    let mark = Box::new(store.files.clone());
    let hop = Hop::open(cascade.config(2), Box::new(store.clone()), mark, day(EPOCH)).unwrap();
    let hop = Arc::new(hop);
    let (done, worked) = mpsc::channel();
    let worker = Arc::clone(&hop);
    *store.meanwhile.lock().unwrap() = Some(Box::new(move || {
        thread::spawn(move || {
            while worker.undecided().is_empty() {
                thread::yield_now();
            }
            done.send(worker.process(FIRST).map_err(|error| error.to_string())).unwrap();
        });
        // Long enough for a worker that is not kept waiting; one that is begins when the step is over.
        thread::sleep(Duration::from_millis(300));
    }));

    cascade.answer_all(FIRST, 8);
    cascade.close_first();
    let mut batch = cascade.hops[0].outgoing(FIRST).unwrap();
    let (statements, count) = (batch.statements, batch.count);
    hop.receive(FIRST, statements, count, &mut batch.records, NEXT_DAY, &mut cascade.rng).unwrap();
    assert_eq!(worked.recv().unwrap(), Ok(()));
    let mut bytes = Vec::new();
    hop.outgoing(FIRST).unwrap().records.read_to_end(&mut bytes).unwrap();
    let mut values = cascade.values(FIRST, &bytes);
    values.sort_unstable();
    assert_eq!(values, (0..8).collect::<Vec<_>>());
}
