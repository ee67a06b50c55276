// SPDX-License-Identifier: GPL-3.0-or-later
//! A kernel on disk: fetched once, cached outside of the tree, found in any of Debian's layouts.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::apt::{Package, Tree};
use super::matrix::Kernel;

/// A kernel that can be booted.
#[derive(Clone, Debug)]
pub struct Image {
    pub path: PathBuf,
    /// `lib/modules/VERSION`, where there is one.
    pub modules: Option<PathBuf>,
    /// What it is, for people: the package and its version, or the path.
    pub origin: String,
}

pub fn cache() -> PathBuf {
    let from = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    from("KMOTE_CACHE").unwrap_or_else(|| {
        from("XDG_CACHE_HOME")
            .or_else(|| from("HOME").map(|home| home.join(".cache")))
            .unwrap_or_else(env::temp_dir)
            .join("kmote")
    })
}

/// The kernel from the cache, or from the archive if it is not there or newer ones are asked for.
pub fn image(kernel: &Kernel, refresh: bool) -> Result<Image, String> {
    // Two lines of the matrix may name one package.
    let key = format!("{}-{}-{}", kernel.arch.machine().name, kernel.suite, kernel.pattern.replace('*', "_"));
    let dir = cache().join("kernels").join(key);
    if refresh || !dir.join("origin").exists() {
        download(kernel, &dir)?;
    }
    let origin = fs::read_to_string(dir.join("origin")).map_err(|e| e.to_string())?;
    locate(&dir, origin.trim().to_owned())
}

fn download(kernel: &Kernel, dir: &Path) -> Result<(), String> {
    let tree = Tree::update(&cache(), kernel)?;
    let candidates = tree.candidates(&kernel.pattern)?;
    if candidates.is_empty() {
        return Err(format!("no package {} in {}", kernel.pattern, kernel.suite));
    }
    // The index sometimes names files that the mirror has already dropped: then an older one will do.
    let mut failure = String::new();
    for package in candidates.iter().take(3) {
        match unpack_whole(&tree, package, dir) {
            Ok(()) => return Ok(()),
            Err(reason) => failure = format!("{} {}: {reason}", package.name, package.version),
        }
    }
    Err(failure)
}

/// Unpacks a kernel with its modules and puts it into its place in the cache in one step.
fn unpack_whole(tree: &Tree, package: &Package, dir: &Path) -> Result<(), String> {
    let new = dir.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_dir_all(&new);
    fs::create_dir_all(&new).map_err(|e| format!("{}: {e}", new.display()))?;
    tree.unpack(package, &new)?;
    let mut origin = format!("{} {}", package.name, package.version);
    // From 6.19 on Debian splits the image: the kernel, its modules, and the list of what is built in.
    for part in ["linux-modules-", "linux-base-"] {
        let Some(rest) = package.name.strip_prefix("linux-binary-") else { break };
        let other = Package { name: format!("{part}{rest}"), version: package.version.clone() };
        if tree.candidates(&other.name)?.contains(&other) {
            tree.unpack(&other, &new)?;
        } else {
            let _ = write!(origin, " (the index lacks {})", other.name);
        }
    }
    fs::write(new.join("origin"), &origin).map_err(|e| e.to_string())?;
    let _ = fs::remove_dir_all(dir);
    fs::rename(&new, dir).map_err(|e| e.to_string())
}

fn locate(dir: &Path, origin: String) -> Result<Image, String> {
    let versions = ["usr/lib/modules", "lib/modules"].map(|place| children(&dir.join(place)));
    let modules = versions.into_iter().flatten().next();
    let inside = modules.iter().map(|m| m.join("vmlinuz")).filter(|path| path.exists());
    let boot = children(&dir.join("boot"))
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinu")));
    let path = boot.chain(inside).next().ok_or_else(|| format!("{origin}: no kernel in the package"))?;
    Ok(Image { path, modules, origin })
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}
