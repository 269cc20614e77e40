//! The TCP ports at which `serve` has its programs, if it is told no others, and which its clients are told of.

use rdmalab_programs::perf::{Measure, Operation};
use rdmalab_programs::pingpong::{DEFAULT_PORT, Kind};

/// The first port for perftest, whose own is ibv_rc_pingpong's too.
pub const PERF_PORT: u16 = 18516;
/// Ports for the sisters of ibv_rc_pingpong, behind those of perftest.
pub const UC_PORT: u16 = 18524;
pub const UD_PORT: u16 = 18525;
pub const SRQ_PORT: u16 = 18526;
/// perftest's programs, in the order of their ports.
pub const PERF: [(&str, Operation, Measure); 8] = [
    ("write_bw", Operation::Write, Measure::Bandwidth),
    ("read_bw", Operation::Read, Measure::Bandwidth),
    ("send_bw", Operation::Send, Measure::Bandwidth),
    ("atomic_bw", Operation::FetchAndAdd, Measure::Bandwidth),
    ("write_lat", Operation::Write, Measure::Latency),
    ("read_lat", Operation::Read, Measure::Latency),
    ("send_lat", Operation::Send, Measure::Latency),
    ("atomic_lat", Operation::FetchAndAdd, Measure::Latency),
];

/// Where a client of perftest finds its test, if `serve` was told no ports.
pub fn of_perf(operation: Operation, measure: Measure) -> Option<(&'static str, u16)> {
    let is_same = |one: Operation| {
        one == operation || one == Operation::FetchAndAdd && operation == Operation::CompareAndSwap
    };
    let mut tests = PERF.iter().zip(PERF_PORT..);
    tests.find(|((_, one, of), _)| is_same(*one) && *of == measure).map(|((name, ..), port)| (*name, port))
}

/// Where a client of ibv_rc_pingpong or one of its sisters finds its game likewise.
pub fn of_pingpong(kind: Kind) -> u16 {
    match kind {
        Kind::Rc => DEFAULT_PORT,
        Kind::Uc => UC_PORT,
        Kind::Ud => UD_PORT,
        Kind::Srq => SRQ_PORT,
    }
}
