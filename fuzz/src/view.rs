//! A capture to draw, as `lint` makes one of bytes: as a page, as a ladder, as pictures.

use rdmalab_view::{Capture, MOST_DRAWN, Options, PictureError, ViewError, read};

/// What a name of a file may say.
const NAME: &str = "</script><img src=x onerror=alert(1)>\u{202e}";
/// Pictures drawn of one capture.
const MOST_PICTURES: usize = 4;

/// Draws what the bytes stand for.
pub fn run(bytes: &[u8]) {
    let Some(file) = super::lint::file(bytes) else { return };
    let Some((capture, damage)) = opened(&file) else { return };
    let page = page(&capture, damage.as_deref());
    if let Some((again, _)) = opened(&file) {
        assert!(page == self::page(&again, damage.as_deref()), "the same capture is drawn alike");
    }
    for columns in [None, Some(0), Some(70)] {
        ladder(&capture, columns);
    }
    pictures(&capture);
}

/// The capture as far as it can be read, and what kept it from being read to its end.
fn opened(file: &[u8]) -> Option<(Capture, Option<String>)> {
    match read(file, Options { keeps_frames: true, ..Options::default() }) {
        Ok(capture) => Some((capture, None)),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty());
            match error {
                ViewError::Read { capture, .. } => Some((*capture, Some(text))),
                ViewError::Filter(_) => panic!("there is no filter: {text}"),
                _ => None,
            }
        }
    }
}

/// The page: nothing of the capture becomes markup.
fn page(capture: &Capture, damage: Option<&str>) -> String {
    let mut out = Vec::new();
    capture.page(&mut out, NAME, damage).unwrap_or_else(|error| panic!("a vector takes everything: {error}"));
    let text = String::from_utf8(out).unwrap_or_else(|error| panic!("{error}"));
    assert!(text.ends_with("</html>\n"));
    assert_eq!(text.matches("<script>").count(), 1);
    assert!(!text.contains("onerror"));
    text
}

/// The ladder: a line for each packet, and nothing that a terminal obeys but colours.
fn ladder(capture: &Capture, columns: Option<u16>) {
    let mut out = Vec::new();
    capture.ladder(&mut out, columns).unwrap_or_else(|error| panic!("a vector takes everything: {error}"));
    let text = String::from_utf8(out).unwrap_or_else(|error| panic!("{error}"));
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split("\u{1b}[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (style, rest) = part.split_once('m').unwrap_or_else(|| panic!("no style: {part:?}"));
        assert!(style.chars().all(|c| c.is_ascii_digit() || c == ';'), "{style:?}");
        plain.push_str(rest);
    }
    assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
    let is_numbered =
        |line: &&str| line.split_whitespace().next().is_some_and(|word| word.parse::<u64>().is_ok());
    assert_eq!(plain.lines().filter(is_numbered).count() as u64, capture.packets(), "{plain}");
}

/// Pictures of the flow with most packets, and of some by their numbers.
fn pictures(capture: &Capture) {
    let report = capture.report();
    let flows = report.flows.iter().map(|flow| flow.number);
    let numbers = flows.chain(report.streams.iter().map(|stream| stream.number)).take(MOST_PICTURES);
    for flow in [None, Some(u64::MAX)].into_iter().chain(numbers.map(Some)) {
        let mut out = Vec::new();
        match capture.picture(&mut out, flow) {
            Ok(()) => {
                let text = String::from_utf8(out).unwrap_or_else(|error| panic!("{error}"));
                assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
                assert!(!text.contains("<script") && !text.contains("onerror"));
                assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
            }
            Err(PictureError::NoFlow { .. }) => {}
            Err(PictureError::TooMany { packets }) => assert!(packets > MOST_DRAWN),
            Err(PictureError::Write(error)) => panic!("a vector takes everything: {error}"),
        }
    }
}
