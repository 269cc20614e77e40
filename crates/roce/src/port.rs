//! What the queue pairs of an endpoint share, and what is lent to a half of one of them for a call.

use alloc::collections::VecDeque;

use rdmalab_wire::{Bth, Psn, Qpn};

use crate::config::EndpointConfig;
use crate::counters::Counters;
use crate::event::Event;
use crate::ip_layer::Numbering;
use crate::settings::Settings;

/// What the queue pairs of an endpoint share.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) config: EndpointConfig,
    pub(crate) counters: Counters,
    pub(crate) events: VecDeque<Event>,
    /// IPv4 identifications.
    pub(crate) numbering: Numbering,
}

impl Port {
    /// For a half of the queue pair that has these settings.
    #[inline]
    pub(crate) fn owner<'a>(&'a mut self, settings: &'a Settings) -> Owner<'a> {
        Owner {
            number: settings.number,
            settings,
            port: &self.config,
            counters: &mut self.counters,
            events: &mut self.events,
        }
    }
}

/// Who a half works for, and where it reports.
pub(crate) struct Owner<'a> {
    pub(crate) number: Qpn,
    pub(crate) settings: &'a Settings,
    pub(crate) port: &'a EndpointConfig,
    pub(crate) counters: &'a mut Counters,
    pub(crate) events: &'a mut VecDeque<Event>,
}

impl Owner<'_> {
    /// The base header of a packet to the peer.
    pub(crate) fn bth(&self, psn: Psn) -> Bth {
        self.settings.bth(psn, &self.port.profile)
    }

    /// Reports an event. The queue's capacity is its limit: what does not fit is counted and lost.
    pub(crate) fn event(&mut self, event: Event) {
        if self.events.len() < self.events.capacity() {
            self.events.push_back(event);
        } else {
            self.counters.lost_events += 1;
        }
    }
}
