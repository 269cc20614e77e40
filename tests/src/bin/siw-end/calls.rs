//! Calls that come to nothing.

use rdmalab_device::{CmEventKind, DeviceError, RejReason};
use serde_json::json;

use crate::scene::{ALL, Caller, LIMIT, Scene, text};

/// Where nobody listens, on either side.
const NOBODY: u16 = 18999;

pub fn nobody_listens_there(scene: &mut Scene) -> Result<(), String> {
    let mut to = scene.siw;
    to.set_port(NOBODY);
    match scene.call(&[], to) {
        Err(DeviceError::NoConnection(event)) if matches!(*event, CmEventKind::Rejected { .. }) => Ok(()),
        Err(error) => Err(text(error)),
        Ok(_) => Err("somebody listens".to_owned()),
    }
}

pub fn nobody_listens_here(scene: &mut Scene) -> Result<(), String> {
    // siw says so at once.
    match scene.have_called(NOBODY, ALL, &[]) {
        Err(error) if error.contains("Connection refused") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

pub fn is_rejected(scene: &mut Scene) -> Result<(), String> {
    for caller in scene.callers() {
        match caller {
            Caller::Ours => siw_rejects(scene)?,
            Caller::Siw => we_reject(scene)?,
        }
    }
    Ok(())
}

fn siw_rejects(scene: &mut Scene) -> Result<(), String> {
    for words in [&b"not you"[..], b""] {
        let (event, reject) = (
            json!({"do": "event", "seconds": LIMIT.as_secs()}),
            json!({"do": "reject", "private": hexadecimal(words)}),
        );
        scene.peer.give(&event)?;
        scene.peer.give(&reject)?;
        let called = scene.call(b"who is there", scene.siw);
        let heard = scene.peer.answer(&event)?;
        scene.peer.answer(&reject)?;
        // Linux hands its application four bytes of the start-up with them, as private data.
        if !heard["private"].as_str().is_some_and(|data| data.contains(&hexadecimal(b"who is there"))) {
            return Err(format!("siw has heard {heard}"));
        }
        let Err(DeviceError::NoConnection(event)) = called else {
            return Err(format!("{:?}", called.map(drop)));
        };
        let CmEventKind::Rejected { reason, private_data } = *event else { return Err(format!("{event:?}")) };
        if reason != RejReason::CONSUMER_REJECT || !private_data.starts_with(words) {
            return Err(format!("rejected by {reason:?} with {private_data:?}"));
        }
    }
    Ok(())
}

fn we_reject(scene: &mut Scene) -> Result<(), String> {
    for words in [&b"not you"[..], b""] {
        let port = scene.here()?.port();
        scene.have_called(port, ALL, &[])?;
        scene.called()?.reject(words).map_err(text)?;
        let event = scene.expect_event("REJECTED")?;
        if !event["private"].as_str().is_some_and(|data| data.starts_with(&hexadecimal(words))) {
            return Err(format!("siw has heard {event}"));
        }
        scene.rest()?;
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
