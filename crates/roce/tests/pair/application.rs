//! What the application of either harness, a pair or a script's side, does with its memory and its completions.
//!
//! Several test programs have this in them, each uses a part.
#![allow(dead_code)]

use std::net::{IpAddr, Ipv4Addr};

use rdmalab_roce::Profile;
use rdmalab_verbs::{Completion, CompletionQueueId, Context, HeapMemory, Memory, Sge};
use rdmalab_wire::QKey;

/// Where the region begins, on both sides.
pub const BASE: u64 = 0x10_0000;

/// The queue key of everybody's datagrams.
pub const QUEUE_KEY: QKey = QKey::new(0x1111_1111);

/// No credits, no migration bit, no ECN, so that what is expected of a packet is what the test is about.
pub const PLAIN: Profile = Profile { credits: false, migrated: false, ecn_capable: false, ..Profile::SPEC };

/// The address of the `n`-th.
pub fn address(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, n))
}

/// One that has a region of memory and a completion queue.
pub trait Application {
    fn memory(&self) -> &HeapMemory;
    /// Of the region.
    fn key(&self) -> u32;
    fn completion_queue(&mut self) -> (&mut Context, CompletionQueueId);

    /// A piece of the region.
    fn sge(&self, offset: usize, length: usize) -> Sge {
        Sge { address: BASE + offset as u64, length: length as u32, key: self.key() }
    }

    fn fill(&self, offset: usize, length: usize, seed: u8) {
        let bytes: Vec<u8> = (0..length).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed)).collect();
        self.memory().write(offset, &bytes).unwrap();
    }

    fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory().read(offset, &mut bytes).unwrap();
        bytes
    }

    /// Takes all completions out.
    fn completions(&mut self) -> Vec<Completion> {
        let (context, queue) = self.completion_queue();
        std::iter::from_fn(|| context.poll_completion(queue)).collect()
    }
}
