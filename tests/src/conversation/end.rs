//! The connecting end of a conversation, on a device of ours.

mod keys;
mod line;
mod pair;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{
    Access, Completion, CompletionQueue, CompletionStatus, Device, ImmDt, MemoryRegion, Placement,
    ProtectionDomain, QueuePair, RKey, ReceiveRequest, RemoteAddress, Selectivity, SendFlags, SendRequest,
};

use super::lines::{self, Introduction, Keys, Wish};
use super::memory::{Side, compare, expected, number, pattern};
use super::{Kind, Operation, Refusal, operations};
use keys::OwnKeys;
use line::Line;
use pair::{RIGHTS, queue_pair};

/// How many operations are under way at once.
const DEPTH: usize = 16;

/// How long the peer may take to close the connection, if it may be gone.
const PARTING: Duration = Duration::from_secs(1);

/// Holds the conversation that `wish` describes with the peer that listens at `peer`; `begins` is called when both ends are
/// ready for the first operation. Each single wait ends after `limit`. `Err` says what either end found wrong.
pub fn converse(
    device: &Device,
    peer: SocketAddr,
    wish: &Wish,
    limit: Duration,
    begins: impl FnOnce(),
) -> Result<(), String> {
    let mut stream = device.connect(peer, Some(limit)).map_err(text)?;
    stream.set_timeout(Some(limit));
    let mut line = Line::new(stream);
    let outcome = End::open(device, peer.ip(), wish, limit).and_then(|end| end.converse(&mut line, begins));
    if outcome.is_err() {
        // The other end, which may be gone, need not wait for its limit.
        let _ = line.send(&lines::verdict(&outcome));
    }
    line.wait_for_end(if outcome.is_ok() { limit } else { PARTING });
    outcome
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
    domain: ProtectionDomain,
}

impl<'w> End<'w> {
    fn open(device: &Device, peer: IpAddr, wish: &'w Wish, limit: Duration) -> Result<Self, String> {
        let side = if wish.active { Side::Active } else { Side::Passive };
        let (operations, size) = operations(&wish.operations)?;
        let local = device.gids().into_iter().rfind(|gid| gid.is_ipv4() == peer.is_ipv4());
        let local = local.ok_or("the device has no address of the peer's family")?;
        let domain = device.protection_domain().map_err(text)?;
        let region = domain.register(size, RIGHTS | Access::LOCAL_WRITE | Access::MW_BIND).map_err(text)?;
        region.write(0, &pattern(side, size)).map_err(|fault| format!("{fault:?}"))?;
        let receives = u32::try_from(operations.len()).map_err(text)? + 1;
        let completions = device.completion_queue(receives + DEPTH as u32).map_err(text)?;
        let queue_pair = queue_pair(&domain, &completions, receives)?;
        Ok(Self { wish, side, limit, local, operations, queue_pair, completions, region, domain })
    }

    fn converse(&self, line: &mut Line, begins: impl FnOnce()) -> Result<(), String> {
        let introduction = self.introduction();
        line.send(&self.wish.line())?;
        line.send(&introduction.line())?;
        let peer = Introduction::read(&line.receive("qpn")?)?;
        if peer.size != introduction.size {
            return Err(format!("the peer's region has {} bytes, not {}", peer.size, introduction.size));
        }
        self.connect(&self.queue_pair, &peer)?;
        let own = match self.side {
            Side::Passive => OwnKeys::make(self, &peer)?,
            Side::Active => OwnKeys::default(),
        };
        if self.side == Side::Passive {
            self.post_receives()?;
        }
        line.send(&lines::ready(&own.keys))?;
        let keys = lines::keys(&line.receive("ready")?)?;
        begins();
        match self.side {
            Side::Active => {
                self.act(&peer, &keys)?;
                self.check_memory()?;
                line.send(&lines::verdict(&Ok(())))?;
                line.receive("verdict").map(drop)
            }
            Side::Passive => {
                line.receive("verdict")?;
                self.check_receives(&own)?;
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

    fn post(&self, operation: &Operation, peer: &Introduction, keys: &Keys) -> Result<(), String> {
        use rdmalab_device::Operation as Verb;
        let address = peer.va.wrapping_add(operation.offset as u64);
        let key = RKey::new(match operation {
            Operation { refusal: Some(Refusal::Ended), number, .. } => key_of(keys, number - 1)?,
            Operation { key: Some(_), number, .. } => key_of(keys, *number)?,
            _ => peer.rkey,
        });
        let remote = RemoteAddress { address, key };
        let immediate = ImmDt(operation.immediate().unwrap_or(0).to_be_bytes());
        // Of an atomic operation; our own bytes have not changed yet.
        let value = |side| number(&pattern(side, self.region.length())[operation.range()]);
        let verb = match operation.kind {
            Kind::Write => Verb::RdmaWrite(remote),
            Kind::WriteWithImm => Verb::RdmaWriteWithImmediate(remote, immediate),
            Kind::Send => Verb::Send,
            Kind::SendWithImm => Verb::SendWithImmediate(immediate),
            Kind::SendWithInv => Verb::SendWithInvalidate(key),
            Kind::Read => Verb::RdmaRead(remote),
            Kind::CmpSwap => {
                Verb::CompareAndSwap { remote, compare: value(Side::Passive), swap: value(Side::Active) }
            }
            Kind::CmpSwapMiss => {
                Verb::CompareAndSwap { remote, compare: value(Side::Passive) ^ 1, swap: value(Side::Active) }
            }
            Kind::FetchAdd => Verb::FetchAndAdd { remote, add: value(Side::Active) },
            Kind::AtomicWrite => Verb::AtomicWrite { remote, value: value(Side::Active).to_le_bytes() },
            Kind::Flush => Verb::Flush {
                remote,
                length: operation.size as u32,
                placement: Placement::GLOBAL,
                selectivity: Selectivity::Range,
            },
        };
        let elements: &[_] = if verb.is_without_elements() { &[] } else { &[self.element(operation)] };
        let id = operation.number as u64;
        self.queue_pair
            .post_send(&SendRequest {
                id,
                operation: verb,
                elements,
                flags: SendFlags::SIGNALED,
                ..SendRequest::default()
            })
            .map_err(text)
    }

    /// Carries out the operations. Their completions must come in their order, each once.
    fn act(&self, peer: &Introduction, keys: &Keys) -> Result<(), String> {
        let mut under_way = VecDeque::with_capacity(DEPTH);
        let mut waiting = self.operations.iter();
        loop {
            while under_way.len() < DEPTH {
                let Some(operation) = waiting.next() else { break };
                self.post(operation, peer, keys)?;
                under_way.push_back(operation);
            }
            let Some(operation) = under_way.pop_front() else { return self.expect_silence() };
            let wanted = match operation.refusal {
                None => CompletionStatus::Success,
                Some(Refusal::Unheard) => CompletionStatus::RetryExceeded,
                Some(_) => CompletionStatus::RemoteAccessError,
            };
            let of = format!("{:?} {}", operation.kind, operation.number);
            let completion = self.completion_with(&of, wanted).map_err(|fault| {
                let behind = under_way.len();
                format!("{fault}; {} of {behind} behind it were flushed", self.flushed(behind))
            })?;
            if completion.id != operation.number as u64 {
                return Err(format!("{} completed when it was {}'s turn", completion.id, operation.number));
            }
        }
    }

    /// How many of the next `count` completions are of requests that were given up with their queue pair.
    fn flushed(&self, count: usize) -> usize {
        let next = || self.completions.wait(Some(PARTING)).ok().flatten();
        let flushed = |completion: &Completion| completion.status == CompletionStatus::WorkRequestFlushed;
        (0..count).map_while(|_| next()).filter(flushed).count()
    }

    fn completion(&self, of: &str) -> Result<Completion, String> {
        self.completion_with(of, CompletionStatus::Success)
    }

    fn completion_with(&self, of: &str, wanted: CompletionStatus) -> Result<Completion, String> {
        let completion = self.completions.wait(Some(self.limit)).map_err(text)?;
        let completion = completion.ok_or_else(|| format!("{of} did not complete in {:?}", self.limit))?;
        if completion.status != wanted {
            return Err(format!(
                "{of}: request {} ended with {}, not {wanted}",
                completion.id, completion.status
            ));
        }
        Ok(completion)
    }

    fn check_receives(&self, own: &OwnKeys) -> Result<(), String> {
        for operation in self.operations.iter().filter(|operation| operation.kind.takes_a_receive()) {
            let completion =
                self.completion(&format!("the receive for {:?} {}", operation.kind, operation.number))?;
            let immediate = completion.immediate.map(|data| u32::from_be_bytes(data.0));
            let ended = completion.invalidated.map(RKey::value);
            let found = (completion.id, completion.length as usize, immediate, ended);
            let key = (operation.kind == Kind::SendWithInv).then(|| key_of(&own.keys, operation.number));
            let wanted = (operation.number as u64, operation.size, operation.immediate(), key.transpose()?);
            if found != wanted {
                return Err(format!(
                    "a receive has (number, length, immediate, ended key) {found:?}, not {wanted:?}"
                ));
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

/// The key of an operation that has one of its own.
fn key_of(keys: &Keys, number: usize) -> Result<u32, String> {
    let key = keys.get(&number.to_string()).copied();
    key.ok_or_else(|| format!("there is no key for operation {number}"))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
