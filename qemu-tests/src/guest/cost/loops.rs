// SPDX-License-Identifier: GPL-3.0-or-later
//! The work that events are measured by: the cheapest calls that reach a module's hooks, again and again.

use std::fs::File;
use std::net::UdpSocket;
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kmote_core::chart::Mode;

use crate::guest::calls::{NO_FILE, SHMAT, SHMCTL, SHMDT, SHMGET, SYNC_FILE_RANGE, done, refused, text};
use crate::guest::place::Place;
use crate::guest::sys;
use crate::workloads;

/// How often a piece of work is done.
const TIMES: usize = 200;
/// How often it is measured; the least counts, since ticks and RCU only ever add.
pub const REPEATS: usize = 4;

/// A piece of work, and what must be there before it.
struct Piece {
    prepare: fn(&mut Place),
    work: fn(&mut Place),
}

pub struct Work {
    pub name: &'static str,
    pieces: Vec<Piece>,
    /// Whether how long it takes depends on how many instructions that is, and not on a clock.
    pub timed: bool,
}

impl Work {
    /// What is done for a module: calls of its own, or the workload that the matrix compares.
    pub fn of(module: &str, mode: Mode, place: &Place) -> Option<Self> {
        let on_disk = |name, work| {
            place.has(&place.disk).then(|| Self {
                name,
                pieces: vec![Piece { prepare: warm, work }],
                timed: true,
            })
        };
        match module {
            "process" => {
                Some(Self::new("30 forks", |_| (0..30).for_each(|_| _ = sys::reap(sys::fork(|| 0)))))
            }
            "cachestat" => on_disk("200 pages read and written", read_and_write),
            "ext4" | "xfs" | "btrfs" => on_disk("200 pages read", read),
            "vfs" => on_disk("200 pages read and written", read_and_write),
            "fd" => Some(Self::new("200 opens and closes refused", |_| {
                refused(TIMES, libc::SYS_openat, &[libc::AT_FDCWD.into(), text(c"/none"), 0, 0]);
                refused(TIMES, libc::SYS_close, &[NO_FILE]);
            })),
            "sync" => Some(Self::new("200 of each call refused", |_| {
                for call in [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_syncfs, SYNC_FILE_RANGE] {
                    refused(TIMES, call, &[NO_FILE]);
                }
                refused(TIMES, libc::SYS_msync, &[1, 4096, libc::MS_SYNC.into()]);
                done(1, libc::SYS_sync, &[]);
            })),
            "shm" => Some(Self::new("200 of each call refused", |_| {
                refused(TIMES, SHMGET, &[libc::IPC_PRIVATE.into(), 0, 0]);
                refused(TIMES, SHMAT, &[-1, 0, 0]);
                refused(TIMES, SHMDT, &[0]);
                refused(TIMES, SHMCTL, &[-1, libc::IPC_RMID.into(), 0]);
            })),
            "mount" => Some(Self::new("200 mounts and unmounts refused", |_| {
                refused(TIMES, libc::SYS_mount, &[text(c"none"), text(c"/tmp"), text(c"none"), 0, 0]);
                refused(TIMES, libc::SYS_umount2, &[text(c"/none"), 0]);
            })),
            "dcstat" => Some(Self::new("200 names looked up", |_| {
                refused(TIMES, libc::SYS_openat, &[libc::AT_FDCWD.into(), text(c"/tmp/none"), 0, 0]);
            })),
            "socket" => Some(Self::new("100 datagrams", datagrams)),
            "softirq" | "hardirq" => Some(Self {
                timed: false,
                ..Self::new("200 sleeps of 1 ms", |_| (0..TIMES).for_each(|_| sleep(MS)))
            }),
            _ => Self::of_workload(module, mode, place),
        }
    }

    fn new(name: &'static str, work: fn(&mut Place)) -> Self {
        Self { name, pieces: vec![Piece { prepare: nothing, work }], timed: true }
    }

    fn of_workload(module: &str, mode: Mode, place: &Place) -> Option<Self> {
        let steps = workloads::steps(module, mode).into_iter();
        let possible = steps.filter(|step| {
            step.name != "nothing" && step.cpus <= place.cpus && step.disk.is_none_or(|disk| place.has(disk))
        });
        let pieces: Vec<_> = possible.map(|step| Piece { prepare: step.prepare, work: step.work }).collect();
        (!pieces.is_empty()).then_some(Self { name: "the workload", pieces, timed: true })
    }

    /// Does it again and again; the fewest instructions that it took.
    pub fn least(&self, place: &mut Place) -> u64 {
        let least = |piece: &Piece, place: &mut Place| {
            let times = (0..REPEATS).map(|_| {
                (piece.prepare)(place);
                let start = Instant::now();
                (piece.work)(place);
                start.elapsed().as_nanos() as u64
            });
            times.min().unwrap()
        };
        self.pieces.iter().map(|piece| least(piece, place)).sum()
    }
}

const MS: Duration = Duration::from_millis(1);

fn nothing(_: &mut Place) {}

/// A file in memory whose pages have been accessed, and written back.
fn warm(place: &mut Place) {
    place.cold_file(&place.disk.clone(), TIMES as u64);
    place.read(TIMES as u64);
}

fn each_page(file: &File, what: impl Fn(&File, u64)) {
    (0..TIMES as u64).for_each(|page| what(file, page * 4096));
}

fn read(place: &mut Place) {
    each_page(place.file(), |file, at| file.read_exact_at(&mut [0; 64], at).unwrap());
}

fn read_and_write(place: &mut Place) {
    read(place);
    each_page(place.file(), |file, at| file.write_all_at(&[1; 64], at).unwrap());
}

fn datagrams(_: &mut Place) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..100 {
        socket.send_to(b"kmote", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut [0; 8]).unwrap();
    }
}
