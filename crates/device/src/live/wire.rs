//! The live link of a device: what moves frames, what rules do to them in front of it, and the capture beside it.

use rdmalab_net::{Interest, NetError};
use rdmalab_sim::{Counts, End, Link, LinkConfig, RuleSet};
use rdmalab_trace::Direction;

use super::capture::Capture;
use super::error::DeviceError;
use super::frame_device::FrameDevice;
use crate::recorder::Recorder;

/// What moves frames, with its rules and its capture.
///
/// The capture shows the link as the emulated side sees it: all frames that it sent, those that a rule lost too, with a
/// comment, and all frames that came in before a rule touched them.
pub(super) struct Wire {
    pub(super) device: FrameDevice,
    /// Frames pass it only where rules were asked for. [`End::A`] is our side.
    link: Option<Link>,
    pub(super) capture: Capture,
    /// A frame that the device did not take yet.
    stuck: Option<Vec<u8>>,
    /// The device did not take all that it was handed yet.
    is_full: bool,
    health: Health,
}

/// Why the link takes nothing, while that is so.
#[derive(Default)]
struct Health {
    fault: Option<DeviceError>,
    /// In this turn something was sent, and something lost by the link's fault.
    sent: bool,
    lost: bool,
}

impl Health {
    /// Of a device that is down, or without its address, what is sent is lost, as on a cable that is not plugged in: kept
    /// back, it would keep retries from being counted, and connections from their end.
    fn heed(&mut self, taken: Result<bool, NetError>) -> Result<bool, DeviceError> {
        match taken.map_err(DeviceError::from) {
            Err(error) if is_passing(&error) => {
                (self.fault, self.lost) = (Some(error), true);
                Ok(true)
            }
            taken => taken,
        }
    }
}

impl Wire {
    pub(super) fn new(device: FrameDevice, rules: Option<RuleSet>, recorder: Option<Recorder>) -> Self {
        let instant = LinkConfig { latency: 0, ..LinkConfig::default() };
        Self {
            device,
            link: rules.map(|rules| Link::new(instant, rules)),
            capture: Capture::new(recorder),
            stuck: None,
            is_full: false,
            health: Health::default(),
        }
    }

    /// What to wait for.
    pub(super) fn interest(&self, blocked: bool) -> Interest {
        if blocked || self.stuck.is_some() || self.is_full { Interest::ReadOrWrite } else { Interest::Read }
    }

    /// Why the link takes nothing at present.
    pub(super) fn fault(&self) -> Option<DeviceError> {
        self.health.fault.clone()
    }

    /// The link has told that it takes nothing.
    pub(super) fn note_fault(&mut self, fault: &DeviceError) {
        self.health.fault = Some(fault.clone());
    }

    /// When a frame that a rule delayed is due.
    pub(super) fn next_timeout(&self) -> Option<u64> {
        self.link.as_ref().and_then(Link::next_arrival)
    }

    /// What the rules did to frames that we sent.
    pub(super) fn rule_counts(&self) -> Counts {
        self.link.as_ref().map_or(Counts::default(), |link| link.rules().counts(End::A))
    }

    /// Sends a frame; `false` if there is no room now.
    pub(super) fn send(&mut self, now: u64, frame: &[u8]) -> Result<bool, DeviceError> {
        let Some(link) = &mut self.link else {
            self.health.sent = true;
            let taken = self.health.heed(self.device.send(frame))?;
            if taken {
                self.capture.record(Direction::Out, frame, None);
            }
            return Ok(taken);
        };
        if self.stuck.is_some() {
            return Ok(false);
        }
        let report = link.send(now, End::A, frame);
        let comment = report.judgement.rule.map(|_| link.rules().explain(&report.judgement).to_string());
        self.capture.record(Direction::Out, frame, comment.as_deref());
        self.pump(now, |_| ())?;
        Ok(true)
    }

    /// Takes frames that arrived, at most `most`, and hands them to `take`.
    pub(super) fn receive(
        &mut self,
        now: u64,
        most: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), DeviceError> {
        for _ in 0..most {
            let Some(frame) = self.device.next_frame()? else { break };
            self.capture.record(Direction::In, frame, None);
            match &mut self.link {
                Some(link) => drop(link.send(now, End::B, frame)),
                None => take(frame),
            }
        }
        self.pump(now, take)
    }

    /// Moves frames that come out of the rules by now: ours to the device, the others to `take`.
    fn pump(&mut self, now: u64, mut take: impl FnMut(&[u8])) -> Result<(), DeviceError> {
        if let Some(frame) = self.stuck.take()
            && !self.health.heed(self.device.send(&frame))?
        {
            self.stuck = Some(frame);
            return Ok(());
        }
        let Some(link) = &mut self.link else { return Ok(()) };
        while let Some(delivery) = link.receive(now) {
            match delivery.to {
                End::A => take(delivery.frame),
                End::B => {
                    self.health.sent = true;
                    if !self.health.heed(self.device.send(delivery.frame))? {
                        self.stuck = Some(delivery.frame.to_vec());
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends a turn: what was sent and waits in the device goes out.
    pub(super) fn flush(&mut self) -> Result<(), DeviceError> {
        self.is_full = !self.health.heed(self.device.flush())?;
        let Health { fault, sent, lost } = &mut self.health;
        if std::mem::take(sent) && !std::mem::take(lost) && !self.is_full {
            *fault = None;
        }
        Ok(())
    }
}

/// Errors that a back end may get over without stopping: the device is down for now, or without its address.
pub(super) fn is_passing(error: &DeviceError) -> bool {
    matches!(error, DeviceError::Net(error) if matches!(**error, NetError::Down { .. } | NetError::AddressGone { .. }))
}
