//! The RC transport, tested from outside: scripted exchanges, pairs over a bad link, models.

mod both_ways;
mod creation;
mod headers;
mod longest_messages;
mod model;
mod pair;
mod requester;
mod responder;
mod script;
mod side;
mod states;
mod uc;
