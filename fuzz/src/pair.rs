//! Two hosts with a connection of any service, or datagrams, between them, and somebody in the middle who loses, repeats,
//! reorders, changes and forges packets, all with right ICRCs.
//!
//! Whatever comes: nothing panics or goes on without end; what goes out is sound; every request and every receive
//! completes at most once, requests in order, and all of them once the queue pair is in ERR; memory that no key gives
//! the peer a right to stays as it is.

mod forge;
mod host;
pub mod input;
mod network;

use arbitrary::{Arbitrary, Unstructured};

use input::Input;
use network::Network;

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
    let mut network = Network::new(input);
    for step in input.steps.iter().take(MOST_STEPS) {
        network.step(step);
        network.check();
    }
    network.end();
}
