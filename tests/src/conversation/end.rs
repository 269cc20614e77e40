//! The connecting end of a conversation, on a device of ours.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{
    Access, Attributes, Capabilities, Completion, CompletionQueue, CompletionStatus, Device, ImmDt,
    MemoryRegion, Path, PathMtu, ProtectionDomain, Psn, QueuePair, RKey, ReceiveRequest, RemoteAddress,
    SendFlags, SendRequest, State, Stream,
};

use super::lines::{self, Introduction, Wish};
use super::memory::{Side, compare, expected, number, pattern};
use super::{Kind, Operation, operations};

/// How many operations are under way at once.
const DEPTH: usize = 16;

/// The longest line that the other end may send, in bytes.
const LONGEST_LINE: u64 = 10_000;

/// Holds the conversation that `wish` describes with the peer that listens at `peer`. Each single wait ends after
/// `limit`. `Err` says what either end found wrong.
pub fn converse(device: &Device, peer: SocketAddr, wish: &Wish, limit: Duration) -> Result<(), String> {
    let mut stream = device.connect(peer, Some(limit)).map_err(text)?;
    stream.set_timeout(Some(limit));
    let mut line = Line(BufReader::new(stream));
    let outcome = End::open(device, peer.ip(), wish, limit).and_then(|end| end.converse(&mut line));
    if outcome.is_err() {
        // The other end, which may be gone, need not wait for its limit.
        let _ = line.send(&lines::verdict(&outcome));
    }
    line.wait_for_end();
    outcome
}

/// The TCP connection.
struct Line(BufReader<Stream>);

impl Line {
    /// Waits until the peer closes, so that our last line is not lost with our device.
    fn wait_for_end(&mut self) {
        self.0.get_mut().set_timeout(Some(Duration::from_secs(5)));
        let _ = (&mut self.0).take(LONGEST_LINE).read_to_end(&mut Vec::new());
    }

    fn send(&mut self, line: &str) -> Result<(), String> {
        let stream = self.0.get_mut();
        stream
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|error| format!("the TCP connection: {error}"))
    }

    fn receive(&mut self, key: &str) -> Result<String, String> {
        let mut line = String::new();
        let count = (&mut self.0).take(LONGEST_LINE).read_line(&mut line);
        match count {
            Err(error) => Err(format!("waiting for the peer's {key:?}: {error}")),
            Ok(0) => Err(format!("the peer closed the connection before it sent {key:?}")),
            Ok(_) => lines::expect(&line, key).map(|_| line),
        }
    }
}

/// Everything of this end that is RDMA.
struct End<'w> {
    wish: &'w Wish,
    side: Side,
    limit: Duration,
    local: IpAddr,
    operations: Vec<Operation>,
    // Dropped in this order: the queue pair before what it uses.
    queue_pair: QueuePair,
    completions: CompletionQueue,
    region: MemoryRegion,
    _domain: ProtectionDomain,
}

impl<'w> End<'w> {
    fn open(device: &Device, peer: IpAddr, wish: &'w Wish, limit: Duration) -> Result<Self, String> {
        let side = if wish.active { Side::Active } else { Side::Passive };
        let (operations, size) = operations(&wish.operations)?;
        let local = device.gids().into_iter().rfind(|gid| gid.is_ipv4() == peer.is_ipv4());
        let local = local.ok_or("the device has no address of the peer's family")?;
        let domain = device.protection_domain().map_err(text)?;
        let remote = Access::REMOTE_READ | Access::REMOTE_WRITE | Access::REMOTE_ATOMIC;
        let region = domain.register(size, Access::LOCAL_WRITE | remote).map_err(text)?;
        region.write(0, &pattern(side, size)).map_err(|fault| format!("{fault:?}"))?;
        let receives = u32::try_from(operations.len()).map_err(text)? + 1;
        let completions = device.completion_queue(receives + DEPTH as u32).map_err(text)?;
        let capabilities = Capabilities {
            max_send_requests: DEPTH as u32,
            max_receive_requests: receives,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let queue_pair = domain.queue_pair(&completions, &completions, capabilities).map_err(text)?;
        queue_pair
            .modify(&Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: Some(remote),
                ..Attributes::default()
            })
            .map_err(text)?;
        Ok(Self { wish, side, limit, local, operations, queue_pair, completions, region, _domain: domain })
    }

    fn converse(&self, line: &mut Line) -> Result<(), String> {
        let introduction = self.introduction();
        line.send(&self.wish.line())?;
        line.send(&introduction.line())?;
        let peer = Introduction::read(&line.receive("qpn")?)?;
        if peer.size != introduction.size {
            return Err(format!("the peer's region has {} bytes, not {}", peer.size, introduction.size));
        }
        self.connect(&introduction, &peer)?;
        if self.side == Side::Passive {
            self.post_receives()?;
        }
        line.send(&lines::ready())?;
        line.receive("ready")?;
        match self.side {
            Side::Active => {
                self.act(&peer)?;
                self.check_memory()?;
                line.send(&lines::verdict(&Ok(())))?;
                line.receive("verdict").map(drop)
            }
            Side::Passive => {
                line.receive("verdict")?;
                self.check_receives()?;
                self.check_memory()?;
                line.send(&lines::verdict(&Ok(())))
            }
        }
    }

    fn introduction(&self) -> Introduction {
        let gid = match self.local {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        Introduction {
            qpn: self.queue_pair.number().value(),
            psn: self.wish.psn,
            gid: gid.to_string(),
            rkey: self.region.key().value(),
            va: self.region.address(),
            size: self.region.length(),
        }
    }

    fn connect(&self, ours: &Introduction, peer: &Introduction) -> Result<(), String> {
        let gid: Ipv6Addr = peer.gid.parse().map_err(|_| format!("the peer's GID is {:?}", peer.gid))?;
        let destination = gid.to_ipv4_mapped().map_or(IpAddr::V6(gid), IpAddr::V4);
        let mtu = PathMtu::from_bytes(usize::from(self.wish.mtu)).ok_or("no such path MTU")?;
        self.queue_pair
            .modify(&Attributes {
                state: Some(State::Rtr),
                path: Some(Path::new(self.local, destination)),
                path_mtu: Some(mtu),
                destination: Some(rdmalab_device::Qpn::new(peer.qpn)),
                receive_psn: Some(Psn::new(peer.psn)),
                max_destination_reads: Some(self.wish.rd_atomic),
                min_rnr_timer: Some(12),
                ..Attributes::default()
            })
            .map_err(text)?;
        self.queue_pair
            .modify(&Attributes {
                state: Some(State::Rts),
                timeout: Some(self.wish.timeout),
                retry_count: Some(self.wish.retry),
                rnr_retry: Some(self.wish.rnr_retry),
                send_psn: Some(Psn::new(ours.psn)),
                max_reads: Some(self.wish.rd_atomic),
                ..Attributes::default()
            })
            .map_err(text)
    }

    fn element(&self, operation: &Operation) -> rdmalab_device::Sge {
        self.region.element(operation.offset as u64, operation.size as u32)
    }

    fn post_receives(&self) -> Result<(), String> {
        for operation in self.operations.iter().filter(|operation| operation.kind.takes_a_receive()) {
            let elements = [self.element(operation)];
            self.queue_pair
                .post_receive(&ReceiveRequest { id: operation.number as u64, elements: &elements })
                .map_err(text)?;
        }
        Ok(())
    }

    fn post(&self, operation: &Operation, peer: &Introduction) -> Result<(), String> {
        use rdmalab_device::Operation as Verb;
        let address = peer.va.wrapping_add(operation.offset as u64);
        let remote = RemoteAddress { address, key: RKey::new(peer.rkey) };
        let immediate = ImmDt(operation.immediate().unwrap_or(0).to_be_bytes());
        // Of an atomic operation; our own bytes have not changed yet.
        let value = |side| number(&pattern(side, self.region.length())[operation.range()]);
        let verb = match operation.kind {
            Kind::Write => Verb::RdmaWrite(remote),
            Kind::WriteWithImm => Verb::RdmaWriteWithImmediate(remote, immediate),
            Kind::Send => Verb::Send,
            Kind::SendWithImm => Verb::SendWithImmediate(immediate),
            Kind::Read => Verb::RdmaRead(remote),
            Kind::CmpSwap => {
                Verb::CompareAndSwap { remote, compare: value(Side::Passive), swap: value(Side::Active) }
            }
            Kind::CmpSwapMiss => {
                Verb::CompareAndSwap { remote, compare: value(Side::Passive) ^ 1, swap: value(Side::Active) }
            }
            Kind::FetchAdd => Verb::FetchAndAdd { remote, add: value(Side::Active) },
        };
        let elements = [self.element(operation)];
        let id = operation.number as u64;
        self.queue_pair
            .post_send(&SendRequest {
                id,
                operation: verb,
                elements: &elements,
                flags: SendFlags::SIGNALED,
                ..SendRequest::default()
            })
            .map_err(text)
    }

    /// Carries out the operations. Their completions must come in their order, each once.
    fn act(&self, peer: &Introduction) -> Result<(), String> {
        let mut under_way = VecDeque::with_capacity(DEPTH);
        let mut waiting = self.operations.iter();
        loop {
            while under_way.len() < DEPTH {
                let Some(operation) = waiting.next() else { break };
                self.post(operation, peer)?;
                under_way.push_back(operation);
            }
            let Some(operation) = under_way.pop_front() else { return self.expect_silence() };
            let completion = self.completion(&format!("{:?} {}", operation.kind, operation.number))?;
            if completion.id != operation.number as u64 {
                return Err(format!("{} completed when it was {}'s turn", completion.id, operation.number));
            }
        }
    }

    fn completion(&self, of: &str) -> Result<Completion, String> {
        let completion = self.completions.wait(Some(self.limit)).map_err(text)?;
        let completion = completion.ok_or_else(|| format!("{of} did not complete in {:?}", self.limit))?;
        match completion.status {
            CompletionStatus::Success => Ok(completion),
            status => Err(format!("{of}: request {} ended with {status}", completion.id)),
        }
    }

    fn check_receives(&self) -> Result<(), String> {
        for operation in self.operations.iter().filter(|operation| operation.kind.takes_a_receive()) {
            let completion =
                self.completion(&format!("the receive for {:?} {}", operation.kind, operation.number))?;
            let immediate = completion.immediate.map(|data| u32::from_be_bytes(data.0));
            let found = (completion.id, completion.length as usize, immediate);
            let wanted = (operation.number as u64, operation.size, operation.immediate());
            if found != wanted {
                return Err(format!("a receive has (number, length, immediate) {found:?}, not {wanted:?}"));
            }
        }
        self.expect_silence()
    }

    fn expect_silence(&self) -> Result<(), String> {
        match self.completions.poll() {
            None => Ok(()),
            Some(extra) => Err(format!("there is a completion too many: {extra:?}")),
        }
    }

    fn check_memory(&self) -> Result<(), String> {
        let size = self.region.length();
        let mut found = vec![0; size];
        self.region.read(0, &mut found).map_err(|fault| format!("{fault:?}"))?;
        compare(&found, &expected(self.side, &self.operations, size), &self.operations)
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
