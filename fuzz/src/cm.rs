//! A communication manager, and steps of a peer, an application and a clock that do anything.
//!
//! Whatever comes: nothing panics or goes on without end; tables, indices and timers fit each other; limits hold; and when
//! the application gives up all connections, nothing is left after a while.

// What the steps are is the crate's own test.
#[path = "../../crates/cm/tests/hostile/play.rs"]
mod play;

/// Carries out what the bytes stand for.
pub fn run(bytes: &[u8]) {
    // The fuzzer gains nothing from more.
    play::play(&bytes[..bytes.len().min(4_096)]);
}
