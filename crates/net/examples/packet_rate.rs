//! What a frame costs over a veth pair, sent and received by packet sockets: one by one, and in runs.
//!
//! ```text
//! unshare --net sh -c 'ip link add left mtu 9000 type veth peer name right mtu 9000;
//!     ip link set left up; ip link set right up; sleep 1;
//!     target/release/examples/packet_rate left right'
//! ```
//!
//! Rounds of 32 RoCE-like datagrams, all kinds of rounds in turn; printed are medians of nanoseconds per frame.

use std::time::Instant;

use rdmalab_net::{NetError, PacketSocket};

const FRAMES: u16 = 32;
const ROUNDS: usize = 4000;
const SENDER: [u8; 6] = [2, 0, 0, 0, 0, 1];
const RECEIVER: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn main() -> Result<(), NetError> {
    let mut names = std::env::args().skip(1);
    let (Some(a), Some(b)) = (names.next(), names.next()) else {
        eprintln!("usage: packet_rate INTERFACE INTERFACE, the two ends of a veth pair with an MTU of 9000");
        return Ok(());
    };
    let mut sender = PacketSocket::open(&a, SENDER)?;
    let mut receiver = PacketSocket::open(&b, RECEIVER)?;
    println!("payload  frames   send ns  receive ns");
    for payload in [64, 1024, 4096] {
        let frames: Vec<_> = (0..FRAMES).map(|number| frame(number, payload)).collect();
        let mut times = [(); 2].map(|()| (Vec::new(), Vec::new()));
        for round in 0..ROUNDS {
            let kind = round % 2;
            sender.merge_datagrams(kind == 1);
            let start = Instant::now();
            for frame in &frames {
                sender.send(frame)?;
            }
            sender.flush()?;
            let sent = Instant::now();
            let mut arrived = 0;
            while arrived < FRAMES {
                match receiver.next_frame()? {
                    Some(frame) => arrived += u16::from(frame.len() == frames[0].len()),
                    None => assert!(sent.elapsed().as_secs() < 5, "{arrived} of {FRAMES} arrived"),
                }
            }
            times[kind].0.push(sent - start);
            times[kind].1.push(sent.elapsed());
        }
        for (name, (send, receive)) in ["single", "in runs"].into_iter().zip(times) {
            let median = |mut times: Vec<std::time::Duration>| {
                times.sort();
                times[times.len() / 2].as_nanos() / u128::from(FRAMES)
            };
            println!("{payload:7}  {name:8} {:7} {:11}", median(send), median(receive));
        }
    }
    Ok(())
}

/// Ethernet, IPv4, UDP without checksum, and so much payload.
fn frame(identification: u16, payload: u16) -> Vec<u8> {
    let mut frame = RECEIVER.to_vec();
    frame.extend(SENDER);
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend((28 + payload).to_be_bytes());
    frame.extend(identification.to_be_bytes());
    frame.extend([0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let mut sum: u32 =
        frame[14..].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    frame.extend([0xc0, 0, 0x12, 0xb7]);
    frame.extend((8 + payload).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(42 + usize::from(payload), 7);
    frame
}
