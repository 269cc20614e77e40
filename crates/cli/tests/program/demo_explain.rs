//! `rdmalab demo --explain`, and the options by which one thing goes wrong.

use std::collections::BTreeMap;
use std::fs;

use crate::demo::{demo, row};
use crate::program::{Run, rdmalab, scratch, text};

/// Lines that begin a remark, without what is so this time.
fn headings(run: &Run) -> Vec<String> {
    let heading = |line: &str| {
        let (_, heading) = line.split_once("▸ ")?;
        Some(heading.trim_end_matches(['│', ' ']).to_owned())
    };
    run.lines().into_iter().filter_map(heading).collect()
}

/// The ladder without remarks.
fn without_remarks(run: &Run) -> String {
    let is_remark = |line: &&str| {
        let Some((time, rest)) = line.split_once('│') else { return false };
        time.trim().is_empty()
            && rest.starts_with("      ")
            && rest.trim_end().ends_with('│')
            && !rest.contains("lost (random")
    };
    run.lines().into_iter().filter(|line| !is_remark(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn one_seed_tells_the_same_story() {
    let run = demo("--explain --loss 0.1 --seed 7").exits(0);
    // When the output is to change: cargo run -p rdmalab -- demo --explain --loss 0.1 --seed 7 > crates/cli/tests/program/demo_explained.txt
    assert_eq!(run.out, include_str!("demo_explained.txt"));
    let run =
        demo("--explain --transport iwarp --operations send,write,read --messages 4 --loss 0.08 --seed 7")
            .exits(0);
    // The same: demo --explain --transport iwarp --operations send,write,read --messages 4 --loss 0.08 --seed 7 > …/demo_explained_iwarp.txt
    assert_eq!(run.out, include_str!("demo_explained_iwarp.txt"));
}

#[test]
fn go_back_n_is_told_as_it_happens_in_full_once_and_later_in_a_few_words() {
    let run = demo("--explain --all --loss 0.1 --seed 7 --messages 4").exits(0);
    let back = headings(&run).iter().filter(|heading| heading.starts_with("Go-back-N: ")).count() as u64;
    let counted: u64 = ["PSN sequence error NAK", "implied NAK", "local ACK timeout"]
        .iter()
        .map(|cause| row(&run, &format!("went back: {cause}")).0)
        .sum();
    assert!(counted >= 3, "{}", run.out);
    assert_eq!(back, counted, "each time is told:\n{}", run.out);
    assert_eq!(run.out.matches("That is").count(), 1, "{}", run.out);
    assert!(run.out.contains("go-back-N. It needs"), "{}", run.out);
    // Each paragraph has a source, and none is there twice.
    let mut sources: BTreeMap<&str, u32> = BTreeMap::new();
    for explanation in paragraphs(&run) {
        *sources.entry(explanation).or_default() += 1;
    }
    assert!(sources.values().all(|count| *count == 1), "{sources:?}");
}

/// Beginnings of paragraphs: the line behind a heading that is new.
fn paragraphs(run: &Run) -> Vec<&str> {
    let lines = run.lines();
    let pairs = lines.windows(2).filter(|pair| pair[0].contains("▸ ") && !pair[1].contains("▸ "));
    let texts = pairs.map(|pair| pair[1].trim_matches(['│', ' ']));
    // A heading may be followed by the next packet, or go on in a second line.
    texts.filter(|text| text.starts_with(char::is_uppercase) && text.split_whitespace().count() > 6).collect()
}

#[test]
fn explaining_changes_nothing_else() {
    for arguments in [
        "--loss 0.1 --seed 7 --messages 3",
        "--transport uc --loss 0.2",
        "--transport ud",
        "--transport xrc --loss 0.1",
        "--transport iwarp --loss 0.05",
        "--connect",
        "--profile spec --congestion dcqcn --mark 0.3 --messages 5",
    ] {
        let plain = demo(arguments).exits(0);
        let told = demo(&format!("{arguments} --explain")).exits(0);
        assert!(headings(&told).len() >= 2, "{arguments}:\n{}", told.out);
        assert_eq!(without_remarks(&told), without_remarks(&plain), "{arguments}");
    }
}

#[test]
fn remarks_are_as_wide_as_the_ladder() {
    let run = demo("--explain --loss 0.1 --seed 7").exits(0);
    let lines = run.lines();
    let ladder = lines.iter().filter(|line| line.contains('│'));
    let widths: Vec<usize> = ladder.map(|line| line.chars().count()).collect();
    assert!(widths.len() > 100 && widths.iter().all(|width| *width == widths[0]), "{widths:?}");
}

#[test]
fn single_packets_meet_with_their_fate_and_others_do_not() {
    let run = demo("--operations write --fate A2=lose").exits(0);
    assert!(run.out.contains("── WRITE_MIDDLE psn=101 len=1024 ──✗ lost (packet 2 of A)"), "{}", run.out);
    assert_eq!(row(&run, "of them lost on the link"), (1, 0));
    let run = demo("--operations write --fate A3=duplicate").exits(0);
    assert!(run.out.contains("WRITE_LAST psn=102 len=452 ackreq (comes twice) ─"), "{}", run.out);
    assert_eq!(row(&run, "duplicate requests recognised"), (0, 1));
    let run = demo("--operations write --fate A1=corrupt,B1=delay:20").exits(0);
    assert!(
        run.out.contains("psn=100 va=0x1000 rkey=0x1000 dmalen=2500 len=1024 (damaged) ─"),
        "{}",
        run.out
    );
    assert!(run.out.contains(" (20 µs late) ──│"), "{}", run.out);
    assert_eq!(row(&run, "discarded: wrong ICRC"), (0, 1));
    let run = demo("--operations write --profile spec --fate A1=mark").exits(0);
    assert_eq!(row(&run, "packets with a congestion mark"), (0, 1));
    let run = demo("--transport iwarp --operations send --fate A3=lose").exits(0);
    assert_eq!(row(&run, "of them lost on the link"), (1, 0));
    demo("--fate A1").exits(2).says("an end, a number");
    let many = ["A1=lose"; 1001].join(",");
    demo(&format!("--fate {many}")).exits(2).says("1001 packets");
}

/// A link may do all that: what arrives late or twice, or not at all, is no fault of anybody's.
#[test]
fn fates_of_what_nobody_sends_again_are_no_fault() {
    for transport in ["uc --size 2500", "ud --size 9", "ud --size 1"] {
        for number in 1..=9 {
            let fates = [
                format!("A{number}=duplicate"),
                format!("A{number}=corrupt"),
                format!("A{number}=delay:30"),
                format!("A{number}=delay:30,A{}=duplicate,A{}=lose", number + 1, number + 3),
            ];
            for fate in fates {
                let run =
                    demo(&format!("--transport {transport} --messages 3 --quiet --fate {fate}")).exits(0);
                assert!(run.out.contains("memory verified  yes"), "{transport}, {fate}: {}", run.out);
            }
        }
    }
    let run =
        demo("--transport ud --messages 3 --size 9 --operations send-imm --fate A1=delay:9,A2=duplicate")
            .exits(0);
    assert!(run.out.contains("(again)") && run.out.contains("has not come yet"), "{}", run.out);
}

#[test]
fn a_receiver_that_is_late_has_the_sender_wait() {
    for transport in ["rc", "xrc"] {
        let run = demo(&format!("--transport {transport} --operations send,write-imm --late-receives 2000"))
            .exits(0);
        assert!(row(&run, "went back: RNR NAK").0 >= 6, "{}", run.out);
        assert!(
            run.out.ends_with("2 operations done exactly once, both memories as they must be.\n"),
            "{}",
            run.out
        );
    }
    demo("--transport iwarp --late-receives 1").exits(2).says("iWARP cannot have A wait");
    demo("--transport ud --late-receives 1").exits(2).says("UD cannot have A wait");
}

#[test]
fn psns_wrap_wherever_a_begins() {
    for first in ["0", "16777215", "16777214"] {
        let run = demo(&format!("--first-psn {first} --loss 0.1 --messages 4 --seed 3")).exits(0);
        assert!(run.out.contains(&format!("(A {first}, B 500)")), "{}", run.out);
        assert!(run.out.contains("memory verified  yes"), "{}", run.out);
    }
    demo("--first-psn 16777216").exits(2);
    demo("--first-psn 1 --connect").exits(2);
    demo("--first-psn 1 --transport iwarp").exits(0).says("--first-psn changes nothing");
}

#[test]
fn the_connection_manager_is_shown_and_bears_losses() {
    let run = demo("--connect").exits(0);
    for words in
        ["── CM REQ qpn=", "── CM REP qpn=", "── CM RTU ", "── CM DREQ ", "── CM DREP ", "B is connected ✓"]
    {
        let words = words.strip_prefix("── ").unwrap_or(words);
        assert!(run.out.contains(words), "{words} is not in:\n{}", run.out);
    }
    assert!(
        run.out.ends_with("5 operations done exactly once, both memories as they must be.\n"),
        "{}",
        run.out
    );
    for fate in ["A1=lose", "B1=lose", "A2=lose", "A2=lose,A3=lose", "A1=duplicate,B1=duplicate,A2=duplicate"]
    {
        let run = demo(&format!("--connect --fate {fate}")).exits(0);
        assert!(run.out.contains("memory verified  yes"), "{fate}:\n{}", run.out);
    }
    for transport in ["uc", "ud", "xrc", "iwarp"] {
        demo(&format!("--connect --transport {transport}")).exits(2).says("cannot be shown");
    }
}

#[test]
fn a_capture_at_one_end_has_what_arrives_there() {
    let file = scratch("at-one-end.pcapng");
    let lines = |arguments: &str| {
        demo(&format!("--operations read --size 3000 --fate B2=lose {arguments} --pcap {}", text(&file)))
            .exits(0);
        let dump = rdmalab(&["dump", text(&file)]).exits(0);
        (
            dump.out.matches("READ_RESPONSE_MIDDLE").count(),
            dump.out.matches(" # ").count(),
            dump.lines().len(),
        )
    };
    // B sends it twice, with the second request, as rxe does; the first never arrives.
    let (both, comments, all) = lines("");
    let (at_b, _, all_at_b) = lines("--pcap-at B");
    let (at_a, _, all_at_a) = lines("--pcap-at A");
    assert_eq!((both, at_b, at_a), (2, 2, 1));
    assert_eq!((all, all_at_b, all_at_a), (all, all, all - 1));
    assert!(comments > 0);
    assert_eq!(lines("--no-comments").1, 0);
    demo("--pcap-at A").exits(2);
    demo("--pcap-at C --pcap x").exits(2);
    drop(fs::remove_file(&file));
}

#[test]
fn lint_and_states_explain_in_paragraphs() {
    let run = rdmalab(&["states", "--explain"]).exits(0);
    for state in ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"] {
        assert!(run.out.contains(&format!("{state}: ")), "{}", run.out);
    }
    assert_eq!(run.out.matches("  Source: ").count(), 7);
    rdmalab(&["states", "--explain", "--markdown"]).exits(2);
    let rnr = crate::program::capture("rnr.pcap");
    let run = rdmalab(&["lint", "--explain", text(&rnr)]).exits(0);
    for name in ["(go-back-rnr)", "(nak-sequence)", "(rnr-nak)"] {
        assert!(run.out.contains(name), "{name}:\n{}", run.out);
    }
    assert!(!run.out.contains("(go-back-timeout)"), "{}", run.out);
    let clean = crate::program::capture("rping.pcap");
    let run = rdmalab(&["lint", "--explain", text(&clean)]).exits(0);
    assert!(!run.out.contains("What the table tells of"), "{}", run.out);
}
