//! The guest's first file system: busybox, the kernel modules and a script that moves on into this machine's root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::kernel::Kernel;
use crate::process::run;

/// Packs the initramfs below `folder` and returns its path. It is the same for all guests.
pub(crate) fn build(kernel: &Kernel, folder: &Path) -> Result<PathBuf, String> {
    let root = folder.join("initramfs");
    let archive = folder.join("initramfs.cpio");
    let fault = |error: std::io::Error| format!("cannot build the guest's initramfs: {error}");
    for name in ["bin", "dev", "proc", "sys", "host", "modules"] {
        fs::create_dir_all(root.join(name)).map_err(fault)?;
    }
    let busybox = find("busybox")?;
    fs::copy(busybox, root.join("bin/busybox")).map_err(fault)?;
    let init = root.join("init");
    fs::write(&init, include_str!("guest/init.sh")).map_err(fault)?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755)).map_err(fault)?;
    for (number, module) in kernel.modules.iter().enumerate() {
        unpack_module(module, &root.join(format!("modules/{number:03}.ko")))?;
    }
    let mut pack = Command::new("sh");
    pack.args(["-c", "find . | cpio --quiet -o -H newc > ../initramfs.cpio"]).current_dir(&root);
    run("cpio", &mut pack, folder, Duration::from_secs(60))?;
    fs::remove_dir_all(&root).map_err(fault)?;
    Ok(archive)
}

fn unpack_module(from: &Path, to: &Path) -> Result<(), String> {
    if from.extension().is_none_or(|kind| kind != "xz") {
        return fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()));
    }
    let file = fs::File::create(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let done = Command::new("xz")
        .arg("-dc")
        .arg(from)
        .stdout(file)
        .status()
        .map_err(|error| format!("xz: {error}"))?;
    if done.success() { Ok(()) } else { Err(format!("xz could not unpack {}", from.display())) }
}

fn find(program: &str) -> Result<PathBuf, String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("{program} is not on the PATH"))
}
