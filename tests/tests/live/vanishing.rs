//! Who vanishes in the middle of a transfer: a guest that freezes, loses its link or is killed, and our own device whose TAP goes down or away. Each
//! connection with it ends with the right status, and soon; others go on, and `serve` keeps nothing of who has gone.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use rdmalab_tests::{Capture, Conduct, Guest, Job, Network, Output, Place, Process};

const LIMIT: Duration = Duration::from_secs(60);
/// Where the other end of verbs conversations listens, one port for each.
const PORT: u16 = 18640;
/// The TAP of the end of ours whose peer vanishes, or that vanishes itself.
const TAP: &str = "rd-gone";
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 4);
/// Far longer than anybody needs to vanish, however fast the machine: 64,000 packets of which 128 are under way at most, for 20 ms
/// each, take ten seconds.
const TRANSFER: &str = "WRITE:65536*250 --mtu 256 --delay 20";
/// How long a connection may take to its end: eight times at most the ACK timeout of 67 ms, up to four times as long as told.
const RETRIES: Duration = Duration::from_secs(6);
/// How long `serve` keeps who says nothing.
const IDLE: Duration = Duration::from_secs(3);

/// The guest freezes, and its link goes down; both come back.
pub fn guest_is_gone_for_a_while(place: &mut Place) {
    let mut scene = Scene::open(place, 2);
    let guest = &mut place.guest;
    for (number, how) in [(1, "frozen"), (2, "without its link")] {
        let beside = scene.guest_calls(guest);
        let ours = scene.transfer(number - 1);
        match how {
            "frozen" => guest.freeze(),
            // It hears of it by a serial line.
            _ => drop(guest.run("ip link set eth0 down", LIMIT).expect_success("taking the link away")),
        }
        let gone = Instant::now();
        expect_retries_exceeded(ours, gone);
        scene.expect_all_gone(number as u64, how);
        match how {
            "frozen" => guest.thaw(),
            _ => drop(guest.run("ip link set eth0 up", LIMIT).expect_success("bringing the link back")),
        }
        // Its own connection is over, too, whatever it makes of that.
        let _ = beside.stop();
    }
    let beside = scene.guest_calls(guest);
    let _ = beside.stop();
    scene.close();
}

/// The guest's machine ends.
pub fn guest_is_killed(place: &mut Place) {
    place.use_up();
    let mut scene = Scene::open(place, 1);
    let _beside = scene.guest_calls(&place.guest);
    let ours = scene.transfer(0);
    place.guest.kill();
    expect_retries_exceeded(ours, Instant::now());
    scene.has_guest = false;
    scene.expect_all_gone(1, "killed");
    scene.close();
}

/// The TAP under our device goes down, and then away.
pub fn our_tap_goes(place: &mut Place) {
    let scene = Scene::open(place, 2);
    for (number, how) in [&["link", "set", TAP, "down"][..], &["link", "del", TAP]].into_iter().enumerate() {
        let ours = scene.transfer(number);
        scene.network.start("ip", "ip", how).wait(LIMIT).expect_success("ip");
        let gone = Instant::now();
        if number == 0 {
            // A cable without a plug. It may be plugged in again.
            expect_retries_exceeded(ours, gone);
            scene.network.start("ip", "ip", &["link", "set", TAP, "up"]).wait(LIMIT).expect_success("ip");
            continue;
        }
        let said = ours.end_within(LIMIT);
        assert!(gone.elapsed() < RETRIES, "{how:?}: it took {:?}: {said}", gone.elapsed());
        assert!(said.status == Some(1) && said.stderr.contains(TAP), "{how:?}: {said}");
    }
    scene.close();
}

/// Our end has heard nothing, and all its requests have ended for it.
#[track_caller]
fn expect_retries_exceeded(ours: Process, gone: Instant) {
    let said = ours.end_within(LIMIT);
    let took = gone.elapsed();
    for text in ["ended with IBV_WC_RETRY_EXC_ERR", "15 of 15 behind it were flushed"] {
        assert!(said.status == Some(1) && said.stderr.contains(text), "no {text:?}: {said}");
    }
    assert!(took < RETRIES, "it took {took:?}: {said}");
    println!("retries were exceeded in {:.1} s", took.as_secs_f64());
}

/// `serve`, a peer of it that stays, and what is needed for peers that do not.
struct Scene {
    network: Network,
    serve: Process,
    stays: Process,
    listeners: Vec<Job>,
    /// Whether the guest can still be told to end them.
    has_guest: bool,
    /// What passes the guest's TAP.
    capture: Capture,
    began: Instant,
}

impl Scene {
    /// With so many listeners in the guest.
    #[track_caller]
    fn open(place: &Place, listeners: u16) -> Self {
        let Place { network, guest, .. } = place;
        network.add_tap(TAP);
        let capture = network.capture(guest.tap(), "vanishing");
        guest.put("verbs_peer.py", include_str!("../../peers/verbs_peer.py"));
        let listen = |port| format!("/usr/bin/python3 /mnt/verbs_peer.py --limit 10 --listen {port}");
        let listeners: Vec<Job> =
            (PORT..PORT + listeners).map(|port| guest.spawn(&listen(port), LIMIT)).collect();
        let start = |name: &str, line: &str| {
            network.start(name, place.program(), &line.split(' ').collect::<Vec<_>>())
        };
        let (tap, ours) = (Network::TAP, Place::OURS);
        let mut serve =
            start("serve", &format!("serve --tap {tap} --ip {ours}/24 --every 1 --idle {}", IDLE.as_secs()));
        serve.wait_for_line("listening", LIMIT);
        let (tap, other) = (Network::SECOND_TAP, Place::OTHER);
        let stays = start("stays", &format!("rping -c -a {ours} --tap {tap} --ip {other}/24 -V -S 5000"));
        for port in PORT..PORT + listeners.len() as u16 {
            guest.wait_for_listener(port, LIMIT);
        }
        let (network, has_guest, began) = (network.clone(), true, Instant::now());
        Self { network, serve, stays, listeners, has_guest, capture, began }
    }

    /// A client in the guest at work with `serve`.
    #[track_caller]
    fn guest_calls(&mut self, guest: &Guest) -> Job {
        let job = guest.spawn(&format!("rping -c -a {} -V -v -S 300", Place::OURS), LIMIT);
        let pinged = || job.output_so_far().stdout.lines().count() > 10;
        assert!(within(LIMIT, pinged), "rping does not ping: {}", job.output_so_far());
        job
    }

    /// A transfer to the guest that has just begun.
    #[track_caller]
    fn transfer(&self, number: usize) -> Process {
        let line = format!(
            "--tap {TAP} --ip {ADDRESS}/24 --peer {}:{} --operations {TRANSFER}",
            Place::GUEST,
            usize::from(PORT) + number
        );
        let program = Path::new(env!("CARGO_BIN_EXE_verbs-end"));
        let mut ours = self.network.start("ours", program, &line.split(' ').collect::<Vec<_>>());
        ours.wait_for_line("both ends are ready", LIMIT);
        std::thread::sleep(Duration::from_millis(200));
        ours
    }

    /// The guest's connections at `serve` have ended, all of them by a failure, so many in all; who stays is still there.
    #[track_caller]
    fn expect_all_gone(&mut self, failed: u64, how: &str) {
        let limit = RETRIES.max(IDLE) + Duration::from_secs(4);
        let is_over = || self.row(Place::GUEST).is_some_and(|row| (row.now, row.failed) == (0, failed));
        assert!(within(limit, is_over), "{how}: {}", self.serve.output_so_far());
        let before = self.row(Place::OTHER).map_or(0, |row| row.messages);
        let goes_on = || self.row(Place::OTHER).is_some_and(|row| row.now == 1 && row.messages > before);
        assert!(within(Duration::from_secs(4), goes_on), "{how}: {}", self.serve.output_so_far());
    }

    fn row(&self, peer: Ipv4Addr) -> Option<Row> {
        last_row(&self.serve.output_so_far(), peer)
    }

    /// Who stayed saw nothing of all this, and neither did `serve`; and whatever was sent to who had gone was right.
    #[track_caller]
    fn close(mut self) {
        self.stays.signal("INT");
        let said = self.stays.wait(Duration::from_secs(10));
        assert!(said.success(), "who stayed: {said}");
        self.serve.signal("INT");
        let said = self.serve.wait(Duration::from_secs(10));
        assert!(said.success(), "serve: {said}");
        let row = last_row(&said, Place::OTHER).unwrap_or_else(|| panic!("nobody stayed: {said}"));
        assert!(row.failed == 0 && row.messages > 100, "{said}");
        for listener in self.listeners {
            if self.has_guest {
                let _ = listener.stop();
            }
        }
        let conduct = Conduct::of(&self.capture.finish());
        conduct.sound().unwrap_or_else(|fault| panic!("{fault}"));
        assert!(conduct.report.totals.roce > 1000, "{}", conduct.report.totals.roce);
        println!("it took {:.1} s", self.began.elapsed().as_secs_f64());
        // It may have gone already.
        let _ = self.network.start("ip", "ip", &["link", "del", TAP]).end_within(LIMIT);
    }
}

/// What the table says of rping's clients of a peer.
#[derive(Debug)]
struct Row {
    now: u64,
    failed: u64,
    messages: u64,
}

fn last_row(said: &Output, peer: Ipv4Addr) -> Option<Row> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut rows = said.stdout.lines().rev().map(words);
    let peer = peer.to_string();
    let row = rows.find(|row| row.len() > 6 && row[0] == "rping" && row[1] == peer)?;
    let number = |place: usize| row[place].parse().unwrap_or_default();
    Some(Row { now: number(2), failed: number(5), messages: number(6) })
}

/// Whether `done` comes true in time.
fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if done() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}
