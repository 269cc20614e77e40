//! The verbs crate, judged from outside: every rule for an access, a key, a queue and a change of state by a test of
//! its own, and the keys by a model that remembers all that ever were.

mod access;
mod address_handles;
mod attributes;
mod bench;
mod bindings;
mod completion_queues;
mod fast_regions;
mod invalidation;
mod memory;
mod model;
mod operations;
mod posting;
mod shared_receive_queues;
mod transitions;
mod windows;
mod xrc;
