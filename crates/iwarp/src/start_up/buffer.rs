//! A frame on its way in.

use alloc::boxed::Box;

use rdmalab_wire::ParseError;
use rdmalab_wire::iwarp::{MpaFrame, MpaKind};

use super::fault::StartUpFault;

/// The bytes of the peer's frame, as far as they have come; never more than a frame.
#[derive(Debug)]
pub(super) struct FrameBuffer {
    bytes: Box<[u8; MpaFrame::MAX_LENGTH]>,
    have: usize,
    expects: MpaKind,
    is_whole: bool,
}

impl FrameBuffer {
    pub(super) fn new(expects: MpaKind) -> Self {
        Self { bytes: Box::new([0; MpaFrame::MAX_LENGTH]), have: 0, expects, is_whole: false }
    }

    /// Takes bytes up to the end of the frame; `true` when it has come to it. Bytes behind it are left where they are.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<bool, StartUpFault> {
        while !self.is_whole && !bytes.is_empty() {
            // The header says how long the frame is, so that nothing behind it is taken.
            let want = match self.length() {
                None => MpaFrame::HEADER_LENGTH,
                Some(length) => length,
            };
            let (taken, rest) = bytes.split_at((want - self.have).min(bytes.len()));
            self.bytes[self.have..self.have + taken.len()].copy_from_slice(taken);
            self.have += taken.len();
            *bytes = rest;
            self.is_whole = self.parse()?.is_some();
        }
        Ok(self.is_whole)
    }

    /// The length of the frame, once the header has come and only then.
    fn length(&self) -> Option<usize> {
        (self.have >= MpaFrame::HEADER_LENGTH)
            .then(|| {
                MpaFrame::HEADER_LENGTH + usize::from(u16::from_be_bytes([self.bytes[18], self.bytes[19]]))
            })
            // A header that lies about it was refused when it was parsed.
            .map(|length| length.min(MpaFrame::MAX_LENGTH))
    }

    fn parse(&self) -> Result<Option<MpaFrame<'_>>, StartUpFault> {
        match MpaFrame::parse(&self.bytes[..self.have]) {
            Ok(Some((frame, _))) if frame.kind != self.expects => Err(StartUpFault::WrongKind(frame.kind)),
            Ok(found) => Ok(found.map(|(frame, _)| frame)),
            Err(error) => Err(StartUpFault::Malformed(error)),
        }
    }

    /// The frame, once it is whole.
    pub(super) fn frame(&self) -> Option<MpaFrame<'_>> {
        if self.is_whole { self.parse().ok().flatten() } else { None }
    }

    /// Whether some of it has come, but not all.
    pub(super) fn is_cut_off(&self) -> bool {
        !self.is_whole
    }

    /// What is to be said when the stream ends before the frame does.
    pub(super) fn truncated(&self) -> StartUpFault {
        let need = self.length().unwrap_or(MpaFrame::HEADER_LENGTH);
        StartUpFault::Malformed(ParseError::truncated(rdmalab_wire::Layer::Mpa, 0, need, self.have))
    }
}
