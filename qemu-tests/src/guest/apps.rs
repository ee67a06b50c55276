// SPDX-License-Identifier: GPL-3.0-or-later
//! A population of processes that does known amounts of work: every group's figure must be what its members did, and
//! the sum over all groups what kmote counted for the whole system.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::calls::Pages;
use super::cgroup::{self, CGROUPS};
use super::counters::Counter::{Tasks, TasksNow};
use super::kmote::{Kmote, PROGRAM};
use super::leaving::memory;
use super::run::{Run, Subject};
use super::{FORKS, PAUSED_FORKS, sys};
use crate::row::Outcome;

/// The modules whose work is booked here.
const MODULES: &str = "process,cachestat,fd,shm,swap,dcstat,vfs,socket,oomkill";
/// Where the programs lie by their names, and the groups file.
const HOME: &str = "/tmp/population";
const GROUPS: &[u8] = b"\
alpha: alpha*\n\
beta: 'be ta) (x'\n\
gamma: gamma\n\
bytes: \xff\xfe\x80x\n";
/// Processes that live for about a millisecond, in one interval.
const SHORT: u64 = 2000;
/// Bytes of memory of a machine whose table has room for them, with as many of the scenes before.
const ROOMY: usize = 256 << 20;
/// How often a scene is played when the kernel's own counter says that something else was going on too.
const TRIES: usize = 5;

/// Two cgroups, and what kmote calls them.
const SERVICE: (&str, &str) = (cgroup::SERVICE, "cgroup web");
const CONTAINER: (&str, &str) = (cgroup::CONTAINER, "cgroup 0123456789ab");

/// Totals by group and slot.
type Figures = BTreeMap<(String, String), u64>;

/// What a group does in a scene: processes begun, execs, tasks ended.
type Done = (&'static str, [u64; 3]);

struct Scene {
    name: &'static str,
    play: fn(&mut Stage),
    done: &'static [Done],
    /// In which groups a process was killed for want of memory.
    killed: &'static [&'static str],
}

const NOTHING: Scene = Scene { name: "nothing", play: |_| {}, done: &[], killed: &[] };

const SCENES: &[Scene] = &[
    NOTHING,
    Scene {
        name: "a program of a group",
        play: |_| run("alpha-one", 7),
        done: &[("alpha", [7, 1, 8]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "a name with spaces and parentheses",
        play: |_| run("be ta) (x", 3),
        done: &[("beta", [3, 1, 4]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "a name that is no text",
        play: |_| run_renamed(b"\xff\xfe\x80x", 3),
        done: &[("bytes", [3, 0, 4]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "a child of another name",
        play: |_| family(&["alpha-parent", "zeta"], 2),
        done: &[("alpha", [3, 2, 4]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "a chain of four",
        play: |_| family(&["gamma", "zeta", "eta", "theta"], 5),
        done: &[("gamma", [8, 4, 9]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "a program of no group",
        play: |_| run("omega", 4),
        done: &[("other", [5, 1, 5])],
        ..NOTHING
    },
    // What it does from one read to the next belongs to the group of its old name.
    Scene {
        name: "exec in place",
        play: |stage| in_place(stage, || sys::exec(&format!("{HOME}/gamma"), &format!("{PAUSED_FORKS}4"))),
        done: &[("alpha", [6, 1, 6]), ("gamma", [4, 0, 5]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "a new name by prctl",
        play: |stage| {
            in_place(stage, || {
                sys::rename(b"gamma");
                paused_forks(4)
            });
        },
        done: &[("alpha", [6, 0, 6]), ("gamma", [4, 0, 5]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "in a PID namespace",
        play: |_| {
            sys::reap(sys::fork(|| {
                sys::own_processes();
                sys::reap(sys::fork(|| sys::exec(&format!("{HOME}/alpha-inside"), &format!("{FORKS}3"))))
            }));
        },
        done: &[("alpha", [3, 1, 4]), ("other", [2, 0, 1])],
        ..NOTHING
    },
    Scene {
        name: "in a service's cgroup",
        play: |_| inside(SERVICE.0, 5),
        done: &[("alpha", [5, 1, 6]), (SERVICE.1, [5, 1, 6]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "in a container's cgroup",
        play: |_| inside(CONTAINER.0, 6),
        done: &[("alpha", [6, 1, 7]), (CONTAINER.1, [6, 1, 7]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "killed for want of memory by another",
        play: |_| starve(),
        done: &[("alpha", [0, 0, 1]), (SERVICE.1, [0, 0, 1]), ("other", [1, 0, 0])],
        killed: &["alpha", SERVICE.1],
    },
];

/// What takes long: by the best hooks only.
const CROWDS: &[Scene] = &[
    Scene {
        name: "2000 short processes of a group",
        play: |_| {
            for _ in 0..SHORT {
                sys::reap(sys::fork(|| {
                    sys::rename(b"alpha-short");
                    0
                }));
            }
        },
        done: &[("alpha", [0, 0, SHORT]), ("other", [SHORT, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "2000 short processes with a parent of a group",
        play: |_| run("gamma", SHORT),
        done: &[("gamma", [SHORT, 1, SHORT + 1]), ("other", [1, 0, 0])],
        ..NOTHING
    },
    Scene {
        name: "2000 short processes of another name than their parent",
        play: |_| {
            sys::reap(sys::fork(|| {
                sys::rename(b"gamma");
                for _ in 0..SHORT {
                    sys::reap(sys::fork(|| {
                        sys::rename(b"zeta");
                        0
                    }));
                }
                0
            }));
        },
        done: &[("gamma", [SHORT, 0, SHORT + 1]), ("other", [1, 0, 0])],
        ..NOTHING
    },
];

/// Runs one of the programs, which forks so often.
fn run(name: &str, count: u64) {
    sys::reap(sys::fork(|| sys::exec(&format!("{HOME}/{name}"), &format!("{FORKS}{count}"))));
}

/// The same in a cgroup, which is left before kmote can ask whose it was.
fn inside(cgroup: &str, count: u64) {
    cgroup::inside(cgroup, || sys::exec(&format!("{HOME}/alpha-one"), &format!("{FORKS}{count}")));
}

/// A process in a cgroup whose limit falls below what it holds: it is killed by whoever sets the limit.
fn starve() {
    let limit = |value| fs::write(format!("{CGROUPS}/{}/memory.max", SERVICE.0), value).unwrap();
    let large = sys::fork(|| {
        // Where it is then is noted when it gets its name.
        fs::write(format!("{CGROUPS}/{}/cgroup.procs", SERVICE.0), "0").unwrap();
        sys::rename(b"alpha-large");
        let held = Pages::new(1500);
        held.fill();
        sys::stop();
        0
    });
    sys::wait_until_stopped(large);
    limit("1M");
    sys::reap(large);
    limit("max");
}

/// The same without exec.
fn run_renamed(name: &[u8], count: u64) {
    sys::reap(sys::fork(|| {
        sys::rename(name);
        forks(count)
    }));
}

/// A program whose child is the next program and so on; the last one forks so often.
fn family(names: &'static [&'static str], count: u64) {
    let [name, rest @ ..] = names else { return };
    let order = match rest {
        [] => format!("{FORKS}{count}"),
        rest => format!("{FAMILY}{count} {}", rest.join(" ")),
    };
    sys::reap(sys::fork(|| sys::exec(&format!("{HOME}/{name}"), &order)));
}

/// What the orders of such a program begin with.
pub const FAMILY: &str = "family ";

/// The rest of the family, as one of its programs.
pub fn go_on(order: &str) -> i32 {
    let mut words = order.split(' ');
    let count: u64 = words.next().unwrap().parse().unwrap();
    let names: Vec<&'static str> = words.map(|word| &*word.to_owned().leak()).collect();
    family(names.leak(), count);
    0
}

/// A process of alpha that forks six times, turns into another, and once that was read does the other's work.
fn in_place(stage: &mut Stage, turn: fn() -> i32) {
    let child = sys::fork(|| {
        sys::rename(b"alpha-turning");
        forks(6);
        sys::stop();
        turn()
    });
    for _ in 0..2 {
        sys::wait_until_stopped(child);
        stage.read();
        sys::kill(child as u32, libc::SIGCONT);
    }
    sys::reap(child);
}

/// Stops, and once it is told to go on forks so often.
pub fn paused_forks(count: u64) -> i32 {
    sys::stop();
    forks(count)
}

/// Forks so often, one after the other.
pub fn forks(count: u64) -> i32 {
    for _ in 0..count {
        sys::reap(sys::fork(|| 0));
    }
    0
}

/// Where scenes are played: before kmote's eyes.
struct Stage {
    kmote: Kmote,
}

impl Stage {
    fn open(options: &[&str]) -> Result<Self, String> {
        fs::create_dir_all(HOME).unwrap();
        fs::write(format!("{HOME}/apps_groups.conf"), GROUPS).unwrap();
        for name in [
            "alpha-one",
            "be ta) (x",
            "alpha-parent",
            "zeta",
            "eta",
            "theta",
            "gamma",
            "omega",
            "alpha-inside",
        ] {
            let _ = symlink("/init", format!("{HOME}/{name}"));
        }
        cgroup::set_up().unwrap();
        for above in ["", "system.slice"] {
            fs::write(format!("{CGROUPS}/{above}/cgroup.subtree_control"), "+memory").unwrap();
        }
        // A kernel without swap has no such file.
        let _ = fs::write(format!("{CGROUPS}/{}/memory.swap.max", SERVICE.0), "0");
        let mut command = Command::new(PROGRAM);
        command.args(["slots", "--apps", "--cgroups", "--modules", MODULES]).args(options);
        command.env("NETDATA_USER_CONFIG_DIR", HOME);
        Kmote::start_command(&mut command).map(|kmote| Self { kmote })
    }

    /// Totals once all is quiet: whom a reading meets for the first time is asked for in /proc, and now and then kmote
    /// looks whether all are alive, which is work too; one of the hooks sees the release of a task only after an RCU grace
    /// period. A question and its answer are read and written each time, and no reason to wait.
    fn settled(&mut self) -> Figures {
        let mut last = self.read();
        for _ in 0..50 {
            sleep(Duration::from_millis(20));
            let now = self.read();
            let quiet = without_answers(&now).eq(without_answers(&last));
            last = now;
            if quiet {
                break;
            }
        }
        last
    }

    /// Totals of the groups, and of the system under the name of no group.
    fn read(&mut self) -> Figures {
        let lines = self.kmote.read_lines().unwrap();
        lines.iter().filter_map(|line| figure(line)).collect()
    }
}

/// What asking for figures does not change.
fn without_answers(figures: &Figures) -> impl Iterator<Item = (&(String, String), &u64)> {
    figures.iter().filter(|((_, slot), _)| !slot.starts_with("vfs "))
}

/// `slot MODULE NAME TOTAL` or `group MODULE NAME TOTAL GROUP`
fn figure(line: &str) -> Option<((String, String), u64)> {
    let (kind, rest) = line.split_once(' ')?;
    let mut words = rest.splitn(4, ' ');
    let slot = format!("{} {}", words.next()?, words.next()?);
    let total = words.next()?.parse().ok()?;
    match kind {
        "slot" if !slot.starts_with("apps ") => Some(((String::new(), slot), total)),
        "group" => Some(((words.next()?.to_owned(), slot), total)),
        "cgroup" => Some(((format!("cgroup {}", words.next()?), slot), total)),
        _ => None,
    }
}

impl Run {
    pub fn apps(&mut self) {
        for kind in ["", "tp"] {
            let options: &[&str] = if kind.is_empty() { &[] } else { &["--only", kind] };
            let mechanism = if kind.is_empty() { "best" } else { kind };
            let subject = Subject { module: "apps", mechanism, work: "attach" };
            match Stage::open(options) {
                Err(reason) => self.send(subject, "kmote slots --apps", "ready", "", Outcome::Failed, reason),
                Ok(mut stage) => {
                    let small = memory("MemTotal:") < ROOMY;
                    let crowds = if kind.is_empty() && !small { CROWDS } else { &[] };
                    if small {
                        let why =
                            "a machine with so little memory plans a table of fewer processes".to_owned();
                        self.send(
                            Subject { work: "a crowd", ..subject },
                            "all",
                            "",
                            "",
                            Outcome::Skipped,
                            why,
                        );
                    }
                    for scene in SCENES.iter().chain(crowds) {
                        self.scene(Subject { work: scene.name, ..subject }, scene, &mut stage);
                    }
                    self.equal(subject, "exit status", &"exit status: 0", &stage.kmote.finish());
                }
            }
        }
    }

    fn scene(&mut self, subject: Subject, scene: &Scene, stage: &mut Stage) {
        let of_apps = scene.done.iter().filter(|(name, _)| !name.starts_with("cgroup "));
        let forks = of_apps.map(|(_, done)| done[0]).sum::<u64>();
        for attempt in 1..=TRIES {
            let counters = || [Tasks, TasksNow].map(|counter| counter.read().unwrap_or(0));
            let (before, [tasks, now]) = (stage.read(), counters());
            (scene.play)(stage);
            let after = stage.settled();
            // Kernel threads come, and after minutes of idleness they go.
            if counters() != [tasks + forks as i64, now] && attempt < TRIES {
                continue;
            }
            return self.compare_figures(subject, scene, &before, &after);
        }
    }

    fn compare_figures(&mut self, subject: Subject, scene: &Scene, before: &Figures, after: &Figures) {
        let grown = |group: &str, slot: &str| {
            let key = (group.to_owned(), slot.to_owned());
            let of = |figures: &Figures| figures.get(&key).copied().unwrap_or(0);
            of(after) - of(before)
        };
        // On some kernels not by every mechanism; the hooks' own rows tell.
        let begins_are_seen = after.contains_key(&(String::new(), "process process".to_owned()));
        let cgroups = [SERVICE.1, CONTAINER.1];
        for group in cgroups.into_iter().chain([
            "other",
            "alpha",
            "beta",
            "gamma",
            "\u{fffd}\u{fffd}\u{fffd}x",
            "bytes",
        ]) {
            let mut done =
                scene.done.iter().find(|(name, _)| *name == group).map_or([0; 3], |(_, done)| *done);
            if !begins_are_seen {
                done[0] = 0;
            }
            let seen = ["process process", "process exec", "process exit"].map(|slot| grown(group, slot));
            if done != [0; 3] || seen != [0; 3] {
                self.equal(
                    subject,
                    &format!("{group}: begun, execs, ended"),
                    &format!("{done:?}"),
                    &format!("{seen:?}"),
                );
            }
            let expected = u64::from(scene.killed.contains(&group));
            let seen = grown(group, "oomkill kill");
            if expected + seen > 0 {
                self.equal(subject, &format!("{group}: killed"), &expected, &seen);
            }
        }
        let slots = after.keys().filter(|(group, _)| group.is_empty()).map(|(_, slot)| slot.as_str());
        let total = |slot: &str| after[&(String::new(), slot.to_owned())];
        let sum = |slot: &str, kind: fn(&str) -> bool| {
            let of_kind =
                after.iter().filter(|((group, of), _)| !group.is_empty() && of == slot && kind(group));
            of_kind.map(|(_, total)| total).sum::<u64>()
        };
        for slot in slots {
            // From the first event on, not in this scene alone.
            let all = [
                sum(slot, |group| !group.starts_with("cgroup ")),
                sum(slot, |group| group.starts_with("cgroup ")),
            ];
            let expected = format!("{:?}", [total(slot); 2]);
            self.equal(
                subject,
                &format!("{slot}: sums over groups, cgroups"),
                &expected,
                &format!("{all:?}"),
            );
        }
    }
}
