//! Frames to take apart, and the lines they give.

use rdmalab_trace::{Dissection, Entry, Json, Line, LinkType, Reader, Writer};

/// A capture of these frames, at one second each.
#[allow(dead_code)]
pub(crate) fn capture<'a>(link_type: LinkType, frames: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface_of("eth0", link_type).unwrap();
    for (time, frame) in frames.into_iter().enumerate() {
        writer.write(Entry::new(interface, time as u64 * 1_000_000_000, frame)).unwrap();
    }
    writer.finish().unwrap()
}

/// What is printed of one frame behind number and time, and its object.
pub(crate) fn printed(capture: &[u8]) -> (String, serde_json::Value) {
    let mut reader = Reader::new(capture).unwrap();
    let record = reader.next().unwrap().unwrap();
    let dissection = Dissection::of(&record);
    let line = format!("{:#}", Line::new(&record, &dissection, record.time));
    let mut object = Vec::new();
    Json::new(&record, &dissection, record.time).write(&mut object).unwrap();
    let object: serde_json::Value = serde_json::from_slice(&object).unwrap();
    assert_eq!(object["rdmalab.summary"], line);
    let line = line.strip_prefix("1 0.000000000 ").unwrap_or(&line);
    (line.to_string(), object)
}

/// What is printed of an Ethernet frame.
#[allow(dead_code)]
pub(crate) fn line(frame: &[u8]) -> String {
    printed(&capture(LinkType::ETHERNET, [frame])).0
}

/// Bytes of hexadecimal digits; spaces do not count.
#[allow(dead_code)]
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
