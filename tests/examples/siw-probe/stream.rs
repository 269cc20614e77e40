//! Our end of a stream: the kernel's TCP, on which bytes go out as they are, and what comes is taken apart.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rdmalab_wire::iwarp::{MpaFrame, RawSegment, crc32c, fpdu_pad};

use crate::fpdus::Fpdu;

/// What came.
#[derive(Debug)]
pub struct Heard {
    pub at: Instant,
    pub kind: Kind,
    /// As `dump` writes it.
    pub line: String,
}

#[derive(Debug)]
pub enum Kind {
    /// A start-up frame.
    Frame { crc: bool, reject: bool },
    /// A segment, from its header on.
    Segment(Vec<u8>),
    /// The other side closed.
    End,
    /// The other side, or its TCP, broke off.
    Reset,
}

pub struct Stream {
    tcp: TcpStream,
    buffer: Vec<u8>,
    /// The start-up frame has come.
    has_started: bool,
    /// CRCs are used.
    pub crc: bool,
    is_over: bool,
}

impl Stream {
    pub fn new(tcp: TcpStream) -> Result<Self, String> {
        tcp.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Self { tcp, buffer: Vec::new(), has_started: false, crc: false, is_over: false })
    }

    /// Sends bytes. A peer that has gone is no fault: what it has said before is still to be heard.
    pub fn send(&mut self, bytes: &[u8]) -> Instant {
        if let Err(error) = self.tcp.write_all(bytes) {
            println!("    {:>9}   (cannot be sent: {})", "", error.kind());
        }
        Instant::now()
    }

    /// The bytes of an FPDU on this stream.
    pub fn encode(&self, fpdu: &Fpdu) -> Vec<u8> {
        fpdu.encode(self.crc)
    }

    /// Sends no more.
    pub fn finish(&self) -> Result<(), String> {
        self.tcp.shutdown(Shutdown::Write).map_err(|error| error.to_string())
    }

    /// Whether bytes are here that [`hear`](Self::hear) has not taken: Linux answers the end of a stream that has some with RST.
    pub fn wait_for_unread(&self) -> Result<(), String> {
        self.limit(Duration::from_secs(5))?;
        match self.tcp.peek(&mut [0]) {
            Ok(1..) => Ok(()),
            other => Err(format!("nothing came: {other:?}")),
        }
    }

    /// What comes next before `deadline`.
    pub fn hear(&mut self, deadline: Instant) -> Result<Option<Heard>, String> {
        loop {
            if let Some((kind, line)) = self.next()? {
                return Ok(Some(Heard { at: Instant::now(), kind, line }));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.is_over || left.is_zero() {
                return Ok(None);
            }
            self.limit(left)?;
            let mut piece = [0; 65536];
            let end = match self.tcp.read(&mut piece) {
                Ok(0) => (Kind::End, "FIN"),
                Ok(length) => {
                    self.buffer.extend_from_slice(piece.get(..length).unwrap_or_default());
                    continue;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => (Kind::Reset, "RST"),
                Err(error) => return Err(error.to_string()),
            };
            self.is_over = true;
            let left =
                if self.buffer.is_empty() { String::new() } else { format!(" behind {}", hex(&self.buffer)) };
            return Ok(Some(Heard { at: Instant::now(), kind: end.0, line: format!("{}{left}", end.1) }));
        }
    }

    /// What the bytes that are here begin with.
    fn next(&mut self) -> Result<Option<(Kind, String)>, String> {
        if self.has_started {
            return Ok(self.next_fpdu());
        }
        let Some((frame, length)) = MpaFrame::parse(&self.buffer).map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        let mut line = frame.to_string();
        if !frame.private_data.is_empty() {
            line += &format!(" private={}", hex(frame.private_data));
        }
        if frame.reserved != 0 {
            line += &format!(" reserved={:#x}", frame.reserved);
        }
        let kind = Kind::Frame { crc: frame.crc, reject: frame.reject };
        self.has_started = true;
        self.buffer.drain(..length);
        Ok(Some((kind, line)))
    }

    fn next_fpdu(&mut self) -> Option<(Kind, String)> {
        let length = usize::from(u16::from_be_bytes(*self.buffer.first_chunk()?));
        let covered = 2 + length + fpdu_pad(length);
        let found = u32::from_le_bytes(*self.buffer.get(covered..)?.first_chunk()?);
        let ulpdu = self.buffer.get(2..2 + length)?.to_vec();
        let sum = match found {
            0 => "",
            found if found == crc32c(self.buffer.get(..covered)?) => " crc",
            _ => " (the CRC is wrong)",
        };
        let raw = RawSegment::parse(&ulpdu);
        let mut line = format!("{raw}{sum}");
        // Of what is short, and of TERMINATEs above all, the bytes tell more.
        let header = raw.header.map_or(0, |header| header.length());
        if let Some(payload @ [_, ..]) = ulpdu.get(header..).filter(|payload| payload.len() <= 64) {
            line += &format!(" : {}", hex(payload));
        }
        self.buffer.drain(..covered + 4);
        Some((Kind::Segment(ulpdu), line))
    }

    fn limit(&self, left: Duration) -> Result<(), String> {
        self.tcp.set_read_timeout(Some(left.max(Duration::from_millis(1)))).map_err(|error| error.to_string())
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
