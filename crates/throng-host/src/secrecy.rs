//! What a process has in memory stays off the disk: no core dumps, and locked memory (mlock) where the system allows that.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// For commands that hold keys or answers. Where the system does not allow something of it the command runs all the same:
/// it protects against what happens to a machine later, not against its owner.
pub fn keep_memory_off_the_disk() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
    // No debugger of the same user, and no core dump whatever the system does with them.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    // Under a limit, memory that is asked for later would be refused once the limit is reached. To lock what is there now and no more is no way
    // out: Linux refuses it unless the whole address space fits the limit, keys are read later, and a locked stack that grows past the limit ends the
    // process. To lock single buffers takes pointers, and so unsafe code. Pages are locked when they are first used, so that nothing is in
    // memory which would not be there otherwise.
    if getrlimit(Resource::Memlock).current.is_none() {
        let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
    }
}
