// SPDX-License-Identifier: GPL-3.0-or-later
//! Which files are read, in which order.

use super::keys;
use kmote_core::module::Module;
use kmote_core::modules::MODULES;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The most that is read of a file: a configuration is text that a person wrote.
const LONGEST: u64 = 1 << 20;

/// The files, for the manual.
pub const FILES: &[(&str, &str)] = &[
    ("/etc/netdata/kmote.conf", "ours; wins over the others; takes what `kmote config` prints"),
    ("/etc/netdata/ebpf.d.conf", "Netdata's, for its own eBPF plugin; ebpf.conf is its old name"),
    ("/etc/netdata/ebpf.d/*.conf", "the same for one module each"),
    ("/etc/netdata/ebpf.d/ebpf_kernel_reject_list.txt", "beginnings of versions of kernels to leave alone"),
    (
        "/usr/lib/netdata/conf.d",
        "where the same files are as Netdata brings them; those above win, key by key",
    ),
    ("/var/lib/kmote/kmote.last-start", "whether the machine survived the last start; may be removed"),
];

/// Where files are looked for.
#[derive(Clone, Debug)]
pub struct Directories {
    /// The user's.
    pub user: PathBuf,
    /// Those that came with Netdata.
    pub stock: PathBuf,
    /// Whether Netdata named its own: what it comes with for its `ebpf.plugin` is nothing to a kmote started by hand.
    pub by_netdata: bool,
    /// What is kept from start to start.
    pub state: PathBuf,
}

impl Directories {
    /// As the environment names them.
    pub fn new(variable: &impl Fn(&str) -> Option<OsString>) -> Self {
        let named = |name: &str, otherwise: &str| {
            variable(name).filter(|path| !path.is_empty()).map_or_else(|| otherwise.into(), PathBuf::from)
        };
        Self {
            user: named("NETDATA_USER_CONFIG_DIR", "/etc/netdata"),
            stock: named("NETDATA_STOCK_CONFIG_DIR", "/usr/lib/netdata/conf.d"),
            by_netdata: variable("NETDATA_STOCK_CONFIG_DIR").is_some(),
            state: named("NETDATA_LIB_DIR", "/var/lib/kmote"),
        }
    }
}

/// Of what a file speaks.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// Of all modules.
    Main,
    /// Of this one.
    Module(&'static Module),
    /// Of all modules, in a section each for what is a module's own.
    Own,
}

/// A file as it was read.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its path, for origins.
    pub path: Rc<str>,
    /// Of what it speaks.
    pub scope: Scope,
    /// Whether it came with Netdata: nobody wrote its lines for us, so those that say nothing to us are passed over.
    pub stock: bool,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Reads what there is, the weakest first: stock before the user's, a main file before those of modules, and ours last.
/// A file that is not there is nothing; one that cannot be read is a sentence.
pub fn read(directories: &Directories) -> (Vec<Text>, Vec<String>) {
    let (mut texts, mut complaints) = (Vec::new(), Vec::new());
    let stock = directories.by_netdata.then_some((&directories.stock, true));
    for (directory, stock) in stock.into_iter().chain([(&directories.user, false)]) {
        let mut take = |path: PathBuf, scope: Scope| match bytes(&path) {
            Ok(Some(bytes)) => {
                texts.push(Text { path: path.to_string_lossy().into(), scope, stock, bytes });
                true
            }
            Ok(None) => false,
            Err(error) => {
                complaints.push(format!("{}: not read: {error}", path.display()));
                true
            }
        };
        // The old name counts only where the new one is not.
        let _ = take(directory.join("ebpf.d.conf"), Scope::Main)
            || take(directory.join("ebpf.conf"), Scope::Main);
        for module in MODULES {
            for stem in keys::stems(module) {
                take(directory.join("ebpf.d").join(format!("{stem}.conf")), Scope::Module(module));
            }
        }
        if !stock {
            take(directory.join("kmote.conf"), Scope::Own);
            let theirs =
                keys::OTHER_FILES.iter().map(|(name, why)| (directory.join("ebpf.d").join(name), why));
            let there = theirs.filter(|(path, _)| path.exists());
            complaints.extend(there.map(|(path, why)| format!("{}: not read: {why}", path.display())));
        }
    }
    (texts, complaints)
}

/// Netdata's list of kernels on which its plugin is to do nothing, the user's before that which came with Netdata, and
/// where it is.
pub fn kernels(directories: &Directories) -> Option<(PathBuf, Vec<u8>)> {
    let stock = directories.by_netdata.then_some(&directories.stock);
    [Some(&directories.user), stock].into_iter().flatten().find_map(|directory| {
        let path = directory.join("ebpf.d/ebpf_kernel_reject_list.txt");
        let bytes = bytes(&path).ok()??;
        Some((path, bytes))
    })
}

fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
