//! Rules around rules, and rules from closures.

use std::fmt;

use super::{Frame, Rule, Verdict};
use crate::{End, PerEnd, Random};

/// Lets another rule see some frames only. See [`only`].
#[derive(Debug, Clone)]
pub struct Only<P, R> {
    name: &'static str,
    predicate: P,
    passed: PerEnd<u64>,
    rule: R,
}

/// Shows `rule` only the frames for which `predicate` holds, numbered among themselves, and delivers all
/// others. `name` says in reports which frames those are: "RoCE packets".
pub fn only<P, R>(name: &'static str, predicate: P, rule: R) -> Only<P, R>
where
    P: FnMut(&Frame<'_>) -> bool,
    R: Rule,
{
    Only { name, predicate, passed: PerEnd::default(), rule }
}

impl<P: FnMut(&Frame<'_>) -> bool, R: Rule> Rule for Only<P, R> {
    fn judge(&mut self, frame: &Frame<'_>, random: &mut Random) -> Verdict {
        if !(self.predicate)(frame) {
            return Verdict::Deliver;
        }
        let index = self.passed[frame.from];
        self.passed[frame.from] += 1;
        self.rule.judge(&Frame { index, ..*frame }, random)
    }
}

impl<P, R: fmt::Display> fmt::Display for Only<P, R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {} only", self.rule, self.name)
    }
}

/// Lets another rule see one direction only. See [`from`].
#[derive(Debug, Clone)]
pub struct From<R> {
    from: End,
    rule: R,
}

/// Shows `rule` only the frames that `from` sends, and delivers all others.
pub fn from<R: Rule>(from: End, rule: R) -> From<R> {
    From { from, rule }
}

impl<R: Rule> Rule for From<R> {
    fn judge(&mut self, frame: &Frame<'_>, random: &mut Random) -> Verdict {
        if frame.from == self.from { self.rule.judge(frame, random) } else { Verdict::Deliver }
    }
}

impl<R: fmt::Display> fmt::Display for From<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, from {} only", self.rule, self.from)
    }
}

/// A rule made of a closure. See [`custom`].
#[derive(Debug, Clone)]
pub struct Custom<F> {
    name: &'static str,
    judge: F,
}

/// The rule that `judge` is. `name` is its reason in reports. To stay repeatable it takes its random numbers
/// from what it is handed and reads no clock.
pub fn custom<F>(name: &'static str, judge: F) -> Custom<F>
where
    F: FnMut(&Frame<'_>, &mut Random) -> Verdict,
{
    Custom { name, judge }
}

impl<F: FnMut(&Frame<'_>, &mut Random) -> Verdict> Rule for Custom<F> {
    fn judge(&mut self, frame: &Frame<'_>, random: &mut Random) -> Verdict {
        (self.judge)(frame, random)
    }
}

impl<F> fmt::Display for Custom<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}
