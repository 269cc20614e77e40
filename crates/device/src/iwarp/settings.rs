//! What an application chooses about its transports.

use std::time::Duration;

use rdmalab_iwarp::{Profile, StreamSettings, Terms};

/// Over what queue pairs talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Transport {
    /// InfiniBand's transport over UDP: RoCE v2.
    #[default]
    Roce,
    /// MPA, DDP and RDMAP over TCP.
    Iwarp,
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Roce => "RoCE v2",
            Self::Iwarp => "iWARP",
        })
    }
}

/// How connections over iWARP are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IwarpSettings {
    /// The implementation whose habits we have.
    pub profile: Profile,
    /// Whether we ask for CRCs; as the profile has it, if not said. They are used where the peer asks for them, too.
    pub crc: Option<bool>,
    /// Whether we ask for markers.
    pub markers: bool,
    /// How long we are silent behind the reply of the start-up. Behind the peer's: what comes to Linux' siw before it has got
    /// ready for it stays unread until more comes, which may be never. Behind ours, where the profile lets us speak first: siw
    /// ends the connection if something comes with the reply, or right behind it (docs/SIW.md). It costs each connection so
    /// much at most, and nothing afterwards.
    pub pause: Duration,
}

impl Default for IwarpSettings {
    fn default() -> Self {
        Self { profile: Profile::LINUX, crc: None, markers: false, pause: Self::PAUSE }
    }
}

impl IwarpSettings {
    /// The usual pause: siw was seen to miss what came half a millisecond behind its reply, in a guest whose processor is
    /// emulated.
    pub const PAUSE: Duration = Duration::from_millis(50);

    /// What we want of a connection with so many READs and atomics each way.
    pub(super) fn terms(&self, ird: u8, ord: u8) -> Terms {
        let usual = Terms::of(&self.profile, ird.into(), ord.into());
        Terms { crc: self.crc.unwrap_or(usual.crc), markers: self.markers, ..usual }
    }

    /// The pause in nanoseconds.
    pub(super) fn silence(&self) -> u64 {
        u64::try_from(self.pause.as_nanos()).unwrap_or(u64::MAX)
    }

    /// For a stream whose segments are so long.
    pub(super) fn stream(&self, segment_size: usize) -> StreamSettings {
        StreamSettings::of(&self.profile, segment_size)
    }
}
