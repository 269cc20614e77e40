//! A real Linux RoCE stack completes `ibv_uc_pingpong`, `ibv_ud_pingpong` and `ibv_srq_pingpong` with us, in both roles, over
//! IPv4 and IPv6 GIDs, and `ibv_rc_pingpong` over IPv6. We check the data, and so does Linux where it is told to. There is
//! no loss: over UC and UD the real programs would wait for ever.

use std::time::{Duration, Instant};

use rdmalab_tests::{Guest, Network, Place, Verdict};

const LIMIT: Duration = Duration::from_secs(60);

/// For how long one of the two may say nothing in a game before ours gives up.
const PATIENCE: Duration = Duration::from_secs(30);

const GUEST6: &str = "fd00:9::1";
const OURS6: &str = "fd00:9::2";
/// The index of the GID that stands for an IPv6 address, on both sides: behind the link-local one and IPv4's.
const GID6: u32 = 2;

/// What each game has on both sides, with the kind in front. Few rounds: the guest's processor is slow.
const OVER_IPV4: &[(&str, &str)] = &[
    ("uc", "-c -s 5000 -n 15 -m 1024"),
    ("ud", "-c -s 2000 -n 15"),
    ("srq", "-c -s 3000 -n 40 -q 16 -m 1024"),
    // Fewer rounds than queue pairs: Linux sends more messages than it wants rounds.
    ("srq", "-c -s 33 -n 10 -q 16 -r 16"),
];
const OVER_IPV6: &[(&str, &str)] = &[
    ("rc", "-c -s 5000 -n 15 -m 1024"),
    ("uc", "-c -s 9000 -n 15 -m 4096"),
    ("ud", "-s 4096 -n 15 -r 1"),
    ("srq", "-s 100 -n 40 -q 3"),
];

/// Linux calls.
pub fn linux_as_client(place: &mut Place) {
    play(place, Role::Client);
}

/// Linux is called.
pub fn linux_as_server(place: &mut Place) {
    play(place, Role::Server);
}

/// What Linux is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

#[derive(Debug)]
struct Game {
    role: Role,
    kind: &'static str,
    options: &'static str,
    port: u16,
    gid: u32,
}

fn play(place: &mut Place, role: Role) {
    let guest = &place.guest;
    let gid = format!("/sys/class/infiniband/{}/ports/1/gids/{GID6}", Guest::DEVICE);
    let address = format!(
        "ip -6 address replace {GUEST6}/64 dev eth0 nodad\n\
         for _ in $(seq 100); do grep -q '^fd00' {gid} && exit 0; sleep 0.1; done; exit 1"
    );
    guest.run(&address, LIMIT).expect_success("giving the guest an IPv6 address");
    let capture = place.network.capture(guest.tap(), "kinds");
    let over4 = OVER_IPV4.iter().map(|game| (Guest::GID, game));
    let over6 = OVER_IPV6.iter().map(|game| (GID6, game));
    // A port for each, so that no connection meets what is left of the one before.
    for (port, (gid, &(kind, options))) in (18700..).zip(over4.chain(over6)) {
        let game = Game { role, kind, options, port, gid };
        let started = Instant::now();
        game.play(place);
        println!("{game:?}: {:.1} s", started.elapsed().as_secs_f64());
    }
    Verdict::of(&place.network, &capture.finish()).expect_sound();
    let remove = format!("ip -6 address del {GUEST6}/64 dev eth0");
    place.guest.run(&remove, LIMIT).expect_success("taking the guest its IPv6 address");
}

impl Game {
    #[track_caller]
    fn play(&self, place: &Place) {
        let Self { role, kind, options, port, gid } = self;
        let both = format!("{options} -p {port} -g {gid}");
        let for_linux = format!("ibv_{kind}_pingpong -d {} {both}", Guest::DEVICE);
        let ours = format!(
            "pingpong --transport {kind} --tap {} --ip {}/24 --ip {OURS6}/64 {both} --wait {}",
            Network::TAP,
            Place::OURS,
            PATIENCE.as_secs()
        );
        let start = |line: &str| {
            let arguments: Vec<&str> = line.split_whitespace().collect();
            place.network.start("ours", place.program(), &arguments)
        };
        let (linux, ours) = match role {
            Role::Client => {
                let mut ours = start(&ours);
                ours.wait_for_line("listening", LIMIT);
                // The addresses are told over the same family as the GIDs are of.
                let server = if *gid == GID6 { OURS6.to_owned() } else { Place::OURS.to_string() };
                (place.guest.spawn(&format!("{for_linux} {server}"), LIMIT), ours)
            }
            Role::Server => {
                let linux = place.guest.spawn(&for_linux, LIMIT);
                place.guest.wait_for_listener(*port, LIMIT);
                // The real server listens by IPv4, whatever the GIDs are.
                (linux, start(&format!("{ours} {}", Place::GUEST)))
            }
        };
        let ours = ours.end_within(LIMIT);
        if let Some(linux) = linux.within(if ours.success() { PATIENCE } else { Duration::from_secs(2) })
            && linux.success()
            && ours.success()
        {
            return;
        }
        let state = place.guest.state();
        panic!("{self:?}\nours: {ours}\nLinux: {:?}\nthe guest: {state}", linux.stop());
    }
}
