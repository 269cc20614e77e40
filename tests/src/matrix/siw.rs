//! The part of the matrix that is played with siw, Linux' iWARP: how we speak it, and the cells, as data.
//!
//! Not the full product: each program in each role meets each size and each number of queue pairs over both carriers, once with
//! CRCs and once without. None of it is played daily yet: siw as a server does not look at what comes while it accepts until
//! something else comes, and our first message is there by then.

use std::fmt;

use super::{Cell, Family, Fault, Program, Role};

/// Whose TCP ours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// That of an emulated host, at a TAP.
    Host,
    /// The kernel's, by its sockets.
    Sockets,
}

/// How we speak iWARP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iwarp {
    /// Whose TCP it is.
    pub carrier: Carrier,
    /// Whether we ask for CRCs. siw does not, and gives them to whoever asks.
    pub crc: bool,
}

impl Iwarp {
    /// The two of them that a cell is played with, by its place: over both carriers, with CRCs over one of them.
    fn two(place: usize) -> [Self; 2] {
        let crc = place.is_multiple_of(2);
        [Self { carrier: Carrier::Host, crc }, Self { carrier: Carrier::Sockets, crc: !crc }]
    }

    /// The MTU of the link: that of most networks, and one with longer FPDUs.
    fn link_mtu(self) -> u16 {
        if self.crc { 1500 } else { Cell::LINK_MTU }
    }

    /// What ours is told.
    pub(super) fn options(self) -> &'static str {
        if self.crc {
            "--iwarp --iwarp-profile siw --crc on"
        } else {
            "--iwarp --iwarp-profile siw --crc off"
        }
    }
}

impl fmt::Display for Iwarp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.carrier {
            Carrier::Host => "siw, TAP",
            Carrier::Sockets => "siw, sockets",
        })?;
        f.write_str(if self.crc { ", CRC" } else { "" })
    }
}

/// perftest's programs, and what each is told. rdma_cm is the only way to connect.
const PERF: [(Program, &[&str]); 6] = [
    (Program::Perf("write", "ib_write_bw"), BANDWIDTH),
    (Program::Perf("read", "ib_read_bw"), BANDWIDTH),
    (Program::Perf("send", "ib_send_bw"), BANDWIDTH),
    (Program::Perf("write --lat", "ib_write_lat"), LATENCY),
    (Program::Perf("read --lat", "ib_read_lat"), LATENCY),
    (Program::Perf("send --lat", "ib_send_lat"), LATENCY),
];
const BANDWIDTH: &[&str] = &[
    "-R -s 1 -n 100",
    "-R -s 33 -n 50 -q 16",
    "-R -s 4097 -n 100",
    "-R -s 65537 -n 20",
    "-R -s 1048576 -n 5",
    "-R -s 65537 -n 5 -q 16",
    "-R -s 3000 -n 30 -b",
];
const LATENCY: &[&str] =
    &["-R -s 1 -n 50", "-R -s 33 -n 50", "-R -s 4097 -n 50", "-R -s 65537 -n 10", "-R -s 1048576 -n 5"];

/// Pings of rping.
const RPING: [&str; 4] = ["-C 50 -S 64", "-C 20 -S 23", "-C 20 -S 5001", "-C 10 -S 65535"];

/// Clients of Linux at our `serve`; an emulated host has room for 64 connections.
const SERVED: [Cell; 4] = [
    Cell::new(Program::Served("rping", 1), "rping -c -a ADDRESS -V -C 50 -S 1000"),
    Cell::new(Program::Served("ucmatose", 1), "ucmatose -s ADDRESS"),
    Cell::new(Program::Served("ucmatose", 32), "ucmatose -s ADDRESS -c 32"),
    Cell::new(Program::Served("ucmatose", 8), "ucmatose -s ADDRESS -c 8 -C 10 -S 100").v6(),
];

/// Servers of Linux, called by our clients.
const CALLED: [Cell; 3] = [
    Cell::new(Program::Called("ucmatose"), ""),
    Cell::new(Program::Called("ucmatose"), "-c 32 -C 3 -S 5000"),
    Cell::new(Program::Called("ucmatose"), "-c 8").v6(),
];

/// What is played where segments are lost, late or out of order.
const FAULTY: [Cell; 4] = [
    Cell::new(Program::Perf("write", "ib_write_bw"), "-R -s 8193 -n 60"),
    Cell::new(Program::Perf("read", "ib_read_bw"), "-R -s 8193 -n 60"),
    Cell::new(Program::Perf("send", "ib_send_bw"), "-R -s 8193 -n 60"),
    Cell::new(Program::Rping, "-C 40 -S 5001"),
];
const FAULTS: [Fault; 3] = [Fault::Loss1, Fault::Reordering, Fault::Delay];

/// All cells with siw.
pub(super) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for role in [Role::Client, Role::Server] {
        let mut number = usize::from(role == Role::Server);
        let mut add = |cell: Cell| {
            for iwarp in Iwarp::two(number) {
                let link_mtu = iwarp.link_mtu();
                cells.push(Cell { role, iwarp: Some(iwarp), link_mtu, ..cell });
            }
            number += 1;
        };
        for (program, told) in PERF {
            told.iter().for_each(|options| add(Cell::new(program, options)));
            add(Cell::new(program, told[2]).v6());
        }
        for family in [Family::V4, Family::V6] {
            RPING.iter().for_each(|options| add(Cell { family, ..Cell::new(Program::Rping, options) }));
        }
        let others: &[Cell] = if role == Role::Client { &SERVED } else { &CALLED };
        others.iter().for_each(|cell| add(*cell));
    }
    for (number, fault) in FAULTS.into_iter().enumerate() {
        for role in [Role::Client, Role::Server] {
            let number = number + usize::from(role == Role::Server);
            for cell in FAULTY {
                for iwarp in Iwarp::two(number) {
                    let link_mtu = iwarp.link_mtu();
                    cells.push(Cell { role, fault, iwarp: Some(iwarp), link_mtu, ..cell });
                }
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether some cell has it, of those that `of` lets through.
    fn has(of: impl Fn(&Cell) -> bool) -> bool {
        cells().iter().any(of)
    }

    #[test]
    fn each_program_meets_each_value_of_each_dimension_in_each_role() {
        let carriers = [Carrier::Host, Carrier::Sockets];
        for role in [Role::Client, Role::Server] {
            for carrier in carriers {
                let is = |cell: &Cell| {
                    cell.role == role && cell.iwarp.is_some_and(|iwarp| iwarp.carrier == carrier)
                };
                for (program, told) in PERF {
                    let of = |cell: &Cell| is(cell) && cell.program == program;
                    for size in [1, 33, 4097, 65537, 1 << 20] {
                        assert!(
                            has(|cell| of(cell) && cell.option("-s") == Some(size)),
                            "{program:?} {size}"
                        );
                    }
                    for crc in [false, true] {
                        assert!(has(|cell| of(cell) && cell.iwarp.is_some_and(|iwarp| iwarp.crc == crc)));
                    }
                    assert!(told != BANDWIDTH || has(|cell| of(cell) && cell.option("-q") == Some(16)));
                    assert!(has(|cell| of(cell) && cell.family == Family::V6));
                }
                for fault in FAULTS {
                    assert!(has(|cell| is(cell) && cell.fault == fault));
                }
            }
        }
    }
}
