//! Judges captures, as `rdmalab lint` does: `cargo run -p rdmalab-lint --example judge -- FILE…`

use std::fs::File;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        println!("== {path}\n{}", rdmalab_lint::lint(File::open(&path)?, &mut ())?);
    }
    Ok(())
}
