//! `rdmalab demo`: two emulated adapters over a simulated link.

use crate::outcome::{Outcome, Result};

/// Two emulated adapters over a simulated, lossy link.
#[derive(clap::Args)]
pub struct Options {}

/// Runs the demonstration.
pub fn run(_: &Options) -> Result<Outcome> {
    Ok(Outcome::Fine)
}
