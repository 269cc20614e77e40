//! The conversation of a test whose connections are made by rdma_cm: each message of it a SEND over the first of them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::time::Duration;

use rdmalab_device::{
    Access, Capabilities, CompletionKind, CompletionQueue, CompletionStatus, Device, Identifier,
    MemoryRegion, Operation, PortSpace, ProtectionDomain, QueuePair, QueuePairOptions, QueuePairType,
    ReceiveRequest, SendFlags, SendRequest, State,
};

use super::{Made, Manager, Wish};
use crate::perf::error::PerfError;
use crate::perf::exchange::Wait;

/// Bytes of the longest message, with room to spare.
const LONGEST: usize = 256;
/// Messages that may arrive before one is read.
const RECEIVES: usize = 4;

/// A connection that carries messages as TCP carries bytes: whole ones are written, and read in any pieces.
pub(in crate::perf) struct Talk {
    // Dropped in this order: the queue pair before what it uses.
    queue_pair: QueuePair,
    _identifier: Identifier,
    completions: CompletionQueue,
    /// A place for what is sent, then one for each receive.
    memory: MemoryRegion,
    _domain: ProtectionDomain,
    is_sending: bool,
    arrived: VecDeque<u8>,
    patience: Option<Duration>,
}

impl Talk {
    /// Makes the first connection, and talks over it.
    pub(in crate::perf) fn open(device: &Device, manager: &Manager) -> Result<Self, PerfError> {
        let domain = device.protection_domain()?;
        let memory = domain.register(LONGEST * (RECEIVES + 1), Access::LOCAL_WRITE)?;
        let capabilities = Capabilities {
            max_send_requests: 1,
            max_receive_requests: RECEIVES as u32,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let completions = device.completion_queue(RECEIVES as u32 + 1)?;
        let usual = QueuePairOptions::new(QueuePairType::Rc, &completions);
        let prepare = |_, queue_pair: &QueuePair| {
            (1..=RECEIVES as u64).try_for_each(|id| receive(queue_pair, &memory, id))
        };
        let options = &QueuePairOptions { capabilities, ..usual };
        let wish = Wish {
            space: PortSpace::Tcp,
            count: 1,
            domain: &domain,
            options,
            reads: 1,
            prepare: &prepare,
            found: &|_| Ok(()),
        };
        let mut made = manager.connect(&wish)?;
        let Some(Made { identifier, queue_pair, .. }) = made.pop() else {
            return Err(PerfError::OtherQueuePairs);
        };
        Ok(Self {
            queue_pair,
            _identifier: identifier,
            completions,
            memory,
            _domain: domain,
            is_sending: false,
            arrived: VecDeque::new(),
            patience: manager.patience,
        })
    }

    /// Takes a completion. `false` if the connection is over.
    fn take(&mut self) -> io::Result<bool> {
        let completion = self.completions.wait(self.patience).map_err(io::Error::other)?;
        let completion = completion.ok_or(io::ErrorKind::TimedOut)?;
        match completion.status {
            CompletionStatus::Success => {}
            CompletionStatus::WorkRequestFlushed => return Ok(false),
            status => return Err(io::Error::other(format!("a message of it failed with {status}"))),
        }
        if completion.kind != CompletionKind::Receive {
            self.is_sending = false;
            return Ok(true);
        }
        let mut message = [0; LONGEST];
        let message = &mut message[..(completion.length as usize).min(LONGEST)];
        // Inside the region, each receive at its place.
        let _ = self.memory.read(LONGEST * completion.id as usize, message);
        self.arrived.extend(&*message);
        receive(&self.queue_pair, &self.memory, completion.id).map_err(io::Error::other)?;
        Ok(true)
    }
}

/// Posts the receive of a number at its place.
fn receive(queue_pair: &QueuePair, memory: &MemoryRegion, id: u64) -> Result<(), PerfError> {
    let elements = [memory.element(LONGEST as u64 * id, LONGEST as u32)];
    Ok(queue_pair.post_receive(&ReceiveRequest { id, elements: &elements })?)
}

impl Read for Talk {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.arrived.is_empty() {
            if !self.take()? {
                return Ok(0);
            }
        }
        self.arrived.read(out)
    }
}

impl Write for Talk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        while self.is_sending {
            if !self.take()? {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
        let message = &data[..data.len().min(LONGEST)];
        // Inside the region.
        let _ = self.memory.write(0, message);
        let elements = [self.memory.element(0, message.len() as u32)];
        let request = SendRequest {
            operation: Operation::Send,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        self.queue_pair.post_send(&request).map_err(io::Error::other)?;
        self.is_sending = true;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wait for Talk {
    fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    fn is_over(&self) -> bool {
        self.queue_pair.state() != Some(State::Rts)
    }
}
