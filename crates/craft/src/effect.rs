//! Keys without effect. What is given is taken; what cannot be taken, since nothing of the entry has a place for
//! it, is refused by its name rather than passed over.

use rdmalab_wire::{Carrier, TransportKind};

use crate::checksum::Checksum;
use crate::flow::{Flow, Way};
use crate::spec::{CarrierName, ConversationSpec, FlowSpec, FpduSpec, OperationName, PacketSpec, PauseSpec};
use crate::value::Given;

/// The headers and checksums that only some carriers have.
const CARRIED: [&str; 7] = ["ipv4", "ipv6", "udp", "udp_checksum", "grh", "lrh", "vcrc"];
/// What a frame of raw bytes takes besides them.
const OF_RAW: &str =
    "raw time repeat link_type patch truncate kept original_length interface direction comment";
/// What a flow control frame takes.
const OF_PAUSE: &str = "pause time flow reply repeat ethernet vlan trailer link_type patch truncate kept \
                        original_length interface direction comment";

/// The first of the given keys that is none of `taken`, which are separated by spaces.
fn without_effect(
    given: impl IntoIterator<Item = &'static str>,
    taken: &str,
    of: &str,
) -> Result<(), String> {
    let odd = given.into_iter().find(|key| taken.split_whitespace().all(|taken| taken != *key));
    odd.map_or(Ok(()), |key| Err(refusal(key, of)))
}

fn refusal(key: &str, of: &str) -> String {
    format!("{key} has no effect on {of}; leave it out")
}

/// What is said of a carrier, and which of [`CARRIED`] it has.
fn carried(carrier: &Carrier) -> (&'static str, &'static str) {
    match carrier {
        Carrier::RoceV2Ipv4(..) => ("RoCE v2 over IPv4", "ipv4 udp udp_checksum"),
        Carrier::RoceV2Ipv6(..) => ("RoCE v2 over IPv6", "ipv6 udp udp_checksum"),
        Carrier::RoceV1(_) => ("RoCE v1", "grh"),
        Carrier::Native(_, None) => ("a native link without a GRH", "lrh vcrc"),
        Carrier::Native(_, Some(_)) => ("a native link", "grh lrh vcrc"),
    }
}

/// Of an entry that is a frame of raw bytes or of flow control.
pub(crate) fn other_frame(spec: &PacketSpec) -> Result<(), String> {
    if spec.raw.is_some() {
        return without_effect(spec.keys(), OF_RAW, "raw bytes");
    }
    let Some(pause) = &spec.pause else { return Ok(()) };
    let PauseSpec { time, times: _, enabled, reserved } = pause;
    for (key, given) in [("pause.enabled", enabled.is_some()), ("pause.reserved", reserved.is_some())] {
        if given && time.is_some() {
            return Err(refusal(key, "a pause of the whole link, which pause.time makes it"));
        }
    }
    without_effect(spec.keys(), OF_PAUSE, "a pause")
}

/// Of an entry that is an InfiniBand packet.
pub(crate) fn packet(spec: &PacketSpec, flow: &Flow) -> Result<(), String> {
    let (name, has) = carried(&flow.side(Way::Forth).carrier);
    without_effect(spec.keys().filter(|key| CARRIED.contains(key)), has, name)?;
    for name in spec.without.iter().flatten() {
        if spec.keys().any(|key| key == name) {
            return Err(refusal(name, "a packet that is without it"));
        }
    }
    if spec.udp_checksum.is_some() && spec.udp.is_some_and(|udp| udp.checksum.is_some()) {
        return Err(refusal("udp_checksum", "a packet with udp.checksum"));
    }
    if let Some(Checksum::Bytes(number @ 0x1_0000..)) = spec.vcrc {
        return Err(format!("vcrc = {number:#x}: expected a number of 16 bits"));
    }
    Ok(())
}

/// Of a flow whose packets are carried like this.
pub(crate) fn flow(spec: &FlowSpec, carrier: &Carrier) -> Result<(), String> {
    let (name, has) = carried(carrier);
    let given = [
        ("ipv4", spec.ipv4.is_some()),
        ("ipv6", spec.ipv6.is_some()),
        ("udp", spec.udp.is_some()),
        ("grh", spec.grh.is_some()),
        ("lrh", spec.lrh.is_some()),
    ];
    without_effect(names(given), has, name)?;
    if spec.raw_ip.is_some() && !matches!(spec.carrier, None | Some(CarrierName::Roce2)) {
        return Err(refusal("raw_ip", name));
    }
    let has_ethernet = spec.raw_ip != Some(true) && !matches!(carrier, Carrier::Native(..));
    if !spec.vlan.is_empty() && !has_ethernet {
        return Err(refusal("vlan", "a flow without Ethernet"));
    }
    Ok(())
}

fn names<const N: usize>(keys: [(&'static str, bool); N]) -> impl Iterator<Item = &'static str> {
    keys.into_iter().filter_map(|(key, given)| given.then_some(key))
}

/// Of a conversation on a flow of this transport.
pub(crate) fn conversation(spec: &ConversationSpec, transport: TransportKind) -> Result<(), String> {
    let (name, taken) = match spec.operation {
        OperationName::Send => ("send", "bytes mtu fill solicited acknowledge"),
        OperationName::SendImm => ("send-imm", "bytes mtu fill solicited acknowledge imm_dt"),
        OperationName::SendInv => ("send-inv", "bytes mtu fill solicited acknowledge invalidate"),
        OperationName::Write => ("write", "bytes mtu fill solicited acknowledge virtual_address key"),
        OperationName::WriteImm => {
            ("write-imm", "bytes mtu fill solicited acknowledge virtual_address key imm_dt")
        }
        OperationName::Read => ("read", "bytes mtu fill solicited virtual_address key"),
        OperationName::CompareSwap => {
            ("compare-swap", "solicited virtual_address key compare swap_or_add original")
        }
        OperationName::FetchAdd => ("fetch-add", "solicited virtual_address key swap_or_add original"),
        OperationName::Flush => ("flush", "bytes solicited acknowledge virtual_address key"),
        OperationName::AtomicWrite => ("atomic-write", "fill solicited acknowledge virtual_address key"),
        OperationName::Connect => ("connect", "mtu port"),
        OperationName::Disconnect => ("disconnect", ""),
    };
    let given = [
        ("bytes", spec.bytes.is_some()),
        ("mtu", spec.mtu.is_some()),
        ("virtual_address", spec.virtual_address.is_some()),
        ("key", spec.key.is_some()),
        ("imm_dt", spec.imm_dt.is_some()),
        ("invalidate", spec.invalidate.is_some()),
        ("swap_or_add", spec.swap_or_add.is_some()),
        ("compare", spec.compare.is_some()),
        ("original", spec.original.is_some()),
        ("solicited", spec.solicited),
        ("acknowledge", spec.acknowledge.is_some()),
        ("fill", spec.fill.is_some()),
        ("port", spec.port.is_some()),
    ];
    without_effect(names(given), taken, &format!("the operation {name}"))?;
    let is_unreliable = matches!(transport, TransportKind::Uc | TransportKind::Ud);
    if is_unreliable && spec.acknowledge == Some(true) {
        return Err(refusal("acknowledge", "an unreliable transport"));
    }
    Ok(())
}

/// Of an FPDU with a tagged header or an untagged one.
pub(crate) fn fpdu(spec: &FpduSpec, is_tagged: bool) -> Result<(), String> {
    let given = [
        ("stag", spec.stag.is_some()),
        ("queue", spec.queue.is_some()),
        ("msn", spec.msn.is_some()),
        ("invalidate", spec.invalidate.is_some()),
    ];
    if is_tagged {
        return without_effect(names(given), "stag", "a tagged header");
    }
    without_effect(names(given), "queue msn invalidate", "an untagged header")?;
    match spec.offset {
        Some(Given(offset @ 0x1_0000_0000..)) => {
            Err(format!("offset = {offset:#x}: an untagged header's is a number of 32 bits"))
        }
        _ => Ok(()),
    }
}
