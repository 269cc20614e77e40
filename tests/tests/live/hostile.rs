//! A host that serves, while somebody on its network throws at it the fuzzers' corpora and packets that are made out to its queue
//! pairs with right ICRCs, PSNs and keys. Whoever is not spoken for by the forger sees nothing of it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use rdmalab_tests::{Network, Output, Place, Process};

const LIMIT: Duration = Duration::from_secs(60);
/// Where the forger and those are for whom it speaks, each with a TAP of its own.
const FORGER: (&str, Ipv4Addr) = ("rd-forger", Ipv4Addr::new(10, 9, 0, 66));
const FORGED: [(&str, Ipv4Addr); 2] =
    [("rd-forged0", Ipv4Addr::new(10, 9, 0, 67)), ("rd-forged1", Ipv4Addr::new(10, 9, 0, 68))];
/// How much memory the host may have more afterwards, in KiB: some for its peers, none for each frame.
const GROWTH: u64 = 32 << 10;

/// Two honest clients, of which one is Linux, work meanwhile.
pub fn everything_is_thrown_at_a_host(place: &mut Place) {
    let Place { network, guest, .. } = &*place;
    let program = place.program();
    let start = |name: &str, line: &str| network.start(name, program, &line.split(' ').collect::<Vec<_>>());
    for (tap, _) in FORGED.into_iter().chain([FORGER]) {
        network.add_tap(tap);
    }
    let target = Place::OURS;
    let mut serve = start("serve", &format!("serve --tap {} --ip {target}/24 --every 1", Network::TAP));
    serve.wait_for_line("listening", LIMIT);
    let honest = format!("--tap {} --ip {}/24 -a {target} -V", Network::SECOND_TAP, Place::OTHER);
    let mut ours = start("honest", &format!("rping -c -S 5000 {honest}"));
    let linux = guest.spawn(&format!("rping -c -a {target} -V -v -S 3000"), LIMIT);
    let [(tap, address), (other_tap, other_address)] = FORGED;
    let mut forged = [
        start("forged", &format!("perf write -p 18516 -s 64 -D 600 --tap {tap} --ip {address}/24 {target}")),
        // So slow that the forger knows where it is.
        start(
            "forged",
            &format!("rping -c -a {target} --tap {other_tap} --ip {other_address}/24 --delay 700"),
        ),
    ];
    // Only those who are connected can be overheard, and a busy guest takes its time.
    for client in [Place::GUEST, Place::OTHER, address, other_address] {
        serve.wait_for_line(&format!(" {client} "), LIMIT);
    }
    std::thread::sleep(Duration::from_secs(3));
    for client in &mut forged {
        assert!(client.is_running(), "{}", client.output_so_far());
    }
    let before = resident(&serve);
    let (tap, own) = FORGER;
    let line = format!(
        "--tap {tap} --overhear {} --target {target} --own {own} --forge {address} --forge {other_address}",
        Network::TAP
    );
    let forger = Path::new(env!("CARGO_BIN_EXE_hostile-end"));
    let forger = network.start("forger", forger, &line.split(' ').collect::<Vec<_>>()).end_within(LIMIT);
    assert!(forger.success(), "{forger}");
    let after = resident(&serve);
    println!("{} serve: {before} KiB before, {after} KiB after", forger.stdout.replace('\n', ", "));
    assert!(after < before + GROWTH, "serve has {after} KiB of memory, and had {before}");
    let (thrown, overheard) = (forger.number_after("thrown:"), forger.number_after("overheard:"));
    assert!(thrown > Some(10_000) && overheard >= Some(4), "{forger}");

    // The honest ones have gone on, and go when they are asked to.
    assert!(linux.output_so_far().status.is_none(), "Linux: {}", linux.output_so_far());
    let pings = linux.output_so_far().stdout.lines().count();
    assert!(ours.is_running(), "{}", ours.output_so_far());
    std::thread::sleep(Duration::from_secs(1));
    assert!(linux.output_so_far().stdout.lines().count() > pings, "Linux: {}", linux.output_so_far());
    let _ = linux.stop();
    ours.signal("INT");
    let said = ours.wait(LIMIT);
    assert!(said.success(), "the honest client: {said}");
    // And new ones are let in.
    start("new", &format!("rping -c -C 20 -S 300 {honest}")).wait(LIMIT).expect_success("a new client");
    let ends = std::time::Instant::now();
    for client in forged {
        // Theirs is another matter, but it has an end.
        println!("spoken for: {:?}", client.stop(Duration::from_secs(20)).status);
    }
    println!("after {:.1} s", ends.elapsed().as_secs_f64());
    serve.signal("INT");
    let said = serve.wait(Duration::from_secs(40));
    assert!(said.success() && !said.stderr.contains("panicked"), "serve: {said}");
    println!("after {:.1} s", ends.elapsed().as_secs_f64());
    // The forger is no harmless one: a connection of those for whom it speaks has not lived through it.
    let refused = said.stdout.contains("send_fatal_nak=");
    let failed = said.stdout.lines().any(|line| line.starts_with(&format!("rping {other_address}:")));
    assert!(refused || failed, "the forger has harmed nobody: {said}");
    let discarded = discarded(&said);
    println!("serve has noticed {discarded}");
    assert!(discarded > 5_000, "serve has noticed {discarded} of {thrown:?} frames: {said}");
    for (tap, _) in FORGED.into_iter().chain([FORGER]) {
        network.start("ip", "ip", &["link", "del", tap]).wait(LIMIT).expect_success("ip");
    }
}

/// Memory that a process has, in KiB.
#[track_caller]
fn resident(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no VmRSS in {status:?}"))
}

/// How many packets the counters at the end say were dropped.
fn discarded(said: &Output) -> u64 {
    let counts = said.stdout.lines().filter_map(|line| line.strip_prefix("received and discarded: "));
    counts.filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok()).sum()
}
