// SPDX-License-Identifier: GPL-3.0-or-later
//! A machine at work: 40 idle processes, and the same known amount of everything in each second.
//!
//! It is the load under which Netdata's own plugin was measured, so that the numbers can stand side by side.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use libc::c_long;

use crate::guest::NOTHING;
use crate::guest::calls::{Pages, SHMAT, SHMCTL, SHMDT, SHMGET, SYNC_FILE_RANGE, call, done, text};
use crate::guest::sys;

const IDLE: usize = 40;
const FOLDER: &str = "/mnt/ext4-4k";

/// The processes of the load.
pub struct Load(Vec<i32>);

impl Load {
    /// Starts it; the caller has one thread.
    pub fn start() -> Self {
        let mut all: Vec<i32> = (0..IDLE).map(|_| sys::fork(idle)).collect();
        all.push(sys::fork(work));
        Self(all)
    }

    pub fn stop(self) {
        for pid in self.0 {
            sys::kill(pid as u32, libc::SIGKILL);
            sys::reap(pid);
        }
    }
}

fn idle() -> i32 {
    sleep(Duration::from_secs(1_000_000));
    0
}

fn work() -> i32 {
    fs::create_dir_all("/tmp/mounted").unwrap();
    let start = Instant::now();
    for second in 1.. {
        (0..10).for_each(|_| assert!(Command::new("/init").arg(NOTHING).status().unwrap().success()));
        (0..5).for_each(|_| thread::spawn(|| {}).join().unwrap());
        files();
        (0..5).for_each(|_| connection());
        datagrams();
        memory();
        done(1, libc::SYS_mount, &[text(c"none"), text(c"/tmp/mounted"), text(c"tmpfs"), 0, 0]);
        done(1, libc::SYS_umount2, &[text(c"/tmp/mounted"), 0]);
        sleep(Duration::from_secs(second).saturating_sub(start.elapsed()));
    }
    0
}

fn files() {
    let path = format!("{FOLDER}/load");
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    (0..64).for_each(|page| file.write_all_at(&[page as u8; 4096], page * 4096).unwrap());
    (0..64).for_each(|page| file.read_exact_at(&mut [0; 4096], page * 4096).unwrap());
    let number = c_long::from(file.as_raw_fd());
    for sync in [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_syncfs, SYNC_FILE_RANGE] {
        done(1, sync, &[number]);
    }
    let page = Pages::new(1);
    done(1, libc::SYS_msync, &[page.address(), 4096, libc::MS_SYNC.into()]);
    sys::sync();
    fs::remove_file(path).unwrap();
    assert!(File::open("/none").is_err());
}

fn connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut far = listener.accept().unwrap().0;
    let mut bytes = [0; 1000];
    near.write_all(&bytes).unwrap();
    far.read_exact(&mut bytes).unwrap();
    far.write_all(&bytes).unwrap();
    near.read_exact(&mut bytes).unwrap();
}

fn datagrams() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..5 {
        socket.send_to(b"kmote", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut [0; 8]).unwrap();
    }
}

/// A segment made, attached, detached and removed.
fn memory() {
    let segment = call(SHMGET, &[libc::IPC_PRIVATE.into(), 4096, 0o600]).unwrap();
    let place = call(SHMAT, &[segment, 0, 0]).unwrap();
    done(1, SHMDT, &[place]);
    done(1, SHMCTL, &[segment, libc::IPC_RMID.into(), 0]);
}
