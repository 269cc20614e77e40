//! How fast two queue pairs are, back to back on one core: `cargo bench -p rdmalab-iwarp`.
//!
//! Every byte is read from memory, framed, taken apart and placed. A carrier's buffer lies between them: FPDUs are written
//! into it one behind the other, and the peer is given it whole.

#[path = "../tests/stream/side.rs"]
#[allow(dead_code)]
mod side;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use rdmalab_verbs::{Operation, SendFlags, SendRequest};
use side::{Setup, Side};

fn main() {
    divan::main();
}

/// Segments of Ethernet, of jumbo frames, and as the kernel's loopback has them.
const SEGMENTS: [usize; 3] = [1460, 8960, 65_483];
/// Bytes that a carrier takes at once.
const BUFFER: usize = 256 * 1024;

struct Pair {
    sides: [Side; 2],
    buffer: Vec<u8>,
}

impl Pair {
    fn new(crc: bool, segment_size: usize) -> Self {
        let setup =
            Setup { crc, segment_size, memory: 1 << 17, depth: 128, entries: 512, ..Setup::default() };
        Self { sides: [Side::new(&setup), Side::new(&setup.mirrored())], buffer: vec![0; BUFFER] }
    }

    /// One operation, signaled, to its completion on both sides.
    fn post(&mut self, operation: Operation, length: usize) {
        let elements = [self.sides[0].sge(0, length)];
        let flags = SendFlags::SIGNALED;
        self.sides[0]
            .post(&SendRequest { operation, elements: &elements, flags, ..SendRequest::default() })
            .expect("there is room");
    }

    fn run(&mut self) {
        while self.carry(0) | self.carry(1) {}
    }

    fn carry(&mut self, from: usize) -> bool {
        let mut filled = 0;
        let side = &mut self.sides[from];
        loop {
            let length = side.queue_pair.poll_transmit(&mut side.context, &mut self.buffer[filled..]);
            if length == 0 {
                break;
            }
            filled += length;
        }
        let other = &mut self.sides[1 - from];
        other.queue_pair.handle_bytes(&mut other.context, &self.buffer[..filled]);
        filled > 0
    }

    fn drain(&mut self) -> usize {
        let mut count = 0;
        for side in &mut self.sides {
            while side.context.poll_completion(side.completions).is_some() {
                count += 1;
            }
        }
        count
    }
}

const LENGTH: usize = 65_536;

#[divan::bench(args = SEGMENTS, consts = [false, true])]
fn write_64_kib<const CRC: bool>(bencher: Bencher, segment: usize) {
    let mut pair = Pair::new(CRC, segment);
    let remote = pair.sides[1].remote(0);
    bencher.counter(BytesCount::new(LENGTH)).bench_local(|| {
        pair.post(Operation::RdmaWrite(remote), LENGTH);
        pair.run();
        assert_eq!(pair.drain(), 1);
    });
}

#[divan::bench(args = SEGMENTS, consts = [false, true])]
fn read_64_kib<const CRC: bool>(bencher: Bencher, segment: usize) {
    let mut pair = Pair::new(CRC, segment);
    let remote = pair.sides[1].remote(0);
    bencher.counter(BytesCount::new(LENGTH)).bench_local(|| {
        pair.post(Operation::RdmaRead(remote), LENGTH);
        pair.run();
        assert_eq!(pair.drain(), 1);
    });
}

/// SENDs of 64 bytes, 32 at once.
#[divan::bench(consts = [false, true])]
fn send_64_bytes<const CRC: bool>(bencher: Bencher) {
    const BATCH: usize = 32;
    let mut pair = Pair::new(CRC, 1460);
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for at in 0..BATCH {
            pair.sides[1].receive(at as u64, 64 * at, 64);
        }
        for _ in 0..BATCH {
            pair.post(Operation::Send, 64);
        }
        pair.run();
        assert_eq!(pair.drain(), 2 * BATCH);
    });
}
