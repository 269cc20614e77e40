//! Random work over a random link, against an oracle: a list of what was posted, in order, and the bytes that must
//! come of it.
//!
//! `cargo test -p rdmalab-roce --test model -- --cases 100000` looks longer than usual, `--seed N` begins with the case of
//! that number. A failure prints the scenario, made as small as it goes, and the seed that repeats it; the smallest
//! exchange that shows it stays in [`regressions`] as a test of its own.
//!
//! Rule: rc-completes-in-order: requests complete once each, in the order in which they were posted, and so do receives.
//! Rule: rc-memory-as-posted: what a request that succeeded has done to memory is what was asked for, whatever the link did.
//! Rule: rc-no-error-without-cause: a connection over a link that loses a bounded number of packets does not end by itself.
//! Rule: uc-ud-whole-or-nothing: what arrives over an unreliable service was sent, and arrives whole, in the receive
//! that was posted first; what a lost message did not use stays.
//! Rule: uc-ud-sender-never-waits: a request over an unreliable service is done when its last packet has gone, once
//! and in order, whatever becomes of it.
//! Rule: mw-stale-key-is-refused: a request through a key that is not bound any more ends with a remote access error.

mod arguments;
mod doors;
mod marks;
mod oracle;
#[path = "../pair/pair.rs"]
mod pair;
mod regressions;
mod rooms;
mod scenario;
mod unreliable;
mod weather;
mod world;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::process::ExitCode;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use arguments::Arguments;

/// The names of the tests that draw scenarios.
const RELIABLE: &str = "random_work_over_a_random_link_does_what_the_oracle_says";
const UNRELIABLE: &str = "random_work_over_an_unreliable_service_arrives_whole_or_not_at_all";
/// Steps of a scenario at most.
const STEPS: usize = 60;
/// How often a scenario that fails is made smaller.
const SHRINKING: u32 = 3_000;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}\n{}", arguments::USAGE);
            return ExitCode::FAILURE;
        }
    };
    let names = || [RELIABLE, UNRELIABLE].into_iter().chain(regressions::ALL.iter().map(|(name, _)| *name));
    if arguments.list {
        names().for_each(|name| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failures = 0;
    for (name, regression) in regressions::ALL.iter().filter(|(name, _)| arguments.selects(name)) {
        let passed = catch_unwind(regression).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failures += u32::from(!passed);
    }
    let mut run = |name, draw: &dyn Fn(u64) -> bool| {
        if arguments.selects(name) {
            let passed = draw(arguments.cases);
            println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
            failures += u32::from(!passed);
        }
    };
    run(RELIABLE, &|cases| draw(&arguments, cases, scenario::scenario(STEPS), world::run));
    // Simpler: fewer are enough, and ordinary runs stay short.
    run(UNRELIABLE, &|cases| {
        draw(&arguments, cases.div_ceil(4), unreliable::scenario::scenario(STEPS), unreliable::run)
    });
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs so many cases, each with a seed of its own, up to the first that fails.
fn draw<T: Debug + Clone>(
    arguments: &Arguments,
    cases: u64,
    strategy: impl Strategy<Value = T>,
    run: impl Fn(&T),
) -> bool {
    let first = arguments.seed;
    println!("{cases} cases from seed {first} on");
    for seed in (0..cases).map(|case| first.wrapping_add(case)) {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config { failure_persistence: None, max_shrink_iters: SHRINKING, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let tree = strategy.new_tree(&mut runner).expect("scenarios can always be drawn");
        let scenario = tree.current();
        if catch_unwind(AssertUnwindSafe(|| run(&scenario))).is_ok() {
            continue;
        }
        eprintln!("again: cargo test -p rdmalab-roce --test model -- --cases 1 --seed {seed}");
        // A scenario that is made smaller panics many times; only the smallest is told.
        set_hook(Box::new(|_| {}));
        let outcome = runner.run_one(tree, |scenario| {
            run(&scenario);
            Ok(())
        });
        drop(take_hook());
        if let Err(TestError::Fail(reason, scenario)) = outcome {
            eprintln!("{reason}\n\nof {scenario:#?}");
        }
        return false;
    }
    true
}
