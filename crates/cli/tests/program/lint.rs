//! `rdmalab lint`.

use std::fs;

use crate::program::{capture, rdmalab, scratch, text, with_input};

#[test]
fn a_clean_capture_exits_with_zero_and_has_a_row_for_each_flow() {
    let run = rdmalab(&["lint", text(&capture("rping.pcap"))]).exits(0);
    assert!(run.out.contains("flow 1: RC 10.9.0.") && run.out.contains("flow 2: RC 10.9.0."), "{}", run.out);
    assert!(run.out.contains("READ                2") && run.out.contains("; 0 violations, "), "{}", run.out);
}

#[test]
fn what_was_sent_again_is_told_with_its_cause() {
    let run = rdmalab(&["lint", text(&capture("rnr.pcap"))]).exits(0);
    assert!(run.out.contains("91 times, cause RNR"), "{}", run.out);
    let run = rdmalab(&["lint", text(&capture("write_drop_after.pcap"))]).exits(0);
    assert!(
        run.out.contains("12 times, cause NAK") && run.out.contains("2 times, cause timeout"),
        "{}",
        run.out
    );
    assert!(run.out.contains("NAK generation") && run.out.contains("NAK reaction"), "{}", run.out);
}

#[test]
fn a_violation_exits_with_one_and_is_explained() {
    let path = capture("rxe/ghost.pcap");
    rdmalab(&["lint", text(&path)]).exits(0);
    let path = capture("rxe/atomic_write.pcap");
    let run = rdmalab(&["lint", text(&path)]).exits(1);
    assert!(run.out.contains("violation: frame 11: atomic-aligned: "), "{}", run.out);
    assert!(!run.out.contains("Source:"), "{}", run.out);
    let run = rdmalab(&["lint", "--explain", text(&path)]).exits(1);
    assert!(run.out.contains("Atomics work on eight bytes that lie so"), "{}", run.out);
    assert!(run.out.contains("Source: InfiniBand: atomic extended header, virtual address"), "{}", run.out);
}

#[test]
fn json_is_one_object_per_capture() {
    let (clean, wrong) = (capture("rping.pcap"), capture("rxe/atomic_write.pcap"));
    let run = rdmalab(&["lint", "--json", text(&clean), text(&wrong)]).exits(1);
    let lines = run.lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains("\"violations\":0") && lines[0].contains("rping.pcap"), "{}", lines[0]);
    assert!(
        lines[1].contains("\"atomic-aligned\":1") && lines[1].contains("\"frames\":[11]"),
        "{}",
        lines[1]
    );
}

#[test]
fn rules_that_may_be_broken_are_shown_and_leave_the_exit_code() {
    let path = capture("rxe/atomic_write.pcap");
    let both = "atomic-aligned,icrc";
    let run = rdmalab(&["lint", "--allow", both, text(&path)]).exits(0);
    assert!(run.out.contains("violation: frame 11: atomic-aligned: "), "{}", run.out);
    assert!(run.out.ends_with("\n1 of the violations is of a rule that may be broken\n"), "{}", run.out);
    let run = rdmalab(&["lint", "--allow", both, "--json", text(&path)]).exits(0);
    let counts = ["\"violations\":1", "\"violations_allowed\":1"];
    assert!(counts.iter().all(|count| run.out.contains(count)), "{}", run.out);
    // Another rule is none of these.
    let run = rdmalab(&["lint", "--allow", "icrc", text(&path)]).exits(1);
    assert!(!run.out.contains("may be broken"), "{}", run.out);
    let run = rdmalab(&["lint", "--allow", both, text(&capture("rxe/wrong_answers.pcap"))]).exits(1);
    assert!(!run.out.contains("may be broken"), "{}", run.out);
    rdmalab(&["lint", "--allow", "no-such", text(&path)]).exits(2).says("there is no rule `no-such`");
}

#[test]
fn every_rule_is_printed() {
    let run = rdmalab(&["lint", "--rules"]).exits(0);
    assert!(run.out.contains("nak-once (responder, violation): A gap gets one NAK"), "{}", run.out);
    let json = rdmalab(&["lint", "--rules", "--json"]).exits(0);
    assert_eq!(json.lines().len(), run.out.matches("\n  source: ").count());
}

#[test]
fn what_cannot_be_read_exits_with_two_and_keeps_no_other_from_being_judged() {
    rdmalab(&["lint", "/nowhere/at.all"]).exits(2).says("cannot open /nowhere/at.all");
    rdmalab(&["lint"]).exits(2);
    let none = scratch("no_capture_to_lint.txt");
    fs::write(&none, "This is no capture.").unwrap();
    let run = rdmalab(&["lint", text(&none), text(&capture("rping.pcap"))])
        .exits(2)
        .says("neither pcap nor pcapng");
    assert!(run.out.contains("rping.pcap") && run.out.contains("flow 2: RC"), "{}", run.out);
    let json =
        rdmalab(&["lint", "--json", "/nowhere/at.all", text(&none), text(&capture("rping.pcap"))]).exits(2);
    let errors: Vec<bool> = json.lines().iter().map(|line| !line.contains("\"error\":null")).collect();
    assert_eq!(errors, [true, true, false], "{}", json.out);
    // As LINT.md says: of what cannot be read at all there are these two alone.
    let keys = |line: &str| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        object.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let lines = json.lines();
    assert_eq!(keys(lines[0]), ["error", "file"], "{}", json.out);
    assert_eq!(keys(lines[1]), ["error", "file"], "{}", json.out);
    assert!(keys(lines[2]).len() > 20, "{}", json.out);
    let bytes = fs::read(capture("rping.pcap")).unwrap();
    let run = with_input(&["lint", "-"], &bytes[..3000]).exits(2).says("standard input: after packet");
    assert!(run.out.contains("flow 1: RC"), "{}", run.out);
    let run = with_input(&["lint", "--json", "-"], &bytes[..3000]).exits(2);
    assert!(run.out.contains("\"number\":1") && run.out.contains("\"error\":\"after packet"), "{}", run.out);
}

#[test]
fn names_of_files_command_no_terminal() {
    let path = scratch("named \u{1b}[31m red.pcap");
    fs::copy(capture("rping.pcap"), &path).unwrap();
    let run = rdmalab(&["lint", text(&path), text(&path), "no\u{1b}[31m"]).exits(2);
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{}{}", run.out, run.err);
    assert!(run.out.contains(r"named \u{1b}[31m red.pcap"), "{}", run.out);
    fs::remove_file(&path).unwrap();
}

/// The emulator judges itself.
#[test]
fn what_the_demo_records_is_clean() {
    let path = scratch("linted.pcapng");
    for options in [
        &["--loss", "0.1", "--seed", "7"][..],
        &["--transport", "xrc", "--loss", "0.1"],
        &["--transport", "uc", "--loss", "0.1"],
        &["--transport", "ud"],
        &["--operations", "send-inv,flush,atomic-write", "--loss", "0.1"],
        &["--profile", "spec", "--congestion", "dcqcn", "--mark", "0.2", "--messages", "20"],
    ] {
        let _ = fs::remove_file(&path);
        // A message that is lost over an unreliable transport is the demo's failure, and no rule's.
        let _ = rdmalab(&[&["demo", "-q", "--pcap", text(&path)], options].concat());
        let run = rdmalab(&["lint", text(&path)]);
        assert_eq!(run.code, Some(0), "{options:?}:\n{}\n{}", run.out, run.err);
    }
}

/// Before the first answer nothing says which queue pair asks: a notification is of the only one that it may be of.
#[test]
fn a_notification_in_front_of_the_first_answer_counts() {
    let lesson = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lessons/cnp-reaction.pcapng");
    let run = rdmalab(&["lint", lesson]).exits(0);
    let row = run.lines().into_iter().find(|line| line.contains("congestion notifications to the requester"));
    assert!(row.is_some_and(|row| row.ends_with(" 1")), "{}", run.out);
}
