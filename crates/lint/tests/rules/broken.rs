//! Requests that make no sense are found once, and what follows from them is not.

use rdmalab_craft::Payload;
use rdmalab_craft::wire::Psn;
use rdmalab_lint::{Report, RuleId};

use super::conversations::SENDS;
use super::talk::{judge, talk};

#[track_caller]
fn finds_only(report: &Report, rule: RuleId) {
    assert_eq!((report.count_of(rule), report.findings.len()), (1, 1), "{report}");
}

#[test]
fn the_answer_to_a_malformed_request_lacks_none() {
    // A READ's request that brings data: among others, and as the last one of the capture.
    for length in [7, 4] {
        let mut talk = talk(
            r#"packet = [
                { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
                { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 0 }, aeth = { msn = 1 } },
                { opcode = "RC_READ_REQUEST", reth = { length = 8 } },
                { opcode = "RC_READ_RESPONSE_ONLY", reply = true, bth = { psn = 1 }, aeth = { msn = 2 }, payload = { length = 8 } },
                { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
                { opcode = "RC_ACKNOWLEDGE", reply = true, bth = { psn = 2 }, aeth = { msn = 3 } },
                { opcode = "RC_SEND_ONLY", payload = { length = 8 } },
            ]"#,
        );
        talk.truncate(length);
        talk[2].packet.payload = Payload::Bytes(vec![0; 8]);
        finds_only(&judge(&talk), RuleId::Malformed);
    }
}

#[test]
fn an_acknowledgement_of_a_request_with_a_wrong_pad_count_lacks_none() {
    let mut talk = talk(SENDS);
    talk[1].packet.payload = Payload::Bytes(vec![0; 7]);
    talk[1].packet.exceptions.pad = Some(Vec::new());
    talk[1].packet.exceptions.pad_count = Some(0);
    finds_only(&judge(&talk), RuleId::PadCount);
    // One that is missing is missing, though another is broken.
    talk[1].packet.bth.psn = Psn::new(7);
    assert_eq!(judge(&talk).count_of(RuleId::AckUnseen), 1);
}
