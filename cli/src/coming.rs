// SPDX-License-Identifier: GPL-3.0-or-later
//! Modules that hook functions of kernel modules, which come and go: these are looked after.

use crate::collector::Wanted;
use crate::protocol::{self, Numbers};
use kmote_bpf::kernel::Kernel;
use kmote_core::home;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often is looked whether a kernel module came or went.
pub const LOOK: Duration = Duration::from_secs(30);

/// A module that hooks functions of kernel modules.
#[derive(Debug)]
pub struct Coming {
    /// The module, and how it is wanted.
    pub wanted: Wanted,
    /// What it has counted, while nothing of it is attached.
    pub state: Numbers,
    homes: Vec<(PathBuf, u64)>,
}

impl Coming {
    /// Looks after a module; `None` when all that it hooks is of the kernel itself.
    pub fn new(kernel: &Kernel, wanted: &Wanted) -> Option<Self> {
        let mut homes: Vec<_> = home::all(wanted.module).map(|home| kernel.module(home)).collect();
        homes.sort_unstable();
        homes.dedup();
        let homes: Vec<_> =
            homes.into_iter().map(|path| (identity(&path), path)).map(|(id, path)| (path, id)).collect();
        (!homes.is_empty()).then(|| Self { wanted: *wanted, state: protocol::state(wanted.module), homes })
    }

    /// Whether one of the kernel modules came, went, or went and came again since the last look.
    pub fn changed(&mut self) -> bool {
        let mut changed = false;
        for (path, before) in &mut self.homes {
            let now = identity(path);
            changed |= now != *before;
            *before = now;
        }
        changed
    }
}

/// What tells a loaded module from itself loaded again: the inode of its directory in sysfs; 0 while it is not loaded.
fn identity(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |directory| directory.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kmote_core::chart::Mode;
    use kmote_core::modules::MODULES;

    #[test]
    fn modules_that_come_go_and_come_again_are_noticed_once() {
        let prefix = std::env::temp_dir().join(format!("kmote-coming-{}", std::process::id()));
        let (nfs, v4) = (prefix.join("sys/module/nfs"), prefix.join("sys/module/nfsv4"));
        fs::create_dir_all(&nfs).unwrap();
        let kernel = Kernel::ask(&prefix, None);
        let row = MODULES.iter().filter(|module| module.name == "nfs");
        let wanted = Wanted::all(row, Mode::Entry);
        let mut coming = Coming::new(&kernel, &wanted[0]).unwrap();
        let mut changed = [coming.changed()].to_vec();
        fs::create_dir_all(&v4).unwrap();
        changed.extend([coming.changed(), coming.changed()]);
        fs::remove_dir(&v4).unwrap();
        changed.extend([coming.changed(), coming.changed()]);
        // Loaded again between two looks: another directory of the same name.
        fs::rename(&nfs, prefix.join("old")).unwrap();
        fs::create_dir_all(&nfs).unwrap();
        changed.extend([coming.changed(), coming.changed()]);
        fs::remove_dir_all(&prefix).unwrap();
        assert_eq!(changed, [false, true, false, true, false, true, false]);
        assert!(Coming::new(&kernel, &Wanted::all(&MODULES[..1], Mode::Entry)[0]).is_none());
    }
}
