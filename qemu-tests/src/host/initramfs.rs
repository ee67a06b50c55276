// SPDX-License-Identifier: GPL-3.0-or-later
//! What a guest finds at start: the guest program, kmote, kernel modules, its orders.

use std::fs;
use std::path::Path;

use super::cpio::Cpio;
use super::fetch::Image;
use super::modules::Modules;

/// The modules that the workloads stand on, where they are not built in.
const NEEDED: [&str; 2] = ["nvme", "ext4"];

/// The static programs of one architecture.
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
    let modules = image.modules.as_deref().map(Modules::scan);
    // Without modules the kernel must have everything built in; the guest says what it lacks.
    for (nr, module) in modules.map_or(Ok(Vec::new()), |m| m.in_order(&NEEDED))?.iter().enumerate() {
        cpio.file(&format!("modules/{nr:02}-{}.ko", module.name), 0o644, &module.bytes);
    }
    Ok(cpio.finish())
}
