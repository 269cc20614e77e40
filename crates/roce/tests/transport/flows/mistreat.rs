//! Plays a script once for each packet and each thing that can happen to it, in all kinds of connections.

use rdmalab_roce::Profile;
use rdmalab_wire::PathMtu;

use crate::pair::Fate;
use crate::pair::flow::Script;
use crate::pair::peer::{Service, Setup};

/// Longer than the local ACK timeout of 67 ms, so that a packet comes in the midst of what was sent since, or when all is
/// over.
const LONG: u64 = 100_000_000;
/// A few packets' time.
const SHORT: u64 = 3_000;

const FATES: [Fate; 8] = [
    Fate::Drop,
    Fate::Duplicate,
    Fate::Late,
    Fate::Corrupt,
    Fate::Held(SHORT),
    Fate::Held(LONG),
    Fate::Echo(SHORT),
    Fate::Echo(LONG),
];

/// Reliable services, each with credits and as Linux rxe does it.
const CONNECTIONS: [(Service, Profile); 4] = [
    (Service::Rc, Profile::SPEC),
    (Service::Rc, Profile::RXE),
    (Service::Xrc, Profile::SPEC),
    (Service::Xrc, Profile::RXE),
];

/// Those that know FLUSH and ATOMIC WRITE.
pub const RC: [(Service, Profile); 2] = [(Service::Rc, Profile::SPEC), (Service::Rc, Profile::RXE)];

/// How many READs and atomics may be outstanding.
pub const READS: [u8; 3] = [1, 2, 8];

/// Mistreats each packet of what `write` makes of a service and an MTU, with PSNs that wrap on the way.
pub fn each(reads: &[u8], write: impl Fn(Service, usize) -> Script) {
    each_over(&CONNECTIONS, reads, write);
}

/// As [`each`], over some connections only.
pub fn each_over(connections: &[(Service, Profile)], reads: &[u8], write: impl Fn(Service, usize) -> Script) {
    for &(service, profile) in connections {
        for mtu in [PathMtu::M256, PathMtu::M4096] {
            let script = write(service, mtu.bytes());
            let expected = script.expected();
            for &reads in reads {
                let setup = Setup { service, profile, mtu, reads, first_psn: 0xff_fffb, ..Setup::default() };
                let (clean, packets) = script.play(&setup, |_| Fate::Deliver);
                assert!(clean == expected, "on a clean link with {setup:?}: {clean:#?}");
                for fate in FATES {
                    for unlucky in 0..packets {
                        let judge = |number| if number == unlucky { fate } else { Fate::Deliver };
                        let (found, _) = script.play(&setup, judge);
                        assert!(
                            found == expected,
                            "{fate:?} of packet {unlucky} with {setup:?}: {:#?} {:#?}",
                            found.sent,
                            found.received
                        );
                    }
                }
            }
        }
    }
}
