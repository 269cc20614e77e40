//! Both sides, and connections between them, in either direction.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rdmalab_device::{
    Access, CallListener, Capabilities, Completion, CompletionQueue, CompletionStatus, Connection,
    ConnectionParameters, Device, DeviceError, MemoryRegion, Operation, ProtectionDomain, QueuePair,
    QueuePairOptions, QueuePairType, RKey, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, State,
};
use serde_json::{Value, json};

use crate::Choice;
use crate::faults::Wrong;
use crate::peer::Peer;

/// How long anything may take that is no more than a few messages. A guest on a busy machine is slow.
pub const LIMIT: Duration = Duration::from_secs(10);
/// Bytes of a region, ours and siw's.
pub const SIZE: usize = 65536;
/// Bytes of most requests. They are one FPDU, of which nothing is placed if it is refused.
pub const LENGTH: u32 = 1000;
/// IBV_ACCESS_LOCAL_WRITE, _REMOTE_WRITE, _REMOTE_READ: siw's rights.
pub const LOCAL: u64 = 1;
pub const WRITABLE: u64 = 3;
pub const ALL: u64 = 7;
/// IBV_QPS_ERR.
const ERROR: u64 = 6;

/// Who asks for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Caller {
    /// We.
    Ours,
    /// siw.
    Siw,
}

const CALLERS: [Caller; 2] = [Caller::Ours, Caller::Siw];

/// What a case plays with.
pub struct Scene<'d> {
    pub device: &'d Device,
    pub domain: ProtectionDomain,
    pub completions: CompletionQueue,
    pub own: IpAddr,
    pub siw: SocketAddr,
    pub peer: Peer,
    listener: CallListener,
    choice: Choice,
}

/// A connection, and what there is of memory at its ends.
pub struct Meeting {
    pub connection: Connection,
    pub region: MemoryRegion,
    /// siw's region.
    pub remote: RemoteAddress,
}

impl<'d> Scene<'d> {
    pub fn new(
        device: &'d Device,
        own: IpAddr,
        siw: SocketAddr,
        peer: Peer,
        choice: Choice,
    ) -> Result<Self, String> {
        let domain = device.protection_domain().map_err(text)?;
        let completions = device.completion_queue(256).map_err(text)?;
        let listener = device.listen_for_calls(SocketAddr::new(own, 0), 16).map_err(text)?;
        Ok(Self { device, domain, completions, own, siw, peer, listener, choice })
    }

    /// Who may ask for connections.
    pub fn callers(&self) -> Vec<Caller> {
        self.choice.caller.map_or_else(|| CALLERS.to_vec(), |caller| vec![caller])
    }

    /// Who asks for a connection: by turns, if both may.
    pub fn caller(&self, number: usize) -> Caller {
        self.choice.caller.unwrap_or(CALLERS[number % 2])
    }

    /// The faults that are played, of these.
    pub fn chosen(&self, all: &[Wrong]) -> Vec<Wrong> {
        all.iter().copied().filter(|wrong| self.choice.wrong.is_none_or(|only| only == *wrong)).collect()
    }

    /// Where we listen.
    pub fn here(&self) -> Result<SocketAddr, String> {
        self.listener.address().map_err(text)?.ok_or_else(|| "we listen nowhere".to_owned())
    }

    pub fn options(&self) -> QueuePairOptions<'_> {
        let capabilities =
            Capabilities { max_send_requests: 64, max_receive_requests: 64, ..Capabilities::default() };
        QueuePairOptions { capabilities, ..QueuePairOptions::new(QueuePairType::Rc, &self.completions) }
    }

    /// Calls siw, which does not know of it yet.
    pub fn call(&self, private_data: &[u8], to: SocketAddr) -> Result<Connection, DeviceError> {
        let parameters = parameters(private_data);
        self.device.call(to, &self.domain, &self.options(), &parameters, |_| Ok(()), Some(LIMIT))
    }

    /// The next call of siw's.
    pub fn called(&self) -> Result<rdmalab_device::Call, String> {
        self.listener.next(Some(LIMIT)).map_err(text)?.ok_or_else(|| "siw has not called".to_owned())
    }

    /// Tells siw to call us, at a port.
    pub fn have_called(&mut self, port: u16, access: u64, receives: &[u32]) -> Result<Value, String> {
        let order = json!({"do": "connect", "address": self.own.to_string(), "port": port, "ird": 4, "ord": 4,
                           "private": "", "access": access, "receives": receives});
        self.peer.order(&order)
    }

    /// A connection, called by `caller`, over which each has said something that nobody is told of. Our region and siw's have
    /// these rights, siw has these receives, we have `our_receives` of [`LENGTH`] bytes.
    pub fn meet(
        &mut self,
        caller: Caller,
        rights: (Access, u64),
        receives: &[u32],
        our_receives: &[u32],
    ) -> Result<Meeting, String> {
        let meeting = self.connect(caller, rights, receives, our_receives)?;
        if caller == Caller::Ours {
            // siw does not look at a ready-to-receive message that comes while it accepts, until something else comes.
            meeting.post(0, Operation::RdmaWrite(meeting.remote), 0)?;
            self.expect(&[(0, CompletionStatus::Success)])?;
        }
        self.expect_event("ESTABLISHED")?;
        if caller == Caller::Siw {
            // Of no bytes it needs no right.
            self.peer
                .order(&json!({"do": "post", "operation": "WRITE", "id": 0, "offset": 0, "length": 0,
                                    "key": 0, "address": 0}))?;
            let completed = self.peer.completions(1, LIMIT.as_secs_f64())?;
            if completed != ["0:SUCCESS"] {
                return Err(format!("of a WRITE of no bytes siw says {completed:?}"));
            }
        }
        Ok(meeting)
    }

    /// As [`meet`](Self::meet), but nobody has said anything, and siw's event of the connection is not taken out.
    pub fn connect(
        &mut self,
        caller: Caller,
        (ours, siws): (Access, u64),
        receives: &[u32],
        our_receives: &[u32],
    ) -> Result<Meeting, String> {
        let region = self.domain.register(SIZE, ours | Access::LOCAL_WRITE).map_err(text)?;
        region.write(0, &pattern()).map_err(|fault| format!("{fault:?}"))?;
        let prepare = |queue_pair: &QueuePair| {
            for (id, length) in (100..).zip(our_receives) {
                let elements = [region.element(0, *length)];
                queue_pair.post_receive(&ReceiveRequest { id, elements: &elements })?;
            }
            Ok(())
        };
        let parameters = parameters(&[]);
        let (connection, answer) = match caller {
            Caller::Ours => {
                let accept = json!({"do": "accept", "ird": 4, "ord": 4, "private": "", "access": siws,
                                    "receives": receives});
                let event = json!({"do": "event", "seconds": LIMIT.as_secs()});
                // Two orders at once: siw answers the call while we wait for it.
                self.peer.give(&event)?;
                self.peer.give(&accept)?;
                let options = self.options();
                let called =
                    self.device.call(self.siw, &self.domain, &options, &parameters, prepare, Some(LIMIT));
                let heard = self.peer.answer(&event);
                let answer = self.peer.answer(&accept);
                let connection = called.map_err(|error| format!("{error}; siw: {heard:?}, {answer:?}"))?;
                (connection, answer?)
            }
            Caller::Siw => {
                let port = self.here()?.port();
                let answer = self.have_called(port, siws, receives)?;
                let call = self.called()?;
                let accepted = call.accept(&self.domain, &self.options(), &parameters, prepare, Some(LIMIT));
                (accepted.map_err(text)?, answer)
            }
        };
        let number = |name: &str| answer[name].as_u64().ok_or_else(|| format!("no {name} in {answer}"));
        let remote = RemoteAddress { address: number("va")?, key: RKey::new(number("key")? as u32) };
        Ok(Meeting { connection, region, remote })
    }

    /// The next event of siw's rdma_cm must be this one.
    pub fn expect_event(&mut self, name: &str) -> Result<Value, String> {
        let event = self.peer.order(&json!({"do": "event", "seconds": LIMIT.as_secs()}))?;
        if event["event"] == name { Ok(event) } else { Err(format!("siw says {event}, not {name}")) }
    }

    /// Our next completion.
    pub fn completion(&self) -> Result<Completion, String> {
        let completion = self.completions.wait(Some(LIMIT)).map_err(text)?;
        completion.ok_or_else(|| format!("nothing completes in {LIMIT:?}"))
    }

    /// Our next completions must be these.
    pub fn expect(&self, wanted: &[(u64, CompletionStatus)]) -> Result<(), String> {
        for (id, status) in wanted {
            let completion = self.completion().map_err(|error| format!("{id}: {error}"))?;
            if (completion.id, completion.status) != (*id, *status) {
                return Err(format!("{completion:?}, not {id} with {status}"));
            }
        }
        Ok(())
    }

    /// The connection must have ended at both ends, in time, and left both queue pairs in the error state.
    pub fn expect_end(&mut self, meeting: &Meeting) -> Result<(), String> {
        self.expect_disconnected(meeting)?;
        let state = self.peer.order(&json!({"do": "state"}))?;
        if state["state"].as_u64() == Some(ERROR) { Ok(()) } else { Err(format!("siw's end is in {state}")) }
    }

    /// As [`expect_end`](Self::expect_end), but for the state of siw's queue pair.
    pub fn expect_disconnected(&mut self, meeting: &Meeting) -> Result<(), String> {
        let end = Instant::now() + LIMIT;
        while !meeting.connection.is_over().map_err(text)? {
            if Instant::now() > end {
                return Err(format!("our end lives on, {:?}", meeting.connection.queue_pair.state()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let state = meeting.connection.queue_pair.state();
        if state != Some(State::Err) {
            return Err(format!("our queue pair is in {state:?}"));
        }
        self.expect_event("DISCONNECTED").map(drop)
    }

    /// Lets go of everything; nothing may have completed that nobody asked for.
    pub fn rest(&mut self) -> Result<(), String> {
        self.peer.order(&json!({"do": "close"}))?;
        match self.completions.poll() {
            None => Ok(()),
            Some(extra) => Err(format!("a completion too many: {extra:?}")),
        }
    }

    /// After a failure.
    pub fn recover(&mut self) {
        let _ = self.peer.order(&json!({"do": "close"}));
        while self.completions.poll().is_some() {}
    }
}

impl Meeting {
    pub fn post(&self, id: u64, operation: Operation, length: u32) -> Result<(), String> {
        let elements = [self.region.element(0, length)];
        let flags = SendFlags::SIGNALED;
        let request = SendRequest { id, operation, elements: &elements, flags, ..SendRequest::default() };
        self.connection.queue_pair.post_send(&request).map_err(text)
    }

    /// Our region.
    pub fn memory(&self) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; SIZE];
        self.region.read(0, &mut bytes).map_err(|fault| format!("{fault:?}"))?;
        Ok(bytes)
    }
}

fn parameters(private_data: &[u8]) -> ConnectionParameters<'_> {
    ConnectionParameters { private_data, responder_resources: 4, initiator_depth: 4, ..Default::default() }
}

/// What a region holds at first, ours and siw's.
pub fn pattern() -> Vec<u8> {
    (0..SIZE).map(|i| (i * 7 + (i >> 8)) as u8).collect()
}

pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
