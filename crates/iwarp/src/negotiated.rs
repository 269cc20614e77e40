//! What the start-up of MPA has settled, and all that the stream behind it needs to know of it.

/// Which end of the TCP connection we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// We sent the request.
    Initiator,
    /// We answered it. Until the initiator's first FPDU has come, we send none (RFC 5044 §7.1.2), unless
    /// [the settings](crate::StreamSettings::waits_for_initiator) let us.
    Responder,
}

/// The message by which the initiator of a peer-to-peer connection says that the responder may send (RFC 6581 §9.2).
/// Nobody's application sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReadyToReceive {
    /// An FPDU without a ULPDU.
    Empty,
    /// An RDMA Write of no bytes.
    Write,
    /// An RDMA Read of no bytes, which the responder answers.
    Read,
}

/// The terms of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Negotiated {
    /// Which end we are.
    pub role: Role,
    /// The revision of MPA that both speak.
    pub revision: u8,
    /// Both sides send CRCs, and verify them.
    pub crc: bool,
    /// The peer wants to receive markers.
    pub send_markers: bool,
    /// We want to receive markers.
    pub receive_markers: bool,
    /// Inbound READs and atomics that we take at once.
    pub ird: u16,
    /// Outbound READs and atomics that we have under way at once.
    pub ord: u16,
    /// What the initiator sends first, if the two agreed on it.
    pub ready_to_receive: Option<ReadyToReceive>,
}
