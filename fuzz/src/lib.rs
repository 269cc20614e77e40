//! What the fuzz targets do with their input: a function of bytes each, that panics when something is wrong.
//!
//! They need no fuzzer. The ordinary tests run them over the corpora (`tests/tests/fuzz_corpus.rs`).

pub mod capture;
pub mod cm;
pub mod craft_spec;
pub mod iwarp_start_up;
pub mod iwarp_stream;
pub mod lint;
pub mod packet;
pub mod pair;
pub mod queue_pair;
pub mod stream;
pub mod view;
