//! The limit of open files and sockets of this process (RLIMIT_NOFILE).

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to this number, as far as the system allows that without privileges; says what it is now.
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
