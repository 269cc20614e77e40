//! The game itself, between connected queue pairs.
//!
//! Each queue pair plays by itself: it sends its next message when its last one is done and the peer's is there. Rounds are
//! counted over all of them. `ibv_srq_pingpong` begins on all its queue pairs and goes on until it has had enough rounds, so
//! it may send more messages than rounds, by one a queue pair at most; we send just as many as there are rounds.

use std::collections::HashMap;
use std::time::Instant;

use rdmalab_device::{Completion, CompletionStatus, DeviceError, Qpn};

use super::error::PingpongError;
use super::kind::Kind;
use super::report::Report;
use super::table::{Request, Table};
use super::{Options, data};
use crate::herald::{SILENCE, Vigil};

/// What is waited for.
const NEXT: &str = "the next message (were both sides told the same -s and -n?)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Answers.
    Server,
    /// Begins.
    Client,
}

/// Plays all rounds.
pub(super) fn play(table: &Table<'_>, role: Role) -> Result<Report, PingpongError> {
    let options = table.session.options;
    let mut game = Game::new(table, role);
    let start = Instant::now();
    for place in 0..game.players.len() {
        game.go_on(place)?;
    }
    let report = |game: &Game<'_>, rounds| Report {
        rounds,
        size: options.size,
        time: start.elapsed(),
        unacknowledged: game.unacknowledged,
    };
    let (vigil, mut since) = (Vigil::new(&options.herald), Instant::now());
    while game.received < options.rounds || game.sent < options.rounds {
        let left = options.patience.map(|patience| patience.saturating_sub(since.elapsed()));
        match table.session.completions.wait(Some(left.unwrap_or(SILENCE).min(SILENCE))) {
            Ok(Some(completion)) => {
                game.handle(&completion)?;
                since = Instant::now();
                vigil.lasts(since.elapsed(), NEXT);
            }
            Ok(None) if options.patience.is_none_or(|patience| since.elapsed() < patience) => {
                vigil.lasts(since.elapsed(), NEXT);
            }
            Ok(None) => return Err(game.silence()),
            Err(DeviceError::Stopped) => {
                return Err(PingpongError::Interrupted(report(&game, game.received.min(game.sent))));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(report(&game, options.rounds))
}

/// One queue pair.
#[derive(Clone, Copy)]
struct Player {
    awaits_receive: bool,
    awaits_send: bool,
}

struct Game<'s> {
    table: &'s Table<'s>,
    options: &'s Options,
    role: Role,
    players: Vec<Player>,
    /// The places of queue pairs by number.
    places: HashMap<Qpn, usize>,
    /// Messages received, and messages of ours posted and done, of all queue pairs.
    received: u32,
    posted: u32,
    sent: u32,
    /// Room for the message that came.
    message: Vec<u8>,
    /// What the client sent last.
    sent_message: Vec<u8>,
    /// A message of ours was never acknowledged.
    unacknowledged: bool,
}

impl<'s> Game<'s> {
    fn new(table: &'s Table<'s>, role: Role) -> Self {
        let options = table.session.options;
        let places: HashMap<Qpn, usize> =
            table.numbers().enumerate().map(|(place, number)| (number, place)).collect();
        let player = Player { awaits_receive: role == Role::Server, awaits_send: false };
        Self {
            table,
            options,
            role,
            players: vec![player; places.len()],
            places,
            received: 0,
            posted: 0,
            sent: 0,
            message: vec![0; options.size as usize],
            sent_message: vec![0; options.size as usize],
            unacknowledged: false,
        }
    }

    /// Sends a queue pair's next message, if it is time.
    fn go_on(&mut self, place: usize) -> Result<(), PingpongError> {
        let player = &mut self.players[place];
        if player.awaits_receive || player.awaits_send || self.posted == self.options.rounds {
            return Ok(());
        }
        *player = Player { awaits_receive: true, awaits_send: true };
        if self.role == Role::Client {
            data::client(self.pattern(self.posted), self.options.check, &mut self.sent_message);
            self.table.write(place, &self.sent_message);
        }
        self.table.post_send(place)?;
        self.posted += 1;
        Ok(())
    }

    /// Which of the client's patterns a round has. The real `ibv_srq_pingpong` receives on all queue pairs into one buffer
    /// and may send back another queue pair's message: there all must be alike.
    fn pattern(&self, round: u32) -> u32 {
        if self.options.kind == Kind::Srq { 0 } else { round }
    }

    fn handle(&mut self, completion: &Completion) -> Result<(), PingpongError> {
        let request = Request::of(completion.id);
        if completion.status != CompletionStatus::Success {
            return self.handle_failure(request, completion.status);
        }
        let place = match request {
            Request::Send(place) => {
                self.sent += 1;
                self.players[place].awaits_send = false;
                place
            }
            Request::Receive(number) if !self.table.is_peers(completion.source) => {
                return self.table.post_receive(number);
            }
            Request::Receive(number) => {
                let Some(&place) = self.places.get(&completion.queue_pair) else { return Ok(()) };
                let round = self.received;
                if !std::mem::replace(&mut self.players[place].awaits_receive, false) {
                    return Err(PingpongError::OutOfTurn { round });
                }
                self.check(number, completion.length)?;
                if self.role == Role::Server && !self.table.echoes_in_place() {
                    self.table.write(place, &self.message);
                }
                self.received += 1;
                self.table.post_receive(number)?;
                place
            }
        };
        self.go_on(place)
    }

    fn handle_failure(&mut self, request: Request, status: CompletionStatus) -> Result<(), PingpongError> {
        let is_send = matches!(request, Request::Send(_));
        if is_send && status == CompletionStatus::RetryExceeded && self.only_lacks_acknowledgements() {
            self.sent += 1;
            self.unacknowledged = true;
            return Ok(());
        }
        let (request, round) = if is_send { ("send", self.sent) } else { ("receive", self.received) };
        Err(PingpongError::Failed { round, request, status })
    }

    /// Whether only acknowledgements of our last messages are missing. The real program leaves at its last completion and
    /// repeats nothing; if such an acknowledgement was lost, it never comes.
    fn only_lacks_acknowledgements(&self) -> bool {
        let rounds = self.options.rounds;
        self.received >= rounds && self.posted == rounds
    }

    /// Every byte of a message is what it must be.
    fn check(&mut self, number: u32, length: u32) -> Result<(), PingpongError> {
        let Options { kind, size, check, .. } = *self.options;
        let round = self.received;
        // A datagram's count has the place for the network header in it.
        let found = length.saturating_sub(self.table.header());
        if found != size {
            return Err(PingpongError::Length { round, found, expected: size });
        }
        self.table.read(number, &mut self.message);
        let wrong = match self.role {
            Role::Client => data::first_difference(&self.message, &self.sent_message),
            Role::Server => data::judge_client(self.pattern(round), check, kind.fill(), &self.message),
        };
        match wrong {
            None => Ok(()),
            Some((offset, found, expected)) => Err(PingpongError::Data { round, offset, found, expected }),
        }
    }

    /// Nothing has happened for as long as we wait.
    fn silence(&self) -> PingpongError {
        let patience = self.options.patience;
        let transport = match self.options.kind {
            Kind::Uc => "UC",
            Kind::Ud => "UD",
            Kind::Rc | Kind::Srq => return PingpongError::Silence { what: NEXT, patience },
        };
        PingpongError::Lost { round: self.received, transport, patience }
    }
}
