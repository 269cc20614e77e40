//! Memory windows: what may be reached through one.

use crate::packets::{CMP_SWAP, READ_REQUEST, WRITE_ONLY, packet};
use crate::probe::{PSN, Probe, Psns, Wish};

/// Where a window begins in the region of 65536 bytes, and how many bytes it has.
const WINDOW: (u32, u32) = (4096, 64);

/// Requests inside a window, across its end, behind it and before it; all of them inside the region.
pub fn bounds(probe: &mut Probe) -> Result<(), String> {
    for kind in [1, 2] {
        let (begin, length) = WINDOW;
        for (what, offset) in [
            ("inside", begin),
            ("across its end", begin + length - 4),
            ("far behind it", begin + 8192),
            ("before it", begin - 4096),
        ] {
            probe.open(
                &format!("a window of type {kind}, and a WRITE and a READ {what}"),
                Wish::default().to_bind(),
            )?;
            let key = bind(probe, kind, begin, length)?;
            let va = probe.va + u64::from(offset);
            probe.ask(&packet(WRITE_ONLY, PSN.psn()).asks().reth(va, key, 8).data(b"reached!"))?;
            probe.ask(&packet(READ_REQUEST, (PSN + 1).psn()).asks().reth(va, key, 8))?;
            probe.memory(u64::from(offset), 8)?;
            probe.state()?;
        }
        probe
            .open(&format!("a window of type {kind}, and a CMP_SWAP behind it"), Wish::default().to_bind())?;
        let key = bind(probe, kind, begin, length)?;
        let va = probe.va + u64::from(begin + 8192);
        probe.ask(&packet(CMP_SWAP, PSN.psn()).atomic(va, key, 1, 2))?;
        probe.open(
            &format!("a window of type {kind}, and a WRITE beyond the region"),
            Wish::default().to_bind(),
        )?;
        let key = bind(probe, kind, begin, length)?;
        let va = probe.va + 65536 - 4;
        probe.ask(&packet(WRITE_ONLY, PSN.psn()).asks().reth(va, key, 8).data(b"reached!"))?;
        probe.state()?;
    }
    Ok(())
}

/// Has the kernel bind a window of type 1 or 2; its key.
pub fn bind(probe: &mut Probe, kind: u32, offset: u32, length: u32) -> Result<u32, String> {
    let order = serde_json::json!({"do": "bind", "type": kind, "offset": offset, "length": length});
    let answer = probe.peer.order(&order)?;
    probe.completions(1, 2.0)?;
    let key = answer["key"].as_u64().and_then(|key| u32::try_from(key).ok());
    key.ok_or_else(|| format!("no key in {answer}"))
}
