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
    /// How long a side that calls is silent behind the peer's reply. What comes to Linux' siw before it has got ready for it
    /// stays unread until more comes, which may be never (docs/SIW.md). It costs each call so much, and nothing afterwards.
    pub pause: Duration,
    /// How long a side that was called is silent behind its own reply, if the profile lets it speak first, or until the caller
    /// has said something. siw ends the connection if something comes with the reply, or before it has looked at that.
    pub greeting_pause: Duration,
}

impl Default for IwarpSettings {
    fn default() -> Self {
        Self {
            profile: Profile::LINUX,
            crc: None,
            markers: false,
            pause: Self::PAUSE,
            greeting_pause: Self::GREETING_PAUSE,
        }
    }
}

impl IwarpSettings {
    /// The usual pause: siw was seen to miss what came half a millisecond behind its reply, in a guest whose processor is
    /// emulated.
    pub const PAUSE: Duration = Duration::from_millis(50);

    /// The usual pause of a side that greets: on a busy machine such a guest was seen to confirm the reply 90 milliseconds late, and
    /// it looks at it later still.
    pub const GREETING_PAUSE: Duration = Duration::from_millis(250);

    /// What we want of a connection with so many READs and atomics each way.
    pub(super) fn terms(&self, ird: u8, ord: u8) -> Terms {
        let usual = Terms::of(&self.profile, ird.into(), ord.into());
        Terms { crc: self.crc.unwrap_or(usual.crc), markers: self.markers, ..usual }
    }

    /// For a stream whose segments are so long.
    pub(super) fn stream(&self, segment_size: usize) -> StreamSettings {
        StreamSettings::of(&self.profile, segment_size)
    }
}
