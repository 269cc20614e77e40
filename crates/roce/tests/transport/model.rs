//! Random work over a random link, against an oracle: a list of what was posted, in order, and the bytes that must
//! come of it.
//!
//! `PROPTEST_CASES=10000 cargo test -p rdmalab-roce --test transport model` looks longer. A failure prints the scenario,
//! made as small as it goes; it stays here as a test of its own.

mod oracle;
mod regressions;
mod scenario;
mod world;

use proptest::prelude::*;

use scenario::scenario;

/// A moderate number of cases, unless the environment asks for another.
fn cases(moderate: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: moderate, ..config },
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn random_work_over_a_random_link_does_what_the_oracle_says(scenario in scenario(60)) {
        world::run(&scenario);
    }
}
