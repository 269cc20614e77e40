//! Both sides, and each message of each conversation lost, doubled or late in turn: the applications are told the same,
//! each thing once.

mod loopback;
mod network;

use network::{CALLED, CALLER, Mistreatment, Network, Scenario};

const ALL: [Mistreatment; 4] =
    [Mistreatment::Lost, Mistreatment::Doubled, Mistreatment::DoubledLate, Mistreatment::Delayed];

/// Any of these lists.
type Told<'a> = &'a [&'a [&'a str]];

/// Plays the scenario undisturbed, with each message mistreated in each way, and with most of them mistreated; each side must
/// be told one of its lists each time.
#[track_caller]
fn expect(scenario: Scenario, messages: usize, caller: Told, called: Told) {
    expect_for_each_message(scenario, messages, caller, called);
    for seed in 0..300 {
        play(scenario, 0, Mistreatment::All(seed), caller, called);
    }
}

/// Likewise with one message mistreated at a time.
#[track_caller]
fn expect_for_each_message(scenario: Scenario, messages: usize, caller: Told, called: Told) {
    assert_eq!(play(scenario, 0, Mistreatment::None, caller, called), messages);
    for mistreatment in ALL {
        // Repetitions may be mistreated as well.
        for victim in 0..messages + 3 {
            play(scenario, victim, mistreatment, caller, called);
        }
    }
}

#[track_caller]
fn play(scenario: Scenario, victim: usize, mistreatment: Mistreatment, caller: Told, called: Told) -> usize {
    let mut network = Network::new(scenario, victim, mistreatment);
    network.run();
    for (side, expected) in [(CALLER, caller), (CALLED, called)] {
        let told: Vec<&str> = network.told[side].iter().map(String::as_str).collect();
        assert!(
            expected.contains(&told.as_slice()),
            "{scenario:?}, message {victim} {mistreatment:?}: side {side} was told {told:?}: {:#?}",
            network.log
        );
    }
    network.expect_empty();
    network.sent
}

#[test]
fn caller_connects_and_leaves() {
    expect(
        Scenario::CallerLeaves,
        5,
        &[&["response", "disconnected Ours", "out of time-wait"]],
        &[&["request", "established", "disconnected Peer", "out of time-wait"]],
    );
}

#[test]
fn called_side_leaves() {
    expect(
        Scenario::CalledLeaves,
        5,
        &[&["response", "disconnected Peer", "out of time-wait"]],
        &[&["request", "established", "disconnected Ours", "out of time-wait"]],
    );
}

#[test]
fn both_sides_leave_at_once() {
    // Who has heard the other's wish before the answer to its own depends on what is lost.
    let ends = ["disconnected Both", "disconnected Ours", "disconnected Peer"];
    let caller: Vec<_> = ends.map(|end| ["response", end, "out of time-wait"]).to_vec();
    let called: Vec<_> = ends.map(|end| ["request", "established", end, "out of time-wait"]).to_vec();
    let caller: Vec<&[&str]> = caller.iter().map(|list| list.as_slice()).collect();
    let called: Vec<&[&str]> = called.iter().map(|list| list.as_slice()).collect();
    expect(Scenario::BothLeave, 7, &caller, &called);
    let mut undisturbed = Network::new(Scenario::BothLeave, 0, Mistreatment::None);
    undisturbed.run();
    assert_eq!(undisturbed.told[CALLER][1], "disconnected Both");
    assert_eq!(undisturbed.told[CALLED][2], "disconnected Both");
}

#[test]
fn both_sides_take_their_time() {
    expect(
        Scenario::SlowThenCallerLeaves,
        7,
        &[&["response", "disconnected Ours", "out of time-wait"]],
        &[&["request", "established", "disconnected Peer", "out of time-wait"]],
    );
}

#[test]
fn first_packet_stands_for_the_rtu() {
    expect(
        Scenario::DataFirst,
        5,
        &[&["response", "disconnected Ours", "out of time-wait"]],
        &[&["request", "established", "disconnected Peer", "out of time-wait"]],
    );
}

#[test]
fn application_says_no() {
    expect(Scenario::Rejected, 2, &[&["rejected consumer_reject no"]], &[&["request"]]);
}

#[test]
fn nobody_listens() {
    expect(Scenario::NobodyListens, 2, &[&["rejected invalid_service_id"]], &[&[]]);
}

#[test]
fn caller_refuses_the_reply() {
    expect(
        Scenario::ReplyRefused,
        3,
        &[&["response"]],
        &[&["request", "rejected consumer_reject no", "out of time-wait"]],
    );
}

#[test]
fn called_side_takes_its_acceptance_back() {
    let rejected = ["rejected consumer_reject", "out of time-wait"];
    let afterwards = ["response", "disconnected Rejected(RejReason(consumer_reject))", "out of time-wait"];
    // With the RTU and both rejections lost, only the silence of the queue pair tells.
    expect_for_each_message(
        Scenario::AcceptanceTakenBack,
        5,
        &[&rejected[..1], &rejected, &afterwards],
        &[&["request"]],
    );
}

#[test]
fn question_is_answered() {
    expect(Scenario::Question, 2, &[&["answer"]], &[&["question"]]);
}

#[test]
fn question_is_refused() {
    expect(Scenario::QuestionRefused, 2, &[&["refused rejected_by_service_provider"]], &[&["question"]]);
}

#[test]
fn question_reaches_nobody() {
    expect(Scenario::QuestionToNobody, 2, &[&["refused service_id_not_supported"]], &[&[]]);
}

/// The message that takes a call back is not answered, so that its loss cannot be mended: only an acceptance tells.
#[test]
fn call_is_taken_back() {
    let mut network = Network::new(Scenario::CallTakenBack, 0, Mistreatment::None);
    network.run();
    assert_eq!(network.told[CALLER], [""; 0]);
    assert_eq!(network.told[CALLED], ["request", "rejected timeout"]);
    network.expect_empty();
}

#[test]
fn same_seed_gives_the_same_bytes() {
    let lines = || {
        let mut network = Network::new(Scenario::SlowThenCallerLeaves, 3, Mistreatment::Lost);
        network.run();
        network.log
    };
    assert_eq!(lines(), lines());
}
