// SPDX-License-Identifier: GPL-3.0-or-later
//! Builds the two static programs for an architecture.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::initramfs::Binaries;
use super::machine::Arch;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

pub fn build(arch: Arch) -> Result<Binaries, String> {
    match arch {
        Arch::Amd64 => with_cargo(arch.machine().target),
        _ => with_cross(arch.machine().target),
    }
}

/// The toolchain at hand links the C library of amd64 statically, so that nothing else need be installed.
fn with_cargo(target: &str) -> Result<Binaries, String> {
    let folder = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", target.replace('-', "_").to_uppercase());
    let build = |package: &str, profile: &str| {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(root()).env(&variable, "-C target-feature=+crt-static");
        command.args(["build", "--locked", "--target", target, "--package", package, "--profile", profile]);
        run(&mut command).map(|_| folder.join(target).join(profile).join(package))
    };
    Ok(Binaries { kmote: build("kmote", "release")?, guest: build("qemu-tests", "guest")? })
}

fn with_cross(target: &str) -> Result<Binaries, String> {
    Ok(Binaries { kmote: cross(target, "kmote")?, guest: cross(target, "qemu-tests")? })
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
