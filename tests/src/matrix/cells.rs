//! The cells with Linux' RoCE and among ourselves, as data. Not the full product: each value of each dimension meets each program in each role.

use super::{Cell, Family, Fault, Peer, Program, Role};

const ROLES: [Role; 2] = [Role::Client, Role::Server];
const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

/// MTUs of links, with which path MTUs of 2048, 1024, 512 and 256 bytes come about where the link decides.
const LINK_MTUS: [u16; 4] = [2200, 1500, 700, 400];

/// Kinds of pingpong, and what each is told.
const PINGPONG: [(&str, &[&str]); 4] = [
    (
        "rc",
        &[
            "-c -s 1 -n 50 -m 256",
            "-c -s 33 -n 50 -m 512",
            "-c -s 4096 -n 50 -m 1024",
            "-c -s 65537 -n 8 -m 2048",
            "-c -s 1048576 -n 3 -m 4096",
        ],
    ),
    (
        "uc",
        &[
            "-c -s 1 -n 20 -m 256",
            "-c -s 33 -n 20 -m 512",
            "-c -s 5000 -n 15 -m 1024",
            "-c -s 9000 -n 15 -m 2048",
            "-c -s 65537 -n 8 -m 4096",
        ],
    ),
    ("ud", &["-c -s 1 -n 20", "-c -s 33 -n 20", "-c -s 2000 -n 15", "-s 4096 -n 15 -r 1"]),
    (
        "srq",
        &[
            "-c -s 1 -n 40 -q 1 -m 256",
            // Fewer rounds than queue pairs: Linux sends more messages than it wants rounds.
            "-c -s 33 -n 10 -q 16 -r 16 -m 512",
            "-c -s 3000 -n 40 -q 16 -m 1024",
            "-s 100 -n 40 -q 3 -m 2048",
            "-c -s 65537 -n 16 -q 2 -m 4096",
        ],
    ),
];

/// perftest's programs, and what each is told that is the same for others.
const PERF: [(Program, &[&str]); 8] = [
    (Program::Perf("write", "ib_write_bw"), BANDWIDTH),
    (Program::Perf("read", "ib_read_bw"), BANDWIDTH),
    (Program::Perf("send", "ib_send_bw"), BANDWIDTH),
    (Program::Perf("atomic", "ib_atomic_bw"), ATOMIC_BANDWIDTH),
    (Program::Perf("write --lat", "ib_write_lat"), LATENCY),
    (Program::Perf("read --lat", "ib_read_lat"), LATENCY),
    (Program::Perf("send --lat", "ib_send_lat"), LATENCY),
    (Program::Perf("atomic --lat", "ib_atomic_lat"), ATOMIC_LATENCY),
];
const BANDWIDTH: &[&str] = &[
    "-s 1 -n 100 -m 256",
    "-s 33 -n 100 -m 512",
    "-s 1000 -n 20 -m 1024 -q 16",
    "-s 4097 -n 50 -m 2048",
    "-s 65537 -n 20 -m 4096",
    "-s 3001 -n 10 -m 256 -q 16",
    "-s 1048576 -n 5 -m 4096",
    "-s 3000 -n 20 -b -m 1024",
    "-R -s 33 -n 100",
    "-R -s 65537 -n 20",
    "-R -s 1000 -n 20 -q 16",
];
const LATENCY: &[&str] = &[
    "-s 1 -n 50 -m 256",
    "-s 33 -n 50 -m 512",
    "-s 1000 -n 50 -m 1024",
    "-s 4097 -n 50 -m 2048",
    "-s 65537 -n 10 -m 4096",
    "-s 1048576 -n 5 -m 4096",
    "-R -s 4097 -n 50",
];
const ATOMIC_BANDWIDTH: &[&str] = &[
    "-n 150 -m 256",
    "-n 150 -m 512",
    "-A CMP_AND_SWAP -b -n 20 -m 1024",
    "-n 20 -q 16 -m 2048",
    "-A CMP_AND_SWAP -n 150 -m 4096",
    "-R -n 100",
    "-R -n 20 -q 16",
];
const ATOMIC_LATENCY: &[&str] = &[
    "-n 50 -m 256",
    "-n 50 -m 512",
    "-A CMP_AND_SWAP -n 50 -m 1024",
    "-n 50 -m 2048",
    "-A CMP_AND_SWAP -n 50 -m 4096",
    "-R -n 50",
];

/// What only some programs of perftest have.
const OTHER_PERF: [Cell; 9] = [
    Cell::new(Program::Perf("send", "ib_send_bw"), "-R -s 4096 -n 50 -c UD").daily(),
    Cell::new(Program::Perf("send --lat", "ib_send_lat"), "-R -s 33 -n 20 -c UD"),
    Cell::new(Program::Perf("send", "ib_send_bw"), "-s 4096 -n 50 -c UD").daily(),
    Cell::new(Program::Perf("send", "ib_send_bw"), "-s 5000 -n 20 -c UC"),
    Cell::new(Program::Perf("write", "ib_write_bw"), "-s 5000 -n 20 -c UC"),
    Cell::new(Program::Perf("write --lat", "ib_write_lat"), "-s 5000 -n 20 -c UC").daily(),
    Cell::new(Program::Perf("send --lat", "ib_send_lat"), "-s 1 -n 20 -c UD").daily(),
    Cell::new(Program::Perf("send --lat", "ib_send_lat"), "-s 33 -n 20 -c UC"),
    Cell::new(Program::Perf("send", "ib_send_bw"), "-s 3000 -n 20 -b -q 2").daily(),
];

/// Pings of rping: how many of how many bytes.
const RPING: [&str; 4] = ["-C 50 -S 64", "-C 20 -S 23", "-C 20 -S 5001", "-C 10 -S 65535"];

/// Clients of Linux at our `serve`.
const SERVED: [Cell; 23] = [
    Cell::new(Program::Served("rping", 1), "rping -c -a ADDRESS -V -C 50 -S 1000"),
    Cell::new(Program::Served("ucmatose", 1), "ucmatose -s ADDRESS"),
    Cell::new(Program::Served("ucmatose", 64), "ucmatose -s ADDRESS -c 64"),
    Cell::new(Program::Served("ucmatose", 1000), "cmtime -s ADDRESS -c 1000"),
    Cell::new(Program::Served("udaddy", 1), "udaddy -s ADDRESS"),
    Cell::new(Program::Served("udaddy", 3), "udaddy -s ADDRESS -c 3 -C 30 -S 1001"),
    Cell::new(Program::Served("rping", 1), "rping -c -a ADDRESS -V -C 50 -S 1000").v6(),
    Cell::new(Program::Served("ucmatose", 1), "ucmatose -s ADDRESS").v6(),
    Cell::new(Program::Served("ucmatose", 64), "ucmatose -s ADDRESS -c 64").v6(),
    Cell::new(Program::Served("udaddy", 1), "udaddy -s ADDRESS").v6(),
    Cell::new(Program::Served("udaddy", 3), "udaddy -s ADDRESS -c 3 -C 30 -S 1001").v6(),
    Cell::new(Program::Served("rc_pingpong", 1), "ibv_rc_pingpong -g 1 -s 33 -n 30 ADDRESS")
        .serving(SHORT)
        .daily(),
    Cell::new(Program::Served("uc_pingpong", 1), "ibv_uc_pingpong -g 1 -p 18524 -s 33 -n 30 ADDRESS")
        .serving(SHORT),
    Cell::new(Program::Served("ud_pingpong", 1), "ibv_ud_pingpong -g 1 -p 18525 -s 33 -n 30 ADDRESS")
        .serving(SHORT),
    Cell::new(Program::Served("srq_pingpong", 1), "ibv_srq_pingpong -g 1 -p 18526 -s 33 -n 30 ADDRESS")
        .serving(SHORT),
    Cell::new(Program::Served("perf", 1), "ib_write_bw -F -x 1 -p 18516 -n 50 ADDRESS").daily(),
    Cell::new(Program::Served("perf", 1), "ib_read_bw -F -x 1 -p 18517 -n 50 ADDRESS"),
    // Whoever receives has to know how many there are.
    Cell::new(Program::Served("perf", 1), "ib_send_bw -F -x 1 -p 18518 ADDRESS"),
    Cell::new(Program::Served("perf", 1), "ib_atomic_bw -F -x 1 -p 18519 ADDRESS"),
    Cell::new(Program::Served("perf", 1), "ib_write_lat -F -x 1 -p 18520 ADDRESS"),
    Cell::new(Program::Served("perf", 1), "ib_read_lat -F -x 1 -p 18521 -n 50 ADDRESS").daily(),
    Cell::new(Program::Served("perf", 1), "ib_send_lat -F -x 1 -p 18522 ADDRESS"),
    Cell::new(Program::Served("perf", 1), "ib_atomic_lat -F -x 1 -p 18523 -n 50 ADDRESS"),
];
const SHORT: &str = "--pingpong-size 33 --pingpong-rounds 30";

/// Servers of Linux, called by our clients.
const CALLED: [Cell; 6] = [
    Cell::new(Program::Called("ucmatose"), "").daily(),
    Cell::new(Program::Called("ucmatose"), "-c 64 -C 3 -S 5000").daily(),
    Cell::new(Program::Called("ucmatose"), "-c 1000 -C 1"),
    Cell::new(Program::Called("ucmatose"), "-c 64").v6().daily(),
    Cell::new(Program::Called("udaddy"), "").daily(),
    Cell::new(Program::Called("udaddy"), "-c 3 -C 30 -S 1001").v6().daily(),
];

/// What is played under each fault. The list of operations has no READ of no bytes: Linux never answers one that is asked
/// for again.
const FAULTY: [Cell; 9] = [
    Cell::new(Program::Pingpong("rc"), "-c -s 4096 -n 140 -m 1024"),
    Cell::new(Program::Pingpong("rc"), "-c -s 65537 -n 16 -m 4096"),
    Cell::new(Program::Pingpong("srq"), "-c -s 3000 -n 140 -q 4 -m 1024"),
    Cell::new(Program::Perf("write", "ib_write_bw"), "-s 8193 -n 60 -m 1024"),
    Cell::new(Program::Perf("read", "ib_read_bw"), "-s 8193 -n 60 -m 1024"),
    Cell::new(Program::Perf("send", "ib_send_bw"), "-s 8193 -n 60 -m 1024"),
    Cell::new(Program::Perf("atomic", "ib_atomic_bw"), "-n 300 -m 1024"),
    Cell::new(
        Program::Verbs,
        "WRITE:33*50,WRITE:65537*2,READ:33*50,READ:65537*2,SEND:33*50,SEND:4097*4,CMP_SWAP*50,CMP_SWAP_MISS*10,FETCH_ADD*50",
    ),
    Cell::new(Program::Rping, "-C 40 -S 5001"),
];

/// What two of ours play with each other.
const AMONG_OURS: [Cell; 9] = [
    Cell::new(Program::Pingpong("rc"), "-c -s 65537 -n 50 -m 4096"),
    Cell::new(Program::Pingpong("ud"), "-c -s 2000 -n 50"),
    Cell::new(Program::Perf("write", "ib_write_bw"), "-s 65537 -n 200"),
    Cell::new(Program::Perf("read", "ib_read_bw"), "-s 33 -n 500 -q 16"),
    Cell::new(Program::Perf("send --lat", "ib_send_lat"), "-s 4097 -n 200"),
    Cell::new(Program::Perf("atomic", "ib_atomic_bw"), "-R -n 500"),
    Cell::new(Program::Rping, "-C 200 -S 5001"),
    Cell::new(Program::Served("ucmatose", 64), "ucmatose -s ADDRESS -c 64"),
    Cell::new(Program::Served("udaddy", 3), "udaddy -s ADDRESS -c 3 -C 30 -S 1001"),
];

/// All of them.
pub(super) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for role in ROLES {
        without_faults(role, &mut cells);
    }
    for role in ROLES {
        for mtu in LINK_MTUS {
            cells.extend(managed_at(mtu, role));
        }
    }
    for (number, fault) in Fault::ALL.into_iter().enumerate() {
        for role in ROLES {
            // Daily one or two with each fault.
            let daily = |place: usize| (place + number) % 6 == 3 * usize::from(role == Role::Server);
            let faulty = FAULTY
                .iter()
                .enumerate()
                .filter(|(_, cell)| cell.program != Program::Rping || is_told(fault, role));
            cells.extend(faulty.map(|(place, cell)| Cell { role, fault, daily: daily(place), ..*cell }));
        }
    }
    let mut number = 0;
    for peer in [Peer::OursAtTap, Peer::OursAtVeth] {
        for in_vlan in [false, true] {
            for family in FAMILIES {
                // Daily each with a third of what there is.
                let cells_of_one = AMONG_OURS.iter().zip(number..);
                let cell = |(cell, place): (&Cell, usize)| Cell {
                    peer,
                    in_vlan,
                    family,
                    role: Role::Client,
                    daily: place % 3 == 0,
                    ..*cell
                };
                cells.extend(cells_of_one.map(cell));
                number += 1;
            }
        }
    }
    cells
}

/// Linux' rping asks once for the end of its connection and is gone; if that is lost, its server waits, and not for less than
/// a minute.
fn is_told(fault: Fault, role: Role) -> bool {
    role == Role::Server || !fault.loses()
}

/// Where all packets arrive.
fn without_faults(role: Role, cells: &mut Vec<Cell>) {
    // Each program in each role daily, with a part of what it is told.
    let is_daily = |number: usize| number % 5 == 2 * usize::from(role == Role::Server);
    let mut number = 0;
    let mut add = |cell: Cell| {
        cells.push(Cell { role, daily: cell.daily || is_daily(number), ..cell });
        number += 1;
    };
    for (kind, told) in PINGPONG {
        for family in FAMILIES {
            told.iter()
                .for_each(|options| add(Cell { family, ..Cell::new(Program::Pingpong(kind), options) }));
        }
    }
    for (program, told) in PERF {
        told.iter().for_each(|options| add(Cell::new(program, options)));
        add(Cell::new(program, told[3]).v6());
    }
    OTHER_PERF.into_iter().for_each(&mut add);
    for family in FAMILIES {
        RPING.iter().for_each(|options| add(Cell { family, ..Cell::new(Program::Rping, options) }));
    }
    let others: &[Cell] = if role == Role::Client { &SERVED } else { &CALLED };
    cells.extend(others.iter().map(|cell| Cell { role, ..*cell }));
}

/// perftest connected by rdma_cm, where the link's MTU decides about the path's.
fn managed_at(mtu: u16, role: Role) -> impl Iterator<Item = Cell> {
    PERF.into_iter().enumerate().map(move |(number, (program, told))| {
        let has_size = told == BANDWIDTH || told == LATENCY;
        let options = if has_size { "-R -s 5001 -n 20" } else { "-R -n 20" };
        let daily = mtu == 1500 && number % 3 == usize::from(role == Role::Server);
        Cell { role, daily, ..Cell::new(program, options).at_mtu(mtu) }
    })
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
        for role in ROLES {
            for (program, _) in PERF {
                let Program::Perf(word, _) = program else { panic!("{program:?}") };
                let of =
                    |cell: &Cell| cell.program == program && cell.role == role && cell.peer == Peer::Linux;
                let atomic = word.starts_with("atomic");
                for size in [1, 33, 1000, 4097, 65537, 1 << 20] {
                    assert!(
                        atomic || has(|cell| of(cell) && cell.option("-s") == Some(size)),
                        "{program:?} {size}"
                    );
                }
                for mtu in [256, 512, 1024, 2048, 4096] {
                    assert!(has(|cell| of(cell) && cell.option("-m") == Some(mtu)), "{program:?} {mtu}");
                }
                for mtu in LINK_MTUS {
                    assert!(has(|cell| of(cell) && cell.has("-R") && cell.link_mtu == mtu));
                }
                assert!(has(|cell| of(cell) && cell.has("-R") && cell.link_mtu == Cell::LINK_MTU));
                for managed in [false, true] {
                    let many = |cell: &Cell| cell.option("-q") == Some(16) && cell.has("-R") == managed;
                    assert!(
                        word.ends_with("--lat") || has(|cell| of(cell) && many(cell)),
                        "{program:?} -q 16"
                    );
                }
                for family in FAMILIES {
                    assert!(has(|cell| of(cell) && cell.family == family));
                }
                assert!(has(|cell| of(cell) && cell.daily), "{program:?} daily");
            }
            for fault in Fault::ALL {
                for word in ["write", "read", "send", "atomic"] {
                    let is = |cell: &Cell| matches!(cell.program, Program::Perf(of, _) if of == word);
                    assert!(has(|cell| is(cell) && cell.role == role && cell.fault == fault));
                }
                let verbs =
                    |cell: &Cell| cell.program == Program::Verbs && cell.role == role && cell.fault == fault;
                assert!(has(verbs));
                assert!(has(|cell| cell.daily && cell.role == role && cell.fault == fault));
            }
            for (kind, _) in PINGPONG {
                for family in FAMILIES {
                    let of = |cell: &Cell| {
                        cell.program == Program::Pingpong(kind) && cell.role == role && cell.family == family
                    };
                    assert!(has(|cell| of(cell) && cell.peer == Peer::Linux), "{kind}");
                    assert!(has(|cell| of(cell) && cell.daily), "{kind} daily");
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
