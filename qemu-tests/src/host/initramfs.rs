// SPDX-License-Identifier: GPL-3.0-or-later
//! What a guest finds at start: the guest program, kmote, kernel modules, its orders.

use std::fs;
use std::path::Path;

use super::cpio::Cpio;
use super::fetch::Image;
use super::modules::{Module, Modules};

/// The modules that the workloads stand on, where they are not built in.
const NEEDED: [&str; 2] = ["nvme", "ext4"];

/// What a module of kmote waits for, and is loaded when its turn comes: in `/later/NAME`.
const LATER: [(&str, &[&str]); 5] = [
    ("xfs", &["xfs"]),
    ("btrfs", &["btrfs"]),
    ("nfs", &["nfs", "nfsv4", "nfsd"]),
    ("disk", &["null_blk", "virtio_pci", "virtio_blk"]),
    ("mdflush", &["brd", "raid1"]),
];

/// The static programs of a guest.
#[derive(Clone, Debug)]
pub struct Binaries {
    pub kmote: std::path::PathBuf,
    pub guest: std::path::PathBuf,
}

pub fn build(image: &Image, binaries: &Binaries, orders: &str) -> Result<Vec<u8>, String> {
    let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let mut cpio = Cpio::default();
    for dir in ["dev", "proc", "sys", "tmp", "mnt", "modules"] {
        cpio.directory(dir);
    }
    cpio.character_device("dev/console", 5, 1);
    cpio.file("init", 0o755, &read(&binaries.guest)?);
    cpio.file("kmote", 0o755, &read(&binaries.kmote)?);
    cpio.file("orders", 0o644, orders.as_bytes());
    // Without modules the kernel must have everything built in; the guest says what it lacks.
    if let Some(modules) = image.modules.as_deref().map(Modules::scan) {
        add(&mut cpio, "modules", &modules.in_order(&NEEDED)?);
        cpio.directory("later");
        for (name, needed) in LATER.iter().filter(|(name, _)| asked_for(orders, name)) {
            cpio.directory(&format!("later/{name}"));
            add(&mut cpio, &format!("later/{name}"), &modules.in_order(needed)?);
        }
    }
    Ok(cpio.finish())
}

/// Whether the guest is told to test a module of kmote: by name, or by no name at all.
fn asked_for(orders: &str, module: &str) -> bool {
    let mut only = orders.lines().filter_map(|line| line.strip_prefix("only ")).peekable();
    // What costs is measured on a disk in memory, which is of the same kind as the arrays' members.
    let on_memory = module == "mdflush" && orders.lines().any(|line| line == "flag cost");
    on_memory || only.peek().is_none() || only.any(|name| name == module)
}

fn add(cpio: &mut Cpio, folder: &str, modules: &[Module]) {
    for (nr, module) in modules.iter().enumerate() {
        cpio.file(&format!("{folder}/{nr:02}-{}.ko", module.name), 0o644, &module.bytes);
    }
}
