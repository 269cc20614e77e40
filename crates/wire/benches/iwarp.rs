//! What framing costs: a stream taken apart, as a receiver does it; FPDUs put into a stream, as a sender
//! does; each with and without CRCs and markers. `cargo bench -p rdmalab-wire --bench iwarp`

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use rdmalab_wire::iwarp::{
    Body, Event, FpduEncoder, Framer, Framing, Header, Segment, SendKind, Stag, Tagged, crc32c,
};

fn main() {
    divan::main();
}

const PLAIN: Framing = Framing { markers: false, crc: false };
const CRC: Framing = Framing { markers: false, crc: true };
const MARKERS: Framing = Framing { markers: true, crc: false };
const BOTH: Framing = Framing { markers: true, crc: true };

/// Payload of an FPDU: small, of a segment of a usual path, of a jumbo frame, and of a segment that the
/// network card will cut.
const PAYLOADS: [usize; 4] = [16, 1424, 8900, 60_000];

/// Bytes of a stream that is taken apart at once; what a socket gives.
const STREAM: usize = 1 << 18;

fn ulpdu(payload: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..payload).map(|byte| byte as u8).collect();
    let body = Body::Write(Tagged { stag: Stag::new(0x1234), offset: 0 });
    let segment = Segment { body, payload: &payload, last: true };
    let mut bytes = vec![0; segment.encoded_length()];
    segment.encode(&mut bytes).unwrap();
    bytes
}

/// The stream, and how many FPDUs it has.
fn stream(framing: Framing, payload: usize) -> (Vec<u8>, usize) {
    let ulpdu = ulpdu(payload);
    let mut encoder = FpduEncoder::new(framing);
    let (mut stream, mut count) = (Vec::new(), 0);
    while stream.len() < STREAM {
        let at = stream.len();
        stream.resize(at + encoder.layout(ulpdu.len()).unwrap().length(), 0);
        encoder.encode(&[&ulpdu], &mut stream[at..]).unwrap();
        count += 1;
    }
    (stream, count)
}

/// Takes the stream apart in pieces of so many bytes.
fn take_apart(bencher: Bencher<'_, '_>, framing: Framing, payload: usize, piece: usize) {
    let (stream, count) = stream(framing, payload);
    bencher.counter(BytesCount::new(stream.len())).counter(ItemsCount::new(count)).bench(|| {
        let mut framer = Framer::new(framing);
        let (mut right, mut bytes, mut offsets) = (0, 0, 0);
        for mut piece in black_box(&stream).chunks(piece) {
            while let Some(event) = framer.next_event(&mut piece) {
                match event {
                    Event::Head(head) => {
                        let header = head.header().unwrap();
                        offsets += header.check().is_ok() as usize;
                    }
                    Event::Payload(payload) => bytes += payload.len(),
                    Event::Marker(marker) => right += marker.is_right() as usize,
                    Event::End(end) => right += end.crc.is_right() as usize,
                }
            }
        }
        (right, bytes, offsets)
    });
}

#[divan::bench(args = PAYLOADS)]
fn take_apart_plain(bencher: Bencher<'_, '_>, payload: usize) {
    take_apart(bencher, PLAIN, payload, STREAM);
}

#[divan::bench(args = PAYLOADS)]
fn take_apart_crc(bencher: Bencher<'_, '_>, payload: usize) {
    take_apart(bencher, CRC, payload, STREAM);
}

#[divan::bench(args = PAYLOADS)]
fn take_apart_crc_from_tcp_segments(bencher: Bencher<'_, '_>, payload: usize) {
    take_apart(bencher, CRC, payload, 1448);
}

#[divan::bench(args = PAYLOADS)]
fn take_apart_markers(bencher: Bencher<'_, '_>, payload: usize) {
    take_apart(bencher, MARKERS, payload, STREAM);
}

#[divan::bench(args = PAYLOADS)]
fn take_apart_crc_and_markers(bencher: Bencher<'_, '_>, payload: usize) {
    take_apart(bencher, BOTH, payload, STREAM);
}

/// Puts FPDUs into a stream, the copy of their payload counted.
fn put(bencher: Bencher<'_, '_>, framing: Framing, payload: usize) {
    let ulpdu = ulpdu(payload);
    let mut buffer = vec![0; payload + 1024];
    let mut encoder = FpduEncoder::new(framing);
    bencher
        .counter(BytesCount::new(payload))
        .bench_local(|| encoder.encode(&[black_box(&ulpdu)], black_box(&mut buffer)).unwrap());
}

#[divan::bench(args = PAYLOADS)]
fn put_plain(bencher: Bencher<'_, '_>, payload: usize) {
    put(bencher, PLAIN, payload);
}

#[divan::bench(args = PAYLOADS)]
fn put_crc(bencher: Bencher<'_, '_>, payload: usize) {
    put(bencher, CRC, payload);
}

#[divan::bench(args = PAYLOADS)]
fn put_crc_and_markers(bencher: Bencher<'_, '_>, payload: usize) {
    put(bencher, BOTH, payload);
}

#[divan::bench(args = [4, 36, 1446, 4096, 65_536])]
fn crc_alone(bencher: Bencher<'_, '_>, length: usize) {
    let bytes: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
    bencher.counter(BytesCount::new(length)).bench(|| crc32c(black_box(&bytes)));
}

#[divan::bench]
fn header_parsed_and_checked(bencher: Bencher<'_, '_>) {
    let bytes = ulpdu(16);
    bencher.bench(|| Header::parse(black_box(&bytes)).is_ok_and(|header| header.check().is_ok()));
}

#[divan::bench]
fn segment_parsed(bencher: Bencher<'_, '_>) {
    let bytes = ulpdu(16);
    bencher.bench(|| Segment::parse(black_box(&bytes)).map(|segment| segment.payload.len()));
}

#[divan::bench]
fn segment_header_encoded(bencher: Bencher<'_, '_>) {
    let body = Body::Send { kind: SendKind::Plain, msn: 7, offset: 0 };
    let segment = Segment { body, payload: &[], last: true };
    bencher.bench(|| black_box(&segment).header().encode());
}
