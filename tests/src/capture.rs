//! A capture of one interface, and what three judges say about it: tshark, our own reading, and our own linter.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rdmalab_trace::{DumpOptions, Summary, dump};

use crate::Network;
use crate::conduct::Conduct;
use crate::process::{Process, run};

/// What tshark guesses about the payload of SENDs, each of which calls an innocent one malformed now and then: RPC
/// over RDMA, an Ethernet frame without its addresses, and one with another header in front; over iWARP also SMB.
const GUESSES: [&str; 5] =
    ["rpcrdma_infiniband", "eth_over_ib", "mellanox_eoib", "rpcrdma_iwarp", "smb_direct_iwarp"];

/// tcpdump at work. Dropping it unfinished ends it; the file stays with the test's other files.
#[derive(Debug)]
pub struct Capture {
    network: Network,
    path: PathBuf,
    tcpdump: Process,
}

impl Capture {
    #[track_caller]
    pub(crate) fn start(network: &Network, interface: &str, name: &str) -> Self {
        let path = network.file(&format!("{name}.pcap"));
        let file = path.to_string_lossy().into_owned();
        // -Z: tcpdump would give its file to a user of its own. Whole packets, none of which is longer than twice the MTU: the
        // buffer has room for so many of the longest. No delay.
        let arguments =
            ["-i", interface, "-w", &file, "-s9216", "-B65536", "-U", "--immediate-mode", "-Z", "root"];
        let mut tcpdump = network.start("tcpdump", "tcpdump", &arguments);
        tcpdump.wait_for_line("listening on", Duration::from_secs(10));
        Self { network: network.clone(), path, tcpdump }
    }

    /// Ends the capture, when what is still in its buffers has had time to arrive, and gives the file.
    #[track_caller]
    pub fn finish(self) -> PathBuf {
        std::thread::sleep(Duration::from_secs(1));
        let said = self.tcpdump.stop(Duration::from_secs(10));
        assert!(
            said.stderr.contains("0 packets dropped by kernel"),
            "the capture {} of {} is not whole: {said}",
            self.path.display(),
            self.network.namespace()
        );
        self.path
    }
}

/// What the judges found in a capture.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// How many packets tshark could read as InfiniBand.
    pub tshark_roce: u64,
    /// How many FPDUs of iWARP it found.
    pub tshark_fpdus: u64,
    /// The numbers of the frames that tshark calls malformed.
    pub tshark_malformed: Vec<u64>,
    /// What our own reading found, ICRCs above all, which tshark does not check.
    pub ours: Summary,
    /// What [`rdmalab_lint`] makes of the conversations.
    pub conduct: Conduct,
}

/// What happened to packets on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Nothing.
    Clean,
    /// They came late, or out of order.
    Disturbed,
    /// Some were lost.
    Lossy,
}

impl Verdict {
    /// Lets tshark, [`dump`] and [`rdmalab_lint`] read the capture `file`.
    #[track_caller]
    pub fn of(network: &Network, file: &Path) -> Self {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(file).args(GUESSES.iter().flat_map(|guess| ["--disable-heuristic", guess]));
        // Where segments are missing or late it would else not find FPDUs, nor at a port that is known for another protocol.
        tshark.args(["-o", "tcp.reassemble_out_of_order:TRUE"]);
        tshark.args(["-o", "tcp.try_heuristic_first:TRUE", "-T", "fields"]);
        tshark.args(["-e", "frame.number", "-e", "infiniband.bth.opcode", "-e", "iwarp_mpa.ulpdulength"]);
        tshark.args(["-e", "_ws.malformed"]);
        let name = network.lab().unique("tshark");
        let said = run(&name, &mut tshark, network.lab().folder(), Duration::from_secs(400))
            .unwrap_or_else(|error| panic!("tshark cannot read {}: {error}", file.display()));
        let (tshark_roce, tshark_fpdus, tshark_malformed) = from_fields(&said.stdout);
        let open = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let ours = dump(BufReader::new(open), &mut std::io::sink(), DumpOptions::default())
            .unwrap_or_else(|error| panic!("{} cannot be read to its end: {error}", file.display()));
        let conduct = Conduct::of(file);
        Self { tshark_roce, tshark_fpdus, tshark_malformed, ours, conduct }
    }

    /// `Err` says it if a packet is malformed or has a wrong ICRC, if the judges see different numbers of RoCE packets, if
    /// there is none at all, since then nothing was judged, or if a rule of the protocols is violated.
    pub fn sound(&self) -> Result<(), String> {
        let faults = [
            (!self.tshark_malformed.is_empty(), "tshark calls packets malformed"),
            (self.ours.malformed.count > 0, "packets are malformed"),
            (self.ours.roce == 0, "there is no RoCE packet"),
            (self.ours.icrc_right != self.ours.roce, "not every ICRC is right"),
            (self.tshark_roce != self.ours.roce, "tshark counts RoCE packets differently"),
        ];
        match faults.iter().find(|(is_so, _)| *is_so) {
            Some((_, fault)) => Err(format!("{fault}: {self:?}")),
            None => self.conduct.sound(),
        }
    }

    /// As [`sound`](Self::sound), of iWARP: `Err` if a packet is malformed, if bytes of a stream are missing (unless packets are lost, and
    /// the stream's end is: whoever has all that he asked for closes, and does not wait for WRITEs still on their way) or judged by nobody, if the judges see different numbers of FPDUs, if there is none, or if not each FPDU has a right CRC, or,
    /// where none was asked for, none; or if a rule of the protocols is violated.
    ///
    /// How many tshark sees counts only if the way was clean: behind segments that come late it reads FPDUs into what it puts
    /// together which are not there (seen: one of 50,996 bytes and 176 of none, in a stream in which all of ours have their CRC).
    pub fn sound_iwarp(&self, crc: bool, way: Way) -> Result<(), String> {
        let fpdus = &self.ours.fpdus;
        let missing = if way == Way::Lossy {
            self.ours.iwarp_bytes_missing
        } else {
            self.ours.iwarp_bytes_not_captured()
        };
        let (wanted, others) =
            if crc { (fpdus.crc_right, fpdus.crc_absent) } else { (fpdus.crc_absent, fpdus.crc_right) };
        let faults = [
            (!self.tshark_malformed.is_empty(), "tshark calls packets malformed"),
            (self.ours.malformed.count > 0, "packets are malformed"),
            (fpdus.crc_wrong.count > 0, "not every CRC is right"),
            (fpdus.crc_unknown > 0 || missing > 0, "the capture is not whole"),
            (wanted == 0, "there is no FPDU as it should be"),
            (others > 0, "FPDUs have CRCs, or have none, against what was asked for"),
            (way == Way::Clean && self.tshark_fpdus != wanted, "tshark counts FPDUs differently"),
            (self.tshark_fpdus == 0, "tshark sees no FPDU"),
        ];
        match faults.iter().find(|(is_so, _)| *is_so) {
            Some((_, fault)) => Err(format!("{fault}: {self:?}")),
            None => self.conduct.sound(),
        }
    }

    /// Whether neither tshark nor our reading found an FPDU, or anything malformed.
    pub fn is_silent(&self) -> bool {
        let found = &self.ours;
        let fpdus = &found.fpdus;
        let all = fpdus.crc_right + fpdus.crc_absent + fpdus.crc_wrong.count + fpdus.crc_unknown;
        all + self.tshark_fpdus + found.malformed.count + found.iwarp_bytes_not_captured() == 0
            && self.tshark_malformed.is_empty()
    }

    /// A panic unless it is [sound](Self::sound).
    #[track_caller]
    pub fn expect_sound(&self) {
        self.sound().unwrap_or_else(|fault| panic!("{fault}"));
    }
}

/// How many lines have an opcode, how many lengths of FPDUs there are, several in a line as it may be, and which lines are
/// malformed.
fn from_fields(lines: &str) -> (u64, u64, Vec<u64>) {
    let (mut roce, mut fpdus, mut malformed) = (0, 0, Vec::new());
    for line in lines.lines() {
        let mut fields = line.split('\t');
        let number = fields.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        roce += u64::from(fields.next().is_some_and(|opcode| !opcode.is_empty()));
        let lengths = fields.next().unwrap_or_default().split(',');
        fpdus += lengths.filter(|length| !length.is_empty()).count() as u64;
        if fields.next().is_some_and(|mark| !mark.is_empty()) {
            malformed.push(number);
        }
    }
    (roce, fpdus, malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_frame_is_told_by_its_number() {
        let lines = "1\t\t\t\n2\t17\t\t\n3\t4\t\t_ws.malformed\n4\t\t22,1442\t\n";
        assert_eq!(from_fields(lines), (2, 2, vec![3]));
    }
}
