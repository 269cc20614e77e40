//! Arbitrary bytes as a description of packets, and as a capture to describe: what is described is crafted again
//! byte for byte.

use rdmalab_craft::{Capture, CraftError, Limits, Spec, craft, describe};

/// Few enough that a `repeat` cannot hold the fuzzer up.
const LIMITS: Limits = Limits { packets: 200, bytes: 1 << 18 };

/// Crafts the bytes as a description; describes them as a capture.
pub fn run(bytes: &[u8]) {
    if let Ok(text) = core::str::from_utf8(bytes) {
        from_text(text);
    }
    from_capture(bytes);
}

fn from_text(text: &str) {
    let spec = match Spec::parse(text) {
        Ok(spec) => spec,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let capture = match crafted(&spec) {
        Ok(capture) => capture,
        Err(CraftError::Spec(error)) => {
            let place = error.place().map_or(0, |place| place.line);
            assert!(place <= text.lines().count() + 1, "{error}");
            return;
        }
        Err(CraftError::Output(error)) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    survives(&capture);
}

/// A capture whose packets all have times survives its description as the packets it has.
fn from_capture(bytes: &[u8]) {
    let mut text = Vec::new();
    // What stands before a damage is described.
    let _ = describe(bytes, &mut text);
    let text = String::from_utf8(text).unwrap_or_else(|error| panic!("{error}"));
    let spec = Spec::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    if let Ok(capture) = crafted(&spec) {
        survives(&capture);
    }
}

fn crafted(spec: &Spec) -> Result<Vec<u8>, CraftError> {
    let mut file = Capture::pcapng(Vec::new())?;
    craft(spec, LIMITS, &mut |frame| file.write(frame))?;
    Ok(file.finish()?)
}

/// Describing and crafting gives the same file.
fn survives(capture: &[u8]) {
    let mut text = Vec::new();
    describe(capture, &mut text).unwrap_or_else(|error| panic!("{error}"));
    let text = String::from_utf8(text).unwrap_or_else(|error| panic!("{error}"));
    let spec = Spec::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let again = crafted(&spec).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(again == capture, "{text}");
}
