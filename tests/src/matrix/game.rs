//! A cell being played: the two programs, and how they end.

use std::path::Path;
use std::time::{Duration, Instant};

use super::commands::{By, Commands, Ready, Side};
use super::mishap::VICTIM;
use super::{Cell, Peer, Program};
use crate::{Excuse, GuestState, Job, Output, Place, Process, Stuck, program};

/// How long a game may take. A second or two are usual; a guest that shares its processor takes many times that.
pub(super) const LIMIT: Duration = Duration::from_secs(150);

/// How long one may take to end when the other has failed.
const LITTLE: Duration = Duration::from_secs(2);

/// How often one looks at the other.
const LOOK: Duration = Duration::from_millis(200);

/// How long who has been told to end may take.
const GRACE: Duration = Duration::from_secs(10);

/// What both programs said, which both were content.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) server: Output,
    pub(super) client: Output,
}

/// A game that was not played to its end, or not as it had to be.
pub(super) struct Failure {
    commands: Commands,
    ours: Output,
    other: End,
    guest: Option<GuestState>,
}

/// How the other program ended.
pub(super) enum End {
    /// By itself.
    Own(Output),
    /// Because it was asked to.
    Asked(Output),
    /// Not at all, with the guest's state then.
    Never(Stuck, Box<GuestState>),
}

/// A program at work.
pub(super) enum Player {
    Ours(Process),
    Linux(Job),
}

impl Player {
    #[track_caller]
    pub(super) fn start(place: &Place, side: &Side) -> Self {
        let arguments: Vec<&str> = side.line.split_whitespace().collect();
        match side.by {
            By::Linux => Self::Linux(place.guest.spawn(&side.line, LIMIT)),
            By::Ours => Self::Ours(place.network.start("ours", place.program(), &arguments)),
            By::OurEnd => Self::Ours(place.network.start("ours", program::verbs_end(&place.lab), &arguments)),
            By::SiwEnd => Self::Ours(place.network.start("ours", program::siw_end(&place.lab), &arguments)),
        }
    }

    /// What it has said, if it ends in time.
    pub(super) fn within(&mut self, limit: Duration) -> Option<Output> {
        match self {
            Self::Ours(process) => process.within(limit),
            Self::Linux(job) => job.within(limit),
        }
    }

    /// Whether what it has said is `enough` in time, or at its end.
    pub(super) fn within_or(&mut self, limit: Duration, enough: impl Fn(&Output) -> bool) -> bool {
        let start = Instant::now();
        loop {
            let over = self.within(LOOK);
            let said = over.as_ref().map_or_else(|| self.so_far(), Output::clone);
            if enough(&said) || over.is_some() || start.elapsed() > limit {
                return enough(&said);
            }
        }
    }

    fn so_far(&self) -> Output {
        match self {
            Self::Ours(process) => process.output_so_far(),
            Self::Linux(job) => job.output_so_far(),
        }
    }

    /// What this one and the other say, who is given time to end, too, if it does so by itself: little if this one has failed. If the
    /// other fails, this one is given little.
    fn wait_beside(&mut self, other: &mut Self, other_ends: bool) -> (Option<Output>, Option<Output>) {
        let start = Instant::now();
        let mut said = None;
        let mut failed_at = None;
        while said.is_none()
            && start.elapsed() < LIMIT
            && failed_at.is_none_or(|at: Instant| at.elapsed() < LITTLE)
        {
            said = self.within(LOOK);
            if failed_at.is_none() && other.within(Duration::ZERO).is_some_and(|other| !other.success()) {
                failed_at = Some(Instant::now());
            }
        }
        let patience = match (said.as_ref().is_some_and(Output::success), other_ends) {
            (true, true) => LIMIT,
            // A server may still be busy with who has just left.
            (true, false) => Duration::from_millis(300),
            (false, _) => LITTLE,
        };
        (said, other.within(patience))
    }

    /// Asks it to end.
    pub(super) fn end(self, place: &Place) -> End {
        match self {
            Self::Ours(process) => End::Asked(process.stop(GRACE)),
            Self::Linux(job) => match job.stop() {
                Ok(output) => End::Asked(output),
                Err(stuck) => End::Never(stuck, Box::new(place.guest.state())),
            },
        }
    }
}

impl Player {
    /// Kills it without a word, a program of Linux' by the number that it has left.
    pub(super) fn kill(self, place: &Place) -> Output {
        match self {
            Self::Ours(mut process) => {
                process.signal("KILL");
                process.stop(GRACE)
            }
            Self::Linux(job) => {
                let line = format!("kill -KILL $(<{VICTIM})");
                place.guest.run(&line, LIMIT).expect_success("killing a program of Linux'");
                job.wait()
            }
        }
    }
}

impl End {
    /// What it said, if it ended when it was asked to.
    pub(super) fn asked(&self) -> Option<&Output> {
        if let Self::Asked(output) = self { Some(output) } else { None }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own(output) => write!(f, "by itself: {output}"),
            Self::Asked(output) => write!(f, "which had to be ended: {output}"),
            Self::Never(stuck, then) => write!(f, "{stuck}\nthe guest then: {then}"),
        }
    }
}

impl Cell {
    /// Plays it to its end.
    pub(super) fn play(&self, place: &Place, port: u16, record: Option<&Path>) -> Result<Said, Box<Failure>> {
        let commands = self.commands(port, record);
        if self.program == Program::Verbs {
            // Built before anybody waits for it.
            program::verbs_end(&place.lab);
            place.guest.put("verbs_peer.py", include_str!("../../peers/verbs_peer.py"));
        }
        if self.program == Program::Refused {
            program::siw_end(&place.lab);
            place.guest.put("siw_peer.py", include_str!("../../peers/siw_peer.py"));
        }
        let mut server = Player::start(place, &commands.server);
        commands.ready.wait(place, &mut server);
        let client = Player::start(place, &commands.client);
        // First who ends by himself, and if both do, ours: Linux has little to do when ours is content, and where ours has
        // failed it may never end.
        let is_server_first =
            commands.server.ends && commands.server.by != By::Linux && self.peer == Peer::Linux;
        let (mut first, mut second) = if is_server_first { (server, client) } else { (client, server) };
        let (first_said, second_said) =
            first.wait_beside(&mut second, is_server_first || commands.server.ends);
        let is_content = first_said.as_ref().is_some_and(Output::success);
        match (first_said, second_said) {
            (Some(first), Some(second)) if first.success() && second.success() => {
                let (server, client) = if is_server_first { (first, second) } else { (second, first) };
                Ok(Said { server, client })
            }
            (Some(client), None) if is_content && !commands.server.ends => match second.end(place) {
                // One of ours says that all was well, one of Linux' was killed.
                End::Asked(server) if server.success() || commands.server.by == By::Linux => {
                    Ok(Said { server, client })
                }
                other => Err(self.failure(place, commands, client, other)),
            },
            (first_said, second_said) => {
                // Looked at before anybody is ended.
                let guest = self.state(place);
                let end = |player: Player, said: Option<Output>| match said {
                    Some(output) => End::Own(output),
                    None => player.end(place),
                };
                let is_first_ours = matches!((&first, &second), (Player::Ours(_), _));
                let (first, second) = (end(first, first_said), end(second, second_said));
                let (ours, other) = if is_first_ours { (first, second) } else { (second, first) };
                let ours = match ours {
                    End::Own(output) | End::Asked(output) => output,
                    End::Never(stuck, _) => stuck.output,
                };
                Err(Box::new(Failure { commands, ours, other, guest }))
            }
        }
    }

    fn failure(&self, place: &Place, commands: Commands, ours: Output, other: End) -> Box<Failure> {
        Box::new(Failure { commands, ours, other, guest: self.state(place) })
    }

    /// The guest's, if it is in the game.
    fn state(&self, place: &Place) -> Option<GuestState> {
        (self.peer == Peer::Linux).then(|| place.guest.state())
    }
}

impl Ready {
    #[track_caller]
    pub(super) fn wait(self, place: &Place, server: &mut Player) {
        match (self, server) {
            (Self::Says(word), Player::Ours(process)) => process.wait_for_line(word, LIMIT),
            (Self::Tcp(port), _) => place.guest.wait_for_listener(port, LIMIT),
            (Self::RdmaCm, _) => {
                let look = "for _ in $(seq 200); do rdma resource show cm_id | grep -q LISTEN && exit 0; \
                            sleep 0.1; done; exit 1";
                let said = place.guest.run(look, LIMIT);
                said.expect_success("waiting for somebody who listens by rdma_cm");
            }
            (Self::Says(_), Player::Linux(_)) => {}
        }
    }
}

impl Failure {
    /// What proves that it is not ours, if anything does. Who ends by himself with an error has found one.
    #[track_caller]
    pub(super) fn excuse(&self, captured: &Path) -> Option<Excuse> {
        let stuck = match &self.other {
            End::Own(_) => return None,
            End::Asked(_) => None,
            End::Never(stuck, then) => Some((stuck, &**then)),
        };
        let state = self.guest.as_ref()?;
        let excuse = Excuse::in_guest(state, stuck).or_else(|| Excuse::in_capture(captured, Place::GUEST))?;
        let gave_up = self.ours.stderr.contains("IBV_WC_RETRY_EXC_ERR");
        let waited = self.ours.status.is_none()
            || ["did not come within", "did not complete in"]
                .iter()
                .any(|word| self.ours.stderr.contains(word));
        let fits = match excuse {
            Excuse::Late { .. } => gave_up,
            Excuse::Stopped { .. } => waited,
            Excuse::Fallen { .. } | Excuse::Dead | Excuse::Unkillable { .. } => {
                gave_up || waited || self.ours.success()
            }
        };
        fits.then_some(excuse)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "server: {}\nclient: {}", self.commands.server.line, self.commands.client.line)?;
        writeln!(f, "ours: {}", self.ours)?;
        writeln!(f, "the other, {}", self.other)?;
        match &self.guest {
            Some(guest) => write!(f, "the guest: {guest}"),
            None => Ok(()),
        }
    }
}
