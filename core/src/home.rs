// SPDX-License-Identifier: GPL-3.0-or-later
//! Which kernel module a function lives in where the kernel is built without it: such a function comes and goes.

use crate::hook::Hook;
use crate::module::Module;

/// Beginnings of functions' names, and the module; the longer beginning first.
const HOMES: [(&str, &str); 7] = [
    ("ext4_", "ext4"),
    ("xfs_", "xfs"),
    ("btrfs_", "btrfs"),
    ("nfs4_", "nfsv4"),
    ("nfs_", "nfs"),
    ("zpl_", "zfs"),
    ("md_", "md_mod"),
];

/// The module of a function, by the convention that its name begins with the module's.
pub fn of(function: &str) -> Option<&'static str> {
    HOMES.iter().find(|(beginning, _)| function.starts_with(beginning)).map(|(_, module)| *module)
}

/// The modules of all functions that a row hooks.
pub fn all(row: &'static Module) -> impl Iterator<Item = &'static str> {
    let places = row.probes.iter().flat_map(|probe| probe.hooks).flat_map(Hook::places);
    places.filter_map(|place| place.function().and_then(of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::MODULES;

    #[test]
    fn functions_live_where_their_names_say() {
        for (function, module) in [
            ("ext4_sync_file", Some("ext4")),
            ("nfs_file_open", Some("nfs")),
            ("nfs4_file_open", Some("nfsv4")),
            ("zpl_iter_read", Some("zfs")),
            ("md_flush_request", Some("md_mod")),
            ("generic_file_read_iter", None),
            ("nfsd_read", None),
            ("", None),
        ] {
            assert_eq!(of(function), module, "{function}");
        }
    }
    #[test]
    fn a_row_may_hook_functions_of_several_modules() {
        let homes = |name: &str| {
            let row = MODULES.iter().find(|module| module.name == name).unwrap();
            let mut homes: Vec<_> = all(row).collect();
            homes.sort_unstable();
            homes.dedup();
            homes
        };
        assert_eq!(homes("nfs"), ["nfs", "nfsv4"]);
        assert_eq!(homes("ext4"), ["ext4"]);
        assert!(homes("process").is_empty());
    }
}
