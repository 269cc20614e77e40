//! The guest's kernel: the newest Linux 6.12 that apt offers, unpacked into the build directory, never installed.
//!
//! Debian builds rxe as a module of it; siw is built here ([`siw`]) and loaded behind the others.

mod siw;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::run;

/// What the guest loads, in this order, with all they depend on. The kernel's own loader cannot find modprobe in
/// the guest's root, so everything that would be loaded on demand has to be here; rxe without crc32 fails with
/// "No such file".
const MODULES: &[&str] = &[
    "9pnet_virtio",
    "9p",
    "virtio_net",
    "crc32_generic",
    "crc32_pclmul",
    "rdma_rxe",
    "rdma_ucm",
    "ib_umad",
    "sch_netem",
    "sch_prio",
    "sch_ingress",
    "act_gact",
    "cls_u32",
    "8021q",
    // For siw.
    "libcrc32c",
];

/// A kernel image and the modules that the guest loads.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) image: PathBuf,
    /// Compressed as Debian ships them, in the order of loading, each once.
    pub(crate) modules: Vec<PathBuf>,
}

impl Kernel {
    /// Finds the newest kernel, downloads and unpacks it below `cache` unless that was done before, and resolves
    /// what has to be loaded. `Err` is a reason to skip, in one line. `scratch` takes the logs.
    pub(crate) fn prepare(cache: &Path, scratch: &Path) -> Result<Self, String> {
        let package = match newest_offered(scratch)? {
            Some(package) => package,
            None => newest_unpacked(cache)
                .ok_or("apt offers no linux-image-6.12.*-amd64 (has `apt-get update` been run?)")?,
        };
        let root = cache.join(&package);
        if !root.is_dir() {
            unpack(&package, &root, scratch)?;
        }
        let version = only_entry(&root.join("lib/modules"))?;
        let mut modules = modules_to_load(&root, &version, scratch)?;
        modules.push(siw::module(&root, &package, &version, scratch)?);
        Ok(Self { image: root.join("boot").join(format!("vmlinuz-{version}")), modules })
    }
}

/// The numbers of a package's name, if it is an ordinary 6.12 kernel: `linux-image-6.12.9+deb12-amd64` is
/// `[6, 12, 9]`. None for the variants (cloud, rt, unsigned, dbg) and for the meta packages.
fn version_of(package: &str) -> Option<Vec<u32>> {
    let version = package.strip_prefix("linux-image-")?.strip_suffix("-amd64")?;
    if version.contains('-') {
        return None;
    }
    let numbers: Result<Vec<u32>, _> = version.split('+').next()?.split('.').map(str::parse).collect();
    numbers.ok().filter(|numbers| numbers.len() >= 3 && numbers.starts_with(&[6, 12]))
}

fn newest_offered(scratch: &Path) -> Result<Option<String>, String> {
    let mut search = Command::new("apt-cache");
    search.args(["search", "--names-only", r"^linux-image-6\.12\..*amd64$"]);
    let found = run("apt-cache", &mut search, scratch, Duration::from_secs(60)).map_err(first_line)?;
    let names = found.stdout.lines().filter_map(|line| line.split_whitespace().next());
    Ok(names.filter(|name| version_of(name).is_some()).max_by_key(|name| version_of(name)).map(str::to_owned))
}

fn newest_unpacked(cache: &Path) -> Option<String> {
    let entries = fs::read_dir(cache).ok()?.filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| version_of(name).is_some()).max_by_key(|name| version_of(name))
}

/// Downloads and unpacks into a folder of our own, which gets its name only when it is whole.
fn unpack(package: &str, root: &Path, scratch: &Path) -> Result<(), String> {
    let download = scratch.join("kernel-package");
    let unpacked = root.with_extension(format!("unpacking-{}", std::process::id()));
    let outcome = (|| {
        fs::create_dir_all(&download).map_err(|error| format!("{}: {error}", download.display()))?;
        // As root, apt would fetch as its own user, which may not write here, and complain.
        let mut fetch = Command::new("apt-get");
        fetch.args(["-o", "APT::Sandbox::User=root", "download", package]).current_dir(&download);
        run("apt-get-download", &mut fetch, scratch, Duration::from_secs(600)).map_err(first_line)?;
        let archive = only_entry(&download)?;
        let mut extract = Command::new("dpkg-deb");
        extract.arg("-x").arg(download.join(archive)).arg(&unpacked);
        run("dpkg-deb", &mut extract, scratch, Duration::from_secs(300)).map_err(first_line)?;
        // Where a release ships its modules in /usr/lib only, depmod still looks in /lib.
        if !unpacked.join("lib").exists() {
            std::os::unix::fs::symlink("usr/lib", unpacked.join("lib")).map_err(|error| error.to_string())?;
        }
        let version = only_entry(&unpacked.join("lib/modules"))?;
        let mut depend = Command::new("depmod");
        depend.arg("-b").arg(&unpacked).arg(version);
        run("depmod", &mut depend, scratch, Duration::from_secs(120)).map_err(first_line)?;
        // Another process may have been faster; then its folder is as good.
        if fs::rename(&unpacked, root).is_err() && !root.is_dir() {
            return Err(format!("cannot move the kernel to {}", root.display()));
        }
        Ok(())
    })();
    let _ = fs::remove_dir_all(&unpacked);
    let _ = fs::remove_dir_all(&download);
    outcome
}

fn modules_to_load(root: &Path, version: &str, scratch: &Path) -> Result<Vec<PathBuf>, String> {
    let mut modules: Vec<PathBuf> = Vec::new();
    for name in MODULES {
        let mut ask = Command::new("modprobe");
        ask.arg("-d").arg(root).args(["-S", version, "--show-depends", name]);
        let answer = run("modprobe", &mut ask, scratch, Duration::from_secs(30)).map_err(first_line)?;
        for line in answer.stdout.lines() {
            let Some(path) = line.strip_prefix("insmod ") else { continue };
            let path = PathBuf::from(path.trim());
            if !modules.contains(&path) {
                modules.push(path);
            }
        }
    }
    Ok(modules)
}

fn only_entry(folder: &Path) -> Result<String, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    match <[String; 1]>::try_from(names) {
        Ok([name]) => Ok(name),
        Err(names) => Err(format!("{} should hold one entry, it holds {}", folder.display(), names.len())),
    }
}

/// A reason to skip is one line; the programs' last words, which say why, come along.
fn first_line(text: String) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_ordinary_kernel_is_picked_by_number() {
        let names = [
            "linux-image-6.12-amd64",
            "linux-image-6.12.9+deb12-amd64",
            "linux-image-6.12.100+deb12-amd64",
            "linux-image-6.12.101+deb12-cloud-amd64",
            "linux-image-6.12.101+deb12-amd64-dbg",
            "linux-image-6.12.101+deb12-amd64-unsigned",
            "linux-image-6.13.1+deb12-amd64",
        ];
        let newest =
            names.into_iter().filter(|name| version_of(name).is_some()).max_by_key(|name| version_of(name));
        assert_eq!(newest, Some("linux-image-6.12.100+deb12-amd64"));
    }
}
