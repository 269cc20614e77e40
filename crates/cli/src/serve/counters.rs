//! The transport's counters by name, as far as there is something to tell.

use rdmalab_device::Counters;

use crate::discards;

/// One line for what was counted, and one for each reason for which packets were dropped.
pub fn lines(counters: &Counters) -> Vec<String> {
    let named: Vec<String> = named(counters)
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name}={count}"))
        .collect();
    let mut lines = Vec::new();
    if !named.is_empty() {
        lines.push(format!("counters: {}", named.join(" ")));
    }
    lines.extend(
        discards::seen(counters)
            .map(|(reason, count)| format!("received and discarded: {count} ({})", discards::words(reason))),
    );
    lines
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
