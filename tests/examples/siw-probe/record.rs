//! tcpdump at work, for one case.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{OURS_PORT, RDMA};

pub struct Record {
    child: Child,
}

impl Record {
    /// Records the streams under question, and nothing else that passes the guest's wire, until the record ends.
    pub fn begin(path: &Path) -> Result<Self, String> {
        let mut command = Command::new("tcpdump");
        command.args(["-i", "guest", "-s", "0", "-U", "--immediate-mode", "-Z", "root", "-w"]).arg(path);
        command.arg(format!("tcp port {} or tcp port {OURS_PORT}", RDMA[0]));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let _ = std::fs::remove_file(path);
        let child = command.spawn().map_err(|error| format!("tcpdump: {error}"))?;
        let record = Record { child };
        // tcpdump writes the file's header when it is ready.
        let end = Instant::now() + Duration::from_secs(20);
        while std::fs::metadata(path).map_or(0, |file| file.len()) < 24 {
            if Instant::now() > end {
                return Err("tcpdump does not begin".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(record)
    }

    /// Ends it, when what is still in its buffers has had time to arrive.
    pub fn finish(mut self) -> Result<(), String> {
        std::thread::sleep(Duration::from_millis(700));
        let id = self.child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().map_err(|error| error.to_string())?;
        self.child.wait().map(drop).map_err(|error| error.to_string())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
