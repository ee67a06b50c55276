// SPDX-License-Identifier: GPL-3.0-or-later
//! A tree of files that the kernel offers: where it is mounted or, where nobody has mounted it, a mount that only we see.

use crate::sys;
use std::ffi::CStr;
use std::fmt;
use std::fs;
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Such a tree, as the path of its root.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    /// A mount of our own, which stands in no folder and is gone with its descriptor.
    apart: Option<OwnedFd>,
}

impl Tree {
    /// The tree in the first of the places below `prefix` where its entry `proof` can be read. A system in whose `/sys`
    /// nobody has mounted it is not touched: the mount is ours alone (since v5.2, 93766fbd2696).
    pub fn find(prefix: &Path, kind: &CStr, places: &[&str], proof: &str) -> Option<Self> {
        let readable = |root: &Path| fs::metadata(root.join(proof)).is_ok();
        let mounted = places.iter().map(|place| prefix.join(place)).find(|root| readable(root));
        if let Some(root) = mounted {
            return Some(Self { root, apart: None });
        }
        let apart = (prefix == Path::new("/")).then(|| sys::mount_apart(kind).ok()).flatten()?;
        let root = PathBuf::from(format!("/proc/self/fd/{}", apart.as_raw_fd()));
        readable(&root).then_some(Self { root, apart: Some(apart) })
    }
}

impl Deref for Tree {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.root
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.apart {
            Some(_) => out.write_str("not mounted; a mount that only kmote sees"),
            None => self.root.display().fmt(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_tree_is_taken_where_it_is_and_none_is_made_below_a_prefix() {
        let folder = std::env::temp_dir().join(format!("kmote-tree-{}", std::process::id()));
        let find = || Tree::find(&folder, c"tracefs", &["first", "second"], "events");
        assert!(find().is_none());
        fs::create_dir_all(folder.join("first")).unwrap();
        fs::create_dir_all(folder.join("second/events")).unwrap();
        assert_eq!(&*find().unwrap(), folder.join("second"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
