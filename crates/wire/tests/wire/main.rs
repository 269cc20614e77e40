//! The wire crate, judged from outside: by captures of real peers, by a second implementation of the CRC, by
//! random bytes and by broken ones.

mod arbitrary_bytes;
mod captures;
mod carrier;
mod datagram;
mod frame;
mod icrc;
mod lines;
mod opcodes;
mod pause;
mod reserved_bits;
mod round_trips;
mod truncation;
mod vcrc;

mod generate;
mod pcap;
mod samples;
