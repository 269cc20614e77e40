//! Segments before the stack sees them: a SYN for a listener gets its socket here, and what smoltcp would trip over is
//! kept from it.

use smoltcp::socket::tcp::{Socket, State};

use super::segment::Segment;
use super::stream::ListenerId;
use super::{Owner, Tcp, new_socket};
use crate::stack::Stack;

/// Connections that may wait to be accepted, for each listener; what is more is not heard.
const BACKLOG: usize = 48;
/// Connections whose peer has not yet answered our SYN-ACK. The oldest makes room for the next. Both leave some of all that there
/// can be to those who wait for nobody.
const HALF_OPEN_MAX: usize = 48;

/// What to do with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Give it to the stack.
    Pass,
    /// Give it to the stack with a window of 1 byte in place of none. If the segment that confirms our FIN closes the
    /// window, smoltcp 0.14 leaves its probe timer running in FIN-WAIT-2 and never rewinds it: it would send without
    /// end. A window of 1 does what probing does, one byte again and again, and stops that timer.
    OpenWindow,
    Drop,
}

impl Tcp {
    /// Before a segment goes to the stack: gives a SYN its socket, and says what to do with the segment.
    pub(crate) fn before_segment(&mut self, stack: &mut Stack, segment: &Segment) -> Verdict {
        self.note_incoming(stack, segment);
        if !segment.opens && !segment.no_window {
            return Verdict::Pass;
        }
        let known = self.streams.iter().find(|(_, stream)| {
            let socket = stack.sockets.get::<Socket<'_>>(stream.handle);
            segment.is_for(socket)
        });
        if !segment.opens {
            let finishing = known.is_some_and(|(_, stream)| stream.seen == State::FinWait1);
            return if finishing { Verdict::OpenWindow } else { Verdict::Pass };
        }
        if let Some((id, stream)) = known {
            match stream.seen {
                State::SynSent => return Verdict::Drop,
                // The peer is done with the old connection and opens a new one.
                State::TimeWait if stream.owner == Owner::Nobody => {
                    let id = *id;
                    self.remove(stack, id);
                }
                _ => return Verdict::Pass,
            }
        }
        let listener = self.listeners.iter().find(|(_, port)| **port == segment.destination.port());
        let Some((&listener, &port)) = listener else { return Verdict::Pass };
        if !self.make_backlog(stack, listener) {
            // The peer asks again, and somebody may have been accepted by then.
            return Verdict::Drop;
        }
        if self.make_room(stack) {
            let mut socket = new_socket();
            // The port is not 0 and the socket is new: nothing that could fail.
            if socket.listen(port).is_ok() {
                self.add(stack, socket, Owner::Listener(listener));
            }
        }
        Verdict::Pass
    }

    /// Whether another connection may wait for this listener; the oldest half-open one gives way.
    fn make_backlog(&mut self, stack: &mut Stack, listener: ListenerId) -> bool {
        let waiting =
            self.streams.values().filter(|stream| stream.owner == Owner::Listener(listener)).count();
        let mut half_open = self.streams.iter().filter(|(_, stream)| {
            matches!(stream.owner, Owner::Listener(_)) && stream.seen == State::SynReceived
        });
        let oldest = half_open.next().map(|(id, _)| *id);
        if waiting < BACKLOG && half_open.count() + 1 < HALF_OPEN_MAX {
            return true;
        }
        oldest.inspect(|id| self.remove(stack, *id)).is_some()
    }
}
