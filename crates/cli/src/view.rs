//! `rdmalab view`: a capture drawn, as a page to look into, as a ladder in the terminal, as a picture.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use rdmalab_trace::Filter;
use rdmalab_view::{Capture, PictureError, ViewError};

use crate::outcome::{Error, Outcome, Result, tell, unprinted};
use crate::same_file;

/// Draw a capture: a page with ladder, PSNs, fields and bytes, a ladder for the terminal, or a picture.
///
/// The page is one file that needs no network: open it in a browser. Reads pcap and pcapng, also packed with gzip or zstd.
/// Exit code 2 if the file cannot be read to its end; what came before is drawn.
#[derive(clap::Args)]
pub struct Options {
    /// The capture, pcap or pcapng, plain or packed with gzip or zstd; "-" reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where the page or the picture goes; "-", and for ladder and picture the default, is standard output
    #[arg(short, long, value_name = "OUT", required_unless_present_any = ["text", "svg"])]
    output: Option<PathBuf>,
    /// Print the ladder for the terminal
    #[arg(long, conflicts_with = "svg")]
    text: bool,
    /// Draw one flow with its answers as an SVG picture: the one with the most packets, or that of --flow
    #[arg(long)]
    svg: bool,
    /// The flow to draw, by its number in `rdmalab lint`
    #[arg(long, value_name = "NUMBER", requires = "svg")]
    flow: Option<u64>,
    /// Draw only the packets that fulfil an expression, as with `rdmalab dump`; all are judged
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<Filter>,
}

/// Draws the capture.
pub fn run(options: &Options) -> Result<Outcome> {
    same_file::refuse(&options.file, options.output.as_deref().filter(|path| path.as_os_str() != "-"))?;
    let (capture, unread) = read(options)?;
    if capture.packets() == 0 && unread.is_none() {
        let why =
            if options.filter.is_some() { "no packet passes the filter" } else { "there is no packet in it" };
        let text = format!("{}: {why}", name(options));
        if options.svg {
            return Err(
                Error::usage(text).advice("`rdmalab dump` shows packets, and with --json their fields")
            );
        }
        tell(format_args!("rdmalab: {text}"));
    }
    match &options.output {
        Some(path) if path.as_os_str() != "-" => to_file(options, &capture, path, unread.as_deref())?,
        _ => {
            let columns = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0);
            let mut out = BufWriter::new(anstream::stdout().lock());
            draw(options, &capture, &mut out, columns, unread.as_deref())
                .and_then(|()| out.flush().map_err(Trouble::Write))
                .map_err(|trouble| trouble.told(options, unprinted))?;
        }
    }
    match unread {
        None => Ok(Outcome::Fine),
        Some(text) => Err(Error::usage(text).advice("what is drawn is of the packets in front of that")),
    }
}

/// The capture, and what kept it from being read to its end.
fn read(options: &Options) -> Result<(Capture, Option<String>)> {
    let name = name(options);
    let view = rdmalab_view::Options {
        filter: options.filter.as_ref(),
        keeps_frames: !options.text && !options.svg,
    };
    let outcome = if options.file.as_os_str() == "-" {
        rdmalab_view::read(io::stdin().lock(), view)
    } else {
        let file = File::open(&options.file).map_err(|error| {
            Error::usage(format_args!("cannot open {name}: {error}"))
                .advice("name a pcap or pcapng file, or - for standard input")
        })?;
        fits(&file, options.filter.as_ref()).and_then(|()| rdmalab_view::read(file, view))
    };
    match outcome {
        Ok(capture) => Ok((capture, None)),
        Err(failure) => {
            let text = format!("{name}: {failure}");
            let fitting = failure.fitting_filter();
            match failure {
                ViewError::Read { capture, .. } if capture.packets() > 0 => Ok((*capture, Some(text))),
                ViewError::Read { .. } => {
                    Err(Error::usage(text).advice("pcap and pcapng are read; is this one?"))
                }
                ViewError::TooMany { .. } | ViewError::TooLarge { .. } | ViewError::Filter(_) => {
                    let error = Error::usage(text);
                    Err(match fitting {
                        Some(filter) => error
                            .advice(format!("draw a part of it: --filter '{filter}', or by any other field")),
                        None => error,
                    })
                }
            }
        }
    }
}

/// Whether there is room for a file: what is too large is refused before it is judged. What can be read only once tells it late.
fn fits(file: &File, filter: Option<&Filter>) -> std::result::Result<(), ViewError> {
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Ok(());
    }
    let asked = |filter: Option<&Filter>| {
        let answer = rdmalab_view::fits(file, filter);
        let mut file = file;
        // A file that was read can be read again; if not, reading it says why.
        file.rewind().map(|()| answer).unwrap_or(Ok(()))
    };
    let whole = asked(None);
    match (&whole, filter) {
        // Only if all of it is too much does it matter what the filter leaves.
        (Err(_), Some(filter)) => asked(Some(filter)),
        _ => whole,
    }
}

/// Why drawing stopped.
enum Trouble {
    Write(io::Error),
    Picture(PictureError),
}

impl Trouble {
    fn told(self, options: &Options, unwritten: impl Fn(io::Error) -> Error) -> Error {
        match self {
            Trouble::Write(error) | Trouble::Picture(PictureError::Write(error)) => unwritten(error),
            Trouble::Picture(error @ PictureError::NoFlow { .. }) => {
                Error::usage(format_args!("{}: {error}", name(options)))
                    .advice("rdmalab lint tells the flows by their numbers")
            }
            Trouble::Picture(error @ PictureError::TooMany { .. }) => {
                Error::usage(format_args!("{}: {error}", name(options)))
                    .advice("draw a part of it: --filter 'frame.number >= 100 && frame.number < 200'")
            }
        }
    }
}

fn draw(
    options: &Options,
    capture: &Capture,
    mut out: impl Write,
    columns: Option<u16>,
    unread: Option<&str>,
) -> std::result::Result<(), Trouble> {
    if options.text {
        capture.ladder(&mut out, columns).map_err(Trouble::Write)?;
    } else if options.svg {
        capture.picture(&mut out, options.flow).map_err(Trouble::Picture)?;
    } else {
        capture.page(&mut out, &name(options), unread).map_err(Trouble::Write)?;
    }
    out.flush().map_err(Trouble::Write)
}

fn to_file(options: &Options, capture: &Capture, path: &Path, unread: Option<&str>) -> Result<()> {
    let unwritten =
        |error: io::Error| Error::failed(format_args!("cannot write {}: {error}", path.display()));
    if options.svg {
        // What cannot be drawn must not cost the picture that was there.
        let mut picture = Vec::new();
        draw(options, capture, &mut picture, None, unread)
            .map_err(|trouble| trouble.told(options, unwritten))?;
        return std::fs::write(path, picture).map_err(unwritten);
    }
    let file = File::create(path).map_err(unwritten)?;
    let drawn = if options.text {
        // Colours are for terminals.
        draw(options, capture, BufWriter::new(anstream::StripStream::new(file)), None, unread)
    } else {
        draw(options, capture, BufWriter::new(file), None, unread)
    };
    drawn.map_err(|trouble| trouble.told(options, unwritten))?;
    if !options.text {
        tell(format_args!("{}: {} packets", path.display(), capture.packets()));
    }
    Ok(())
}

fn name(options: &Options) -> String {
    if options.file.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        options.file.display().to_string()
    }
}
