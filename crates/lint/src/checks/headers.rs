//! Fields of the base header, and of the acknowledgement header.

use rdmalab_trace::{Record, Roce};
use rdmalab_wire::mad::{Field, MadHeader};
use rdmalab_wire::{Carrier, NakCode, OpcodeRow, RawMad, Syndrome, TransportKind};

use crate::finding::Findings;
use crate::flow::{Changed, Flow, Out, QueueKey};
use crate::packet::{OperationKind, Seen};
use crate::rules::RuleId;
use crate::words::An;

/// What can be said of a packet alone whose ICRC is not wrong. The header's version is looked at where it is taken apart.
pub(crate) fn of_roce(record: &Record<'_>, roce: &Roce<'_>, findings: &mut Findings) {
    let Some(bth) = &roce.packet.bth else { return };
    let frame = [record.frame];
    if bth.reserved_6 != 0 || bth.reserved_7 != 0 {
        findings.add(RuleId::ReservedBits, None, &frame, || {
            format!(
                "the bits in front of the queue pair are {:#x}, those in front of the PSN {:#x}",
                bth.reserved_6, bth.reserved_7
            )
        });
    }
    if let Carrier::Native(lrh, _) = &roce.carrier
        && (lrh.reserved_2 != 0 || lrh.reserved_5 != 0)
    {
        findings.add(RuleId::ReservedBits, None, &frame, || {
            format!("the reserved bits of the LRH are {:#x} and {:#x}", lrh.reserved_2, lrh.reserved_5)
        });
    }
    if let Carrier::RoceV2Ipv4(ip, _) = &roce.carrier
        && ip.reserved_flag
    {
        findings.add(RuleId::ReservedBits, None, &frame, || {
            "the reserved flag of the IP header is set".to_owned()
        });
    }
    if let Some(name) = roce.mad().and_then(|mad| reserved_of(&mad)) {
        findings.add(RuleId::ReservedBits, None, &frame, || {
            format!("{name} of the management datagram is not zero")
        });
    }
    let headers = &roce.packet.headers;
    let extended = [
        (headers.rdeth.map(|header| header.reserved.into()), "RDETH"),
        (headers.deth.map(|header| header.reserved.into()), "DETH"),
        (headers.xrceth.map(|header| header.reserved.into()), "XRCETH"),
        (headers.feth.map(|header| header.reserved), "FETH"),
    ];
    for (bits, name) in extended {
        if let Some(bits) = bits.filter(|bits: &u32| *bits != 0) {
            findings.add(RuleId::ReservedBits, None, &frame, || {
                format!("the reserved bits of the {name} are {bits:#x}")
            });
        }
    }
    if bth.partition_key.partition() == 0 {
        findings.add(RuleId::PartitionKey, None, &frame, || format!("partition key {}", bth.partition_key));
    }
    if let Some(row) = roce.packet.opcode.and_then(|opcode| opcode.row())
        && bth.solicited
        && !completes_receive(row)
    {
        findings.add(RuleId::SolicitedEvent, None, &frame, || format!("{} has the bit", An(row.name)));
    }
    aligned(roce, &frame, findings);
    syndrome(roce, &frame, findings);
}

/// Where atomics go.
fn aligned(roce: &Roce<'_>, frame: &[u64], findings: &mut Findings) {
    let headers = &roce.packet.headers;
    let is_atomic_write =
        roce.packet.opcode.and_then(|opcode| opcode.row()).is_some_and(|row| row.name == "ATOMIC_WRITE");
    let written = headers.reth.filter(|_| is_atomic_write).map(|reth| reth.virtual_address);
    let address = headers.atomic_eth.map(|atomic| atomic.virtual_address).or(written);
    if let Some(address) = address.filter(|address| address % 8 != 0) {
        findings.add(RuleId::AtomicAligned, None, frame, || format!("it goes to {address:#x}"));
    }
}

/// What an answer says in its acknowledgement header.
fn syndrome(roce: &Roce<'_>, frame: &[u64], findings: &mut Findings) {
    let Some(syndrome) = roce.packet.headers.aeth.map(|aeth| aeth.syndrome) else { return };
    if let Some(row) = roce.packet.opcode.and_then(|opcode| opcode.row())
        && row.name != "ACKNOWLEDGE"
        && matches!(syndrome, Syndrome::RnrNak { .. } | Syndrome::Nak(_))
    {
        findings.add(RuleId::ResponseSyndrome, None, frame, || format!("the {} says {syndrome}", row.name));
    }
    if matches!(syndrome, Syndrome::Reserved(_) | Syndrome::Nak(NakCode::Unknown(_))) {
        findings.add(RuleId::Syndrome, None, frame, || format!("syndrome {:#04x}", syndrome.to_byte()));
    }
}

/// A reserved field of a management datagram that is not zero, by its name.
fn reserved_of(mad: &RawMad<'_>) -> Option<&'static str> {
    let header = mad.header.map(|header| header.encode())?;
    mad.field_groups().find_map(|group| {
        let bytes = match group.base.checked_sub(MadHeader::LENGTH) {
            Some(at) => mad.data.get(at..)?,
            None => &header[..],
        };
        let is_set = |field: &&Field| {
            let is_reserved = field.name.rsplit('.').next().is_some_and(|name| name.starts_with("reserved"));
            is_reserved
                && match field.value(bytes) {
                    Some(value) => value != 0,
                    None => field.slice(bytes).is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)),
                }
        };
        group.fields.iter().find(is_set).map(|field| field.name)
    })
}

/// Whether the receiver's receive is complete with such a packet: the first packet of a SEND takes it, the last completes it.
fn completes_receive(row: &OpcodeRow) -> bool {
    let is_send = OperationKind::of(row.opcode & 0x1f) == Some(OperationKind::Send);
    row.is_request && row.ends_message && (is_send || row.consumes_receive)
}

impl Flow {
    /// The transport of packets to one queue pair. One packet of another is found when the next is as before; several are another
    /// conversation's. Says whether this one is of the conversation: its queue pair drops one of another transport.
    pub(crate) fn transport(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) -> bool {
        let now = seen.row.transport;
        if !core::mem::replace(&mut self.has_transport, true) {
            self.transport = now;
            return true;
        }
        match among(&mut self.transport, &mut self.changed, now, seen) {
            Among::Same => {}
            Among::First => return false,
            Among::BehindOdd((odd, frame, name)) => {
                out.find(RuleId::Transport, &[frame, seen.frame], || {
                    format!("{} {name} among packets of {now}", An(&odd.to_string()))
                });
            }
            Among::Changed => {
                self.finish(out);
                self.begin_again();
                self.stats.conversations += 1;
            }
        }
        true
    }

    /// The queue key of datagrams to one queue pair: the one that was told, or else the same one in all of them.
    pub(crate) fn queue_key(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let Some(deth) = seen.headers.deth.filter(|_| seen.row.transport == TransportKind::Ud) else {
            return;
        };
        let now = deth.queue_key;
        let known = self.queue_key.get_or_insert(QueueKey { key: now, told: None, changed: None });
        match known.told {
            Some(frame) if known.key != now => {
                let key = known.key;
                out.find(RuleId::QueueKey, &[seen.frame, frame], || {
                    format!("queue key {now}, told was {key}")
                });
            }
            Some(_) => {}
            None => {
                let found = among(&mut known.key, &mut known.changed, now, seen);
                if let Among::BehindOdd((odd, frame, _)) = found {
                    out.find(RuleId::QueueKey, &[frame, seen.frame], || {
                        format!("queue key {odd}, among packets with {now}")
                    });
                }
            }
        }
    }

    /// The partition of packets to one queue pair.
    pub(crate) fn partition(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let key = seen.bth.partition_key;
        let is_datagram = matches!(seen.row.transport, TransportKind::Ud | TransportKind::Rd);
        // One that is invalid is told of already.
        self.limited = if key.is_full_member() || key.partition() == 0 {
            None
        } else {
            self.limited.or(Some(seen.frame))
        };
        let (before, frame) = *self.partition.get_or_insert((key, seen.frame));
        // Who gets datagrams may be a member of several partitions' worth of senders.
        if before.partition() != key.partition() && key.partition() != 0 && !is_datagram {
            out.find(RuleId::PartitionKey, &[seen.frame, frame], || {
                format!("partition key {key}, where packets before had {before}")
            });
        }
    }
}

impl Flow {
    /// A request is answered. Two limited members of a partition hear nothing of each other.
    pub(crate) fn membership(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        let Some(since) = self.limited.filter(|_| !self.limited_told) else { return };
        let key = seen.bth.partition_key;
        let entry = self.window.held(seen.bth.psn);
        if let Some(entry) = entry.filter(|entry| !key.is_full_member() && entry.last_frame >= since) {
            self.limited_told = true;
            out.find(RuleId::PartitionKey, &[seen.frame, entry.last_frame], || {
                format!("both are limited members, by partition key {key}")
            });
        }
    }
}

/// A packet among others to one queue pair, whose packets have something alike.
enum Among<T> {
    /// It has the same.
    Same,
    /// It has another one.
    First,
    /// It has the same, and the one before it, alone, had another one.
    BehindOdd(Changed<T>),
    /// It has another one, as had the one before: from now on, all have.
    Changed,
}

fn among<T: Copy + PartialEq>(
    all: &mut T,
    changed: &mut Option<Changed<T>>,
    now: T,
    seen: &Seen<'_>,
) -> Among<T> {
    let before = changed.take();
    if now == *all {
        return before.map_or(Among::Same, Among::BehindOdd);
    }
    if before.is_some_and(|(other, ..)| other == now) {
        *all = now;
        return Among::Changed;
    }
    *changed = Some((now, seen.frame, seen.row.name));
    Among::First
}
