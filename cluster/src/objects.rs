//! Object storage: a shared directory or a bucket, as the volume of one party's files.
//!
//! A file is an object: it is there whole, once it is complete, or not at all. Names are below the prefix of their owner
//! (a party, a survey and a place), so that several hops of one operator can share a bucket. Parties never do: the first who
//! uses a place in a bucket leaves a mark there, and whoever has another is refused.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload,
};
use throng_batch::{Partitions, Volume, VolumeFile};
use url::Url;

use crate::bridge::Bridge;

/// Objects below one prefix.
#[derive(Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Where objects are files: they are synced by us.
    directory: Option<Arc<PathBuf>>,
    bridge: Bridge,
}

impl Objects {
    /// What an address names: `s3://bucket/prefix`, or `file:///directory` that all machines of the party share. Keys and
    /// endpoint of S3 come from the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_ENDPOINT`, ...).
    pub fn open(address: &str, bridge: Bridge) -> io::Result<Self> {
        let url = Url::parse(address).map_err(|error| {
            io::Error::other(format!(
                "{address} is no address of objects ({error}): give s3://BUCKET/PREFIX or file:///DIRECTORY"
            ))
        })?;
        match url.scheme() {
            "s3" => {
                let store = AmazonS3Builder::from_env().with_url(url.as_str()).build().map_err(failed)?;
                let prefix = Path::from(url.path());
                Ok(Self { store: Arc::new(store), prefix, directory: None, bridge })
            }
            "file" => {
                let directory = url.to_file_path().map_err(|()| {
                    io::Error::other(format!("{address} names no directory: give file:///DIRECTORY"))
                })?;
                std::fs::create_dir_all(&directory)?;
                let store = LocalFileSystem::new_with_prefix(&directory).map_err(failed)?;
                let directory = Some(Arc::new(directory));
                Ok(Self { store: Arc::new(store), prefix: Path::default(), directory, bridge })
            }
            other => Err(io::Error::other(format!(
                "objects cannot be at {other}://: give s3://BUCKET/PREFIX or file:///DIRECTORY"
            ))),
        }
    }

    /// All objects of any store, which is durable when it answers.
    pub fn on(store: Arc<dyn ObjectStore>, bridge: Bridge) -> Self {
        Self { store, prefix: Path::default(), directory: None, bridge }
    }

    /// Those below a further prefix.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        Self { prefix: self.path(name), ..self.clone() }
    }

    /// The runtime that its clients run on.
    pub fn bridge(&self) -> &Bridge {
        &self.bridge
    }

    /// Leaves the mark of an owner, or compares it with the one that is there.
    pub fn claim(&self, owner: &str) -> io::Result<()> {
        let (store, path) = (Arc::clone(&self.store), self.path(OWNER));
        let written = owner.to_owned();
        let created = self.bridge.wait(async move {
            match store.put_opts(&path, PutPayload::from(written), PutMode::Create.into()).await {
                Ok(_) => Ok(true),
                Err(Error::AlreadyExists { .. }) => Ok(false),
                Err(error) => Err(failed(error)),
            }
        })?;
        if created {
            return self.sync(OWNER);
        }
        let mut found = String::new();
        self.read(OWNER)?.take(OWNER_LEN_MAX).read_to_string(&mut found)?;
        if found == owner {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "these objects belong to {found}, and this is {owner}: parties share no bucket; give another address"
        )))
    }

    /// How many bytes an object has.
    pub fn len(&self, name: &str) -> io::Result<u64> {
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        self.bridge.wait(async move { Ok(store.head(&path).await.map_err(failed)?.size) })
    }

    /// The names of all objects, without the prefix.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let (store, prefix) = (Arc::clone(&self.store), self.prefix.clone());
        self.bridge.wait(async move {
            let all: Vec<_> = store.list(Some(&prefix)).try_collect().await.map_err(failed)?;
            let name = |path: &Path| {
                let parts: Vec<String> =
                    path.prefix_match(&prefix)?.map(|part| part.as_ref().to_owned()).collect();
                Some(parts.join("/"))
            };
            Ok(all.iter().filter_map(|one| name(&one.location)).collect())
        })
    }

    /// Writes an object whole. When this returns it survives a crash.
    pub fn put(&self, name: &str, bytes: impl Into<Bytes>) -> io::Result<()> {
        let (store, path, payload) =
            (Arc::clone(&self.store), self.path(name), PutPayload::from(bytes.into()));
        self.bridge.wait(async move { store.put(&path, payload).await.map(drop).map_err(failed) })?;
        self.sync(name)
    }

    /// All bytes of an object in a range.
    pub fn get(&self, name: &str, bytes: Range<u64>) -> io::Result<Bytes> {
        if bytes.is_empty() {
            return Ok(Bytes::new());
        }
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        self.bridge.wait(async move { store.get_range(&path, bytes).await.map_err(failed) })
    }

    fn path(&self, name: &str) -> Path {
        name.split('/')
            .filter(|part| !part.is_empty())
            .fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// A directory is told to write an object, and its name, to disk. A bucket has done so when it answers.
    fn sync(&self, name: &str) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let file = directory.join(self.path(name).as_ref());
        std::fs::File::open(&file)?.sync_all()?;
        // Directories that were made for it, too.
        for above in file.ancestors().skip(1).take_while(|above| above.starts_with(directory.as_path())) {
            std::fs::File::open(above)?.sync_all()?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Objects({})", self.prefix)
    }
}

impl Partitions for Objects {
    fn read_range(&self, name: &str, bytes: Range<u64>) -> io::Result<Box<dyn Read + Send>> {
        let len = self.len(name)?;
        let bytes = bytes.start.min(len)..bytes.end.min(len);
        if bytes.is_empty() {
            return Ok(Box::new(io::empty()));
        }
        let (store, path) = (Arc::clone(&self.store), self.path(name));
        let stream = self.bridge.wait(async move {
            let options = GetOptions { range: Some(GetRange::Bounded(bytes)), ..GetOptions::default() };
            Ok(store.get_opts(&path, options).await.map_err(failed)?.into_stream())
        })?;
        Ok(Box::new(ObjectReader { stream: Some(stream), part: Bytes::new(), bridge: self.bridge.clone() }))
    }
}

impl Volume for Objects {
    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        Ok(Box::new(ObjectWriter {
            objects: self.clone(),
            name: name.to_owned(),
            part: Vec::new(),
            upload: None,
            state: State::Open,
        }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.remove_all(&[name.to_owned()])
    }

    fn remove_all(&self, names: &[String]) -> io::Result<()> {
        let store = Arc::clone(&self.store);
        let paths: Vec<Path> = names.iter().map(|name| self.path(name)).collect();
        self.bridge.wait(async move {
            let paths = futures::stream::iter(paths.into_iter().map(Ok)).boxed();
            let mut removed = store.delete_stream(paths);
            while let Some(one) = removed.next().await {
                match one {
                    Ok(_) | Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            Ok(())
        })
    }
}

/// An object that is read from front to back.
struct ObjectReader {
    stream: Option<BoxStream<'static, object_store::Result<Bytes>>>,
    part: Bytes,
    bridge: Bridge,
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            let Some(mut stream) = self.stream.take() else { return Ok(0) };
            let (stream, part) = self.bridge.wait(async move {
                let part = stream.try_next().await.map_err(failed)?;
                Ok((stream, part))
            })?;
            let Some(part) = part else { return Ok(0) };
            (self.stream, self.part) = (Some(stream), part);
        }
        let len = self.part.len().min(buffer.len());
        buffer[..len].copy_from_slice(&self.part.split_to(len));
        Ok(len)
    }
}

/// An object that is written from front to back. It is there once it is synced, or dropped without an error.
struct ObjectWriter {
    objects: Objects,
    name: String,
    part: Vec<u8>,
    /// For objects that are longer than a part.
    upload: Option<Box<dyn MultipartUpload>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Complete,
    Failed,
}

impl ObjectWriter {
    /// Sends a part, after the first of which it is an upload of several.
    fn send(&mut self) -> io::Result<()> {
        let (store, path) = (Arc::clone(&self.objects.store), self.objects.path(&self.name));
        let (upload, part) = (self.upload.take(), PutPayload::from(std::mem::take(&mut self.part)));
        let upload = self.objects.bridge.wait(async move {
            let mut upload = match upload {
                Some(upload) => upload,
                None => store.put_multipart(&path).await.map_err(failed)?,
            };
            upload.put_part(part).await.map_err(failed)?;
            Ok(upload)
        })?;
        self.upload = Some(upload);
        Ok(())
    }

    fn complete(&mut self) -> io::Result<()> {
        if self.upload.is_none() {
            return self.objects.put(&self.name, std::mem::take(&mut self.part));
        }
        if !self.part.is_empty() {
            self.send()?;
        }
        if let Some(mut upload) = self.upload.take() {
            self.objects.bridge.wait(async move { upload.complete().await.map(drop).map_err(failed) })?;
        }
        self.objects.sync(&self.name)
    }

    /// Remembers that it has failed: half an object is never completed.
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if result.is_err() {
            self.state = State::Failed;
        }
        result
    }
}

impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.state != State::Open {
            return Err(io::Error::other("an object is written once, to its end"));
        }
        let len = bytes.len().min(PART - self.part.len());
        self.part.extend_from_slice(&bytes[..len]);
        if self.part.len() == PART {
            let sent = self.send();
            self.noted(sent)?;
        }
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl VolumeFile for ObjectWriter {
    fn sync(&mut self) -> io::Result<()> {
        match self.state {
            State::Complete => Ok(()),
            State::Failed => Err(io::Error::other("an object could not be written to its end")),
            State::Open => {
                let completed = self.complete();
                self.noted(completed)?;
                self.state = State::Complete;
                Ok(())
            }
        }
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        // What nobody syncs need not survive a crash, but is read. If it fails, it is not there, and its reader says so.
        if self.state == State::Open && !std::thread::panicking() {
            let _ = self.sync();
        }
    }
}

/// An error of object storage, as one of files.
fn failed(error: Error) -> io::Error {
    match error {
        Error::NotFound { .. } => io::Error::new(io::ErrorKind::NotFound, "there is no such object"),
        other => io::Error::other(format!("object storage failed: {other}")),
    }
}

/// What is sent at once: above the least that S3 takes as a part.
const PART: usize = 8 << 20;

/// The object that names the owner.
const OWNER: &str = "owner";
/// How long its name may be.
const OWNER_LEN_MAX: u64 = 1 << 10;
