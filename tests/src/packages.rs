//! Whether this machine has what the live tests need. Only looks; `check.sh` is what installs.

use std::fs::OpenOptions;
use std::path::Path;

/// The one list of packages, shared with `check.sh`.
const LIST: &str = include_str!("../packages.txt");

/// `Err` with a reason of one line if live tests cannot run here.
pub(crate) fn present() -> Result<(), String> {
    let user = std::fs::metadata("/proc/self").map(|of| std::os::unix::fs::MetadataExt::uid(&of));
    if !matches!(user, Ok(0)) {
        return Err("live tests make network namespaces and must be run by root".into());
    }
    if !cfg!(target_arch = "x86_64") {
        return Err(
            "the guest of the live tests is an x86-64 one, like its user space, which is this machine's"
                .into(),
        );
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .map_err(|error| format!("/dev/net/tun cannot be opened: {error}"))?;
    let missing = missing(LIST, on_path);
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("packages are missing, apt-get install {}", missing.join(" ")))
}

/// The packages of `list` of which `there` finds no trace.
fn missing(list: &str, there: impl Fn(&str) -> bool) -> Vec<&str> {
    list.lines()
        .filter_map(|line| {
            let mut words = line.split('#').next()?.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .filter(|(_, sign)| !there(sign))
        .map(|(package, _)| package)
        .collect()
}

fn on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    Path::new(program).is_absolute() && Path::new(program).exists()
        || std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_told_by_its_package() {
        let list = "# heading\npackage-one  one  # why\npackage-two  /a/path\n\n";
        assert_eq!(missing(list, |what| what == "one"), ["package-two"]);
        assert!(missing(list, |_| true).is_empty());
    }

    #[test]
    fn the_list_of_packages_names_a_sign_for_each() {
        let lines = LIST.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(missing(LIST, |_| false).len(), lines);
    }
}
