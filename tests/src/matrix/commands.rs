//! The command lines of a cell: of who is called, and of who calls.

use std::path::Path;

use super::{Carrier, Cell, Family, Iwarp, Peer, Program, Role};
use crate::{Adapter, Guest, Network, Place};

/// Our GIDs and the guest's: link-local, IPv4, IPv6.
const GIDS: [(Family, u32); 2] = [(Family::V4, Guest::GID), (Family::V6, 2)];

/// For how many seconds one of ours lets its peer be silent. A server hears nothing of WRITEs until all have come, and an emulated
/// processor computes the CRCs of two megabytes in a second.
const PATIENCE: u32 = 30;
const PATIENCE_OVER_IWARP: u32 = 120;

/// How far from a game's port another one is that nobody else uses.
const AWAY: u16 = 10_000;

/// In which VLAN cells are played that are played in one.
const VLAN: u16 = 7;

/// Who runs a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// `rdmalab`.
    Ours,
    /// `verbs-end`, our end of a conversation.
    OurEnd,
    /// `siw-end`, our end of what is refused.
    SiwEnd,
    /// Bash in the guest.
    Linux,
}

/// How to know that a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    /// It says so, with this word.
    Says(&'static str),
    /// Something in the guest listens on this TCP port.
    Tcp(u16),
    /// Something in the guest listens by rdma_cm.
    RdmaCm,
}

/// One side of a game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) by: By,
    pub(super) line: String,
    /// Whether it ends when the game does; otherwise it has to be told.
    pub(super) ends: bool,
}

/// Both sides of a game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commands {
    pub(super) server: Side,
    pub(super) ready: Ready,
    pub(super) client: Side,
}

/// One of the two places where programs of ours are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The only one, if the peer is Linux; the server, if it is another one of ours.
    First,
    Second,
}

impl Cell {
    /// What is run, with `port` for whatever needs one. Between two of ours, the one that is called records to `record`, if
    /// that is wanted.
    pub(super) fn commands(&self, port: u16, record: Option<&Path>) -> Commands {
        let is_ours_called = self.peer != Peer::Linux || self.role == Role::Client;
        match self.program {
            Program::Verbs => return self.conversation(port),
            Program::Refused => return self.refusals(port),
            _ => {}
        }
        let (server, client) = match (is_ours_called, self.peer) {
            (true, Peer::Linux) => (self.ours(At::First, port, None), self.linux(port, Some(self.of_ours()))),
            (true, _) => {
                (self.ours(At::First, port, None), self.ours(At::Second, port, Some(self.of_ours())))
            }
            (false, _) => (self.linux(port, None), self.ours(At::First, port, Some(self.of_linux()))),
        };
        let mut server = server;
        if let Some(file) = record {
            server.line += &format!(" --pcap {}", file.display());
        }
        let ready = match (is_ours_called, self.program) {
            (true, Program::Perf(..)) => Ready::Says("Waiting"),
            (true, _) => Ready::Says("listening"),
            (false, Program::Rping | Program::Called(_)) => Ready::RdmaCm,
            (false, Program::Perf(..)) if self.has("-R") => Ready::RdmaCm,
            (false, _) => Ready::Tcp(port),
        };
        Commands { server, ready, client }
    }

    /// Linux' RDMA device.
    pub(super) fn adapter(&self) -> Adapter {
        if self.iwarp.is_some() { Adapter::Siw } else { Adapter::Rxe }
    }

    /// What our own rules do to what we send, and the word for it. They cannot reach what the kernel sends.
    pub(super) fn our_fault(&self) -> Option<(&'static str, &'static str)> {
        let is_kernels = self.iwarp.is_some_and(|iwarp| iwarp.carrier == Carrier::Sockets);
        if is_kernels { None } else { self.fault.ours() }
    }

    /// The index of the GID on both sides.
    fn gid(&self) -> u32 {
        GIDS.iter().find(|(family, _)| *family == self.family).map_or(Guest::GID, |(_, index)| *index)
    }

    /// At which address we are called.
    fn of_ours(&self) -> String {
        // perftest takes no IPv6 address for the exchange over TCP if it is not told more.
        let by_v4 = matches!(self.program, Program::Perf(..)) && !self.has("-R");
        match self.family {
            Family::V6 if !by_v4 => Place::OURS_V6.to_string(),
            _ => Place::OURS.to_string(),
        }
    }

    /// At which address we call Linux.
    fn of_linux(&self) -> String {
        // The real servers of pingpong listen for TCP over IPv4 only, whatever the GIDs are.
        let by_v4 = match self.program {
            Program::Pingpong(_) => true,
            Program::Perf(..) => !self.has("-R"),
            _ => false,
        };
        match self.family {
            Family::V6 if !by_v4 => Place::GUEST_V6.to_string(),
            _ => Place::GUEST.to_string(),
        }
    }

    /// Whether IPv6 is possible on the link (RFC 8200 §5).
    fn has_v6(&self) -> bool {
        self.link_mtu >= 1280
    }

    /// The link of one of our programs, and what happens to packets there.
    fn link(&self, at: At) -> String {
        if let Some(iwarp @ Iwarp { carrier: Carrier::Sockets, .. }) = self.iwarp {
            let own = match self.family {
                Family::V4 => Place::OURS.to_string(),
                Family::V6 => Place::OURS_V6.to_string(),
            };
            return format!("--ip {own} {}", iwarp.options());
        }
        let (tap, end, v4, v6) = match at {
            At::First => (Network::TAP, Network::VETH[0], Place::OURS, Place::OURS_V6),
            At::Second => (Network::SECOND_TAP, Network::VETH[1], Place::OTHER, Place::OTHER_V6),
        };
        let device = match self.peer {
            Peer::Linux | Peer::OursAtTap => format!("--tap {tap}"),
            Peer::OursAtVeth => format!("--interface {end}"),
        };
        let mut link = format!("{device} --ip {v4}/24");
        if self.has_v6() {
            link += &format!(" --ip {v6}/64");
        }
        if self.in_vlan {
            link += &format!(" --vlan {VLAN}");
        }
        if let Some(iwarp) = self.iwarp {
            link += &format!(" {}", iwarp.options());
        }
        if let Some((options, _)) = self.fault.ours() {
            link += &format!(" {options}");
        }
        link
    }

    /// How long an ACK is waited for, as an exponent: a second where nothing is lost, since a guest on a busy machine may
    /// stand still; otherwise 0.27 s.
    fn timeout(&self) -> u32 {
        if self.fault.loses() { 16 } else { 18 }
    }

    fn ours(&self, at: At, port: u16, server: Option<String>) -> Side {
        // Without IPv6 there is one GID.
        let gid = if self.has_v6() { self.gid() } else { 0 };
        let (link, options) = (self.link(at), self.options);
        let called = server.clone().unwrap_or_default();
        let mut ends = true;
        let line = match self.program {
            Program::Pingpong(kind) => {
                let repeats = matches!(kind, "rc" | "srq");
                let timeout =
                    if repeats { format!("--ack-timeout {}", self.timeout()) } else { String::new() };
                format!(
                    "pingpong --transport {kind} {link} {options} -p {port} -g {gid} --wait {PATIENCE} {timeout} \
                     --seed {port} {called}"
                )
            }
            Program::Perf(word, _) if self.iwarp.is_some() => {
                format!(
                    "perf {word} {link} {options} -p {port} --wait {PATIENCE_OVER_IWARP} --seed {port} {called}"
                )
            }
            Program::Perf(word, _) => {
                let timeout = self.timeout();
                format!(
                    "perf {word} {link} {options} -p {port} -x {gid} -u {timeout} --wait {PATIENCE} --seed {port} {called}"
                )
            }
            Program::Rping => match server {
                None => format!("rping -s {link} -p {port}"),
                Some(server) => format!("rping -c -a {server} -V {options} {link} -p {port}"),
            },
            Program::Served(..) => match server {
                None => {
                    ends = false;
                    format!("serve {link} --every 3600 {}", self.serving)
                }
                Some(server) => format!("{} {link}", options.replace("ADDRESS", &server)),
            },
            Program::Called(name) => format!("{name} -s {called} {options} {link}"),
            Program::Verbs | Program::Refused => String::new(),
        };
        Side { by: By::Ours, line, ends }
    }

    fn linux(&self, port: u16, server: Option<String>) -> Side {
        let (device, options, gid) = (self.adapter().device(), self.options, self.gid());
        let called = server.clone().unwrap_or_default();
        let mut ends = true;
        let line = match self.program {
            Program::Pingpong(kind) => {
                format!("ibv_{kind}_pingpong -d {device} {options} -p {port} -g {gid} {called}")
            }
            Program::Perf(_, name) if self.iwarp.is_some() => {
                format!("{name} -F -d {device} {options} -p {port} {called}")
            }
            Program::Perf(_, name) => {
                let timeout = self.timeout();
                format!("{name} -F -d {device} {options} -p {port} -x {gid} -u {timeout} {called}")
            }
            Program::Rping => match server {
                // Without -P it would end with an error, however well all went. It shows what it has READ from us, and has to do
                // so at once, since it will be killed.
                None => {
                    ends = false;
                    // siw's connections over IPv4 come to no listener at all IPv6 addresses (docs/SIW.md).
                    let only_v4 = self.iwarp.is_some() && self.family == Family::V4;
                    let any = if only_v4 { "0.0.0.0" } else { "::0" };
                    format!("stdbuf -oL rping -s -P -a {any} -v -S 65535 -p {port}")
                }
                Some(server) => format!("rping -c -a {server} -V {options} -p {port}"),
            },
            Program::Served(..) => {
                let line = options.replace("ADDRESS", &called);
                if line.starts_with("ib") { format!("{line} -d {device}") } else { line }
            }
            Program::Called(name) => match self.family {
                Family::V4 => format!("{name} {options}"),
                Family::V6 => format!("{name} -b ::0 {options}"),
            },
            Program::Verbs | Program::Refused => String::new(),
        };
        Side { by: By::Linux, line, ends }
    }

    /// Linux' end of a conversation is called, whoever is the active one.
    fn conversation(&self, port: u16) -> Commands {
        let listen = format!("/usr/bin/python3 /mnt/verbs_peer.py --listen {port}");
        let server = Side { by: By::Linux, line: listen, ends: false };
        let (ours, linux) = (Place::OURS, Place::GUEST);
        let mut line = format!(
            "--tap {} --ip {ours}/24 --peer {linux}:{port} --operations {} --mtu 1024 --seed {port}",
            Network::TAP,
            self.options
        );
        if let Some((options, _)) = self.fault.ours() {
            line += &format!(" {options}");
        }
        if self.role == Role::Client {
            line += " --passive";
        }
        let client = Side { by: By::OurEnd, line, ends: true };
        Commands { server, ready: Ready::Tcp(port), client }
    }

    /// Linux' end of what is refused takes orders; the connections are called by the one of Linux' role.
    fn refusals(&self, port: u16) -> Commands {
        let (ours, linux) = (Place::OURS, Place::GUEST);
        let rdma = port + AWAY;
        let listen =
            format!("/usr/bin/python3 /mnt/siw_peer.py --listen {port} --address {linux} --port {rdma}");
        let server = Side { by: By::Linux, line: listen, ends: true };
        let (tap, habits) = match self.iwarp {
            Some(Iwarp { carrier: Carrier::Sockets, crc }) => (String::new(), crc),
            other => (format!("--tap {} ", Network::TAP), other.is_some_and(|iwarp| iwarp.crc)),
        };
        let habits = if habits { "--crc" } else { "--as-siw" };
        let caller = if self.role == Role::Client { "siw" } else { "ours" };
        let line = format!(
            "{tap}--ip {ours}/24 --orders {linux}:{port} --peer {linux}:{rdma} {habits} --caller {caller} {}",
            self.options
        );
        let client = Side { by: By::SiwEnd, line, ends: true };
        Commands { server, ready: Ready::Tcp(port), client }
    }

    /// Who has our address, and serves nobody at the port that is called, where Linux calls and our kernel is not there.
    pub(super) fn bystander(&self, port: u16) -> Option<Side> {
        let is_host = self.iwarp.is_none_or(|iwarp| iwarp.carrier == Carrier::Host);
        let line = format!("rping -s {} -p {}", self.link(At::First), port + AWAY);
        (is_host && self.role == Role::Client).then_some(Side { by: By::Ours, line, ends: true })
    }
}
