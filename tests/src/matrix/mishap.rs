//! What keeps a game from a good end: nobody listens, or one of the two programs is killed in the middle of it. What is judged is how the
//! other one takes it.

use std::fmt;
use std::time::{Duration, Instant};

use super::commands::{By, Commands, Ready, Side};
use super::game::{LIMIT, Player};
use super::results::Row;
use super::{Carrier, Cell, Program, Role};
use crate::{Output, Place};

/// Bytes that have to be on their way before anybody is killed.
const UNDER_WAY: u64 = 200_000;

/// How long a program may take to see that the other one is no more. Linux gives a host up that does not answer after
/// [`ATTEMPTS`], and a guest on a busy machine is slow.
const NOTICE: Duration = Duration::from_secs(60);

/// How often Linux sends a segment again to who does not answer, by `tcp_retries2`: seven seconds instead of a quarter of an hour.
const ATTEMPTS: u32 = 4;
const USUAL_ATTEMPTS: u32 = 15;

/// What keeps a game from a good end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// There is no server.
    NobodyListens,
    /// One is killed in mid-transfer, the one of this role.
    Killed(Role),
}

impl Cell {
    /// Plays it to its bad end. `Err` says what was not as it has to be.
    pub(super) fn go_wrong(&self, mishap: Mishap, place: &Place, port: u16) -> Result<(), String> {
        let commands = self.commands(port, None);
        match mishap {
            Mishap::NobodyListens => {
                let bystander = self.bystander(port).map(|side| {
                    let mut player = Player::start(place, &side);
                    Ready::Says("listening").wait(place, &mut player);
                    player
                });
                let mut client = Player::start(place, &commands.client);
                let refused = client.within_or(LIMIT, |said| is_refusal(commands.client.by, said));
                let end = client.end(place);
                bystander.map(|player| player.end(place));
                if refused { Ok(()) } else { Err(format!("it does not say that it was refused: {end}")) }
            }
            Mishap::Killed(victim) => self.kill(victim, place, commands),
        }
    }

    fn kill(&self, victim: Role, place: &Place, commands: Commands) -> Result<(), String> {
        let Commands { server, ready, client } = commands;
        let (server, client) = (killable(server), killable(client));
        // Nobody speaks for an emulated host that is no more; a kernel's TCP outlives its program.
        let is_silent = self.iwarp.is_some_and(|iwarp| iwarp.carrier == Carrier::Host) && self.role != victim;
        if is_silent {
            set_attempts(place, ATTEMPTS);
        }
        let mut called = Player::start(place, &server);
        ready.wait(place, &mut called);
        let before = place.network.carried(place.guest.tap());
        let mut calling = Player::start(place, &client);
        let start = Instant::now();
        while place.network.carried(place.guest.tap()) < before + UNDER_WAY {
            let is_over =
                [&mut calling, &mut called].into_iter().any(|one| one.within(Duration::ZERO).is_some());
            if is_over || start.elapsed() > LIMIT {
                let (calling, called) = (calling.end(place), called.end(place));
                return Err(format!("no transfer to be in the middle of\n{calling}\nthe server: {called}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let ((dead, side), (mut alive, survivor)) = match victim {
            Role::Client => ((calling, client), (called, server)),
            Role::Server => ((called, server), (calling, client)),
        };
        let dead = dead.kill(place);
        if dead.success() {
            return Err(format!("{} was content before it was killed: {dead}", side.line));
        }
        let outcome = if survivor.ends {
            let said = alive.within(NOTICE);
            match said {
                Some(said) => self.expect_notice(survivor.by, &said),
                None => Err(format!("it has not seen that the other is no more: {}", alive.end(place))),
            }
        } else {
            self.expect_survival(alive, survivor.by, place)
        };
        if is_silent {
            set_attempts(place, USUAL_ATTEMPTS);
        }
        outcome
    }

    /// Who has lost its peer has to fail, ours with words. rping of Linux may be content, but says so, too; and between two pings
    /// the end of a client's TCP is for its server like any other end of it.
    fn expect_notice(&self, by: By, said: &Output) -> Result<(), String> {
        let is_served = self.program == Program::Rping && said.stdout.contains("\n1 clients, ");
        match by {
            By::Linux if !said.success() || said.stderr.contains("DISCONNECT EVENT") => Ok(()),
            By::Linux => Err(format!("Linux is content without its peer: {said}")),
            _ if said.success() && is_served => Ok(()),
            _ if said.status == Some(1) && !said.stderr.is_empty() && !said.stderr.contains("panicked") => {
                Ok(())
            }
            _ => Err(format!("ours does not fail in the right way: {said}")),
        }
    }

    /// Who serves many goes on without the one that has gone.
    fn expect_survival(&self, mut alive: Player, by: By, place: &Place) -> Result<(), String> {
        if let Some(said) = alive.within(Duration::from_secs(3)) {
            return Err(format!("it has ended with its client: {said}"));
        }
        let end = alive.end(place);
        match (self.program, by) {
            (Program::Served(row, _), By::Ours) => {
                let said = end.asked().ok_or_else(|| format!("it cannot be ended: {end}"))?;
                let found = Row::of(said, row).ok_or_else(|| format!("no row of {row}: {said}"))?;
                // Between two pings the end of a client's TCP is like any other end of it.
                let is_gone = (found.served, found.refused) == (1, 0) && found.failed <= 1;
                if said.success() && is_gone { Ok(()) } else { Err(format!("{found:?}: {said}")) }
            }
            _ => Ok(()),
        }
    }
}

/// The same side, in such a way that its process can be told from the shell's.
fn killable(side: Side) -> Side {
    let line = match side.by {
        By::Linux => format!("{} & echo $! >{VICTIM}; wait $!", side.line),
        _ => side.line,
    };
    Side { line, ..side }
}

/// Where the guest keeps the number of the process that is to be killed.
pub(super) const VICTIM: &str = "/run/victim";

fn set_attempts(place: &Place, attempts: u32) {
    let line = format!("echo {attempts} >/proc/sys/net/ipv4/tcp_retries2");
    place.guest.run(&line, LIMIT).expect_success("setting how often TCP sends again");
}

/// Whether who has called where nobody listens says so. rping of Linux does, and then waits for ever.
fn is_refusal(by: By, said: &Output) -> bool {
    match (by, said.status) {
        (By::Linux, status) => status.is_some_and(|status| status != 0) || said.stderr.contains("refused"),
        (_, status) => status == Some(1) && said.stderr.contains("refused"),
    }
}

impl fmt::Display for Mishap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodyListens => f.write_str("nobody listens"),
            Self::Killed(role) => write!(f, "the {role} is killed"),
        }
    }
}
