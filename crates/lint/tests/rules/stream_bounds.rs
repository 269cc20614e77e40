//! What a capture of byte streams may make the linter hold at most, and what it says then.

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::EthernetAddress;
use rdmalab_craft::wire::iwarp::Enhanced;
use rdmalab_craft::{Capture, Frame, Host, Stream, Way};
use rdmalab_lint::{Linter, MOST_CONNECTIONS, MOST_PENDING_REQUESTS, MOST_STREAMS, Reason, Report, RuleId};
use rdmalab_trace::Reader;

use super::stream::{Step, judge, read, say, send, send_invalidate, start_up, terminate, write};

/// Requests of one side that wait and are kept.
const MOST_PENDING: usize = 4096;

/// Several streams in one capture.
struct Streams {
    capture: Capture<Vec<u8>>,
    time: u64,
}

impl Streams {
    fn new() -> Streams {
        Streams { capture: Capture::pcap(Vec::new()), time: 0 }
    }

    /// The number-th stream opens, both sides say what they have to, and it stays open.
    fn open(&mut self, number: usize, steps: &[Step]) {
        let host =
            |n: u8| Host::new(EthernetAddress([2, 0, 0, 0, 0, n]), [10, n, (number >> 14) as u8, 1].into());
        let port = 0x4000 + (number & 0x3fff) as u16;
        let mut stream = Stream::new(&host(1), &host(2), [port, 7174], 1460).unwrap();
        let mut put = |_: Way, frame: &[u8]| {
            self.time += 1_000;
            self.capture.write(&Frame::new(self.time, LinkType::ETHERNET, frame))
        };
        stream.open(&mut put).unwrap();
        say(&mut stream, steps, &mut put);
    }

    fn judge(self) -> Report {
        let file = self.capture.finish().unwrap();
        let (mut reader, mut linter) = (Reader::new(&file[..]).unwrap(), Linter::new());
        while let Some(record) = reader.next().unwrap() {
            linter.packet(&record, &mut ());
            let (connections, streams) = linter.streams();
            assert!(connections <= MOST_CONNECTIONS && streams <= MOST_STREAMS, "{connections}, {streams}");
            assert!(linter.pending_kept() <= MOST_PENDING_REQUESTS, "{}", linter.pending_kept());
        }
        linter.finish(&mut ())
    }
}

/// No depth is agreed on, so that any number of READs may be under way.
fn unlimited() -> Vec<Step> {
    let any = Enhanced::NOT_NEGOTIATED;
    start_up(Enhanced { ird: any, ord: any, ..Enhanced::default() }, false).to_vec()
}

#[test]
fn connections_that_are_no_streams_make_room() {
    let mut streams = Streams::new();
    for number in 0..MOST_CONNECTIONS + 500 {
        streams.open(number, &[]);
    }
    let report = streams.judge();
    assert!(report.streams.is_empty() && report.findings.is_empty(), "{}", report.streams.len());
}

#[test]
fn streams_that_are_silent_make_room_and_are_counted() {
    let mut streams = Streams::new();
    let steps = [unlimited(), vec![send(Way::Forth, 1, 0, true, 8)]].concat();
    for number in 0..MOST_STREAMS + 100 {
        streams.open(number, &steps);
    }
    let report = streams.judge();
    assert_eq!(report.totals.streams_forgotten, 100);
    assert_eq!(report.streams.len(), 2 * MOST_STREAMS);
    assert!(report.findings.is_empty(), "{}", report.findings[0].what);
}

#[test]
fn requests_that_nobody_answers_are_given_up() {
    let reads = (1..=MOST_PENDING as u32 + 1).map(|msn| read(Way::Forth, msn, 0x1000, 8));
    let report = judge(&unlimited().into_iter().chain(reads).collect::<Vec<_>>());
    assert!(report.findings.is_empty(), "{report}");
    assert!(report.streams[0].reasons.has(Reason::TooMany), "{report}");
}

#[test]
fn requests_of_all_streams_together_make_room() {
    let reads = (1..=MOST_PENDING as u32).map(|msn| read(Way::Forth, msn, 0x1000, 8));
    let steps: Vec<Step> = unlimited().into_iter().chain(reads).collect();
    let mut streams = Streams::new();
    let enough = MOST_PENDING_REQUESTS / MOST_PENDING;
    for number in 0..enough + 2 {
        streams.open(number, &steps);
    }
    let report = streams.judge();
    assert_eq!(report.totals.streams_forgotten, 2);
    assert!(report.findings.is_empty(), "{}", report.findings[0].what);
}

/// A Terminate message about a segment that is no longer remembered is believed.
#[test]
fn segments_are_remembered_for_a_while() {
    for (more, is_remembered) in [(8, true), (40, false)] {
        let mut steps = unlimited();
        let mut refused = send(Way::Forth, 1, 0, true, 64);
        let mut answer = terminate(Way::Back, &mut refused);
        // It has another length than the segment had.
        let at = answer.bytes().len() - 18 - 1;
        answer.bytes()[at] ^= 1;
        steps.push(refused);
        steps.extend((2..2 + more).map(|msn| send(Way::Forth, msn, 0, true, 8)));
        steps.push(answer);
        let report = judge(&steps);
        assert_eq!(report.count_of(RuleId::TerminateHeader), u64::from(is_remembered), "{more}:\n{report}");
        let back = &report.streams[1];
        assert_eq!(back.reasons.has(Reason::TooMany), !is_remembered, "{more}:\n{report}");
    }
}

#[test]
fn invalidated_tags_are_remembered_for_a_while() {
    for (tags, is_remembered) in [(16, true), (17, false)] {
        let mut steps = unlimited();
        steps.extend((0..tags).map(|tag| send_invalidate(Way::Forth, 1 + tag, 0x300 + tag)));
        steps.push(write(Way::Forth, 0x300, 0, true, 16));
        let report = judge(&steps);
        assert_eq!(report.count_of(RuleId::StagInvalidated), u64::from(is_remembered), "{tags}:\n{report}");
    }
}

/// The numbers of messages go on with 0 behind the last one there is. So far a stream comes only that the capture joins late.
#[test]
fn the_numbers_of_messages_wrap() {
    let numbers = (u32::MAX - 15..=u32::MAX).chain(0..16);
    let mut steps: Vec<Step> = numbers.map(|msn| send(Way::Forth, msn, 0, true, 64)).collect();
    let report = joined_late(&steps);
    assert!(report.findings.is_empty(), "{report}");
    let sent: u64 = report.streams.iter().map(|stream| stream.stats.operations.count()).sum();
    assert!(sent >= 24, "{report}");
    steps.remove(16);
    assert_eq!(joined_late(&steps).count_of(RuleId::DdpMsn), 1);
}

/// Of a stream, what both say behind the start-up.
fn joined_late(steps: &[Step]) -> Report {
    let host = |n: u8| Host::new(EthernetAddress([2, 0, 0, 0, 0, n]), [10, 0, 0, n].into());
    let mut stream = Stream::new(&host(1), &host(2), [49_152, 7174], 1460).unwrap();
    let mut missed = |_: Way, _: &[u8]| Ok::<(), ()>(());
    stream.open(&mut missed).unwrap();
    say(&mut stream, &unlimited(), &mut missed);
    let mut streams = Streams::new();
    say(&mut stream, steps, &mut |_, frame| {
        streams.time += 1_000;
        streams.capture.write(&Frame::new(streams.time, LinkType::ETHERNET, frame))
    });
    streams.judge()
}
