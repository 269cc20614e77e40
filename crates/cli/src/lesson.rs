//! `rdmalab lesson`: ten short captures, with a question and its answer each.

use std::fmt::Write as _;
use std::io::Write as _;

use rdmalab_lessons::{LESSONS, Lesson};
use rdmalab_trace::{DumpOptions, dump};

use crate::outcome::{Error, Outcome, Result, unprinted};

/// Ten short captures with a question each: look at the packets, think, then ask for the answer.
///
/// Without a name it lists them. With one it prints what is done, the packets of the capture as `rdmalab dump` does, and the
/// question.
#[derive(clap::Args)]
pub struct Options {
    /// The lesson
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print the answer in place of packets and question
    #[arg(long, requires = "name")]
    answer: bool,
}

/// Prints a lesson, or which there are.
pub fn run(options: &Options) -> Result<Outcome> {
    let text = match &options.name {
        None => list(),
        Some(name) => {
            let Some(lesson) = Lesson::named(name) else {
                let names: Vec<&str> = LESSONS.iter().map(|lesson| lesson.name).collect();
                return Err(Error::usage(format_args!("there is no lesson {name}"))
                    .advice(format_args!("take one of {}", names.join(", "))));
            };
            if options.answer { answer(lesson) } else { question(lesson)? }
        }
    };
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unprinted)?;
    Ok(Outcome::Fine)
}

fn list() -> String {
    let mut text = String::new();
    for lesson in LESSONS {
        // A string takes everything.
        let _ = writeln!(text, "{:<16} {}", lesson.name, lesson.title());
    }
    text
}

fn question(lesson: &Lesson) -> Result<String> {
    let mut packets = Vec::new();
    dump(lesson.capture, &mut packets, DumpOptions::default()).map_err(Error::failed)?;
    let packets = String::from_utf8_lossy(&packets);
    Ok(format!(
        "{}\n\n{}\n\n{packets}\n{}\n\nrdmalab lesson {} --answer tells.\n",
        lesson.title(),
        lesson.scene(),
        lesson.question(),
        lesson.name
    ))
}

fn answer(lesson: &Lesson) -> String {
    let mut text = String::new();
    for line in lesson.answer().lines().filter(|line| !line.starts_with("```")) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(command) = lesson.command() {
        let _ = writeln!(text, "\nThe capture is made by\n  rdmalab {command}");
    }
    text
}
