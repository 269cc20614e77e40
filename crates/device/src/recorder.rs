//! Recording the frames of one link as a pcapng capture.
//!
//! A capture that cannot go on, since the disk is full, say, ends with the last frame that is in the file whole: what was torn
//! is taken away again.

mod blocks;

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rdmalab_trace::{Direction, Entry, InterfaceId, WriteError, Writer};

use blocks::Blocks;

/// A capture could not be begun, or ended early.
#[derive(Debug)]
pub struct RecordError {
    /// The file.
    pub path: PathBuf,
    /// Frames that are in it, if it was begun: it is whole up to there, and can be read.
    pub frames: Option<u64>,
    /// What went wrong.
    pub source: WriteError,
}

impl RecordError {
    /// What the operating system said.
    pub fn io_error(&self) -> Option<&io::Error> {
        if let WriteError::Io { error, .. } = &self.source { Some(error) } else { None }
    }
}

impl Display for RecordError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.frames {
            None => write!(f, "cannot write the capture {path}: ")?,
            Some(0) => write!(f, "the capture {path} ended in front of its first frame: ")?,
            Some(frames) => write!(f, "the capture {path} ended at frame {frames}: ")?,
        }
        match self.io_error() {
            Some(error) => error.fmt(f),
            None => self.source.fmt(f),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Writes frames to a file, with the time in nanoseconds since the start and a comment where something happened to a
/// frame. The same frames at the same times make the same bytes.
pub struct Recorder {
    path: PathBuf,
    writer: Writer<Blocks<File>>,
    interfaces: Vec<InterfaceId>,
}

impl Recorder {
    /// Begins a capture file with one interface for each name. An existing file is replaced.
    pub fn create(path: &Path, interfaces: &[&str]) -> Result<Self, RecordError> {
        let failed = |source| RecordError { path: path.to_owned(), frames: None, source };
        let io = |error| failed(WriteError::Io { packet: 0, error });
        let file = File::create(path).map_err(io)?;
        let mut writer = Writer::new(Blocks::new(file)).map_err(failed)?;
        let interfaces = interfaces
            .iter()
            .map(|name| writer.interface(name))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        // Where not even the beginning can be written, nobody should wait for the rest.
        writer.flush().map_err(failed)?;
        Ok(Self { path: path.to_owned(), writer, interfaces })
    }

    /// Adds a frame of the `interface`-th interface.
    ///
    /// # Errors
    /// If the capture cannot go on. It has ended then, and what is recorded later is lost.
    pub fn record(
        &mut self,
        interface: usize,
        time: u64,
        direction: Direction,
        frame: &[u8],
        comment: Option<&str>,
    ) -> Result<(), RecordError> {
        let Some(&interface) = self.interfaces.get(interface) else { return Ok(()) };
        let mut entry = Entry::new(interface, time, frame).direction(direction);
        if let Some(comment) = comment {
            entry = entry.comment(comment);
        }
        let written = self.writer.write(entry);
        written.map_err(|source| self.ended(source))
    }

    /// Ends the capture; returns how many frames are in it.
    ///
    /// # Errors
    /// If not all of them could be written.
    pub fn finish(mut self) -> Result<u64, RecordError> {
        let flushed = self.writer.flush();
        flushed.map(|()| self.writer.packets()).map_err(|source| self.ended(source))
    }

    fn ended(&mut self, source: WriteError) -> RecordError {
        // Of a frame that cannot be written as it is, those before it still can.
        let _ = self.writer.flush();
        // The blocks in front of the first frame are the section's and those of the interfaces.
        let frames = self.writer.out().written().saturating_sub(1 + self.interfaces.len() as u64);
        RecordError { path: self.path.clone(), frames: Some(frames), source }
    }
}
