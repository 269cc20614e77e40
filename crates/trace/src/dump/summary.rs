//! What was in a capture: counts, and the frames of what is wrong.

use core::fmt;

use rdmalab_wire::Carrier;
use rdmalab_wire::iwarp::CrcVerdict;

use crate::dissect::{Dissection, Icrc, Vcrc};
use crate::streams::{IwarpUnit, Left, Streams};

/// How many frame numbers of each kind of trouble are kept.
const FIRST: usize = 10;

/// What was in a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All packets, but those that the filter passed over.
    pub packets: u64,
    /// Packets that the filter passed over.
    pub passed_over: u64,
    /// InfiniBand packets: of RoCE, either version, and of native links.
    pub roce: u64,
    /// Those of them that are not RoCE v2.
    pub not_roce_v2: u64,
    /// Those whose ICRC is right.
    pub icrc_right: u64,
    /// Those whose ICRC is wrong.
    pub icrc_wrong: Trouble,
    /// Those of native links whose VCRC is wrong.
    pub vcrc_wrong: Trouble,
    /// Those whose ICRC nobody can tell: cut by the capture, with broken headers in front, or several datagrams in one.
    pub icrc_unknown: u64,
    /// FPDUs of iWARP, by the state of their CRC.
    pub fpdus: Fpdus,
    /// Bytes of iWARP's TCP connections that the capture does not have though it has what came behind them: lost, cut off, or
    /// given up. No fault of those who spoke.
    pub iwarp_bytes_missing: u64,
    /// Those that are missing where a connection or the capture ends, and what stands behind them. Nothing if the filter passed
    /// packets over: no packet tells of these bytes.
    pub iwarp_left: Left,
    /// TCP connections that were forgotten because too many were followed at once: of iWARP in them something may be
    /// missing.
    pub streams_forgotten: u64,
    /// How often bytes missing in a TCP connection were given up because too many behind them were held.
    pub gaps_given_up: u64,
    /// Packets of any kind that are broken.
    pub malformed: Trouble,
}

/// How many FPDUs there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fpdus {
    /// Those whose CRC is right.
    pub crc_right: u64,
    /// Those without a CRC, where none was agreed on.
    pub crc_absent: u64,
    /// Those whose CRC is wrong: the packets that completed one.
    pub crc_wrong: Trouble,
    /// Those of which nobody can tell: the capture does not have all of their bytes.
    pub crc_unknown: u64,
}

/// How many packets have some trouble, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// How many.
    pub count: u64,
    /// Frame numbers of the first ten.
    pub first: Vec<u64>,
}

impl Trouble {
    fn add(&mut self, frame: u64) {
        self.count += 1;
        if self.first.len() < FIRST {
            self.first.push(frame);
        }
    }
}

impl Summary {
    /// Counts one more packet.
    pub fn count(&mut self, frame: u64, dissection: &Dissection<'_>) {
        self.packets += 1;
        if dissection.malformed.is_some() {
            self.malformed.add(frame);
        }
        for unit in &dissection.iwarp {
            let missing = match unit {
                IwarpUnit::Fpdu(fpdu) => fpdu.not_captured,
                IwarpUnit::Gap { bytes, .. } => *bytes,
                IwarpUnit::StartUp(_) => 0,
            };
            self.iwarp_bytes_missing = self.iwarp_bytes_missing.saturating_add(missing);
            let IwarpUnit::Fpdu(fpdu) = unit else { continue };
            match fpdu.crc_verdict() {
                CrcVerdict::Right => self.fpdus.crc_right += 1,
                CrcVerdict::Absent => self.fpdus.crc_absent += 1,
                CrcVerdict::Wrong => self.fpdus.crc_wrong.add(frame),
                CrcVerdict::Unchecked => self.fpdus.crc_unknown += 1,
            }
        }
        let Some(roce) = dissection.roce() else { return };
        self.roce += 1;
        if !matches!(roce.carrier, Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..)) {
            self.not_roce_v2 += 1;
        }
        match roce.icrc {
            Icrc::Right => self.icrc_right += 1,
            Icrc::Wrong { .. } => self.icrc_wrong.add(frame),
            Icrc::Merged { .. } | Icrc::Cut | Icrc::Broken => self.icrc_unknown += 1,
        }
        if matches!(roce.vcrc, Some(Vcrc::Wrong { .. })) {
            self.vcrc_wrong.add(frame);
        }
    }

    /// What the streams tell at the end.
    pub(super) fn end(&mut self, streams: &Streams) {
        self.streams_forgotten = streams.forgotten();
        self.gaps_given_up = streams.given_up();
        if self.passed_over == 0 {
            self.iwarp_left = streams.left();
        }
    }

    /// All bytes of iWARP that the capture does not have, as far as it is known of them.
    pub fn iwarp_bytes_not_captured(&self) -> u64 {
        self.iwarp_bytes_missing.saturating_add(self.iwarp_left.missing)
    }

    /// Whether no packet is broken and no ICRC, VCRC or CRC of an FPDU wrong.
    pub fn is_fine(&self) -> bool {
        self.icrc_wrong.count == 0
            && self.vcrc_wrong.count == 0
            && self.fpdus.crc_wrong.count == 0
            && self.malformed.count == 0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets{}, {} of them {}: ICRC right in {}",
            self.packets,
            PassedOver(self.passed_over),
            self.roce,
            if self.not_roce_v2 == 0 { "RoCE v2" } else { "RoCE or InfiniBand" },
            self.icrc_right
        )?;
        if self.icrc_wrong.count > 0 {
            write!(f, ", WRONG in {}", self.icrc_wrong)?;
        }
        if self.icrc_unknown > 0 {
            write!(f, ", not known of {}", self.icrc_unknown)?;
        }
        if self.vcrc_wrong.count > 0 {
            write!(f, "; VCRC WRONG in {}", self.vcrc_wrong)?;
        }
        let Fpdus { crc_right, crc_absent, crc_wrong, crc_unknown } = &self.fpdus;
        let all = crc_right + crc_absent + crc_wrong.count + crc_unknown;
        if all > 0 {
            write!(f, "; {all} FPDUs: CRC right in {crc_right}, absent in {crc_absent}")?;
            if crc_wrong.count > 0 {
                write!(f, ", WRONG in {crc_wrong}")?;
            }
            if *crc_unknown > 0 {
                write!(f, ", not known of {crc_unknown}")?;
            }
        }
        let missing = self.iwarp_bytes_not_captured();
        if missing > 0 {
            write!(f, "; {missing} bytes of iWARP not captured")?;
        }
        if self.iwarp_left.waiting > 0 {
            write!(f, ", {} behind them left alone at the end", self.iwarp_left.waiting)?;
        }
        if self.streams_forgotten > 0 {
            write!(f, "; {} TCP connections forgotten: too many at once", self.streams_forgotten)?;
        }
        if self.gaps_given_up > 0 {
            write!(f, "; bytes missing in TCP connections given up {} times", self.gaps_given_up)?;
        }
        if self.malformed.count > 0 {
            write!(f, "; malformed: {}", self.malformed)?;
        }
        Ok(())
    }
}

/// Said of them only if there are any.
struct PassedOver(u64);

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, " ({} more passed over by the filter)", self.0) }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        let mut before = " (frame ";
        for frame in &self.first {
            write!(f, "{before}{frame}")?;
            before = ", ";
        }
        match self.first.len() {
            0 => Ok(()),
            shown if (shown as u64) < self.count => f.write_str(", …)"),
            _ => f.write_str(")"),
        }
    }
}
