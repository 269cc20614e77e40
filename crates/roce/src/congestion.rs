//! Congestion control of a flow: how fast a requester may send, and when a responder tells that it saw a mark.
//!
//! The pieces, as RoCE v2 names them: a switch marks packets (the congestion point; not here), the responder answers a
//! marked packet with a congestion notification packet, at most one in a while ([`NotificationPacer`], the notification
//! point), and the requester slows down ([`Controller`], the reaction point). A controller is a rule for the rate
//! ([`RateController`]: [`Dcqcn`] or [`FixedRate`]) with a [`Pacer`] that spaces packets at that rate.
//!
//! Nothing here reads a clock, allocates or uses floating point: time is handed in, and the same calls give the same
//! rates on every machine. Time that goes back is taken as standing still. No call's cost grows with the time that passed
//! since the one before, so a flow without anything to send needs no timer.

mod controller;
mod dcqcn;
mod fixed;
mod notification;
mod pacer;
#[cfg(test)]
mod simulation;

pub use dcqcn::DcqcnConfig;

pub(crate) use controller::Controller;
pub(crate) use dcqcn::Dcqcn;
pub(crate) use fixed::FixedRate;
pub(crate) use notification::{NotificationPacer, NotificationState};
pub(crate) use pacer::Pacer;

/// What holds back the requester of a queue pair, besides its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionControl {
    /// Nothing; notifications of the peer change nothing.
    #[default]
    None,
    /// A rate in bytes per second that no notification changes; 0 is taken as 1.
    Fixed(u64),
    /// The rate follows the peer's notifications.
    Dcqcn(DcqcnConfig),
}

/// A rule for the rate of one flow.
///
/// The rate changes by itself as time passes. Every call that gets the time catches up first, so callers need not be
/// there when a change is due; [`next_timeout`](Self::next_timeout) is for those who wait for the rate.
pub(crate) trait RateController: Copy {
    /// Bytes per second, at least 1, as of the last call that got the time.
    fn rate(&self) -> u64;
    /// A congestion notification came.
    fn handle_notification(&mut self, now: u64);
    /// A packet of so many bytes left.
    fn handle_sent(&mut self, now: u64, bytes: usize);
    /// When the rate changes if nothing comes and nothing is sent.
    fn next_timeout(&self) -> Option<u64>;
    /// Does what time alone brings about until `now`.
    fn handle_timeout(&mut self, now: u64);
    /// Back to the flow that has sent nothing and heard nothing.
    fn reset(&mut self);
}
