//! The bench: a connection of the kernel's, our hand on the other end of its stream, and a record of what passed.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind};
use serde_json::{Value, json};

use crate::bystander::Bystander;
use crate::fpdus::Fpdu;
use crate::peer::Peer;
use crate::record::Record;
use crate::stream::{Heard, Kind, Stream, hex};
use crate::{GUEST, OURS, OURS_PORT, RDMA};

/// How long something may take that is the first of its kind. The guest is emulated, and may be slow.
const SOON: Duration = Duration::from_millis(1000);
/// How long what comes behind it may take.
const SOON_AFTER: Duration = Duration::from_millis(250);
/// For what has to come.
pub const LONG: Duration = Duration::from_secs(20);

pub const LOCAL_WRITE: u32 = 1;
pub const REMOTE_WRITE: u32 = 2;
pub const REMOTE_READ: u32 = 4;

/// How the kernel's end is made, and what we say in the start-up.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// READs that the kernel's end answers at once.
    pub ird: u16,
    /// READs that it has under way at once.
    pub ord: u16,
    pub private: &'static [u8],
    /// The region's rights.
    pub access: u32,
    /// The lengths of receives that are posted in advance.
    pub receives: &'static [u32],
    /// We want CRCs.
    pub crc: bool,
}

impl Default for Wish {
    /// All that is ordinary, without CRCs.
    fn default() -> Self {
        let access = LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ;
        Self { ird: 4, ord: 4, private: &[], access, receives: &[64, 64, 64], crc: false }
    }
}

pub struct Probe {
    pub peer: Peer,
    listener: TcpListener,
    folder: PathBuf,
    began: Instant,
    stream: Option<Stream>,
    bystander: Bystander,
    /// The kernel's memory.
    pub va: u64,
    pub key: u32,
}

/// What we ask with: revision 2, four READs each way.
pub fn request() -> MpaFrame<'static> {
    let enhanced = Some(Enhanced { ird: 4, ord: 4, ..Enhanced::default() });
    MpaFrame { crc: false, revision: 2, enhanced, ..MpaFrame::new(MpaKind::Request) }
}

/// What we answer with, likewise.
pub fn reply() -> MpaFrame<'static> {
    MpaFrame { kind: MpaKind::Reply, ..request() }
}

pub fn encode(frame: &MpaFrame<'_>) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; frame.encoded_length()];
    frame.encode(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

impl Probe {
    pub fn new(peers: [Result<Peer, String>; 2], folder: PathBuf) -> Result<Self, String> {
        let [peer, other] = peers;
        let listener = TcpListener::bind((OURS, OURS_PORT)).map_err(|error| error.to_string())?;
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        let (began, bystander) = (Instant::now(), Bystander::open(other?)?);
        Ok(Self { peer: peer?, listener, folder, began, stream: None, bystander, va: 0, key: 0 })
    }

    /// Records the streams into `siw_NAME.pcap` until the record ends.
    pub fn record(&self, name: &str) -> Result<Record, String> {
        Record::begin(&self.folder.join(format!("siw_{name}.pcap")))
    }

    /// Ends what was before; `scene` says what is tried now.
    pub fn scene(&mut self, scene: &str) -> Result<(), String> {
        println!("  {scene}");
        self.stream = None;
        self.peer.order(&json!({"do": "close"}))?;
        self.peer.order(&json!({"do": "kernel"})).map(drop)
    }

    /// A stream to the kernel's listener, on which nothing has been said.
    pub fn dial(&mut self, scene: &str) -> Result<(), String> {
        self.scene(scene)?;
        let to = SocketAddr::from((GUEST, RDMA[0]));
        let mut tcp = TcpStream::connect_timeout(&to, LONG);
        if tcp.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            self.tell("NOBODY LISTENS any more; the application listens again");
            self.peer.order(&json!({"do": "listen"}))?;
            tcp = TcpStream::connect_timeout(&to, LONG);
        }
        self.stream = Some(Stream::new(tcp.map_err(|error| error.to_string())?)?);
        self.began = Instant::now();
        Ok(())
    }

    /// A stream from the kernel, whose request has been heard and not been answered.
    pub fn be_called(&mut self, scene: &str, wish: Wish) -> Result<(), String> {
        self.scene(scene)?;
        let mut order = order("connect", wish);
        order["address"] = json!(OURS.to_string());
        order["port"] = json!(OURS_PORT);
        let answer = self.peer.order(&order)?;
        self.remember(&answer)?;
        let end = Instant::now() + LONG;
        let tcp = loop {
            match self.listener.accept() {
                Ok((tcp, _)) => break tcp,
                Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(format!("nobody calls: {error}")),
            }
        };
        tcp.set_nonblocking(false).map_err(|error| error.to_string())?;
        self.stream = Some(Stream::new(tcp)?);
        self.began = Instant::now();
        self.expect("request").map(drop)
    }

    /// A connection that we have asked for, with nothing unusual in its start-up.
    pub fn open(&mut self, scene: &str, wish: Wish) -> Result<(), String> {
        self.dial(scene)?;
        self.say_frame(&MpaFrame { crc: wish.crc, ..request() })?;
        self.await_event("CONNECT_REQUEST")?;
        self.accept(wish)?;
        self.expect("reply")?;
        self.await_event("ESTABLISHED")
    }

    /// A connection that the kernel has asked for, with nothing unusual in its start-up.
    pub fn open_called(&mut self, scene: &str, wish: Wish) -> Result<(), String> {
        self.be_called(scene, wish)?;
        self.say_frame(&MpaFrame { crc: wish.crc, ..reply() })?;
        self.await_event("ESTABLISHED")
    }

    pub fn say_frame(&mut self, frame: &MpaFrame<'_>) -> Result<(), String> {
        let bytes = encode(frame)?;
        self.say_bytes(&frame.to_string(), &bytes)?;
        self.stream()?.crc = frame.crc;
        Ok(())
    }

    pub fn say_bytes(&mut self, what: &str, bytes: &[u8]) -> Result<(), String> {
        let at = self.stream()?.send(bytes);
        self.write(at, '>', what);
        Ok(())
    }

    pub fn say(&mut self, fpdu: &Fpdu) -> Result<(), String> {
        let bytes = self.stream()?.encode(fpdu);
        self.say_bytes(&fpdu.to_string(), &bytes)
    }

    /// What comes next within `limit`.
    pub fn hear(&mut self, limit: Duration) -> Result<Option<Heard>, String> {
        let heard = self.stream()?.hear(Instant::now() + limit);
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => {
                println!("    {:>9}   (cannot be understood: {error})", "");
                None
            }
        };
        if let Some(heard) = &heard {
            self.write(heard.at, '<', &heard.line);
            if let Kind::Frame { crc, .. } = heard.kind {
                let stream = self.stream()?;
                stream.crc |= crc;
            }
        }
        Ok(heard)
    }

    /// What comes next, which has to come.
    pub fn expect(&mut self, what: &str) -> Result<Heard, String> {
        let heard = self.hear(LONG)?;
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
            self.tell("silence");
        }
        Ok(all)
    }

    /// Sends an FPDU and takes all that is said to it.
    pub fn ask(&mut self, fpdu: &Fpdu) -> Result<Vec<Heard>, String> {
        self.say(fpdu)?;
        self.listen()
    }

    /// We send no more.
    pub fn finish(&mut self) -> Result<(), String> {
        self.tell("we send FIN");
        self.stream()?.finish()
    }

    /// We are gone: FIN, or RST where something is here that was not taken.
    pub fn leave(&mut self) {
        self.tell("we close");
        self.stream = None;
    }

    /// Ends the stream with RST: there has to be something on it that we have not taken.
    pub fn reset(&mut self) -> Result<(), String> {
        self.stream()?.wait_for_unread()?;
        self.tell("we send RST");
        self.stream = None;
        Ok(())
    }

    /// What rdma_cm tells the kernel's application within `seconds`.
    pub fn event(&mut self, seconds: f64) -> Result<Option<String>, String> {
        let answer = self.peer.order(&json!({"do": "event", "seconds": seconds}))?;
        let name = answer["event"].as_str().map(str::to_owned);
        let private = answer["private"].as_str().filter(|private| !private.is_empty());
        let private = private.map(|private| format!(" private={private}")).unwrap_or_default();
        self.tell(&format!("event: {}{private}", name.as_deref().unwrap_or("none")));
        Ok(name)
    }

    fn await_event(&mut self, wanted: &str) -> Result<(), String> {
        let answer = self.peer.order(&json!({"do": "event", "seconds": 20}))?;
        if answer["event"] == wanted { Ok(()) } else { Err(format!("{answer} in place of {wanted}")) }
    }

    /// The kernel's application accepts.
    pub fn accept(&mut self, wish: Wish) -> Result<(), String> {
        let answer = self.peer.order(&order("accept", wish))?;
        self.remember(&answer)
    }

    /// The same in two steps, between which the reply is heard.
    pub fn begin_to_accept(&mut self, wish: Wish) -> Result<(), String> {
        self.peer.give(&order("accept", wish))
    }

    pub fn end_accepting(&mut self, wish: Wish) -> Result<(), String> {
        let answer = self.peer.answer(&order("accept", wish))?;
        self.remember(&answer)
    }

    /// The kernel's application refuses.
    pub fn reject(&mut self, private: &[u8]) -> Result<(), String> {
        self.tell(&format!("rejected with {} bytes", private.len()));
        self.peer.order(&json!({"do": "reject", "private": hex(private)})).map(drop)
    }

    pub fn disconnect(&mut self) -> Result<(), String> {
        self.tell("disconnected");
        self.peer.order(&json!({"do": "disconnect"})).map(drop)
    }

    /// A request of the kernel's.
    pub fn post(&mut self, operation: &str, length: u32, id: u32) -> Result<(), String> {
        self.tell(&format!("posted: {operation} of {length} bytes, number {id}"));
        let order = json!({"do": "post", "operation": operation, "id": id, "offset": 4096, "length": length,
            "key": 0x1234, "address": 0x10_0000});
        self.peer.order(&order).map(drop)
    }

    /// A receive of the kernel's.
    pub fn receive(&mut self, length: u32, id: u32) -> Result<(), String> {
        self.peer.order(&json!({"do": "receive", "id": id, "length": length})).map(drop)
    }

    pub fn memory(&mut self, offset: u64, length: u64) -> Result<(), String> {
        let bytes = self.peer.memory(offset, length)?;
        self.tell(&format!("memory at {offset}: {bytes}"));
        Ok(())
    }

    pub fn received(&mut self, id: u32, length: u32) -> Result<(), String> {
        let answer =
            self.peer.order(&json!({"do": "memory", "receive": id, "offset": 0, "length": length}))?;
        self.tell(&format!("receive {id} holds {}", answer["bytes"].as_str().unwrap_or_default()));
        Ok(())
    }

    pub fn completed(&mut self, what: &str) -> Result<(), String> {
        let completions = self.peer.completions(16, 0.3)?;
        self.tell(&format!("completions {what}: {completions:?}"));
        Ok(())
    }

    /// What has become of the kernel's end: completions, events, the queue pair's state, the kernel's own words.
    pub fn outcome(&mut self) -> Result<(), String> {
        let completions = self.peer.completions(16, 0.3)?;
        self.tell(&format!("completions: {completions:?}"));
        while self.event(0.1)?.is_some() {}
        let answer: Value = self.peer.order(&json!({"do": "state"}))?;
        let state = match answer["state"].as_u64() {
            Some(1) => "INIT",
            Some(2) => "RTR",
            Some(3) => "RTS",
            Some(4) => "SQD",
            Some(5) => "SQE",
            Some(6) => "ERR",
            _ => "of no state",
        };
        self.tell(&format!("queue pair: {state}"));
        self.kernel_words()
    }

    pub fn kernel_words(&mut self) -> Result<(), String> {
        let answer = self.peer.order(&json!({"do": "kernel"}))?;
        for line in answer["lines"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.tell(&format!("kernel: {line}"));
        }
        Ok(())
    }

    /// Ends what was before, and tells whether another connection still works.
    pub fn others(&mut self) -> Result<(), String> {
        self.stream = None;
        self.peer.order(&json!({"do": "close"}))?;
        match self.bystander.read() {
            Ok(()) => self.tell("another connection goes on"),
            Err(error) => self.tell(&format!("ANOTHER CONNECTION DOES NOT GO ON: {error}")),
        }
        Ok(())
    }

    pub fn tell(&self, text: &str) {
        println!("    {:>9}   {text}", "");
    }

    fn remember(&mut self, answer: &Value) -> Result<(), String> {
        (self.va, self.key) = region(answer)?;
        Ok(())
    }

    fn stream(&mut self) -> Result<&mut Stream, String> {
        self.stream.as_mut().ok_or_else(|| "there is no stream".into())
    }

    fn write(&self, at: Instant, direction: char, line: &str) {
        let time = at.saturating_duration_since(self.began).as_secs_f64() * 1000.0;
        println!("    {time:9.3} {direction} {line}");
    }
}

/// To make an end of a connection, as wished.
pub fn order(name: &str, wish: Wish) -> Value {
    let Wish { ird, ord, private, access, receives, .. } = wish;
    json!({"do": name, "ird": ird, "ord": ord, "private": hex(private), "access": access,
        "receives": receives})
}

/// Address and key of the region that an end has.
pub fn region(answer: &Value) -> Result<(u64, u32), String> {
    let number = |name: &str| answer[name].as_u64().ok_or_else(|| format!("no {name} in {answer}"));
    Ok((number("va")?, number("key")? as u32))
}
