//! Requests that are not to be carried out, beside those that are: each on a connection of its own, called by either side in
//! turn.

use rdmalab_device::{Access, CompletionStatus, Operation, RKey, RemoteAddress};
use serde_json::json;

use crate::scene::{ALL, LENGTH, LOCAL, Meeting, SIZE, Scene, WRITABLE, pattern};

use CompletionStatus::{RemoteAccessError, Success, WorkRequestFlushed};

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Wrong {
    /// It is as it should be.
    Nothing,
    /// The steering tag of no region.
    Stag,
    /// The last byte is one behind the end.
    End,
    /// The first byte is one before the beginning.
    Beginning,
    /// The region has not the right.
    Right,
}

const WRONGS: [Wrong; 5] = [Wrong::Nothing, Wrong::Stag, Wrong::End, Wrong::Beginning, Wrong::Right];

impl Wrong {
    /// Where the request is for, of a region of [`SIZE`] bytes.
    fn place(self, remote: RemoteAddress) -> RemoteAddress {
        let RemoteAddress { address, key } = remote;
        match self {
            Self::Nothing | Self::Right => remote,
            // The upper 24 bits are the index.
            Self::Stag => RemoteAddress { key: RKey::new(key.value() ^ 0x5a5a_5a00), address },
            Self::End => RemoteAddress { address: address + (SIZE as u64 - u64::from(LENGTH)) + 1, key },
            Self::Beginning => RemoteAddress { address: address.wrapping_sub(1), key },
        }
    }
}

pub fn siw_is_asked(scene: &mut Scene) -> Result<(), String> {
    for (number, wrong) in scene.chosen(&WRONGS).into_iter().enumerate() {
        for is_read in [false, true] {
            let caller = scene.caller(number + usize::from(is_read));
            let what =
                format!("{} with {wrong:?}, called by {caller:?}", if is_read { "READ" } else { "WRITE" });
            // Whether a READ is carried out that lacks the right is siw's fault (docs/SIW.md), not ours.
            let rights = match (wrong, is_read) {
                (Wrong::Right, true) => WRITABLE,
                (Wrong::Right, false) => LOCAL,
                _ => ALL,
            };
            let is_refused = wrong != Wrong::Nothing && !(wrong == Wrong::Right && is_read);
            let meeting = scene.meet(caller, (Access::LOCAL_WRITE, rights), &[], &[])?;
            meeting.region.write(0, &vec![0xee; SIZE]).map_err(|fault| format!("{fault:?}"))?;
            let remote = wrong.place(meeting.remote);
            let asked = if is_read {
                ask_to_read(scene, &meeting, remote, is_refused)
            } else {
                ask_to_write(scene, &meeting, remote, is_refused)
            };
            asked.map_err(|error| format!("{what}: {error}"))?;
            scene.rest().map_err(|error| format!("{what}: {error}"))?;
        }
    }
    Ok(())
}

/// A WRITE is complete when TCP has it; the READ behind it finds out.
fn ask_to_write(
    scene: &mut Scene,
    meeting: &Meeting,
    remote: RemoteAddress,
    is_refused: bool,
) -> Result<(), String> {
    meeting.post(1, Operation::RdmaWrite(remote), LENGTH)?;
    meeting.post(2, Operation::RdmaRead(meeting.remote), 1)?;
    scene.expect(&[(1, Success), (2, if is_refused { WorkRequestFlushed } else { Success })])?;
    let expected = if is_refused {
        pattern()
    } else {
        [vec![0xee; LENGTH as usize], pattern().split_off(LENGTH as usize)].concat()
    };
    let found = scene.peer.memory(0, SIZE as u64)?;
    if found != digits(&expected) {
        return Err("siw's memory is not as it should be".to_owned());
    }
    if is_refused { scene.expect_end(meeting) } else { Ok(()) }
}

fn ask_to_read(
    scene: &mut Scene,
    meeting: &Meeting,
    remote: RemoteAddress,
    is_refused: bool,
) -> Result<(), String> {
    meeting.post(1, Operation::RdmaRead(remote), LENGTH)?;
    meeting.post(2, Operation::RdmaRead(meeting.remote), 1)?;
    if is_refused {
        // siw's TERMINATE has another MSN, which is none of ours, but the request itself with it.
        scene.expect(&[(1, RemoteAccessError), (2, WorkRequestFlushed)])?;
    } else {
        scene.expect(&[(1, Success), (2, Success)])?;
    }
    let read = if is_refused { 0 } else { LENGTH as usize };
    let found = meeting.memory()?;
    if found[..read] != pattern()[..read] || found[read..].iter().any(|byte| *byte != 0xee) {
        return Err("our memory is not as it should be".to_owned());
    }
    // siw leaves its queue pair in RTS then (docs/SIW.md).
    if is_refused { scene.expect_disconnected(meeting) } else { Ok(()) }
}

pub fn we_are_asked(scene: &mut Scene) -> Result<(), String> {
    for (number, wrong) in scene.chosen(&WRONGS).into_iter().enumerate() {
        for operation in ["WRITE", "READ"] {
            let caller = scene.caller(number + usize::from(operation == "READ"));
            let what = format!("{operation} with {wrong:?}, called by {caller:?}");
            let rights = match (wrong, operation) {
                (Wrong::Right, "WRITE") => Access::REMOTE_READ,
                (Wrong::Right, _) => Access::REMOTE_WRITE,
                _ => Access::REMOTE_READ | Access::REMOTE_WRITE,
            };
            let meeting = scene.meet(caller, (rights, ALL), &[], &[])?;
            ask_us(scene, &meeting, wrong, operation).map_err(|error| format!("{what}: {error}"))?;
            scene.rest().map_err(|error| format!("{what}: {error}"))?;
        }
    }
    Ok(())
}

/// siw takes its bytes from, or puts them to, its byte 1 and further.
fn ask_us(scene: &mut Scene, meeting: &Meeting, wrong: Wrong, operation: &str) -> Result<(), String> {
    let RemoteAddress { address, key } = wrong.place(meeting.region.remote(0));
    let order = json!({"do": "post", "operation": operation, "id": 1, "offset": 1, "length": LENGTH,
                       "key": key.value(), "address": address});
    let terminates = scene.device.iwarp_counters().sent_terminates;
    scene.peer.order(&order)?;
    let completed = scene.peer.completions(1, 10.0)?;
    let is_refused = wrong != Wrong::Nothing;
    // A WRITE is complete when it has gone, unless our TERMINATE has come by then.
    let is_right = completed == ["1:SUCCESS"] || is_refused && operation == "WRITE";
    let is_wrong = completed == ["1:SUCCESS"] && is_refused && operation == "READ";
    if completed.len() != 1 || !is_right && !is_refused || is_wrong {
        return Err(format!("siw says {completed:?}"));
    }
    if is_refused {
        scene.expect_end(meeting)?;
    }
    let (mut ours, mut siws) = (pattern(), pattern());
    let length = LENGTH as usize;
    if !is_refused && operation == "WRITE" {
        // Whether it is there, siw does not know; what it READs behind it is.
        scene.peer.order(&json!({"do": "post", "operation": "READ", "id": 2, "offset": 0, "length": 1,
                                 "key": key.value(), "address": address + SIZE as u64 - 1}))?;
        let completed = scene.peer.completions(1, 10.0)?;
        if completed != ["2:SUCCESS"] {
            return Err(format!("behind it siw says {completed:?}"));
        }
        ours[..length].copy_from_slice(&pattern()[1..][..length]);
        siws[0] = pattern()[SIZE - 1];
    } else if !is_refused {
        siws[1..][..length].copy_from_slice(&pattern()[..length]);
    }
    if meeting.memory()? != ours {
        return Err("our memory is not as it should be".to_owned());
    }
    if scene.peer.memory(0, SIZE as u64)? != digits(&siws) {
        return Err("siw's memory is not as it should be".to_owned());
    }
    let terminates = scene.device.iwarp_counters().sent_terminates - terminates;
    if terminates == u64::from(is_refused) { Ok(()) } else { Err(format!("we sent {terminates} TERMINATEs")) }
}

pub fn siw_has_no_receive(scene: &mut Scene) -> Result<(), String> {
    for (number, receives) in [&[][..], &[LENGTH - 1]].into_iter().enumerate() {
        let caller = scene.caller(number);
        let meeting = scene.meet(caller, (Access::LOCAL_WRITE, ALL), receives, &[])?;
        meeting.post(1, Operation::Send, LENGTH)?;
        meeting.post(2, Operation::RdmaRead(meeting.remote), 1)?;
        // A SEND has gone when TCP has it, too.
        scene.expect(&[(1, Success), (2, WorkRequestFlushed)])?;
        scene.expect_end(&meeting)?;
        // The one that was too short has come to its end, with an error.
        let completed = scene.peer.completions(receives.len(), 10.0)?;
        if completed.len() != receives.len() || completed.iter().any(|one| one.ends_with("SUCCESS")) {
            return Err(format!("siw says {completed:?}"));
        }
        scene.rest()?;
    }
    Ok(())
}

pub fn we_have_no_receive(scene: &mut Scene) -> Result<(), String> {
    for (number, receives) in [&[][..], &[LENGTH - 1]].into_iter().enumerate() {
        let caller = scene.caller(number + 1);
        let meeting = scene.meet(caller, (Access::LOCAL_WRITE, ALL), &[], receives)?;
        let order = json!({"do": "post", "operation": "SEND", "id": 1, "offset": 0, "length": LENGTH});
        scene.peer.order(&order)?;
        let completed = scene.peer.completions(1, 10.0)?;
        // It has gone, unless our TERMINATE has come before its end.
        if completed.len() != 1 {
            return Err(format!("siw says {completed:?}"));
        }
        scene.expect_end(&meeting)?;
        let ended: Vec<_> =
            (100..).zip(receives).map(|(id, _)| (id, CompletionStatus::LocalLengthError)).collect();
        scene.expect(&ended)?;
        if meeting.memory()? != pattern() {
            return Err("our memory is not as it should be".to_owned());
        }
        scene.rest()?;
    }
    Ok(())
}

/// As hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
