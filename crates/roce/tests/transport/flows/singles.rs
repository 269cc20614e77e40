//! Each operation by itself: a short message, one of three packets, one of none, and one that fills a packet.

use crate::mistreat::{RC, READS, each, each_over};
use crate::pair::flow::{Job, Script, fill_byte};
use crate::pair::peer::{Door, Service};

fn lengths(mtu: usize) -> [usize; 4] {
    [1, 2 * mtu + 1, 0, mtu]
}

fn told(job: Job, mtu: usize) -> Script {
    let mut script = Script::default();
    for length in lengths(mtu) {
        script.tell(0, job, length);
    }
    script
}

fn asked(jobs: &[Job], mtu: usize) -> Script {
    let mut script = Script::default();
    for (job, length) in jobs.iter().cycle().zip(lengths(mtu)) {
        script.ask(0, *job, length);
    }
    script
}

#[test]
fn sends_bear_any_loss() {
    each(&[1], |_, mtu| told(Job::Send, mtu));
}

#[test]
fn sends_with_immediate_bear_any_loss() {
    each(&[1], |_, mtu| told(Job::SendImmediate, mtu));
}

#[test]
fn sends_that_invalidate_bear_any_loss() {
    each(&[1], |service, mtu| {
        let mut script = Script::default();
        // A window of type 2 belongs to the queue pair that bound it, which over XRC is not the one that answers.
        let doors: &[Door] =
            if service == Service::Xrc { &[Door::Fast(1)] } else { &[Door::Fast(1), Door::WindowTwo(1)] };
        for door in doors {
            script.ask(1, Job::Open(*door), 0);
        }
        for (door, length) in doors.iter().zip([2 * mtu + 1, 1]) {
            script.ask(0, Job::Write, 5).through = *door;
            script.tell(0, Job::SendInvalidate(*door), length);
        }
        script
    });
}

#[test]
fn writes_bear_any_loss() {
    each(&[1], |_, mtu| asked(&[Job::Write], mtu));
}

#[test]
fn writes_with_immediate_bear_any_loss() {
    each(&[1], |_, mtu| told(Job::WriteImmediate, mtu));
}

#[test]
fn reads_bear_any_loss() {
    each(&READS, |_, mtu| asked(&[Job::Read], mtu));
}

#[test]
fn compare_and_swap_bears_any_loss() {
    each(&READS, |_, _| {
        let mut script = Script::default();
        let written = script.ask(0, Job::Write, 8);
        let (word, from) = (written.remote, written.local);
        // What the application fills its memory with.
        let first = u64::from_ne_bytes(std::array::from_fn(|n| fill_byte(0, from + n)));
        for (compare, swap) in [(first, 2), (first, 3), (2, 4)] {
            script.ask(0, Job::CompareSwap(compare, swap), 0).remote = word;
        }
        script
    });
}

#[test]
fn fetch_and_add_bears_any_loss() {
    each(&READS, |_, _| {
        let mut script = Script::default();
        let word = script.ask(0, Job::FetchAdd(1), 0).remote;
        for add in [2, 4, u64::MAX] {
            script.ask(0, Job::FetchAdd(add), 0).remote = word;
        }
        script
    });
}

#[test]
fn flushes_and_atomic_writes_bear_any_loss() {
    each_over(&RC, &READS, |_, mtu| {
        let mut script = Script::default();
        for (n, length) in lengths(mtu).into_iter().enumerate() {
            let written = script.ask(0, Job::Write, length).remote;
            script.ask(0, Job::Flush, length).remote = written;
            script.ask(0, Job::AtomicWrite([n as u8; 8]), 0);
        }
        script
    });
}

#[test]
fn local_work_between_packets_bears_any_loss() {
    each(&[2], |_, mtu| {
        let mut script = Script::default();
        script.ask(0, Job::Open(Door::WindowTwo(1)), 0);
        script.ask(0, Job::Write, 2 * mtu + 1);
        script.ask(0, Job::Open(Door::Fast(1)), 0);
        script.ask(0, Job::Close(Door::WindowTwo(1)), 0);
        script.ask(0, Job::Read, mtu + 1);
        script.ask(0, Job::Open(Door::WindowTwo(2)), 0);
        script.ask(0, Job::Close(Door::Fast(1)), 0);
        script.tell(0, Job::Send, 1);
        script.ask(0, Job::Open(Door::WindowOne(1)), 0);
        script.ask(0, Job::Open(Door::WindowOne(2)), 0);
        script
    });
}
