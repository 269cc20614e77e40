//! The transports' counters by name, as far as there is something to tell.

use rdmalab_device::{Counters, Device, IwarpCounters};

use crate::discards;

/// One line for what each transport counted, and one for each reason for which packets were dropped.
pub fn of(device: &Device) -> Vec<String> {
    lines(&device.counters(), &device.iwarp_counters())
}

fn lines(counters: &Counters, iwarp: &IwarpCounters) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(line("counters", &named(counters)));
    lines.extend(line("iWARP counters", &named_of_iwarp(iwarp)));
    lines.extend(
        discards::seen(counters)
            .map(|(reason, count)| format!("received and discarded: {count} ({})", discards::words(reason))),
    );
    lines
}

/// What was counted, unless that is nothing.
fn line(title: &str, counts: &[(&str, u64)]) -> Option<String> {
    let counted = counts.iter().filter(|(_, count)| *count > 0);
    let named: Vec<String> = counted.map(|(name, count)| format!("{name}={count}")).collect();
    (!named.is_empty()).then(|| format!("{title}: {}", named.join(" ")))
}

fn named(counters: &Counters) -> [(&'static str, u64); 23] {
    // All of them: whoever adds one is told to name it here.
    let Counters {
        sent_pkts,
        rcvd_pkts,
        duplicate_request,
        out_of_seq_request,
        send_rnr_err,
        rcvd_rnr_err,
        send_seq_err,
        rcvd_seq_err,
        send_fatal_nak,
        implied_nak,
        local_ack_timeout,
        retransmitted_pkts,
        retry_exceeded_err,
        retry_rnr_exceeded_err,
        completer_retry_err,
        ack_deferred,
        send_err,
        rdma_sends,
        rdma_recvs,
        np_ecn_marked_roce_packets,
        np_cnp_sent,
        rp_cnp_handled,
        discarded: _,
        lost_events,
    } = *counters;
    [
        ("sent_pkts", sent_pkts),
        ("rcvd_pkts", rcvd_pkts),
        ("duplicate_request", duplicate_request),
        ("out_of_seq_request", out_of_seq_request),
        ("send_rnr_err", send_rnr_err),
        ("rcvd_rnr_err", rcvd_rnr_err),
        ("send_seq_err", send_seq_err),
        ("rcvd_seq_err", rcvd_seq_err),
        ("send_fatal_nak", send_fatal_nak),
        ("implied_nak", implied_nak),
        ("local_ack_timeout", local_ack_timeout),
        ("retransmitted_pkts", retransmitted_pkts),
        ("retry_exceeded_err", retry_exceeded_err),
        ("retry_rnr_exceeded_err", retry_rnr_exceeded_err),
        ("completer_retry_err", completer_retry_err),
        ("ack_deferred", ack_deferred),
        ("send_err", send_err),
        ("rdma_sends", rdma_sends),
        ("rdma_recvs", rdma_recvs),
        ("np_ecn_marked_roce_packets", np_ecn_marked_roce_packets),
        ("np_cnp_sent", np_cnp_sent),
        ("rp_cnp_handled", rp_cnp_handled),
        ("lost_events", lost_events),
    ]
}

fn named_of_iwarp(counters: &IwarpCounters) -> [(&'static str, u64); 8] {
    let IwarpCounters {
        sent_fpdus,
        sent_bytes,
        received_bytes,
        sent_terminates,
        received_terminates,
        wrong_crcs,
        failed_start_ups,
        refused_callers,
    } = *counters;
    [
        ("sent_fpdus", sent_fpdus),
        ("sent_bytes", sent_bytes),
        ("received_bytes", received_bytes),
        ("sent_terminates", sent_terminates),
        ("received_terminates", received_terminates),
        ("wrong_crcs", wrong_crcs),
        ("failed_start_ups", failed_start_ups),
        ("refused_callers", refused_callers),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_transport_that_counted_something_has_a_line() {
        let (roce, mut iwarp) = (Counters::default(), IwarpCounters::default());
        assert!(lines(&roce, &iwarp).is_empty());
        (iwarp.sent_fpdus, iwarp.wrong_crcs) = (7, 1);
        assert_eq!(lines(&roce, &iwarp), ["iWARP counters: sent_fpdus=7 wrong_crcs=1"]);
        let roce = Counters { sent_pkts: 3, ..roce };
        assert_eq!(lines(&roce, &iwarp).len(), 2);
    }
}
