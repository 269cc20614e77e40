//! The part of the matrix that is played with siw, Linux' iWARP: how we speak it.

mod cells;
mod daily;

use std::fmt;

use super::Cell;

pub(super) use cells::cells;

/// Whose TCP ours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// That of an emulated host, at a TAP.
    Host,
    /// The kernel's, by its sockets.
    Sockets,
}

/// How we speak iWARP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iwarp {
    /// Whose TCP it is.
    pub carrier: Carrier,
    /// Whether we ask for CRCs. siw does not, and gives them to whoever asks.
    pub crc: bool,
}

impl Iwarp {
    /// All that there is.
    const ALL: [Self; 4] = [
        Self { carrier: Carrier::Host, crc: true },
        Self { carrier: Carrier::Host, crc: false },
        Self { carrier: Carrier::Sockets, crc: true },
        Self { carrier: Carrier::Sockets, crc: false },
    ];

    /// The two of them that a cell is played with, by its place: over both carriers, with CRCs over one of them.
    fn two(place: usize) -> [Self; 2] {
        let crc = place.is_multiple_of(2);
        [Self { carrier: Carrier::Host, crc }, Self { carrier: Carrier::Sockets, crc: !crc }]
    }

    /// The MTU of the link: that of most networks, and one with longer FPDUs.
    fn link_mtu(self) -> u16 {
        if self.crc { 1500 } else { Cell::LINK_MTU }
    }

    /// What ours is told.
    pub(super) fn options(self) -> &'static str {
        if self.crc { "--iwarp --crc on" } else { "--iwarp --crc off" }
    }
}

impl fmt::Display for Iwarp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.carrier {
            Carrier::Host => "siw, TAP",
            Carrier::Sockets => "siw, sockets",
        })?;
        f.write_str(if self.crc { ", CRC" } else { "" })
    }
}
