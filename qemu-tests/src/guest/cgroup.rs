// SPDX-License-Identifier: GPL-3.0-or-later
//! Control groups: where they are on every machine, and one with a limit on memory.

use std::fs;
use std::io::Result;
use std::path::PathBuf;

use super::sys;

const ROOT: &str = "/tmp/cgroup";

/// Where they are mounted on every machine.
pub const CGROUPS: &str = "/sys/fs/cgroup";
/// A service's, and a container's.
pub const SERVICE: &str = "system.slice/web.service";
pub const CONTAINER: &str = "docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Makes these two.
pub fn set_up() -> Result<()> {
    if !fs::exists(format!("{CGROUPS}/cgroup.procs"))? {
        sys::mount("none", CGROUPS, "cgroup2", "")?;
    }
    [SERVICE, CONTAINER].iter().try_for_each(|name| fs::create_dir_all(format!("{CGROUPS}/{name}")))
}

/// Runs a child in one of them.
pub fn inside(name: &str, child: impl FnOnce() -> i32) {
    sys::reap(sys::fork(|| {
        fs::write(format!("{CGROUPS}/{name}/cgroup.procs"), "0").unwrap();
        child()
    }));
}

pub struct Cgroup(PathBuf);

impl Cgroup {
    /// The group of this name, made if it is not there.
    pub fn new(name: &str) -> Result<Self> {
        let control = PathBuf::from(ROOT).join("cgroup.subtree_control");
        if !control.exists() {
            fs::create_dir_all(ROOT)?;
            sys::mount("none", ROOT, "cgroup2", "")?;
        }
        fs::write(control, "+memory")?;
        let group = Self(PathBuf::from(ROOT).join(name));
        fs::create_dir_all(&group.0)?;
        Ok(group)
    }

    pub fn set(&self, key: &str, value: &str) -> Result<()> {
        fs::write(self.0.join(key), value)
    }

    /// What a file of it says; nothing where it is not there.
    pub fn get(&self, key: &str) -> String {
        fs::read_to_string(self.0.join(key)).unwrap_or_default()
    }

    /// Moves this process into it.
    pub fn join(&self) -> Result<()> {
        self.set("cgroup.procs", "0")
    }
}
