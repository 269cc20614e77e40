//! What may happen in a test of the model, and how it is drawn.

use proptest::prelude::*;
use rdmalab_roce::{CongestionControl, Profile};
use rdmalab_wire::PathMtu;

use crate::pair::peer::{PLAIN, Service};
use crate::weather::{Weather, congestion, weather};

/// Longest message that is drawn.
pub const LONGEST: usize = 10_000;

/// All there is to know about one run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub service: Service,
    pub profile: Profile,
    /// Receives come from a shared queue.
    pub shares_receives: bool,
    pub mtu: PathMtu,
    pub first_psn: u32,
    /// READs and atomics outstanding at once.
    pub reads: u8,
    pub weather: Weather,
    pub congestion: CongestionControl,
    pub steps: Vec<Step>,
}

/// What the applications and the world around them do, one thing after the other.
#[derive(Clone, Debug)]
pub enum Step {
    Post {
        side: usize,
        work: Work,
    },
    Receive {
        side: usize,
        length: usize,
        cuts: Vec<usize>,
        key: Key,
    },
    /// Time goes by.
    Run {
        nanoseconds: u64,
    },
    /// Receives that are missing are posted, and everything comes to an end.
    Settle,
    /// The spare region of a side is registered anew: its old key is gone. One who is careful does it only when no
    /// request uses the old key any more.
    Replace {
        side: usize,
        careful: bool,
    },
    /// A side binds or registers a door anew. One who is careful does it only when the door is shut, or may be opened
    /// anew, and no request under way uses or changes it.
    Open {
        side: usize,
        door: DoorKind,
        careful: bool,
    },
    /// A side invalidates the key of a door of its own; with care, only if that is open and nobody uses it.
    Close {
        side: usize,
        door: DoorKind,
        careful: bool,
    },
    /// To SQD.
    Pause {
        side: usize,
    },
    /// Back to RTS.
    Resume {
        side: usize,
    },
    /// To ERR.
    Fail {
        side: usize,
    },
    /// Both sides to RESET and up again, whatever they were doing. Packets under way stay under way.
    Reconnect,
}

/// A send work request.
#[derive(Clone, Debug)]
pub struct Work {
    pub what: What,
    pub length: usize,
    /// Where in the peer's memory.
    pub target: usize,
    pub aim: Aim,
    /// Where the local side is cut into elements.
    pub cuts: Vec<usize>,
    pub key: Key,
    /// The bytes come with the request, if it is one that may and they fit.
    pub inline: bool,
    pub signaled: bool,
    pub solicited: bool,
    pub fence: bool,
    /// What may end the connection is not asked for.
    pub careful: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Send,
    SendImmediate,
    Write,
    WriteImmediate,
    Read,
    FetchAdd {
        add: u64,
    },
    CompareSwap {
        compare: u64,
        swap: u64,
    },
    /// Of a door of the peer's.
    SendInvalidate(DoorKind),
    Flush,
    AtomicWrite {
        value: u64,
    },
    /// Of a door of our own.
    Open(DoorKind),
    Close(DoorKind),
}

/// Keys that come and go by work in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorKind {
    WindowOne,
    WindowTwo,
    Fast,
}

impl DoorKind {
    pub const ALL: [Self; 3] = [Self::WindowOne, Self::WindowTwo, Self::Fast];
}

/// With which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Of the region that stays.
    Main,
    /// Of the one that may be replaced.
    Spare,
    /// Of none.
    Dead,
}

/// What a request asks of the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    Main,
    Spare,
    Dead,
    /// Through a door, as it was opened last.
    Door(DoorKind),
    /// Across the end of the region; for an atomic, an address that is no multiple of eight.
    Astray,
}

impl What {
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd { .. } | Self::CompareSwap { .. })
    }

    /// Whether it is about eight bytes, aligned.
    pub fn is_word(self) -> bool {
        self.is_atomic() || matches!(self, Self::AtomicWrite { .. })
    }

    /// Whether it is a SEND of any kind.
    pub fn is_send(self) -> bool {
        matches!(self, Self::Send | Self::SendImmediate | Self::SendInvalidate(_))
    }

    /// Whether it takes no elements.
    pub fn is_without_elements(self) -> bool {
        matches!(self, Self::Flush | Self::AtomicWrite { .. } | Self::Open(_) | Self::Close(_))
    }

    /// Whether its bytes may come with the request.
    pub fn may_be_inline(self) -> bool {
        self.is_send() || matches!(self, Self::Write | Self::WriteImmediate)
    }

    pub fn consumes_receive(self) -> bool {
        self.is_send() || self == Self::WriteImmediate
    }

    pub fn has_immediate(self) -> bool {
        matches!(self, Self::SendImmediate | Self::WriteImmediate)
    }
}

pub fn scenario(max_steps: usize) -> impl Strategy<Value = Scenario> {
    let mtu = prop_oneof![Just(PathMtu::M256), Just(PathMtu::M1024), Just(PathMtu::M4096)];
    let first_psn = prop_oneof![Just(0), 0u32..0x100_0000, 0xff_ff00u32..0x100_0000];
    let reads = prop_oneof![Just(1u8), Just(4), Just(16)];
    let service = prop_oneof![3 => Just(Service::Rc), 1 => Just(Service::Xrc)];
    let profile = prop_oneof![Just(Profile::SPEC), Just(Profile::RXE), Just(PLAIN)];
    let connection = (service, profile, prop::bool::weighted(0.25), mtu, first_psn, reads);
    (connection, weather(), congestion(), any::<bool>()).prop_flat_map(move |drawn| {
        let (connection, weather, congestion, breaks) = drawn;
        let (service, profile, shares_receives, mtu, first_psn, reads) = connection;
        prop::collection::vec(step(mtu.bytes(), breaks), 1..max_steps).prop_map(move |steps| Scenario {
            service,
            profile,
            shares_receives,
            mtu,
            first_psn,
            reads,
            weather,
            congestion,
            steps,
        })
    })
}

/// `breaks`: whether what ends a connection may happen too.
fn step(mtu: usize, breaks: bool) -> impl Strategy<Value = Step> {
    let side = || 0usize..2;
    let rare = u32::from(breaks);
    let care = if breaks { 0.8 } else { 1.0 };
    prop_oneof![
        20 => (side(), work(mtu, rare, care)).prop_map(|(side, work)| Step::Post { side, work }),
        10 => (side(), roomy(rare), cuts(), key(0))
            .prop_map(|(side, length, cuts, key)| Step::Receive { side, length, cuts, key }),
        6 => prop_oneof![0u64..10_000, 0u64..2_000_000, 0u64..300_000_000]
            .prop_map(|nanoseconds| Step::Run { nanoseconds }),
        2 => Just(Step::Settle),
        1 => side().prop_map(|side| Step::Pause { side }),
        1 => side().prop_map(|side| Step::Resume { side }),
        1 => (side(), Just(!breaks)).prop_map(|(side, careful)| Step::Replace { side, careful }),
        4 => (side(), door(), prop::bool::weighted(care), prop::bool::weighted(0.75)).prop_map(
            |(side, door, careful, opens)| {
                if opens { Step::Open { side, door, careful } } else { Step::Close { side, door, careful } }
            }
        ),
        rare => side().prop_map(|side| Step::Fail { side }),
        1 + rare => Just(Step::Reconnect),
    ]
}

fn door() -> impl Strategy<Value = DoorKind> {
    prop::sample::select(DoorKind::ALL.to_vec())
}

fn roomy(rare: u32) -> impl Strategy<Value = usize> {
    prop_oneof![20 => Just(LONGEST), rare => 0..LONGEST]
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..=LONGEST, 0..4)
}

fn key(rare: u32) -> impl Strategy<Value = Key> {
    prop_oneof![30 => Just(Key::Main), 6 => Just(Key::Spare), rare => Just(Key::Dead)]
}

fn work(mtu: usize, rare: u32, care: f64) -> impl Strategy<Value = Work> {
    let small = || 0u64..3;
    let what = prop_oneof![
        1 => Just(What::Send),
        1 => Just(What::SendImmediate),
        1 => Just(What::Write),
        1 => Just(What::WriteImmediate),
        2 => Just(What::Read),
        1 => small().prop_map(|add| What::FetchAdd { add }),
        1 => (small(), small()).prop_map(|(compare, swap)| What::CompareSwap { compare, swap }),
        1 => door().prop_map(What::SendInvalidate),
        1 => Just(What::Flush),
        1 => small().prop_map(|value| What::AtomicWrite { value }),
    ];
    let length = prop_oneof![
        0usize..10,
        (0usize..10, 0usize..3)
            .prop_map(move |(packets, more)| { (packets * mtu + more).saturating_sub(1).min(LONGEST) }),
        0..LONGEST,
    ];
    let target = prop_oneof![0usize..128, 0usize..50_000];
    let aim = prop_oneof![
        30 => Just(Aim::Main), 8 => Just(Aim::Spare), 12 => door().prop_map(Aim::Door), rare => Just(Aim::Dead), rare => Just(Aim::Astray)
    ];
    let chance = prop::bool::weighted;
    let flags = (any::<bool>(), chance(0.8), any::<bool>(), chance(0.1), chance(care));
    (what, length, target, aim, cuts(), key(rare), flags).prop_map(
        |(what, length, target, aim, cuts, key, (inline, signaled, solicited, fence, careful))| Work {
            what,
            length: if what.is_word() { 8 } else { length },
            target: if what.is_word() { target % 8 * 8 } else { target },
            aim,
            cuts,
            key,
            inline,
            signaled,
            solicited,
            fence,
            careful,
        },
    )
}
