//! Another connection, which must not be troubled by whatever happens to the one under question.

use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use serde_json::json;

use crate::fpdus::read;
use crate::peer::Peer;
use crate::probe::{LONG, Wish, encode, order, region, request};
use crate::stream::{Kind, Stream};
use crate::{GUEST, RDMA};

/// It reads the same eight bytes again and again.
pub struct Bystander {
    stream: Stream,
    va: u64,
    key: u32,
    reads: u32,
    _peer: Peer,
}

impl Bystander {
    pub fn open(mut peer: Peer) -> Result<Self, String> {
        let to = SocketAddr::from((GUEST, RDMA[1]));
        let tcp = TcpStream::connect_timeout(&to, LONG).map_err(|error| error.to_string())?;
        let mut stream = Stream::new(tcp)?;
        stream.send(&encode(&request())?);
        peer.order(&json!({"do": "event", "seconds": 20}))?;
        let (va, key) = region(&peer.order(&order("accept", Wish::default()))?)?;
        let heard = stream.hear(Instant::now() + LONG)?.ok_or("the other connection gets no reply")?;
        match heard.kind {
            Kind::Frame { reject: false, .. } => Ok(Self { stream, va, key, reads: 0, _peer: peer }),
            _ => Err(format!("the other connection: {}", heard.line)),
        }
    }

    pub fn read(&mut self) -> Result<(), String> {
        self.reads += 1;
        let fpdu = read(self.reads, self.key, self.va, 8);
        let bytes = self.stream.encode(&fpdu);
        self.stream.send(&bytes);
        let heard = self.stream.hear(Instant::now() + LONG)?.ok_or("no answer")?;
        // The first bytes of the region's pattern.
        if heard.line.ends_with("00070e151c232a31") { Ok(()) } else { Err(heard.line) }
    }
}
