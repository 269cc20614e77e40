//! One side by script, file by file as the RFCs have it.

mod answers;
mod atomics;
mod ending;
mod errors;
mod framing;
mod headers;
mod local;
mod placement;
mod reads;
mod receives;
mod sending;
mod shared_memory;
mod start;
mod terminates;
