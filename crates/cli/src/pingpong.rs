//! `rdmalab pingpong`: `ibv_rc_pingpong` with a peer.

use crate::outcome::{Error, Outcome, Result};

/// Speaks `ibv_rc_pingpong` with a peer.
#[derive(clap::Args)]
pub struct Options {}

/// Plays.
pub fn run(_: &Options) -> Result<Outcome> {
    Err(Error::failed("not there yet"))
}
