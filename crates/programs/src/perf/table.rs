//! The programs' output, letter by letter as the real ones print it, but for lines about hardware that we do not have.
//! Seen of version 6.06.

use std::fmt::{Display, Formatter, Result};
use std::net::IpAddr;

use rdmalab_device::{Gid, QueuePairType};

use super::exchange::{Figures, Side, Terms};
use super::figures::{Latencies, Pace, Summary};
use super::options::{Measure, Operation, Options, Role};

/// The line between parts of the output.
pub const RULE: &str =
    "---------------------------------------------------------------------------------------";

/// What a test is, ahead of the results.
#[derive(Clone, Debug)]
pub struct Heading<'a> {
    pub(super) options: &'a Options,
    pub(super) role: Role,
    pub(super) terms: Terms,
    pub(super) device: &'a str,
    pub(super) gid_index: usize,
}

impl Display for Heading<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { options, role, terms, device, gid_index } = self;
        let what = match options.operation {
            Operation::Write => "RDMA_Write",
            Operation::Read => "RDMA_Read",
            Operation::Send => "Send",
            Operation::FetchAndAdd => "Atomic FETCH_AND_ADD",
            Operation::CompareAndSwap => "Atomic CMP_AND_SWAP",
        };
        let measure = match (options.measure, options.bidirectional) {
            (Measure::Latency, _) => "Latency",
            (Measure::Bandwidth, true) => "Bidirectional BW",
            (Measure::Bandwidth, false) => "BW",
        };
        let connection = match options.kind {
            QueuePairType::Uc => "UC",
            QueuePairType::Ud => "UD",
            _ => "RC",
        };
        writeln!(f, "{RULE}\n                    {what} {measure} Test")?;
        writeln!(f, " Dual-port       : OFF\t\tDevice         : {device}")?;
        writeln!(f, " Number of qps   : {}\t\tTransport type : IB", options.queue_pairs)?;
        writeln!(f, " Connection type : {connection}\t\tUsing SRQ      : OFF")?;
        let both = options.bidirectional;
        if role.is_client() || both {
            writeln!(f, " TX depth        : {}", options.send_depth())?;
        }
        if options.operation == Operation::Send && (!role.is_client() || both) {
            writeln!(f, " RX depth        : {}", options.receive_depth())?;
        }
        if options.measure == Measure::Bandwidth {
            writeln!(f, " CQ Moderation   : {}", options.moderation())?;
        }
        writeln!(f, " Mtu             : {}[B]", terms.mtu.bytes())?;
        writeln!(f, " Link type       : Ethernet\n GID index       : {gid_index}")?;
        if options.operation.is_read_or_atomic() {
            writeln!(f, " Outstand reads  : {}", options.outstanding())?;
        } else {
            writeln!(f, " Max inline data : {}[B]", options.inline)?;
        }
        let (managed, method) = if options.managed { ("ON", "rdma_cm") } else { ("OFF", "Ethernet") };
        write!(f, " rdma_cm QPs\t : {managed}\n Data ex. method : {method}\n{RULE}")
    }
}

/// A queue pair of one of the sides.
#[derive(Clone, Copy, Debug)]
pub struct SideLine {
    pub(super) is_local: bool,
    pub(super) operation: Operation,
    pub(super) side: Side,
}

impl Display for SideLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { is_local, operation, side } = self;
        let whose = if *is_local { "local" } else { "remote" };
        let (queue_pair, psn) = (side.queue_pair.value(), side.psn.value());
        write!(f, " {whose} address: LID 0000 QPN {queue_pair:#06x} PSN {psn:#x}")?;
        if *operation == Operation::Read {
            write!(f, " OUT {:#04x}", side.outstanding)?;
        }
        if matches!(operation, Operation::Read | Operation::Write) {
            write!(f, " RKey {:#08x} VAddr {:#016x}", side.key.value(), side.address)?;
        }
        write!(f, "\n GID: {}", gid(side.gid))
    }
}

/// The bytes of a GID as decimal numbers.
fn gid(address: IpAddr) -> String {
    Gid::from(address).0.map(|byte| format!("{byte:02}")).join(":")
}

/// The names of the columns.
#[derive(Clone, Copy, Debug)]
pub enum Columns {
    /// Of [`Row::Bandwidth`], whether in Gbit/s.
    Bandwidth {
        /// Or in MiB/s.
        gigabits: bool,
    },
    /// Of [`Row::Latency`].
    Latency,
    /// Of [`Row::Pace`].
    Pace,
}

impl Display for Columns {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Bandwidth { gigabits: false } => {
                " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]"
            }
            Self::Bandwidth { gigabits: true } => {
                " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
            }
            Self::Latency => {
                " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    \
                 t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
            }
            Self::Pace => " #bytes        #iterations       t_avg[usec]    tps average",
        })
    }
}

/// A line of results.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    /// Of a bandwidth.
    Bandwidth {
        /// What was measured.
        figures: Figures,
        /// In Gbit/s.
        gigabits: bool,
    },
    /// Of a latency.
    Latency {
        /// Bytes of a message.
        size: u32,
        /// Messages.
        iterations: u64,
        /// What was measured; nothing, if there were too few.
        summary: Option<Summary>,
    },
    /// Of a latency that was measured for a certain time.
    Pace {
        /// Bytes of a message.
        size: u32,
        /// What was measured.
        pace: Pace,
    },
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Bandwidth { figures, gigabits: false } => {
                let Figures { size, iterations, peak, average, rate } = figures;
                let peak = format!("{peak:.2}");
                let average = format!("{average:.2}");
                write!(
                    f,
                    " {size:<7}    {iterations:<10}       {peak:<7}            {average:<7}\t\t   {rate:.6}"
                )
            }
            Self::Bandwidth { figures, gigabits: true } => {
                let Figures { size, iterations, peak, average, rate } = figures;
                write!(
                    f,
                    " {size:<7}    {iterations:<10}    {peak:.6}            {average:.6}            {rate:.6}"
                )
            }
            Self::Latency { size, iterations, summary } => {
                let Some(summary) = summary else {
                    return write!(f, " {size:<7} {iterations:<10} too few for a summary");
                };
                let [least, most, typical, average, deviation, percentile_99, percentile_99_9] = [
                    summary.least,
                    summary.most,
                    summary.typical,
                    summary.average,
                    summary.deviation,
                    summary.percentile_99,
                    summary.percentile_99_9,
                ]
                .map(microseconds);
                write!(
                    f,
                    " {size:<7} {iterations:<10} {least:<7}        {most:<7}      {typical:<7}  \t       "
                )?;
                write!(f, "{average:<7}     \t{deviation:<7}\t\t{percentile_99:<7} \t\t{percentile_99_9:<7}")
            }
            Self::Pace { size, pace } => {
                let latency = microseconds(pace.latency());
                let rate = format!("{:.2}", pace.rounds_a_second());
                write!(f, " {size:<7}       {:<10}     {latency:<7}        {rate:<7}", pace.rounds)
            }
        }
    }
}

fn microseconds(nanoseconds: f64) -> String {
    format!("{:.2}", nanoseconds / 1000.0)
}

/// All latencies, one a line.
#[derive(Clone, Copy, Debug)]
pub struct Each<'a> {
    latencies: &'a Latencies,
    sorted: bool,
}

impl<'a> Each<'a> {
    /// As they were measured, or sorted.
    pub fn new(latencies: &'a Latencies, sorted: bool) -> Self {
        Self { latencies, sorted }
    }
}

impl Display for Each<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut each = self.latencies.each.clone();
        if self.sorted {
            each.sort_by(f64::total_cmp);
        }
        write!(f, "#, usec")?;
        for (number, latency) in each.iter().enumerate() {
            write!(f, "\n{}, {:.3}", number + 1, latency / 1000.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
