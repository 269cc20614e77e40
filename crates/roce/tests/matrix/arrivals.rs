//! What arrives of messages that nobody sends again.

use rdmalab_sim::{End, Probability};
use rdmalab_verbs::{CompletionStatus, Memory, Operation};
use rdmalab_wire::PathMtu;

use crate::pair::peer::{Application, PLAIN, Peer, Service, Setup};
use crate::transfer::{MESSAGE, MESSAGES, TOTAL, link, lossy};

/// Bytes in front of a datagram in a receive.
const HEADER_AREA: usize = 40;

/// What became of the messages.
pub struct Found {
    pub sent: u64,
    pub arrived: usize,
}

/// Sends all messages at once. Datagrams are as long as a packet may be.
pub fn run(service: Service, loss: Probability, mtu: PathMtu) -> Found {
    let is_datagram = service == Service::Ud;
    let setup =
        Setup { service, profile: PLAIN, mtu, first_psn: 0xff_ff00, memory: TOTAL, ..Setup::default() };
    let mut peers = [Peer::new(1, &setup), Peer::new(2, &setup)];
    let [a, b] = &mut peers;
    a.connect(&setup, b);
    b.connect(&setup, a);
    let pattern: Vec<u8> = (0..TOTAL).map(|at| (at * 31 + at / 251) as u8).collect();
    a.memory.write(0, &pattern).unwrap();
    let length = if is_datagram { mtu.bytes() } else { MESSAGE };
    for n in 0..MESSAGES {
        b.receive(n as u64, n * MESSAGE, MESSAGE).unwrap();
        a.post(n as u64, Operation::Send, n * MESSAGE, length).unwrap();
    }
    let mut link = link(lossy(loss), usize::MAX);
    while a.endpoint.has_packets() {
        a.fill_batch(0);
        for packet in &a.packets {
            link.send(0, End::A, packet);
        }
    }
    while let Some(now) = link.next_arrival() {
        while let Some(delivery) = link.receive(now) {
            b.endpoint.handle_packet(&mut b.context, now, delivery.frame);
        }
    }
    assert_eq!(a.completions().len(), MESSAGES, "requests are done when they have gone");
    let arrived = b.completions();
    let (front, mut next) = (if is_datagram { HEADER_AREA } else { 0 }, 0);
    for (n, completion) in arrived.iter().enumerate() {
        assert_eq!((completion.id, completion.status), (n as u64, CompletionStatus::Success));
        let bytes = b.bytes(n * MESSAGE + front, completion.length as usize - front);
        // One behind the last that arrived, whole.
        let place = (next..MESSAGES).find(|place| pattern[place * MESSAGE..][..length] == bytes);
        next = place.expect("a message that was sent") + 1;
    }
    Found { sent: a.endpoint.counters().sent_pkts, arrived: arrived.len() }
}
