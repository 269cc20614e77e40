//! `rdmalab demo` with other transports than RC, other operations than the usual ones, and other habits.

use std::fs;

use crate::demo::{demo, row};
use crate::program::{Run, rdmalab, scratch, text};

/// Numbers of a row of the first table.
fn operation(run: &Run, name: &str) -> Vec<u32> {
    let is_row = |line: &&str| line.starts_with(&format!("  {name} ")) && !line.contains('│');
    let line = run.lines().into_iter().find(is_row);
    let line = line.unwrap_or_else(|| panic!("{name} is missing:\n{}", run.out));
    assert!(line.trim_end().ends_with(" ok"), "{line}");
    line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn every_transport_shows_its_operations_and_loses_nothing_on_a_good_link() {
    for (transport, operations) in [
        ("rc", &["SEND", "WRITE", "READ", "FETCH_ADD", "CMP_SWAP"][..]),
        ("uc", &["SEND", "WRITE", "WRITE_IMM"]),
        ("ud", &["SEND", "SEND_IMM"]),
        ("xrc", &["SEND", "WRITE", "READ", "FETCH_ADD", "CMP_SWAP"]),
    ] {
        let run = demo(&format!("--transport {transport} --messages 20")).exits(0);
        assert!(run.out.contains("memory verified  yes"), "{}", run.out);
        assert!(!run.out.contains("lost for good"), "{}", run.out);
        for name in operations {
            let numbers = operation(&run, name);
            // Messages, bytes, completed, right.
            assert_eq!((numbers[0], numbers[2], numbers[3]), (20, 20, 20), "{name}:\n{}", run.out);
        }
    }
}

#[test]
fn unreliable_transports_lose_messages_for_good_and_what_arrives_is_right() {
    for transport in ["uc", "ud"] {
        let mut lost_in_all = 0;
        for seed in 1..8 {
            let run =
                demo(&format!("--transport {transport} --seed {seed} --loss 0.1 --messages 20 -q")).exits(0);
            assert!(run.out.contains("memory verified  yes"), "{}", run.out);
            // Only A sends, and nothing is sent again.
            assert_eq!(row(&run, "packets sent").1, 0, "{}", run.out);
            assert!(!run.out.contains("sent again") && !run.out.contains("went back"), "{}", run.out);
            let names: &[&str] =
                if transport == "uc" { &["SEND", "WRITE", "WRITE_IMM"] } else { &["SEND", "SEND_IMM"] };
            for name in names {
                let [messages, _, sent, arrived, lost] = operation(&run, name)[..] else {
                    panic!("{}", run.out)
                };
                assert_eq!((messages, sent, arrived + lost), (20, 20, 20), "{}", run.out);
                lost_in_all += lost;
            }
            let packets = row(&run, "of them lost on the link").0;
            let expected = packets == 0 || run.out.contains("lost for good, and A has not been told");
            assert!(expected || transport == "ud", "{}", run.out);
        }
        assert!(lost_in_all > 0, "{transport} never loses a message");
    }
}

#[test]
fn when_everything_is_lost_unreliable_transports_do_not_notice() {
    for transport in ["uc", "ud"] {
        let run = demo(&format!("--transport {transport} --loss 1 --messages 3")).exits(0);
        let numbers = operation(&run, "SEND");
        assert_eq!((numbers[2], numbers[3], numbers[4]), (3, 0, 3), "{}", run.out);
        assert!(run.out.contains("SEND #3 is done: it is sent, more A will not know"), "{}", run.out);
        assert!(!run.out.contains("B receives"), "{}", run.out);
    }
}

#[test]
fn a_lost_packet_takes_its_whole_message_and_the_rest_of_it_is_dropped() {
    let run = demo("--transport uc --seed 3 --loss 0.1 --messages 3").exits(0);
    assert_eq!(row(&run, "of them lost on the link"), (1, 0), "{}", run.out);
    assert_eq!(run.out.matches("B's adapter drops it: behind a gap").count(), 2, "{}", run.out);
    assert_eq!(operation(&run, "WRITE")[4], 1, "{}", run.out);
}

#[test]
fn a_datagram_says_whom_it_is_from_and_one_with_a_wrong_key_is_dropped() {
    let run = demo("--transport ud --messages 2").exits(0);
    assert_eq!(run.out.matches("header and 1000 bytes, from 0x000080").count(), 4, "{}", run.out);
    assert_eq!(run.out.matches("qkey=0x22222222").count(), 2, "{}", run.out);
    assert_eq!(run.out.matches("B's adapter drops it: wrong queue key").count(), 2, "{}", run.out);
    assert_eq!(row(&run, "discarded: wrong queue key"), (0, 2), "{}", run.out);
    assert!(run.out.ends_with("6 messages sent, 4 arrived, whole and right; 2 with a wrong key did not.\n"));
}

#[test]
fn xrc_names_a_shared_receive_queue_in_each_request_and_survives_losses() {
    let run = demo("--transport xrc --seed 2 --loss 0.1 --messages 4 --all").exits(0);
    let requests = run.lines().into_iter().filter(|line| line.contains("►│") && line.contains("XRC "));
    let requests: Vec<&str> = requests.collect();
    assert!(requests.len() > 20 && requests.iter().all(|line| line.contains("srq=0x100")), "{}", run.out);
    assert!(run.out.contains("A was told its number, 0x100"), "{}", run.out);
    assert!(row(&run, "of them requests sent again").0 > 0, "{}", run.out);
    assert!(run.out.ends_with("20 operations done exactly once, both memories as they must be.\n"));
}

#[test]
fn every_operation_can_be_asked_for_and_is_done_exactly_once() {
    let all = "send,send-imm,send-inv,write,write-imm,read,fetch-add,cmp-swap,flush,atomic-write";
    for (transport, operations, done) in [
        ("rc", all, 50),
        ("xrc", "send-inv,cmp-swap,write-imm,send-imm", 20),
        ("xrc", "read", 5),
        ("rc", "atomic-write,flush", 10),
    ] {
        for loss in ["0", "0.1"] {
            let arguments =
                format!("--transport {transport} --operations {operations} --messages 5 --loss {loss} -q");
            let run = demo(&arguments).exits(0);
            let last = format!("{done} operations done exactly once, both memories as they must be.\n");
            assert!(run.out.ends_with(&last), "{arguments}:\n{}", run.out);
        }
    }
    let run = demo("--operations send-inv").exits(0);
    assert!(run.out.contains("key 0x2001 has ended"), "{}", run.out);
}

#[test]
fn operations_that_leave_receives_behind_do_not_spoil_those_that_follow() {
    for operations in ["write-imm,send", "send-imm,write-imm,send", "write-imm,write,send-imm"] {
        for seed in 1..6 {
            let run = demo(&format!(
                "--transport uc --operations {operations} --messages 30 --size 3000 --loss 0.2 --seed {seed} -q"
            ))
            .exits(0);
            assert!(run.out.contains("memory verified  yes"), "{operations}:\n{}", run.out);
        }
    }
}

#[test]
fn all_sizes_work_on_all_transports() {
    for transport in ["uc", "ud", "xrc"] {
        for size in ["0", "1", "7", "1023", "1024"] {
            for loss in ["0", "0.2"] {
                let arguments =
                    format!("--transport {transport} --size {size} --messages 9 --loss {loss} -q");
                let run = demo(&arguments).exits(0);
                assert!(run.out.contains("memory verified  yes"), "{arguments}:\n{}", run.out);
            }
        }
    }
    for arguments in ["--transport uc --size 1048576 --loss 0.01", "--transport xrc --size 100000"] {
        demo(&format!("{arguments} -q")).exits(0);
    }
    demo("--transport ud --messages 100000 --size 8 -q").exits(0);
}

#[test]
fn one_seed_gives_the_same_text_and_the_same_capture_on_every_transport() {
    for transport in ["uc", "ud", "xrc"] {
        let files = ["once", "twice"].map(|name| scratch(&format!("{transport}-{name}.pcapng")));
        let runs = files.clone().map(|file| {
            let arguments =
                format!("--transport {transport} --seed 7 --loss 0.1 --messages 5 --pcap {}", text(&file));
            demo(&arguments).exits(0).out.replace(text(&file), "FILE")
        });
        assert_eq!(runs[0], runs[1]);
        let [once, twice] = files.map(|file| fs::read(file).unwrap());
        assert!(once.len() > 5_000 && once == twice);
    }
}

#[test]
fn rdmalab_dump_finds_every_checksum_right_and_nothing_malformed() {
    for transport in ["rc", "uc", "ud", "xrc"] {
        let file = scratch(&format!("dumped-{transport}.pcapng"));
        demo(&format!("--transport {transport} --messages 3 -q --pcap {}", text(&file))).exits(0);
        let dump = rdmalab(&["dump", text(&file)]).exits(0);
        assert!(dump.lines().len() > 7, "{}", dump.out);
    }
}

#[test]
fn a_profile_shows_in_the_packets() {
    assert!(!demo("").exits(0).out.contains("migrated"));
    for profile in ["spec", "connectx"] {
        let run = demo(&format!("--profile {profile}")).exits(0);
        assert!(
            run.out.contains(" migrated") && run.out.contains(&format!("profile {profile}")),
            "{}",
            run.out
        );
    }
}

#[test]
fn marks_are_answered_by_notifications_that_slow_a_flow_down() {
    let time = |arguments: &str| {
        let run = demo(&format!("--messages 50 --size 20000 --operations write -q {arguments}")).exits(0);
        let line = run.lines().into_iter().find(|line| line.starts_with("virtual time")).unwrap();
        let time: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
        (time, row(&run, "congestion notifications sent").1, row(&run, "congestion notifications heeded").0)
    };
    let free = time("--profile spec");
    let slowed = time("--profile spec --mark 0.2 --congestion dcqcn");
    assert_eq!(free.1, 0);
    assert!(slowed.1 > 0 && slowed.2 == slowed.1, "{slowed:?}");
    assert!(slowed.0 > 2.0 * free.0, "{slowed:?} {free:?}");
    // A million bytes at 1 Gbit/s take 8 ms, less what a flow may begin with at once.
    let fixed = time("--congestion fixed=1");
    assert!((7500.0..9000.0).contains(&fixed.0), "{fixed:?}");
}

#[test]
fn options_about_congestion_that_change_nothing_are_told_in_one_line() {
    for (arguments, why) in [
        ("--profile spec --congestion dcqcn", "--congestion dcqcn changes nothing: the link marks no packet"),
        (
            "--congestion dcqcn --mark 0.2",
            "--congestion dcqcn changes nothing: the profile rxe takes no part in it",
        ),
        ("--profile connectx --transport ud --congestion dcqcn --mark 0.2", "datagrams are never answered"),
        ("--mark 0.2", "--mark changes nothing: packets of the profile rxe cannot be marked"),
    ] {
        let run = demo(&format!("-q {arguments}")).exits(0).says(why);
        assert_eq!(run.err.lines().count(), 1, "{arguments}: {}", run.err);
    }
    for arguments in [
        "",
        "--congestion fixed=1",
        "--transport ud --congestion fixed=1",
        "--profile spec --mark 0.2",
        "--profile spec --mark 0.2 --congestion dcqcn",
    ] {
        let run = demo(&format!("-q {arguments}")).exits(0);
        assert!(run.err.is_empty(), "{arguments}: {}", run.err);
    }
}

#[test]
fn what_a_transport_cannot_do_is_refused() {
    for (arguments, why) in [
        ("--transport uc --operations read", "UC has no READ"),
        ("--transport ud --operations write", "UD has no WRITE"),
        ("--transport rc --operations wrong-key", "RC has no WRONG_KEY"),
        ("--transport xrc --operations send,wrong-key", "XRC has no WRONG_KEY"),
        ("--operations send,read,send", "SEND is there twice"),
        ("--transport ud --size 1025", "a datagram holds 1024 bytes at most"),
        ("--transport rd", "possible values: rc, uc, ud, xrc"),
        ("--operations dance", "possible values: send,"),
        ("--profile mlx", "a profile is one of spec, rxe, connectx"),
        ("--congestion slow", "none, fixed=RATE"),
        ("--congestion fixed=0", "a rate is a number of Gbit/s from 0.001 to 1000"),
        ("--congestion fixed=NaN", "a rate is a number of Gbit/s"),
        ("--mark 2", "a number from 0 to 1"),
    ] {
        let run = demo(arguments).exits(2).says(why);
        assert!(run.out.is_empty(), "{}", run.out);
    }
}

#[test]
fn where_nothing_is_lost_nothing_is_called_sent_again() {
    for arguments in [
        "--profile spec --congestion dcqcn --mark 0.2",
        "--profile connectx --operations send,write,send-imm",
        "--transport xrc --profile spec",
        "--transport uc --profile spec",
    ] {
        let run = demo(&format!("{arguments} --messages 20 --all")).exits(0);
        let is_said = ["(again)", "requests sent again", "answers sent again", "goes back"];
        assert!(is_said.iter().all(|what| !run.out.contains(what)), "{arguments}:\n{}", run.out);
    }
}

/// More packets at once than a host keeps for a neighbour that it looks for.
#[test]
fn nothing_of_a_long_burst_is_lost_without_loss() {
    let run = demo("-q --transport uc --messages 20 --size 30000").exits(0);
    assert!(run.out.contains("memory verified  yes"), "{}", run.out);
}
