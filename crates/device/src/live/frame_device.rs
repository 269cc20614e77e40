//! What moves frames: a TAP device, an interface shared with the kernel, UDP sockets, or a cable in memory.
//!
//! All of them lend what they receive and copy what they send. Sent frames may wait for [`FrameDevice::flush`].

use std::time::Duration;

use rdmalab_net::{FRAME_CAPACITY, Interest, NetError, PacketSocket, Poller, Tap};

use super::cable::Cable;
use super::kernel_streams::KernelStreams;
use super::sockets::Sockets;

pub(super) enum FrameDevice {
    /// With a buffer for what comes in.
    Tap(Tap, Box<[u8]>),
    Packet(Box<PacketSocket>),
    Sockets(Box<Sockets>),
    Cable(Cable),
}

impl FrameDevice {
    pub(super) fn tap(tap: Tap) -> Self {
        Self::Tap(tap, vec![0; FRAME_CAPACITY].into())
    }

    /// What captures call it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tap(tap, _) => tap.name(),
            Self::Packet(socket) => socket.name(),
            Self::Sockets(sockets) => sockets.socket.name(),
            Self::Cable(_) => "cable",
        }
    }

    /// Waits until there is something to do, or the time is up.
    pub(super) fn wait(
        &self,
        poller: &mut Poller,
        interest: Interest,
        timeout: Option<Duration>,
    ) -> Result<(), NetError> {
        // What waits inside is not told by the descriptor.
        let timeout = if self.has_frames() { Some(Duration::ZERO) } else { timeout };
        match self {
            Self::Tap(tap, _) => poller.wait(tap, interest, timeout),
            Self::Packet(socket) => poller.wait(&**socket, interest, timeout),
            Self::Sockets(sockets) => {
                poller.wait_beside(&sockets.socket, interest, &sockets.streams.sockets, timeout)
            }
            Self::Cable(_) => poller.wait_for_wake(timeout),
        }?;
        Ok(())
    }

    /// Whether it is known that nobody is at the other end any more.
    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::Cable(cable) if cable.is_cut())
    }

    fn has_frames(&self) -> bool {
        match self {
            Self::Tap(..) => false,
            Self::Packet(socket) => socket.has_frames(),
            Self::Sockets(sockets) => sockets.has_frames() || sockets.streams.has_events(),
            Self::Cable(cable) => cable.has_frames(),
        }
    }

    /// The byte streams of the kernel's TCP, where the port uses those.
    pub(super) fn streams(&mut self) -> Option<&mut KernelStreams> {
        match self {
            Self::Sockets(sockets) => Some(&mut sockets.streams),
            Self::Tap(..) | Self::Packet(_) | Self::Cable(_) => None,
        }
    }

    /// The next frame that came in.
    pub(super) fn next_frame(&mut self) -> Result<Option<&[u8]>, NetError> {
        match self {
            Self::Tap(tap, buffer) => {
                let length = tap.receive(buffer)?;
                Ok(length.and_then(|length| buffer.get(..length)))
            }
            Self::Packet(socket) => socket.next_frame(),
            Self::Sockets(sockets) => sockets.next_frame(),
            Self::Cable(cable) => Ok(cable.next_frame()),
        }
    }

    /// Sends a frame; `false` if there is no room now.
    pub(super) fn send(&mut self, frame: &[u8]) -> Result<bool, NetError> {
        match self {
            Self::Tap(tap, _) => tap.send(frame),
            Self::Packet(socket) => socket.send(frame),
            Self::Sockets(sockets) => sockets.send(frame),
            Self::Cable(cable) => Ok(cable.send(frame)),
        }
    }

    /// Sends what waits; `false` if there is no room for all of it now.
    pub(super) fn flush(&mut self) -> Result<bool, NetError> {
        match self {
            Self::Packet(socket) => socket.flush(),
            Self::Sockets(sockets) => sockets.flush(),
            Self::Tap(..) | Self::Cable(_) => Ok(true),
        }
    }
}
