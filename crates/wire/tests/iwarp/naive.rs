//! FPDUs as simple as can be: a stream is a list of words of four bytes, whole in memory, the CRC from
//! another crate. Made from RFC 5044 alone and sharing nothing with the crate's framer and encoder, so that
//! they can be compared.

use crc::{CRC_32_ISCSI, Crc};
use rdmalab_wire::iwarp::{CrcVerdict, Event, Framer, Framing};

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// What a stream holds, however it was cut into pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    Marker {
        position: u64,
        pointer: u16,
        right: bool,
    },
    Fpdu {
        position: u64,
        length: usize,
        ulpdu: Vec<u8>,
        pad: Vec<u8>,
        crc: CrcVerdict,
    },
    /// The stream ends within an FPDU, so much of whose ULPDU is there.
    Cut {
        position: u64,
        ulpdu: Vec<u8>,
    },
}

/// A stream of FPDUs.
pub(crate) fn stream(ulpdus: &[Vec<u8>], framing: Framing) -> Vec<u8> {
    let mut stream = Vec::new();
    for ulpdu in ulpdus {
        let mut content = (ulpdu.len() as u16).to_be_bytes().to_vec();
        content.extend_from_slice(ulpdu);
        content.resize(content.len().next_multiple_of(4), 0);
        let from = stream.len();
        let mut start = None;
        let mut words = content.chunks(4);
        loop {
            if framing.markers && stream.len() % 512 == 0 {
                let pointer = start.map_or(0, |start| stream.len() - start) as u16;
                stream.extend_from_slice(&[0, 0]);
                stream.extend_from_slice(&pointer.to_be_bytes());
            }
            let Some(word) = words.next() else { break };
            start.get_or_insert(stream.len());
            stream.extend_from_slice(word);
        }
        let crc = if framing.crc { CRC.checksum(&stream[from..]) } else { 0 };
        stream.extend_from_slice(&crc.to_le_bytes());
    }
    stream
}

/// What is in a stream, taken apart word by word.
pub(crate) fn take_apart(stream: &[u8], framing: Framing) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < stream.len() {
        let from = at;
        let (mut content, mut start, mut need) = (Vec::new(), None, usize::MAX);
        let mut cut = false;
        loop {
            if framing.markers && at.is_multiple_of(512) {
                let Some(marker) = stream.get(at..at + 4) else {
                    cut = true;
                    break;
                };
                let pointer = u16::from_be_bytes([marker[2], marker[3]]);
                let expected = start.map_or(0, |start| at - start) as u16;
                let right = pointer / 4 * 4 == expected;
                found.push(Found::Marker { position: at as u64, pointer, right });
                at += 4;
            }
            if content.len() >= need || at >= stream.len() {
                break;
            }
            start.get_or_insert(at);
            let end = stream.len().min(at + 4);
            content.extend_from_slice(&stream[at..end]);
            at = end;
            if let [a, b, ..] = content[..] {
                need = (2 + usize::from(u16::from_be_bytes([a, b]))).next_multiple_of(4);
            }
        }
        let Some(start) = start else { break };
        let position = start as u64;
        let length = content.get(..2).map(|bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])));
        let end = length.map_or(content.len(), |length| content.len().min(2 + length));
        let ulpdu = content.get(2..end).unwrap_or_default().to_vec();
        if cut || content.len() < need || stream.len() < at + 4 {
            found.push(Found::Cut { position, ulpdu });
            break;
        }
        let field = u32::from_le_bytes(stream[at..at + 4].try_into().unwrap());
        let crc = match (framing.crc, field) {
            (true, _) if CRC.checksum(&stream[from..at]) == field => CrcVerdict::Right,
            (_, 0) => CrcVerdict::Absent,
            (true, _) => CrcVerdict::Wrong,
            (false, _) => CrcVerdict::Unchecked,
        };
        at += 4;
        let pad = content[end..].to_vec();
        found.push(Found::Fpdu { position, length: at - start, ulpdu, pad, crc });
    }
    found
}

/// The same by the crate's framer, from pieces.
pub(crate) fn take_apart_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    framing: Framing,
) -> Vec<Found> {
    let mut framer = Framer::new(framing);
    let (mut found, mut taken) = (Vec::new(), 0);
    let mut ulpdu = Vec::new();
    let mut open = None;
    let mut early = None;
    for mut piece in pieces {
        let length = piece.len() as u64;
        while let Some(event) = framer.next_event(&mut piece) {
            match event {
                Event::Marker(marker) => {
                    let (position, pointer, right) = (marker.position, marker.pointer, marker.is_right());
                    assert_eq!(marker.expected % 4, 0);
                    found.push(Found::Marker { position, pointer, right });
                }
                Event::Head(head) => {
                    ulpdu = head.header_bytes().to_vec();
                    open = Some(head);
                    early = head.crc;
                }
                Event::Payload(bytes) => {
                    assert!(!bytes.is_empty());
                    ulpdu.extend_from_slice(bytes);
                }
                Event::End(end) => {
                    let head = open.take().expect("a head before the end");
                    assert_eq!(head.position, end.position);
                    assert_eq!(usize::from(head.ulpdu_length), ulpdu.len());
                    assert_eq!(ulpdu.len() - head.header_bytes().len(), head.payload_length());
                    if let Some(early) = early.take() {
                        assert_eq!(early, end.crc, "the early verdict is the verdict");
                    }
                    found.push(Found::Fpdu {
                        position: end.position,
                        length: end.length,
                        ulpdu: std::mem::take(&mut ulpdu),
                        pad: end.pad().to_vec(),
                        crc: end.crc.verdict(),
                    });
                }
            }
        }
        assert!(piece.is_empty(), "a piece is used up");
        taken += length;
        assert_eq!(framer.position(), taken);
    }
    if let Some(head) = open {
        found.push(Found::Cut { position: head.position, ulpdu });
    }
    found
}
