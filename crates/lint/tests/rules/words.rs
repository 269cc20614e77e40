//! What findings say: what is, what should be, in sentences.

use rdmalab_craft::{Capture, Limits, Spec, craft};
use rdmalab_lint::lint;

use super::stream;

#[track_caller]
fn says(spec: &str, sentence: &str) {
    let mut file = Capture::pcapng(Vec::new()).unwrap();
    craft(&Spec::parse(spec).unwrap(), Limits::default(), &mut |frame| file.write(frame)).unwrap();
    let report = lint(&file.finish().unwrap()[..], &mut ()).unwrap();
    assert!(report.to_string().contains(sentence), "{report}");
}

#[test]
fn names_have_articles_where_there_are_any_and_lengths_say_what_is_right() {
    says(
        r#"packet = [{ opcode = "RC_ACKNOWLEDGE", bth = { solicited = true } }]"#,
        "solicited-event: an ACKNOWLEDGE has the bit",
    );
    says(
        r#"packet = [{ opcode = "RC_READ_REQUEST", payload = { length = 16 } }]"#,
        "READ_REQUEST has 16 bytes, should have none",
    );
    says(
        r#"packet = [{ opcode = "RC_ACKNOWLEDGE", udp = { length = 1000 } }]"#,
        "UDP at byte 38: the length is 1000, should be 28, as IP has it",
    );
    says(
        r#"packet = [{ opcode = "RC_SEND_ONLY" }, { reply = true, opcode = "RC_ACKNOWLEDGE" }]"#,
        ": 1 request, 1 answer\n",
    );
}

/// The rest of a WRITE goes to another tag.
#[test]
fn a_message_that_goes_on_elsewhere_is_told_where_it_should() {
    let mut steps = stream::ordinary();
    let [.., low] = &mut steps[6].bytes()[2..6] else { panic!("a tag of four bytes") };
    let right = *low;
    *low ^= 1;
    let report = stream::judge(&steps).to_string();
    let (_, sentence) =
        report.split_once("WRITE: the message goes on at ").unwrap_or_else(|| panic!("{report}"));
    let sentence = sentence.lines().next().unwrap();
    let (is, should) = sentence.split_once(", should at ").unwrap();
    let (place, tag) = is.split_once(" of the tag ").unwrap();
    let (right_place, right_tag) = should.split_once(" of the tag ").unwrap();
    assert_eq!(place, right_place, "{sentence}");
    let low = |tag: &str| u32::from_str_radix(tag.trim_start_matches("0x"), 16).unwrap() as u8;
    assert_eq!((low(tag), low(right_tag)), (right ^ 1, right), "{sentence}");
}
