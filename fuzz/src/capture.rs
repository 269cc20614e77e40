//! Arbitrary bytes as a capture file: read, printed in all three ways, written and read again.

use rdmalab_trace::{Dissection, DumpError, DumpOptions, Entry, InterfaceId, Reader, Summary, Writer, dump};

/// Reads the bytes as a capture to its end, or to its damage.
pub fn run(bytes: &[u8]) {
    let lines = print(bytes, DumpOptions::default());
    let json = print(bytes, DumpOptions { json: true, flush_each: true, ..DumpOptions::default() });
    assert_eq!(lines, json, "both count alike");
    let tree = print(bytes, DumpOptions { tree: true, ..DumpOptions::default() });
    assert_eq!(lines, tree, "all three count alike");
    if let Some(packets) = read(bytes) {
        assert_eq!(packets, lines.packets);
    }
    write_again(bytes);
}

/// Prints the capture; each packet is a line.
fn print(bytes: &[u8], options: DumpOptions) -> Summary {
    let mut out = Vec::new();
    let summary = match dump(bytes, &mut out, options) {
        Ok(summary) => summary,
        Err(DumpError::Read { error, summary, packing }) => {
            assert!(!error.to_string().is_empty());
            assert!(
                packing.is_some() || error.offset <= bytes.len() as u64,
                "{error} of {} bytes",
                bytes.len()
            );
            assert_eq!(error.packets_before, summary.packets, "{error}");
            *summary
        }
        Err(DumpError::Write(error)) => panic!("a vector takes everything: {error}"),
        Err(DumpError::Filter(error)) => panic!("there is no filter: {error}"),
    };
    assert!(!summary.to_string().is_empty());
    let text = String::from_utf8(out).unwrap_or_else(|error| panic!("{error}"));
    if !options.tree {
        assert_eq!(text.lines().count() as u64, summary.packets, "{text}");
    }
    summary
}

/// Reads without printing; a packet takes at least eight bytes of a file.
fn read(bytes: &[u8]) -> Option<u64> {
    let mut reader = Reader::new(bytes).ok()?;
    let mut packets = 0;
    while let Ok(Some(record)) = reader.next() {
        packets += 1;
        assert_eq!(record.frame, packets);
        let end = record.offset + record.data.len() as u64;
        assert!(end <= bytes.len() as u64, "packet {packets} ends at {end} of {}", bytes.len());
        let _ = Dissection::of(&record);
    }
    assert!(packets <= bytes.len() as u64 / 8);
    assert!(matches!(reader.next(), Ok(None)), "nothing follows the end or an error");
    Some(packets)
}

/// What is written from a capture reads as the same packets.
fn write_again(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    let mut writer = Writer::new(Vec::new()).unwrap_or_else(|error| panic!("{error}"));
    let mut interface: Option<(u16, InterfaceId)> = None;
    let mut packets: Vec<(u64, Vec<u8>, u32)> = Vec::new();
    while let Ok(Some(record)) = reader.next() {
        let link_type = record.link_type;
        let id = match interface {
            Some((known, id)) if known == link_type.0 => id,
            _ => {
                let made = writer.interface_of("fuzz", link_type);
                let id = made.unwrap_or_else(|error| panic!("{error}"));
                interface = Some((link_type.0, id));
                id
            }
        };
        let time = record.time.and_then(|time| u64::try_from(time).ok()).unwrap_or_default();
        let original = record.original_length.max(record.data.len() as u32);
        let entry = Entry::new(id, time, record.data).original_length(original);
        writer.write(entry).unwrap_or_else(|error| panic!("{error}"));
        packets.push((time, record.data.to_vec(), original));
    }
    let written = writer.finish().unwrap_or_else(|error| panic!("{error}"));
    let mut again = Reader::new(&written[..]).unwrap_or_else(|error| panic!("{error}"));
    for (time, data, original) in packets {
        let record = match again.next() {
            Ok(Some(record)) => record,
            Ok(None) => panic!("a packet is missing"),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(record.time, Some(i128::from(time)));
        assert_eq!(record.data, data);
        assert_eq!(record.original_length, original);
    }
    assert!(matches!(again.next(), Ok(None)), "one packet more than was written");
}
