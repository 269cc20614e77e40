//! The states of a queue pair.

/// States of a queue pair (`ibv_qp_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Nothing is set; packets are dropped.
    Reset,
    /// Receives may be posted; packets are dropped.
    Init,
    /// Ready to receive.
    Rtr,
    /// Ready to send.
    Rts,
    /// The send queue is being, or has been, drained; receiving goes on.
    Sqd,
    /// The send queue met an error, and nothing is sent; receiving goes on. Only UC and UD get here.
    Sqe,
    /// Everything queued is flushed; packets are dropped.
    Err,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Reset, Self::Init, Self::Rtr, Self::Rts, Self::Sqd, Self::Sqe, Self::Err];

    /// Whether requests of the peer are taken.
    pub fn receives(self) -> bool {
        matches!(self, Self::Rtr | Self::Rts | Self::Sqd | Self::Sqe)
    }

    /// Whether packets may be sent for requests already begun. In SQE, where UC and UD stop at an error, nothing is
    /// sent; in SQD, nothing new is begun.
    pub fn sends(self) -> bool {
        matches!(self, Self::Rts | Self::Sqd)
    }
}

impl core::fmt::Display for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::Reset => "RESET",
            Self::Init => "INIT",
            Self::Rtr => "RTR",
            Self::Rts => "RTS",
            Self::Sqd => "SQD",
            Self::Sqe => "SQE",
            Self::Err => "ERR",
        })
    }
}
