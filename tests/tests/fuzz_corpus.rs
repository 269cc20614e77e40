//! The inputs that fuzzing kept, through the fuzz targets' own code, without a fuzzer.

// The fuzz package is no part of the workspace, so that its runtime is built only by those who fuzz.
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

use rdmalab_tests::corpus;

/// Runs a target over each file of its corpus. A panic is a find; the file's name is in the test's output.
fn replay(target: &str, run: fn(&[u8])) {
    for (file, bytes) in corpus::files(target) {
        println!("{}", file.display());
        run(&bytes);
        // What is cut short is another input, and a cheap one.
        for end in (0..bytes.len()).step_by(1 + bytes.len() / 16) {
            run(&bytes[..end]);
        }
    }
}

#[test]
fn packets_of_the_corpus_are_no_find() {
    replay("packet", fuzz::packet::run);
}

#[test]
fn what_a_queue_pair_of_the_corpus_bears_is_no_find() {
    replay("queue_pair", fuzz::queue_pair::run);
}

#[test]
fn what_a_pair_of_hosts_of_the_corpus_bears_is_no_find() {
    replay("pair", fuzz::pair::run);
}

#[test]
fn what_a_communication_manager_of_the_corpus_bears_is_no_find() {
    replay("cm", fuzz::cm::run);
}

#[test]
fn captures_of_the_corpus_are_no_find() {
    replay("capture", fuzz::capture::run);
}

#[test]
fn streams_of_the_corpus_are_no_find() {
    replay("stream", fuzz::stream::run);
}

#[test]
fn start_ups_of_the_corpus_are_no_find() {
    replay("iwarp_start_up", fuzz::iwarp_start_up::run);
}

#[test]
fn what_an_iwarp_stream_of_the_corpus_bears_is_no_find() {
    replay("iwarp_stream", fuzz::iwarp_stream::run);
}

#[test]
fn what_is_judged_of_the_corpus_is_no_find() {
    replay("lint", fuzz::lint::run);
}

#[test]
fn what_is_drawn_of_the_corpus_is_no_find() {
    replay("view", fuzz::view::run);
}

#[test]
fn descriptions_of_the_corpus_are_no_find() {
    replay("craft_spec", fuzz::craft_spec::run);
}

/// What is thrown at hosts is all that fuzzing kept.
#[test]
fn no_folder_of_the_corpus_is_left_out() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let folders =
        std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut folders: Vec<String> = folders.collect();
    folders.sort();
    assert_eq!(folders, corpus::TARGETS);
}
