//! Compressed captures: whatever is read through here comes out unpacked, as a stream, in constant memory.
//!
//! What packs a file is told by its first bytes. gzip (also of several members, as `cat a.gz b.gz` makes) and zstd (also of
//! several frames) are unpacked, everything else passes as it is. Positions in errors count what has been unpacked.
//!
//! Never holds more than a window: 32 KiB of gzip, at most [`LARGEST_WINDOW`] of zstd. Of a file that is cut all that its
//! bytes tell is given before the error; of a gzip file that is damaged, up to a window before the damage may not be.

mod zstd;

use core::fmt;
use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use zstd::Frames;
pub use zstd::LARGEST_WINDOW;

/// How much of a packed file is read at once, in bytes.
const CHUNK: usize = 64 * 1024;
/// How much is unpacked at once: what one call unpacks is lost if there is damage in it.
const STEP: usize = 4 * 1024;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        })
    }
}

/// Input that was read from to see what it is, and begins anew.
type Begun<R> = Chain<Cursor<Vec<u8>>, R>;

enum Inner<R: Read> {
    Plain(Begun<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Begun<R>>>>),
    Zstd(Box<Frames<BufReader<Begun<R>>>>),
}

/// A file without its packing.
pub struct Unpacked<R: Read> {
    inner: Inner<R>,
    /// Bytes given so far.
    given: u64,
}

impl<R: Read> Unpacked<R> {
    /// Looks at the first bytes of the input.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn new(mut input: R) -> io::Result<Unpacked<R>> {
        let mut magic = Vec::with_capacity(4);
        input.by_ref().take(4).read_to_end(&mut magic)?;
        let gzip = magic.starts_with(&[0x1f, 0x8b]);
        let zstd = zstd::begins_with(&magic);
        let begun = Cursor::new(magic).chain(input);
        let inner = if gzip {
            Inner::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, begun))))
        } else if zstd {
            Inner::Zstd(Box::new(Frames::new(BufReader::with_capacity(CHUNK, begun))))
        } else {
            Inner::Plain(begun)
        };
        Ok(Unpacked { inner, given: 0 })
    }

    /// How the input is packed, if it is.
    pub fn packing(&self) -> Option<Packing> {
        match self.inner {
            Inner::Plain(_) => None,
            Inner::Gzip(_) => Some(Packing::Gzip),
            Inner::Zstd(_) => Some(Packing::Zstd),
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let step = out.len().min(STEP);
        let result = match &mut self.inner {
            Inner::Plain(input) => return input.read(out),
            Inner::Gzip(input) => input.read(out.get_mut(..step).unwrap_or_default()),
            Inner::Zstd(input) => input.read(out),
        };
        match result {
            Ok(read) => {
                self.given += read as u64;
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(self.told(&error)),
        }
    }
}

impl<R: Read> Unpacked<R> {
    /// An error with the place and the packing.
    fn told(&self, error: &io::Error) -> io::Error {
        let packing = match self.inner {
            Inner::Gzip(_) => Packing::Gzip,
            _ => Packing::Zstd,
        };
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the packed file is cut".to_owned(),
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("unpacking {packing} failed after {} bytes: {what}", self.given))
    }
}
