//! Packed captures: they give what the plain ones do, and say where they are damaged.

use std::fs;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use rdmalab_trace::{DumpError, DumpOptions, Packing, Unpacked, dump};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn rping() -> Vec<u8> {
    fs::read(format!("{}/../../pcaps/rping.pcap", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A capture of many packets: those of rping's again and again.
fn long(times: usize) -> Vec<u8> {
    let file = rping();
    let (header, packets) = file.split_at(24);
    let mut long = header.to_vec();
    (0..times).for_each(|_| long.extend_from_slice(packets));
    long
}

/// Reads a byte at a time, as a slow pipe does.
struct Dripping<R>(R);

impl<R: Read> Read for Dripping<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let one = out.len().min(1);
        self.0.read(&mut out[..one])
    }
}

fn printed(file: impl Read) -> (Vec<u8>, Result<u64, DumpError>) {
    let mut out = Vec::new();
    let result = dump(file, &mut out, DumpOptions::default());
    (out, result.map(|summary| summary.packets))
}

fn unpacked(file: &[u8]) -> (Vec<u8>, io::Result<usize>) {
    let mut out = Vec::new();
    let result = Unpacked::new(file).unwrap().read_to_end(&mut out);
    (out, result)
}

#[test]
fn a_packed_capture_prints_what_the_plain_one_does() {
    let (plain, _) = printed(&rping()[..]);
    for file in [gzip(&rping()), zstd(&rping())] {
        let (out, packets) = printed(&file[..]);
        assert_eq!(packets.unwrap(), 29);
        assert_eq!(out, plain);
        let (out, packets) = printed(Dripping(&file[..]));
        assert_eq!(packets.unwrap(), 29);
        assert_eq!(out, plain);
    }
}

#[test]
fn the_packing_is_told_by_the_first_bytes() {
    assert_eq!(Unpacked::new(&gzip(b"x")[..]).unwrap().packing(), Some(Packing::Gzip));
    assert_eq!(Unpacked::new(&zstd(b"x")[..]).unwrap().packing(), Some(Packing::Zstd));
    for plain in [&b""[..], b"\x1f", b"\x28\xb5\x2f", &rping()] {
        assert_eq!(Unpacked::new(plain).unwrap().packing(), None);
        assert_eq!(unpacked(plain).0, plain);
    }
}

#[test]
fn several_members_and_frames_are_one_stream() {
    let (front, behind) = (b"one and ".repeat(1000), b"two".repeat(70_000));
    let both = [&front[..], &behind].concat();
    let (out, result) = unpacked(&[gzip(&front), gzip(b""), gzip(&behind)].concat());
    result.unwrap();
    assert!(out == both);
    // A frame to be skipped, as pzstd writes: magic, length, so many bytes.
    let skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
    let (out, result) = unpacked(&[skipped.clone(), zstd(&front), skipped, zstd(&behind)].concat());
    result.unwrap();
    assert!(out == both);
}

#[test]
fn a_cut_packed_capture_gives_all_packets_before_and_then_the_offset() {
    let (plain, _) = printed(&long(100)[..]);
    for (name, file) in [("gzip", gzip(&long(100))), ("zstd", zstd(&long(100)))] {
        // At least what comes before the last blocks; each line is whole.
        let cut = &file[..file.len() - 1];
        let (out, result) = printed(cut);
        let error = result.unwrap_err().to_string();
        let place = format!(" of what {name} unpacks to: ");
        assert!(error.starts_with("after packet ") && error.contains(&place), "{error}");
        assert!(error.contains("the packed file is cut"), "{error}");
        assert!(plain.starts_with(&out) && out.ends_with(b"\n"));
        assert!(out.len() * 2 > plain.len(), "{name}: {} of {}", out.len(), plain.len());
    }
}

#[test]
fn every_length_and_every_flipped_byte_ends_orderly() {
    let plain = long(1);
    for file in [gzip(&plain), zstd(&plain)] {
        for length in 0..file.len() {
            let (out, _) = unpacked(&file[..length]);
            assert!(length < 4 || plain.starts_with(&out), "{length}");
        }
        for at in 4..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0x20;
            // Packing may hide damage in what it stands for; what comes of that is as damaged a capture.
            match printed(&damaged[..]).1 {
                Ok(_) | Err(DumpError::Read { .. }) => {}
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
    }
}

#[test]
fn a_wrong_checksum_is_told() {
    let plain = rping();
    let mut gzip = gzip(&plain);
    let at = gzip.len() - 8;
    gzip[at] ^= 1;
    let mut zstd = zstd(&plain);
    *zstd.last_mut().unwrap() ^= 1;
    for (file, says) in [(gzip, "unpacking gzip failed after"), (zstd, "the frame's checksum is wrong")] {
        let (_, result) = printed(&file[..]);
        let error = result.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_window_of_zstd_larger_than_the_limit_is_refused() {
    // Frame header: no checksum, a window of 2^(10 + 31) bytes.
    let (_, result) = unpacked(b"\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00");
    assert!(result.unwrap_err().to_string().starts_with("unpacking zstd failed after 0 bytes: "));
}

#[test]
fn little_that_unpacks_to_much_takes_no_memory() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0; 1 << 20];
    (0..64).for_each(|_| encoder.write_all(&zeros).unwrap());
    let file = encoder.finish().unwrap();
    let mut largest = 0;
    allocation_counter::measure(|| ()); // what counting itself takes
    let taken = allocation_counter::measure(|| {
        largest = io::copy(&mut Unpacked::new(&file[..]).unwrap(), &mut io::sink()).unwrap();
    });
    assert_eq!(largest, 64 << 20);
    assert!(taken.bytes_max < 1 << 20, "{taken:?}");
}
