//! What filters show, and what the page looks like with them.

use serde_json::json;

use crate::open;

#[test]
fn a_queue_pair_is_shown_with_what_comes_from_it() {
    let Some(browser) = open("a_queue_pair_is_shown", "rxe/wrong_answers.pcap") else { return };
    browser.choose("filter-pair", &0x88.to_string());
    let frames =
        "const { choice, capture } = window.rdmalab; return [...choice.shown].map((i) => capture.frame[i])";
    // Its READ, and the answer to that.
    assert_eq!(browser.run(frames), json!([5, 6]));
    browser.no_complaints();
}

#[test]
fn few_packets_that_pass_filters_fill_the_view_of_many() {
    let Some(browser) = open("few_packets_that_pass_filters", "write_drop_after.pcap") else { return };
    for is_time in [false, true] {
        browser.run(&format!(
            "const {{ ladder, choice }} = window.rdmalab; choice.clear(); ladder.toggleScale({is_time}); ladder.fit(); return null"
        ));
        browser.choose("filter-only", "negative");
        let heights = browser.run(
            "const { ladder, scale, choice } = window.rdmalab; return [choice.shown.length, scale.height, ladder.view]",
        );
        let [rows, height, view] = [0, 1, 2].map(|at| heights[at].as_f64().unwrap());
        assert!(rows > 1.0 && rows < 100.0, "{heights}");
        let least = if is_time { view } else { view.min(rows * 24.0 + 24.0) };
        assert!(height >= least - 1.0, "{heights}, by time {is_time}");
    }
}

/// The number of packets shown does not push the controls behind it to another line.
#[test]
fn controls_stay_where_they_are_when_a_filter_is_on() {
    let Some(browser) = open("controls_stay_where_they_are", "read_bw_loss.pcap") else { return };
    let places = "return ['scale-rows', 'plot-toggle', 'stage'].map((id) => document.getElementById(id).getBoundingClientRect().top)";
    for width in [1280, 1400, 1510, 1600] {
        browser.resize(width, 800);
        browser.run("document.getElementById('clear').click(); return null");
        let before = browser.run(places);
        browser.choose("filter-only", "again");
        // As with many more packets.
        browser.run("document.getElementById('shown').textContent = '38,555 of 101,006'; return null");
        assert_eq!(browser.run(places), before, "{width}");
    }
}
