//! Ten thousand connections at once, and how much the work for each grows with their number.

use std::time::{Duration, Instant};

use rdmalab_cm::{
    AcceptRequest, Cm, Config, ConnectRequest, ConnectionId, Event, Listen, ListenKind, Route, Target,
};
use rdmalab_wire::mad::{PortSpace, ServiceId};
use rdmalab_wire::{PKey, Psn, Qpn};

struct Pair {
    caller: Cm,
    called: Cm,
    there: Route,
    back: Route,
    now: u64,
}

impl Pair {
    fn new() -> Self {
        let there = Route::new([10, 9, 0, 2].into(), [10, 9, 0, 1].into(), PKey::DEFAULT);
        let back = Route::new(there.peer, there.local, PKey::DEFAULT);
        let (caller, mut called) = (Cm::new(Config::new(2), 2), Cm::new(Config::new(1), 1));
        let service_id = ServiceId::rdma_ip(PortSpace::Tcp, 7174);
        let kind = ListenKind::Connections;
        called.listen(&Listen { service_id, address: None, kind, backlog: 1 << 20 }).unwrap();
        Pair { caller, called, there, back, now: 0 }
    }

    fn connect(&mut self, number: u32) -> ConnectionId {
        let source_port = self.caller.ports().take(PortSpace::Tcp, None).unwrap();
        let target = Target::Ip { space: PortSpace::Tcp, port: 7174, source_port };
        let request = ConnectRequest::new(self.there, target, Qpn::new(number), Psn::new(number));
        self.caller.connect(self.now, &request).unwrap()
    }

    /// Carries messages until none is left; everybody says yes.
    fn settle(&mut self) {
        loop {
            let mut is_quiet = true;
            while let Some(outgoing) = self.caller.poll_transmit() {
                is_quiet = false;
                self.called.handle_mad(self.now, self.back, &outgoing.bytes);
            }
            while let Some(event) = self.called.poll_event() {
                if let Event::ConnectRequest { id, call, .. } = event {
                    let request =
                        AcceptRequest::new(&call, Qpn::new(0x80_0000 | call.qpn.value()), Psn::new(1));
                    self.called.accept(self.now, id, &request).unwrap();
                }
            }
            while let Some(outgoing) = self.called.poll_transmit() {
                is_quiet = false;
                self.caller.handle_mad(self.now, self.there, &outgoing.bytes);
            }
            while let Some(event) = self.caller.poll_event() {
                if let Event::ConnectResponse { id, .. } = event {
                    self.caller.confirm(id, &[]).unwrap();
                }
            }
            if is_quiet {
                break;
            }
        }
    }
}

/// Time for so many connections to be made and ended, while as many others live.
fn turn_over(standing: u32, turns: u32) -> Duration {
    let mut pair = Pair::new();
    for number in 0..standing {
        pair.connect(0x40_0000 | number);
    }
    pair.settle();
    assert_eq!(pair.called.connections(), standing as usize);
    let begin = Instant::now();
    for number in 0..turns {
        let id = pair.connect(number);
        pair.settle();
        pair.caller.disconnect(pair.now, id, &[]).unwrap();
        pair.settle();
        pair.now += 1_000_000;
        pair.caller.handle_timeout(pair.now);
        pair.called.handle_timeout(pair.now);
    }
    begin.elapsed()
}

#[test]
fn ten_thousand_connections_at_once_are_made_and_ended() {
    let mut pair = Pair::new();
    let ids: Vec<_> = (0..10_000).map(|number| pair.connect(number)).collect();
    pair.settle();
    assert_eq!((pair.caller.connections(), pair.called.connections()), (10_000, 10_000));
    assert_eq!((pair.caller.next_timeout(), pair.called.next_timeout()), (None, None));
    assert_eq!(pair.caller.counters().sent, 20_000);
    for id in ids {
        pair.caller.disconnect(pair.now, id, &[]).unwrap();
    }
    pair.settle();
    pair.now += 1_000_000_000;
    pair.caller.handle_timeout(pair.now);
    pair.called.handle_timeout(pair.now);
    assert_eq!((pair.caller.connections(), pair.called.connections()), (0, 0));
}

/// With a scan in any step, the second would take some hundred times as long. Of three runs each the fastest counts: other
/// programs on the machine only make it slower.
#[test]
fn connection_costs_the_same_among_many_as_alone() {
    let fastest = |standing| (0..3).map(|_| turn_over(standing, 200)).min().unwrap();
    let (alone, among_many) = (fastest(10), fastest(10_000));
    println!("200 connections: {alone:?} among 10, {among_many:?} among 10000");
    assert!(among_many < alone * 10, "{alone:?} among 10, {among_many:?} among 10000");
}
