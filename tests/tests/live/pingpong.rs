//! A real Linux RoCE stack completes `ibv_rc_pingpong` with us, in both roles, without knowing that there is no
//! adapter. Both ends check the data.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use rdmalab_tests::{Capture, Excuse, Guest, GuestState, Network, Output, Place, Stuck, Verdict};

const GUEST: Ipv4Addr = Place::GUEST;
const OURS: Ipv4Addr = Place::OURS;

/// Sizes of messages in bytes, each with a number of rounds. A round is a message and its ACK in each direction,
/// so that each end sends 280 packets and more: that a loss of 5 % takes none of them is one chance in a million.
const ROUNDS: [(u32, u32); 4] = [(1, 140), (33, 140), (4096, 140), (65537, 16)];

/// Of what each end sends. The guest's is netem's, ours a seeded rule at the TAP; both are spared for TCP and ARP.
const LOSS_PERCENT: u32 = 5;

/// How long a game may take. Five seconds are usual with loss; a guest that shares its processor takes many times that.
const LIMIT: Duration = Duration::from_secs(60);

/// For how long one of the two may say nothing in a game before ours gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many games of a test may be played again because the guest is proven to have failed.
const REPETITIONS: u32 = 2;

/// Linux calls.
pub fn linux_as_client(place: &mut Place) {
    play("Linux as client", place, Role::Client);
}

/// Linux is called.
pub fn linux_as_server(place: &mut Place) {
    play("Linux as server", place, Role::Server);
}

/// What Linux is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// All games of one role: both path MTUs, clean and with loss, all sizes.
fn play(test: &str, place: &mut Place, role: Role) {
    let mut table = Table { place, dropped_before: 0 };
    let (mut port, mut repetitions) = (18515, 0);
    for loss in [0, LOSS_PERCENT] {
        let mut capture = table.prepare(loss);
        for mtu in [1024, 4096] {
            for (size, rounds) in ROUNDS {
                loop {
                    // A port for each, so that no connection meets what is left of the one before.
                    port += 1;
                    let game = Game { role, size, rounds, mtu, port, loss };
                    let Err(failure) = table.check(&game) else { break };
                    let captured = capture.finish();
                    Verdict::of(&table.place.network, &captured).expect_sound();
                    let excuse = failure.excuse(&captured).filter(|_| loss > 0 && repetitions < REPETITIONS);
                    let Some(excuse) = excuse else { panic!("{game:?}\n{failure}") };
                    repetitions += 1;
                    // Not eprintln!: the test runner swallows the output of tests that pass.
                    let _ = writeln!(
                        std::io::stderr(),
                        "PLAYED AGAIN, with a fresh guest: {test}, {game:?}: {excuse}\n{failure}"
                    );
                    table.place.renew();
                    capture = table.prepare(loss);
                }
            }
        }
        Verdict::of(&table.place.network, &capture.finish()).expect_sound();
    }
}

#[derive(Debug)]
struct Game {
    role: Role,
    size: u32,
    rounds: u32,
    mtu: u32,
    port: u16,
    loss: u32,
}

/// The two players' place.
struct Table<'a> {
    place: &'a mut Place,
    /// How many packets the guest's loss had taken when the last game ended.
    dropped_before: u64,
}

impl Table<'_> {
    /// Sets up the loss and begins a capture.
    fn prepare(&mut self, loss: u32) -> Capture {
        let Place { guest, network, .. } = &*self.place;
        if loss > 0 {
            guest.netem_roce_loss(loss);
            self.dropped_before = 0;
        }
        network.capture(guest.tap(), &format!("loss{loss}"))
    }

    fn check(&mut self, game: &Game) -> Result<(), Box<Failure>> {
        let started = Instant::now();
        let ours = self.play(game)?;
        println!("{game:?}: {:.1} s", started.elapsed().as_secs_f64());
        if game.loss > 0 {
            let dropped = self.place.guest.netem_dropped();
            assert!(dropped > self.dropped_before, "the guest lost nothing: {game:?}");
            self.dropped_before = dropped;
            let dropped = ours.number_after("dropped by rule:");
            assert!(dropped.is_some_and(|dropped| dropped > 0), "we lost nothing: {game:?}, {ours}");
        }
        Ok(())
    }

    /// Plays a game to its end, and gives what our program said.
    fn play(&self, game: &Game) -> Result<Output, Box<Failure>> {
        let start =
            |arguments: &Vec<String>| self.place.network.start("ours", self.place.program(), arguments);
        let (linux, ours) = match game.role {
            Role::Client => {
                let mut ours = start(&game.our_arguments(None));
                ours.wait_for_line("listening", LIMIT);
                (self.place.guest.spawn(&format!("{} {OURS}", game.for_linux()), LIMIT), ours)
            }
            Role::Server => {
                let linux = self.place.guest.spawn(&game.for_linux(), LIMIT);
                self.place.guest.wait_for_listener(game.port, LIMIT);
                (linux, start(&game.our_arguments(Some(GUEST))))
            }
        };
        let ours = ours.end_within(LIMIT);
        // Linux has little to do when ours is content; and where ours has failed, it may never end.
        let patience = if ours.success() { PATIENCE } else { Duration::from_secs(2) };
        if let Some(linux) = linux.within(patience) {
            if linux.success() && ours.success() {
                return Ok(ours);
            }
            return Err(Box::new(Failure { ours, linux: End::Own(linux), guest: self.place.guest.state() }));
        }
        let guest = self.place.guest.state();
        let linux = match linux.stop() {
            Ok(output) => End::Asked(output),
            Err(stuck) => End::Never(stuck, Box::new(self.place.guest.state())),
        };
        Err(Box::new(Failure { ours, linux, guest }))
    }
}

/// A game that was not played to its end.
struct Failure {
    ours: Output,
    linux: End,
    guest: GuestState,
}

/// How Linux' program ended.
enum End {
    /// By itself.
    Own(Output),
    /// Because it was asked to.
    Asked(Output),
    /// Not at all, with the guest's state then.
    Never(Stuck, Box<GuestState>),
}

impl Failure {
    /// What proves that it is not ours, if anything does. Who ends by himself with an error has found one.
    fn excuse(&self, captured: &Path) -> Option<Excuse> {
        let stuck = match &self.linux {
            End::Own(_) => return None,
            End::Asked(_) => None,
            End::Never(stuck, then) => Some((stuck, &**then)),
        };
        let excuse = Excuse::in_guest(&self.guest, stuck).or_else(|| Excuse::in_capture(captured, GUEST))?;
        let gave_up = self.ours.stderr.contains("IBV_WC_RETRY_EXC_ERR");
        let waited = self.ours.stderr.contains("did not come within") || self.ours.status.is_none();
        let fits = match excuse {
            Excuse::Late { .. } => gave_up,
            Excuse::Stopped { .. } => waited,
            Excuse::Dead | Excuse::Unkillable { .. } => gave_up || waited || self.ours.success(),
        };
        fits.then_some(excuse)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "ours: {}", self.ours)?;
        match &self.linux {
            End::Own(output) => writeln!(f, "Linux: {output}")?,
            End::Asked(output) => writeln!(f, "Linux, which had to be ended: {output}")?,
            End::Never(stuck, then) => writeln!(f, "Linux: {stuck}\nthe guest then: {then}")?,
        }
        write!(f, "the guest: {}", self.guest)
    }
}

impl Game {
    fn our_arguments(&self, server: Option<Ipv4Addr>) -> Vec<String> {
        let Self { size, rounds, mtu, port, loss, .. } = self;
        let mut line = format!(
            "pingpong --tap {} --ip {OURS}/24 -c -s {size} -n {rounds} -m {mtu} -p {port} --wait {}",
            Network::TAP,
            PATIENCE.as_secs()
        );
        if *loss > 0 {
            // 134 ms, seven times: a guest on a busy machine may stand still for longer than seven times 67 ms.
            line += &format!(" --drop-rate {} --seed {port} --ack-timeout 15", f64::from(*loss) / 100.0);
        }
        if let Some(server) = server {
            line += &format!(" {server}");
        }
        line.split(' ').map(str::to_owned).collect()
    }

    fn for_linux(&self) -> String {
        let Self { size, rounds, mtu, port, .. } = self;
        let (device, gid) = (Guest::DEVICE, Guest::GID);
        format!("ibv_rc_pingpong -d {device} -g {gid} -c -s {size} -n {rounds} -m {mtu} -p {port}")
    }
}
