//! Recording the frames of one link as a pcapng capture.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use rdmalab_trace::{Direction, Entry, InterfaceId, WriteError, Writer};

/// A capture could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the capture {path}: {source}", path = path.display())]
pub struct RecordError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    #[source]
    pub source: WriteError,
}

/// Writes frames to a file, with the time in nanoseconds since the start and a comment where something happened to a
/// frame. The same frames at the same times make the same bytes.
pub struct Recorder {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    interfaces: Vec<InterfaceId>,
}

impl Recorder {
    /// Begins a capture file with one interface for each name. An existing file is replaced.
    pub fn create(path: &Path, interfaces: &[&str]) -> Result<Self, RecordError> {
        let failed = |source| RecordError { path: path.to_owned(), source };
        let file = File::create(path).map_err(|error| failed(WriteError::Io { packet: 0, error }))?;
        let mut writer = Writer::new(BufWriter::new(file)).map_err(failed)?;
        let interfaces = interfaces
            .iter()
            .map(|name| writer.interface(name))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        Ok(Self { path: path.to_owned(), writer, interfaces })
    }

    /// Adds a frame of the `interface`-th interface.
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
        self.writer.write(entry).map_err(|source| RecordError { path: self.path.clone(), source })
    }

    /// Ends the capture; returns how many frames are in it.
    pub fn finish(self) -> Result<u64, RecordError> {
        let packets = self.writer.packets();
        let path = self.path;
        self.writer.finish().map(|_| packets).map_err(|source| RecordError { path, source })
    }
}
