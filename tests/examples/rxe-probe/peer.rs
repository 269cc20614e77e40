//! What the guest's queue pair is told to do: orders to `rxe_peer.py`, and their answers.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// How long an order may take.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Peer {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Peer {
    pub fn connect(to: SocketAddr) -> Result<Self, String> {
        let text = |error: std::io::Error| format!("the peer at {to}: {error}");
        let stream = TcpStream::connect_timeout(&to, LIMIT).map_err(text)?;
        stream.set_read_timeout(Some(LIMIT)).map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        let lines = BufReader::new(stream.try_clone().map_err(text)?);
        Ok(Self { stream, lines })
    }

    /// Gives an order and waits for its answer.
    pub fn order(&mut self, order: &Value) -> Result<Value, String> {
        self.give(order)?;
        self.answer(order)
    }

    /// Gives an order whose [answer](Self::answer) is taken later.
    pub fn give(&mut self, order: &Value) -> Result<(), String> {
        self.stream.write_all(format!("{order}\n").as_bytes()).map_err(|error| format!("{order}: {error}"))
    }

    /// The answer to the oldest order that has none yet.
    pub fn answer(&mut self, order: &Value) -> Result<Value, String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).map_err(|error| format!("{order}: {error}"))?;
        let answer: Value =
            serde_json::from_str(&line).map_err(|error| format!("{order}: {line:?}: {error}"))?;
        match answer.get("error") {
            Some(error) => Err(format!("{order}: {error}")),
            None => Ok(answer),
        }
    }

    /// Completions, as many as `count` if they come within `seconds`.
    pub fn completions(&mut self, count: usize, seconds: f64) -> Result<Vec<String>, String> {
        let answer = self.order(&json!({"do": "poll", "count": count, "seconds": seconds}))?;
        let all = answer["completions"].as_array().cloned().unwrap_or_default();
        let status = |entry: &Value| entry[1].as_str().unwrap_or_default().to_owned();
        Ok(all.iter().map(|entry| format!("{}:{}", entry[0], status(entry))).collect())
    }

    /// Bytes of the region.
    pub fn memory(&mut self, offset: u64, length: u64) -> Result<String, String> {
        let answer = self.order(&json!({"do": "memory", "offset": offset, "length": length}))?;
        Ok(answer["bytes"].as_str().unwrap_or_default().to_owned())
    }
}
