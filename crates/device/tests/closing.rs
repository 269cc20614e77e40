//! How live devices end: what was said still arrives, and nobody waits longer than it takes.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rdmalab_device::{Device, DeviceConfig, HostAddress};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(30));

fn pair() -> (Device, Device) {
    let [a, b] = ["10.0.0.1/24", "10.0.0.2/24"].map(|address| {
        let address: HostAddress = address.parse().unwrap();
        DeviceConfig::new(vec![address])
    });
    Device::pair(a, b).unwrap()
}

#[test]
fn two_devices_whose_streams_end_together_close_without_waiting_for_each_other() {
    let mut slowest = Duration::ZERO;
    for round in 0..18 {
        let (a, b) = pair();
        let listener = b.listen(7000).unwrap();
        let mut there = a.connect(SocketAddr::new("10.0.0.2".parse().unwrap(), 7000), PATIENCE).unwrap();
        let mut back = listener.accept(PATIENCE).unwrap().unwrap();
        there.write_all(b"ping").unwrap();
        back.read_exact(&mut [0; 4]).unwrap();
        back.write_all(b"pong").unwrap();
        there.read_exact(&mut [0; 4]).unwrap();
        let end = |device: Device, stream| {
            drop(stream);
            let start = Instant::now();
            device.close().unwrap();
            start.elapsed()
        };
        std::thread::scope(|scope| {
            let one = scope.spawn(|| end(a, there));
            // Both at once, or one somewhat later than the other.
            std::thread::sleep(Duration::from_micros(500 * round));
            let other = end(b, back);
            slowest = slowest.max(one.join().unwrap()).max(other);
        });
    }
    assert!(slowest < Duration::from_millis(400), "{slowest:?}");
}

#[test]
fn a_device_whose_peer_is_gone_or_stays_closes_at_once() {
    for peer_goes_first in [true, false] {
        let (a, b) = pair();
        let listener = b.listen(7000).unwrap();
        let there = a.connect(SocketAddr::new("10.0.0.2".parse().unwrap(), 7000), PATIENCE).unwrap();
        let back = listener.accept(PATIENCE).unwrap().unwrap();
        let mut b = Some(b);
        if peer_goes_first {
            drop(b.take());
        }
        drop(there);
        let start = Instant::now();
        a.close().unwrap();
        assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
        drop((back, b));
    }
}
