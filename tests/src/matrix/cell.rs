//! One cell: which program plays with whom, and under what circumstances.

use std::fmt;

use super::{Fault, Iwarp, Mishap};

/// What Linux, or the other one of two rdmalabs, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It calls.
    Client,
    /// It is called.
    Server,
}

/// Of the addresses that stand in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Who plays with our program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Linux' rxe, in a guest behind a bridge; we are at a TAP. With [`Cell::iwarp`], Linux' siw.
    Linux,
    /// Another one of ours; both are at TAPs of one bridge.
    OursAtTap,
    /// Another one of ours; each is at an end of a veth pair, by a packet socket.
    OursAtVeth,
}

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `ibv_KIND_pingpong`.
    Pingpong(&'static str),
    /// A program of perftest: what `rdmalab perf` calls it, and its own name.
    Perf(&'static str, &'static str),
    /// `rping`.
    Rping,
    /// Clients of our `serve`; its row in the table there, and how many clients that must have served.
    Served(&'static str, u64),
    /// `ucmatose` or `udaddy`, called by our own.
    Called(&'static str),
    /// A list of operations between verbs programs, which compare every byte of memory.
    Verbs,
    /// Refusals with siw: calls that are rejected, and requests that are not to be carried out, between verbs programs.
    Refused,
}

/// A cell of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// What is played.
    pub program: Program,
    /// What both sides are told; of [`Program::Served`] the client's command line with `ADDRESS` in it, of
    /// [`Program::Verbs`] the operations, of [`Program::Refused`] what is refused.
    pub options: &'static str,
    /// What our `serve` is told beside.
    pub serving: &'static str,
    /// Who is on the other side.
    pub peer: Peer,
    /// What that is.
    pub role: Role,
    /// Of the addresses.
    pub family: Family,
    /// What happens to packets, both ways.
    pub fault: Fault,
    /// The MTU of the link.
    pub link_mtu: u16,
    /// Whether all of it happens in a VLAN.
    pub in_vlan: bool,
    /// Whether the ordinary live tests play it, too.
    pub daily: bool,
    /// How we speak iWARP, if that is spoken: with Linux only.
    pub iwarp: Option<Iwarp>,
    /// What keeps the game from a good end, if that is what is played: with iWARP only.
    pub mishap: Option<Mishap>,
}

impl Cell {
    /// The MTU of links, if nothing else is said: room for a path MTU of 4096 bytes.
    pub const LINK_MTU: u16 = 4200;

    /// A cell with Linux as client, by IPv4, where nothing happens to packets.
    pub(super) const fn new(program: Program, options: &'static str) -> Self {
        Self {
            program,
            options,
            serving: "",
            peer: Peer::Linux,
            role: Role::Client,
            family: Family::V4,
            fault: Fault::None,
            link_mtu: Self::LINK_MTU,
            in_vlan: false,
            daily: false,
            iwarp: None,
            mishap: None,
        }
    }

    /// Over IPv6.
    pub(super) const fn v6(mut self) -> Self {
        self.family = Family::V6;
        self
    }

    /// Played by the ordinary live tests, too.
    pub(super) const fn daily(mut self) -> Self {
        self.daily = true;
        self
    }

    /// With a link of another MTU.
    pub(super) const fn at_mtu(mut self, mtu: u16) -> Self {
        self.link_mtu = mtu;
        self
    }

    /// With more options for our `serve`.
    pub(super) const fn serving(mut self, options: &'static str) -> Self {
        self.serving = options;
        self
    }

    /// The number behind an option's letter.
    pub(super) fn option(&self, letter: &str) -> Option<u64> {
        let mut words = self.options.split(' ').skip_while(|word| *word != letter);
        words.nth(1)?.parse().ok()
    }

    /// Whether `word` is among the options.
    pub(super) fn has(&self, word: &str) -> bool {
        self.options.split(' ').any(|option| option == word)
    }

    /// Program and options, as the field writes them.
    pub fn line(&self) -> String {
        match self.program {
            Program::Pingpong(kind) => format!("ibv_{kind}_pingpong {}", self.options),
            Program::Perf(_, name) => format!("{name} {}", self.options),
            Program::Rping => format!("rping {}", self.options),
            Program::Served(..) => {
                let extra = if self.serving.is_empty() { "" } else { ", serve " };
                format!("{}{extra}{}", self.options, self.serving)
            }
            Program::Called(name) => format!("{name} {}", self.options).trim_end().to_owned(),
            Program::Verbs => format!("verbs {}", self.options),
            Program::Refused => format!("refused: {}", self.options),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "Linux",
            Self::OursAtTap => "rdmalab at a TAP",
            Self::OursAtVeth => "rdmalab at a veth pair",
        })
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} as {}, {}", self.line(), self.peer, self.role, self.family)?;
        if let Some(iwarp) = self.iwarp {
            write!(f, ", {iwarp}")?;
        }
        if self.link_mtu != Self::LINK_MTU {
            write!(f, ", link MTU {}", self.link_mtu)?;
        }
        if self.in_vlan {
            f.write_str(", VLAN")?;
        }
        if self.fault != Fault::None {
            write!(f, ", {}", self.fault)?;
        }
        if let Some(mishap) = self.mishap {
            write!(f, ", {mishap}")?;
        }
        Ok(())
    }
}
