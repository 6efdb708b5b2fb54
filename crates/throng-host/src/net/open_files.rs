//! How many files and sockets this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Asks the system for as many as this, as far as it allows that without privileges; says how many there are now.
///
/// Systems give a process 1,024 unless it asks. A server that has as many connections could not open a file to store what
/// comes over them.
pub fn allow(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // No limit is a limit that nobody reaches.
    let (current, most) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    let asked = wanted.min(most);
    if current >= asked {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(asked), maximum }) {
        Ok(()) => asked,
        Err(_) => current,
    }
}
