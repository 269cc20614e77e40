//! `rdmalab dump`: a capture, one line, tree or JSON object per packet, with the verdict on each ICRC.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use rdmalab_trace::{DumpError, DumpOptions, Filter, ReadError, ReadFault, Summary};

use crate::outcome::{Error, Outcome, Result, tell, unprinted};

/// Print a capture, one line per packet, and check every ICRC.
///
/// Reads pcap and pcapng, also packed with gzip or zstd. A summary goes to standard error. Exit code 1 if an ICRC is wrong or a packet is malformed, 2 if
/// the file cannot be read to its end.
#[derive(clap::Args)]
pub struct Options {
    /// The capture, pcap or pcapng, plain or packed with gzip or zstd; "-" reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// One JSON object per packet and line
    #[arg(long)]
    json: bool,
    /// Below each packet's line all its fields, by the names of the JSON objects
    #[arg(short, long, conflicts_with = "json")]
    verbose: bool,
    /// Print, and judge, only the packets that fulfil an expression on the names of the JSON objects, as
    /// 'infiniband.bth.opcode == 4 && ip.src != 10.9.0.1'
    ///
    /// There are ==, !=, <, <=, >, >=, !, &&, || and parentheses; a name alone asks whether the packet has that field or
    /// header, as in '!infiniband.aeth'. Values are numbers (26, 0x1a), addresses, bytes (00:1f), words, or text in double
    /// quotes. A name with several values in a packet fulfils what any of them does.
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Filter>,
}

/// Prints the capture.
pub fn run(options: &Options) -> Result<Outcome> {
    let summary = if options.file.as_os_str() == "-" {
        // Standard input may be a capture that still goes on: show each packet when it comes.
        print(io::stdin().lock(), options, true)?
    } else {
        let file = File::open(&options.file).map_err(|error| unopened(options, &error))?;
        print(file, options, false)?
    };
    tell(&summary);
    Ok(Outcome::fine_if(summary.is_fine()))
}

fn print(input: impl Read, options: &Options, flush_each: bool) -> Result<Summary> {
    let dump_options = DumpOptions {
        json: options.json,
        tree: options.verbose,
        filter: options.filter.as_ref(),
        flush_each,
    };
    let mut out = io::stdout().lock();
    rdmalab_trace::dump(input, &mut out, dump_options).map_err(|failure| match failure {
        DumpError::Read { ref error, ref summary, .. } => {
            if summary.packets > 0 {
                tell(summary);
            }
            unread(options, &failure, error)
        }
        DumpError::Filter(_) => Error::usage(&failure),
        DumpError::Write(error) => unprinted(error),
    })
}

fn name(options: &Options) -> String {
    if options.file.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        options.file.display().to_string()
    }
}

fn unopened(options: &Options, error: &io::Error) -> Error {
    let opened = Error::usage(format_args!("cannot open {}: {error}", name(options)));
    match error.kind() {
        io::ErrorKind::NotFound => opened.advice("name a pcap or pcapng file, or - for standard input"),
        io::ErrorKind::PermissionDenied => {
            opened.advice("captures made as root often belong to root: change the owner, or run as root")
        }
        _ => opened,
    }
}

fn unread(options: &Options, failure: &DumpError, error: &ReadError) -> Error {
    let unread = Error::usage(format_args!("{}: {failure}", name(options)));
    match &error.fault {
        ReadFault::Cut { .. } if error.packets_before > 0 => unread.advice(
            "the packets before that are printed above; the capturing program may not have ended properly",
        ),
        ReadFault::NotACapture { .. } => unread.advice("is this the right file? pcap and pcapng are read"),
        _ => unread,
    }
}
