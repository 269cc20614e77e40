//! A queue pair that is ready to send, with work of every kind on both of its queues, and a peer that may send anything
//! with a right ICRC.
//!
//! Whatever comes: nothing panics or goes on without end; what goes out is sound; every request completes at most once
//! and in order, and all of them once the queue pair is in ERR; memory that the peer has no right to stays as it is.

pub mod input;
mod packets;
mod rig;

use arbitrary::{Arbitrary, Unstructured};

use input::Input;
use rig::Rig;

/// Steps of an input that are carried out; the fuzzer gains nothing from longer ones.
const MOST_STEPS: usize = 256;

/// Carries out what the bytes stand for.
pub fn run(bytes: &[u8]) {
    if let Ok(input) = Input::arbitrary_take_rest(Unstructured::new(bytes)) {
        run_input(&input);
    }
}

/// Carries out an input.
pub fn run_input(input: &Input) {
    let mut rig = Rig::new(input);
    for step in input.steps.iter().take(MOST_STEPS) {
        rig.step(step);
        rig.check();
    }
    rig.end();
}
