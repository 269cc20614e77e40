//! siw, Linux' iWARP, as a module for the guest's kernel.
//!
//! Debian switches it off, and ships its source: it is built out of `linux-source-6.12` against the headers of the very
//! version, all of them unpacked below the kernel's own folder, none installed. It takes half a minute, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::first_line;
use crate::process::run;

/// The driver's folder in the source.
const DRIVER: &str = "linux-source-6.12/drivers/infiniband/sw/siw";

/// The module for the kernel of `image` (the name of its package), whose version is `version`, below `root`; built unless
/// that was done before.
pub(super) fn module(root: &Path, image: &str, version: &str, scratch: &Path) -> Result<PathBuf, String> {
    let module = root.join("siw.ko");
    if module.is_file() {
        return Ok(module);
    }
    let work = scratch.join("siw");
    fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let built = build(&work, image, version, scratch)?;
    // Another process may be building the same: the finished file gets its name at once.
    let finished = root.join(format!("siw.ko-{}", std::process::id()));
    let moved = fs::copy(&built, &finished).and_then(|_| fs::rename(&finished, &module));
    moved.map_err(|error| format!("{}: {error}", module.display()))?;
    let _ = fs::remove_dir_all(&work);
    Ok(module)
}

fn build(work: &Path, image: &str, version: &str, scratch: &Path) -> Result<PathBuf, String> {
    let step = |name: &str, program: &str, arguments: &[&str], limit: u64| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(work);
        run(name, &mut command, scratch, Duration::from_secs(limit)).map_err(first_line)
    };
    let package = step("siw-version", "apt-cache", &["show", image], 60)?;
    let revision = package.stdout.lines().find_map(|line| line.strip_prefix("Version: ")).map(str::trim);
    let revision = revision.ok_or_else(|| format!("apt does not know the version of {image}"))?;
    let short = version.strip_suffix("-amd64").unwrap_or(version);
    let source = format!("linux-source-6.12={revision}");
    let headers = [
        format!("linux-headers-{version}"),
        format!("linux-headers-{short}-common"),
        format!("linux-kbuild-{short}"),
    ];
    let mut fetch = vec!["-o", "APT::Sandbox::User=root", "download", &source];
    fetch.extend(headers.iter().map(String::as_str));
    step("siw-download", "apt-get", &fetch, 600)?;
    // Only the driver leaves the archive in the archive.
    let unpack = format!(
        "set -e\n\
         for package in linux-headers*.deb linux-kbuild*.deb; do dpkg-deb -x $package headers; done\n\
         dpkg-deb --fsys-tarfile linux-source*.deb | tar -xO ./usr/src/linux-source-6.12.tar.xz | tar -xJ {DRIVER}\n\
         cd headers/usr/src/linux-headers-{version}\n\
         sed -i \"s|include /usr/src/|include $OLDPWD/headers/usr/src/|\" Makefile\n\
         # Only there for type information, for which a program would be missing.\n\
         rm -f vmlinux\n"
    );
    step("siw-unpack", "bash", &["-c", &unpack], 300)?;
    let place = work.display();
    let (tree, driver) =
        (format!("{place}/headers/usr/src/linux-headers-{version}"), format!("M={place}/{DRIVER}"));
    step("siw-make", "make", &["-s", "-C", &tree, &driver, "CONFIG_RDMA_SIW=m", "modules"], 600)?;
    Ok(work.join(DRIVER).join("siw.ko"))
}
