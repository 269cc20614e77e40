//! The built program, as its users see it: what it prints, what it writes, how it exits.

mod alone;
mod captures;
mod connected;
mod craft;
mod demo;
mod demo_explain;
mod demo_iwarp;
mod demo_judged;
mod demo_linted;
mod demo_transports;
mod dump;
mod interrupted;
mod iwarp;
mod lessons;
mod lint;
mod lost_links;
mod perf;
mod pingpong;
mod program;
mod states;
mod unprivileged;
mod usage;
mod view;
