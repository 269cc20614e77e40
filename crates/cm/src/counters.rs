//! What was sent, repeated, refused and ignored.

/// Numbers since the start. Whatever is not handled in the ordinary way is in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams handed in.
    pub received: u64,
    /// Datagrams put out.
    pub sent: u64,
    /// Of those: messages sent again because nothing came.
    pub retransmitted: u64,
    /// Of those: messages sent again because the peer repeated its own.
    pub repeated_answers: u64,
    /// Datagrams not put out because too many wait to be polled.
    pub transmits_full: u64,
    /// Messages that nobody answered, given up.
    pub timeouts: u64,

    /// Not 256 bytes.
    pub malformed: u64,
    /// Of another class, base version, method or attribute than this one handles.
    pub not_communication_management: u64,
    /// REQs of another class version, refused.
    pub wrong_class_version: u64,
    /// Messages whose IDs belong to a connection of another peer, or do not belong together.
    pub mismatched: u64,
    /// Messages that make no sense in the connection's state.
    pub unexpected: u64,

    /// REQs that became a request to a listener.
    pub requests: u64,
    /// REQs repeated by the peer.
    pub requests_repeated: u64,
    /// REQs refused: nobody listens for the service.
    pub requests_without_listener: u64,
    /// REQs refused: the service is not for this transport, or the transport is not supported.
    pub requests_wrong_transport: u64,
    /// REQs refused: the addresses of the path are not those of the datagram.
    pub requests_wrong_address: u64,
    /// REQs refused: the path MTU is too large, or no path MTU.
    pub requests_wrong_mtu: u64,
    /// REQs refused: RDMA-CM's header is of another version, or names others than the datagram.
    pub requests_wrong_header: u64,
    /// REQs and REPs refused: the peer's queue pair is connected here already.
    pub stale: u64,
    /// REQs not answered: too many wait for the listener's decision.
    pub backlog_full: u64,
    /// REQs refused: too many connections.
    pub connections_full: u64,
    /// REQs and SIDR_REQs not answered: too many events wait to be polled.
    pub events_full: u64,

    /// REPs repeated by the peer.
    pub replies_repeated: u64,
    /// REPs to a connection that is not known, refused.
    pub replies_unknown: u64,
    /// DREQs to a connection that is not known, agreed to.
    pub releases_unknown: u64,
    /// RTUs, MRAs, REJs and DREPs to a connection that is not known.
    pub unknown: u64,
    /// Alternate paths refused.
    pub alternate_paths: u64,

    /// SIDR_REQs that became a question to a listener.
    pub questions: u64,
    /// SIDR_REQs repeated by the peer.
    pub questions_repeated: u64,
    /// SIDR_REQs refused: nobody listens for the service.
    pub questions_without_listener: u64,
    /// SIDR_REQs refused: RDMA-CM's header is of another version, or names others than the datagram.
    pub questions_wrong_header: u64,
    /// SIDR_REQs not answered: too many wait for an answer.
    pub questions_full: u64,
    /// SIDR_REPs to no question of ours.
    pub answers_unknown: u64,
}
