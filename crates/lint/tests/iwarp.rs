//! What is judged of iWARP: CRCs and formats.

use rdmalab_craft::{Capture, Limits, Spec, craft};
use rdmalab_lint::{Report, RuleId, lint};

const SPEC: &str = r#"
[[stream]]
request = { ird = 4, ord = 4, crc = true }
fpdu = [
    { opcode = "WRITE", stag = 0x1234, offset = 0x1000, payload = { length = 3000 } },
    { opcode = "SEND", payload = { text = "done" } },
    { opcode = "SEND", reply = true, payload = { text = "thanks" } },
]
"#;

fn judge(spec: &str) -> Report {
    let spec = Spec::parse(spec).unwrap();
    let mut capture = Capture::pcapng(Vec::new()).unwrap();
    craft(&spec, Limits { packets: 100, bytes: 1 << 20 }, &mut |frame| capture.write(frame)).unwrap();
    lint(&capture.finish().unwrap()[..], &mut ()).unwrap()
}

#[test]
fn mpa_crc_is_right_or_found() {
    let clean = judge(SPEC);
    assert!(clean.findings.is_empty() && clean.totals.fpdus >= 5, "{clean}");
    let wrong = judge(&SPEC.replace(r#"{ text = "thanks" }"#, r#"{ text = "thanks" }, wrong_crc = true"#));
    assert_eq!(wrong.count_of(RuleId::MpaCrc), 1, "{wrong}");
    assert_eq!(wrong.findings.len(), 1, "{wrong}");
    assert!(!wrong.is_clean());
}
