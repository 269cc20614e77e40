//! The bench: a queue pair of the kernel's, our hand on the other end of its wire, and a record of what passed.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rdmalab_wire::{Psn, Qpn};
use serde_json::{Value, json};

use crate::cable::{Cable, Heard, OURS, Sum};
use crate::packets::Crafted;
use crate::peer::Peer;

/// Where our requests begin.
pub const PSN: u32 = 100;
/// Where the kernel's requests begin.
pub const THEIRS: u32 = 500;
/// How long something may take that is the first of its kind. The guest is emulated, and may be slow.
const SOON: Duration = Duration::from_millis(1200);
/// How long what comes behind it may take.
const SOON_AFTER: Duration = Duration::from_millis(300);

pub const LOCAL_WRITE: u32 = 1;
pub const REMOTE_WRITE: u32 = 2;
pub const REMOTE_READ: u32 = 4;
pub const REMOTE_ATOMIC: u32 = 8;
const MW_BIND: u32 = 16;
pub const FLUSH_GLOBAL: u32 = 256;
pub const FLUSH_PERSISTENT: u32 = 512;
pub const ORDINARY: u32 = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;

/// How the kernel's queue pair is made.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    pub access: u32,
    pub memory_access: u32,
    pub mtu: u32,
    pub timeout: u8,
    pub retry: u8,
    pub rnr_retry: u8,
    pub rd_atomic: u8,
}

impl Default for Wish {
    /// All that is ordinary, and a timeout of 1.07 s.
    fn default() -> Self {
        let (access, memory_access) = (ORDINARY, ORDINARY);
        Self { access, memory_access, mtu: 1024, timeout: 18, retry: 7, rnr_retry: 7, rd_atomic: 4 }
    }
}

impl Wish {
    /// With a region on which windows may be bound.
    pub fn to_bind(self) -> Self {
        Self { memory_access: self.memory_access | MW_BIND, ..self }
    }
}

pub struct Probe {
    pub cable: Cable,
    pub peer: Peer,
    folder: PathBuf,
    number: u32,
    began: Instant,
    ours: Qpn,
    theirs: Qpn,
    /// The kernel's memory.
    pub va: u64,
    pub key: u32,
}

impl Probe {
    pub fn new(cable: Cable, peer: Peer, folder: PathBuf) -> Self {
        let none = Qpn::new(0);
        let began = Instant::now();
        Self { cable, peer, folder, number: 0, began, ours: none, theirs: none, va: 0, key: 0 }
    }

    /// A fresh queue pair; `scene` says what is tried with it.
    pub fn open(&mut self, scene: &str, wish: Wish) -> Result<(), String> {
        println!("  {scene}");
        self.number += 1;
        self.ours = Qpn::new(0x1000 + self.number);
        let Wish { access, memory_access, mtu, timeout, retry, rnr_retry, rd_atomic } = wish;
        let gid = format!("::ffff:{OURS}");
        let order = json!({"do": "open", "gid": gid, "qpn": self.ours.value(), "psn": PSN, "own_psn": THEIRS,
            "access": access, "memory_access": memory_access, "mtu": mtu, "timeout": timeout, "retry": retry,
            "rnr_retry": rnr_retry, "rd_atomic": rd_atomic});
        let answer = self.peer.order(&order)?;
        let number = |name: &str| answer[name].as_u64().ok_or_else(|| format!("no {name} in {answer}"));
        self.theirs = Qpn::new(number("qpn")? as u32);
        (self.va, self.key) = (number("va")?, number("key")? as u32);
        self.began = Instant::now();
        Ok(())
    }

    pub fn send(&mut self, packet: &Crafted) -> Result<Instant, String> {
        self.send_summed(packet, Sum::Right)
    }

    /// Sends a packet with another ICRC than the right one.
    pub fn send_summed(&mut self, packet: &Crafted, sum: Sum) -> Result<Instant, String> {
        let (at, line) = self.cable.send(self.theirs, packet, sum)?;
        self.write(at, '>', &line);
        Ok(at)
    }

    /// The next packet that comes within `limit`.
    pub fn hear(&mut self, limit: Duration) -> Result<Option<Heard>, String> {
        let heard = self.cable.hear(self.ours, Instant::now() + limit)?;
        if let Some(heard) = &heard {
            self.write(heard.at, '<', &heard.line);
        }
        Ok(heard)
    }

    /// The next packet, which has to come.
    pub fn expect(&mut self, what: &str) -> Result<Heard, String> {
        let heard = self.hear(Duration::from_secs(10))?;
        heard.ok_or_else(|| format!("no {what} has come"))
    }

    /// All that comes until nothing has for a while.
    pub fn listen(&mut self) -> Result<Vec<Heard>, String> {
        let mut all = Vec::new();
        let mut limit = SOON;
        while let Some(heard) = self.hear(limit)? {
            all.push(heard);
            limit = SOON_AFTER;
            if all.len() >= 40 {
                break;
            }
        }
        if all.is_empty() {
            println!("    {:>9}   silence", "");
        }
        Ok(all)
    }

    /// Sends a packet and takes all that is said to it.
    pub fn ask(&mut self, packet: &Crafted) -> Result<Vec<Heard>, String> {
        self.send(packet)?;
        self.listen()
    }

    /// A work request of the kernel's.
    pub fn post(&mut self, operation: &str, length: u32) -> Result<(), String> {
        self.post_numbered(operation, length, 1)
    }

    pub fn post_numbered(&mut self, operation: &str, length: u32, id: u32) -> Result<(), String> {
        let order = json!({"do": "post", "operation": operation, "id": id, "offset": 4096, "length": length,
            "key": 0x1234, "address": 0x10_0000, "compare": 1, "swap": 2});
        self.peer.order(&order).map(drop)
    }

    /// A receive of the kernel's.
    pub fn receive(&mut self, length: u32) -> Result<(), String> {
        self.peer.order(&json!({"do": "receive", "id": 7, "offset": 8192, "length": length})).map(drop)
    }

    /// What completed within `seconds`, told.
    pub fn completions(&mut self, count: usize, seconds: f64) -> Result<Vec<String>, String> {
        let all = self.peer.completions(count, seconds)?;
        println!("    {:>9}   completions: {all:?}", "");
        Ok(all)
    }

    /// What the memory holds, told.
    pub fn memory(&mut self, offset: u64, length: u64) -> Result<String, String> {
        let bytes = self.peer.memory(offset, length)?;
        println!("    {:>9}   memory at {offset}: {bytes}", "");
        Ok(bytes)
    }

    /// Whether the kernel's queue pair still works.
    pub fn state(&mut self) -> Result<(), String> {
        let answer: Value = self.peer.order(&json!({"do": "state"}))?;
        let name = match answer["state"].as_u64() {
            Some(3) => "RTS",
            Some(6) => "ERR",
            _ => "neither RTS nor ERR",
        };
        println!("    {:>9}   queue pair: {name}", "");
        Ok(())
    }

    pub fn say(&self, text: &str) {
        println!("    {:>9}   {text}", "");
    }

    fn write(&self, at: Instant, direction: char, line: &str) {
        let time = at.saturating_duration_since(self.began).as_secs_f64() * 1000.0;
        println!("    {time:9.3} {direction} {line}");
    }

    /// Records the guest's RoCE packets into `rxe_NAME.pcap` until the record ends.
    pub fn record(&self, name: &str) -> Result<Record, String> {
        let path = self.folder.join(format!("rxe_{name}.pcap"));
        let mut command = Command::new("tcpdump");
        command.args(["-i", "guest", "-s", "0", "-U", "--immediate-mode", "-Z", "root", "-w"]).arg(&path);
        command.args(["udp", "port", "4791"]).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("tcpdump: {error}"))?;
        let record = Record { child };
        // tcpdump writes the file's header when it is ready.
        let end = Instant::now() + Duration::from_secs(20);
        while std::fs::metadata(&path).map_or(0, |file| file.len()) < 24 {
            if Instant::now() > end {
                return Err("tcpdump does not begin".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(record)
    }
}

impl Psns for u32 {}

/// PSNs counted from a number.
pub trait Psns: Into<u32> + Sized {
    fn psn(self) -> Psn {
        Psn::new(self.into())
    }
}

/// tcpdump at work.
pub struct Record {
    child: Child,
}

impl Record {
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
