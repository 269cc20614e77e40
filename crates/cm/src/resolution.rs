//! Questions for the queue pair behind a datagram service, and their answers, as an application gives and gets them.

use alloc::vec::Vec;

use rdmalab_wire::mad::{ServiceId, SidrStatus};
use rdmalab_wire::{QKey, Qpn};

use crate::call::IpCall;
use crate::request::Target;
use crate::route::Route;

/// A question to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolveRequest<'a> {
    /// From where to where.
    pub route: Route,
    /// What is asked for.
    pub target: Target,
    /// For the peer's application: 216 bytes, 180 of them for an IP port.
    pub private_data: &'a [u8],
}

/// A question that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceCall {
    /// Between whom.
    pub route: Route,
    /// What is asked for.
    pub service_id: ServiceId,
    /// The asker's address and port, and what it asks for, if that is an IP port.
    pub ip: Option<IpCall>,
    /// The application's: 216 bytes, 180 of them if an IP port is asked for.
    pub private_data: Vec<u8>,
}

/// The answer to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerRequest<'a> {
    /// The service is behind this queue pair.
    QueuePair {
        /// The queue pair.
        qpn: Qpn,
        /// Its key.
        queue_key: QKey,
        /// For the asker's application; 136 bytes.
        private_data: &'a [u8],
    },
    /// No.
    Refused {
        /// Why.
        status: SidrStatus,
        /// For the asker's application; 136 bytes.
        private_data: &'a [u8],
    },
}

/// A good answer that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAnswer {
    /// Between whom.
    pub route: Route,
    /// The queue pair.
    pub qpn: Qpn,
    /// Its key.
    pub queue_key: QKey,
    /// The application's, 136 bytes.
    pub private_data: Vec<u8>,
}

/// An answer that has come: no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRefusal {
    /// Why. A redirection is reported like other reasons: nothing here follows it.
    pub status: SidrStatus,
    /// Where to ask instead, if redirected.
    pub additional_information: Vec<u8>,
    /// The application's, 136 bytes.
    pub private_data: Vec<u8>,
}
