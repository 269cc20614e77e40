//! The transports, tested from outside: scripted exchanges, pairs over a bad link, models.

mod both_ways;
mod congestion;
mod creation;
mod events;
mod headers;
mod longest_messages;
mod model;
mod pair;
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
