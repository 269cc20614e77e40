//! What a port's iWARP counts.

/// Counters of all connections over iWARP since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct IwarpCounters {
    /// FPDUs that TCP was or will be handed.
    pub sent_fpdus: u64,
    /// Bytes that TCP has taken, start-up frames included.
    pub sent_bytes: u64,
    /// Bytes that TCP has brought, start-up frames included.
    pub received_bytes: u64,
    /// Connections that a Terminate message of ours has ended.
    pub sent_terminates: u64,
    /// Connections that a Terminate message of the peer's has ended.
    pub received_terminates: u64,
    /// Terminate messages of ours because a CRC was wrong.
    pub wrong_crcs: u64,
    /// Streams whose start-up came to nothing, those that the application rejected aside.
    pub failed_start_ups: u64,
    /// Callers that were turned away because the backlog or a table was full.
    pub refused_callers: u64,
}
