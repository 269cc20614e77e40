//! The transports, tested from outside: scripted exchanges.

#[path = "../pair/application.rs"]
mod application;
mod congestion;
mod counters;
mod creation;
mod events;
mod headers;
mod longest_messages;
mod partitions;
mod requester;
mod responder;
mod script;
mod shared;
mod side;
mod states;
mod uc;
mod ud;
mod xrc;
