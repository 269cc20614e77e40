//! A capture of one interface, and what tshark has to say about it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::Network;
use crate::process::{Process, run};

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
        // -Z: tcpdump would give its file to a user of its own. Whole packets, a large buffer, no delay.
        let arguments =
            ["-i", interface, "-w", &file, "-s", "0", "-B", "65536", "-U", "--immediate-mode", "-Z", "root"];
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

/// What tshark found in a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How many RoCE packets it saw: those it could read as InfiniBand.
    pub roce_packets: usize,
    /// The numbers of the frames that it calls malformed.
    pub malformed: Vec<u64>,
}

impl Verdict {
    /// Lets tshark read the capture `file`. Its guess that short SENDs carry RPC over RDMA is turned off.
    #[track_caller]
    pub fn of(network: &Network, file: &Path) -> Self {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(file).args(["--disable-heuristic", "rpcrdma_infiniband", "-T", "fields"]);
        tshark.args(["-e", "frame.number", "-e", "infiniband.bth.opcode", "-e", "_ws.malformed"]);
        let name = network.lab().unique("tshark");
        let said = run(&name, &mut tshark, network.lab().folder(), Duration::from_secs(120))
            .unwrap_or_else(|error| panic!("tshark cannot read {}: {error}", file.display()));
        Self::from_fields(&said.stdout)
    }

    /// Panics if a packet is malformed or if there is no RoCE packet at all, since then nothing was judged.
    #[track_caller]
    pub fn expect_sound(&self, file: &Path) {
        assert!(
            self.malformed.is_empty(),
            "tshark calls malformed in {}: {:?}",
            file.display(),
            self.malformed
        );
        assert!(self.roce_packets > 0, "there is no RoCE packet in {}", file.display());
    }

    fn from_fields(lines: &str) -> Self {
        let mut verdict = Self { roce_packets: 0, malformed: Vec::new() };
        for line in lines.lines() {
            let mut fields = line.split('\t');
            let number = fields.next().and_then(|number| number.parse().ok()).unwrap_or(0);
            verdict.roce_packets += usize::from(fields.next().is_some_and(|opcode| !opcode.is_empty()));
            if fields.next().is_some_and(|malformed| !malformed.is_empty()) {
                verdict.malformed.push(number);
            }
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_frame_is_told_by_its_number() {
        let verdict = Verdict::from_fields("1\t\t\n2\t17\t\n3\t4\t_ws.malformed\n");
        assert_eq!(verdict, Verdict { roce_packets: 2, malformed: vec![3] });
    }
}
