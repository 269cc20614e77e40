//! What may happen in a test of the unreliable services, and how it is drawn.

use proptest::prelude::*;
use rdmalab_roce::CongestionControl;
use rdmalab_wire::PathMtu;

use crate::pair::peer::Service;
use crate::weather::{Weather, congestion, weather};

/// Longest message that is drawn.
pub const LONGEST: usize = 10_000;

/// All there is to know about one run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// UC or UD.
    pub service: Service,
    /// Receives come from a shared queue.
    pub shares_receives: bool,
    pub mtu: PathMtu,
    pub first_psn: u32,
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
        /// Otherwise its memory cannot be reached.
        has_key: bool,
    },
    /// Time goes by.
    Run {
        nanoseconds: u64,
    },
    /// Everything comes to an end.
    Settle,
    /// To SQD.
    Pause {
        side: usize,
    },
    /// Back to RTS, from SQD or SQE.
    Resume {
        side: usize,
    },
    /// To ERR.
    Fail {
        side: usize,
    },
    /// Both sides to RESET and up again, whatever they were doing.
    Reconnect,
}

/// A send work request.
#[derive(Clone, Debug)]
pub struct Work {
    pub what: What,
    /// Of a datagram at most a packet's.
    pub length: usize,
    /// Where the local side is cut into elements.
    pub cuts: Vec<usize>,
    /// Otherwise the local side cannot be reached.
    pub has_key: bool,
    /// With a remote key or a queue key that the peer does not have.
    pub astray: bool,
    /// The bytes come with the request, if they fit.
    pub inline: bool,
    pub signaled: bool,
    pub solicited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Send,
    SendImmediate,
    Write,
    WriteImmediate,
}

impl What {
    /// The same, or what comes next to it where the service has no WRITEs.
    pub fn over(self, service: Service) -> Self {
        match self {
            Self::Write if service == Service::Ud => Self::Send,
            Self::WriteImmediate if service == Service::Ud => Self::SendImmediate,
            what => what,
        }
    }

    pub fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteImmediate)
    }

    pub fn consumes_receive(self) -> bool {
        self != Self::Write
    }

    pub fn has_immediate(self) -> bool {
        matches!(self, Self::SendImmediate | Self::WriteImmediate)
    }
}

pub fn scenario(max_steps: usize) -> impl Strategy<Value = Scenario> {
    let service = prop_oneof![Just(Service::Uc), Just(Service::Ud)];
    let mtu = prop_oneof![Just(PathMtu::M256), Just(PathMtu::M1024), Just(PathMtu::M4096)];
    let first_psn = prop_oneof![Just(0), 0u32..0x100_0000, 0xff_ff00u32..0x100_0000];
    let queue_pair = (service, prop::bool::weighted(0.2), mtu, first_psn);
    // What repeats or reorders packets is left out of half of them.
    (queue_pair, weather(), any::<bool>(), congestion(), any::<bool>()).prop_flat_map(move |drawn| {
        let ((service, shares_receives, mtu, first_psn), weather, keeps_order, congestion, breaks) = drawn;
        let ordered = Weather { late: 0, held: 0, twice: 0, echo: 0, ..weather };
        let weather = if keeps_order { ordered } else { weather };
        prop::collection::vec(step(mtu.bytes(), breaks), 1..max_steps).prop_map(move |steps| Scenario {
            service,
            shares_receives,
            mtu,
            first_psn,
            weather,
            congestion,
            steps,
        })
    })
}

/// `breaks`: whether requests and receives may fail, too.
fn step(mtu: usize, breaks: bool) -> impl Strategy<Value = Step> {
    let side = || 0usize..2;
    let rare = u32::from(breaks);
    let right = move || prop::bool::weighted(if breaks { 0.95 } else { 1.0 });
    let room = prop_oneof![20 => Just(LONGEST), rare => 0..LONGEST];
    let cuts = || prop::collection::vec(0..=LONGEST, 0..4);
    let what = prop_oneof![
        Just(What::Send),
        Just(What::SendImmediate),
        Just(What::Write),
        Just(What::WriteImmediate)
    ];
    let length = prop_oneof![
        0usize..10,
        (0usize..10, 0usize..3)
            .prop_map(move |(packets, more)| { (packets * mtu + more).saturating_sub(1).min(LONGEST) }),
        0..LONGEST,
    ];
    let flags = (any::<bool>(), prop::bool::weighted(0.8), any::<bool>());
    let work = (what, length, cuts(), right(), right(), flags).prop_map(
        |(what, length, cuts, has_key, finds, (inline, signaled, solicited))| Work {
            what,
            length,
            cuts,
            has_key,
            astray: !finds,
            inline,
            signaled,
            solicited,
        },
    );
    prop_oneof![
        20 => (side(), work).prop_map(|(side, work)| Step::Post { side, work }),
        12 => (side(), room, cuts(), right())
            .prop_map(|(side, length, cuts, has_key)| Step::Receive { side, length, cuts, has_key }),
        6 => prop_oneof![0u64..10_000, 0u64..2_000_000].prop_map(|nanoseconds| Step::Run { nanoseconds }),
        2 => Just(Step::Settle),
        1 => side().prop_map(|side| Step::Pause { side }),
        1 + rare => side().prop_map(|side| Step::Resume { side }),
        rare => side().prop_map(|side| Step::Fail { side }),
        rare => Just(Step::Reconnect),
    ]
}
