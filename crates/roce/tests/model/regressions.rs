//! What the model found, each as the smallest exchange that shows it.

use rdmalab_verbs::{Access, CompletionStatus, Operation, RemoteAddress, State};
use rdmalab_wire::RKey;

use crate::pair::peer::{Application, BASE, Door, Setup};
use crate::pair::{Fate, Pair};

/// All of them, by name.
pub const ALL: &[(&str, fn())] = &[(
    "regression_an_old_read_of_a_region_that_is_gone_does_not_end_the_connection",
    regression_an_old_read_of_a_region_that_is_gone_does_not_end_the_connection,
)];

/// A READ that was answered long ago comes once more when its region is gone, for good reason: nobody may suffer.
fn regression_an_old_read_of_a_region_that_is_gone_does_not_end_the_connection() {
    let mut pair = Pair::new(&Setup::default());
    let [a, b] = &mut pair.peers;
    let key = b.context.register(b.domain, BASE, b.memory.clone(), Access::FULL).unwrap();
    let remote = RemoteAddress { address: BASE, key: RKey::new(key) };
    a.post(1, Operation::RdmaRead(remote), 0, 3000).unwrap();
    let until = pair.now + 500_000;
    pair.run_until(until, |number, _, _| if number == 0 { Fate::Echo(1_000_000) } else { Fate::Deliver });
    let [a, b] = &mut pair.peers;
    assert_eq!(a.completions()[0].status, CompletionStatus::Success);
    b.context.deregister(key).unwrap();
    pair.run(|_, _, _| Fate::Deliver);
    let [a, b] = &mut pair.peers;
    assert_eq!(b.endpoint.state(b.receiver), Some(State::Rts));
    assert_eq!(b.endpoint.counters().duplicate_request, 1);
    a.post(2, Operation::RdmaWrite(b.remote(Door::Region, 0)), 0, 10).unwrap();
    pair.run(|_, _, _| Fate::Deliver);
    assert_eq!(pair.peers[0].completions()[0].status, CompletionStatus::Success);
}
