//! What an application chooses about its transports.

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
}

impl Default for IwarpSettings {
    fn default() -> Self {
        Self { profile: Profile::SPEC, crc: None, markers: false }
    }
}

impl IwarpSettings {
    /// What we want of a connection with so many READs and atomics each way.
    pub(super) fn terms(&self, ird: u8, ord: u8) -> Terms {
        let usual = Terms::of(&self.profile, ird.into(), ord.into());
        Terms { crc: self.crc.unwrap_or(usual.crc), markers: self.markers, ..usual }
    }

    /// For a stream whose segments are so long.
    pub(super) fn stream(&self, segment_size: usize) -> StreamSettings {
        StreamSettings {
            rfc7306: self.profile.rfc7306,
            swapped_terminates: self.profile.swapped_terminates,
            ..StreamSettings::new(segment_size)
        }
    }
}
