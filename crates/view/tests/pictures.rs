//! One connection as a picture.

mod support;

use rdmalab_view::PictureError;
use support::{capture, drawn, some_of};

/// The picture of the connection that is drawn where none is asked for.
fn picture(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    drawn(bytes).unwrap().picture(&mut out, None).unwrap();
    String::from_utf8(out).unwrap()
}

/// A capture of the repository, of which every packet is kept.
fn whole(name: &str) -> Vec<u8> {
    std::fs::read(capture(name)).unwrap()
}

/// A number of an element.
fn number(element: &str, name: &str) -> usize {
    let (_, behind) = element.split_once(&format!(" {name}=\"")).unwrap();
    behind.split_once('"').unwrap().0.parse().unwrap()
}

/// Operations that completed: where their bands stand, begin and end.
fn bands(picture: &str) -> Vec<(usize, usize, usize)> {
    let rects = picture.lines().filter(|line| line.starts_with("<rect x=") && line.contains(" rx="));
    rects
        .map(|rect| (number(rect, "x"), number(rect, "y"), number(rect, "y") + number(rect, "height")))
        .collect()
}

#[test]
fn operations_under_way_at_once_stand_beside_each_other() {
    for (name, at_once) in [("rnr.pcap", 12), ("read_bw.pcap", 4)] {
        let picture = picture(&whole(name));
        let bands = bands(&picture);
        let mut widest = 0;
        for (place, (x, begun, ended)) in bands.iter().enumerate() {
            let meanwhile = bands.iter().filter(|(_, from, to)| from <= begun && begun < to);
            widest = widest.max(meanwhile.count());
            for (other, from, to) in &bands[..place] {
                assert!(x != other || ended <= from || to <= begun, "{name}: {x} from {begun} to {ended}");
            }
            // Between the times and the end that asked, or beside the other end.
            assert!((174..952).contains(x), "{name}: {x}");
        }
        assert_eq!(widest, at_once, "{name}");
    }
}

/// Of rnr.pcap, where frames 24 to 54 are SENDs: the first answer is frame 55.
#[test]
fn operations_for_which_there_is_no_room_are_counted() {
    let picture = picture(&whole("rnr.pcap"));
    let counted: Vec<&str> = picture
        .lines()
        .filter_map(|line| line.strip_prefix("<g><title>")?.split_once(" under way</title>"))
        .map(|(what, _)| what)
        .collect();
    let mut expected = vec!["1 more operation is".to_owned()];
    expected.extend((2..=19).map(|more| format!("{more} more operations are")));
    assert_eq!(counted[..19], expected, "12 have a lane");
    assert!(picture.contains(">so many more operations are under way than"), "the legend says so");
    assert!(!self::picture(&whole("read_bw.pcap")).contains("so many more"), "where there are some");
}

/// A notification is no packet of data and has their colour and line nowhere.
#[test]
fn congestion_notifications_look_like_nothing_else() {
    let lesson = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lessons/cnp-reaction.pcapng");
    let picture = picture(&std::fs::read(lesson).unwrap());
    let lines: Vec<&str> = picture.lines().collect();
    let mut notifications = 0;
    // A packet: its line, its head, its words.
    for packet in lines.windows(3).filter(|packet| packet[2].contains(">CNP psn=0 ")) {
        assert!(packet[0].starts_with("<path class=\"a cnp\" stroke=\"#162a3a\""), "{packet:?}");
        notifications += 1;
    }
    assert_eq!(notifications, 1, "it came before the first answer told which queue pairs belong together");
    // And the legend.
    assert_eq!(picture.matches("class=\"a cnp\"").count(), notifications + 1);
}

/// perftest's programs tell each other by TCP where their memory is, in more packets than there are of RDMA.
#[test]
fn what_carries_rdma_is_drawn_rather_than_a_program_s_tcp() {
    let picture = picture(&whole("write_bw.pcap"));
    assert!(picture.contains(">WRITE_FIRST ") && !picture.contains(">TCP "), "{picture}");
    let of_tcp = self::picture(&some_of("write_bw.pcap", |frame| frame < 15));
    assert!(of_tcp.contains(">TCP "), "where there is nothing else, TCP is drawn: {of_tcp}");
}

#[test]
fn broken_packets_and_congestion_marks_are_named() {
    let lesson = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lessons/cnp-reaction.pcapng");
    let picture = picture(&std::fs::read(lesson).unwrap());
    assert_eq!(picture.matches("ecn=ce (congestion mark)<").count(), 1, "{picture}");
    // The last FPDU has a wrong CRC.
    let picture = self::picture(&whole("siw/opcodes.pcap"));
    let packet = picture.split_once("(broken)").unwrap().0.lines().rev().nth(2).unwrap();
    assert!(packet.starts_with("<path class=\"a\" stroke=\"#a70430\""), "in the colour of trouble: {packet}");
}

/// The names of both ends are within the picture, and none lies on the head of the times.
#[test]
fn long_names_of_ends_are_whole() {
    let (bytes, _) = support::one_host::on_one_host("rping.pcap");
    let picture = picture(&bytes);
    let mut names = picture.lines().filter(|line| line.contains("class=\"s h\""));
    let (left, right) = (names.next().unwrap(), names.next().unwrap());
    assert!(left.contains("10.9.0.1 qp 0x400012"), "{left}");
    // At least as wide as they are written.
    let half = |name: &str| name.split_once('>').unwrap().1.split_once('<').unwrap().0.len() * 9 / 2;
    assert!(number(left, "x") - half(left) >= 174, "{left}");
    assert!(number(right, "x") + half(right) <= 952, "{right}");
}

#[test]
fn pictures_say_what_never_completed() {
    let mut out = Vec::new();
    drawn(&some_of("rping.pcap", |frame| frame < 7)).unwrap().picture(&mut out, None).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("PSN 3647352: never completed in the capture</title></path>"), "{text}");
    assert!(text.contains("an operation that nothing completed"), "{text}");
}

#[test]
fn pictures_are_of_one_connection_and_well_formed() {
    for name in ["rping.pcap", "rxe/wrong_answers.pcap", "siw_rping.pcap", "send_timeouts.pcap"] {
        let mut out = Vec::new();
        drawn(&std::fs::read(capture(name)).unwrap()).unwrap().picture(&mut out, None).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{name}");
        assert!(text.contains("marker") || text.matches("<path").count() > 10, "{name}");
        for element in ["text", "title", "style"] {
            let begun =
                text.matches(&format!("<{element}>")).count() + text.matches(&format!("<{element} ")).count();
            assert_eq!(begun, text.matches(&format!("</{element}>")).count(), "{name}: {element}");
        }
    }
}

#[test]
fn a_picture_that_would_be_too_long_or_of_nothing_says_so() {
    let read = |name: &str| drawn(&std::fs::read(capture(name)).unwrap()).unwrap();
    let error = read("read_bw_loss.pcap").picture(&mut Vec::new(), None).unwrap_err();
    assert!(matches!(error, PictureError::TooMany { packets } if packets > 2_000), "{error}");
    let error = read("rping.pcap").picture(&mut Vec::new(), Some(77)).unwrap_err();
    assert!(error.to_string().starts_with("there is no such flow; there are 1 "), "{error}");
}
