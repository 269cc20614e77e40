//! Captures with losses, read by hand: what was sent again and why, and which answers say so. `lint` counts the same.

use rdmalab_lint::Cause;

use super::judged;

/// `siw_write_loss`, read by hand: ten WRITEs of 60000 bytes in the connection between ports 42531 and 18515. Of its segments with
/// data, eleven are sent again, as their IP identifications show (frames 70 82 89 102 152 166 175 215 252 254 273): each behind an
/// acknowledgement with a selective block, which names what is missing. 175 and 273 repeat what is in the capture, the others what was
/// lost in front of it. Twenty have an older identification than what stands in front of them, and are late: 44 to 48, 62, 86, 138
/// to 140, 159, 164, 170, 171, 185, 186, 194, 243, 270 and 283. In the other connection only the timer repeats.
#[test]
fn reading_of_siw_write_loss() {
    let report = judged("siw_write_loss");
    let stream = report.streams.iter().find(|stream| stream.source.1 == 42531).unwrap();
    let stats = &stream.stats;
    assert_eq!(stats.resent, [11, 0], "{report}");
    assert_eq!((stats.lost_ahead, stats.late, stats.duplicates), (9, 20, 0), "{report}");
    assert_eq!((stats.operations.count(), stats.operations.bytes()), (10, 600_000), "{report}");
    assert_eq!(stats.missing_bytes, 0, "{report}");
    let other = report.streams.iter().find(|stream| stream.source.1 == 45422).unwrap();
    assert_eq!(other.stats.resent, [0, 1], "{report}");
}

fn count(counts: &[u64; 5], cause: Cause) -> u64 {
    counts[cause as usize]
}

/// `write_drop_after`, read by hand: 14 NAKs (frames 43 104 188 350 365 630 890 921 1054 1138 1297 1435 1540 1560), each for a
/// packet that is in the capture: lost behind. The requester goes back 14 times, twelve times to the PSN of the NAK
/// before (124 191 352 493 632 924 1056 1187 1326 1437 1541 1561). In frame 44 it goes back to the first packet of all, 429806,
/// though the NAK says 429812, and in frame 761 to 429910 for the second time without a new NAK: its oldest unacknowledged
/// packets, so the timer. The NAKs in frames 43 and 890 are never acted on: what they miss came with the repetition.
#[test]
fn reading_of_write_drop_after() {
    let report = judged("write_drop_after");
    let [flow] = &report.flows[..] else { panic!("{report}") };
    let stats = &flow.stats;
    assert_eq!((stats.naks, stats.lost_behind, stats.lost_ahead), (14, 14, 0), "{report}");
    assert_eq!(count(&stats.returns, Cause::Nak), 12, "{report}");
    assert_eq!(count(&stats.returns, Cause::Timeout), 2, "{report}");
    assert_eq!(stats.returns.iter().sum::<u64>(), 14, "{report}");
    assert_eq!((stats.operations.count(), stats.operations.bytes()), (15, 300_000), "{report}");
    assert_eq!(flow.path_mtu, Some(1024));
    // Of the first NAK: frame 29 brings what is behind the missing packet, frame 43 the NAK.
    let generation = stats.nak_generation.summary().unwrap();
    assert_eq!(generation.count, 14);
    // Frames 365 and 493: 10.447 ms; frames 1138 and 1187: 12.328 ms, the longest.
    assert_eq!(stats.nak_reaction.summary().unwrap().maximum, 12_328_000, "{report}");
}

/// `rnr`, read by hand: 91 RNR NAKs, each behind two SENDs that found a receive. Behind 90 of them a NAK for the same PSN, as
/// more was under way (the last RNR NAK is for the last SEND but one of what is left). The requester goes back 91 times, always to
/// the PSN that was refused, never in less than 0.64 ms. Nothing is lost.
#[test]
fn reading_of_rnr() {
    let report = judged("rnr");
    let [flow] = &report.flows[..] else { panic!("{report}") };
    let stats = &flow.stats;
    assert_eq!((stats.rnr_naks, stats.naks), (91, 90), "{report}");
    assert_eq!(count(&stats.returns, Cause::Rnr), 91, "{report}");
    assert_eq!(stats.returns.iter().sum::<u64>(), 91, "{report}");
    assert_eq!((stats.lost_behind, stats.lost_ahead), (0, 0), "{report}");
    assert_eq!((stats.operations.count(), stats.operations.bytes()), (200, 12_800), "{report}");
}

/// `write_bw_loss`: the lost packets never came to the capture. 27 NAKs, all acted on; in frame 171 the timer sends again from
/// 574957, and in frame 1056 from 575092, as frame 933, which answers the NAK for it, begins with 575093 and so did not help.
#[test]
fn reading_of_write_bw_loss() {
    let report = judged("write_bw_loss");
    let [flow] = &report.flows[..] else { panic!("{report}") };
    let stats = &flow.stats;
    assert_eq!((stats.naks, stats.lost_behind), (27, 0), "{report}");
    assert_eq!(count(&stats.returns, Cause::Nak), 27, "{report}");
    assert_eq!(count(&stats.returns, Cause::Timeout), 2, "{report}");
    assert_eq!(count(&stats.returns, Cause::Unknown), 0, "{report}");
    assert_eq!((stats.operations.count(), stats.operations.bytes()), (20, 400_000), "{report}");
}

/// `send_timeouts`: one message under way, so nothing but the timer can notice a loss. Of the eight requests that it sends again, those
/// in frames 48, 51 and 131 have no answer but that to the repetition: lost, or their answer was. Frames 101, 109 and 119 are answered
/// in the next one, and come again 5 to 8 ms later: the answer was lost behind the place of capture. Frames 22 and 105 have two
/// answers like their repetitions, both of which come behind those: too late.
#[test]
fn reading_of_send_timeouts() {
    let report = judged("send_timeouts");
    let stats = &report.flows[0].stats;
    assert_eq!(count(&stats.returns, Cause::Timeout), 8, "{report}");
    assert_eq!(stats.returns.iter().sum::<u64>(), 8, "{report}");
    assert_eq!(stats.timeouts_answered, 5, "{report}");
    assert_eq!((stats.naks, stats.operations.count()), (0, 60), "{report}");
}

/// `read_bw_loss`: of 20 READs, responses were lost in front of the capture, and some requests. What comes behind a missing
/// response is not taken; each return is for the first missing one.
#[test]
fn reading_of_read_bw_loss() {
    let report = judged("read_bw_loss");
    let stats = &report.flows[0].stats;
    assert_eq!(count(&stats.returns, Cause::ImpliedNak), 21, "{report}");
    assert_eq!((stats.implied_naks, stats.responses_uncaptured), (21, 0), "{report}");
    assert_eq!(count(&stats.returns, Cause::Unknown), 0, "{report}");
    assert_eq!(
        (stats.naks, stats.operations.count(), stats.operations.bytes()),
        (1, 20, 400_000),
        "{report}"
    );
}
