// SPDX-License-Identifier: GPL-3.0-or-later
//! Builds the two static programs for an architecture.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::machine::Arch;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// kmote for a machine: as it is shipped for this target, else as the machine's own build makes it.
pub fn kmote(arch: Arch, shipped: Option<&str>) -> Result<PathBuf, String> {
    match shipped {
        Some(target) => cross(target, "kmote"),
        None => build(arch, "kmote", "release"),
    }
}

/// The first process of a machine.
pub fn guest(arch: Arch) -> Result<PathBuf, String> {
    build(arch, "qemu-tests", "guest")
}

fn build(arch: Arch, package: &str, profile: &str) -> Result<PathBuf, String> {
    match arch {
        Arch::Amd64 => with_cargo(arch.machine().target, package, profile),
        _ => cross(arch.machine().target, package),
    }
}

/// The toolchain at hand links the C library of amd64 statically, so that nothing else need be installed.
fn with_cargo(target: &str, package: &str, profile: &str) -> Result<PathBuf, String> {
    let folder = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", target.replace('-', "_").to_uppercase());
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).env(&variable, "-C target-feature=+crt-static");
    command.args(["build", "--locked", "--target", target, "--package", package, "--profile", profile]);
    run(&mut command)?;
    Ok(folder.join(target).join(profile).join(package))
}

/// `cross/build.sh` prints the path of what it built.
fn cross(target: &str, package: &str) -> Result<PathBuf, String> {
    let mut command = Command::new(root().join("cross/build.sh"));
    let printed = run(command.args(["--package", package, target]))?;
    printed.lines().last().map(PathBuf::from).ok_or_else(|| format!("cross/build.sh: no path for {package}"))
}

/// Runs a build in the open: its messages are for whoever waits for it.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let result = command.stderr(Stdio::inherit()).output().map_err(|e| format!("{name}: {e}"))?;
    if !result.status.success() {
        return Err(format!("{name} failed ({})", result.status));
    }
    Ok(String::from_utf8_lossy(&result.stdout).into_owned())
}
