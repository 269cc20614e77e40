//! Operations of all kinds one behind the other, in one direction and in both at once, with receives that come late and
//! keys that are handed over.

use crate::mistreat::{READS, each};
use crate::pair::flow::{Job, Script};
use crate::pair::peer::{Door, Service};

/// `side` opens all doors for the other. A window of type 2 belongs to the queue pair that bound it, which over XRC is
/// not the one that answers.
fn open_doors(script: &mut Script, side: usize, service: Service) {
    script.ask(side, Job::Open(Door::WindowOne(1)), 0);
    script.ask(side, Job::Open(Door::Fast(1)), 0);
    if service != Service::Xrc {
        script.ask(side, Job::Open(Door::WindowTwo(1)), 0);
    }
}

/// One of everything from `side` to the other, which has opened its doors.
fn everything(script: &mut Script, side: usize, mtu: usize, service: Service) {
    let door = if service == Service::Xrc { Door::WindowOne(1) } else { Door::WindowTwo(1) };
    script.tell(side, Job::Send, 2 * mtu + 100);
    let written = script.ask(side, Job::Write, 2 * mtu).remote;
    let read = script.ask(side, Job::Read, 3 * mtu - 1);
    read.through = Door::WindowOne(1);
    let word = script.ask(side, Job::FetchAdd(7), 0).remote;
    script.tell(side, Job::SendImmediate, 1);
    script.ask(side, Job::Write, mtu + 1).through = door;
    script.ask(side, Job::Read, 2 * mtu).remote = written;
    script.ask(side, Job::CompareSwap(1, 2), 0).remote = word;
    script.tell(side, Job::WriteImmediate, mtu + 1).through = Door::Fast(1);
    if service != Service::Xrc {
        script.ask(side, Job::Flush, mtu).remote = written;
        script.ask(side, Job::AtomicWrite([9; 8]), 0).remote = word;
    }
    script.ask(side, Job::Write, 0);
    script.ask(side, Job::Read, 0);
    script.tell(side, Job::Send, 0);
    let farewell = script.tell(side, Job::SendInvalidate(Door::Fast(1)), mtu + 9);
    farewell.fenced = true;
    script.ask(side, Job::FetchAdd(1), 0).remote = word;
}

#[test]
fn one_of_everything_bears_any_loss() {
    each(&READS, |service, mtu| {
        let mut script = Script::default();
        open_doors(&mut script, 1, service);
        everything(&mut script, 0, mtu, service);
        script
    });
}

#[test]
fn both_directions_at_once_bear_any_loss() {
    each(&[2], |service, mtu| {
        let mut script = Script::default();
        open_doors(&mut script, 0, service);
        open_doors(&mut script, 1, service);
        everything(&mut script, 0, mtu, service);
        everything(&mut script, 1, mtu, service);
        script
    });
}

/// Receives are posted only when both sides have been told that there are none.
#[test]
fn messages_that_find_no_receive_at_first_bear_any_loss() {
    each(&[2], |_, mtu| {
        let mut script = Script::default();
        for side in 0..2 {
            script.not_before(side, 3_000_000);
            for length in [2 * mtu + 1, 3, mtu, 1] {
                script.receive(side, length);
            }
            script.not_before(side, 0);
        }
        for side in 0..2 {
            script.ask(side, Job::Write, 1);
            script.tell_later(side, Job::Send, 2 * mtu + 1);
            script.ask(side, Job::Read, mtu + 1);
            script.tell_later(side, Job::WriteImmediate, mtu + 1);
            script.tell_later(side, Job::SendImmediate, mtu);
            script.ask(side, Job::FetchAdd(3), 0);
            script.tell_later(side, Job::Send, 0);
        }
        script
    });
}

#[test]
fn many_reads_and_atomics_bear_any_loss() {
    each(&READS, |service, mtu| {
        let mut script = Script::default();
        let word = script.ask(0, Job::FetchAdd(1), 0).remote;
        for n in 0..4 {
            script.ask(0, Job::Read, (n % 3) * mtu + 1);
            script.ask(0, Job::FetchAdd(1 << (8 * n)), 0).remote = word;
            if service == Service::Rc {
                script.ask(0, Job::AtomicWrite([n as u8; 8]), 0);
                script.ask(0, Job::Flush, mtu);
            }
        }
        script
    });
}

/// Keys go over in messages, are used by who got them, and come back by invalidation.
#[test]
fn keys_that_are_handed_over_bear_any_loss() {
    each(&[2], |service, mtu| {
        let mut script = Script::default();
        let door =
            |number| if service == Service::Xrc { Door::Fast(number) } else { Door::WindowTwo(number) };
        for number in 1..=2 {
            // Three completions of one side in each round, and two of the other's first.
            let before = usize::from(number - 1);
            script.after(0, 5 * before);
            script.ask(0, Job::Open(door(number)), 0);
            script.tell(0, Job::Send, 20);
            script.after(1, 5 * before + 1);
            let written = script.ask(1, Job::Write, mtu + 1);
            written.through = door(number);
            let place = written.remote;
            let read = script.ask(1, Job::Read, mtu + 1);
            (read.through, read.remote) = (door(number), place);
            let back = script.tell(1, Job::SendInvalidate(door(number)), 3);
            back.fenced = true;
            script.after(0, 5 * before + 3);
            script.ask(0, Job::Open(Door::WindowOne(number)), 0);
            script.tell(0, Job::Send, mtu + 2);
        }
        script
    });
}
