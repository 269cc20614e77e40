//! `rdmalab demo --transport iwarp`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::demo::{demo, row};
use crate::program::{Run, rdmalab, scratch, text};

/// iWARP with these arguments besides.
fn iwarp(arguments: &str) -> Run {
    demo(&format!("--transport iwarp {arguments}"))
}

/// Lines of the ladder that hold one of these signs.
fn signs(run: &Run, sign: char) -> u64 {
    run.lines().iter().filter(|line| line.contains(sign)).count() as u64
}

#[test]
fn each_operation_is_shown_with_its_fpdus_behind_the_start_up() {
    let run = iwarp("").exits(0);
    for words in [
        "── TCP SYN seq=0 ─",
        " | MPA REQUEST rev=2 ird=4 ord=4 ",
        " | MPA REPLY rev=2 ird=4 ord=4 ",
        "✓ A is connected",
        "B is connected ✓",
        " | RDMAP SEND msn=1 mo=0 len=1436 ─",
        " | RDMAP SEND msn=1 mo=1436 len=1064 last ─",
        " | RDMAP WRITE stag=0x1000 to=",
        " | RDMAP IMMEDIATE msn=2 data=",
        " | RDMAP READ_REQUEST msn=1 sink_stag=0x1000 sink_to=",
        " | RDMAP READ_RESPONSE stag=0x1000 to=",
        " | RDMAP ATOMIC_REQUEST msn=2 fetch_add id=0x0 stag=0x1000 ",
        " | RDMAP ATOMIC_RESPONSE msn=2 id=0x1 original=0x1 ─",
        "── TCP FIN,ACK seq=",
        "B is told that the connection is over ✓",
        "✓ A is told that the connection is over",
    ] {
        assert!(run.out.contains(words), "{words} is not in:\n{}", run.out);
    }
    assert!(run.err.is_empty(), "{}", run.err);
    assert!(!run.out.contains('✗') && !run.out.contains('↺') && !run.out.contains("again)"), "{}", run.out);
    // What RFC 6581 has A say that it is ready, two for each message of 2500 bytes, the Immediate Data, what asks.
    assert_eq!(row(&run, "FPDUs sent"), (1 + 2 + 2 + 3 + 1 + 1 + 1, 2 + 1 + 1));
    assert!(run.out.ends_with("6 operations done exactly once, both memories as they must be.\n"));
}

#[test]
fn a_profile_without_rfc_7306_has_neither_atomics_nor_immediate_data() {
    for profile in ["siw", "chelsio-like"] {
        let run = iwarp(&format!("--iwarp-profile {profile} --messages 9")).exits(0);
        assert!(run.out.contains(&format!("profile {profile}")), "{}", run.out);
        assert!(run.out.ends_with("27 operations done exactly once, both memories as they must be.\n"));
        assert!(!run.out.contains("ATOMIC") && !run.out.contains("IMMEDIATE"), "{}", run.out);
        for operation in ["write-imm", "fetch-add", "cmp-swap"] {
            iwarp(&format!("--iwarp-profile {profile} --operations send,{operation}"))
                .exits(2)
                .says(&format!("iWARP of the profile {profile} has no "));
        }
    }
}

#[test]
fn crcs_and_markers_are_as_they_were_asked_for() {
    for (arguments, is_absent) in [
        ("", false),
        ("--markers", false),
        ("--crc off", true),
        ("--iwarp-profile siw", true),
        ("--iwarp-profile siw --crc on", false),
    ] {
        let run = iwarp(&format!("--messages 3 {arguments}")).exits(0);
        assert_eq!(run.out.contains(", no CRC ─"), is_absent, "{arguments}:\n{}", run.out);
        assert!(!run.out.contains("wrong CRC"), "{arguments}:\n{}", run.out);
        assert_eq!(run.out.contains(" markers"), arguments == "--markers", "{}", run.out);
    }
}

#[test]
fn a_key_taken_away_by_a_send_has_ended_each_time() {
    for loss in ["0", "0.1"] {
        let run = iwarp(&format!("--operations send-inv,send --messages 9 --all --loss {loss}")).exits(0);
        assert_eq!(run.lines().iter().filter(|line| line.contains(" has ended")).count(), 9, "{}", run.out);
        assert!(run.out.contains(" | RDMAP SEND_INV msn="), "{}", run.out);
        assert!(run.out.ends_with("18 operations done exactly once, both memories as they must be.\n"));
    }
}

#[test]
fn tcp_sends_lost_segments_again_and_both_memories_are_right() {
    let (mut timeouts, mut duplicates) = (0, 0);
    for seed in 1..=6 {
        let run = iwarp(&format!("--seed {seed} --loss 0.1 --messages 10 --all")).exits(0);
        let lost = row(&run, "of them lost on the link");
        assert!(lost.0 + lost.1 > 0, "seed {seed} loses nothing:\n{}", run.out);
        assert_eq!(signs(&run, '✗'), lost.0 + lost.1, "every lost segment is marked:\n{}", run.out);
        let again = row(&run, "segments sent again");
        let shown = run.lines().iter().filter(|line| line.contains("(again)")).count() as u64;
        assert_eq!(shown, again.0 + again.1, "and what is sent again:\n{}", run.out);
        let by_timer = row(&run, "went back: TCP's timeout");
        let by_peer = row(&run, "went back: duplicate acknowledgements");
        timeouts += by_timer.0 + by_timer.1;
        duplicates += by_peer.0 + by_peer.1;
        let back = by_timer.0 + by_timer.1 + by_peer.0 + by_peer.1;
        assert_eq!(signs(&run, '↺'), back, "every time it went back is counted:\n{}", run.out);
        assert!(run.out.contains("memory verified  yes"), "{}", run.out);
        assert!(run.out.ends_with("60 operations done exactly once, both memories as they must be.\n"));
    }
    assert!(timeouts > 0 && duplicates > 0, "{timeouts} timeouts, {duplicates} times after duplicates");
}

#[test]
fn every_loss_rate_comes_to_an_end() {
    let run = iwarp("--loss 1").exits(1).says("the connection was not made: B did not answer");
    assert!(run.out.contains("ARP 10.0.0.2 is-at"), "only TCP segments are lost:\n{}", run.out);
    assert!(run.out.contains("memory verified  NO (the exchange broke off)"), "{}", run.out);
    let mut broken = 0;
    for loss in ["0.2", "0.4", "0.6", "0.9"] {
        for seed in 1..6 {
            let run = iwarp(&format!("--quiet --seed {seed} --loss {loss} --messages 8 --size 5000"));
            match run.code {
                Some(0) => assert!(run.out.contains("memory verified  yes"), "{}", run.out),
                _ => {
                    broken += 1;
                    drop(run.exits(1).says("rdmalab: the connection was "));
                }
            }
        }
    }
    assert!(broken > 0);
}

#[test]
fn all_sizes_and_numbers_of_messages_work() {
    for arguments in [
        "--size 0",
        "--size 1",
        "--size 1436",
        "--size 1437",
        "--size 100000 --messages 3",
        "--size 1048576",
        "--messages 0",
        "--messages 0 --loss 0.3",
        "--messages 300 --size 8",
        "--size 0 --messages 50 --loss 0.05",
        "--size 1 --messages 50 --loss 0.05",
        "--size 100000 --messages 3 --loss 0.02",
        "--size 1000 --messages 20 --markers --loss 0.05",
        "--seed 18446744073709551615",
    ] {
        let run = iwarp(arguments).exits(0);
        assert!(run.out.contains("memory verified  yes"), "{arguments}:\n{}", run.out);
        assert!(!run.out.contains("NOT OK"), "{arguments}:\n{}", run.out);
    }
}

#[test]
fn one_seed_gives_the_same_text_and_the_same_capture() {
    let files = ["once", "twice", "other"].map(|name| scratch(&format!("iwarp-{name}.pcapng")));
    let [once, twice, other] = [(&files[0], 7), (&files[1], 7), (&files[2], 8)].map(|(file, seed)| {
        let run = iwarp(&format!("--seed {seed} --loss 0.1 --messages 5 --pcap {}", text(file))).exits(0);
        (run.out.replace(text(file), "FILE"), fs::read(file).unwrap())
    });
    assert_eq!(once.0, twice.0);
    assert!(once.1.len() > 10_000 && once.1 == twice.1);
    assert!(once.0 != other.0 && once.1 != other.1);
}

#[test]
fn options_of_another_transport_are_told_in_one_line_and_change_nothing() {
    let plain = iwarp("-q").exits(0).out;
    for (arguments, why) in [
        ("--profile spec", "--profile changes nothing: it is RoCE's"),
        ("--congestion dcqcn", "--congestion changes nothing: it is RoCE's"),
        ("--congestion fixed=1 --mark 0.5", "--congestion, --mark change nothing: they are RoCE's"),
    ] {
        let run = iwarp(&format!("-q {arguments}")).exits(0).says(why);
        assert_eq!(run.err.lines().count(), 1, "{arguments}: {}", run.err);
        assert_eq!(run.out, plain, "{arguments}");
    }
    let plain = demo("-q").exits(0).out;
    for (arguments, why) in [
        ("--iwarp-profile siw", "--iwarp-profile changes nothing: it is iWARP's; add --transport iwarp"),
        ("--markers --crc on", "--crc, --markers change nothing: they are iWARP's"),
    ] {
        let run = demo(&format!("-q {arguments}")).exits(0).says(why);
        assert_eq!(run.out, plain, "{arguments}");
    }
}

#[test]
fn what_iwarp_cannot_do_is_refused() {
    for (arguments, why) in [
        ("--operations send-imm", "iWARP has no SEND_IMM"),
        ("--operations flush", "iWARP has no FLUSH"),
        ("--operations send,atomic-write", "iWARP has no ATOM_WRITE"),
        ("--operations wrong-key", "iWARP has no WRONG_KEY"),
        ("--operations wrong-stag,read", "WRONG_STAG is not the last, and ends the connection"),
        ("--iwarp-profile siw --markers", "the profile siw sends none, and rejects who asks for them"),
        ("--iwarp-profile hardware", "spec, siw, chelsio-like"),
        ("--crc maybe", "on or off"),
    ] {
        let run = iwarp(arguments).exits(2).says(why);
        assert!(run.out.is_empty(), "{}", run.out);
    }
}

#[test]
fn a_wrong_stag_is_refused_by_a_terminate_message_and_ends_the_connection() {
    for (arguments, loss) in
        [("", false), ("--iwarp-profile siw --messages 3", false), ("--loss 0.2 --seed 7", true)]
    {
        let run = iwarp(&format!("--operations write,wrong-stag {arguments} --all")).exits(0);
        for words in [
            " | RDMAP READ_REQUEST msn=1 sink_stag=",
            " | RDMAP TERMINATE msn=1 error=rdmap_invalid_stag of READ_REQUEST",
            "WRONG_STAG #1 is refused: ",
            "B is told that the connection is over ✓",
            "✓ A is told that the connection is over",
        ] {
            assert!(run.out.contains(words), "{words} is not in:\n{}", run.out);
        }
        assert!(!run.out.contains("A ends the connection"), "nobody is left to hang up:\n{}", run.out);
        assert_eq!(row(&run, "connections ended by a Terminate message"), (0, 1));
        assert!(
            run.out.ends_with(" done exactly once, 1 refused, both memories as they must be.\n"),
            "{}",
            run.out
        );
        assert_eq!(run.out.contains("(again)"), loss, "{}", run.out);
    }
    // Over what does not show how it connects there is none.
    demo("--operations wrong-stag").exits(2).says("RC has no WRONG_STAG");
}

/// FPDUs whose CRC tshark calls good, and frames that it calls malformed; nothing if there is no tshark.
fn judged(capture: &Path) -> Option<(u64, u64)> {
    let there = Command::new("tshark").arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "tshark is needed: apt-get install tshark");
        eprintln!("not run: tshark is not installed (apt-get install tshark)");
        return None;
    }
    let output = Command::new("tshark")
        .args(["-r", text(capture), "-V", "-o", "tcp.reassemble_out_of_order:TRUE"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    let count = |what: &str| said.lines().filter(|line| line.contains(what)).count() as u64;
    Some((count("(Good CRC32)"), count("Malformed Packet")))
}

#[test]
fn tshark_and_rdmalab_dump_find_every_fpdu_with_its_crc_right_and_lint_nothing_wrong() {
    for (name, arguments) in [
        ("clean", "--messages 10"),
        ("lossy", "--messages 20 --seed 3 --loss 0.1"),
        ("long", "--size 100000 --seed 2 --loss 0.02"),
        ("siw", "--messages 10 --iwarp-profile siw --crc on --loss 0.05"),
        ("markers", "--messages 20 --markers --loss 0.05"),
    ] {
        let file = scratch(&format!("iwarp-judged-{name}.pcapng"));
        let run = iwarp(&format!("-q {arguments} --pcap {}", text(&file))).exits(0);
        let (a, b) = row(&run, "FPDUs sent");
        assert!(a > 20 && b > 1, "{name}:\n{}", run.out);
        let right = format!("{} FPDUs: CRC right in {}, absent in 0", a + b, a + b);
        let dump = rdmalab(&["dump", text(&file)]).exits(0).says(&right);
        let sum = |name| row(&run, name).0 + row(&run, name).1;
        let with = |words: &str| dump.lines().iter().filter(|line| line.contains(words)).count() as u64;
        assert_eq!(with("lost (random loss of "), sum("of them lost on the link"), "{name}");
        assert_eq!(with(" # sent again"), sum("segments sent again"), "{name}");
        rdmalab(&["lint", text(&file)]).exits(0);
        // Of FPDUs with markers tshark 4.0 finds a few only.
        if name != "markers" {
            let Some(judged) = judged(&file) else { return };
            assert_eq!(judged, (a + b, 0), "{name}");
        }
    }
}
