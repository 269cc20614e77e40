//! When the kernel's requester repeats, how often, and when it forgets to.

use std::time::Duration;

use crate::packets::{ACK, ACKNOWLEDGE, RESPONSE_ONLY, packet};
use crate::probe::{Probe, Psns, THEIRS, Wish};

/// Nobody who counts to seven sends so often.
const ENOUGH: u32 = 16;

/// How often a request is sent that nobody answers.
pub fn seven(probe: &mut Probe) -> Result<(), String> {
    // 4.2 ms, which the kernel's clock of 4 ms makes longer.
    for retry in [1, 6, 7] {
        let wish = Wish { timeout: 10, retry, ..Wish::default() };
        probe.open(&format!("a WRITE that nobody answers, with a retry count of {retry}"), wish)?;
        probe.post("WRITE", 4)?;
        let mut times = 0;
        while times < ENOUGH && probe.hear(Duration::from_millis(800))?.is_some() {
            times += 1;
        }
        probe.say(&format!("sent {times} times"));
        probe.completions(1, 0.5)?;
        probe.state()?;
    }
    // Likewise for "receiver not ready".
    for rnr_retry in [1, 6, 7] {
        let wish = Wish { rnr_retry, ..Wish::default() };
        probe.open(
            &format!("a SEND for which there never is a receive, with an RNR retry count of {rnr_retry}"),
            wish,
        )?;
        probe.post("SEND", 4)?;
        let mut times = 0;
        while times < ENOUGH && probe.hear(Duration::from_millis(800))?.is_some() {
            times += 1;
            probe.send(&packet(ACKNOWLEDGE, THEIRS.psn()).aeth(0x20 | 1, 0))?;
        }
        probe.say(&format!("sent {times} times"));
        probe.completions(1, 0.5)?;
        probe.state()?;
    }
    Ok(())
}

/// What is sent when an ATOMIC WRITE is not answered, or asked for again.
pub fn atomic_write_again(probe: &mut Probe) -> Result<(), String> {
    // 67 ms.
    let wish = Wish { timeout: 14, ..Wish::default() };
    probe.open("an ATOMIC WRITE that is not answered at first", wish)?;
    probe.post("ATOMIC_WRITE", 8)?;
    probe.expect("ATOMIC WRITE")?;
    probe.expect("repetition")?;
    probe.send(&packet(RESPONSE_ONLY, THEIRS.psn()).aeth(ACK, 1))?;
    probe.completions(1, 1.0)?;
    probe.state()?;

    probe.open("an ATOMIC WRITE that is asked for again by a sequence error, and one behind it", wish)?;
    for id in [1, 2] {
        probe.post_numbered("ATOMIC_WRITE", 8, id)?;
        probe.expect("ATOMIC WRITE")?;
    }
    probe.send(&packet(ACKNOWLEDGE, THEIRS.psn()).aeth(0x60, 0))?;
    for _ in 0..2 {
        probe.expect("repetition")?;
    }
    for (n, msn) in [(0, 1), (1, 2)] {
        probe.send(&packet(RESPONSE_ONLY, (THEIRS + n).psn()).aeth(ACK, msn))?;
    }
    probe.completions(2, 1.0)?;
    probe.state()
}

/// The acknowledgement of all comes when the first packets have been repeated, as it does when it was late.
pub fn acknowledged_while_repeating(probe: &mut Probe) -> Result<(), String> {
    // 67 ms.
    let wish = Wish { timeout: 14, retry: 6, mtu: 256, ..Wish::default() };
    for round in 1..=8 {
        probe
            .open(&format!("round {round}: a WRITE of 32 packets, acknowledged when it is repeated"), wish)?;
        probe.post("WRITE", 32 * 256)?;
        for _ in 0..32 {
            probe.expect("packet of the WRITE")?;
        }
        probe.expect("repetition")?;
        probe.send(&packet(ACKNOWLEDGE, (THEIRS + 31).psn()).aeth(ACK, 1))?;
        let done = probe.completions(1, 5.0)?;
        probe.listen()?;
        probe.state()?;
        if done.is_empty() {
            probe.say("it has stopped");
            break;
        }
    }
    Ok(())
}

/// How long the kernel waits when it is told to, for some codes of the timer: the median of several times.
pub fn rnr_timer(probe: &mut Probe) -> Result<(), String> {
    for code in [1_u8, 12, 18, 24, 25, 26, 0] {
        let rounds = if code == 0 { 3 } else { 11 };
        probe.open(&format!("RNR timer code {code}"), Wish { timeout: 0, ..Wish::default() })?;
        probe.post("SEND", 4)?;
        let mut waits = Vec::new();
        let mut heard = probe.expect("SEND")?;
        for _ in 0..rounds {
            let told = probe.send(&packet(ACKNOWLEDGE, heard.psn.psn()).aeth(0x20 | code, 0))?;
            heard = probe.expect("repetition")?;
            waits.push(heard.at.saturating_duration_since(told));
        }
        probe.send(&packet(ACKNOWLEDGE, THEIRS.psn()).aeth(ACK, 1))?;
        probe.completions(1, 1.0)?;
        waits.sort();
        let meant = rdmalab_wire::rnr_timer_nanoseconds(code) as f64 / 1e6;
        let (least, median) = (waits.first().copied(), waits.get(waits.len() / 2).copied());
        let text = |wait: Option<Duration>| wait.unwrap_or_default().as_secs_f64() * 1000.0;
        probe.say(&format!(
            "code {code}: {meant} ms by the table; least {:.3}, median {:.3} ms",
            text(least),
            text(median)
        ));
    }
    Ok(())
}
