//! A real Linux RoCE stack completes `ibv_rc_pingpong` with us, in both roles, without knowing that there is no
//! adapter. Both ends check the data.

use std::cell::Cell;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rdmalab_tests::{Guest, GuestConfig, Lab, Network, Output, Verdict, program};

const GUEST: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// Sizes of messages in bytes, each with a number of rounds. A round is a message and its ACK in each direction,
/// so that each end sends 280 packets and more: that a loss of 5 % takes none of them is one chance in a million.
const ROUNDS: [(u32, u32); 4] = [(1, 140), (33, 140), (4096, 140), (65537, 16)];

/// Of what each end sends. The guest's is netem's, ours a seeded rule at the TAP; both are spared for TCP and ARP.
const LOSS_PERCENT: u32 = 5;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn linux_as_client_plays_ping_pong_with_us() {
    play("pingpong-linux-client", Game::linux_is_client);
}

#[test]
fn linux_as_server_plays_ping_pong_with_us() {
    play("pingpong-linux-server", Game::linux_is_server);
}

/// All rounds of one role: both path MTUs, clean and with loss, all sizes.
fn play(test: &str, round: impl Fn(&Game, &Options) -> (Output, Output)) {
    let Some(lab) = Lab::ready(test) else { return };
    let program = program(&lab);
    let network = Network::new(&lab);
    let guest = Guest::boot(&network, GuestConfig { name: "guest", ip: GUEST, mtu: 4200 });
    let game = Game { network, guest, program, dropped_before: Cell::new(0) };
    let mut port = 18515;
    for loss in [0, LOSS_PERCENT] {
        if loss > 0 {
            game.guest.netem_roce_loss(loss);
        }
        for mtu in [1024, 4096] {
            let capture = game.network.capture(game.guest.tap(), &format!("mtu{mtu}-loss{loss}"));
            for (size, rounds) in ROUNDS {
                // A port for each, so that no connection meets what is left of the one before.
                port += 1;
                let options = Options { size, rounds, mtu, port, loss };
                game.check(&options, &round);
            }
            Verdict::of(&game.network, &capture.finish()).expect_sound();
        }
    }
}

struct Game {
    network: Network,
    guest: Guest,
    program: PathBuf,
    /// How many packets the guest's loss had taken when the last round ended.
    dropped_before: Cell<u64>,
}

#[derive(Debug)]
struct Options {
    size: u32,
    rounds: u32,
    mtu: u32,
    port: u16,
    loss: u32,
}

impl Game {
    fn check(&self, options: &Options, round: impl Fn(&Self, &Options) -> (Output, Output)) {
        let started = Instant::now();
        let (linux, ours) = round(self, options);
        println!("{options:?}: {:.1} s", started.elapsed().as_secs_f64());
        assert!(linux.success() && ours.success(), "{options:?}\nLinux: {linux}\nours: {ours}");
        if options.loss > 0 {
            let dropped = self.guest.netem_dropped();
            let before = self.dropped_before.replace(dropped);
            assert!(dropped > before, "the guest lost nothing: {options:?}");
            let dropped = ours.number_after("dropped by rule:");
            assert!(dropped.is_some_and(|dropped| dropped > 0), "we lost nothing: {options:?}, {ours}");
        }
    }

    fn linux_is_client(&self, options: &Options) -> (Output, Output) {
        let mut ours = self.network.start("ours", &self.program, &self.our_arguments(options, None));
        ours.wait_for_line("listening", LIMIT);
        let linux = self.guest.run(&format!("{} {OURS}", options.for_linux()), LIMIT);
        // Where Linux failed, ours would wait on: what it has said is what is of use.
        let ours = if linux.success() { ours.wait(LIMIT) } else { ours.stop(Duration::from_secs(2)) };
        (linux, ours)
    }

    fn linux_is_server(&self, options: &Options) -> (Output, Output) {
        let linux = self.guest.spawn(&options.for_linux(), LIMIT);
        self.guest.wait_for_listener(options.port, LIMIT);
        let ours = self.network.start("ours", &self.program, &self.our_arguments(options, Some(GUEST)));
        match ours.finish(LIMIT) {
            Ok(ours) if ours.success() => (linux.wait(), ours),
            Ok(ours) => (linux.stop(), ours),
            Err(error) => panic!("{options:?}: {error}\nLinux: {}", linux.stop()),
        }
    }

    fn our_arguments(&self, options: &Options, server: Option<Ipv4Addr>) -> Vec<String> {
        let Options { size, rounds, mtu, port, loss } = options;
        let mut line = format!(
            "pingpong --tap {} --ip {OURS}/24 -c -s {size} -n {rounds} -m {mtu} -p {port}",
            Network::TAP
        );
        if *loss > 0 {
            line += &format!(" --drop-rate {} --seed {port}", f64::from(*loss) / 100.0);
        }
        if let Some(server) = server {
            line += &format!(" {server}");
        }
        line.split(' ').map(str::to_owned).collect()
    }
}

impl Options {
    fn for_linux(&self) -> String {
        let Self { size, rounds, mtu, port, .. } = self;
        let (device, gid) = (Guest::DEVICE, Guest::GID);
        format!("ibv_rc_pingpong -d {device} -g {gid} -c -s {size} -n {rounds} -m {mtu} -p {port}")
    }
}
