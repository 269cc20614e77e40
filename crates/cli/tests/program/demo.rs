//! `rdmalab demo`.

use std::fs;
use std::process::Command;

use crate::program::{Run, headed, rdmalab, scratch, text};

pub fn demo(arguments: &str) -> Run {
    let arguments: Vec<&str> = ["demo"].into_iter().chain(arguments.split_whitespace()).collect();
    rdmalab(&arguments)
}

/// Lines of the ladder that hold a packet.
fn packets(run: &Run) -> usize {
    run.lines().iter().filter(|line| line.contains("►│") || line.contains("│◄") || line.contains('✗')).count()
}

/// A row of the second table: what A and B have there.
pub fn row(run: &Run, name: &str) -> (u64, u64) {
    let line = run.lines().into_iter().find(|line| line.contains(name));
    let numbers: Vec<u64> = line.map_or_else(Vec::new, |line| {
        line.rsplit_once(name).unwrap().1.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    });
    match numbers[..] {
        [a, b] => (a, b),
        _ => (0, 0),
    }
}

#[test]
fn the_example_of_the_readme_prints_what_it_always_did() {
    let run = demo("--seed 7 --loss 0.05").exits(0);
    // When the output is to change: cargo run -p rdmalab -- demo --seed 7 --loss 0.05 > crates/cli/tests/program/demo_seed_7.txt
    assert_eq!(run.out, include_str!("demo_seed_7.txt"));
    assert!(run.err.is_empty(), "{}", run.err);
}

#[test]
fn the_ladder_in_the_readme_is_part_of_what_is_printed() {
    let readme = include_str!("../../../../README.md");
    let (_, ladder) = readme.split_once("```\n   time").expect("the README shows a ladder");
    let (ladder, _) = ladder.split_once("\n```").expect("the ladder ends");
    assert!(include_str!("demo_seed_7.txt").contains(ladder), "{ladder}");
    assert!(ladder.lines().count() > 10);
}

#[test]
fn the_default_is_a_short_clean_exchange() {
    let run = demo("").exits(0);
    assert!(run.out.contains("seed 1, loss of RoCE packets 0 %"), "{}", run.out);
    assert_eq!(packets(&run), 2 + 9 + 7, "two ARP packets, nine requests, seven answers");
    assert!(!run.out.contains('✗') && !run.out.contains('↺') && !run.out.contains("again"), "{}", run.out);
    assert_eq!(row(&run, "packets sent"), (9, 7));
    assert!(run.out.ends_with("5 operations done exactly once, both memories as they must be.\n"));
    assert!(run.lines().len() < 75, "{} lines", run.lines().len());
}

#[test]
fn one_seed_gives_the_same_text_and_the_same_capture() {
    let files = [scratch("once.pcapng"), scratch("twice.pcapng")];
    let runs = files.clone().map(|file| {
        let run = demo(&format!("--seed 7 --loss 0.1 --messages 5 --pcap {}", text(&file))).exits(0);
        run.out.replace(text(&file), "FILE")
    });
    assert_eq!(runs[0], runs[1]);
    let [once, twice] = files.map(|file| fs::read(file).unwrap());
    assert!(once.len() > 10_000);
    assert!(once == twice);
    assert_ne!(runs[0], demo("--seed 8 --loss 0.1 --messages 5").out);
}

#[test]
fn lost_packets_are_sent_again_and_both_memories_are_right() {
    for (seed, loss) in [(1, "0.05"), (2, "0.05"), (3, "0.1"), (4, "0.3"), (5, "0.3")] {
        let run = demo(&format!("--seed {seed} --loss {loss} --messages 4 --all")).exits(0);
        let lost = row(&run, "of them lost on the link");
        assert!(lost.0 + lost.1 > 0, "seed {seed} loses nothing:\n{}", run.out);
        let shown = run.lines().iter().filter(|line| line.contains('✗')).count() as u64;
        assert_eq!(shown, lost.0 + lost.1, "every lost packet is marked:\n{}", run.out);
        let back = run.lines().iter().filter(|line| line.contains('↺')).count() as u64;
        let counted: u64 = ["PSN sequence error NAK", "implied NAK", "local ACK timeout", "RNR NAK"]
            .iter()
            .map(|cause| row(&run, &format!("went back: {cause}")).0)
            .sum();
        assert_eq!(back, counted, "every time it went back is counted:\n{}", run.out);
        assert!(run.out.contains("memory verified  yes"), "{}", run.out);
    }
}

#[test]
fn when_everything_is_lost_the_queue_pair_gives_up_and_says_so() {
    let run = demo("--loss 1").exits(1).says("rdmalab: SEND #1 failed with IBV_WC_RETRY_EXC_ERR");
    assert!(run.err.contains("sent the same packet 8 times"), "{}", run.err);
    assert_eq!(row(&run, "packets sent"), (24, 0), "three packets, eight times");
    assert_eq!(row(&run, "of them lost on the link"), (24, 0));
    assert_eq!(row(&run, "went back: local ACK timeout"), (7, 0));
    assert!(run.out.contains("ARP 10.0.0.2 is-at"), "only RoCE packets are lost:\n{}", run.out);
    assert!(run.out.contains("memory verified  NO"), "{}", run.out);
}

#[test]
fn every_loss_rate_comes_to_an_end() {
    for loss in ["0.5", "0.7", "0.9", "0.99"] {
        for seed in 1..6 {
            let run = demo(&format!("--quiet --seed {seed} --loss {loss} --messages 8 --size 5000"));
            match run.code {
                Some(0) => assert!(run.out.contains("memory verified  yes"), "{}", run.out),
                _ => drop(run.exits(1).says("failed with IBV_WC_RETRY_EXC_ERR")),
            }
        }
    }
}

#[test]
fn all_sizes_and_numbers_of_messages_work() {
    for arguments in [
        "--size 0",
        "--size 1",
        "--size 1024",
        "--size 1025",
        "--size 100000",
        "--size 1048576",
        "--messages 0",
        "--messages 1",
        "--messages 50",
        "--size 0 --messages 50 --loss 0.1",
        "--size 1 --messages 50 --loss 0.1",
        "--size 100000 --messages 3 --loss 0.05",
        "--size 1048576 --loss 0.01",
        "--seed 18446744073709551615",
    ] {
        let run = demo(arguments).exits(0);
        assert!(run.out.contains("memory verified  yes"), "{arguments}:\n{}", run.out);
        assert!(!run.out.contains("NOT OK"), "{arguments}:\n{}", run.out);
    }
}

#[test]
fn a_long_exchange_is_shown_in_part_unless_all_is_asked_for() {
    let short = demo("--messages 50 --loss 0.05").exits(0);
    assert!(short.lines().len() < 310, "{} lines", short.lines().len());
    assert_eq!(short.lines().iter().filter(|line| line.contains("--all shows them")).count(), 5);
    let all = demo("--messages 50 --loss 0.05 --all").exits(0);
    let sent = row(&all, "packets sent");
    assert_eq!(packets(&all) as u64, 2 + sent.0 + sent.1);
    assert_eq!(row(&short, "packets sent"), sent);
    let quiet = demo("--messages 50 --loss 0.05 --quiet").exits(0);
    assert_eq!(packets(&quiet), 0);
    assert_eq!(row(&quiet, "packets sent"), sent);
}

#[test]
fn nothing_but_a_terminal_gets_colours() {
    assert!(!demo("--loss 0.2").out.contains('\x1b'));
    let output = Command::new(env!("CARGO_BIN_EXE_rdmalab"))
        .args(["demo", "--loss", "0.2"])
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert!(output.stdout.contains(&0x1b));
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let run = headed(&["demo", "--messages", "500", "--all"]).exits(0);
    assert!(run.err.is_empty(), "{}", run.err);
}

#[test]
fn a_capture_that_cannot_be_written_is_told() {
    demo("--pcap /nowhere/at.all").exits(2).says("cannot write the capture /nowhere/at.all");
    if cfg!(target_os = "linux") {
        let run = demo("--messages 50 --pcap /dev/full").exits(1).says("cannot write the capture /dev/full");
        assert!(run.err.contains("No space left"), "{}", run.err);
    }
}

#[test]
fn the_capture_names_both_ends_and_comments_on_what_was_lost_and_sent_again() {
    let file = scratch("comments.pcapng");
    let run = demo(&format!("--seed 7 --loss 0.05 --pcap {}", text(&file))).exits(0);
    let dump = rdmalab(&["dump", text(&file)]).exits(0);
    let sent = row(&run, "packets sent");
    assert_eq!(dump.lines().len() as u64, 2 + sent.0 + sent.1, "each packet once");
    let with = |comment: &str| dump.lines().iter().filter(|line| line.contains(comment)).count();
    assert_eq!(with("# lost (random loss of 5 %)"), 2);
    assert_eq!(with("# sent again after PSN sequence error NAK"), 2);
    assert_eq!(with("# sent again after local ACK timeout"), 1);
    assert_eq!(with("# sent again"), 4);
}

/// B gives a key away by a work request, for which its queue pair has to have heard the RTU, here the second one.
#[test]
fn what_needs_a_key_of_b_waits_for_an_rtu_that_was_lost() {
    let run = demo("--connect --operations send-inv --messages 2 --fate A2=lose").exits(0);
    assert!(run.out.contains("memory verified  yes"), "{}", run.out);
    assert!(run.lines().iter().filter(|line| line.contains("RTU")).count() >= 2, "{}", run.out);
}
