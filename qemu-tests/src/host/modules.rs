// SPDX-License-Identifier: GPL-3.0-or-later
//! Kernel modules of a package: what a module needs, in the order of loading.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection};

use super::command::output;

/// The modules below one `lib/modules/VERSION`.
pub struct Modules {
    files: HashMap<String, PathBuf>,
    builtin: Vec<String>,
}

/// A module ready to be loaded: its name and its ELF bytes.
pub struct Module {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Modules {
    pub fn scan(dir: &Path) -> Self {
        let mut files = HashMap::new();
        walk(&dir.join("kernel"), &mut files);
        let builtin = fs::read_to_string(dir.join("modules.builtin")).unwrap_or_default();
        let builtin = builtin.lines().filter_map(|line| module_name(Path::new(line))).collect();
        Self { files, builtin }
    }

    /// The modules to load so that `wanted` work, dependencies first; built-in ones need nothing.
    pub fn in_order(&self, wanted: &[&str]) -> Result<Vec<Module>, String> {
        let mut done = Vec::new();
        for name in wanted {
            self.visit(name, &mut done)?;
        }
        Ok(done)
    }

    fn visit(&self, name: &str, done: &mut Vec<Module>) -> Result<(), String> {
        let name = name.replace('-', "_");
        if self.builtin.contains(&name) || done.iter().any(|m| m.name == name) {
            return Ok(());
        }
        let path = self.files.get(&name).ok_or_else(|| format!("no module {name}"))?;
        let bytes = read(path)?;
        for needed in modinfo(&bytes, "depends=").iter().flat_map(|list| list.split(',')) {
            if !needed.is_empty() {
                self.visit(needed, done)?;
            }
        }
        // A soft dependency may be an alias or absent: the module loads all the same, or says what it misses.
        for soft in modinfo(&bytes, "softdep=").iter().filter_map(|list| list.strip_prefix("pre:")) {
            for needed in soft.split_whitespace().take_while(|word| !word.ends_with(':')) {
                let _ = self.visit(&self.meant(needed), done);
            }
        }
        done.push(Module { name, bytes });
        Ok(())
    }

    /// The module that a soft dependency means: `crypto-crc32c` is an alias of crc32c_generic. Only modules with the word
    /// in their names are asked, since whoever has all aliases has read all modules.
    fn meant(&self, needed: &str) -> String {
        let word = needed.trim_start_matches("crypto-").replace('-', "_");
        let has = |path: &PathBuf| {
            read(path).is_ok_and(|bytes| modinfo(&bytes, "alias=").iter().any(|alias| alias == needed))
        };
        let mut named: Vec<_> = self.files.iter().filter(|(name, _)| name.contains(&word)).collect();
        named.sort();
        let found = named.into_iter().find(|(name, path)| **name == word || has(path));
        found.map_or_else(|| needed.to_owned(), |(name, _)| name.clone())
    }
}

fn walk(dir: &Path, files: &mut HashMap<String, PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else if let Some(name) = module_name(&path) {
            files.insert(name, path);
        }
    }
}

/// `nvme_core` for `…/nvme-core.ko.xz`.
fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    Some(file.split_once(".ko")?.0.replace('-', "_"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => output(Command::new("xz").arg("-dc").arg(path)),
        Some("zst") => output(Command::new("zstd").arg("-dc").arg(path)),
        Some("gz") => output(Command::new("gzip").arg("-dc").arg(path)),
        _ => fs::read(path).map_err(|e| format!("{}: {e}", path.display())),
    }
}

/// The values of a key in a module's `.modinfo`: strings `key=value`, each ended by a zero byte.
fn modinfo(bytes: &[u8], key: &str) -> Vec<String> {
    let file = object::File::parse(bytes).ok();
    let section = file.as_ref().and_then(|file| file.section_by_name(".modinfo")?.data().ok());
    let strings = section.unwrap_or_default().split(|byte| *byte == 0);
    strings
        .filter_map(|s| Some(std::str::from_utf8(s.strip_prefix(key.as_bytes())?).ok()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use object::write::Object as Elf;
    use object::{Architecture, BinaryFormat, Endianness, SectionKind};

    use super::*;

    /// A module with this `.modinfo` behind a section that does not end in a zero.
    fn module(info: &str) -> Vec<u8> {
        let mut elf = Elf::new(BinaryFormat::Elf, Architecture::Arm, Endianness::Little);
        for (name, content) in [(".text", "code"), (".modinfo", info)] {
            let section = elf.add_section(Vec::new(), name.into(), SectionKind::ReadOnlyData);
            elf.append_section_data(section, content.as_bytes(), 1);
        }
        elf.write().unwrap()
    }

    #[test]
    fn names_and_dependencies() {
        assert_eq!(module_name(Path::new("kernel/drivers/nvme/host/nvme-core.ko.xz")).unwrap(), "nvme_core");
        assert_eq!(module_name(Path::new("modules.dep")), None);
        assert_eq!(modinfo(&module("depends=jbd2,mbcache\0name=ext4\0"), "depends="), ["jbd2,mbcache"]);
    }

    #[test]
    fn dependencies_come_first_and_once() {
        let dir = std::env::temp_dir().join(format!("kmote-modules-{}", std::process::id()));
        fs::create_dir_all(dir.join("kernel")).unwrap();
        for (name, needs) in [("a", "b,c"), ("b", "c"), ("c", "")] {
            fs::write(dir.join(format!("kernel/{name}.ko")), module(&format!("depends={needs}\0"))).unwrap();
        }
        fs::write(dir.join("modules.builtin"), "kernel/fs/ext4/ext4.ko\n").unwrap();
        let order = Modules::scan(&dir).in_order(&["a", "b", "ext4"]).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(order.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["c", "b", "a"]);
    }

    #[test]
    fn a_soft_dependency_may_be_an_alias() {
        let dir = std::env::temp_dir().join(format!("kmote-aliases-{}", std::process::id()));
        fs::create_dir_all(dir.join("kernel")).unwrap();
        for (name, info) in [
            ("libcrc32c", "softdep=pre: crc32c"),
            ("ext4", "softdep=pre: crypto-crc32c post: x\0depends=jbd2"),
            ("jbd2", "softdep=pre: gone"),
            ("crc32c_generic", "alias=crypto-crc32c-generic\0alias=crypto-crc32c\0alias=crc32c"),
        ] {
            fs::write(dir.join(format!("kernel/{name}.ko")), module(&format!("{info}\0"))).unwrap();
        }
        let order = Modules::scan(&dir).in_order(&["libcrc32c", "ext4"]).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let names: Vec<_> = order.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["crc32c_generic", "libcrc32c", "jbd2", "ext4"]);
    }
}
