//! An output that is also the input: creating it would empty the input, however the two are called.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::outcome::{Error, Result};

/// Refuses to write over what is read. "-" as input is standard input, no output is standard output.
pub fn refuse(input: &Path, output: Option<&Path>) -> Result<()> {
    let of_stream = |stream: io::Result<OwnedFd>| File::from(stream.ok()?).metadata().ok();
    let read = match input.as_os_str() == "-" {
        true => of_stream(io::stdin().as_fd().try_clone_to_owned()),
        false => fs::metadata(input).ok(),
    };
    let written = match output {
        Some(path) => fs::metadata(path).ok(),
        None => of_stream(io::stdout().as_fd().try_clone_to_owned()),
    };
    // A terminal or /dev/null may be both.
    let is_one = |a: &Metadata, b: &Metadata| a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino());
    if !read.zip(written).is_some_and(|(read, written)| is_one(&read, &written)) {
        return Ok(());
    }
    let output = output.map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
    let input =
        if input.as_os_str() == "-" { "standard input".to_owned() } else { input.display().to_string() };
    let same = format_args!("{input} and {output} are the same file, which would be lost");
    Err(Error::usage(same).advice("write to another file"))
}
