//! Captures of `rdmalab demo`, judged by `rdmalab lint`: it derives from packets what demo knows.

use crate::demo::{demo, row};
use crate::program::{rdmalab, scratch, text};

/// How demo and lint name what makes a requester go back.
const CAUSES: [(&str, &str); 3] =
    [("PSN sequence error NAK", "NAK"), ("implied NAK", "implied NAK"), ("local ACK timeout", "timeout")];

/// At the requester all is seen that it hears. What is lost on its way is not: there a lost NAK, and the timer behind it, look like a NAK that was
/// heeded late, until it is known how long the timer runs.
#[test]
fn why_a_requester_goes_back_is_derived_from_a_capture() {
    let (mut at_requester, mut on_the_link, mut all) = (0, 0, 0);
    for seed in 1..=30 {
        for (place, off) in [(Some("A"), &mut at_requester), (None, &mut on_the_link)] {
            let file = scratch("linted.pcapng");
            let place = place.map(|end| format!("--pcap-at {end}")).unwrap_or_default();
            let options = format!("-q --seed {seed} --loss 0.1 --messages 10 --pcap {} {place}", text(&file));
            let run = demo(&options).exits(0);
            let judged = rdmalab(&["lint", "--json", text(&file)]).exits(0);
            let report: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
            let flows = report["flows"].as_array().unwrap();
            let flow = flows.iter().find(|flow| flow["source"] == "10.0.0.1").unwrap();
            for (happened, derived) in CAUSES {
                let happened = row(&run, &format!("went back: {happened}")).0;
                *off += happened.abs_diff(flow["returns"][derived].as_u64().unwrap());
                all += happened;
            }
        }
    }
    assert!(all > 900, "{all}");
    // Each is counted for both places, and one that is wrong twice: as too little there, and too much here.
    assert!(at_requester * 50 <= all / 2, "{at_requester} of {} are wrong", all / 2);
    assert!(on_the_link * 16 <= all / 2, "{on_the_link} of {} are wrong", all / 2);
}

/// REQ says which PSN was the first, so that its loss shows.
#[test]
fn a_first_request_that_was_lost_is_counted() {
    let file = scratch("first-lost.pcapng");
    let options = "-q --connect --operations send --size 100 --messages 10 --fate A3=lose --pcap-at B --pcap";
    demo(&format!("{options} {}", text(&file))).exits(0);
    let judged = rdmalab(&["lint", "--json", text(&file)]).exits(0);
    let report: serde_json::Value = serde_json::from_str(&judged.out).unwrap();
    let flow = &report["flows"][0];
    for (what, count) in [("naks", 1), ("lost_ahead", 1), ("late", 0), ("duplicates", 0)] {
        assert_eq!(flow[what], count, "{what}: {flow}");
    }
    assert_eq!(flow["returns"]["NAK"], 1, "{flow}");
    assert_eq!(flow["operations"]["SEND"]["count"], 10, "{flow}");
}
