//! What stacks leave to hardware, between a kernel and us.

use std::net::{TcpStream, UdpSocket};

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{Linger, UdpGsoSegment};
use rdmalab_namespace::run;
use rdmalab_net::{FRAME_CAPACITY, Interest, PacketLosses, Poller, Tap};

use crate::frames::{
    KERNEL, OURS, checksum_is_right, datagram, identification, is_tcp, is_udp, payload, tcp_reply,
    tcp_segment,
};
use crate::link::{Pair, SOON, next_frame};

pub fn datagrams_of_the_kernel_arrive_with_their_checksums() {
    for (mtu, length) in [(1500, 33), (1500, 1472), (9000, 8000)] {
        let pair = Pair::new(mtu);
        let mut socket = pair.open();
        let sender = UdpSocket::bind("10.8.0.1:0").unwrap();
        sender.send_to(&payload(length), "10.8.0.2:4791").unwrap();
        let frame = next_frame(&mut socket, is_udp);
        assert_eq!((&frame[..6], &frame[6..12]), (&OURS[..], &KERNEL[..]));
        assert_eq!(&frame[42..], payload(length));
        assert_ne!(frame[40..42], [0, 0], "a checksum is there");
        assert!(checksum_is_right(&frame), "and it is right");
    }
}

pub fn a_superframe_of_datagrams_arrives_as_the_datagrams_that_were_sent() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let sender = UdpSocket::bind("10.8.0.1:0").unwrap();
    setsockopt(&sender, UdpGsoSegment, &1000).unwrap();
    let sent = payload(40_300);
    sender.send_to(&sent, "10.8.0.2:4791").unwrap();
    let mut arrived = Vec::new();
    let mut first = None;
    for number in 0..41 {
        let frame = next_frame(&mut socket, is_udp);
        assert_eq!(frame.len(), if number < 40 { 1042 } else { 342 });
        assert!(checksum_is_right(&frame), "frame {number}");
        let first = *first.get_or_insert(identification(&frame));
        assert_eq!(identification(&frame), first.wrapping_add(number));
        arrived.extend_from_slice(&frame[42..]);
    }
    assert_eq!(arrived, sent);
    assert_eq!(socket.losses(), PacketLosses::default());
}

pub fn a_stream_of_the_kernel_arrives_in_segments_of_the_mtu() {
    for mtu in [1500, 9000] {
        let pair = Pair::new(mtu);
        let mut socket = pair.open();
        let sent = payload(200_000);
        let stream = {
            let sent = sent.clone();
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect("10.8.0.2:4791").unwrap();
                std::io::Write::write_all(&mut stream, &sent).unwrap();
                stream
            })
        };
        // Not the last words of another connection.
        let request = next_frame(&mut socket, |frame| is_tcp(frame) && frame[47] == 0x02);
        let is_of_stream = |frame: &[u8]| is_tcp(frame) && frame[34..38] == request[34..38];
        assert!(checksum_is_right(&request), "that of the first segment");
        assert!(socket.send(&tcp_reply(&request, true)).unwrap() && socket.flush().unwrap());
        let mut arrived = Vec::new();
        let mut largest = 0;
        while arrived.len() < sent.len() {
            let frame = next_frame(&mut socket, is_of_stream);
            assert!(frame.len() <= 14 + usize::from(mtu), "{} bytes", frame.len());
            assert!(checksum_is_right(&frame));
            let (sequence, data) = tcp_segment(&frame);
            // Nothing is lost here, so everything comes in order.
            assert_eq!(sequence.wrapping_sub(tcp_segment(&request).0 + 1) as usize, arrived.len());
            arrived.extend_from_slice(data);
            largest = largest.max(frame.len());
            assert!(socket.send(&tcp_reply(&frame, false)).unwrap() && socket.flush().unwrap());
        }
        assert!(arrived == sent, "the stream is what was written");
        assert!(largest > usize::from(mtu) - 100, "full segments came");
        // It ends at once, without last words that it would repeat.
        let abruptly = libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&stream.join().unwrap(), Linger, &abruptly).unwrap();
    }
}

pub fn runs_of_datagrams_reach_the_kernels_sockets() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let receiver = UdpSocket::bind("10.8.0.1:4791").unwrap();
    receiver.set_read_timeout(SOON).unwrap();
    for merges in [true, false] {
        socket.merge_datagrams(merges);
        for number in 0..20_u16 {
            assert!(socket.send(&datagram(number, &[number as u8; 700])).unwrap());
        }
        assert!(socket.flush().unwrap());
        let mut buffer = [0; 2000];
        for number in 0..20 {
            assert_eq!(receiver.recv(&mut buffer).unwrap(), 700);
            assert_eq!(buffer[..700], [number; 700]);
        }
    }
    assert_eq!(socket.losses(), PacketLosses::default());
}

/// A TAP device takes no superframe: the kernel cuts them.
pub fn runs_leave_as_the_same_datagrams_where_no_superframe_can_go() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let mut tap = Tap::open("cable").unwrap();
    tap.bring_up().unwrap();
    run("ip link add bridge type bridge");
    run("ip link set bridge up");
    for port in ["kernel", "cable"] {
        run(&format!("ip link set {port} master bridge"));
        // Without a spanning tree a port forwards as soon as the bridge has heard that its link is up.
        let forwards = |_: &u32| run(&format!("ip -d link show {port}")).contains("state forwarding");
        (0..10_000).find(forwards).expect("the port does not forward");
    }
    let mut frames: Vec<_> = (0..9).map(|n| datagram(65_000 + n, &[n as u8; 1000])).collect();
    // To somebody behind the other port.
    frames.iter_mut().for_each(|frame| frame[5] = 7);
    for frame in &frames {
        assert!(socket.send(frame).unwrap());
    }
    assert!(socket.flush().unwrap());
    let mut poller = Poller::new().unwrap();
    let mut buffer = vec![0; FRAME_CAPACITY];
    let mut arrived = Vec::new();
    while arrived.len() < frames.len() {
        while let Some(length) = tap.receive(&mut buffer).unwrap() {
            if is_udp(&buffer[..length]) && buffer[36..38] == [0x12, 0xb7] {
                assert!(checksum_is_right(&buffer[..length]));
                buffer[40..42].fill(0);
                arrived.push(buffer[..length].to_vec());
            }
        }
        assert!(poller.wait(&tap, Interest::Read, SOON).unwrap().readable, "{} arrived", arrived.len());
    }
    assert!(arrived == frames, "they differ in more than UDP's checksum");
    run("ip link delete bridge");
}
