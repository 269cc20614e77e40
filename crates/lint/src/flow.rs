//! One direction of a connection: the requests that go to a queue pair, and what answers them.
//!
//! The rules stand in `checks`; here is what they share. A [`Flow`] owns
//!
//! * the window of requests ([`window`]), by PSN;
//! * where the requester is: `next`, the PSN of the next new request, and `cursor`, behind the last one sent, new or not;
//! * three places behind which everything is settled, `completed` ≤ `walked` ≤ `next`: what the requester may call complete,
//!   what the responder has answered for (the walk over messages in PSN order has come so far), what was sent;
//! * what the responder said last.

mod datagrams;
pub(crate) mod effect;
pub(crate) mod entry;
pub(crate) mod gaps;
pub(crate) mod heard;
pub(crate) mod mtu;
pub(crate) mod numbering;
pub(crate) mod replies;
pub(crate) mod requests;
pub(crate) mod timer;
pub(crate) mod times;
pub(crate) mod window;

use rdmalab_wire::{Msn, PKey, Psn, QKey, TransportKind};

use crate::finding::Findings;
use crate::observer::Observer;
use crate::packet::FlowKey;
use crate::reason::{Reason, Reasons};
use crate::report::Stats;
use crate::rules::RuleId;
use datagrams::Datagrams;
use effect::Effect;
use heard::Heard;
use mtu::Sizes;
use numbering::Numbering;
use replies::Replies;
pub(crate) use requests::{Message, Requests};
use timer::Timer;
use window::Window;

/// Where findings go, and about which flow they are.
pub(crate) struct Out<'o> {
    pub flow: u64,
    pub findings: &'o mut Findings,
    pub observer: &'o mut dyn Observer,
    /// The time of the packet at hand, in nanoseconds.
    pub now: i64,
}

impl Out<'_> {
    pub fn find(&mut self, rule: RuleId, frames: &[u64], what: impl FnOnce() -> String) {
        if self.findings.add(rule, Some(self.flow), frames, what)
            && let Some(finding) = self.findings.kept.last()
        {
            self.observer.finding(finding);
        }
    }
}

/// What REQ and REP agreed on for the requests of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// `None` where the first request may have been cut.
    pub first_psn: Option<Psn>,
    /// READs and atomics at once.
    pub depth: u8,
    pub retry_count: Option<u8>,
    /// How often what the receiver is not ready for is sent again; 7 is without end.
    pub rnr_retry_count: u8,
    /// The receives of who answers come from a shared queue.
    pub shared_receives: bool,
    pub frames: [u64; 2],
}

/// What packets to one queue pair have alike, the last one had otherwise: how, its frame and its name.
pub(crate) type Changed<T> = (T, u64, &'static str);

/// The queue key of datagrams to a queue pair.
pub(crate) struct QueueKey {
    pub key: QKey,
    /// Frame of the message that told it, if one did.
    pub told: Option<u64>,
    /// Another one, that the last packet had.
    pub changed: Option<Changed<QKey>>,
}

impl QueueKey {
    /// One that a message of connection management told.
    pub fn told(key: QKey, frame: u64) -> QueueKey {
        QueueKey { key, told: Some(frame), changed: None }
    }
}

/// Something that the responder said and the requester is to act upon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub psn: Psn,
    pub frame: u64,
    pub time: i64,
    /// How often the request of this PSN had come by then; 0 if never.
    pub sends: u32,
    pub ip_id: u16,
    /// Of an RNR NAK, nanoseconds to wait.
    pub wait: u64,
    /// Whether the requester has gone back for it.
    pub is_done: bool,
}

/// An answer that is missing: either the requester lacks it, and goes back, or only the capture does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// The next new request when that showed.
    pub next: Psn,
    /// How often the requester had gone back then.
    pub run: u32,
    pub time: i64,
    /// How often a new request has been answered that was sent when that showed, or when the one before was answered.
    pub rounds: u32,
    /// What was answered at the last two of them.
    pub answered: [Psn; 2],
    /// It was counted as an implied NAK.
    pub is_counted: bool,
}

/// One direction.
pub(crate) struct Flow {
    pub key: FlowKey,
    pub number: u64,
    pub transport: TransportKind,
    /// A packet of it was heard.
    pub has_transport: bool,
    /// Another one, that the last packet had.
    pub changed: Option<Changed<TransportKind>>,
    /// The queue key of datagrams.
    pub queue_key: Option<QueueKey>,
    pub udp_source: Option<u16>,
    /// Of all that is sent to this queue pair.
    pub numbering: Numbering,
    /// The PSN of the last request that makes no sense: it is in the capture, but not judged further.
    pub broken: Option<Psn>,
    pub partition: Option<(PKey, u64)>,
    /// Frame since which its sender is a limited member of it.
    pub limited: Option<u64>,
    /// That both are has been told.
    pub limited_told: bool,
    /// The flow that the answers come in, by its place in the table.
    pub peer: Option<u32>,
    pub peer_key: Option<FlowKey>,
    /// How it is named over the path that its connection may migrate to.
    pub alternate: Option<FlowKey>,
    /// How often no peer was found.
    pub searches: u32,
    /// Frame of the last packet that was of it.
    pub heard: u64,
    /// Used since the last sweep for room.
    pub is_fresh: bool,
    /// The time of the newest packet, of requests and answers: what comes behind it and is older stands in the wrong place.
    pub newest: i64,
    pub stats: Stats,
    pub reasons: Reasons,
    pub agreed: Option<Agreed>,
    pub sizes: Sizes,
    pub window: Window,
    pub requests: Option<Requests>,
    pub answers: Answers,
    pub timer: Timer,
    pub replies: Replies,
    pub said: Heard,
    /// The last datagrams, of one that is unreliable.
    pub datagrams: Datagrams,
    /// Frame of the last packet with a congestion mark to this queue pair.
    pub marked: Option<u64>,
    /// A notification without a mark has been told of.
    pub unprovoked_told: bool,
    /// When the last notification came.
    pub notified: Option<i64>,
    pub effect: Effect,
}

/// What the responder said last.
#[derive(Default)]
pub(crate) struct Answers {
    /// The highest PSN that it answered for, with MSN and frame.
    pub high: Option<(Psn, Msn, u64)>,
    /// The last one that says how many messages are complete: PSN, MSN and frame. `None` where it is known to be wrong.
    pub before: Option<(Psn, Msn, u64)>,
    /// Frame of the last one whose MSN was found to fit no count.
    pub miscounted: u64,
    /// There was one of which it is not known what it answers.
    pub has_unplaced: bool,
    /// When the last answer came by.
    pub last_time: i64,
    /// PSN of the last READ response packet.
    pub last_read: Option<Psn>,
    pub nak: Option<Told>,
    pub rnr: Option<Told>,
    pub implied: Option<Told>,
    /// A READ or an atomic was acknowledged in the place of being answered, which is why something is not known from there on.
    pub read_acknowledged: bool,
    /// An answer is missing, since that implied NAK.
    pub gap: Option<Gap>,
    /// A NAK that ended the connection.
    pub failed: Option<(Psn, u64)>,
    /// An answer to what was not sent, as far as is known: PSN, opcode and frame.
    pub ghost: Option<(Psn, &'static str, u64)>,
    /// The MSN before the first message known, and how many further ones are possible.
    pub base: Option<(Msn, u32)>,
    /// The answer before fitted that, or REQ and REP say it: one that does not fit may be wrong alone.
    pub base_fits: bool,
    /// The frames that say that it is not less, and not more; 0 where REQ and REP do.
    pub base_frames: [u64; 2],
    /// What an answer that does not fit says instead: if the next one agrees, that holds.
    pub other_base: Option<(Msn, u32)>,
    /// The highest message number that credits cover, and who said so.
    pub credit: Option<(Msn, u64)>,
    /// The last message beyond them that was begun.
    pub question: Option<Msn>,
}

impl Flow {
    pub fn new(key: FlowKey, number: u64, transport: TransportKind) -> Flow {
        Flow {
            key,
            number,
            transport,
            has_transport: false,
            changed: None,
            queue_key: None,
            udp_source: None,
            numbering: Numbering::default(),
            broken: None,
            partition: None,
            limited: None,
            limited_told: false,
            peer: None,
            peer_key: None,
            alternate: None,
            searches: 0,
            heard: 0,
            is_fresh: true,
            newest: i64::MIN,
            stats: Stats::default(),
            reasons: Reasons::default(),
            agreed: None,
            sizes: Sizes::default(),
            window: Window::default(),
            requests: None,
            answers: Answers::default(),
            timer: Timer::default(),
            replies: Replies::default(),
            said: Heard::default(),
            datagrams: Datagrams::default(),
            marked: None,
            unprovoked_told: false,
            notified: None,
            effect: Effect::default(),
        }
    }

    /// Forgets the conversation, as another one begins with the same numbers; what was counted stays.
    pub fn begin_again(&mut self) {
        self.window.clear();
        self.requests = None;
        self.answers = Answers::default();
        self.timer = Timer::default();
        self.replies = Replies::default();
        self.sizes = Sizes::default();
        self.agreed = None;
        self.broken = None;
    }

    pub fn doubt(&mut self, reason: Reason) {
        self.reasons.add(reason);
    }
}
