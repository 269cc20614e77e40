//! All cells with siw, as data.
//!
//! perftest's programs meet the full product of role, carrier, CRCs, sizes and numbers of queue pairs, and so does what is refused. The rest is
//! played in both roles over both carriers, once with CRCs and once without.

use super::daily::Choice;
use super::{Carrier, Iwarp};
use crate::matrix::{Cell, Fault, Mishap, Program, Role};

const ROLES: [Role; 2] = [Role::Client, Role::Server];

/// perftest's programs, and what each is told. rdma_cm is the only way to connect, for which these programs take no IPv6 address.
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
    "-R -s 33 -n 100",
    "-R -s 65536 -n 20",
    "-R -s 1048576 -n 5",
    "-R -s 1 -n 20 -q 16",
    "-R -s 33 -n 20 -q 16",
    "-R -s 65536 -n 5 -q 16",
    "-R -s 1048576 -n 5 -q 16",
];
const LATENCY: &[&str] = &["-R -s 1 -n 50", "-R -s 33 -n 50", "-R -s 65536 -n 10", "-R -s 1048576 -n 5"];

/// Pings of rping.
const RPING: [&str; 4] = ["-C 50 -S 64", "-C 20 -S 23", "-C 20 -S 5001", "-C 10 -S 65535"];

/// Clients of Linux at our `serve`; an emulated host has room for 64 connections.
const SERVED: [Cell; 4] = [
    Cell::new(Program::Served("rping", 1), "rping -c -a ADDRESS -V -C 50 -S 1000"),
    Cell::new(Program::Served("ucmatose", 1), "ucmatose -s ADDRESS"),
    Cell::new(Program::Served("ucmatose", 32), "ucmatose -s ADDRESS -c 32"),
    FEW[0].v6(),
];

/// Servers of Linux, called by our clients.
const CALLED: [Cell; 3] = [
    Cell::new(Program::Called("ucmatose"), ""),
    Cell::new(Program::Called("ucmatose"), "-c 32 -C 3 -S 5000"),
    FEW[1].v6(),
];

/// A few of ucmatose's connections, by the role of Linux.
const FEW: [Cell; 2] = [
    Cell::new(Program::Served("ucmatose", 8), "ucmatose -s ADDRESS -c 8"),
    Cell::new(Program::Called("ucmatose"), "-c 8"),
];

/// What is played where segments are lost, late or out of order; a few connections of ucmatose, too.
const FAULTY: [Cell; 7] = [
    Cell::new(PERF[0].0, "-R -s 8193 -n 60"),
    Cell::new(PERF[1].0, "-R -s 8193 -n 60"),
    Cell::new(PERF[2].0, "-R -s 8193 -n 60"),
    Cell::new(PERF[3].0, "-R -s 8193 -n 30"),
    Cell::new(PERF[4].0, "-R -s 8193 -n 30"),
    Cell::new(PERF[5].0, "-R -s 8193 -n 30"),
    Cell::new(Program::Rping, "-C 40 -S 5001"),
];
const FAULTS: [Fault; 3] = [Fault::Loss1, Fault::Reordering, Fault::Delay];

/// What is played until somebody is killed.
const ENDLESS: [Cell; 4] = [
    Cell::new(PERF[0].0, "-R -s 65536 -n 100000"),
    Cell::new(PERF[1].0, "-R -s 65536 -n 100000"),
    Cell::new(PERF[2].0, "-R -s 65536 -n 100000"),
    Cell::new(Program::Rping, "-C 1000000 -S 65535"),
];
/// Its client is killed, and our `serve` goes on.
const LEAVES: Cell = Cell::new(Program::Served("rping", 1), "rping -c -a ADDRESS -V -C 1000000 -S 65535");

/// What is refused, as `siw-end` is told. With "nothing" wrong the request is carried out.
const REFUSED: [&str; 13] = [
    "--case rejected",
    "--case siw-is-asked --wrong nothing",
    "--case siw-is-asked --wrong stag",
    "--case siw-is-asked --wrong beginning",
    "--case siw-is-asked --wrong end",
    "--case siw-is-asked --wrong right",
    "--case siw-has-no-receive",
    "--case we-are-asked --wrong nothing",
    "--case we-are-asked --wrong stag",
    "--case we-are-asked --wrong beginning",
    "--case we-are-asked --wrong end",
    "--case we-are-asked --wrong right",
    "--case we-have-no-receive",
];

/// All of them, those of each day marked.
pub(in crate::matrix) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for role in ROLES {
        without_faults(role, &mut cells);
    }
    for role in ROLES {
        under_faults(role, &mut cells);
    }
    for role in ROLES {
        with_mishaps(role, &mut cells);
    }
    for role in ROLES {
        REFUSED.iter().for_each(|what| {
            cells.extend(everywhere(Cell { role, ..Cell::new(Program::Refused, what) }));
        });
    }
    let mut choice = Choice::of(&cells);
    cells.iter_mut().for_each(|cell| cell.daily = choice.takes(cell));
    cells
}

/// Spoken in this way.
fn by(iwarp: Iwarp, cell: Cell) -> Cell {
    Cell { iwarp: Some(iwarp), link_mtu: iwarp.link_mtu(), ..cell }
}

/// Over each carrier, with CRCs and without.
fn everywhere(cell: Cell) -> impl Iterator<Item = Cell> {
    Iwarp::ALL.into_iter().map(move |iwarp| by(iwarp, cell))
}

/// Over each carrier, with CRCs over one of them, by the cell's place.
fn in_two_ways(place: usize, cell: Cell) -> impl Iterator<Item = Cell> {
    Iwarp::two(place).into_iter().map(move |iwarp| by(iwarp, cell))
}

/// Where all segments arrive.
fn without_faults(role: Role, cells: &mut Vec<Cell>) {
    let mut others = Vec::new();
    for (program, told) in PERF {
        for options in told {
            cells.extend(everywhere(Cell { role, ..Cell::new(program, options) }));
        }
        others.push(Cell::new(program, "-R -s 4097 -n 50"));
        if told == BANDWIDTH {
            others.push(Cell::new(program, "-R -s 3000 -n 30 -b"));
        }
    }
    for options in RPING {
        cells.extend(everywhere(Cell { role, ..Cell::new(Program::Rping, options) }));
    }
    others.extend([RPING[0], RPING[3]].map(|options| Cell::new(Program::Rping, options).v6()));
    others.extend(if role == Role::Client { &SERVED[..] } else { &CALLED });
    for (place, cell) in others.into_iter().enumerate() {
        cells.extend(in_two_ways(place, Cell { role, ..cell }));
    }
}

/// Where they are lost, late or out of order.
fn under_faults(role: Role, cells: &mut Vec<Cell>) {
    for (number, fault) in FAULTS.into_iter().enumerate() {
        let few = FEW[usize::from(role == Role::Server)];
        for (place, cell) in FAULTY.into_iter().chain([few]).enumerate() {
            cells.extend(in_two_ways(place + number, Cell { role, fault, ..cell }));
        }
    }
}

/// Where there is nobody, or nobody any more.
fn with_mishaps(role: Role, cells: &mut Vec<Cell>) {
    let few = FEW[usize::from(role == Role::Server)];
    let callers = [PERF[0].0, PERF[1].0, PERF[2].0].map(|program| Cell::new(program, "-R -s 33 -n 20"));
    let callers = callers.into_iter().chain([Cell::new(Program::Rping, RPING[0]), few]);
    for (place, cell) in callers.enumerate() {
        let mishap = Some(Mishap::NobodyListens);
        cells.extend(in_two_ways(place, Cell { role, mishap, ..cell }));
    }
    for (number, victim) in ROLES.into_iter().enumerate() {
        let leaves = (role == Role::Client && victim == Role::Client).then_some(LEAVES);
        for (place, cell) in ENDLESS.into_iter().chain(leaves).enumerate() {
            let killed = Cell { role, mishap: Some(Mishap::Killed(victim)), ..cell };
            cells.extend(in_two_ways(place + number, killed).filter(|cell| is_noticed(cell, victim)));
        }
    }
}

/// Whether Linux can know that its peer is no more. The kernel says so for who had its TCP. An emulated host is silent from
/// one moment to the next, and who has nothing to send to it waits for ever; as a server of perftest does, too, on the connection
/// over which results are told.
fn is_noticed(cell: &Cell, victim: Role) -> bool {
    let is_silent = victim != cell.role && cell.iwarp.is_some_and(|iwarp| iwarp.carrier == Carrier::Host);
    let sends = matches!(cell.program, Program::Perf("write" | "send", _)) && cell.role == Role::Client;
    !is_silent || sends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Family;

    #[test]
    fn each_program_meets_each_value_of_each_dimension_in_each_role() {
        let cells = cells();
        let has = |of: &dyn Fn(&Cell) -> bool| cells.iter().any(of);
        for role in ROLES {
            for iwarp in Iwarp::ALL {
                let is = |cell: &Cell| cell.role == role && cell.iwarp == Some(iwarp);
                for (program, told) in PERF {
                    let of = |cell: &Cell| is(cell) && cell.program == program && cell.mishap.is_none();
                    for size in [1, 33, 65536, 1 << 20] {
                        for pairs in [None, Some(16)] {
                            assert!(
                                pairs.is_some() && told == LATENCY
                                    || has(&|cell| of(cell)
                                        && cell.option("-s") == Some(size)
                                        && cell.option("-q") == pairs),
                                "{program:?} {size} {pairs:?}"
                            );
                        }
                    }
                }
                for options in REFUSED {
                    assert!(has(&|cell| is(cell) && cell.options == options), "{options}");
                }
                for fault in FAULTS {
                    assert!(has(&|cell| is(cell) && cell.fault == fault));
                }
            }
            for carrier in [Carrier::Host, Carrier::Sockets] {
                let is = |cell: &Cell| {
                    cell.role == role && cell.iwarp.is_some_and(|iwarp| iwarp.carrier == carrier)
                };
                assert!(has(&|cell| is(cell) && cell.program == Program::Rping && cell.family == Family::V6));
                for (program, _) in PERF {
                    let of = |cell: &Cell| is(cell) && cell.program == program;
                    for fault in FAULTS {
                        assert!(has(&|cell| of(cell) && cell.fault == fault));
                    }
                }
                assert!(has(&|cell| is(cell) && cell.mishap == Some(Mishap::NobodyListens)));
                for victim in ROLES {
                    // Of an emulated host that is killed, Linux' servers hear nothing.
                    let is_heard = (carrier, role, victim) != (Carrier::Host, Role::Server, Role::Client);
                    let killed = Some(Mishap::Killed(victim));
                    assert_eq!(has(&|cell| is(cell) && cell.mishap == killed), is_heard);
                }
            }
        }
    }

    #[test]
    fn no_cell_is_there_twice() {
        let mut all: Vec<String> = cells().iter().map(Cell::to_string).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
