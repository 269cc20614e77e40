//! Telling the peer that a switch marked its packets.

use rdmalab_verbs::Path;
use rdmalab_wire::{Body, Bth, Psn, Transport};

use super::QueuePair;
use crate::congestion::NotificationPacer;
use crate::outlet::Outlet;
use crate::port::{Owner, Port};
use crate::settings::notification_header;

/// Bytes of a congestion notification's payload, all reserved.
const NOTIFICATION_PAYLOAD: usize = 16;

impl QueuePair {
    /// A switch marked a packet of the peer: it is told, but not too often.
    #[inline]
    pub(super) fn notice_mark(&mut self, now: u64, port: &mut Port) {
        port.counters.np_ecn_marked_roce_packets += 1;
        let Some(notifications) = port.config.profile.notifications else { return };
        let pacer = NotificationPacer::new(notifications.interval);
        if self.network.is_some() && pacer.is_due(&mut self.notification, now) {
            self.notifies = true;
        }
    }
}

/// Sends a congestion notification: to the peer's queue pair, with BECN set, PSN 0 and sixteen bytes of zero.
#[inline]
pub(super) fn notify(path: Option<&Path>, owner: &mut Owner<'_>, outlet: &mut Outlet<'_>) {
    let (Some(path), Some(notifications)) = (path, owner.port.profile.notifications) else { return };
    let network = notification_header(path, owner.settings, owner.port, &notifications);
    let Some(network) = network else { return };
    let bth = Bth { becn: true, ..owner.bth(Psn::new(0)) };
    let body = Body::CongestionNotification;
    let Ok(()) = outlet.send_through(&network, &Transport::Cnp, &bth, &body, NOTIFICATION_PAYLOAD, |data| {
        data.fill(0);
        Ok::<(), core::convert::Infallible>(())
    });
    owner.counters.np_cnp_sent += 1;
}
