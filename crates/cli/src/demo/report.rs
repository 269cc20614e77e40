//! What is said before the first packet and after the last.

use std::io::Write;

use owo_colors::OwoColorize;
use rdmalab_device::{CongestionControl, Profile};
use rdmalab_sim::End;
use rdmalab_verbs::{CompletionStatus, SharedReceiveQueueId};

use super::Options;
use super::exchange::{Course, Failure};
use super::kind::Kind;
use super::ladder::{Ladder, count};
use super::pair::{self, Pair, QUEUE_KEY};
use super::plan::Plan;
use super::transport::Transport;
use super::verdict::Verdict;
use super::witness::say;
use crate::outcome::{Error, Outcome, Result, unprinted};

/// What one sees before the first packet.
pub fn introduce<W: Write>(
    options: &Options,
    plan: &Plan,
    pair: &Pair,
    ladder: &mut Ladder<W>,
) -> Result<()> {
    let (a, b) = (pair.side(End::A), pair.side(End::B));
    let title =
        format!("{} {}, {}", count(plan.messages, "message"), names(&plan.kinds), count(plan.size, "byte"));
    say(ladder, title.bold())?;
    let (packets, mtu) = match plan.transport {
        Transport::Iwarp => ("TCP segments", format!("link MTU {}", pair::LINK_MTU)),
        _ => ("RoCE packets", format!("path MTU {}", pair::PATH_MTU.bytes())),
    };
    say(
        ladder,
        format_args!(
            "seed {}, loss of {packets} {}, {mtu}, link {} µs and {} Gbit/s{}",
            options.seed,
            options.loss,
            pair::LATENCY / 1_000,
            pair::BANDWIDTH.get() / 1_000_000_000,
            unusual(options)
        ),
    )?;
    let numbers = format!("A {}, B {}", a.queue_pair, b.queue_pair);
    let psns = format!("(A {}, B {})", pair.first_psns.a, pair.first_psns.b);
    let lines = match plan.transport {
        Transport::Rc if options.connect => [
            "The queue pairs are connected by the connection manager: numbers and first PSNs are exchanged by".to_owned(),
            "datagrams between queue pairs 1. A manager draws the PSNs; here the seed gives them.".to_owned(),
        ],
        Transport::Rc | Transport::Uc => [
            format!(
                "The queue pairs are connected: their numbers ({numbers}) and first PSNs {psns} were exchanged"
            ),
            "out of band, as applications do it over TCP or with a connection manager.".to_owned(),
        ],
        Transport::Ud => [
            format!("Nobody is connected. A knows B's address, number and queue key {QUEUE_KEY}, and"),
            format!("names them with each message. The numbers are {numbers}."),
        ],
        Transport::Xrc => [
            format!("A's initiator and B's target are connected: their numbers are {numbers}. Receives come"),
            format!(
                "from a queue that all of B's targets share; A was told its number, {:#x}.",
                b.shared_receive_queue.map_or(0, SharedReceiveQueueId::number)
            ),
        ],
        Transport::Iwarp => [
            "Each FPDU is a TCP segment of its own, unless it is sent again. Sequence numbers of TCP are"
                .to_owned(),
            "counted from the first of their side, which the seed gives.".to_owned(),
        ],
    };
    for line in lines {
        say(ladder, line)?;
    }
    say(ladder, "")?;
    ladder.head(&format!("A {}", a.address), &format!("B {}", b.address)).map_err(unprinted)
}

/// The last lines, and how it all came out.
pub fn conclude<W: Write>(
    options: &Options,
    plan: &Plan,
    course: &Course,
    verdict: &Verdict,
    now: u64,
    ladder: &mut Ladder<W>,
) -> Result<Outcome> {
    say(ladder, "")?;
    let yes = |yes: bool| if yes { "yes" } else { "NO" };
    say(ladder, format_args!("virtual time     {}.{:03} µs", now / 1_000, now % 1_000))?;
    let broken_off = if course.failure.is_some() { " (the exchange broke off)" } else { "" };
    say(ladder, format_args!("memory verified  {}{broken_off}", yes(verdict.whole)))?;
    if let Some(path) = &options.pcap {
        say(ladder, format_args!("capture          {}", path.display()))?;
    }
    let fault = |what: &dyn std::fmt::Display| {
        Error::failed(what).advice("this is a fault of rdmalab; please report it with the command line")
    };
    match course.failure {
        Some(Failure::Request { kind, index, status: CompletionStatus::RetryExceeded }) => {
            return Err(Error::failed(format_args!(
                "{} #{} failed with {}: A sent the same packet {} times and heard nothing new from B",
                kind.name(),
                index + 1,
                CompletionStatus::RetryExceeded,
                pair::RETRY_COUNT + 1
            ))
            .advice(
                "a reliable connection gives up when too much is lost; try a lower --loss or another --seed",
            ));
        }
        Some(failure @ (Failure::NotConnected(_) | Failure::ConnectionLost)) => {
            let what = match failure {
                Failure::NotConnected(why) => format!("the connection was not made: {why}"),
                _ => "the connection was lost".to_owned(),
            };
            if options.loss.fraction() > 0.0 {
                let advice = "TCP gives up when too much is lost; try a lower --loss or another --seed";
                return Err(Error::failed(what).advice(advice));
            }
            return Err(fault(&what));
        }
        Some(Failure::Request { kind, index, status }) => {
            return Err(fault(&format_args!("{} #{} failed with {status}", kind.name(), index + 1)));
        }
        Some(Failure::Stuck { kind }) => {
            return Err(fault(&format_args!("the {}s did not come to an end", kind.name())));
        }
        None => {}
    }
    let fine = verdict.whole && verdict.bears_out(plan, course) && course.complaints.is_empty();
    if !fine {
        let first = course.complaints.first().map_or("the memory is not as it must be", String::as_str);
        return Err(fault(&first));
    }
    let done: u32 = course.completed.iter().sum();
    debug_assert_eq!(done, plan.kinds.iter().map(|&kind| plan.count(kind)).sum::<u32>());
    let refused: u32 =
        plan.kinds.iter().filter(|kind| kind.ends_connection()).map(|&kind| plan.count(kind)).sum();
    let line = if refused > 0 {
        let done = count(done - refused, "operation");
        format!("{done} done exactly once, {refused} refused, both memories as they must be.")
    } else if plan.transport.is_reliable() {
        format!("{} done exactly once, both memories as they must be.", count(done, "operation"))
    } else {
        outcome(plan, verdict, done)
    };
    say(ladder, line.bold().green())?;
    Ok(Outcome::Fine)
}

/// What became of messages that nobody answers for.
fn outcome(plan: &Plan, verdict: &Verdict, sent: u32) -> String {
    let arrived: u32 = verdict.right.iter().sum();
    let refused = if plan.kinds.contains(&Kind::WrongKey) { plan.messages } else { 0 };
    let lost = sent - arrived - refused;
    let mut text = format!("{} sent, {arrived} arrived, whole and right", count(sent, "message"));
    if refused > 0 {
        text += &format!("; {refused} with a wrong key did not");
    }
    match lost {
        0 => text += ".",
        _ => text += &format!("; {lost} lost for good, and A has not been told."),
    }
    text
}

/// "each of SEND and WRITE", "of SEND".
fn names(kinds: &[Kind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    match names.split_last() {
        Some((last, [])) => format!("of {last}"),
        Some((last, others)) => format!("each of {} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// What was asked for beside the usual.
fn unusual(options: &Options) -> String {
    let mut text = String::new();
    if options.transport != Transport::Rc {
        text += &format!(", {}", options.transport.name());
    }
    if options.transport == Transport::Iwarp {
        text += &format!(", profile {}", options.iwarp_profile().name);
        match options.crc {
            None => {}
            Some(true) => text += ", CRCs asked for",
            Some(false) => text += ", CRCs not asked for",
        }
        if options.markers {
            text += ", markers";
        }
        return text;
    }
    if options.profile() != Profile::RXE {
        text += &format!(", profile {}", options.profile().name);
    }
    match options.congestion {
        CongestionControl::None => {}
        CongestionControl::Fixed(rate) => {
            text += &format!(", A and B send {} Mbit/s at most", rate * 8 / 1_000_000)
        }
        CongestionControl::Dcqcn(_) => text += ", DCQCN",
    }
    if options.mark.fraction() > 0.0 {
        text += &format!(", {} of the packets marked", options.mark);
    }
    text
}
