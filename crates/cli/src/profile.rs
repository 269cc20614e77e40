//! Profiles and congestion control, as they are asked for on the command line.

use rdmalab_device::{CongestionControl, DcqcnConfig, IwarpProfile, Profile};

/// Reads the name of a profile.
pub fn profile(text: &str) -> Result<Profile, String> {
    let names = || Profile::ALL.map(|profile| profile.name).join(", ");
    Profile::named(text).ok_or_else(|| format!("a profile is one of {}", names()))
}

/// Reads the name of a profile of iWARP.
pub fn iwarp_profile(text: &str) -> Result<IwarpProfile, String> {
    let names = || IwarpProfile::ALL.map(|profile| profile.name).join(", ");
    IwarpProfile::named(text).ok_or_else(|| format!("a profile of iWARP is one of {}", names()))
}

/// Reads `on` or `off`.
pub fn switch(text: &str) -> Result<bool, &'static str> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off"),
    }
}

/// Bytes per second of one Gbit/s.
const GIGABIT: f64 = 125_000_000.0;

/// Reads `none`, `fixed=RATE` with a rate in Gbit/s, or `dcqcn`, which may have a rate to begin with.
pub fn congestion_control(text: &str) -> Result<CongestionControl, &'static str> {
    match text.split_once('=') {
        None if text == "none" => Ok(CongestionControl::None),
        None if text == "dcqcn" => Ok(CongestionControl::Dcqcn(DcqcnConfig::default())),
        Some(("fixed", rate)) => bytes_per_second(rate).map(CongestionControl::Fixed),
        Some(("dcqcn", rate)) => bytes_per_second(rate)
            .map(|line_rate| CongestionControl::Dcqcn(DcqcnConfig { line_rate, ..DcqcnConfig::default() })),
        _ => Err("none, fixed=RATE with a rate in Gbit/s, or dcqcn, or dcqcn=RATE"),
    }
}

/// Reads a rate in Gbit/s.
fn bytes_per_second(rate: &str) -> Result<u64, &'static str> {
    rate.parse::<f64>()
        .ok()
        .filter(|rate| (0.001..=1000.0).contains(rate))
        .map(|rate| (rate * GIGABIT) as u64)
        .ok_or("a rate is a number of Gbit/s from 0.001 to 1000")
}
