//! What an owner chooses once: identity, patience, and limits.

use rdmalab_wire::PathMtu;
use rdmalab_wire::mad::response_timeout_nanoseconds;

/// The setting of a [`Cm`](crate::Cm). Durations named *code* are five bits that stand for 4.096 µs times two to that
/// power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// GUID of the adapter. Peers tell the requests of two adapters apart by it, so it must be unique.
    pub ca_guid: u64,
    /// Code: how soon a message is to be answered, and how soon we promise to answer. 20 (4.3 s) by default, as Linux has
    /// it (seen).
    pub response_timeout: u8,
    /// How often a message that is not answered is sent again, at most 15. 15 by default, as Linux has it (seen).
    pub max_retries: u8,
    /// Code: how long a packet may live on the path. Twice that is granted beyond the response timeout. 16 (0.27 s) by
    /// default.
    pub packet_life_time: u8,
    /// Code: how long our queue pairs may take to acknowledge; goes into replies. 15 by default, as rxe has it (seen).
    pub target_ack_delay: u8,
    /// Code: how long the peer is told to wait when it repeats a request about which nobody has decided yet. `None`: such
    /// a repetition is not answered. 24 (69 s) by default.
    pub decision_time: Option<u8>,
    /// Code: no peer makes us wait longer than this for one message, whatever it asks for. 24 (69 s) by default.
    pub longest_wait: u8,
    /// Code: the acknowledgement timeout of a connection that has none, and the longest that time-wait follows. 21 (8.6 s)
    /// by default.
    pub longest_time_wait: u8,
    /// The largest path MTU that requests may ask for.
    pub path_mtu: PathMtu,
    /// How much others may fill.
    pub limits: Limits,
}

/// How much others may fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections in any state, time-wait included. Requests beyond are refused for lack of resources.
    pub connections: usize,
    /// Rejections that are remembered so that a lost one can be repeated. The oldest is forgotten first.
    pub rejections: usize,
    /// Listeners.
    pub listeners: usize,
    /// Questions for datagram services, asked and received. Those beyond are not answered.
    pub resolutions: usize,
    /// Answers to such questions that are remembered so that a lost one can be repeated. The oldest is forgotten first.
    pub answers: usize,
    /// Events that nobody has polled. With more, new requests are not answered, so that they are repeated later; what happens
    /// to connections that exist is told in any case.
    pub events: usize,
    /// Datagrams that nobody has polled. More are not sent: to the peer it is as if they were lost.
    pub transmits: usize,
}

impl Config {
    /// Linux' patience, and limits for a host with many connections.
    pub const fn new(ca_guid: u64) -> Self {
        Config {
            ca_guid,
            response_timeout: 20,
            max_retries: 15,
            packet_life_time: 16,
            target_ack_delay: 15,
            decision_time: Some(24),
            longest_wait: 24,
            longest_time_wait: 21,
            path_mtu: PathMtu::M4096,
            limits: Limits {
                connections: 65_536,
                rejections: 1_024,
                listeners: 1_024,
                resolutions: 8_192,
                answers: 1_024,
                events: 65_536,
                transmits: 16_384,
            },
        }
    }

    /// How long to wait for the answer to a message that is to be answered within this code, in nanoseconds: there and back
    /// again included.
    pub(crate) fn wait(&self, code: u8) -> u64 {
        let round_trip = response_timeout_nanoseconds(self.packet_life_time.min(30) + 1);
        response_timeout_nanoseconds(code.min(self.longest_wait)) + round_trip
    }

    /// How long the peer may go on asking, in nanoseconds, if it sends a message again so often after that wait, and was told
    /// to wait in between.
    pub(crate) fn memory(&self, wait: u64, retries: u8) -> u64 {
        wait.saturating_mul(u64::from(retries) + 1).saturating_add(self.wait(self.longest_wait))
    }

    /// How long a queue pair with this acknowledgement timeout stays in time-wait, in nanoseconds.
    pub(crate) fn time_wait(&self, ack_timeout: u8) -> u64 {
        let code = match ack_timeout {
            0 => self.longest_time_wait,
            code => code.min(self.longest_time_wait),
        };
        response_timeout_nanoseconds(code)
    }
}
