//! Path MTU: the largest payload of one packet. Only five sizes exist, and the wire and the verbs name them
//! by the same code.

/// The largest payload of one packet on a path; its discriminant is the specification's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathMtu {
    /// 256 bytes.
    M256 = 1,
    /// 512 bytes.
    M512 = 2,
    /// 1024 bytes, what an Ethernet of MTU 1500 allows.
    M1024 = 3,
    /// 2048 bytes.
    M2048 = 4,
    /// 4096 bytes.
    M4096 = 5,
}

/// Bytes kept free for headers when a path MTU is chosen for a link; the value Linux uses.
const HEADER_ALLOWANCE: usize = 80;

impl PathMtu {
    /// All sizes, the smallest first.
    pub const ALL: [PathMtu; 5] =
        [PathMtu::M256, PathMtu::M512, PathMtu::M1024, PathMtu::M2048, PathMtu::M4096];

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        128 << self as usize
    }

    /// The size of exactly so many bytes.
    pub const fn from_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            256 => Some(PathMtu::M256),
            512 => Some(PathMtu::M512),
            1024 => Some(PathMtu::M1024),
            2048 => Some(PathMtu::M2048),
            4096 => Some(PathMtu::M4096),
            _ => None,
        }
    }

    /// The largest size whose packets fit a link with this MTU (IP header included, Ethernet header not),
    /// 80 bytes of it kept for headers: 1500 gives 1024, 4200 gives 4096. `None` below 336.
    pub fn from_link_mtu(link_mtu: usize) -> Option<Self> {
        let room = link_mtu.saturating_sub(HEADER_ALLOWANCE);
        PathMtu::ALL.into_iter().rev().find(|size| size.bytes() <= room)
    }

    /// The specification's code, 1 to 5.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The size with this code.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(PathMtu::M256),
            2 => Some(PathMtu::M512),
            3 => Some(PathMtu::M1024),
            4 => Some(PathMtu::M2048),
            5 => Some(PathMtu::M4096),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_survives_its_code_and_its_bytes() {
        for size in PathMtu::ALL {
            assert_eq!(PathMtu::from_code(size.code()), Some(size));
            assert_eq!(PathMtu::from_bytes(size.bytes()), Some(size));
        }
        assert_eq!(PathMtu::from_code(0), None);
        assert_eq!(PathMtu::from_code(6), None);
        assert_eq!(PathMtu::from_bytes(1500), None);
    }

    #[test]
    fn link_mtu_leaves_room_for_the_headers() {
        assert_eq!(PathMtu::from_link_mtu(1500), Some(PathMtu::M1024));
        assert_eq!(PathMtu::from_link_mtu(4200), Some(PathMtu::M4096));
        assert_eq!(PathMtu::from_link_mtu(4176), Some(PathMtu::M4096));
        assert_eq!(PathMtu::from_link_mtu(4175), Some(PathMtu::M2048));
        assert_eq!(PathMtu::from_link_mtu(335), None);
        assert_eq!(PathMtu::from_link_mtu(0), None);
    }
}
