//! A file of blocks, each of which is in it whole or not at all.
//!
//! Blocks are gathered and written many at once. When that fails in the middle of one, the file is cut behind the one before.
//!
//! Invariant: `ends` are the places behind the blocks in `gathered`, in order.

use std::fs::File;
use std::io::{self, ErrorKind, Write};

/// Bytes that are gathered before they are written.
const ENOUGH: usize = 64 << 10;

/// What can be cut off behind a place.
pub(super) trait Cut: Write {
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Cut for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// The blocks. Each call of `write` is one of them.
#[derive(Debug)]
pub(super) struct Blocks<F: Cut> {
    file: F,
    gathered: Vec<u8>,
    ends: Vec<usize>,
    /// Bytes and blocks that are in the file.
    length: u64,
    written: u64,
    has_failed: bool,
}

impl<F: Cut> Blocks<F> {
    pub(super) fn new(file: F) -> Self {
        Self { file, gathered: Vec::new(), ends: Vec::new(), length: 0, written: 0, has_failed: false }
    }

    /// Blocks that are in the file whole.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes what is gathered; how many bytes of it, and why not more.
    fn put(&mut self) -> (usize, io::Result<()>) {
        let mut done = 0;
        while done < self.gathered.len() {
            match self.file.write(&self.gathered[done..]) {
                Ok(0) => return (done, Err(ErrorKind::WriteZero.into())),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return (done, Err(error)),
            }
        }
        (done, Ok(()))
    }
}

impl<F: Cut> Write for Blocks<F> {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        if self.has_failed {
            return Err(io::Error::other("the file has ended already"));
        }
        self.gathered.extend_from_slice(block);
        self.ends.push(self.gathered.len());
        if self.gathered.len() >= ENOUGH {
            self.flush()?;
        }
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let (done, outcome) = self.put();
        let whole = self.ends.iter().take_while(|end| **end <= done).count();
        self.written += whole as u64;
        self.length += whole.checked_sub(1).map_or(0, |last| self.ends[last] as u64);
        self.gathered.clear();
        self.ends.clear();
        if outcome.is_err() {
            self.has_failed = true;
            // A pipe or a device has no end to be moved.
            let _ = self.file.cut(self.length);
        }
        outcome
    }
}

impl<F: Cut> Drop for Blocks<F> {
    fn drop(&mut self) {
        if !self.has_failed {
            // Who wants to know has flushed.
            let _ = self.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
    }

    impl Write for &mut Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.bytes.len());
            self.bytes.extend_from_slice(&bytes[..count]);
            if count == 0 { Err(ErrorKind::StorageFull.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Cut for &mut Disk {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.bytes.truncate(length as usize);
            Ok(())
        }
    }

    /// Writes blocks of these lengths; how many are told to be in the file, and what is.
    fn write(room: usize, lengths: &[usize]) -> (u64, usize, Option<ErrorKind>) {
        let mut disk = Disk { bytes: Vec::new(), room };
        let mut blocks = Blocks::new(&mut disk);
        let error = lengths.iter().map(|&length| blocks.write_all(&vec![7; length])).find_map(Result::err);
        let error = error.or_else(|| blocks.flush().err()).map(|error| error.kind());
        let written = blocks.written();
        // What is recorded behind the end changes nothing.
        let later = blocks.write_all(&[8]);
        assert_eq!(later.is_err(), error.is_some());
        if error.is_none() {
            blocks.flush().unwrap();
        }
        drop(blocks);
        (written, disk.bytes.len(), error)
    }

    #[test]
    fn a_full_disk_leaves_whole_blocks_only() {
        assert_eq!(write(1000, &[100, 200, 300]), (3, 601, None));
        assert_eq!(write(599, &[100, 200, 300]), (2, 300, Some(ErrorKind::StorageFull)));
        assert_eq!(write(300, &[100, 200, 300]), (2, 300, Some(ErrorKind::StorageFull)));
        assert_eq!(write(99, &[100, 200, 300]), (0, 0, Some(ErrorKind::StorageFull)));
    }

    #[test]
    fn what_was_written_before_stays_when_a_later_run_of_blocks_does_not_fit() {
        let lengths = [ENOUGH, 10, 20, 30];
        assert_eq!(write(ENOUGH + 40, &lengths), (3, ENOUGH + 30, Some(ErrorKind::StorageFull)));
    }
}
