//! Numbers that wrap, which no scripted exchange is long enough for.

use rdmalab_verbs::Operation;
use rdmalab_wire::Msn;

use super::Credit;

const SEND: Operation = Operation::Send;
/// More messages than there are numbers; every 97th is enough.
const MANY: u32 = (1 << 24) + 100;

/// The n-th message, as wide as numbers are.
fn number(n: u32) -> Msn {
    Msn::new(n)
}

#[test]
fn the_limit_moves_on_across_the_wrap() {
    let mut credit = Credit::new(true);
    for n in (1..MANY).step_by(97) {
        assert!(credit.lets_start(&SEND, number(n)));
        credit.start(&SEND, number(n));
        assert!(credit.note(number(n), 2), "message {n}");
        assert!(credit.covers(&SEND, number(n + 2)));
        assert!(!credit.covers(&SEND, number(n + 3)));
    }
}

#[test]
fn a_question_of_long_ago_is_not_open_again() {
    let mut credit = Credit::new(true);
    credit.start(&SEND, number(1));
    for n in (1..MANY).step_by(97) {
        credit.note(number(n), 1);
        assert!(credit.lets_start(&SEND, number(n + 2)), "message {n}");
    }
}

#[test]
fn a_question_of_before_an_unlimited_time_is_not_open_again() {
    let mut credit = Credit::new(true);
    credit.start(&SEND, number(1));
    credit.note(number(1), 31);
    assert!(credit.lets_start(&SEND, number(9_000_000)));
    credit.note(number(9_000_000), 0);
    assert!(credit.lets_start(&SEND, number(9_000_001)));
    credit.start(&SEND, number(9_000_001));
    assert!(!credit.lets_start(&SEND, number(9_000_002)));
}

#[test]
fn an_older_word_changes_nothing() {
    let mut credit = Credit::new(true);
    assert!(credit.note(number(5), 4));
    assert!(!credit.note(number(4), 4));
    assert!(!credit.note(number(0xff_ffff), 4));
    assert!(credit.covers(&SEND, number(9)));
    assert!(!credit.covers(&SEND, number(10)));
}
