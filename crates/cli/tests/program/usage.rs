//! Command lines that are wrong, and where output goes.

use crate::program::{command, rdmalab};

#[test]
fn help_and_version_are_printed_and_fine() {
    for arguments in
        [&["--help"][..], &["help", "demo"], &["demo", "--help"], &["dump", "-h"], &["--version"]]
    {
        let run = rdmalab(arguments).exits(0);
        assert!(run.err.is_empty(), "{}", run.err);
        assert!(!run.out.is_empty());
    }
}

#[test]
fn without_a_subcommand_the_help_is_shown_as_wrong_usage() {
    rdmalab(&[]).exits(2).says("Usage: rdmalab <COMMAND>");
}

#[test]
fn wrong_command_lines_exit_with_two_and_say_why() {
    for (arguments, why) in [
        (&["fly"][..], "unrecognized subcommand 'fly'"),
        (&["dump"], "<FILE>"),
        (&["dump", "a", "b"], "unexpected argument 'b'"),
        (&["demo", "--loss", "1.1"], "a number from 0 to 1"),
        (&["demo", "--loss", "-0.1"], "a number from 0 to 1"),
        (&["demo", "--loss", "NaN"], "a number from 0 to 1"),
        (&["demo", "--loss", "5%"], "a number from 0 to 1"),
        (&["demo", "--seed", "-1"], "--seed"),
        (&["demo", "--seed", "18446744073709551616"], "--seed"),
        (&["demo", "--messages", "100001"], "100001 is not in 0..=100000"),
        (&["demo", "--size", "1048577"], "1048577 is not in 0..=1048576"),
        (&["demo", "--messages", "100000", "--size", "1048576"], "ask for fewer or shorter messages"),
        (&["demo", "--all", "--quiet"], "cannot be used with"),
        (&["demo", "--pcap", "-"], "name a file"),
        (&["pingpong", "--tap", "t", "--ip", "10.0.0.1/24", "--profile", "mlx"], "a profile is one of"),
        (&["pingpong", "--tap", "t", "--ip", "10.0.0.1/24", "--congestion", "fixed=x"], "a rate is a number"),
    ] {
        let run = rdmalab(arguments).exits(2).says(why);
        assert!(run.err.starts_with("rdmalab: "), "{}", run.err);
        assert!(run.out.is_empty(), "{}", run.out);
    }
}

#[cfg(unix)]
#[test]
fn arguments_that_are_no_text_are_no_panic() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    for arguments in [["dump", "FILE"], ["demo", "--seed"]] {
        let output = command(&arguments).arg(OsStr::from_bytes(b"\xff\xfe")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&["demo"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("rdmalab: cannot write to standard output"), "{err}");
}

#[cfg(target_os = "linux")]
#[test]
fn nobody_to_tell_errors_to_is_no_panic() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (arguments, code) in [(&["dump", "/nowhere"][..], 2), (&["demo", "--loss", "1"], 1), (&["fly"], 2)] {
        let status = command(arguments).stderr(full.try_clone().unwrap()).output().unwrap().status;
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}
