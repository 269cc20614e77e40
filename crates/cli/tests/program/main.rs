//! The built program, as its users see it: what it prints, what it writes, how it exits.

mod craft;
mod demo;
mod dump;
mod program;
mod usage;
