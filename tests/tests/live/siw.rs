//! Linux' iWARP, siw, in the place of rxe: calls that are refused and requests that go wrong, from either side. Our TCP is that of
//! an emulated host, or the kernel's. The programs of the field are the matrix'.

use std::path::Path;
use std::time::Duration;

use rdmalab_tests::{Adapter, Network, Place, Verdict, Way};

const LIMIT: Duration = Duration::from_secs(60);
/// Where the guest takes orders, and siw listens.
const ORDERS: u16 = 18700;
const RDMA: u16 = 18800;

/// Each of the two ways to have TCP, with CRCs and the habits of the RFCs over one of them, without and with siw's over the other.
const CARRIERS: [(&str, bool); 2] = [("an emulated host", true), ("sockets", false)];

/// What our programs are told over each carrier.
fn our_link(carrier: &str) -> String {
    let ours = Place::OURS;
    if carrier == "sockets" {
        format!("--ip {ours}")
    } else {
        format!("--tap {} --ip {ours}/24", Network::TAP)
    }
}

/// Calls that are refused, and requests with wrong keys, bounds, rights and receives, from either side.
pub fn somebody_goes_wrong(place: &mut Place) {
    place.guest.switch_to(Adapter::Siw);
    for (carrier, crc) in CARRIERS {
        go_wrong(place, carrier, crc);
    }
}

fn go_wrong(place: &Place, carrier: &str, crc: bool) {
    let Place { network, guest, .. } = place;
    // Orders come by the kernel's TCP in any case.
    let bridge = if carrier == "sockets" { Place::OURS } else { Place::OTHER };
    set_address(network, &bridge.to_string(), "add");
    guest.put("siw_peer.py", include_str!("../../peers/siw_peer.py"));
    let address = Place::GUEST;
    let peer =
        format!("/usr/bin/python3 /mnt/siw_peer.py --listen {ORDERS} --address {address} --port {RDMA}");
    let peer = guest.spawn(&peer, Duration::from_secs(200));
    guest.wait_for_listener(ORDERS, LIMIT);
    let capture = network.capture(guest.tap(), "somebody-goes-wrong");
    let own = if carrier == "sockets" { "--ip 10.9.0.2/24".to_owned() } else { our_link(carrier) };
    let line = format!(
        "{own} --orders {address}:{ORDERS} --peer {address}:{RDMA}{}",
        if crc { " --crc" } else { " --as-siw" }
    );
    let program = Path::new(env!("CARGO_BIN_EXE_siw-end"));
    let said = network
        .start("siw-end", program, &line.split(' ').collect::<Vec<_>>())
        .end_within(Duration::from_secs(180));
    println!("over {carrier}\n{}", said.stdout);
    assert!(said.success(), "over {carrier}: {said}\nsiw: {}\n{}", peer.output_so_far(), guest.state());
    let _ = peer.stop();
    let verdict = Verdict::of(network, &capture.finish());
    verdict.sound_iwarp(crc, Way::Clean).unwrap_or_else(|fault| panic!("over {carrier}: {fault}"));
    set_address(network, &bridge.to_string(), "del");
}

/// An address for this side's kernel, at the bridge.
#[track_caller]
fn set_address(network: &Network, address: &str, how: &str) {
    let words = ["address", how, &format!("{address}/24"), "dev", "bridge"];
    network.start("address", "ip", &words).wait(LIMIT).expect_success("ip address");
}
