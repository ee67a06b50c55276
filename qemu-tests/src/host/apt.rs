// SPDX-License-Identifier: GPL-3.0-or-later
//! Packages of another suite or architecture, through a private apt tree; apt checks every signature.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::{output, succeed};
use super::matrix::{Kernel, fits};
use super::sources::archive_for;

/// A private tree for one suite and one architecture: apt reads all lists at every call, and many are slow.
pub struct Tree {
    root: PathBuf,
    arch: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
}

impl Tree {
    /// Makes the tree and fetches its index.
    pub fn update(cache: &Path, kernel: &Kernel) -> Result<Self, String> {
        let arch = kernel.arch.machine().name;
        let root = cache.join("kernel-apt").join(format!("{}-{arch}", kernel.suite));
        for dir in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(root.join(dir)).map_err(|e| format!("{}: {e}", root.display()))?;
        }
        let source = archive_for(&kernel.suite)?.source(&kernel.suite, arch);
        fs::write(root.join("private.sources"), source).map_err(|e| e.to_string())?;
        fs::write(root.join("status"), "").map_err(|e| e.to_string())?;
        let tree = Self { root, arch };
        succeed(tree.apt_get().args(["-o", "APT::Update::Error-Mode=any", "update"]))?;
        Ok(tree)
    }

    fn apt_get(&self) -> Command {
        let mut command = Command::new("apt-get");
        let path = |name: &str| self.root.join(name).display().to_string();
        let options = [
            format!("Dir::Etc::sourcelist={}", path("private.sources")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferences=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            format!("Dir::State={}", path("")),
            format!("Dir::State::lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("")),
            format!("Dir::Cache::archives={}", path("archives")),
            "Dir::Cache::pkgcache=".to_owned(),
            "Dir::Cache::srcpkgcache=".to_owned(),
            format!("APT::Architecture={}", self.arch),
            format!("APT::Architectures={}", self.arch),
            // The cache is the user's own folder, which apt's unprivileged user cannot write to.
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::GzipIndexes=false".to_owned(),
            "Acquire::Retries=3".to_owned(),
        ];
        command.env("LC_ALL", "C").arg("-q").args(options.iter().flat_map(|option| ["-o", option]));
        command
    }

    /// The packages of the index whose name fits a pattern, newest first.
    pub fn candidates(&self, pattern: &str) -> Result<Vec<Package>, String> {
        let lists = fs::read_dir(self.root.join("lists")).map_err(|e| e.to_string())?;
        let mut found = Vec::new();
        for list in lists.flatten().map(|entry| entry.path()) {
            if list.to_string_lossy().ends_with("_Packages") {
                let text = fs::read(&list).map_err(|e| format!("{}: {e}", list.display()))?;
                found.extend(packages(&String::from_utf8_lossy(&text), pattern));
            }
        }
        found.sort_by(|a, b| compare(&b.version, &a.version));
        Ok(found)
    }

    /// Downloads one package and unpacks it into a folder.
    pub fn unpack(&self, package: &Package, into: &Path) -> Result<(), String> {
        let work = self.root.join("download");
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).map_err(|e| e.to_string())?;
        let wanted = format!("{}={}", package.name, package.version);
        succeed(self.apt_get().current_dir(&work).args(["download", &wanted]))?;
        let file = fs::read_dir(&work).map_err(|e| e.to_string())?.flatten().next();
        let file = file.ok_or_else(|| format!("apt-get download left no file for {wanted}"))?.path();
        succeed(Command::new("dpkg-deb").arg("-x").arg(&file).arg(into))?;
        fs::remove_dir_all(&work).map_err(|e| e.to_string())
    }
}

fn packages(index: &str, pattern: &str) -> Vec<Package> {
    let field = |stanza: &str, key: &str| {
        stanza.lines().find_map(|line| line.strip_prefix(key)).map(|value| value.trim().to_owned())
    };
    let stanzas = index.split("\n\n").filter(|stanza| stanza.starts_with("Package: linux-"));
    let named = stanzas.filter_map(|stanza| Some((stanza, field(stanza, "Package: ")?)));
    let fitting = named.filter(|(_, name)| fits(pattern, name));
    fitting
        .filter_map(|(stanza, name)| Some(Package { name, version: field(stanza, "Version: ")? }))
        .collect()
}

fn compare(a: &str, b: &str) -> Ordering {
    let is = |relation| output(Command::new("dpkg").args(["--compare-versions", a, relation, b])).is_ok();
    match (is("lt"), is("gt")) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_searched_by_name() {
        let index = "Package: linux-image-6.12.1-cloud-amd64\nVersion: 6.12.1-1\n\nPackage: zlib\nVersion: 1\n\n\
            Package: linux-image-6.12.1-amd64\nVersion: 6.12.1-1\n";
        let found = packages(index, "linux-image-6.12.*-cloud-amd64");
        let wanted = Package { name: "linux-image-6.12.1-cloud-amd64".into(), version: "6.12.1-1".into() };
        assert_eq!(found, [wanted]);
    }

    #[test]
    fn versions_are_compared_as_dpkg_does() {
        assert_eq!(compare("6.12.117-1", "6.12.107-1"), Ordering::Greater);
        assert_eq!(compare("7.3~rc7-1", "7.3-1"), Ordering::Less);
    }
}
