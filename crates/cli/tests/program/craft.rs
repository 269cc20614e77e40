//! `rdmalab craft`.

use std::fs;

use crate::program::{capture, rdmalab, scratch, text, with_input};

/// A file with this in it.
fn spec(name: &str, what: &str) -> std::path::PathBuf {
    let path = scratch(name);
    fs::write(&path, what).unwrap();
    path
}

#[test]
fn a_write_is_one_entry_and_dump_finds_nothing_wrong() {
    let spec = spec("write.toml", "[[conversation]]\noperation = \"write\"\nbytes = 10000\n");
    for file in ["write.pcapng", "write.pcap"] {
        let file = scratch(file);
        rdmalab(&["craft", text(&spec), "-o", text(&file)]).exits(0).says("11 packets written");
        let dump = rdmalab(&["dump", text(&file)]).exits(0);
        assert_eq!(dump.lines().len(), 11);
        assert!(dump.lines().iter().all(|line| line.ends_with("icrc ok")), "{}", dump.out);
        assert!(dump.out.contains("WRITE_FIRST psn=0"), "{}", dump.out);
        assert!(dump.out.contains("ACKNOWLEDGE psn=9"), "{}", dump.out);
    }
}

#[test]
fn a_wrong_icrc_is_asked_for_and_found() {
    let spec = spec("wrong.toml", "[[packet]]\nopcode = \"RC_SEND_ONLY\"\nicrc = \"wrong\"\n");
    let file = scratch("wrong.pcapng");
    rdmalab(&["craft", text(&spec), "-o", text(&file)]).exits(0);
    rdmalab(&["dump", text(&file)]).exits(1).says("WRONG in 1 (frame 1)");
}

#[test]
fn a_capture_goes_through_its_description_and_prints_the_same() {
    let (description, again) = (scratch("rping.toml"), scratch("rping_again.pcap"));
    let original = capture("rping.pcap");
    rdmalab(&["craft", "--from", text(&original), "-o", text(&description)])
        .exits(0)
        .says("29 packets: 29 as fields");
    rdmalab(&["craft", text(&description), "-o", text(&again)]).exits(0);
    // All but the number and the time, which has nanoseconds now.
    let printed = |path| {
        let dump = rdmalab(&["dump", text(path)]).exits(0);
        let lines =
            dump.out.lines().map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>()
    };
    assert_eq!(printed(&again), printed(&original));

    let printed = rdmalab(&["craft", "--from", text(&original)]).exits(0);
    assert_eq!(printed.out, fs::read_to_string(description).unwrap());
}

#[test]
fn what_is_wrong_with_a_description_names_entry_line_and_key() {
    let cases = [
        ("[[packet]]\nopcode = \"RC_SEND_ONLY\"\n\n[[packet]]\nopcode = \"RC_SENT\"\n", "packet 2 (line 4)"),
        ("[[packet]]\nopcode = \"RC_SEND_ONLY\"\nbht = {}\n", "unknown field `bht`"),
        ("[[packet]]\nopcode = 4\nbth = { psn = 0x1000000 }\n", "a number of 24 bits"),
        ("[[packet]]\nflow = \"x\"\nopcode = 4\n", "flow = \"x\" is not described"),
        (
            "[[conversation]]\noperation = \"read\"\nflow = \"u\"\n[flow.u]\nfrom = \"a\"\nto = \"b\"\ntransport = \"UC\"\n[host.a]\n[host.b]\n",
            "UC has no READ_REQUEST",
        ),
        ("[[packet]]\n", "it needs an opcode"),
        (
            "[[packet]]\npause = { time = 1 }\npayload = \"00\"\n",
            "packet 1 (line 1): payload has no effect on a pause",
        ),
        ("[[conversation]]\noperation = \"send\"\nport = 1\n", "port has no effect on the operation send"),
    ];
    for (index, (what, says)) in cases.into_iter().enumerate() {
        let path = spec(&format!("bad{index}.toml"), what);
        rdmalab(&["craft", text(&path), "-o", text(&scratch("bad.pcapng"))]).exits(2).says(says);
    }
}

#[test]
fn wrong_usage_exits_with_two_and_says_what_to_do() {
    let good = spec("good.toml", "[[packet]]\nopcode = 4\n");
    rdmalab(&["craft", text(&good)]).exits(2).says("--output");
    rdmalab(&["craft", text(&good), "-o", text(&scratch("x.txt"))]).exits(2).says(".pcapng or .pcap");
    rdmalab(&["craft", "/nowhere.toml", "-o", text(&scratch("x.pcap"))]).exits(2).says("cannot open");
    with_input(&["craft", "-", "-o", text(&scratch("x.pcap"))], &[0xff, 0xfe]).exits(2).says("--from");
    rdmalab(&["craft", "--from", text(&good)]).exits(2).says("neither pcap nor pcapng");
}

#[test]
fn a_packet_is_repeated_with_its_psn_going_on() {
    let spec = spec("many.toml", "[[packet]]\nopcode = \"RC_SEND_ONLY\"\nrepeat = 3000\n");
    let file = scratch("many.pcapng");
    rdmalab(&["craft", text(&spec), "-o", text(&file)]).exits(0).says("3000 packets");
    let dump = rdmalab(&["dump", text(&file)]).exits(0);
    assert!(dump.lines()[2999].contains("psn=2999 "), "{}", dump.lines()[2999]);
}

#[test]
fn a_file_is_never_written_over_itself() {
    let (file, link) = (scratch("itself.pcap"), scratch("itself_too.pcap"));
    fs::copy(capture("rping.pcap"), &file).unwrap();
    let _ = fs::remove_file(&link);
    fs::hard_link(&file, &link).unwrap();
    let before = fs::read(&file).unwrap();
    rdmalab(&["craft", "--from", text(&file), "-o", text(&file)]).exits(2).says("are the same file");
    rdmalab(&["craft", "--from", text(&link), "-o", text(&file)]).exits(2).says("are the same file");
    rdmalab(&["craft", text(&file), "-o", text(&link)]).exits(2).says("are the same file");
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn a_comment_too_long_for_a_capture_is_a_mistake_of_the_description() {
    let what = format!("\n[[packet]]\nopcode = 4\ncomment = \"{}\"\n", "x".repeat(70_000));
    let path = spec("comment.toml", &what);
    rdmalab(&["craft", text(&path), "-o", text(&scratch("comment.pcapng"))])
        .exits(2)
        .says("packet 1 (line 2)");
}
