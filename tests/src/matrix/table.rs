//! A group's games, played one behind the other, with one capture, which three judges read.
//!
//! A cell that fails is played again, with a fresh guest, if there is evidence that the guest has failed, and either its kernel says
//! so itself or packets were mistreated; twice in a group at most, and loudly.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use super::game::Failure;
use super::sent::Sent;
use super::{Carrier, Cell, Family, Fault, Group, Iwarp, Peer, Played, Program};
use crate::{Adapter, Capture, Place, Verdict};

/// How many games of a group may be played again.
const REPETITIONS: u32 = 2;

/// Why a cell failed.
enum Fails {
    Game(Box<Failure>),
    /// Both programs were content, and what they said was not right.
    Results(String),
}

impl std::fmt::Display for Fails {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Game(failure) => write!(f, "{failure}"),
            Self::Results(text) => f.write_str(text),
        }
    }
}

/// The players' place, while a group is played.
pub(super) struct Table<'a> {
    place: &'a mut Place,
    group: &'a Group,
    /// What runs, unless ours record for themselves.
    capture: Option<Capture>,
    /// Nothing has been played since it began.
    is_fresh: bool,
    /// What netem had taken, or let pass, when the last game ended.
    dropped: u64,
    /// What ours sent since the capture began.
    sent: Sent,
    /// RoCE packets in the captures that were judged.
    packets: u64,
    repetitions: u32,
}

impl<'a> Table<'a> {
    /// Makes the circumstances, and begins a capture.
    #[track_caller]
    pub(super) fn prepare(place: &'a mut Place, group: &'a Group) -> Self {
        let mut table = Self {
            place,
            group,
            capture: None,
            is_fresh: true,
            dropped: 0,
            sent: Sent::default(),
            packets: 0,
            repetitions: 0,
        };
        table.set();
        table
    }

    #[track_caller]
    fn set(&mut self) {
        let (place, group) = (&*self.place, self.group);
        let setting = &group.setting;
        if setting.peer == Peer::Linux {
            place.set_mtu(setting.link_mtu);
            place.guest.switch_to(if setting.iwarp.is_some() { Adapter::Siw } else { Adapter::Rxe });
            // Servers of rping listen at all addresses, of both families.
            let needs_v6 = |cell: &Cell| cell.family == Family::V6 || cell.program == Program::Rping;
            if group.cells.iter().any(needs_v6) {
                place.give_v6();
            }
            if let Some(iwarp) = setting.iwarp {
                match iwarp.carrier {
                    Carrier::Sockets => place.move_in(),
                    Carrier::Host => place.move_in_beside(),
                }
                place.forget_neighbours();
            }
            if let Some(words) = setting.fault.netem() {
                match setting.iwarp {
                    None => place.guest.netem_roce(words),
                    Some(_) => place.guest.netem_tcp(words),
                }
                self.dropped = 0;
            }
        }
        self.capture = setting.interface(place).map(|interface| place.network.capture(interface, "matrix"));
        self.is_fresh = true;
        self.sent = Sent::default();
    }

    /// Plays a cell, again if the guest has failed.
    pub(super) fn play(&mut self, cell: &Cell) -> Played {
        let mut again = Vec::new();
        loop {
            self.is_fresh = false;
            let started = Instant::now();
            let port = self.place.next_port();
            let outcome = self.game(cell, port);
            let seconds = started.elapsed().as_secs_f64();
            let Err(failure) = outcome else {
                return Played { cell: *cell, seconds, again, failure: None };
            };
            self.sent.add(Sent::UNKNOWN);
            let captured = self.capture.take().map(Capture::finish);
            let excuse = match (&failure, &captured) {
                (Fails::Game(failure), Some(captured)) => failure.excuse(captured),
                _ => None,
            };
            let excuse = excuse.filter(|excuse| cell.fault != Fault::None || excuse.needs_no_faults());
            let sound = captured.map_or(Ok(()), |captured| self.judge(&captured));
            if self.group.setting.peer == Peer::Linux {
                self.place.renew();
            }
            self.set();
            match (excuse, sound) {
                (Some(excuse), Ok(())) if self.repetitions < REPETITIONS => {
                    self.repetitions += 1;
                    // Not eprintln!: the test runner swallows the output of tests that pass.
                    let _ = writeln!(
                        std::io::stderr(),
                        "PLAYED AGAIN, with a fresh guest: {cell}: {excuse}\n{failure}"
                    );
                    again.push(excuse.to_string());
                }
                (_, sound) => {
                    let unsound = sound.err().map_or(String::new(), |fault| format!("{fault}\n"));
                    let failure = Some(format!("{unsound}{failure}"));
                    return Played { cell: *cell, seconds, again, failure };
                }
            }
        }
    }

    fn game(&mut self, cell: &Cell, port: u16) -> Result<(), Fails> {
        let record =
            (self.group.setting.peer == Peer::OursAtVeth).then(|| self.place.network.file("matrix.pcapng"));
        let play = || match cell.mishap {
            None => {
                let said = cell.play(self.place, port, record.as_deref()).map_err(Fails::Game)?;
                cell.check(&said).map_err(Fails::Results)?;
                Ok(Sent::of(&said, if cell.peer == Peer::Linux { 1 } else { 2 }))
            }
            Some(mishap) => {
                cell.go_wrong(mishap, self.place, port).map_err(Fails::Results)?;
                Ok(Sent::UNKNOWN)
            }
        };
        let sent = catch_unwind(AssertUnwindSafe(play))
            .unwrap_or_else(|panic| Err(Fails::Results(words(&*panic))))?;
        self.sent.add(sent);
        if let Some(record) = record {
            self.judge_and_remove(&record).map_err(Fails::Results)?;
        }
        if self.group.setting.peer == Peer::Linux && cell.fault.always_strikes() {
            let guest = &self.place.guest;
            let now = if cell.fault.loses() { guest.netem_dropped() } else { guest.netem_passed() };
            if now <= self.dropped {
                return Err(Fails::Results("nothing happened to the guest's packets".to_owned()));
            }
            self.dropped = now;
        }
        Ok(())
    }

    /// Has a capture judged.
    #[track_caller]
    fn judge(&mut self, captured: &Path) -> Result<(), String> {
        let verdict = Verdict::of(&self.place.network, captured);
        let sound = match self.group.setting.iwarp {
            None => verdict.sound().and_then(|()| self.sent.fits(&verdict.conduct)),
            // Where nobody listens, nothing is said.
            Some(_) if self.group.setting.ends_badly && verdict.is_silent() => verdict.conduct.sound(),
            Some(Iwarp { crc, .. }) => verdict.sound_iwarp(crc, self.group.setting.fault.way()),
        };
        sound.map_err(|fault| format!("the capture {} is not sound: {fault}", captured.display()))?;
        let fpdus = &verdict.ours.fpdus;
        self.packets += verdict.ours.roce + fpdus.crc_right + fpdus.crc_absent;
        Ok(())
    }

    /// As [`Table::judge`]; what is sound is not kept.
    #[track_caller]
    fn judge_and_remove(&mut self, captured: &Path) -> Result<(), String> {
        self.judge(captured)?;
        self.sent = Sent::default();
        let _ = std::fs::remove_file(captured);
        Ok(())
    }

    /// Takes the circumstances away. Gives the number of RoCE packets that were captured, or says what is wrong with one of
    /// them.
    #[track_caller]
    pub(super) fn clear(mut self) -> Result<u64, String> {
        let setting = self.group.setting;
        if setting.peer == Peer::Linux {
            if setting.fault != Fault::None {
                self.place.guest.clear_netem();
            }
            if setting.link_mtu != Cell::LINK_MTU {
                self.place.set_mtu(Cell::LINK_MTU);
            }
            if setting.iwarp.is_some() {
                self.place.move_out();
            }
        }
        if let Some(capture) = self.capture.take()
            && !self.is_fresh
        {
            self.judge_and_remove(&capture.finish())?;
        }
        if setting.ends_badly && setting.iwarp.is_some_and(|iwarp| iwarp.carrier == Carrier::Host) {
            // It still sends to hosts that were killed, and a capture that begins so would be read in two ways.
            self.place.renew();
        }
        Ok(self.packets)
    }
}

/// What a panic says.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}
