//! A demo that is stopped or killed: nothing is left of it.

#![allow(clippy::unwrap_used)] // In a test a panic is the message.

use throng_testing::program::{Program, names, text};
use throng_testing::small_demo::{SmallDemo, is_alive, read_until, signal};

/// Cargo tells tests of this package alone where the program is.
const THRONG: Program = Program::at(env!("CARGO_BIN_EXE_throng"));
const DEMO: SmallDemo = SmallDemo(THRONG);

/// Also with --keep before there is anything to keep, and where whoever started it ignores Ctrl-C.
#[test]
fn ctrl_c_leaves_no_process_and_no_file() {
    for (moment, arguments) in [("keys", &[][..]), ("epoch", &["--keep"])] {
        for start in [SmallDemo::command, SmallDemo::deaf_command] {
            let dir = tempfile::tempdir().unwrap();
            let mut child = start(DEMO, &dir, arguments).spawn().unwrap();
            let processes = read_until(&mut child, moment);
            signal(child.id(), "-INT");
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
            assert!(text(&output.stderr).contains("stopped"), "{}", text(&output.stderr));
            assert!(processes.iter().all(|(_, pid)| !is_alive(*pid)), "{moment}");
            assert_eq!(names(&dir.path().join("tmp")), [""; 0], "{moment}");
            assert_eq!(names(&dir.path().join("throng-demo")), [""; 0], "{moment}");
        }
    }
}

/// What a demo that was killed has left does not keep the next from being kept.
#[test]
fn what_a_killed_demo_left_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = DEMO.command(&dir, &["--keep"]).spawn().unwrap();
    read_until(&mut child, "keys");
    signal(child.id(), "-KILL");
    child.wait().unwrap();
    let out = dir.path().join("throng-demo");
    assert_eq!(names(&out), ["deployment", "deployment.unfinished"]);
    let mut child = DEMO.command(&dir, &["--keep"]).spawn().unwrap();
    read_until(&mut child, "keys");
    signal(child.id(), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(names(&out), [""; 0]);
}
