//! The harness and the peer script by themselves: two processes of one guest converse over its rxe device. What
//! fails here is not the emulator's fault. There is no loss: how well Linux copes with that is not our matter.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdmalab_tests::{Excuse, Place};

const PORT: u16 = 18600;
const LIMIT: Duration = Duration::from_secs(60);
const OPERATIONS: &str = "WRITE:0,WRITE:65537*2,WRITE_WITH_IMM:33*3,SEND:0,SEND:1*3,SEND_WITH_IMM:4097,\
                          READ:0,READ:65537*2,CMP_SWAP*3,CMP_SWAP_MISS*3,FETCH_ADD*3";

pub fn two_ends_are_content(place: &mut Place) {
    let guest = &place.guest;
    guest.put("verbs_peer.py", include_str!("../../peers/verbs_peer.py"));
    let python = "/usr/bin/python3 /mnt/verbs_peer.py";
    let listener = guest.spawn(&format!("{python} --listen {PORT}"), LIMIT);
    guest.wait_for_listener(PORT, LIMIT);
    for role in ["active", "passive"] {
        let connect =
            format!("{python} --connect {}:{PORT} --role {role} --operations '{OPERATIONS}'", guest.ip());
        let said = guest.run(&connect, LIMIT);
        assert!(
            said.success(),
            "the connecting end: {said}\nthe listening end: {}",
            listener.output_so_far()
        );
    }
    let said = listener.stop().unwrap_or_else(|stuck| panic!("{stuck}")).stdout;
    assert_eq!(said.matches(r#""verdict": "ok", "other": "ok""#).count(), 2, "{said}");
}

/// The first time it falls, as it is told to, and takes the test with it.
pub fn guest_falls(place: &mut Place) {
    static HAS_FALLEN: AtomicBool = AtomicBool::new(false);
    if HAS_FALLEN.swap(true, Ordering::Relaxed) {
        assert_eq!(place.guest.fall(), None, "it is a fresh one");
        return;
    }
    let never = place.guest.spawn("echo c >/proc/sysrq-trigger; exec sleep 1000", LIMIT);
    assert!(never.within(Duration::from_secs(3)).is_none());
    panic!("as it should; what is played again is to pass");
}

/// The guest is over afterwards.
pub fn to_its_end(place: &mut Place) {
    place.use_up();
    let guest = &place.guest;
    let many: Vec<_> =
        (0..10).map(|number| (number, guest.spawn(&format!("echo {number}"), LIMIT))).collect();
    for (number, job) in many {
        assert_eq!(job.wait().stdout, format!("{number}\n"));
    }
    let deaf = guest.spawn("trap '' TERM; exec sleep 1000", LIMIT);
    let state = guest.state();
    let inside = state.inside.as_deref().unwrap_or_else(|| panic!("{state}"));
    for part in ["sent_pkts", "sleep", "last words", "two seconds later"] {
        assert!(inside.contains(part), "{part:?} is not in: {state}");
    }
    assert_eq!(Excuse::in_guest(&state, None), None);
    let ended = deaf.stop().unwrap_or_else(|stuck| panic!("{stuck}\n{}", guest.state()));
    assert!(!ended.success(), "{ended}");

    // The kernel falls, as it is told to.
    let never = guest.spawn("echo c >/proc/sysrq-trigger; exec sleep 1000", LIMIT);
    assert!(never.within(Duration::from_secs(3)).is_none());
    let state = guest.state();
    assert!(state.is_over, "{state}");
    let fallen = Excuse::in_guest(&state, None);
    assert!(
        matches!(&fallen, Some(Excuse::Fallen { words }) if words.contains("sysrq")),
        "{fallen:?}, {state}"
    );
}
