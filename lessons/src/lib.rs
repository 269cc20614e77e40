//! Ten short captures, with a question and its answer each.
//!
//! A lesson is a text in Markdown and a capture beside it. The text has a title, the command line of `rdmalab demo` that makes
//! the capture, byte for byte, a scene with the packets that it is about, a question and an answer. The program's tests make
//! each capture anew and look up everything that a text cites (`crates/cli/tests/program/lessons.rs`).

#![no_std]
#![forbid(unsafe_code)]

/// A lesson.
#[derive(Clone, Copy, Debug)]
pub struct Lesson {
    /// As in `ghost-ack`; its files are called by it.
    pub name: &'static str,
    /// The text, Markdown.
    pub text: &'static str,
    /// The capture, pcapng.
    pub capture: &'static [u8],
}

macro_rules! lessons {
    ($($name:literal)+) => {
        /// All lessons, in the order in which they are best taken.
        pub const LESSONS: &[Lesson] = &[$(Lesson {
            name: $name,
            text: include_str!(concat!("../", $name, ".md")),
            capture: include_bytes!(concat!("../", $name, ".pcapng")),
        },)+];
    };
}

lessons! {
    "ghost-ack"
    "implied-nak"
    "rnr-storm"
    "read-retry"
    "psn-wrap"
    "unaligned-pad"
    "cnp-reaction"
    "lost-rtu"
    "rtr-handshake"
    "marker-position"
}

const QUESTION: &str = "\n## Question\n";
const ANSWER: &str = "\n## Answer\n";

impl Lesson {
    /// The lesson of a name.
    pub fn named(name: &str) -> Option<&'static Lesson> {
        LESSONS.iter().find(|lesson| lesson.name == name)
    }

    /// Its title.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or(self.name)
    }

    /// The command line that makes the capture, without the program's name.
    pub fn command(&self) -> Option<&'static str> {
        self.text.lines().find_map(|line| line.strip_prefix("rdmalab "))
    }

    /// What is done, in a sentence or two: what stands between the command line and the packets.
    pub fn scene(&self) -> &'static str {
        let behind = self.text.split_once("\n```\n").and_then(|(_, rest)| rest.split_once("\n```\n"));
        behind.and_then(|(_, rest)| rest.split_once("\n```")).map_or("", |(scene, _)| scene.trim())
    }

    /// The question.
    pub fn question(&self) -> &'static str {
        let behind = self.text.split_once(QUESTION).and_then(|(_, rest)| rest.split_once(ANSWER));
        behind.map_or("", |(question, _)| question.trim())
    }

    /// The answer, with what it cites.
    pub fn answer(&self) -> &'static str {
        self.text.split_once(ANSWER).map_or("", |(_, answer)| answer.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lesson_has_all_its_parts() {
        assert_eq!(LESSONS.len(), 10);
        for lesson in LESSONS {
            let name = lesson.name;
            assert!(lesson.title().len() > 5 && lesson.title() != name, "{name}");
            assert!(lesson.command().is_some_and(|command| command.starts_with("demo ")), "{name}");
            assert!(
                lesson.scene().ends_with('.') && !lesson.scene().contains('`'),
                "{name}: {}",
                lesson.scene()
            );
            assert!(lesson.question().contains('?') && !lesson.question().contains('#'), "{name}");
            assert!(lesson.answer().len() > 200 && !lesson.answer().contains('#'), "{name}");
            assert!(!lesson.capture.is_empty(), "{name}");
            assert_eq!(Lesson::named(name).map(Lesson::title), Some(lesson.title()));
        }
        assert!(Lesson::named("no-such-lesson").is_none());
    }

    #[test]
    fn the_index_has_them_all_in_their_order() {
        let index = include_str!("../README.md");
        let mut rest = index;
        for lesson in LESSONS {
            let begins = rest.split_once("| [").and_then(|(_, rest)| rest.strip_prefix(lesson.title()));
            let linked = begins.and_then(|rest| rest.strip_prefix("]("));
            let (link, behind) = linked.and_then(|rest| rest.split_once(')')).expect("a row for each lesson");
            assert_eq!(link.strip_suffix(".md"), Some(lesson.name));
            rest = behind;
        }
        assert!(!rest.contains("| ["), "a row too many: {rest}");
    }
}
