//! What tests of drawing share: the captures of the repository, and captures made here.

#![allow(dead_code, reason = "not every test needs all of it")]

pub mod one_host;

use std::path::{Path, PathBuf};

use rdmalab_trace::{Entry, LinkType, Reader, Writer};
use rdmalab_view::{Capture, Options, ViewError, read};

/// All committed captures.
pub fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps");
    let mut found: Vec<PathBuf> = ["", "rxe", "siw"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcap"))
        .collect();
    found.sort();
    assert!(found.len() >= 50, "{found:?}");
    found
}

/// A capture of the repository by its name.
pub fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name)
}

/// Reads bytes for a page.
pub fn drawn(bytes: &[u8]) -> Result<Capture, ViewError> {
    read(bytes, Options { keeps_frames: true, ..Options::default() })
}

/// The page of a capture.
pub fn page(bytes: &[u8], name: &str) -> Vec<u8> {
    let mut page = Vec::new();
    drawn(bytes).unwrap().page(&mut page, name, None).unwrap();
    page
}

/// What a hostile capture says wherever it can say something.
pub const HOSTILE: &str =
    "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\u{202e}";

/// A capture whose texts are markup and script: comments and the interface's name.
pub fn hostile() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface(HOSTILE).unwrap();
    let file = std::fs::read(capture("rping.pcap")).unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    while let Some(record) = reader.next().unwrap() {
        assert_eq!(record.link_type, LinkType::ETHERNET);
        let time = u64::try_from(record.time.unwrap()).unwrap();
        writer.write(Entry::new(interface, time, record.data).comment(HOSTILE)).unwrap();
    }
    writer.finish().unwrap()
}

/// The packets of a capture, with their times.
pub fn records(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = Reader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push((u64::try_from(record.time.unwrap()).unwrap(), record.data.to_vec()));
    }
    packets
}

/// A capture of packets with their times.
pub fn recorded<'p>(packets: impl IntoIterator<Item = &'p (u64, Vec<u8>)>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("some").unwrap();
    for (time, data) in packets {
        writer.write(Entry::new(interface, *time, data)).unwrap();
    }
    writer.finish().unwrap()
}

/// The packets of a capture of the repository that are chosen by their numbers.
pub fn some_of(name: &str, is_kept: impl Fn(u64) -> bool) -> Vec<u8> {
    let packets = records(&std::fs::read(capture(name)).unwrap());
    recorded((1..).zip(&packets).filter(|(frame, _)| is_kept(*frame)).map(|(_, packet)| packet))
}

/// The packets of two captures, one behind the other.
pub fn joined(files: [&[u8]; 2]) -> Vec<u8> {
    recorded(&files.map(records).concat())
}

/// Many packets: those of `write_drop_after.pcap` again and again, each time a second later.
pub fn long(packets: u64) -> Vec<u8> {
    let file = std::fs::read(capture("write_drop_after.pcap")).unwrap();
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("long").unwrap();
    let mut written = 0;
    for round in 0.. {
        let mut reader = Reader::new(&file[..]).unwrap();
        while let Some(record) = reader.next().unwrap() {
            if written == packets {
                return writer.finish().unwrap();
            }
            let time = u64::try_from(record.time.unwrap()).unwrap() + round * 2_000_000_000;
            writer.write(Entry::new(interface, time, record.data)).unwrap();
            written += 1;
        }
    }
    unreachable!("rounds do not end by themselves")
}
