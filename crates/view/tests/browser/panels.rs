//! What the panels at the side say: of the whole capture, and of packets.

use std::collections::BTreeMap;

use serde_json::json;

use crate::driver::Browser;
use crate::support::{capture, drawn, page, some_of};

/// What the rows of `lint` say that a capture does not have, all flows together.
fn absent(report: &str) -> BTreeMap<String, u64> {
    const WORDS: [&str; 5] = [
        "PSNs of requests lost in front of the place of capture",
        "answers lost in front of the place of capture",
        "answers that only the capture lacks",
        "segments lost in front of the place of capture",
        "bytes of the stream that the capture does not have",
    ];
    let mut all = BTreeMap::new();
    for line in report.lines().map(str::trim) {
        for word in WORDS.iter().filter(|word| line.starts_with(**word)) {
            *all.entry((*word).to_owned()).or_default() += line[word.len()..].trim().parse::<u64>().unwrap();
        }
    }
    all
}

#[test]
fn what_the_capture_does_not_have_is_told_as_the_rows_of_lint_tell_it() {
    let Some(browser) = Browser::start("what_the_capture_does_not_have") else { return };
    let whole = |name: &str| std::fs::read(capture(name)).unwrap();
    let of = |bytes: &[u8]| {
        browser.open(&page(bytes, "absent"));
        let shown = browser.run(
            "const head = [...document.querySelectorAll('#panel-packet h3')].find((head) => head.textContent === 'What the capture does not have');
             const rows = head ? [...head.nextElementSibling.querySelectorAll('tr')] : [];
             return Object.fromEntries(rows.map((row) => [row.cells[0].textContent, Number(row.cells[1].textContent.replace(',', ''))]));",
        );
        let expected = absent(&drawn(bytes).unwrap().report().to_string());
        assert_eq!(shown, json!(expected));
        expected
    };
    // A packet in the middle of a READ's answer.
    let lacking = some_of("read_bw.pcap", |frame| frame != 29);
    assert_eq!(of(&lacking).get("answers that only the capture lacks"), Some(&1));
    assert_eq!(of(&whole("read_bw_loss.pcap")).len(), 2);
    assert_eq!(of(&whole("siw_write_loss.pcap")).len(), 1);
    assert_eq!(of(&whole("rping.pcap")).len(), 0);
    browser.no_complaints();
}
