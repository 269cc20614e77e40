//! The program `rdmalab`: RDMA without the hardware, on the command line.
//!
//! Each subcommand is a module with `Options` (what clap reads) and `run`, which gives back an [`Outcome`] or an
//! [`Error`](outcome::Error). Only this file turns those into an exit code; nothing else exits, and nothing panics,
//! whatever the command line says.
#![forbid(unsafe_code)]

mod address;
mod capture;
mod craft;
mod demo;
mod discards;
mod dump;
mod interrupt;
mod lesson;
mod link;
mod lint;
mod outcome;
mod paragraph;
mod perf;
mod pingpong;
mod profile;
mod rping;
mod same_file;
mod serve;
mod states;
mod ucmatose;
mod view;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use outcome::Outcome;

/// RDMA without the hardware: a userspace RoCE v2 emulator.
#[derive(Parser)]
#[command(name = "rdmalab", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 fine, 1 the peer or the check failed, 2 wrong usage or unreadable input.";

/// What Craft, Demo, Dump, Lesson, Lint, States and View are is said at their options.
#[derive(Subcommand)]
enum Command {
    Craft(craft::Options),
    Demo(demo::Options),
    Dump(dump::Options),
    Lesson(lesson::Options),
    Lint(lint::Options),
    /// Speak perftest with a real or emulated peer
    Perf(perf::Options),
    /// Speak ibv_rc_pingpong (uc, ud, srq) with a real or emulated peer
    Pingpong(pingpong::Options),
    /// Speak rping with a real or emulated peer
    Rping(rping::Options),
    /// Stay up and serve the clients of the test programs
    Serve(serve::Options),
    States(states::Options),
    /// Speak ucmatose with a real or emulated server
    Ucmatose(ucmatose::Options),
    /// Speak udaddy with a real or emulated server
    Udaddy(ucmatose::Options),
    View(view::Options),
}

fn main() -> ExitCode {
    let command = match CommandLine::try_parse() {
        Ok(line) => line.command,
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            match text.strip_prefix("error: ") {
                Some(text) => outcome::tell(format_args!("rdmalab: {}", text.trim_end())),
                // Help, for want of a subcommand.
                None => outcome::tell(text.trim_end()),
            }
            return outcome::WRONG_USAGE.into();
        }
        Err(help) => {
            // If nobody reads it, no matter.
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let result = match command {
        Command::Craft(options) => craft::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Dump(options) => dump::run(&options),
        Command::Lesson(options) => lesson::run(&options),
        Command::Lint(options) => lint::run(&options),
        Command::Perf(options) => perf::run(&options),
        Command::Pingpong(options) => pingpong::run(&options),
        Command::Rping(options) => rping::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::States(options) => states::run(&options),
        Command::Ucmatose(options) => ucmatose::run(&options),
        Command::Udaddy(options) => ucmatose::run_udaddy(&options),
        Command::View(options) => view::run(&options),
    };
    match result {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => outcome::CHECK_FAILED.into(),
        Err(error) => {
            if let Some(text) = error.message() {
                outcome::tell(format_args!("rdmalab: {text}"));
            }
            error.exit_code()
        }
    }
}
