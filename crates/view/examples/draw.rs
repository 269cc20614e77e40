//! Draws captures, as `rdmalab view` does: `cargo run -p rdmalab-view --example draw -- CAPTURE PAGE`

use std::fs::File;
use std::io::BufWriter;

use rdmalab_view::{Options, fits, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(capture), Some(page)) = (arguments.next(), arguments.next()) else {
        return Err("usage: draw CAPTURE PAGE".into());
    };
    fits(File::open(&capture)?, None)?;
    let drawn = read(File::open(&capture)?, Options { keeps_frames: true, ..Options::default() })?;
    drawn.page(&mut BufWriter::new(File::create(page)?), &capture, None)?;
    Ok(())
}
