//! `rdmalab craft`: packets from a description, and with `--from` a description from a capture.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use rdmalab_craft::{
    Capture, CraftError, DescribeError, Frame, LONGEST_SPEC, Limits, OutputError, Spec, craft, describe,
};

use rdmalab_trace::Unpacked;

use crate::outcome::{Error, Outcome, Result, tell, unprinted};
use crate::same_file;

/// Write packets from a description, right or wrong, or describe a capture.
///
/// What the description leaves out is computed: lengths, pads, checksums, PSNs that go on. What it gives is taken, however
/// wrong. crates/craft/SPEC.md tells how one is written. Exit code 2 if it cannot be read or says something impossible.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The description, TOML; "-" reads standard input
    #[arg(value_name = "SPEC", required_unless_present = "from", conflicts_with = "from")]
    spec: Option<PathBuf>,
    /// Describe this capture, pcap or pcapng, so that crafting the description gives the same packets
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The capture to write, .pcapng or .pcap; with --from the description, standard output if left out
    #[arg(short, long, value_name = "FILE", required_unless_present = "from")]
    output: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  rdmalab craft write.toml -o write.pcapng
  rdmalab craft --from rping.pcap -o rping.toml

A description of a WRITE with its ACK:
  [[conversation]]
  operation = \"write\"
  bytes = 10000";

/// Crafts or describes.
pub fn run(options: &Options) -> Result<Outcome> {
    match (&options.from, &options.spec, &options.output) {
        (Some(from), _, output) => describe_capture(from, output.as_deref()),
        (None, Some(spec), Some(output)) => craft_spec(spec, output),
        // clap has asked for both.
        _ => Err(Error::usage("craft needs a description and -o FILE")),
    }
}

fn craft_spec(path: &Path, output: &Path) -> Result<Outcome> {
    same_file::refuse(path, Some(output))?;
    let spec = Spec::parse(&read_spec(path)?)
        .map_err(|error| Error::usage(format_args!("{}: {error}", name(path))))?;
    let classic = match output.extension().and_then(|extension| extension.to_str()) {
        Some("pcapng") => false,
        Some("pcap") => true,
        _ => {
            let unknown = format_args!("-o {}: not known what kind of file that is to be", output.display());
            return Err(Error::usage(unknown).advice("end its name in .pcapng or .pcap"));
        }
    };
    let out = BufWriter::new(create(output)?);
    let unwritten = |error: OutputError| Error::failed(format_args!("{}: {error}", output.display()));
    let mut capture = if classic { Capture::pcap(out) } else { Capture::pcapng(out).map_err(unwritten)? };
    let result = craft(&spec, Limits::default(), &mut |frame: &Frame<'_>| capture.write(frame));
    // What was made so far is a whole capture in any case.
    let finished = capture.finish();
    let packets = result.map_err(|error| match error {
        CraftError::Spec(error) => Error::usage(format_args!("{}: {error}", name(path))),
        CraftError::Output(error) => unwritten(error),
    })?;
    finished.map_err(unwritten)?;
    tell(format_args!("{packets} packets written to {}", output.display()));
    Ok(Outcome::Fine)
}

fn read_spec(path: &Path) -> Result<String> {
    let mut text = String::new();
    let limit = LONGEST_SPEC as u64 + 1;
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(limit).read_to_string(&mut text)
    } else {
        open(path)?.take(limit).read_to_string(&mut text)
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let unread = Error::usage(format_args!("{} is no text in UTF-8", name(path)));
            Err(unread.advice("a capture is described with --from"))
        }
        Err(error) => Err(Error::usage(format_args!("cannot read {}: {error}", name(path)))),
    }
}

fn describe_capture(from: &Path, output: Option<&Path>) -> Result<Outcome> {
    same_file::refuse(from, output)?;
    let input: Box<dyn Read> = if from.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(open(from)?))
    };
    let unreadable = |error| Error::usage(format_args!("cannot read {}: {error}", from.display()));
    let input = Unpacked::new(input).map_err(unreadable)?;
    // Only now, so that input that cannot even be opened costs no file.
    let mut out: Box<dyn Write> = match output {
        Some(path) => Box::new(BufWriter::new(create(path)?)),
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let described = describe(input, &mut out);
    let unwritten = |error| match output {
        None => unprinted(error),
        Some(path) => Error::failed(format_args!("cannot write {}: {error}", path.display())),
    };
    out.flush().map_err(unwritten)?;
    match described {
        Ok(described) => {
            tell(described);
            Ok(Outcome::Fine)
        }
        Err(DescribeError::Read(error)) => {
            let unread = Error::usage(format_args!("{}: {error}", name(from)));
            Err(unread.advice("the packets before that are described"))
        }
        Err(DescribeError::Write(error)) => Err(unwritten(error)),
    }
}

fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::usage(format_args!("cannot open {}: {error}", path.display())))
}

fn create(path: &Path) -> Result<File> {
    File::create(path)
        .map_err(|error| Error::usage(format_args!("cannot create {}: {error}", path.display())))
}
