//! Direct writes (O_DIRECT) for a file that is written in groups, each with a sync, and read long after: they bypass the
//! page cache where the file system allows it.
//!
//! What the page cache keeps of a file that nobody reads takes memory, and time for every page, which a direct write saves.
//! Such writes are of whole pages, from memory that begins where a page does. So what was written of the last page is kept
//! and written again with the next group, and zeros follow it in the file until then. A sector is written whole or not at
//! all, with the same bytes in front: no crash changes what was synced.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::OFlags;
use throng_shuffle::{StoreFile, VolumeFile};

use super::{PAGE, sync_file};
use throng_host::faults::Crash;

/// A file that is being written.
pub(super) struct GroupFile {
    path: PathBuf,
    file: File,
    how: WriteMode,
    pages: Pages,
    /// Where the pages that are in memory begin.
    start: u64,
    /// The directory, until the file's name was synced.
    directory: Option<Arc<File>>,
    crash: Arc<Crash>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    Direct,
    /// Through the page cache, for file systems that know no other way.
    Cached,
}

impl GroupFile {
    /// Goes on at the end of a file, or starts it.
    pub(super) fn open(path: PathBuf, directory: Arc<File>, crash: Arc<Crash>) -> io::Result<Self> {
        let (file, how) = match open(&path, WriteMode::Direct) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                (open(&path, WriteMode::Cached)?, WriteMode::Cached)
            }
            opened => (opened?, WriteMode::Direct),
        };
        let len = file.metadata()?.len();
        let pages = Pages::default();
        let mut this = Self { path, file, how, pages, start: 0, directory: Some(directory), crash };
        this.go_on_at(len)?;
        Ok(this)
    }

    /// What is in memory begins with the page that this place is in.
    fn go_on_at(&mut self, len: u64) -> io::Result<()> {
        self.start = len / PAGE * PAGE;
        let mut tail = vec![0; (len - self.start) as usize];
        // Not through the file that is written: it reads whole pages only.
        File::open(&self.path)?.read_exact_at(&mut tail, self.start)?;
        self.pages.clear();
        self.pages.push(&tail);
        Ok(())
    }

    fn write_pages(&mut self) -> io::Result<()> {
        let written = self.file.write_all_at(self.pages.whole(), self.start);
        match written {
            // A device whose pages are larger.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput && self.how == WriteMode::Direct => {
                (self.file, self.how) = (open(&self.path, WriteMode::Cached)?, WriteMode::Cached);
                self.file.write_all_at(self.pages.whole(), self.start)
            }
            written => written,
        }
    }
}

fn open(path: &PathBuf, how: WriteMode) -> io::Result<File> {
    let flags = if how == WriteMode::Direct { OFlags::DIRECT.bits() as i32 } else { 0 };
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path)
}

impl Write for GroupFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pages.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl VolumeFile for GroupFile {
    fn sync(&mut self) -> io::Result<()> {
        self.crash.operation();
        self.write_pages()?;
        sync_file(&self.file, &mut self.directory, &self.crash)?;
        self.start += self.pages.forget_full();
        Ok(())
    }
}

impl StoreFile for GroupFile {
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.go_on_at(len)
    }
}

/// Bytes in memory that begins where a page does.
#[derive(Default)]
struct Pages {
    memory: Vec<u8>,
    /// Where the first page begins.
    first: usize,
    len: usize,
}

impl Pages {
    fn clear(&mut self) {
        self.len = 0;
    }

    fn push(&mut self, bytes: &[u8]) {
        let len = self.len + bytes.len();
        if self.memory.len() < self.first + len.next_multiple_of(PAGE as usize) {
            let mut memory = vec![0; 2 * len.next_multiple_of(PAGE as usize) + PAGE as usize];
            let first = memory.as_ptr().align_offset(PAGE as usize).min(PAGE as usize);
            memory[first..first + self.len].copy_from_slice(&self.memory[self.first..][..self.len]);
            (self.memory, self.first) = (memory, first);
        }
        self.memory[self.first + self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len = len;
    }

    /// All of them, and zeros to the end of the last page.
    fn whole(&mut self) -> &[u8] {
        let len = self.len.next_multiple_of(PAGE as usize);
        let pages = &mut self.memory[self.first..][..len];
        pages[self.len..].fill(0);
        pages
    }

    /// Forgets all pages that are full; says how many bytes they had.
    fn forget_full(&mut self) -> u64 {
        let full = self.len / PAGE as usize * PAGE as usize;
        self.memory.copy_within(self.first + full..self.first + self.len, self.first);
        self.len -= full;
        full as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn files(directory: &std::path::Path) -> [GroupFile; 2] {
        let open = |name: &str| {
            let (handle, crash) = (Arc::new(File::open(directory).unwrap()), Arc::new(Crash::from_env()));
            GroupFile::open(directory.join(name), handle, crash).unwrap()
        };
        let mut cached = open("cached");
        cached.file = super::open(&cached.path, WriteMode::Cached).unwrap();
        cached.how = WriteMode::Cached;
        [open("as it is"), cached]
    }

    /// What was written, then zeros to the end of a page, whichever way it went; across groups, reopening and taking back.
    #[test]
    fn what_is_synced_is_there_with_zeros_behind_it() {
        // On a disk: where files are in memory there is no other way.
        let directory = tempfile::tempdir().unwrap();
        for mut file in files(directory.path()) {
            let mut written = Vec::new();
            let mut group = |file: &mut GroupFile, len: usize| {
                let bytes: Vec<u8> = (0..len).map(|place| (place % 251 + 1) as u8).collect();
                bytes.chunks(1000).for_each(|part| file.write_all(part).unwrap());
                written.extend(bytes);
                file.sync().unwrap();
                let mut expected = written.clone();
                expected.resize(written.len().next_multiple_of(4096), 0);
                assert!(fs::read(&file.path).unwrap() == expected, "after {} bytes", written.len());
            };
            for len in [1, 4095, 1, 4096, 8191, 20_000, 137] {
                group(&mut file, len);
            }
            let len = written.len() as u64;
            file.write_all(&[9; 30_000]).unwrap();
            file.truncate(len).unwrap();
            assert!(fs::read(&file.path).unwrap() == written, "what was not synced is taken back");
            let (path, directory, crash) =
                (file.path.clone(), Arc::new(File::open(directory.path()).unwrap()), file.crash);
            let mut again = GroupFile::open(path, directory, crash).unwrap();
            again.write_all(b"more").unwrap();
            again.sync().unwrap();
            written.extend(b"more");
            assert!(fs::read(&again.path).unwrap().starts_with(&written));
        }
    }

    #[test]
    fn memory_begins_where_a_page_does_however_it_grows() {
        let mut pages = Pages::default();
        let mut all = Vec::new();
        for len in [1, 5000, 3, 100_000, 4096] {
            let bytes = vec![len as u8; len];
            pages.push(&bytes);
            all.extend(bytes);
            let whole = pages.whole();
            assert_eq!((whole.as_ptr().align_offset(4096), whole.len() % 4096), (0, 0));
            assert_eq!(whole[..all.len()], all);
        }
        let full = all.len() / 4096 * 4096;
        assert_eq!(pages.forget_full(), full as u64);
        assert_eq!(pages.whole()[..all.len() - full], all[full..]);
    }
}
