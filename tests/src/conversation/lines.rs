//! The lines of a conversation's TCP connection, each a JSON object.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What the connecting end wants, its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Whether the connecting end is the active one.
    pub active: bool,
    /// The list of operations, as [`super::operations`] reads it.
    pub operations: String,
    /// The path MTU in bytes.
    pub mtu: u16,
    /// The exponent of the local ACK timeout.
    pub timeout: u8,
    /// How often to retry.
    pub retry: u8,
    /// How often to retry after "receiver not ready".
    pub rnr_retry: u8,
    /// How many READs and atomics may be under way at once, both ways.
    pub rd_atomic: u8,
    /// The first PSN that the connecting end sends; it is told in the introduction.
    pub psn: u32,
}

impl Wish {
    /// Its line, without the line feed.
    pub(super) fn line(&self) -> String {
        json!({
            "role": if self.active { "active" } else { "passive" },
            "operations": self.operations,
            "mtu": self.mtu,
            "timeout": self.timeout,
            "retry": self.retry,
            "rnr_retry": self.rnr_retry,
            "rd_atomic": self.rd_atomic,
        })
        .to_string()
    }
}

/// Who an end is, for the other end's queue pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The queue pair's number.
    pub qpn: u32,
    /// The first PSN that this end sends.
    pub psn: u32,
    /// The GID, as text.
    pub gid: String,
    /// The region's remote key.
    pub rkey: u32,
    /// Where the region begins.
    pub va: u64,
    /// How many bytes it has.
    pub size: usize,
}

impl Introduction {
    /// Its line, without the line feed.
    pub(super) fn line(&self) -> String {
        let Self { qpn, psn, gid, rkey, va, size } = self;
        json!({ "qpn": qpn, "psn": psn, "gid": gid, "rkey": rkey, "va": va, "size": size }).to_string()
    }

    /// Reads the other end's.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let value = object(line)?;
        let number = |key: &str| value[key].as_u64().ok_or_else(|| format!("no number {key:?} in {line:?}"));
        let small =
            |key: &str| number(key)?.try_into().map_err(|_| format!("{key:?} is too large in {line:?}"));
        Ok(Self {
            qpn: small("qpn")?,
            psn: small("psn")?,
            gid: value["gid"].as_str().ok_or_else(|| format!("no \"gid\" in {line:?}"))?.to_owned(),
            rkey: small("rkey")?,
            va: number("va")?,
            size: number("size")?.try_into().map_err(|_| format!("\"size\" is too large in {line:?}"))?,
        })
    }
}

/// The line that says that its sender's queue pair is in RTS and its receives are posted; with the keys of operations, by their
/// numbers.
pub(super) fn ready(keys: &Keys) -> String {
    json!({ "ready": true, "keys": keys }).to_string()
}

/// Keys that operations have for themselves, by the operations' numbers in words.
pub(super) type Keys = BTreeMap<String, u32>;

/// Reads the keys in the other end's line.
pub(super) fn keys(line: &str) -> Result<Keys, String> {
    let keys = object(line)?.get_mut("keys").map(Value::take).unwrap_or_else(|| json!({}));
    serde_json::from_value(keys).map_err(|error| format!("the keys in {line:?}: {error}"))
}

/// The line with which an end closes: `Ok`, or what is wrong.
pub(super) fn verdict(verdict: &Result<(), String>) -> String {
    json!({ "verdict": verdict.as_ref().err().map_or("ok", String::as_str) }).to_string()
}

/// Reads a line that should hold `key`. `Err` also if the other end gives up in its place.
pub(super) fn expect(line: &str, key: &str) -> Result<Value, String> {
    let value = object(line)?;
    if let Some(verdict) = value["verdict"].as_str().filter(|verdict| *verdict != "ok" || key != "verdict") {
        return Err(format!("the other end gave up: {verdict}"));
    }
    match value.get(key) {
        Some(found) => Ok(found.clone()),
        None => Err(format!("no {key:?} in {line:?}")),
    }
}

fn object(line: &str) -> Result<Value, String> {
    serde_json::from_str(line).map_err(|error| format!("{line:?} is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_introduction_survives_its_line() {
        let all = Introduction {
            qpn: 0x11,
            psn: 0xff_ffff,
            gid: "::ffff:10.9.0.1".into(),
            rkey: u32::MAX,
            va: u64::MAX,
            size: 9,
        };
        assert_eq!(Introduction::read(&all.line()), Ok(all));
        assert!(Introduction::read("{\"qpn\": 1}").is_err());
        assert!(Introduction::read("nonsense").is_err());
    }

    #[test]
    fn a_peer_that_gives_up_is_heard_at_any_point() {
        let gave_up = verdict(&Err("out of luck".into()));
        assert!(expect(&gave_up, "ready").unwrap_err().contains("out of luck"));
        assert!(expect(&gave_up, "verdict").is_err());
        assert!(expect(&verdict(&Ok(())), "verdict").is_ok());
        assert!(expect(&verdict(&Ok(())), "ready").is_err());
        assert!(expect(&ready(&Keys::new()), "ready").is_ok());
    }

    #[test]
    fn keys_survive_their_line() {
        let all = Keys::from([("3".to_owned(), u32::MAX), ("12".to_owned(), 0)]);
        assert_eq!(keys(&ready(&all)), Ok(all));
        assert_eq!(keys("{\"ready\": true}"), Ok(Keys::new()));
        assert!(keys("{\"keys\": 1}").is_err());
    }
}
