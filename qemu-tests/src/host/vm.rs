// SPDX-License-Identifier: GPL-3.0-or-later
//! One boot of one kernel: disks, QEMU, and what came over the console.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::command::succeed;
use super::machine::Arch;

/// The disks: a serial number, by which the guest tells them apart, what makes the filesystem on it, if there is one, in so
/// many MiB, and QEMU's device.
const DISKS: [(&str, u64, &[&str], &str); 5] = [
    ("ext4-4k", 64, &["mkfs.ext4", "-b", "4096"], "nvme"),
    ("ext4-1k", 64, &["mkfs.ext4", "-b", "1024"], "nvme"),
    ("xfs", 300, &["mkfs.xfs"], "nvme"),
    ("btrfs", 128, &["mkfs.btrfs"], "nvme"),
    ("virtio", 8, &[], "virtio-blk-pci"),
];

/// Only what every kernel from 3.10 on can mount.
const EXT4_FEATURES: &str = "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,flex_bg,\
    sparse_super,large_file,huge_file,uninit_bg,dir_nlink,extra_isize";

pub struct Boot<'a> {
    pub arch: Arch,
    pub kernel: &'a Path,
    pub initramfs: &'a [u8],
    pub cpus: u32,
    pub maxcpus: u32,
    /// In MiB.
    pub memory: u32,
    /// Whether the guest's clock counts instructions: one a nanosecond, and idle time goes by at once.
    pub icount: bool,
    /// A named pipe, without its ending, at the other end of the second serial line.
    pub pipe: Option<&'a Path>,
    pub timeout: Duration,
    /// Where the console is kept too, while it comes.
    pub console: Option<PathBuf>,
}

/// Boots and returns the whole console; the error carries it as well.
pub fn run(boot: &Boot) -> Result<String, String> {
    let folder = Folder::new()?;
    let initrd = folder.0.join("initrd");
    fs::write(&initrd, boot.initramfs).map_err(|e| e.to_string())?;
    let mut command = qemu(boot, &initrd);
    for (serial, size, make, device) in DISKS {
        let path = folder.0.join(serial);
        make_disk(&path, size, make)?;
        let drive = format!("file={},if=none,id={serial},format=raw,cache=unsafe", path.display());
        command.args(["-drive", &drive, "-device", &format!("{device},drive={serial},serial={serial}")]);
    }
    let child = command.spawn().map_err(|e| {
        let machine = boot.arch.machine();
        format!("{}: {e} (Debian package {})", machine.qemu, machine.package)
    })?;
    let console = boot.console.as_ref().and_then(|path| fs::File::create(path).ok());
    wait(child, boot.timeout, console)
}

fn qemu(boot: &Boot, initrd: &Path) -> Command {
    let machine = boot.arch.machine();
    let mut command = Command::new(machine.qemu);
    command.args(machine.options);
    command.args(["-nodefaults", "-no-reboot", "-accel", "tcg", "-display", "none"]);
    command.args(["-serial", "stdio"]);
    if let Some(pipe) = boot.pipe {
        command.arg("-serial").arg(format!("pipe:{}", pipe.display()));
    }
    if boot.icount {
        command.args(["-icount", "shift=0,sleep=off"]);
    }
    command.arg("-m").arg(boot.memory.to_string());
    command.arg("-smp").arg(format!("{},maxcpus={}", boot.cpus, boot.maxcpus));
    command.arg("-kernel").arg(boot.kernel).arg("-initrd").arg(initrd);
    // The guest's clock may run far ahead of a disk while it waits for it.
    let patience = if boot.icount { "nvme_core.io_timeout=1000000" } else { "" };
    let words = format!("console={} panic=-1 quiet {} {patience}", machine.console, machine.words);
    command.arg("-append").arg(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn make_disk(path: &Path, size: u64, make: &[&str]) -> Result<(), String> {
    let file = fs::File::create(path).map_err(|e| e.to_string())?;
    file.set_len(size << 20).map_err(|e| e.to_string())?;
    let [program, arguments @ ..] = make else { return Ok(()) };
    let search = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut command = Command::new(program);
    command.env("PATH", search).args(arguments).arg("-q");
    if *program == "mkfs.ext4" {
        // Lazy initialisation would dirty buffers in the background while the tests count them.
        command.args(["-F", "-O", EXT4_FEATURES, "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    }
    succeed(command.arg(path))
}

fn wait(mut child: Child, timeout: Duration, console: Option<fs::File>) -> Result<String, String> {
    let stdout = collect(child.stdout.take().unwrap(), console);
    let stderr = collect(child.stderr.take().unwrap(), None);
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if start.elapsed() < timeout => thread::sleep(Duration::from_millis(50)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
        }
    };
    let (console, errors) = (stdout.join().unwrap(), stderr.join().unwrap());
    match status {
        Some(status) if status.success() => Ok(console),
        Some(status) => Err(format!("QEMU ended with {status}\n{errors}{console}")),
        None => Err(format!("no end after {} s\n{errors}{console}", timeout.as_secs())),
    }
}

/// Everything to the end, each line behind the seconds since the start.
fn collect(stream: impl Read + Send + 'static, mut copy: Option<fs::File>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let (start, mut text, mut line) = (Instant::now(), String::new(), Vec::new());
        let mut lines = BufReader::new(stream);
        while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let seconds = start.elapsed().as_secs_f64();
            let words = String::from_utf8_lossy(&line);
            let whole = format!("{seconds:7.2} {}\n", words.trim_end_matches(['\r', '\n']));
            let _ = copy.as_mut().map(|copy| copy.write_all(whole.as_bytes()));
            text.push_str(&whole);
            line.clear();
        }
        text
    })
}

/// A temporary folder of one boot.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("kmote-vm-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
