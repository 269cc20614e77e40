//! The frames of a zstd file, one behind the other.
//!
//! The decoder keeps back a window of what it has unpacked until it has seen a frame's end. Where a frame has none, since
//! the file is cut or damaged, it is given one (an empty last block), so that this window is not lost.

use std::error::Error;
use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Largest window of zstd that is unpacked, in bytes: the decoder refuses more.
pub const LARGEST_WINDOW: u64 = 100 * 1024 * 1024;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The front of a frame of no bytes.
const EMPTY: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0];
/// A last block of no bytes, stored as it is, and room for a checksum.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Whether a file that begins with these bytes is one of zstd's: a frame, or one to be skipped.
pub(super) fn begins_with(magic: &[u8]) -> bool {
    magic.starts_with(&MAGIC) || matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

pub(super) struct Frames<R> {
    input: R,
    decoder: FrameDecoder,
    /// Whether the decoder is in a frame.
    inside: bool,
    /// What went wrong; told when all that was unpacked before has been given.
    error: Option<io::Error>,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(input: R) -> Frames<R> {
        let mut decoder = FrameDecoder::new();
        // It looks at the window of every frame but its first.
        let _ = decoder.reset(&EMPTY[..]);
        Frames { input, decoder, inside: false, error: None }
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.inside {
                match self.decoder.read(out)? {
                    0 if out.is_empty() => return Ok(0),
                    0 => {}
                    read => return Ok(read),
                }
            }
            if let Some(error) = self.error.take() {
                self.inside = false;
                return Err(error);
            }
            if !self.inside {
                if self.input.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.inside = self.begin()?;
            } else if self.decoder.is_finished() {
                self.inside = false;
                let told = self.decoder.get_checksum_from_data();
                if told.is_some() && told != self.decoder.get_calculated_checksum() {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame's checksum is wrong"));
                }
            } else if let Err(error) =
                self.decoder.decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
            {
                self.error = Some(unpacked(error));
                // Frees the window; an error of this would tell nothing.
                let _ = self.decoder.decode_blocks(&END[..], BlockDecodingStrategy::UptoBlocks(1));
            }
        }
    }

    /// Reads the front of a frame; false if it was one to be skipped.
    fn begin(&mut self) -> io::Result<bool> {
        match self.decoder.reset(&mut self.input) {
            Ok(()) => Ok(true),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
                if skipped == length { Ok(false) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            }
            Err(error) => Err(unpacked(error)),
        }
    }
}

/// The decoder's error; where the input failed or ended, that of the input.
fn unpacked(error: FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(current) = cause {
        if let Some(failed) = current.downcast_ref::<io::Error>() {
            return io::Error::new(failed.kind(), failed.to_string());
        }
        cause = current.source();
    }
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
