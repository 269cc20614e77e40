//! Captures drawn for the terminal, and pages as far as no browser is needed to judge them.

mod support;

use rdmalab_view::PictureError;
use support::one_host::on_one_host;
use support::{HOSTILE, capture, captures, drawn, hostile, joined, page, recorded, records, some_of};

/// The ladder without colours.
fn ladder(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    drawn(bytes).unwrap().ladder(&mut out, Some(140)).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = behind.split_once('m').map_or("", |(_, behind)| behind);
    }
    plain + rest
}

#[test]
fn every_packet_of_every_capture_has_a_line_of_the_ladder() {
    for path in captures() {
        let bytes = std::fs::read(&path).unwrap();
        let packets = drawn(&bytes).unwrap().packets();
        let text = ladder(&bytes);
        let numbered = text.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        let mut numbers: Vec<u64> = numbered.collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=packets).collect::<Vec<_>>(), "{}", path.display());
    }
}

#[test]
fn the_ladder_shows_what_is_lost_and_what_comes_again() {
    let text = ladder(&std::fs::read(capture("write_drop_after.pcap")).unwrap());
    assert!(text.lines().any(|line| line.contains("✗ lost")), "{text}");
    assert!(text.lines().any(|line| line.contains("(again: timeout)")), "{text}");
    let text = ladder(&std::fs::read(capture("rnr.pcap")).unwrap());
    assert_eq!(text.matches(" rnr=12 ").count(), 91, "as many RNR NAKs as a careful reading finds");
    assert!(text.lines().any(|line| line.contains("(again: RNR)")), "{text}");
}

/// Who only receives says by ARP where it is; that is no third end.
#[test]
fn who_is_only_sent_to_stands_with_its_ethernet_address() {
    let all = records(&std::fs::read(capture("uc_pingpong.pcap")).unwrap());
    let is_request = |data: &[u8]| data[12..14] == [8, 0] && data[23] == 17 && data[29] == 2;
    let mut packets: Vec<(u64, Vec<u8>)> = all.into_iter().filter(|(_, data)| is_request(data)).collect();
    assert!(packets.len() > 5);
    let (time, first) = packets[0].clone();
    let (to, from) = (&first[..6], &first[6..12]);
    // A reply to whoever sends: the sender's addresses, and those that it answers.
    let arp = [from, to, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2], to, &first[30..34], from, &first[26..30]].concat();
    packets.insert(0, (time - 1, arp));
    let text = ladder(&recorded(&packets));
    assert_eq!(text.matches("seconds").count(), 1, "{text}");
    assert!(text.contains("10.9.0.1") && text.contains("ARP"), "{text}");
}

/// A router stands in front of many, and the Ethernet address of a loopback interface is nobody's.
#[test]
fn a_stranger_behind_the_ethernet_address_of_who_talks_rdma_has_a_line_of_his_own() {
    for is_loopback in [false, true] {
        let mut packets = records(&std::fs::read(capture("uc_pingpong.pcap")).unwrap());
        let (time, last) = packets.last().unwrap().clone();
        let ip = [0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 77, 10, 9, 0, 99];
        let udp = [0x12, 0x34, 0, 53, 0, 8, 0, 0];
        packets.push((time + 1, [&last[..12], &[8, 0], &ip, &udp].concat()));
        if is_loopback {
            packets.iter_mut().for_each(|(_, frame)| frame[..12].fill(0));
        }
        let text = ladder(&recorded(&packets));
        let is_head = |line: &&str| line.trim_start().starts_with("frame ") && line.contains("10.9.0.77");
        assert_eq!(text.lines().filter(is_head).count(), 1, "{text}");
    }
}

/// The requester goes back in frame 124; here frame 131 stands in front of 130. Until the next packet it seems to go back once more.
#[test]
fn a_repetition_that_came_late_has_the_cause_of_the_others() {
    let mut packets = records(&std::fs::read(capture("write_drop_after.pcap")).unwrap());
    packets.swap(129, 130);
    (packets[129].0, packets[130].0) = (packets[130].0, packets[129].0);
    let text = ladder(&recorded(&packets));
    for frame in 124..140 {
        let line =
            text.lines().find(|line| line.split_whitespace().next() == Some(&frame.to_string())).unwrap();
        assert!(line.contains("(again: NAK)") || line.contains("ACKNOWLEDGE"), "{line}");
    }
}

#[test]
fn operations_stand_beside_the_end_that_asked_for_them() {
    let text = ladder(&std::fs::read(capture("rping.pcap")).unwrap());
    let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
    // 10.9.0.2 sends, 10.9.0.1 reads what it was told of.
    assert!(line("4 ").contains("┌   │── SEND_ONLY"), "{text}");
    assert!(line("5 ").contains("└   │◄"), "{text}");
    assert!(line("6 ").contains("READ_REQUEST") && line("6 ").trim_end().ends_with("│ ┌"), "{text}");
}

#[test]
fn operations_for_which_there_is_no_room_beside_the_lines_are_counted() {
    let text = ladder(&std::fs::read(capture("rping.pcap")).unwrap());
    assert!(!text.contains("more was under way") && !text.contains("more were under way"), "{text}");
    // Of siw, several begin in one segment.
    for (name, has_more) in [("rnr.pcap", true), ("siw_write_loss.pcap", false)] {
        let file = std::fs::read(capture(name)).unwrap();
        let text = ladder(&file);
        let begun = text.chars().filter(|c| matches!(c, '┌' | '╶')).count();
        let all = drawn(&file).unwrap();
        let report = all.report();
        let of_flows = report.flows.iter().map(|flow| flow.stats.operations.count());
        let of_streams = report.streams.iter().map(|stream| stream.stats.operations.count());
        let operations: u64 = of_flows.chain(of_streams).sum();
        let last = text.lines().last().unwrap();
        let more = operations - begun as u64;
        let told = format!("… {more} operations more were under way");
        assert_eq!((more > 0, last.starts_with(&told)), (has_more, has_more), "{name}: {more}, {last}");
    }
}

/// The clean runs of real programs complete everything.
#[test]
fn operations_of_whole_captures_complete() {
    for path in captures().iter().filter(|path| path.parent().unwrap().ends_with("pcaps")) {
        let text = ladder(&std::fs::read(path).unwrap());
        assert!(!text.contains('┊'), "{}: {text}", path.display());
    }
}

/// Each packet of the conversations of two hosts, moved to one host, goes the way that it went between the two.
#[test]
fn ends_with_one_address_are_told_apart_by_their_conversation() {
    let of_two_hosts = captures()
        .into_iter()
        .filter(|path| path.parent().unwrap().ends_with("pcaps") && !path.ends_with("hardware.pcap"));
    for path in of_two_hosts {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (bytes, ways) = on_one_host(name);
        let text = ladder(&bytes);
        // Of RDMA and of TCP beside it, who stands on the left is known each by itself.
        let mut forth_is_right = [None; 2];
        let mut judged = 0;
        for line in text.lines() {
            let Some(frame) = line.split_whitespace().next().and_then(|frame| frame.parse::<usize>().ok())
            else {
                continue;
            };
            let Some(goes_forth) = ways[frame - 1].filter(|_| !line.contains("ICMP")) else { continue };
            let goes_right = !line.contains('◄') && !line.contains("lost ✗");
            let known =
                forth_is_right[usize::from(line.contains("TCP"))].get_or_insert(goes_forth == goes_right);
            assert_eq!(goes_forth == goes_right, *known, "{name}: {line}");
            judged += 1;
        }
        assert!(judged >= 6, "{name}: {text}");
        let both = std::fs::read(&path).unwrap();
        for what in ["lost", "again", "never completed"] {
            assert_eq!(text.matches(what).count(), ladder(&both).matches(what).count(), "{name}: {what}");
        }
    }
}

#[test]
fn ends_with_one_address_are_named_by_what_tells_them_apart() {
    let head = |bytes: &[u8]| {
        ladder(bytes).lines().next().unwrap().split_whitespace().skip(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(head(&some_of("hardware.pcap", |frame| frame == 2)), "192.168.0.7 192.168.0.7 qp 0xd3");
    assert_eq!(head(&on_one_host("rping.pcap").0), "10.9.0.1 qp 0x400012 10.9.0.1 qp 0x12");
    assert_eq!(head(&on_one_host("siw_rping.pcap").0), "10.9.0.1 port 59750 10.9.0.1 port 7174");
    let mut out = Vec::new();
    drawn(&on_one_host("rping.pcap").0).unwrap().picture(&mut out, None).unwrap();
    let picture = String::from_utf8(out).unwrap();
    for name in [">10.9.0.1 qp 0x400012<", ">10.9.0.1 qp 0x12<"] {
        assert!(picture.contains(name), "{picture}");
    }
}

/// A host that talks RDMA with another one, and something with itself, keeps its plain name.
#[test]
fn who_talks_with_others_too_has_a_line_beside_for_what_it_tells_itself() {
    let (itself, _) = on_one_host("ud_pingpong.pcap");
    let text = ladder(&joined([&std::fs::read(capture("write_bw_cm.pcap")).unwrap(), &itself]));
    let heads: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.trim_start().starts_with("frame "))
        .map(|line| line.split_whitespace().skip(2).collect())
        .collect();
    assert_eq!(heads[0], ["10.9.0.2", "10.9.0.1"]);
    assert_eq!(heads[1], ["10.9.0.1", "10.9.0.1", "qp", "0x14"], "{heads:?}");
}

#[test]
fn operations_that_never_complete_are_open_to_the_last_sign_of_them() {
    // The READ of rping, request 6 and answer 7, and the SEND 4, acknowledged by 5.
    let text = ladder(&some_of("rping.pcap", |frame| frame < 7));
    assert_eq!(text.matches("never completed in the capture").count(), 1, "{text}");
    assert!(text.contains("┊ READ of 200 bytes, PSN "), "{text}");
    let text = ladder(&some_of("rping.pcap", |frame| frame < 5));
    assert!(text.contains("┊ SEND of 16 bytes, PSN "), "{text}");
    // A message of five packets over an unreliable connection, whose last one is missing.
    let first = |name: &str, what: &str| {
        let text = ladder(&std::fs::read(capture(name)).unwrap());
        let line = text.lines().find(|line| line.contains(what)).unwrap().trim_start().to_owned();
        line.split_once(' ').unwrap().0.parse::<u64>().unwrap()
    };
    let last = first("uc_pingpong.pcap", "SEND_LAST");
    let text = ladder(&some_of("uc_pingpong.pcap", |frame| frame < last));
    assert!(text.contains("┊ SEND of 4096 bytes, PSN "), "{text}");
    assert!(text.lines().any(|line| line.contains("┊   │── UC SEND_MIDDLE")), "{text}");
    // Over iWARP: the answer to a READ.
    let answer = first("siw_rping.pcap", "READ_RESPONSE");
    let text = ladder(&some_of("siw_rping.pcap", |frame| frame < answer));
    assert!(text.contains("┊ READ of 200 bytes: never completed in the capture"), "{text}");
}

/// Answers that the capture does not have prove nothing.
#[test]
fn of_one_direction_alone_nobody_knows_what_completed() {
    let both = std::fs::read(capture("write_bw_loss.pcap")).unwrap();
    let answers: Vec<u64> = ladder(&both)
        .lines()
        .filter(|line| line.contains("◄"))
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect();
    let text = ladder(&some_of("write_bw_loss.pcap", |frame| !answers.contains(&frame)));
    assert!(!text.contains("never completed"), "{text}");
    assert!(text.contains('┊'), "{text}");
}

#[test]
fn findings_stand_below_the_packet_at_which_they_were_noticed() {
    let text = ladder(&std::fs::read(capture("rxe/wrong_answers.pcap")).unwrap());
    assert!(text.lines().any(|line| line.contains("▲ violation: ")), "{text}");
}

#[test]
fn what_a_capture_says_is_markup_nowhere() {
    let bytes = hostile();
    let page = String::from_utf8(page(&bytes, HOSTILE)).unwrap();
    assert!(!page.contains("taken"), "nothing of it stands in the page but packed");
    assert_eq!(page.matches("<script>").count(), 1);
    let mut out = Vec::new();
    drawn(&bytes).unwrap().picture(&mut out, None).unwrap();
    let picture = String::from_utf8(out).unwrap();
    assert!(!picture.contains("<script") && !picture.contains("<img"));
    assert!(!ladder(&bytes).contains('\u{1b}'));
}

/// The page's script sets text and makes elements by name: nothing in it takes markup.
#[test]
fn the_script_of_the_page_takes_no_markup_and_loads_nothing() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let mut scripts = 0;
    let files =
        ["", "capture", "ladder", "details"].map(|part| std::fs::read_dir(folder.join(part)).unwrap());
    for entry in files.into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "js") {
            continue;
        }
        scripts += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "fetch(",
            "import(",
            "http:",
            "https:",
            "</script",
        ] {
            assert!(!text.contains(forbidden), "{}: {forbidden}", path.display());
        }
    }
    assert_eq!(scripts, 24);
}

/// A page is at most three times as large as its capture, its own script and styles aside.
#[test]
fn pages_are_not_much_larger_than_captures() {
    let own = page(&std::fs::read(capture("rxe/receive_too_small.pcap")).unwrap(), "own").len();
    assert!(own < 150_000, "the page itself has {own} bytes");
    for path in captures() {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() < 50_000 {
            continue;
        }
        let size = page(&bytes, "page").len();
        assert!(size < own + 2 * bytes.len(), "{}: {size} of {}", path.display(), bytes.len());
    }
}

#[test]
fn captures_of_the_fuzz_corpus_are_drawn_or_refused() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/capture");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        files += 1;
        for end in [bytes.len(), bytes.len() * 2 / 3, bytes.len() / 3] {
            let drawn = match drawn(&bytes[..end]) {
                Ok(capture) => capture,
                Err(rdmalab_view::ViewError::Read { capture, .. }) => *capture,
                Err(error) => panic!("{error}"),
            };
            drawn.ladder(&mut Vec::new(), None).unwrap();
            drawn.page(&mut Vec::new(), "fuzz", Some("cut")).unwrap();
            match drawn.picture(&mut Vec::new(), None) {
                Ok(()) | Err(PictureError::NoFlow { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(files >= 30, "only {files} files");
}
