//! The lessons: each capture comes out of its description byte for byte, `lint` finds in it what the text says and nothing
//! else, and whatever a text cites of the capture stands there.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rdmalab_lessons::{LESSONS, Lesson};

use crate::program::{Run, rdmalab, scratch, text};

/// The capture beside the text.
fn file(lesson: &Lesson) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lessons").join(format!("{}.pcapng", lesson.name))
}

/// The lines of the fenced blocks of a kind, block by block.
fn blocks<'t>(text: &'t str, kind: &str) -> Vec<Vec<&'t str>> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once(&format!("\n```{kind}\n")) {
        let (block, behind) = behind.split_once("\n```").expect("a block that ends");
        blocks.push(block.lines().collect());
        rest = behind;
    }
    blocks
}

/// The text without its blocks.
fn prose(text: &str) -> String {
    let parts = text.split("\n```").step_by(2);
    parts.map(|part| part.split_once('\n').map_or("", |(_, rest)| rest)).collect::<Vec<_>>().join("\n")
}

/// Numbers behind "frame" or "frames": "frame 7", "frames 7 and 8", "frames 70, 71 and 72".
fn cited(prose: &str) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    let words: Vec<&str> = prose.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        if !matches!(word.to_lowercase().trim_start_matches('('), "frame" | "frames") {
            continue;
        }
        for word in &words[at + 1..] {
            match word.trim_matches(|c: char| !c.is_ascii_digit()).parse() {
                Ok(number) => drop(numbers.insert(number)),
                Err(_) if *word == "and" || *word == "to" => {}
                Err(_) => break,
            }
        }
    }
    numbers
}

#[test]
fn each_capture_comes_out_of_its_description_byte_for_byte() {
    for lesson in LESSONS {
        let name = lesson.name;
        let remade = scratch(&format!("lesson-{name}.pcapng"));
        let command = lesson.command().unwrap();
        let described =
            command.strip_suffix(&format!("--pcap {name}.pcapng")).expect("the capture's name at the end");
        let mut arguments: Vec<&str> = described.split_whitespace().collect();
        arguments.extend(["--pcap", text(&remade)]);
        let run = rdmalab(&arguments).exits(0);
        assert!(run.err.is_empty(), "{name}: {}", run.err);
        // When it is to be another: run the command in lessons/, and correct what the text cites.
        assert!(
            fs::read(&remade).unwrap() == lesson.capture,
            "{name}: another capture than the committed one"
        );
        assert!(fs::read(file(lesson)).unwrap() == lesson.capture, "{name}");
    }
}

#[test]
fn what_a_text_cites_of_the_packets_stands_in_the_capture() {
    for lesson in LESSONS {
        let name = lesson.name;
        let dump = rdmalab(&["dump", text(&file(lesson))]).exits(0);
        let lines: Vec<&str> = dump.lines();
        assert!(lines.len() <= 90, "{name}: {} packets are too many to look at", lines.len());
        let mut shown = BTreeSet::new();
        for line in blocks(lesson.text, "dump").concat() {
            let number: usize = line.split_whitespace().next().unwrap().parse().unwrap();
            assert_eq!(lines.get(number - 1), Some(&line), "{name}: frame {number}");
            shown.insert(number as u64);
        }
        let cited = cited(&prose(lesson.text));
        assert!(!cited.is_empty(), "{name} cites no frame");
        let unknown: Vec<_> = cited.difference(&shown).collect();
        assert!(unknown.is_empty(), "{name} cites the frames {unknown:?} and does not show them");
        let tree = rdmalab(&["dump", "-v", text(&file(lesson))]).exits(0);
        for block in blocks(lesson.text, "fields") {
            let (frame, fields) = block.split_first().unwrap();
            let behind = tree.out.split_once(&format!("{frame}\n")).map(|(_, rest)| rest);
            let fields_of_it = behind.and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
            assert!(!fields.is_empty(), "{name}");
            for field in fields {
                assert!(fields_of_it.lines().any(|line| line == *field), "{name}: {frame} has no {field}");
            }
        }
    }
}

/// A line of `lint` about a finding.
fn is_finding(line: &str) -> bool {
    ["violation: ", "suspicious: ", "note: "].iter().any(|severity| line.starts_with(severity))
}

#[test]
fn lint_finds_what_a_text_says_and_nothing_else() {
    let mut judged = 0;
    for lesson in LESSONS {
        let name = lesson.name;
        let run: Run = rdmalab(&["lint", text(&file(lesson))]).exits(0);
        let lines = run.lines();
        let named = blocks(lesson.text, "lint").concat();
        for line in &named {
            assert!(lines.contains(line), "{name}: {line:?} is not in\n{}", run.out);
        }
        judged += named.len();
        for line in lines.iter().filter(|line| is_finding(line)) {
            assert!(named.contains(line), "{name} does not name the finding\n{line}");
        }
    }
    assert!(judged >= 8, "{judged} lines of lint are named in all");
}

#[test]
fn frames_are_found_in_prose() {
    let text = "Frames 7 and 8, and (frame 9). The frame is 10 bytes, from frame 11 to frame 12: 13. Frames 14, 15 and 16.";
    assert_eq!(cited(text).into_iter().collect::<Vec<_>>(), [7, 8, 9, 11, 12, 13, 14, 15, 16]);
    assert_eq!(
        blocks("a\n```x\none\ntwo\n```\nb\n```x\nthree\n```\n", "x"),
        [vec!["one", "two"], vec!["three"]]
    );
    assert_eq!(prose("a\nb\n```x\none\n```\nc\n"), "b\nc\n");
}

#[test]
fn a_lesson_is_a_question_first_and_an_answer_when_asked() {
    let list = rdmalab(&["lesson"]).exits(0);
    assert_eq!(list.lines().len(), LESSONS.len());
    for lesson in LESSONS {
        assert!(list.out.contains(lesson.name) && list.out.contains(lesson.title()), "{}", list.out);
        let question = rdmalab(&["lesson", lesson.name]).exits(0);
        assert!(question.out.contains(lesson.question()), "{}", question.out);
        let first = lesson.answer().lines().next().unwrap();
        assert!(!question.out.contains(first), "{}", question.out);
        let packets = rdmalab(&["dump", text(&file(lesson))]).exits(0);
        assert!(question.out.contains(&packets.out), "{}", question.out);
        let answer = rdmalab(&["lesson", lesson.name, "--answer"]).exits(0);
        assert!(answer.out.starts_with(first) && !answer.out.contains("```"), "{}", answer.out);
        assert!(answer.out.contains(lesson.command().unwrap()), "{}", answer.out);
    }
    let run = rdmalab(&["lesson", "no-such-lesson"]).exits(2).says("there is no lesson no-such-lesson");
    assert!(run.err.contains("marker-position"), "{}", run.err);
    rdmalab(&["lesson", "--answer"]).exits(2);
}
