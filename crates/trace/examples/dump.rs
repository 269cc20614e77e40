//! Prints captures: `cargo run -p rdmalab-trace --example dump -- FILE...`

use std::fs::File;
use std::io::{BufWriter, stdout};

use rdmalab_trace::{DumpOptions, dump};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = std::env::args().any(|argument| argument == "--json");
    for path in std::env::args().skip(1).filter(|argument| argument != "--json") {
        let options = DumpOptions { json, ..DumpOptions::default() };
        let summary = dump(File::open(&path)?, &mut BufWriter::new(stdout().lock()), options)?;
        eprintln!("{path}: {summary}");
    }
    Ok(())
}
