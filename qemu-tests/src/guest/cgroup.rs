// SPDX-License-Identifier: GPL-3.0-or-later
//! A control group with a limit on memory.

use std::fs;
use std::io::Result;
use std::path::PathBuf;

use super::sys;

const ROOT: &str = "/tmp/cgroup";

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

    /// Moves this process into it.
    pub fn join(&self) -> Result<()> {
        self.set("cgroup.procs", "0")
    }
}
