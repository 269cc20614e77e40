//! The first words over a connection.

use rdmalab_device::{Access, CompletionStatus, Operation};
use serde_json::json;

use crate::scene::{ALL, Caller, LENGTH, Scene};

/// As servers do that greet their clients, at once. RFC 5044 §7.1.2 has the side that was called wait for the other; siw does not
/// when it is called, and its applications do not when they call.
pub fn who_was_called_speaks_first(scene: &mut Scene) -> Result<(), String> {
    let rights = (Access::LOCAL_WRITE, ALL);
    let meeting = scene.connect(Caller::Siw, rights, &[LENGTH; 3], &[])?;
    for id in 0..3 {
        meeting.post(id, Operation::Send, LENGTH)?;
    }
    scene.expect(&[0, 1, 2].map(|id| (id, CompletionStatus::Success)))?;
    scene.expect_event("ESTABLISHED")?;
    let completed = scene.peer.completions(3, 10.0)?;
    if completed.len() != 3 || completed.iter().any(|one| !one.ends_with("SUCCESS")) {
        return Err(format!("of three SENDs to it siw says {completed:?}"));
    }
    scene.rest()?;

    let meeting = scene.connect(Caller::Ours, rights, &[], &[LENGTH; 3])?;
    scene.expect_event("ESTABLISHED")?;
    for id in 0..3 {
        scene
            .peer
            .order(&json!({"do": "post", "operation": "SEND", "id": id, "offset": 0, "length": LENGTH}))?;
    }
    scene.expect(&[100, 101, 102].map(|id| (id, CompletionStatus::Success)))?;
    drop(meeting);
    scene.rest()
}
