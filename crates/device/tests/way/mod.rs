//! The way of a reliable queue pair from RESET to RTS, for tests that connect two by hand.

use rdmalab_device::{Access, Attributes, Path, PathMtu, Psn, Qpn, State};

/// In what the tests differ.
#[derive(Clone, Copy)]
pub struct Terms {
    pub path_mtu: PathMtu,
    /// With which both sides begin.
    pub psn: u32,
    /// READs and atomics each way.
    pub reads: u8,
    pub min_rnr_timer: u8,
    pub timeout: u8,
    pub retry_count: u8,
}

impl Default for Terms {
    fn default() -> Self {
        Self { path_mtu: PathMtu::M1024, psn: 0, reads: 4, min_rnr_timer: 12, timeout: 14, retry_count: 7 }
    }
}

/// The three changes, in order.
pub fn to_rts(path: Path, destination: Qpn, terms: Terms) -> [Attributes; 3] {
    [
        Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: Some(Access::FULL),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rtr),
            path: Some(path),
            path_mtu: Some(terms.path_mtu),
            destination: Some(destination),
            receive_psn: Some(Psn::new(terms.psn)),
            max_destination_reads: Some(terms.reads),
            min_rnr_timer: Some(terms.min_rnr_timer),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rts),
            send_psn: Some(Psn::new(terms.psn)),
            timeout: Some(terms.timeout),
            retry_count: Some(terms.retry_count),
            rnr_retry: Some(7),
            max_reads: Some(terms.reads),
            ..Attributes::default()
        },
    ]
}
