//! The guest's RDMA device: rxe from the start, siw where a test asks for it.

use std::time::Duration;

use super::Guest;

/// How long it may take to make one.
const LIMIT: Duration = Duration::from_secs(30);

/// A software implementation of Linux. A guest has one at a time, since rdma_cm could pick the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// RoCE v2.
    Rxe,
    /// iWARP.
    Siw,
}

impl Adapter {
    /// The name of its device in the guest.
    pub fn device(self) -> &'static str {
        match self {
            Self::Rxe => Guest::DEVICE,
            Self::Siw => "siw0",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Rxe => "rxe",
            Self::Siw => "siw",
        }
    }
}

impl Guest {
    /// Replaces the guest's RDMA device, if it is another one, by this one.
    #[track_caller]
    pub fn switch_to(&self, adapter: Adapter) {
        if self.adapter.replace(adapter) == adapter {
            return;
        }
        let (device, kind) = (adapter.device(), adapter.kind());
        let gid = if adapter == Adapter::Rxe { Self::GID } else { 0 };
        // The GID table is filled after the fact; siw's one entry is its MAC address.
        let command = format!(
            "set -e\n\
             for device in rxe0 siw0; do [ -e /sys/class/infiniband/$device ] && rdma link delete $device; done || true\n\
             rdma link add {device} type {kind} netdev eth0\n\
             for _ in $(seq 100); do\n\
             grep -q '[1-9a-f]' /sys/class/infiniband/{device}/ports/1/gids/{gid} && exit 0; sleep 0.1\n\
             done\n\
             echo 'the RDMA device has no GID'; exit 1\n"
        );
        self.run(&command, LIMIT).expect_success(&format!("making {device}"));
    }
}
