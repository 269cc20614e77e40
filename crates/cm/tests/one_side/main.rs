//! One side at a time, by script: each rule of connection management.

mod answers;
mod datagram;
mod limits;
mod listeners;
mod patience;
mod release;
mod request;
mod side;
mod stale;
