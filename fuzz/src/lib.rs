//! The targets of the fuzzer are in `throng-testing`, where tests on a stable toolchain run them, too.

pub use throng_testing::fuzzing::run;
