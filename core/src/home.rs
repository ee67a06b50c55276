// SPDX-License-Identifier: GPL-3.0-or-later
//! Which kernel module a function lives in where the kernel is built without it: such a function comes and goes.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
