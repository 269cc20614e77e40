//! What a responder refused, and what it may answer then.

use rdmalab_lint::{Report, RuleId, Severity};

use super::talk::{judge, talk};

fn said(packets: &str) -> Report {
    judge(&talk(&format!("packet = [{packets}]")))
}

/// Two SENDs, of which the first finds no receive.
const REFUSED: &str = r#"
    { opcode = "RC_SEND_ONLY", bth = { psn = 0 }, payload = { length = 8 }, time = 0 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1, ack_request = true }, payload = { length = 8 }, time = 1_000 },
    { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { syndrome = 0x21, msn = 0 }, time = 2_000 },
"#;
const AGAIN: &str = r#"
    { opcode = "RC_SEND_ONLY", bth = { psn = 0 }, payload = { length = 8 }, time = 50_000 },
    { opcode = "RC_SEND_ONLY", bth = { psn = 1, ack_request = true }, payload = { length = 8 }, time = 51_000 },
"#;
const ACKNOWLEDGED: &str =
    r#" { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 1 }, aeth = { msn = 2 }, time = 60_000 }, "#;

#[test]
fn what_found_no_receive_is_not_acknowledged_before_it_comes_again() {
    let right = said(&[REFUSED, AGAIN, ACKNOWLEDGED].concat());
    assert!(right.findings.is_empty(), "{right}");
    let wrong = said(&[REFUSED, ACKNOWLEDGED].concat());
    assert_eq!(wrong.count_of(RuleId::AckUnseen), 1, "{wrong}");
    assert_eq!(wrong.count(Severity::Violation) + wrong.count(Severity::Suspicious), 1, "{wrong}");
    assert_eq!(wrong.findings[0].frames, [4, 3], "{wrong}");
}
