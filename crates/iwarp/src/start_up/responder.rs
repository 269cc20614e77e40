//! The side that is asked.

use alloc::vec::Vec;

use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind};

use super::buffer::FrameBuffer;
use super::fault::{PrivateDataTooLong, Refusal, StartUpFault};
use super::initiator::encode;
use super::terms::{ReadySet, Terms, at_most};
use crate::negotiated::{Negotiated, ReadyToReceive, Role};
use crate::profile::Profile;

/// A start-up that the peer began.
#[derive(Debug)]
pub struct Responder {
    profile: Profile,
    request: FrameBuffer,
    /// What we settled on with the peer about its first message, once the request is here.
    ready: Option<ReadyToReceive>,
    reply: Vec<u8>,
}

/// What came of the peer's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The request is whole: the application decides, by [`Responder::accept`] or [`Responder::reject`].
    Requested,
    /// The request is whole, and was rejected here: [`Responder::reply`] is to be sent, and the TCP connection closed.
    Refused(Refusal),
}

/// What the peer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its revision of MPA.
    pub revision: u8,
    /// It wants CRCs.
    pub crc: bool,
    /// It wants to receive markers.
    pub markers: bool,
    /// READs and atomics that it takes at once; `None` where that is not negotiated.
    pub ird: Option<u16>,
    /// READs and atomics that it wants to have under way at once; `None` where that is not negotiated.
    pub ord: Option<u16>,
    /// It will say that it is ready to receive before we send.
    pub peer_to_peer: bool,
    /// For the application.
    pub private_data: &'a [u8],
}

impl Responder {
    /// Waits for a request.
    pub fn new(profile: &Profile) -> Self {
        let request = FrameBuffer::new(MpaKind::Request);
        Self { profile: profile.clone(), request, ready: None, reply: Vec::new() }
    }

    /// Takes bytes of the request. `None` while it is not whole. Bytes behind it are a fault, at once or later: the initiator
    /// has to wait for our reply (RFC 5044 §7.1.2).
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<Option<Asked>, StartUpFault> {
        let mut bytes = bytes;
        let was_whole = self.request.frame().is_some();
        let is_whole = self.request.take(&mut bytes)?;
        if !bytes.is_empty() {
            return Err(StartUpFault::DataBeforeReply);
        }
        if was_whole || !is_whole {
            return Ok(None);
        }
        let Some(frame) = self.request.frame() else { return Ok(None) };
        let refusal = match judge(&self.profile, &frame)? {
            Ok(ready) => {
                self.ready = ready;
                return Ok(Some(Asked::Requested));
            }
            Err(refusal) => refusal,
        };
        // Without private data it always fits.
        self.reply = self.rejection(&[]).unwrap_or_default();
        Ok(Some(Asked::Refused(refusal)))
    }

    /// The stream ended, or was reset. That is a fault unless the request was here.
    pub fn handle_end(&self) -> Result<(), StartUpFault> {
        if self.request.is_cut_off() { Err(self.request.truncated()) } else { Ok(()) }
    }

    /// What the peer asks for, once its request is whole.
    pub fn request(&self) -> Option<Request<'_>> {
        let frame = self.request.frame()?;
        let number = |reads: fn(&Enhanced) -> u16| {
            frame.enhanced.as_ref().map(reads).filter(|reads| *reads != Enhanced::NOT_NEGOTIATED)
        };
        Some(Request {
            revision: frame.revision,
            crc: frame.crc,
            markers: frame.markers,
            ird: number(|enhanced| enhanced.ird),
            ord: number(|enhanced| enhanced.ord),
            peer_to_peer: frame.enhanced.is_some_and(|enhanced| enhanced.peer_to_peer),
            private_data: frame.private_data,
        })
    }

    /// Accepts the request. The [reply](Self::reply) is to be sent, and then the stream stands.
    ///
    /// Nothing happens, and `None` is returned, while there is no request.
    pub fn accept(
        &mut self,
        terms: &Terms,
        private_data: &[u8],
    ) -> Result<Option<Negotiated>, PrivateDataTooLong> {
        let Some(request) = self.request.frame() else { return Ok(None) };
        let crc = terms.crc || request.crc;
        let asked = request.enhanced;
        let ord = asked.map_or(terms.ord, |asked| at_most(terms.ord, asked.ird));
        let enhanced = asked.map(|asked| {
            let ready = self.ready.map_or(ReadySet::empty(), ReadySet::of);
            Enhanced {
                peer_to_peer: asked.peer_to_peer,
                rtr_empty: ready.contains(ReadySet::EMPTY),
                rtr_write: ready.contains(ReadySet::WRITE),
                rtr_read: ready.contains(ReadySet::READ),
                ird: terms.ird,
                ord,
            }
        });
        let frame = MpaFrame {
            markers: terms.markers,
            crc,
            revision: request.revision,
            enhanced,
            private_data,
            ..MpaFrame::new(MpaKind::Reply)
        };
        let negotiated = Negotiated {
            role: Role::Responder,
            revision: request.revision,
            crc,
            send_markers: request.markers,
            receive_markers: terms.markers,
            ird: terms.ird,
            ord,
            ready_to_receive: self.ready,
        };
        self.reply = encode(&self.profile, &frame)?;
        Ok(Some(negotiated))
    }

    /// Rejects the request. The [reply](Self::reply) is to be sent, and the TCP connection closed.
    pub fn reject(&mut self, private_data: &[u8]) -> Result<(), PrivateDataTooLong> {
        self.reply = self.rejection(private_data)?;
        Ok(())
    }

    /// The reply, empty while there is none.
    pub fn reply(&self) -> &[u8] {
        &self.reply
    }

    fn rejection(&self, private_data: &[u8]) -> Result<Vec<u8>, PrivateDataTooLong> {
        let Some(request) = self.request.frame() else { return Ok(Vec::new()) };
        let frame = MpaFrame {
            crc: request.crc,
            reject: true,
            revision: request.revision,
            // The numbers of a connection that will not be.
            enhanced: request
                .enhanced
                .map(|asked| Enhanced { peer_to_peer: asked.peer_to_peer, ..Enhanced::default() }),
            private_data,
            ..MpaFrame::new(MpaKind::Reply)
        };
        encode(&self.profile, &frame)
    }
}

/// What we make of a request: a fault, a refusal, or the ready-to-receive message that will come first.
fn judge(
    profile: &Profile,
    frame: &MpaFrame<'_>,
) -> Result<Result<Option<ReadyToReceive>, Refusal>, StartUpFault> {
    if !profile.revisions.contains(&frame.revision) {
        return Err(StartUpFault::Revision { found: frame.revision, newest: profile.revision() });
    }
    let length = frame.encoded_length() - MpaFrame::HEADER_LENGTH;
    if length > profile.max_private_data {
        return Err(StartUpFault::PrivateData { length, limit: profile.max_private_data });
    }
    if frame.markers && !profile.sends_markers {
        return Ok(Err(Refusal::Markers));
    }
    let Some(enhanced) = frame.enhanced.filter(|enhanced| enhanced.peer_to_peer) else { return Ok(Ok(None)) };
    let offered = ReadySet::in_frame(&enhanced);
    let ready = profile.ready_to_receive.iter().find(|kind| offered.contains(ReadySet::of(**kind)));
    Ok(ready.map(|kind| Some(*kind)).ok_or(Refusal::NoMatchingRtr))
}
