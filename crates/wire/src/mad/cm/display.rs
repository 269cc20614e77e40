//! One line per message.
//!
//! ```text
//! CM NAME comm= [remote=] fields
//! ```
//!
//! PSNs, counts and timeout codes are decimal as in the lines of packets; IDs, queue pair numbers and keys
//! hexadecimal. A status of the common header stands at the end where it is not zero.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use crate::numbers::QKey;

use super::super::ip_cm::IpCmHeader;
use super::{CmMad, CmMessage, Rep, Req, SidrRep, SidrReq};

/// As in `CM REQ comm=0x3007b9de service=tcp:7174 rc qpn=0x000012 psn=3647352 mtu=4096 …`.
impl fmt::Display for CmMad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)?;
        if self.status != 0 {
            write!(f, " madstatus={:#06x}", self.status)?;
        }
        Ok(())
    }
}

/// As [`CmMad`] without the common header's status.
impl fmt::Display for CmMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CM {}", self.name())?;
        match self {
            CmMessage::Req(message) => req(f, message),
            CmMessage::Mra(message) => {
                ids(f, message.local_communication_id, message.remote_communication_id)?;
                write!(f, " message={} timeout={}", message.message, message.service_timeout)
            }
            CmMessage::Rej(message) => {
                ids(f, message.local_communication_id, message.remote_communication_id)?;
                write!(f, " message={} reason={}", message.message, message.reason)
            }
            CmMessage::Rep(message) => rep(f, message),
            CmMessage::Rtu(message) => {
                ids(f, message.local_communication_id, message.remote_communication_id)
            }
            CmMessage::Dreq(message) => {
                ids(f, message.local_communication_id, message.remote_communication_id)?;
                write!(f, " qpn={}", message.remote_qpn)
            }
            CmMessage::Drep(message) => {
                ids(f, message.local_communication_id, message.remote_communication_id)
            }
            CmMessage::SidrReq(message) => sidr_req(f, message),
            CmMessage::SidrRep(message) => sidr_rep(f, message),
            CmMessage::Lap(message) => {
                ids(f, message.local_communication_id, message.remote_communication_id)?;
                write!(f, " qpn={} ", message.remote_qpn)?;
                write!(f, "from={} to={}", message.local_gid.to_ip(), message.remote_gid.to_ip())
            }
            CmMessage::Apr(message) => {
                ids(f, message.local_communication_id, message.remote_communication_id)?;
                write!(f, " status={}", message.status)
            }
        }
    }
}

fn ids(f: &mut fmt::Formatter<'_>, local: u32, remote: u32) -> fmt::Result {
    write!(f, " comm={local:#010x} remote={remote:#010x}")
}

fn queue_key(f: &mut fmt::Formatter<'_>, key: QKey) -> fmt::Result {
    if key == QKey::default() { Ok(()) } else { write!(f, " qkey={key}") }
}

/// ` from=10.9.0.2:42272 to=10.9.0.1`, nothing if the IP version is unknown.
fn ip_cm(f: &mut fmt::Formatter<'_>, header: &IpCmHeader) -> fmt::Result {
    match (header.source(), header.destination()) {
        (Some(source), Some(destination)) => {
            write!(f, " from={} to={destination}", SocketAddr::new(source, header.source_port))
        }
        _ => Ok(()),
    }
}

fn req(f: &mut fmt::Formatter<'_>, message: &Req) -> fmt::Result {
    write!(f, " comm={:#010x}", message.local_communication_id)?;
    write!(f, " service={} {}", message.service_id, message.transport_service)?;
    if message.extended_transport != 0 {
        write!(f, "={}", message.extended_transport)?;
    }
    write!(f, " qpn={}", message.local_qpn)?;
    queue_key(f, message.local_queue_key)?;
    write!(f, " psn={}", message.starting_psn)?;
    match message.path_mtu() {
        Some(path_mtu) => write!(f, " mtu={}", path_mtu.bytes())?,
        None => write!(f, " mtu=code_{}", message.path_mtu_code)?,
    }
    write!(f, " resources={} depth={}", message.responder_resources, message.initiator_depth)?;
    write!(f, " retry={} rnr={}", message.retry_count, message.rnr_retry_count)?;
    flags(f, message.shared_receive_queue, message.end_to_end_flow_control)?;
    match message.ip_cm() {
        Some((header, _)) => ip_cm(f, &header),
        None => {
            let [from, to]: [IpAddr; 2] =
                [message.primary.local_gid.to_ip(), message.primary.remote_gid.to_ip()];
            write!(f, " from={from} to={to}")
        }
    }
}

fn rep(f: &mut fmt::Formatter<'_>, message: &Rep) -> fmt::Result {
    ids(f, message.local_communication_id, message.remote_communication_id)?;
    write!(f, " qpn={}", message.local_qpn)?;
    queue_key(f, message.local_queue_key)?;
    write!(f, " psn={}", message.starting_psn)?;
    write!(f, " resources={} depth={}", message.responder_resources, message.initiator_depth)?;
    write!(f, " rnr={}", message.rnr_retry_count)?;
    flags(f, message.shared_receive_queue, message.end_to_end_flow_control)
}

fn flags(f: &mut fmt::Formatter<'_>, shared: bool, flow_control: bool) -> fmt::Result {
    f.write_str(if shared { " srq" } else { "" })?;
    f.write_str(if flow_control { " credits" } else { "" })
}

fn sidr_req(f: &mut fmt::Formatter<'_>, message: &SidrReq) -> fmt::Result {
    write!(f, " request={:#010x} service={}", message.request_id, message.service_id)?;
    write!(f, " pkey={}", message.partition_key)?;
    match message.ip_cm() {
        Some((header, _)) => ip_cm(f, &header),
        None => Ok(()),
    }
}

fn sidr_rep(f: &mut fmt::Formatter<'_>, message: &SidrRep) -> fmt::Result {
    write!(f, " request={:#010x} service={}", message.request_id, message.service_id)?;
    write!(f, " status={} qpn={} qkey={}", message.status, message.qpn, message.queue_key)
}
