//! Whether a failed round is proven to be the guest's doing: its kernel's RDMA stack, or its machine, stands still.
//!
//! rxe (Linux 6.12) can stop for good when an acknowledgement meets its repetition of what is acknowledged: the request
//! does not complete, and is not sent again. Seen so: a SEND of four packets, its acknowledgement 83 ms later, since the
//! machine was busy; the four packets again 3 ms behind that, since rxe's timer had run out meanwhile; and nothing more for 30 s. A
//! peer can make this rare, not impossible. Such a queue pair can also be in the kernel's way when its process is to end.
//! Besides, a guest on a busy machine may stand still for seconds, and its kernel can fall (see [`crate::Venue`]).
//!
//! Nothing is excused without evidence. That our own packets were sound has to be judged apart ([`crate::Verdict`]).

use std::fs::File;
use std::io::BufReader;
use std::net::Ipv4Addr;
use std::path::Path;

use rdmalab_trace::{DumpOptions, dump};
use rdmalab_wire::Psn;

use crate::{GuestState, Stuck};

/// How long rxe must have sent nothing though it had to, in seconds: more than a hundred of its timeouts of 67 ms.
const SILENCE: f64 = 10.0;

/// How long the guest must have said nothing before we gave up, in seconds: five of our ACK timeouts of 268 ms, each with
/// a repetition that asks for an answer.
const STANDSTILL: f64 = 1.5;

/// What shows that the guest has failed.
#[derive(Debug, Clone, PartialEq)]
pub enum Excuse {
    /// Its kernel says on its console that it has failed.
    Fallen {
        /// The first words of it.
        words: String,
    },
    /// Its machine has ended, or runs without taking orders.
    Dead,
    /// A process of it was killed and did not go, while others still run.
    Unkillable {
        /// The process's command.
        command: String,
    },
    /// A packet of it is not acknowledged, or was when it repeated it; and it neither repeats it nor goes on.
    Stopped {
        /// The packet's PSN.
        psn: Psn,
        /// For how many seconds no RoCE packet came from it.
        silent: f64,
    },
    /// It said nothing to all our repetitions, and answered them after we had given up.
    Late {
        /// For how many seconds no RoCE packet came from it.
        silent: f64,
    },
}

impl std::fmt::Display for Excuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fallen { words } => write!(f, "the guest's kernel has fallen: {words}"),
            Self::Dead => write!(f, "the guest is dead"),
            Self::Unkillable { command } => write!(f, "the guest's kernel does not let go of: {command}"),
            Self::Stopped { psn, silent } => {
                let psn = psn.value();
                write!(f, "rxe stopped for good at PSN {psn}: it sent nothing for {silent:.1} s")
            }
            Self::Late { silent } => {
                write!(f, "the guest stood still for {silent:.1} s, and answered after we had given up")
            }
        }
    }
}

impl Excuse {
    /// What the guest's state shows: as it was when the round had failed, and, if a job could then not be ended, again.
    pub fn in_guest(state: &GuestState, stuck: Option<(&Stuck, &GuestState)>) -> Option<Self> {
        let last = stuck.map_or(state, |(_, after)| after);
        if let Some(words) = last.fall() {
            return Some(Self::Fallen { words: words.to_owned() });
        }
        if state.is_over || state.inside.is_none() {
            return Some(Self::Dead);
        }
        let (stuck, after) = stuck?;
        let command = stuck.command.lines().last().unwrap_or_default().to_owned();
        Some(if after.inside.is_some() { Self::Unkillable { command } } else { Self::Dead })
    }

    /// Whether it is one though no packet was mistreated: whoever is merely silent then may have been told something wrong.
    pub fn needs_no_faults(&self) -> bool {
        matches!(self, Self::Fallen { .. })
    }

    /// What a capture at the guest's TAP shows of its last conversation, which began with a TCP connection.
    #[track_caller]
    pub fn in_capture(file: &Path, guest: Ipv4Addr) -> Option<Self> {
        let open = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut lines = Vec::new();
        dump(BufReader::new(open), &mut lines, DumpOptions::default())
            .unwrap_or_else(|error| panic!("{} cannot be read to its end: {error}", file.display()));
        Self::in_lines(&String::from_utf8_lossy(&lines), guest)
    }

    fn in_lines(lines: &str, guest: Ipv4Addr) -> Option<Self> {
        let guest = guest.to_string();
        let lines: Vec<_> = lines.lines().filter_map(Line::read).collect();
        // The captures of a test hold several conversations, each with a connection of its own.
        let begin = lines.iter().rposition(|line| line.is_opening).unwrap_or(0);
        let lines = &lines[begin..];
        // We close our connection when we leave; what rxe does after that, without a peer, is no evidence of silence.
        let left = lines.iter().find(|line| line.is_closing && line.from != guest)?.time;
        let (mut theirs, mut answer) = (Sent::default(), None);
        let mut heard = lines.first()?.time;
        for line in lines {
            let Some((opcode, psn)) = line.packet else { continue };
            let is_answer = opcode == "ACKNOWLEDGE";
            match (line.from == guest, line.time <= left) {
                (true, true) => heard = line.time,
                (true, false) if is_answer && answer.is_none() => answer = Some(line.time),
                _ => {}
            }
            if line.from == guest && !is_answer {
                theirs.send(psn, line.time);
            } else if line.from != guest && line.is_ack {
                theirs.acknowledge(psn, line.time);
            }
        }
        if let Some(psn) = theirs.owed()
            && left - heard >= SILENCE
        {
            return Some(Self::Stopped { psn, silent: left - heard });
        }
        let late = answer.filter(|_| left - heard >= STANDSTILL)?;
        Some(Self::Late { silent: late - heard })
    }
}

/// What the guest sent, and how far it is acknowledged.
#[derive(Default)]
struct Sent {
    last: Option<Psn>,
    /// When the last PSN was sent most recently.
    again: f64,
    acknowledged: Option<Psn>,
    /// When anything was acknowledged most recently.
    answered: f64,
}

impl Sent {
    fn send(&mut self, psn: Psn, time: f64) {
        advance(&mut self.last, psn);
        if self.last == Some(psn) {
            self.again = time;
        }
    }

    fn acknowledge(&mut self, psn: Psn, time: f64) {
        advance(&mut self.acknowledged, psn);
        self.answered = time;
    }

    /// The last packet, if it is not acknowledged or was sent again after it was.
    fn owed(&self) -> Option<Psn> {
        let last = self.last?;
        let open = self.acknowledged.is_none_or(|psn| psn.distance(last) < 0);
        (open || self.again > self.answered).then_some(last)
    }
}

fn advance(place: &mut Option<Psn>, psn: Psn) {
    if place.is_none_or(|last| psn.distance(last) > 0) {
        *place = Some(psn);
    }
}

/// What a line of `dump` says, as far as it matters here.
struct Line<'a> {
    time: f64,
    from: &'a str,
    /// A RoCE packet's opcode and PSN.
    packet: Option<(&'a str, Psn)>,
    is_ack: bool,
    /// A TCP connection begins.
    is_opening: bool,
    is_closing: bool,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, time, from, ">", _, protocol, rest @ ..] = &words[..] else { return None };
        let psn = || rest.iter().find_map(|word| word.strip_prefix("psn=")?.parse().ok()).map(Psn::new);
        let packet = match *protocol {
            "RoCE" => Some((*rest.first()?, psn()?)),
            _ => None,
        };
        let has_flag =
            |flag: &str| *protocol == "TCP" && rest.iter().any(|word| word.split(',').any(|w| w == flag));
        Some(Self {
            time: time.parse().ok()?,
            from,
            packet,
            is_ack: rest.contains(&"ack"),
            is_opening: has_flag("SYN"),
            is_closing: has_flag("FIN"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);

    fn state(console: &str, is_over: bool) -> GuestState {
        let console = crate::Output { status: None, stdout: console.to_owned(), stderr: String::new() };
        GuestState { is_over, console, inside: (!is_over).then(|| "well".to_owned()) }
    }

    #[test]
    fn a_kernel_that_says_so_has_fallen_and_one_that_says_nothing_is_dead_or_well() {
        let fall = "Booting from ROM..c\x1b[?7l\x1b[2J[  209.004239] Oops: 0000 [#1] PREEMPT SMP\n[  209.1] RIP: 0010:memcpy";
        for is_over in [true, false] {
            let excuse = Excuse::in_guest(&state(fall, is_over), None).unwrap();
            assert_eq!(
                excuse,
                Excuse::Fallen { words: "[  209.004239] Oops: 0000 [#1] PREEMPT SMP".to_owned() }
            );
            assert!(excuse.needs_no_faults());
        }
        let warned = "[   12.5] BUG: workqueue lockup\n[ here ] Oops: so it says\n";
        assert_eq!(Excuse::in_guest(&state(warned, true), None), Some(Excuse::Dead));
        assert_eq!(Excuse::in_guest(&state(warned, false), None), None);
        assert!(!Excuse::Dead.needs_no_faults());
    }

    /// A conversation, after the end of another in which the guest owed something: times and what was sent, `<` by the
    /// guest, `>` by us.
    fn judge(packets: &[(f64, &str)]) -> Option<Excuse> {
        let before = [(0.0, "<RoCE SEND_ONLY psn=900 len=1"), (1.0, ">TCP 2 > 1 SYN seq=1")];
        let mut lines = String::new();
        for (number, (time, packet)) in before.iter().chain(packets).enumerate() {
            let (from, to) = if packet.starts_with('<') { (1, 2) } else { (2, 1) };
            lines +=
                &format!("{number:5} {time:11.6} 10.9.0.{from} > 10.9.0.{to} {} icrc ok\n", &packet[1..]);
        }
        Excuse::in_lines(&lines, GUEST)
    }

    #[test]
    fn a_packet_that_is_owed_again_and_long_silence_are_an_excuse() {
        let mut packets = vec![
            (2.0, "<RoCE SEND_LAST psn=16777215 len=1 ackreq qp=0x000080"),
            (2.1, ">RoCE ACKNOWLEDGE psn=16777215 ack msn=1 qp=0x000011"),
            (2.2, "<RoCE SEND_FIRST psn=0 len=1024 qp=0x000080"),
            (2.3, ">RoCE ACKNOWLEDGE psn=16777215 ack msn=1 qp=0x000011"),
            (22.3, ">TCP 2 > 1 FIN,ACK seq=7"),
        ];
        let silent = 22.3 - 2.2;
        assert_eq!(judge(&packets), Some(Excuse::Stopped { psn: Psn::new(0), silent }));
        // If it still repeats, it is alive.
        packets.insert(4, (20.0, "<RoCE SEND_FIRST psn=0 len=1024 qp=0x000080"));
        assert_eq!(judge(&packets), None);
    }

    /// As seen, but for the times' last digits.
    #[test]
    fn a_repetition_that_met_its_acknowledgement_and_long_silence_are_an_excuse() {
        let mut packets = vec![
            (5.812, "<RoCE SEND_LAST psn=5047814 len=1024 ackreq qp=0x000080"),
            (5.895, ">RoCE ACKNOWLEDGE psn=5047814 ack msn=58 qp=0x000033"),
            (5.896, ">RoCE SEND_ONLY psn=7186937 len=1024 ackreq qp=0x000033"),
            (5.900, "<RoCE SEND_LAST psn=5047814 len=1024 ackreq qp=0x000080"),
            (5.901, "<RoCE ACKNOWLEDGE psn=7186937 ack msn=59 qp=0x000080"),
            (35.901, ">TCP 2 > 1 FIN,ACK seq=7"),
        ];
        assert_eq!(
            judge(&packets),
            Some(Excuse::Stopped { psn: Psn::new(5_047_814), silent: 35.901 - 5.901 })
        );
        // Told again, it had all it could ask for.
        packets.insert(5, (5.902, ">RoCE ACKNOWLEDGE psn=5047814 ack msn=58 qp=0x000033"));
        assert_eq!(judge(&packets), None);
    }

    #[test]
    fn silence_after_we_left_is_none() {
        let packets = [
            (2.0, "<RoCE SEND_LAST psn=7 len=1 ackreq qp=0x000080"),
            (3.0, ">TCP 2 > 1 FIN,ACK seq=7"),
            (30.0, ">TCP 2 > 1 ACK seq=8"),
        ];
        assert_eq!(judge(&packets), None);
    }

    #[test]
    fn silence_of_a_guest_that_owes_nothing_is_none() {
        let packets = [
            (2.0, "<RoCE SEND_LAST psn=7 len=1 ackreq qp=0x000080"),
            (2.1, ">RoCE ACKNOWLEDGE psn=7 ack msn=1 qp=0x000011"),
            (22.3, ">TCP 2 > 1 FIN,ACK seq=7"),
        ];
        assert_eq!(judge(&packets), None);
    }

    #[test]
    fn a_nak_of_ours_does_not_acknowledge() {
        let packets = [
            (2.0, "<RoCE SEND_LAST psn=7 len=1 ackreq qp=0x000080"),
            (2.1, ">RoCE ACKNOWLEDGE psn=7 nak=psn_sequence_error msn=1 qp=0x000011"),
            (22.3, ">TCP 2 > 1 FIN,ACK seq=7"),
        ];
        assert!(matches!(judge(&packets), Some(Excuse::Stopped { .. })));
    }

    #[test]
    fn an_answer_only_after_we_gave_up_is_an_excuse_and_no_answer_is_none() {
        let mut packets = vec![
            (2.0, "<RoCE ACKNOWLEDGE psn=6 ack msn=1 qp=0x000080"),
            (2.0, ">RoCE SEND_LAST psn=7 len=1 ackreq qp=0x000011"),
            (4.0, ">RoCE SEND_LAST psn=7 len=1 ackreq qp=0x000011"),
            (4.25, ">TCP 2 > 1 FIN,ACK seq=7"),
        ];
        assert_eq!(judge(&packets), None);
        packets.push((4.5, "<RoCE ACKNOWLEDGE psn=7 ack msn=2 qp=0x000080"));
        assert_eq!(judge(&packets), Some(Excuse::Late { silent: 2.5 }));
        // One that spoke until shortly before did not stand still.
        packets.insert(2, (3.0, "<RoCE ACKNOWLEDGE psn=6 ack msn=1 qp=0x000080"));
        assert_eq!(judge(&packets), None);
    }
}
