//! The harness itself: two guests with rxe play with each other, with and without loss. What fails here is not ours.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use rdmalab_tests::{Guest, GuestConfig, Lab, Network, Verdict};

#[test]
fn two_guests_play_ping_pong_under_loss() {
    let Some(lab) = Lab::ready("harness") else { return };
    let network = Network::new(&lab);
    let started = Instant::now();
    let [server, client] = Guest::boot_all(
        &network,
        [("server", 1), ("client", 2)].map(|(name, last)| GuestConfig {
            name,
            ip: Ipv4Addr::new(10, 9, 0, last),
            mtu: 4200,
        }),
    );
    eprintln!("boot took {:?}", started.elapsed());
    for loss in [0, 5] {
        for mtu in [1024, 4096] {
            for (size, n) in [(1, 200), (33, 200), (4096, 200), (65537, 30)] {
                for g in [&server, &client] {
                    if loss > 0 {
                        g.netem_roce_loss(loss);
                    }
                }
                let capture = network.capture(client.tap(), "pingpong");
                let common = format!("-d rxe0 -g 1 -c -s {size} -n {n} -m {mtu}");
                let t = Instant::now();
                let job = server.spawn(&format!("ibv_rc_pingpong {common}"), Duration::from_secs(60));
                server.wait_for_listener(18515, Duration::from_secs(10));
                let t1 = Instant::now();
                let out = client
                    .run(&format!("time ibv_rc_pingpong {common} {}", server.ip()), Duration::from_secs(60));
                let t2 = t1.elapsed();
                let sout = job.wait();
                let took = t.elapsed();
                let file = capture.finish();
                let verdict = Verdict::of(&network, &file);
                let drops = if loss > 0 { (server.netem_dropped(), client.netem_dropped()) } else { (0, 0) };
                eprintln!(
                    "loss {loss} mtu {mtu} size {size} n {n}: {took:?} client {t2:?} status {:?} {:?} drops {drops:?} {verdict:?}\n{}",
                    out.status,
                    sout.status,
                    out.stdout.lines().last().unwrap_or_default()
                );
                if !out.success() || !sout.success() {
                    eprintln!("client {out}\nserver {sout}");
                }
            }
        }
    }
}
