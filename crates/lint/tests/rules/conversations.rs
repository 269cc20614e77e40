//! Conversations without a fault.

/// A connection made, used for each kind of operation, and ended. PSNs: WRITE 0-2, SEND 3, WRITE 4, READ 5-7, FETCH_ADD 8,
/// COMPARE_SWAP 9; the other side a SEND 0.
pub const ORDINARY: &str = r#"
conversation = [
    { operation = "connect" },
    { operation = "write", bytes = 2500, virtual_address = 0x1000, key = 7 },
    { operation = "send", bytes = 101 },
    { operation = "write", bytes = 64, virtual_address = 0x2000, key = 7 },
    { operation = "read", bytes = 2500, virtual_address = 0x1000, key = 7 },
    { operation = "fetch-add", swap_or_add = 1, original = 41, virtual_address = 0x3000, key = 7 },
    { operation = "compare-swap", compare = 1, swap_or_add = 2, original = 1, virtual_address = 0x3000, key = 7 },
    { operation = "send", bytes = 10, reply = true },
    { operation = "disconnect" },
]
"#;

/// The same over VLAN and IPv6, with UDP checksums.
pub const IPV6: &str = r#"
host.a = { ip = "fd00::1" }
host.b = { ip = "fd00::2" }
flow.f = { from = "a", to = "b", vlan = [{ id = 7 }] }
packet = [
    { flow = "f", opcode = "RC_SEND_ONLY", payload = { length = 13 }, udp_checksum = true },
    { flow = "f", reply = true, opcode = "RC_ACKNOWLEDGE" },
]
"#;

/// Over a native link.
pub const NATIVE: &str = r#"
host.a = { lid = 1 }
host.b = { lid = 2 }
flow.f = { from = "a", to = "b", carrier = "infiniband" }
conversation = [{ flow = "f", operation = "write", bytes = 3000 }]
"#;

/// The middle of a WRITE is lost behind the place of capture, and sent again at a NAK.
pub const LOST: &str = r#"
packet = [
    { opcode = "RC_WRITE_FIRST", reth = { length = 2500 }, payload = { length = 1024, count = 1 } },
    { opcode = "RC_WRITE_MIDDLE", payload = { length = 1024, count = 2 } },
    { opcode = "RC_WRITE_LAST", payload = { length = 452, count = 3 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8, count = 4 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8, count = 5 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { syndrome = "nak=psn_sequence_error", msn = 0 } },
    { opcode = "RC_WRITE_MIDDLE", bth = { psn = 1 }, payload = { length = 1024, count = 2 }, time = 2_000_000 },
    { opcode = "RC_WRITE_LAST", bth = { psn = 2 }, payload = { length = 452, count = 3 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 3 }, payload = { length = 8, count = 4 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 4 }, payload = { length = 8, count = 5 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 2 }, aeth = { msn = 1 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 3 }, aeth = { msn = 2 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 4 }, aeth = { msn = 3 } },
]
"#;

/// A receiver that is not ready, and the NAK for what was under way behind; then it is.
pub const NOT_READY: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { syndrome = "rnr=12", msn = 0 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { syndrome = "nak=psn_sequence_error", msn = 0 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 0 }, payload = { length = 8 }, time = 2_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 } },
]
"#;

/// The middle of a READ's answer is missing, and is asked for again together with what follows.
pub const READ_AGAIN: &str = r#"
packet = [
    { opcode = "RC_READ_REQUEST", reth = { length = 4000, virtual_address = 0x1000, key = 7 } },
    { opcode = "RC_READ_RESPONSE_FIRST", reply = true, bth = { psn = 0 }, aeth = { msn = 1 }, payload = { length = 1024 } },
    { opcode = "RC_READ_RESPONSE_MIDDLE", reply = true, bth = { psn = 2 }, payload = { length = 1024 } },
    { opcode = "RC_READ_RESPONSE_LAST", reply = true, bth = { psn = 3 }, aeth = { msn = 1 }, payload = { length = 928 } },
    { opcode = "RC_READ_REQUEST", bth = { psn = 1 }, reth = { length = 2976, virtual_address = 0x1400, key = 7 }, time = 50_000 },
    { opcode = "RC_READ_RESPONSE_FIRST", reply = true, bth = { psn = 1 }, aeth = { msn = 1 }, payload = { length = 1024 } },
    { opcode = "RC_READ_RESPONSE_MIDDLE", reply = true, bth = { psn = 2 }, payload = { length = 1024 } },
    { opcode = "RC_READ_RESPONSE_LAST", reply = true, bth = { psn = 3 }, aeth = { msn = 1 }, payload = { length = 928 } },
]
"#;

/// An atomic whose answer is lost behind the place of capture, and its replay.
pub const ATOMIC_AGAIN: &str = r#"
packet = [
    { opcode = "RC_FETCH_ADD", atomic_eth = { swap_or_add = 5 } },
    { opcode = "RC_ATOMIC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 }, atomic_ack_eth = { original = 41 } },
    { opcode = "RC_FETCH_ADD", bth = { psn = 0 }, atomic_eth = { swap_or_add = 5 }, time = 20_000_000 },
    { opcode = "RC_ATOMIC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 }, atomic_ack_eth = { original = 41 } },
]
"#;

/// A SEND that is answered, and one that takes eight transmissions until it is.
pub const PATIENT: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 10_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 20_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 30_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 40_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 50_000_000 },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 60_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 70_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 80_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 }, time = 90_000_000 },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 } },
]
"#;

/// A responder that hands out credits, and a requester that heeds them.
pub const CREDITED: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { syndrome = "ack credits=2", msn = 1 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 3 }, aeth = { syndrome = "ack credits=2", msn = 4 } },
]
"#;

/// Two of three SENDs are acknowledged, the second by itself.
pub const SENDS: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 2 }, aeth = { msn = 3 } },
]
"#;

/// A marked packet and the notification that answers it.
pub const CONGESTED: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 }, ipv4 = { ecn = "ce" } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 } },
    { opcode = "CNP", reply = true },
]
"#;

/// REQ and REP come twice, as their answers were late.
pub const CALLED_TWICE: &str = r#"
conversation = [{ operation = "connect" }, { operation = "write", bytes = 64 }]
"#;

/// Two READs at once, where two are allowed.
pub const READS_AT_ONCE: &str = r#"
conversation = [{ operation = "connect" }]
packet = [
    { opcode = "RC_READ_REQUEST", reth = { length = 8 } },
    { opcode = "RC_READ_RESPONSE_ONLY", reply = true, bth = { psn = 0 }, aeth = { msn = 1 }, payload = { length = 8 } },
    { opcode = "RC_READ_REQUEST", reth = { length = 8 } },
    { opcode = "RC_READ_RESPONSE_ONLY", reply = true, bth = { psn = 1 }, aeth = { msn = 2 }, payload = { length = 8 } },
]
"#;

/// A call that is repeated as the REQ allows: the answer may take 4.3 seconds, and one repetition is enough.
pub const CALLED_AGAIN: &str = r#"
host.a = { ip = "10.0.0.1" }
host.b = { ip = "10.0.0.2" }
flow.cm = { from = "a", to = "b", transport = "UD", from_qpn = 1, to_qpn = 1, queue_key = 0x80010000 }
packet = [
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { message = "REQ", local_communication_id = 0x1111, local_qpn = 0x91, remote_response_timeout = 20, local_response_timeout = 20, max_cm_retries = 1, rnr_retry_count = 7, retry_count = 7, partition_key = 0xffff, path_mtu_code = 3 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", time = 5_000_000_000, mad = { message = "REQ", local_communication_id = 0x1111, local_qpn = 0x91, remote_response_timeout = 20, local_response_timeout = 20, max_cm_retries = 1, rnr_retry_count = 7, retry_count = 7, partition_key = 0xffff, path_mtu_code = 3 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", reply = true, time = 12_000_000_000, mad = { message = "REP", local_communication_id = 0x2222, remote_communication_id = 0x1111, local_qpn = 0x92 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { message = "RTU", local_communication_id = 0x1111, remote_communication_id = 0x2222 } },
]
"#;

/// A call that is rejected, and another one that is not.
pub const REJECTED: &str = r#"
host.a = { ip = "10.0.0.1" }
host.b = { ip = "10.0.0.2" }
flow.cm = { from = "a", to = "b", transport = "UD", from_qpn = 1, to_qpn = 1, queue_key = 0x80010000 }
packet = [
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { transaction_id = 1, message = "REQ", local_communication_id = 0x1111, local_qpn = 0x91, max_cm_retries = 15, partition_key = 0xffff } },
    { flow = "cm", opcode = "UD_SEND_ONLY", reply = true, mad = { transaction_id = 1, message = "MRA", local_communication_id = 0x3333, remote_communication_id = 0x1111, service_timeout = 20 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", reply = true, mad = { transaction_id = 1, message = "REJ", local_communication_id = 0x3333, remote_communication_id = 0x1111, reason = 28 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { transaction_id = 2, message = "REQ", local_communication_id = 0x1112, local_qpn = 0x92, max_cm_retries = 15, partition_key = 0xffff } },
    { flow = "cm", opcode = "UD_SEND_ONLY", reply = true, mad = { transaction_id = 2, message = "REP", local_communication_id = 0x3333, remote_communication_id = 0x1112, local_qpn = 0x93 } },
]
"#;

/// A service for datagrams is asked for, found and used.
pub const FOUND: &str = r#"
host.a = { ip = "10.0.0.1" }
host.b = { ip = "10.0.0.2" }
flow.cm = { from = "a", to = "b", transport = "UD", from_qpn = 1, to_qpn = 1, queue_key = 0x80010000 }
flow.ud = { from = "a", to = "b", transport = "UD", from_qpn = 0x54, to_qpn = 0x55, queue_key = 7 }
packet = [
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { message = "SIDR_REQ", request_id = 0x77, partition_key = 0xffff, service_id = "0x0000000001110064" } },
    { flow = "cm", opcode = "UD_SEND_ONLY", reply = true, mad = { message = "SIDR_REP", request_id = 0x77, status = 0, qpn = 0x55, service_id = "0x0000000001110064", queue_key = 7 } },
    { flow = "ud", opcode = "UD_SEND_ONLY", payload = { length = 8 } },
    { flow = "ud", opcode = "UD_SEND_ONLY", payload = { length = 8 } },
    { flow = "ud", opcode = "UD_SEND_ONLY", payload = { length = 8 } },
]
"#;

/// A receiver that is not ready once, of a connection whose REP allows repetitions without end.
pub const NOT_READY_CALLED: &str = r#"
conversation = [{ operation = "connect" }]
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { syndrome = "rnr=12", msn = 0 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 0 }, payload = { length = 8 }, time = 2_000_000 },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 } },
]
"#;

/// A responder of a connection that hands out credits.
pub const CREDITED_CALLED: &str = r#"
conversation = [{ operation = "connect" }]
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { syndrome = "ack credits=2", msn = 1 } },
]
"#;

/// Two SENDs that ask for acknowledgements, and have them; and much later the other side has something to say.
pub const ASKED: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", bth = { ack_request = true }, payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 } },
    { opcode = "RC_SEND_ONLY", bth = { ack_request = true }, payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 } },
    { opcode = "RC_SEND_ONLY", reply = true, payload = { length = 8 }, time = 9_000_000_000 },
    { opcode = "RC_ACKNOWLEDGE", bth = { psn = 0 }, aeth = { msn = 1 } },
]
"#;

/// Another conversation of the same queue pairs: it begins a little behind where the last one ended, and counts from one again.
pub const RECURRING: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 500 }, payload = { length = 8 }, time = 1_000_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 501 }, payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 500 }, aeth = { msn = 1 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 501 }, aeth = { msn = 2 } },
]
"#;

/// A connection that is offered another path, takes it, and goes on over it.
pub const MIGRATED: &str = r#"
host.a = { ip = "10.0.0.1" }
host.b = { ip = "10.0.0.2" }
host.a-too = { ip = "10.0.1.1" }
host.b-too = { ip = "10.0.1.2" }
flow.cm = { from = "a", to = "b", transport = "UD", from_qpn = 1, to_qpn = 1, queue_key = 0x80010000 }
flow.f = { from = "a", to = "b", from_qpn = 0x91, to_qpn = 0x92 }
flow.g = { from = "a-too", to = "b-too", from_qpn = 0x91, to_qpn = 0x92 }
packet = [
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { message = "REQ", local_communication_id = 0x1111, local_qpn = 0x91, max_cm_retries = 15, rnr_retry_count = 7, retry_count = 7, partition_key = 0xffff, path_mtu_code = 3 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", reply = true, mad = { message = "REP", local_communication_id = 0x2222, remote_communication_id = 0x1111, local_qpn = 0x92 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { message = "RTU", local_communication_id = 0x1111, remote_communication_id = 0x2222 } },
    { flow = "f", opcode = "RC_SEND_ONLY", bth = { psn = 0 }, payload = { length = 8 } },
    { flow = "f", opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 } },
    { flow = "cm", opcode = "UD_SEND_ONLY", mad = { message = "LAP", local_communication_id = 0x1111, remote_communication_id = 0x2222, remote_qpn = 0x92, local_gid = "::ffff:10.0.1.1", remote_gid = "::ffff:10.0.1.2" } },
    { flow = "cm", opcode = "UD_SEND_ONLY", reply = true, mad = { message = "APR", local_communication_id = 0x2222, remote_communication_id = 0x1111 } },
    { flow = "g", opcode = "RC_SEND_ONLY", bth = { psn = 1 }, payload = { length = 8 } },
    { flow = "g", opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 } },
]
"#;

/// Two conversations of the same queue pairs that begin with the same PSN; what the second one sends is different.
pub const AGAIN_FROM_THE_FIRST: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", bth = { psn = 100 }, payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 101 }, payload = { length = 8 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 102 }, payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 102 }, aeth = { msn = 3 } },
    { opcode = "RC_WRITE_ONLY", bth = { psn = 100 }, reth = { length = 16 }, payload = { length = 16 }, time = 2_000_000_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 101 }, payload = { length = 8, count = 77 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 102 }, payload = { length = 8, count = 78 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 101 }, aeth = { msn = 2 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 102 }, aeth = { msn = 3 } },
    { opcode = "RC_SEND_ONLY", bth = { psn = 103 }, payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 103 }, aeth = { msn = 4 } },
]
"#;

/// SENDs, and a READ among them, each answered by itself: so many that identifications count.
pub const COUNTED: &str = r#"
packet = [
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2000 }, bth = { psn = 0 }, aeth = { msn = 1 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2001 }, bth = { psn = 1 }, aeth = { msn = 2 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2002 }, bth = { psn = 2 }, aeth = { msn = 3 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2003 }, bth = { psn = 3 }, aeth = { msn = 4 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2004 }, bth = { psn = 4 }, aeth = { msn = 5 } },
    { opcode = "RC_READ_REQUEST", reth = { length = 8 } },
    { opcode = "RC_READ_REQUEST", reth = { length = 1000 } },
    { opcode = "RC_READ_RESPONSE_ONLY", reply = true, ipv4 = { identification = 2005 }, bth = { psn = 5 }, aeth = { msn = 6 }, payload = { length = 8 } },
    { opcode = "RC_READ_RESPONSE_ONLY", reply = true, ipv4 = { identification = 2006 }, bth = { psn = 6 }, aeth = { msn = 7 }, payload = { length = 1000 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2007 }, bth = { psn = 7 }, aeth = { msn = 8 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2008 }, bth = { psn = 8 }, aeth = { msn = 9 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2009 }, bth = { psn = 9 }, aeth = { msn = 10 } },
    { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
    { opcode = "RC_ACKNOWLEDGE", reply = true, ipv4 = { identification = 2010 }, bth = { psn = 10 }, aeth = { msn = 11 } },
]
"#;
