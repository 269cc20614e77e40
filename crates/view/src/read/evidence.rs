//! Whether a capture would show what completes an operation: what it does not have proves nothing otherwise.

use std::collections::HashSet;

use rdmalab_lint::{Report, Role};
use rdmalab_wire::TransportKind;

use crate::ends::Ends;
use crate::flows::Flow;
use crate::model::Packet;

/// Pairs of addresses between which answers came that answer nothing known.
pub(super) fn unpaired(packets: &[Packet]) -> HashSet<u32> {
    packets.iter().filter(|packet| packet.role == Some(Role::Unpaired)).map(|packet| packet.pair).collect()
}

/// Whether the capture would have what completes the operations of a flow of RoCE: it has packets that go the other way, and none of
/// them answers nobody knows what.
pub(super) fn would_tell(flow: &Flow, report: &Report, ends: &Ends, unpaired: &HashSet<u32>) -> bool {
    let report = flow.row.filter(|_| !flow.is_tcp).and_then(|row| report.flows.get(row));
    let Some(report) = report else { return false };
    if !matches!(report.transport, TransportKind::Rc | TransportKind::Xrc) {
        // Nothing need come back.
        return true;
    }
    let other_way = ends.pairs.find(&(flow.addresses.1, flow.addresses.0));
    other_way.is_some_and(|pair| !unpaired.contains(&pair))
}

/// The connections of iWARP of which the capture has all bytes, in both directions.
pub(super) fn whole_streams(flows: &[Flow], report: &Report) -> HashSet<u32> {
    let is_whole = |flow: &&Flow| {
        let stream = flow.row.filter(|_| flow.is_tcp).and_then(|row| report.streams.get(row));
        stream.is_some_and(|stream| stream.stats.missing_bytes == 0)
    };
    let mut one_way = HashSet::new();
    // The second direction finds the first.
    flows
        .iter()
        .filter(is_whole)
        .map(|flow| flow.connection)
        .filter(|number| !one_way.insert(*number))
        .collect()
}
