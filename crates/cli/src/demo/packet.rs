//! What a frame is, in words, and whether it was sent before.

use std::net::Ipv4Addr;

use etherparse::{ArpOperation, ArpPacketSlice};
use rdmalab_device::PathMtu;
use rdmalab_explain::Explanation;
use rdmalab_wire::mad::{CmMessage, RawMad};
use rdmalab_wire::{Body, Datagram, EthernetAddress, Frame, Packet, Psn, Qpn, Syndrome, roce_v2};

use super::segment::Cause;

/// What a frame is.
#[derive(Default)]
pub struct Seen {
    /// The packet, as the rest of rdmalab writes it, if that is asked for.
    pub label: Option<String>,
    /// A packet of the transport, and which kind.
    pub role: Option<Role>,
    /// It went out before.
    pub again: bool,
    /// Why, where a row of repetitions begins and only the packets tell.
    pub cause: Option<Cause>,
    /// A TCP segment with bytes in it.
    pub has_bytes: bool,
    /// Of a TCP segment, what it means and what is in it.
    pub topics: Vec<&'static Explanation>,
}

/// What sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The requester of a queue pair.
    Request,
    /// Its responder.
    Answer,
    /// TCP, for whatever is in its stream.
    Segment,
}

/// What one end has sent so far, so that what is sent again is known.
///
/// New packets go out in the order of their PSNs, so remembering the furthest is enough.
#[derive(Default)]
pub struct History {
    /// One behind the last PSN of all requests, those included that READs take for their answers.
    requests: Option<Psn>,
    /// One behind the last PSN of all answers that are no NAKs.
    answers: Option<Psn>,
    /// What the last of them said.
    syndrome: Option<Syndrome>,
    /// Messages of connection management, by kind and transaction. One connection has a handful.
    messages: Vec<(u16, u64)>,
}

impl History {
    /// Looks at the next frame of this end. Frames are our own, so nothing in them is broken.
    pub fn look(&mut self, frame: &[u8], mtu: PathMtu, in_words: bool) -> Seen {
        let packet = roce_v2(frame)
            .and_then(|network| Datagram::parse(network).ok())
            .and_then(|datagram| Packet::parse(datagram.ib).ok());
        let Some(packet) = packet else {
            return Seen { label: in_words.then(|| other(frame)), ..Seen::default() };
        };
        if packet.bth.destination == Qpn::GSI {
            let mad = RawMad::parse(packet.payload);
            if let (Some(header), Some(message)) = (mad.header, mad.message()) {
                return self.look_at_message(header.transaction_id, &message, in_words);
            }
        }
        let role = if packet.body.is_response() { Role::Answer } else { Role::Request };
        // Neither of these takes a PSN of its own.
        let is_apart = is_refusal(&packet.body) || matches!(packet.body, Body::CongestionNotification);
        let syndrome = packet.body.aeth().map(|aeth| aeth.syndrome);
        let furthest = match role {
            _ if is_apart => None,
            Role::Answer => Some(&mut self.answers),
            _ => Some(&mut self.requests),
        };
        let end = packet.bth.psn.add(psns(&packet.body, mtu));
        let again = furthest.is_some_and(|furthest| match furthest {
            // The last acknowledgement is news if it tells of other credits.
            Some(before) if end == *before => syndrome.is_none() || syndrome == self.syndrome,
            Some(before) if end.distance(*before) < 0 => true,
            _ => {
                *furthest = Some(end);
                false
            }
        });
        if role == Role::Answer && !is_apart {
            self.syndrome = syndrome;
        }
        Seen { label: in_words.then(|| packet.to_string()), role: Some(role), again, ..Seen::default() }
    }

    fn look_at_message(&mut self, transaction: u64, message: &CmMessage, in_words: bool) -> Seen {
        let what = (message.attribute_id(), transaction);
        let again = self.messages.contains(&what);
        if !again && self.messages.len() < MESSAGES {
            self.messages.push(what);
        }
        Seen { label: in_words.then(|| short(message)), role: Some(Role::Request), again, ..Seen::default() }
    }
}

/// Messages of connection management that are remembered.
const MESSAGES: usize = 64;

/// The line of a message, without what two programs of a demonstration agree on anyway.
fn short(message: &CmMessage) -> String {
    match message {
        CmMessage::Req(req) => format!(
            "CM REQ qpn={} psn={} responder={} initiator={}",
            req.local_qpn, req.starting_psn, req.responder_resources, req.initiator_depth
        ),
        CmMessage::Rep(rep) => format!(
            "CM REP qpn={} psn={} responder={} initiator={}",
            rep.local_qpn, rep.starting_psn, rep.responder_resources, rep.initiator_depth
        ),
        other => other.to_string(),
    }
}

/// How many PSNs a packet takes.
fn psns(body: &Body, mtu: PathMtu) -> u32 {
    match body {
        Body::ReadRequest(reth) => reth.length.div_ceil(mtu.bytes() as u32).max(1),
        _ => 1,
    }
}

fn is_refusal(body: &Body) -> bool {
    body.aeth().is_some_and(|aeth| !matches!(aeth.syndrome, Syndrome::Ack { .. }))
}

/// What is not of the transport: here that is ARP.
pub fn other(frame: &[u8]) -> String {
    let Ok(frame) = Frame::parse(frame) else { return format!("{} bytes", frame.len()) };
    arp(frame.network).unwrap_or_else(|| format!("EtherType {:#06x}", frame.ethertype))
}

fn arp(packet: &[u8]) -> Option<String> {
    let arp = ArpPacketSlice::from_slice(packet).ok()?;
    let ip = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).ok().map(Ipv4Addr::from);
    let sender = ip(arp.sender_protocol_addr())?;
    match arp.operation() {
        ArpOperation::REQUEST => {
            Some(format!("ARP who-has {} tell {sender}", ip(arp.target_protocol_addr())?))
        }
        ArpOperation::REPLY => {
            let address = EthernetAddress(arp.sender_hw_addr().try_into().ok()?);
            Some(format!("ARP {sender} is-at {address}"))
        }
        _ => None,
    }
}
