//! Fates of single packets, as `--fate` asks for them: the n-th packet of the transport that an end sends is lost, comes
//! twice, late, damaged or marked.
//!
//! Packets are counted from 1, each end's by themselves, with repetitions; ARP is not counted.

use std::fmt;
use std::str::FromStr;

use rdmalab_sim::rule::Frame;
use rdmalab_sim::{End, Random, Rule, Verdict};
use rdmalab_wire::is_roce_v2;

use super::transport::Transport;
use crate::link::is_tcp;

/// Most fates that are asked for at once.
pub const MOST: usize = 1000;
/// The longest delay, in microseconds: a minute.
const LONGEST: u64 = 60_000_000;

/// What becomes of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    from: End,
    number: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Lose,
    Duplicate,
    /// Nanoseconds.
    Delay(u64),
    Corrupt,
    Mark,
}

impl Fate {
    /// Whether the packet is marked.
    pub fn is_mark(&self) -> bool {
        self.what == What::Mark
    }
}

/// What fates may do to messages of a transport that sends nothing again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mischief {
    /// So many may be missing at most, those aside whose packets are lost.
    pub missing: u64,
    /// So many may arrive twice at most.
    pub twice: u32,
    /// Messages may arrive behind later ones, or again.
    pub disorders: bool,
}

impl Mischief {
    /// Of all these together.
    pub fn of(fates: &[Fate]) -> Self {
        let mut all = Self::default();
        for fate in fates.iter().filter(|fate| fate.from == End::A) {
            match fate.what {
                // A loss is seen on the link.
                What::Lose | What::Mark => {}
                What::Corrupt => all.missing += 1,
                // Of UC it ends the message under way, of UD it may take the receive of another one.
                What::Duplicate => {
                    (all.missing, all.twice, all.disorders) = (all.missing + 1, all.twice + 1, true)
                }
                // Its own message, and the one into which it falls.
                What::Delay(_) => (all.missing, all.disorders) = (all.missing + 2, true),
            }
        }
        all
    }
}

impl FromStr for Fate {
    type Err = String;

    /// Reads `A2=lose`.
    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || {
            "an end, a number and what becomes of the packet, as in A2=lose, A2=duplicate, A2=delay:3000 (microseconds), \
             A2=corrupt or A2=mark"
                .to_owned()
        };
        let (packet, what) = text.split_once('=').ok_or_else(usage)?;
        let (from, number) = match packet.split_at_checked(1) {
            Some(("A", number)) => (End::A, number),
            Some(("B", number)) => (End::B, number),
            _ => return Err(usage()),
        };
        let number = number.parse().ok().filter(|number| *number > 0).ok_or_else(usage)?;
        let what = match what.split_once(':') {
            None if what == "lose" => What::Lose,
            None if what == "duplicate" => What::Duplicate,
            None if what == "corrupt" => What::Corrupt,
            None if what == "mark" => What::Mark,
            Some(("delay", time)) => time
                .parse()
                .ok()
                .filter(|time| (1..=LONGEST).contains(time))
                .map(|time: u64| What::Delay(1_000 * time))
                .ok_or_else(|| format!("a delay is a number of microseconds from 1 to {LONGEST}"))?,
            _ => return Err(usage()),
        };
        Ok(Self { from, number, what })
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {} of {}", self.number, self.from)
    }
}

/// The rule that sees to it.
pub struct Appointed {
    fate: Fate,
    passed: u64,
    concerns: fn(&[u8]) -> bool,
}

impl Appointed {
    /// For the packets of a transport.
    pub fn new(transport: Transport, fate: Fate) -> Self {
        let concerns = if transport == Transport::Iwarp { is_tcp } else { is_roce_v2 };
        Self { fate, passed: 0, concerns }
    }
}

impl Rule for Appointed {
    fn judge(&mut self, frame: &Frame<'_>, _: &mut Random) -> Verdict {
        if frame.from != self.fate.from || !(self.concerns)(frame.bytes) {
            return Verdict::Deliver;
        }
        self.passed += 1;
        if self.passed != self.fate.number {
            return Verdict::Deliver;
        }
        match self.fate.what {
            What::Lose => Verdict::Drop,
            What::Duplicate => Verdict::Duplicate,
            What::Delay(time) => Verdict::Delay(time),
            // In front of RoCE's ICRC.
            What::Corrupt => Verdict::Corrupt { bit: 8 * frame.bytes.len().saturating_sub(5) as u64 },
            What::Mark => Verdict::Mark,
        }
    }
}

impl fmt::Display for Appointed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fate.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use rdmalab_sim::{RuleSet, Seed};

    use super::*;

    #[test]
    fn fates_are_read_and_what_is_none_is_told() {
        let fate = |from, number, what| Ok(Fate { from, number, what });
        assert_eq!("A2=lose".parse(), fate(End::A, 2, What::Lose));
        assert_eq!("B10=duplicate".parse(), fate(End::B, 10, What::Duplicate));
        assert_eq!("B1=delay:3000".parse(), fate(End::B, 1, What::Delay(3_000_000)));
        assert_eq!("A1=corrupt".parse(), fate(End::A, 1, What::Corrupt));
        assert_eq!("A1=mark".parse(), fate(End::A, 1, What::Mark));
        for wrong in
            ["", "A", "A2", "A0=lose", "C1=lose", "é1=lose", "A1=steal", "A1=delay", "A1=delay:0", "A-1=lose"]
        {
            assert!(wrong.parse::<Fate>().is_err(), "{wrong}");
        }
        assert!("A1=delay:60000001".parse::<Fate>().unwrap_err().contains("60000000"));
    }

    #[test]
    fn only_packets_of_the_transport_and_of_that_end_are_counted() {
        let fate = "A2=lose".parse().unwrap();
        let mut rules = RuleSet::new(Seed::new(1)).with(Appointed::new(Transport::Iwarp, fate));
        let mut tcp = vec![0; 34];
        (tcp[12], tcp[13], tcp[14], tcp[23]) = (0x08, 0x00, 0x45, 6);
        let other = vec![0; 34];
        let mut judge = |from, frame: &[u8]| rules.judge(0, from, frame, 0).verdict;
        assert_eq!(judge(End::A, &tcp), Verdict::Deliver);
        assert_eq!(judge(End::A, &other), Verdict::Deliver);
        assert_eq!(judge(End::B, &tcp), Verdict::Deliver);
        assert_eq!(judge(End::A, &tcp), Verdict::Drop);
        assert_eq!(judge(End::A, &tcp), Verdict::Deliver);
    }
}
