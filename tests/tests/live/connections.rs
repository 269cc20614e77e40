//! One host of ours serves all clients of a real Linux RoCE stack that connect by rdma_cm, over IPv4 and IPv6: rping, which
//! compares all data, ucmatose, udaddy and cmtime.

use std::time::{Duration, Instant};

use rdmalab_tests::{Network, Output, Place, Verdict};

const LIMIT: Duration = Duration::from_secs(60);

/// Clients in the guest, each with its end at our `serve`, all of them one behind the other, while an rping goes on that in the end is killed.
pub fn linux_calls(place: &mut Place) {
    place.give_v6();
    let (network, guest) = (&place.network, &place.guest);
    let capture = network.capture(guest.tap(), "linux-calls");
    let line = format!("serve {} --every 3600", our_link());
    let arguments: Vec<&str> = line.split(' ').collect();
    let mut ours = network.start("serve", place.program(), &arguments);
    ours.wait_for_line("listening", LIMIT);
    let ours_v4 = Place::OURS;
    let beside = guest.spawn(&format!("rping -c -a {ours_v4} -V -S 300"), LIMIT);
    let mut calls = Vec::new();
    for (address, sizes) in [(ours_v4.to_string(), [23, 65535]), (Place::OURS_V6.to_string(), [100, 5001])] {
        for (count, size) in [(50, sizes[0]), (10, sizes[1])] {
            calls.push(format!("rping -c -a {address} -C {count} -V -S {size}"));
        }
        calls.push(format!("ucmatose -s {address}"));
        calls.push(format!("ucmatose -s {address} -c 64"));
        calls.push(format!("udaddy -s {address}"));
        calls.push(format!("udaddy -s {address} -c 3 -C 30 -S 1001"));
    }
    calls.push(format!("cmtime -s {ours_v4} -c 100"));
    for call in &calls {
        let started = Instant::now();
        let said = guest.run(call, LIMIT);
        assert!(said.success(), "{call}\nLinux: {said}\nours: {}", ours.output_so_far());
        println!("{call}: {:.1} s", started.elapsed().as_secs_f64());
    }
    let said = beside.output_so_far();
    assert!(said.status.is_none(), "an rping without end has ended: {said}");
    let _ = beside.stop();
    std::thread::sleep(Duration::from_millis(500));
    let said = ours.stop(Duration::from_secs(10));
    println!("{said}");
    assert!(said.success(), "{said}");
    // The table at the end. Whoever is killed may leave a READ that finds no memory any more.
    for (program, family, served, killed) in [
        ("rping", ".", 3, 1),
        ("rping", ":", 2, 0),
        ("ucmatose", ".", 165, 0),
        ("ucmatose", ":", 65, 0),
        ("udaddy", ".", 4, 0),
        ("udaddy", ":", 4, 0),
    ] {
        let row = last_row(&said, program, family);
        assert_eq!((row.served, row.refused), (served, 0), "{program} {family}: {said}");
        assert!(row.failed <= killed, "{program} {family}: {said}");
    }
    assert_eq!(last_row(&said, "ucmatose", ":").messages, 650, "{said}");
    assert_eq!(last_row(&said, "udaddy", ".").messages, 100, "{said}");
    Verdict::of(network, &capture.finish()).expect_sound();
}

fn our_link() -> String {
    format!("--tap {} --ip {}/24 --ip {}/64", Network::TAP, Place::OURS, Place::OURS_V6)
}

/// What the table says of a program and an address family.
struct Last {
    served: u64,
    refused: u64,
    failed: u64,
    messages: u64,
}

#[track_caller]
fn last_row(said: &Output, program: &str, family: &str) -> Last {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut rows = said.stdout.lines().rev().map(words);
    let row = rows.find(|row| {
        row.first().is_some_and(|first| first == program)
            && row.get(1).is_some_and(|peer| peer.contains(family))
    });
    let row = row.unwrap_or_else(|| panic!("no row of {program}: {said}"));
    let number = |place: usize| row.get(place).and_then(|word| word.parse().ok()).unwrap_or_default();
    Last { served: number(3), refused: number(4), failed: number(5), messages: number(6) }
}
