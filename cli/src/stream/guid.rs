// SPDX-License-Identifier: GPL-3.0-or-later
//! The node's identity towards a parent: made once, kept on disk.

use super::request::is_uuid;
use std::fs;
use std::io;
use std::path::Path;

/// The file of the GUID, in the folder of things that are kept.
const FILE: &str = "stream.guid";

/// The GUID of this node: the one on disk, else a new one from the kernel, which is written there. The second value is
/// why it could not be kept: the node would be a new one after the next start.
pub fn of_this_node(folder: &Path, prefix: &Path) -> io::Result<(String, Option<io::Error>)> {
    let path = folder.join(FILE);
    if let Some(kept) =
        fs::read_to_string(&path).ok().map(|text| text.trim().to_owned()).filter(|text| is_uuid(text))
    {
        return Ok((kept, None));
    }
    let new = fs::read_to_string(prefix.join("proc/sys/kernel/random/uuid"))?.trim().to_owned();
    // Written beside and renamed: a machine that loses power meanwhile has the whole of it, or none.
    let beside = folder.join(format!("{FILE}.new"));
    let kept = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&beside, format!("{new}\n")))
        .and_then(|()| fs::rename(&beside, &path));
    Ok((new, kept.err()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_a_broken_one_is_made_anew() {
        let folder = std::env::temp_dir().join(format!("kmote-guid-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let (first, fault) = of_this_node(&folder, Path::new("/")).unwrap();
        assert!(is_uuid(&first) && fault.is_none(), "{fault:?}");
        assert_eq!(of_this_node(&folder, Path::new("/")).unwrap().0, first);
        fs::write(folder.join(FILE), "broken").unwrap();
        let (second, _) = of_this_node(&folder, Path::new("/")).unwrap();
        assert!(is_uuid(&second) && second != first);
        fs::remove_dir_all(&folder).unwrap();
        let (_, fault) = of_this_node(Path::new("/proc/kmote"), Path::new("/")).unwrap();
        assert!(fault.is_some());
    }
}
