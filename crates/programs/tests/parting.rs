//! How clients and a host part that serves them, where words are lost, or were not meant so.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use rdmalab_device::{Device, DeviceConfig, HostAddress, SidrStatus};
use rdmalab_programs::serve::{Count, Program, Services};
use rdmalab_programs::{ClientOptions, ConnectError, rping, ucmatose, udaddy};
use rdmalab_sim::rule::{lose, only};
use rdmalab_sim::{Frame, Probability, RuleSet, Seed};

mod serving;

use serving::{LIMIT, serve_while, wait_until};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);

/// A server and a client, of whose frames these are lost.
fn devices(lost: Option<fn(&[u8]) -> bool>) -> (Device, Device) {
    let config = |number: u8| {
        let v6 = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, number.into());
        let addresses =
            vec![HostAddress::new([10, 0, 0, number].into(), 24), HostAddress::new(v6.into(), 64)];
        let rules = lost.filter(|_| number == 2).map(|lost| {
            let concerns = move |frame: &Frame<'_>| lost(frame.bytes);
            RuleSet::new(Seed::new(1)).with(only("last words", concerns, lose(Probability::ONE)))
        });
        DeviceConfig { rules, seed: number.into(), ..DeviceConfig::new(addresses) }
    };
    Device::pair(config(1), config(2)).unwrap()
}

fn services() -> Services {
    let at = |port| vec![SocketAddr::from(([0; 4], port)), SocketAddr::from(([0_u16; 8], port))];
    Services {
        rping: at(rping::DEFAULT_PORT),
        ucmatose: at(ucmatose::DEFAULT_PORT),
        udaddy: at(udaddy::DEFAULT_PORT),
        ..Services::none()
    }
}

/// Of a client of one ping: the acknowledgement of the server's last message, its fourth, and each DREQ.
fn is_last_word(frame: &[u8]) -> bool {
    const ACKNOWLEDGE: u8 = 0x11;
    const DATAGRAM: u8 = 0x64;
    const DREQ: [u8; 2] = [0, 0x15];
    match frame.get(42) {
        Some(&ACKNOWLEDGE) => frame.get(55..58) == Some(&[0, 0, 4]),
        Some(&DATAGRAM) => frame.get(78..80) == Some(&DREQ),
        _ => false,
    }
}

#[test]
fn an_rping_that_has_all_its_pings_and_whose_last_words_are_lost_has_not_failed() {
    let (server, client) = devices(Some(is_last_word));
    let (ledger, said) = serve_while(&server, &services(), |ledger, _| {
        let usual = rping::Options::new((SERVER, rping::DEFAULT_PORT).into());
        let game = rping::Options { count: Some(1), validate: true, ..usual };
        rping::connect(&client, &game, |_| ControlFlow::Continue(())).unwrap();
        wait_until(|| ledger.total(Program::Rping).now == 0);
    });
    assert!(client.rule_counts().dropped > 1, "nothing was lost");
    assert!(server.counters().retry_exceeded_err > 0, "the server has heard of the end");
    let Count { served, failed, messages, .. } = ledger.total(Program::Rping);
    assert_eq!((served, failed, messages, said), (1, 0, 1, vec![]));
}

#[test]
fn one_address_that_asks_for_all_places_is_told_why_it_gets_no_more_and_others_get_theirs() {
    let (server, client) = devices(None);
    let services = Services { most_clients: 8, ..services() };
    let ask = |server: SocketAddr, connections| {
        let game = ClientOptions { connections, messages: 1, ..ClientOptions::new(server, LIMIT) };
        udaddy::connect(&client, &game)
    };
    let (ledger, said) = serve_while(&server, &services, |_, _| {
        let refused = ask((SERVER, udaddy::DEFAULT_PORT).into(), 8).unwrap_err();
        assert!(matches!(refused, ConnectError::NoService { status: SidrStatus::NO_QP, .. }), "{refused:?}");
        assert!(refused.to_string().contains("no room for more clients"), "{refused}");
        ask((SERVER_V6, udaddy::DEFAULT_PORT).into(), 2).unwrap();
    });
    let Count { served, refused, .. } = ledger.total(Program::Udaddy);
    assert_eq!((served, refused), (6, 4), "{said:?}");
}

#[test]
fn a_client_of_ucmatose_that_was_told_of_fewer_messages_says_so_at_once() {
    let (server, client) = devices(None);
    for messages in [0, 3, 9] {
        serve_while(&server, &services(), |_, _| {
            let at = (SERVER, ucmatose::DEFAULT_PORT).into();
            let game = ClientOptions { messages, connections: 2, ..ClientOptions::new(at, LIMIT) };
            let begun = Instant::now();
            let outcome = ucmatose::connect(&client, &game);
            assert!(
                matches!(outcome, Err(ConnectError::TooMany { told }) if told == messages),
                "{messages}: {outcome:?}"
            );
            assert!(begun.elapsed() < Duration::from_secs(3), "{messages}: {:?}", begun.elapsed());
        });
    }
}

#[test]
fn a_server_and_a_client_of_ucmatose_that_were_told_of_no_messages_part_well() {
    let (server, client) = devices(None);
    let services = Services { messages: 0, ..services() };
    serve_while(&server, &services, |_, _| {
        let at = (SERVER, ucmatose::DEFAULT_PORT).into();
        let game = ClientOptions { messages: 0, connections: 2, ..ClientOptions::new(at, LIMIT) };
        assert_eq!(ucmatose::connect(&client, &game).unwrap().connections, 2);
    });
}

/// Where both sides wait for the other's first word, the server finds out.
#[test]
fn a_client_that_has_called_another_programs_port_is_told_soon() {
    let (server, client) = devices(None);
    let (ledger, said) = serve_while(&server, &services(), |_, _| {
        let at = (SERVER, rping::DEFAULT_PORT).into();
        let begun = Instant::now();
        let outcome = ucmatose::connect(&client, &ClientOptions::new(at, LIMIT)).unwrap_err().to_string();
        assert!(outcome.contains("is that the port of this program"), "{outcome}");
        assert!(begun.elapsed() < LIMIT / 2, "{:?}", begun.elapsed());
    });
    assert_eq!(ledger.total(Program::Rping).failed, 1);
    assert!(said[0].contains("speaks first"), "{said:?}");
}
