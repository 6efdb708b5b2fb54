//! Object storage is a volume: in a directory, and in a bucket of an S3-compatible server (s3s-fs, in this process) that fails
//! for a while.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

#[allow(dead_code)]
mod bucket;

use std::io::{self, Read, Write};

use bucket::Bucket;
use throng_batch::{Partitions, Volume};
use throng_cluster::bridge::Bridge;
use throng_cluster::objects::Objects;

/// Objects in a directory of the test.
fn directory(dir: &tempfile::TempDir) -> Objects {
    Objects::open(&format!("file://{}", dir.path().display()), Bridge::new().unwrap()).unwrap()
}

fn read(objects: &Objects, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    objects.read(name).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn write(objects: &Objects, name: &str, bytes: &[u8]) {
    let mut file = objects.create(name).unwrap();
    file.write_all(bytes).unwrap();
    file.sync().unwrap();
}

/// Bytes that tell where they stand.
fn numbered(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place % 251) as u8).collect()
}

/// Below and above the length of a part; removed, listed, begun and dropped; and of one owner.
fn behave_as_files(all: &Objects) {
    all.claim("hop 1.1 of colours").unwrap();
    all.claim("hop 1.1 of colours").unwrap();
    let refused = all.claim("the analyzer of colours").unwrap_err().to_string();
    assert!(refused.contains("belong to hop 1.1 of colours"), "{refused}");
    let here = all.below("one/two");
    assert_eq!(here.read("none").err().unwrap().kind(), io::ErrorKind::NotFound);
    for len in [0, 1, (8 << 20) - 1, 8 << 20, (20 << 20) + 5] {
        let bytes = numbered(len);
        write(&here, "file", &bytes);
        assert_eq!(here.len("file").unwrap(), len as u64);
        assert!(read(&here, "file") == bytes, "{len} bytes");
        let mut part = Vec::new();
        let range = len as u64 / 2..len as u64 + 9;
        here.read_range("file", range).unwrap().read_to_end(&mut part).unwrap();
        assert!(part == bytes[len / 2..], "the second half of {len} bytes");
    }
    assert_eq!(here.names().unwrap(), ["file"]);
    here.remove_all(&["file".into(), "none".into()]).unwrap();
    assert!(here.names().unwrap().is_empty());
    // One that is begun is not there; one that is dropped without a sync is.
    let mut begun = here.create("begun").unwrap();
    begun.write_all(b"a").unwrap();
    assert!(here.names().unwrap().is_empty());
    drop(begun);
    assert_eq!(read(&here, "begun"), b"a");
}

#[test]
fn a_directory_is_a_volume() {
    let dir = tempfile::tempdir().unwrap();
    behave_as_files(&directory(&dir));
}

#[test]
fn a_bucket_is_a_volume() {
    let bucket = Bucket::start();
    behave_as_files(&bucket.objects());
}

/// Answers of 500 and 503 for a while, and slow ones: everything is there in the end, once.
#[test]
fn a_bucket_that_fails_for_a_while_loses_nothing() {
    let bucket = Bucket::start();
    let objects = bucket.objects();
    let bytes = numbered((17 << 20) + 3);
    for status in [500, 503] {
        for name in ["small", "large"] {
            bucket.fail(4, status);
            let bytes = if name == "small" { &bytes[..1000] } else { &bytes };
            write(&objects, name, bytes);
            bucket.fail(3, status);
            assert!(read(&objects, name) == bytes, "{name}, {status}");
        }
    }
    assert_eq!(objects.names().unwrap(), ["large", "small"]);
    assert!(bucket.failed() >= 20, "it was asked while it failed");
    objects.remove("small").unwrap();
    assert_eq!(objects.names().unwrap(), ["large"]);
}

#[test]
fn an_address_that_names_no_objects_is_refused_with_what_to_give() {
    for address in ["bucket", "http://bucket", "postgres://a/b", "file://host/there"] {
        let error = Objects::open(address, Bridge::new().unwrap()).unwrap_err().to_string();
        assert!(error.contains("file:///DIRECTORY"), "{address}: {error}");
    }
}
