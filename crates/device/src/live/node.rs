//! What the engine drives: a port by itself, over UDP sockets, or in an emulated host, over a link of frames.

use std::net::IpAddr;

use rdmalab_host::Host;
use rdmalab_wire::EthernetHeader;

use super::sockets::dress;
use crate::adapter::{Adapter, Progress, TURN};
use crate::port::Port;

/// A port, with an emulated host around it or without.
#[expect(clippy::large_enum_variant, reason = "there is one for each device")]
pub(super) enum Node {
    /// Frames in and out. The host has the addresses, and TCP of its own.
    Host(Adapter),
    /// IP packets in and out, dressed as frames. The operating system has the address, with its scope, and TCP.
    Port(Port, IpAddr, u32),
}

impl Node {
    pub(super) fn port(&mut self) -> &mut Port {
        match self {
            Self::Host(adapter) => &mut adapter.port,
            Self::Port(port, ..) => port,
        }
    }

    /// The emulated host, if there is one.
    pub(super) fn host(&mut self) -> Option<&mut Host> {
        match self {
            Self::Host(adapter) => Some(&mut adapter.host),
            Self::Port(..) => None,
        }
    }

    /// Whether the emulated host got or did something since this was asked last, so that its streams may have changed.
    pub(super) fn has_host_stirred(&mut self) -> bool {
        match self {
            Self::Host(adapter) => adapter.has_host_stirred(),
            Self::Port(..) => false,
        }
    }

    /// A frame from the link.
    pub(super) fn handle_frame(&mut self, now: u64, frame: &[u8]) {
        match self {
            Self::Host(adapter) => adapter.handle_frame(now, frame),
            Self::Port(port, ..) => {
                port.handle_packet(now, frame.get(EthernetHeader::LENGTH..).unwrap_or_default());
            }
        }
    }

    /// Does everything that is due by `now`.
    pub(super) fn handle_timeout(&mut self, now: u64) {
        match self {
            Self::Host(adapter) => adapter.handle_timeout(now),
            Self::Port(port, ..) => port.handle_timeout(now),
        }
    }

    /// When there is something to do.
    pub(super) fn next_timeout(&self, now: u64) -> Option<u64> {
        match self {
            Self::Host(adapter) => adapter.next_timeout(now),
            Self::Port(port, ..) => port.next_timeout(now),
        }
    }

    /// Hands frames to `link`, as [`Adapter::transmit`] does.
    pub(super) fn transmit<E>(
        &mut self,
        now: u64,
        mut link: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<Progress, E> {
        let (port, address) = match self {
            Self::Host(adapter) => return adapter.transmit(now, link),
            Self::Port(port, address, _) => (port, *address),
        };
        for _ in 0..TURN {
            if port.packet().is_none() && !port.fill(now) {
                return Ok(Progress::Done);
            }
            let Some(frame) = port.packet() else { return Ok(Progress::Done) };
            if dress(frame, address) == Some(address) {
                port.loop_back(now);
            } else if !link(frame)? {
                return Ok(Progress::Blocked);
            }
            port.pass();
        }
        Ok(Progress::More)
    }
}
