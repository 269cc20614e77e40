//! iWARP's codecs and framer, judged from outside: by captures of real peers, by a second implementation as
//! simple as can be, by random bytes and by broken ones.

mod arbitrary_bytes;
mod captures;
mod errors;
mod framing;
mod known_answers;
mod lines;
mod resync;
mod round_trips;
mod start_up;
mod truncation;

mod generate;
mod naive;
#[path = "../wire/pcap.rs"]
mod pcap;
mod tcp;
