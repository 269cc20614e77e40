//! What has been served so far, by program and by peer.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rdmalab_device::Served;

use super::Program;

/// Peers that are told apart. What others do is counted without a name.
const MOST_PEERS: usize = 256;

/// What there is to count of a program, or of a program and a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Clients that are there now.
    pub now: u64,
    /// Clients that have been let in.
    pub served: u64,
    /// Clients that have not.
    pub refused: u64,
    /// Clients that went otherwise than they should.
    pub failed: u64,
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The program.
    pub program: Program,
    /// The peer; `None` stands for all that have no line of their own.
    pub peer: Option<IpAddr>,
    /// The counts.
    pub count: Count,
}

/// What has been served so far. Any thread may add to it and look at it.
#[derive(Default)]
pub struct Ledger {
    rows: Mutex<BTreeMap<(Program, Option<IpAddr>), Count>>,
    watched: Mutex<Watched>,
}

/// Clients whose messages are read off their queue pairs while they are there.
#[derive(Default)]
struct Watched {
    made: u64,
    clients: BTreeMap<u64, Client>,
}

struct Client {
    program: Program,
    peer: Option<IpAddr>,
    read: Box<dyn Fn() -> Option<Served> + Send>,
    /// What of it stands in the rows already.
    counted: Served,
}

/// A client that is watched; until this is dropped.
pub(crate) struct Watch<'a> {
    ledger: &'a Ledger,
    number: u64,
}

impl Watch<'_> {
    /// It has come to this.
    pub(crate) fn end(self, served: Served) {
        let mut watched = self.ledger.watched();
        if let Some(client) = watched.clients.get_mut(&self.number) {
            self.ledger.take_in(client, served);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.ledger.watched().clients.remove(&self.number);
    }
}

impl Ledger {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// All lines, in order of programs and peers.
    pub fn rows(&self) -> Vec<Row> {
        for client in self.watched().clients.values_mut() {
            if let Some(served) = (client.read)() {
                self.take_in(client, served);
            }
        }
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().map(|(&(program, peer), &count)| Row { program, peer, count }).collect()
    }

    /// The sum over all peers of a program.
    pub fn total(&self, program: Program) -> Count {
        let mut sum = Count::default();
        for Row { count, .. } in self.rows().into_iter().filter(|row| row.program == program) {
            sum.now += count.now;
            sum.served += count.served;
            sum.refused += count.refused;
            sum.failed += count.failed;
            sum.messages += count.messages;
            sum.bytes += count.bytes;
        }
        sum
    }

    /// Reads a client's messages whenever somebody looks, until it has ended.
    pub(crate) fn watch(
        &self,
        program: Program,
        peer: Option<IpAddr>,
        read: impl Fn() -> Option<Served> + Send + 'static,
    ) -> Watch<'_> {
        let mut watched = self.watched();
        watched.made += 1;
        let number = watched.made;
        let client = Client { program, peer, read: Box::new(read), counted: Served::default() };
        watched.clients.insert(number, client);
        Watch { ledger: self, number }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what a client has done since that was done last.
    fn take_in(&self, client: &mut Client, served: Served) {
        let before = std::mem::replace(&mut client.counted, served);
        let messages = served.messages.saturating_sub(before.messages);
        let bytes = served.bytes.saturating_sub(before.bytes);
        if messages > 0 {
            self.did(client.program, client.peer, messages, bytes);
        }
    }

    pub(crate) fn came(&self, program: Program, peer: Option<IpAddr>) {
        self.change(program, peer, |count| {
            count.now += 1;
            count.served += 1;
        });
    }

    pub(crate) fn refused(&self, program: Program, peer: Option<IpAddr>) {
        self.change(program, peer, |count| count.refused += 1);
    }

    pub(crate) fn did(&self, program: Program, peer: Option<IpAddr>, messages: u64, bytes: u64) {
        self.change(program, peer, |count| {
            count.messages += messages;
            count.bytes += bytes;
        });
    }

    pub(crate) fn gone(&self, program: Program, peer: Option<IpAddr>, failed: bool) {
        self.change(program, peer, |count| {
            count.now = count.now.saturating_sub(1);
            count.failed += u64::from(failed);
        });
    }

    /// Lines stay, so that who came under a name goes under it.
    fn change(&self, program: Program, peer: Option<IpAddr>, change: impl FnOnce(&mut Count)) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = rows.contains_key(&(program, peer)) || rows.len() < MOST_PEERS;
        change(rows.entry((program, if is_known { peer } else { None })).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_beyond_the_limit_share_a_line() {
        let ledger = Ledger::new();
        for number in 0..2000_u32 {
            let peer = Some(IpAddr::from(number.to_be_bytes()));
            ledger.came(Program::Rping, peer);
            ledger.did(Program::Rping, peer, 2, 10);
            ledger.gone(Program::Rping, peer, number % 2 == 0);
        }
        assert!(ledger.rows().len() <= MOST_PEERS + 1);
        let expected =
            Count { served: 2000, failed: 1000, messages: 4000, bytes: 20_000, ..Count::default() };
        assert_eq!(ledger.total(Program::Rping), expected);
        assert_eq!(ledger.total(Program::Udaddy), Count::default());
    }

    #[test]
    fn a_client_that_is_watched_counts_once_however_often_somebody_looks() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicU64, Ordering};

        let (ledger, done) = (Ledger::new(), Arc::new(AtomicU64::new(0)));
        let reading = Arc::clone(&done);
        let read = move || {
            let messages = reading.load(Ordering::Relaxed);
            Some(Served { messages, bytes: messages * 10 })
        };
        let watch = ledger.watch(Program::Perf, None, read);
        let counted = || {
            let Count { messages, bytes, .. } = ledger.total(Program::Perf);
            (messages, bytes)
        };
        for messages in [0, 3, 3, 7] {
            done.store(messages, Ordering::Relaxed);
            assert_eq!(counted(), (messages, messages * 10));
        }
        done.store(8, Ordering::Relaxed);
        watch.end(Served { messages: 9, bytes: 90 });
        assert_eq!(counted(), (9, 90), "the last word is what counts");
        assert!(ledger.watched().clients.is_empty());
    }
}
