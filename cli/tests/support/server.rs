// SPDX-License-Identifier: GPL-3.0-or-later
//! A real Netdata with folders and a port of its own, on loopback, and what it answers.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use super::machine::{Folder, children, holds_within, signal};
use super::run::{KMOTE, LONG};

/// How long a whole machine under load may take to start Netdata, and Netdata its plugin.
const PATIENT: Duration = Duration::from_secs(60);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);
/// More bytes than a collector writes before the first values of its charts.
const ANNOUNCED: u64 = 10_000;
/// After a question that had no answer.
const PAUSE: Duration = Duration::from_millis(200);

/// Everything off but the plugin; nothing asks or tells the outside.
const CONFIGURATION: &str = include_str!("netdata.conf");

/// Netdata in the foreground, killed with the value.
pub struct Netdata {
    folder: Folder,
    port: u16,
    child: Child,
}

/// A counter as the plugin sent it, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collected {
    pub value: i64,
    pub milliseconds: u64,
}

impl Netdata {
    /// Starts it with a link to the binary as its only plugin.
    pub fn start() -> Self {
        let folder = folders();
        symlink(KMOTE, folder.path().join("plugins/kmote.plugin")).unwrap();
        Self::start_in(folder, free_port())
    }

    /// The same with a configuration of the plugin, and a groups file.
    pub fn start_grouping(configuration: &str, groups: &str) -> Self {
        let folder = folders();
        fs::write(folder.path().join("conf/apps_groups.conf"), groups).unwrap();
        symlink(KMOTE, folder.path().join("plugins/kmote.plugin")).unwrap();
        fs::write(folder.path().join("conf/kmote.conf"), configuration).unwrap();
        Self::start_in(folder, free_port())
    }

    /// Starts it with a plugin that hands on what comes through a pipe.
    pub fn start_reading(pipe: &Path) -> Self {
        let folder = folders();
        let plugin = folder.path().join("plugins/kmote.plugin");
        fs::write(&plugin, format!("#!/bin/sh\nexec cat '{}'\n", pipe.display())).unwrap();
        fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).unwrap();
        Self::start_in(folder, free_port())
    }

    /// Starts it without any plugin, as a parent that takes streams with this key.
    pub fn start_parent(key: &str) -> Self {
        let folder = folders();
        let text = format!("[{key}]\n    type = api\n    enabled = yes\n    default memory mode = ram\n");
        fs::write(folder.path().join("conf/stream.conf"), text).unwrap();
        Self::start_in(folder, free_port())
    }

    /// Ends it by a signal, and starts it again in the same place.
    pub fn restart(&mut self, name: &str) {
        self.end(name);
        self.child = spawn(self.folder.path(), &self.folder.path().join("conf/netdata.conf"));
    }

    /// Where it listens.
    pub const fn port(&self) -> u16 {
        self.port
    }

    fn start_in(folder: Folder, port: u16) -> Self {
        fs::write(folder.path().join("conf/.opt-out-from-anonymous-statistics"), "").unwrap();
        let text = CONFIGURATION
            .replace("{folder}", folder.path().to_str().unwrap())
            .replace("{port}", &port.to_string());
        let configuration = folder.path().join("conf/netdata.conf");
        fs::write(&configuration, text).unwrap();
        let child = spawn(folder.path(), &configuration);
        Self { folder, port, child }
    }

    /// Waits until it has seen a first update of a chart.
    pub fn wait_for_chart(&mut self, id: &str) {
        let path = format!("/api/v1/data?chart={id}");
        if holds_within(LONG, || self.try_get(&path).is_some()) {
            return;
        }
        // Seen once, on a machine of CI: no chart within 20 s, and no word in the log. Where the collector has sent its
        // charts and values it has done its part, and Netdata is given a second try; else this is a fault of ours.
        let state = self.state();
        assert!(self.collectors().iter().any(|&pid| sent(pid) > ANNOUNCED), "{id} never came\n{state}");
        eprintln!("{id} did not come; Netdata is started anew\n{state}");
        self.restart("KILL");
        let arrived = holds_within(PATIENT, || self.try_get(&path).is_some());
        assert!(arrived, "{id} never came\n{}", self.state());
    }

    pub fn get(&self, path: &str) -> String {
        let mut answer = None;
        holds_within(PATIENT, || {
            answer = self.try_get(path);
            answer.is_some()
        });
        answer.unwrap_or_else(|| panic!("no answer to {path}\n{}", self.state()))
    }

    /// What there is to know when something never came: whether Netdata answers at all, and what it and its
    /// collectors do.
    fn state(&self) -> String {
        let answers = self.try_get("/api/v1/info").is_some();
        let mut text = format!("answers of itself: {answers}; charts: {:?}\n", self.charts());
        for pid in self.collectors().into_iter().chain([self.child.id()]) {
            for file in ["wchan", "syscall", "stack", "status"] {
                let read = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
                text.push_str(&format!("{pid} {file}: {}\n", read.trim_end()));
            }
        }
        text + &self.log()
    }

    /// One request; `None`, after a pause, if there is no answer or another than 200: whoever asks again must not
    /// fill the very moment in which Netdata makes its charts with questions for them.
    pub fn try_get(&self, path: &str) -> Option<String> {
        let answer = self.ask(path);
        if answer.is_none() {
            sleep(PAUSE);
        }
        answer
    }

    fn ask(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(ANSWER)).ok()?;
        // In one piece: Netdata answers, and closes, as soon as it has read a whole request line.
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200 ").then(|| body.into())
    }

    /// The stored points of a chart after a second and up to another, oldest first: values by name.
    pub fn points(&self, chart: &str, after: u64, before: u64) -> Vec<HashMap<String, f64>> {
        let path =
            format!("/api/v1/data?chart={chart}&after={after}&before={before}&format=csv&options=seconds");
        let text = self.get(&path);
        let mut lines = text.lines().map(|line| line.trim_end().split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let mut points: Vec<(u64, _)> = lines
            .map(|cells| {
                let values = names.iter().zip(&cells).skip(1);
                let known = values.filter_map(|(name, cell)| Some((name.to_string(), cell.parse().ok()?)));
                (cells[0].parse().unwrap(), known.collect())
            })
            .collect();
        points.retain(|(second, _)| (after + 1..=before).contains(second));
        points.sort_by_key(|(second, _)| *second);
        points.into_iter().map(|(_, values)| values).collect()
    }

    /// The last values of a chart as they were sent, by the name of the dimension.
    pub fn collected(&self, chart: &str) -> HashMap<String, Collected> {
        let text = self.get("/api/v1/allmetrics?format=prometheus&source=raw&timestamps=yes");
        let wanted = format!("chart=\"{chart}\"");
        text.lines().filter(|line| line.contains(&wanted)).map(sample).collect()
    }

    /// The ids of all charts that it has; none before it answers.
    pub fn charts(&self) -> BTreeSet<String> {
        let path = "/api/v1/allmetrics?format=prometheus&source=raw&timestamps=no";
        let text = self.try_get(path).unwrap_or_default();
        let chart = |line: &str| Some(line.split_once("{chart=\"")?.1.split_once('"')?.0.to_owned());
        text.lines().filter_map(chart).collect()
    }

    /// Its complaints about a plugin; these carry the name of the thread that reads it.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.log();
        assert!(log.contains("connected to "), "Netdata did not log to its file:\n{log}");
        let complaint = |line: &&str| line.contains(" ERROR ") && line.contains("PLUGINSD");
        log.lines().filter(complaint).map(Into::into).collect()
    }

    /// Writes a file into its folder of configuration.
    pub fn configure(&self, file: &str, text: &str) {
        fs::write(self.folder.path().join("conf").join(file), text).unwrap();
    }

    /// The running collectors that it started.
    pub fn collectors(&self) -> Vec<u32> {
        children(self.child.id(), &fs::canonicalize(KMOTE).unwrap())
    }

    /// Its error log, where the plugin's stderr goes as well.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log/error.log")).unwrap_or_default()
    }

    /// Ends it by a signal.
    pub fn end(&mut self, name: &str) -> ExitStatus {
        signal(self.child.id(), name);
        let mut status = None;
        let ended = holds_within(LONG, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(ended, "Netdata outlives SIG{name}\n{}", self.log());
        status.unwrap()
    }
}

impl Drop for Netdata {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Its folder can only go when the helper that it forked has seen the end, too.
        sleep(Duration::from_millis(100));
    }
}

fn folders() -> Folder {
    let folder = Folder::new("netdata");
    for name in ["conf", "cache", "lib", "log", "run", "home", "plugins"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    folder
}

/// Where a machine has cgroups of version 1 it has those of version 2 beside them; here they stand as on most machines.
const WITH_CGROUPS: &str = r#"mount -t cgroup2 none /sys/fs/cgroup && exec "$0" "$@""#;

fn spawn(folder: &Path, configuration: &Path) -> Child {
    let log = |name: &str| fs::File::create(folder.join("log").join(name)).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", WITH_CGROUPS]).arg(program());
    command.args(["-D", "-c"]).arg(configuration).arg("-P").arg(folder.join("run/netdata.pid"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", folder.join("home")).env("DISABLE_TELEMETRY", "1");
    command.stdin(Stdio::null()).stdout(log("stdout")).stderr(log("stderr"));
    command.spawn().unwrap()
}

fn program() -> PathBuf {
    let known = ["/usr/sbin/netdata", "/usr/bin/netdata"].map(PathBuf::from);
    let found = known.into_iter().find(|path| path.exists());
    found.expect("this test needs a Netdata: apt-get install netdata-core netdata-web")
}

/// The bytes that a process has written.
fn sent(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let written = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    written.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Reads `netdata_type_id_total{chart="type.id",family="…",dimension="name"} 12 1700000000000`.
fn sample(line: &str) -> (String, Collected) {
    let (labels, numbers) = line.rsplit_once("\"} ").unwrap();
    let (_, name) = labels.rsplit_once("dimension=\"").unwrap();
    let (value, milliseconds) = numbers.split_once(' ').unwrap();
    let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
    (name.into(), Collected { value, milliseconds: milliseconds.parse().unwrap() })
}
