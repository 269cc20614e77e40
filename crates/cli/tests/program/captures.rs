//! Captures that cannot go on, as on a disk that is full: here, a file that may not grow beyond a size.

use std::io::BufRead;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Run, rdmalab, scratch, text};

/// Runs the program where no file may grow beyond so many KiB; `meanwhile` is done once it has said so on standard output, and
/// then it is told to end.
fn within(kibibytes: u32, arguments: &[&str], until: &str, meanwhile: impl FnOnce()) -> Run {
    let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$@\"");
    let mut child = Command::new("bash")
        .args(["-c", &script, "script", env!("CARGO_BIN_EXE_rdmalab")])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains(until) && out.read_line(&mut said).unwrap() > 0 {}
    meanwhile();
    if !until.is_empty() {
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    }
    std::io::Read::read_to_string(&mut out, &mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    Run { code: output.status.code(), out: said, err: String::from_utf8(output.stderr).unwrap() }
}

/// The capture is whole, and has as many frames as were told: once, or when it happened and at the end.
#[track_caller]
fn is_whole(run: &Run, capture: &Path, times: usize) {
    let told: Vec<&str> = run.err.split("ended at frame ").skip(1).collect();
    assert_eq!(told.len(), times, "{}", run.err);
    for told in told {
        let (frames, why) = told.split_once(": ").unwrap();
        assert!(why.starts_with("File too large"), "{}", run.err);
        let dumped = rdmalab(&["dump", text(capture)]);
        assert_ne!(dumped.code, Some(2), "{}", dumped.err);
        assert_eq!(dumped.lines().len(), frames.parse::<usize>().unwrap(), "{}", run.err);
    }
    assert_eq!(run.err.matches("nothing more is recorded").count(), times - 1, "{}", run.err);
}

/// How often: only at the end, if it comes about there.
fn told(run: &Run) -> usize {
    run.err.matches("ended at frame").count().max(1)
}

#[test]
fn serve_goes_on_without_a_capture_that_cannot_and_says_so_twice() {
    let capture = scratch("limited-serve.pcapng");
    let line = ["serve", "--ip", "127.80.6.1", "--pcap", text(&capture), "--every", "1000"];
    let run = within(100, &line, "until Ctrl-C", || {
        let client =
            ["rping", "-c", "-a", "127.80.6.1", "--ip", "127.80.6.2", "-C", "200", "-S", "3000", "-V"];
        rdmalab(&client).exits(0);
        // It is looked at now and then.
        std::thread::sleep(std::time::Duration::from_millis(300));
    });
    assert!(run.out.contains("rping") && run.out.contains(" 200 "), "{}", run.out);
    is_whole(&run.exits(1), &capture, 2);
}

#[test]
fn other_programs_do_their_work_too_and_fail_at_the_end() {
    let capture = scratch("limited-demo.pcapng");
    let run = within(8, &["demo", "--messages", "20", "--pcap", text(&capture)], "", || ());
    assert!(run.out.contains("FETCH"), "{}", run.out);
    let run = run.exits(1);
    is_whole(&run, &capture, told(&run));

    let capture = scratch("limited-rping.pcapng");
    let serve = crate::program::Running::start(&["rping", "-s", "--ip", "127.80.7.1"], "listening");
    let client = ["rping", "-c", "-a", "127.80.7.1", "--ip", "127.80.7.2", "-C", "10", "-S", "9000"];
    let run = within(40, &[&client[..], &["--pcap", text(&capture)]].concat(), "", || ());
    serve.finish().exits(0);
    assert!(run.out.contains("10 messages of 9000 bytes"), "{}", run.out);
    let run = run.exits(1);
    is_whole(&run, &capture, told(&run));
}

#[test]
fn a_capture_of_which_not_even_the_beginning_can_be_written_is_refused() {
    if !Path::new("/dev/full").exists() {
        return rdmalab_namespace::skip("a_capture_of_which_not_even", "there is no /dev/full");
    }
    let line = ["serve", "--ip", "127.80.8.1", "--pcap", "/dev/full"];
    rdmalab(&line).exits(1).says("cannot write the capture /dev/full: No space left on device");
    rdmalab(&["serve", "--ip", "127.80.8.1", "--pcap", "/nowhere/at.all"])
        .exits(2)
        .says("cannot write the capture");
}
