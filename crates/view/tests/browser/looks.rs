//! What is drawn, by its pixels, and where things stand.

use serde_json::{Value, json};

use crate::driver::Browser;
use crate::open;

/// The colours of a box of the ladder, each once, and what its row stands on.
fn colours(browser: &Browser, place: &str) -> (Vec<Value>, Value) {
    browser.settle();
    let found = browser.run(&format!(
        "const {{ ladder, scale, capture, choice }} = window.rdmalab;
         const hex = (bytes) => '#' + [...bytes].slice(0, 3).map((byte) => byte.toString(16).padStart(2, '0')).join('');
         const style = getComputedStyle(document.documentElement);
         const {{ x, y, width, height }} = (() => {{ {place} }})();
         const {{ data }} = ladder.context.getImageData(x * ladder.ratio, y * ladder.ratio, width * ladder.ratio, height * ladder.ratio);
         const all = new Set();
         for (let at = 0; at < data.length; at += 4) all.add(hex(data.subarray(at, at + 4)));
         return [[...all], ladder.ground(choice.selected), style.getPropertyValue('--ink')];"
    ));
    (found[0].as_array().unwrap().clone(), json!([found[1], found[2]]))
}

/// What stays of a double line beside the sign of what was sent again would be read as "=" and ":".
#[test]
fn beside_the_sign_where_an_arrow_begins_nothing_of_its_line_stays() {
    let Some(browser) = open("beside_the_sign", "read_bw_loss.pcap") else { return };
    browser.resize(1600, 1000);
    for (frame, left) in [(103, true), (101, false)] {
        browser.run(&format!("window.rdmalab.choice.select({frame} - 1); return null"));
        let row = format!(
            "const i = {frame} - 1; const [x, toX] = ladder.rows.way(i); const y = scale.y(i) - ladder.top - 7;"
        );
        // Between the line of the end and the sign.
        let from = if left { "Math.round(x) + 1" } else { "Math.round(x) - 4" };
        let (beside, ground) =
            colours(&browser, &format!("{row} return {{ x: {from}, y, width: 3, height: 14 }};"));
        assert_eq!(beside, vec![ground[0].clone()], "frame {frame}");
        // The sign itself is there.
        let from = if left { "x + 6" } else { "x - 20" };
        let (sign, _) =
            colours(&browser, &format!("{row} return {{ x: {from}, y, width: 14, height: 14 }};"));
        assert!(sign.len() > 2, "frame {frame}: {sign:?}");
    }
}

/// All operations in view went again, so that all have the same stripe.
#[test]
fn the_operation_of_the_packet_looked_at_stands_out() {
    let Some(browser) = open("the_operation_stands_out", "read_bw_loss.pcap") else { return };
    browser.resize(1600, 1000);
    browser.run("window.rdmalab.choice.select(102); return null");
    let around = |band: &str| {
        colours(
            &browser,
            &format!(
                "const band = {band}; let at = 0; const y = scale.y(102) - ladder.top + 40;
                 while (at < ladder.width && ladder.bands.at(at, y + ladder.top) !== band) at += 1;
                 return {{ x: Math.floor(at - 1), y, width: 9, height: 4 }};"
            ),
        )
    };
    let (chosen, told) = around("capture.band[102] - 1");
    assert!(chosen.contains(&told[1]), "in the colour of ink: {chosen:?}, {told}");
    let (other, told) = around("capture.band[101] - 1");
    assert!(!other.contains(&told[1]), "{other:?}, {told}");
}

/// On a telephone each line counts.
#[test]
fn name_and_buttons_share_a_line_in_a_narrow_window() {
    let Some(browser) = open("name_and_buttons_share_a_line", "read_bw_loss.pcap") else { return };
    browser.resize(420, 800);
    let state = browser.run(
        "const box = (id) => document.getElementById(id).getBoundingClientRect();
         return [box('theme').top < box('facts').bottom, box('theme').left >= box('facts').right, box('facts').width + 1 >= document.getElementById('facts').scrollWidth];",
    );
    assert_eq!(state, json!([true, true, true]));
}
