// SPDX-License-Identifier: GPL-3.0-or-later
//! Groups of processes under a real Netdata: kmote is confined, and the processes are another user's.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::support::machine::Folder;
use crate::support::server::Netdata;

/// Nobody: a user who is not kmote's.
const NOBODY: u32 = 65534;
const SERVICE: &str = "system.slice/kmote-crew.service";
const CONTAINER: &str = "docker/fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

/// A shell that forks ten times a second, under another name, and in a cgroup.
struct Crew(Child);

impl Crew {
    fn start(name: &str, cgroup: &Cgroup, folder: &Folder) -> Self {
        let program = folder.path().join(name);
        symlink("/bin/sh", &program).unwrap();
        let mut command = Command::new(program);
        command.args(["-c", "while :; do sleep 0.1; done"]).uid(NOBODY).gid(NOBODY);
        let child = command.spawn().unwrap();
        fs::write(cgroup.0.join("cgroup.procs"), child.id().to_string()).unwrap();
        Self(child)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A cgroup of this test's own, of version 2, which some machines have beside those of version 1.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(path: &str) -> Self {
        let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = roots.iter().find(|root| root.join("cgroup.controllers").exists());
        let path = root.expect("this test needs cgroups of version 2").join(path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The last fork may take a moment to go. What stood there before is not empty, and stays.
        let gone = || fs::remove_dir(&self.0).is_ok();
        crate::support::machine::holds_within(crate::support::run::SOON, gone);
        let _ = fs::remove_dir(self.0.parent().unwrap());
    }
}

#[test]
fn netdata_shows_applications_services_and_containers_of_others_with_their_labels() {
    let folder = Folder::new("crew");
    let (service, container) = (Cgroup::new(SERVICE), Cgroup::new(CONTAINER));
    let crews =
        [Crew::start("kmote-crew", &service, &folder), Crew::start("kmote crew)", &container, &folder)];
    let mut netdata = Netdata::start_grouping(
        "[global]\n apps = yes\n cgroups = yes\n",
        "deck.crew: kmote-crew\nhold: 'kmote crew)'\n",
    );
    for (chart, parts) in [
        (
            "app.deck_crew_ebpf_process_start",
            &["app.ebpf_process_start", "20161", "\"app_group\":\"deck_crew\"", "calls/s", "stacked"][..],
        ),
        ("app.hold_ebpf_task_exit", &["app.ebpf_task_exit", "20163", "\"app_group\":\"hold\"", "stacked"]),
        (
            "systemd_kmote-crew.process_create",
            &["systemd.service.process_create", "20065", "\"service_name\":\"kmote-crew\"", "stacked"],
        ),
        (
            "cgroup_fedcba987654.process_create",
            &["cgroup.process_create", "45000", "\"cgroup_name\":\"fedcba987654\"", "\"line\""],
        ),
    ] {
        netdata.wait_for_chart(chart);
        let text = netdata.get(&format!("/api/v1/chart?chart={chart}"));
        for part in parts {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
    }
    crate::has_no_complaint(&netdata);
    drop((crews, netdata));
}

#[test]
fn netdata_shows_applications_in_its_old_layout() {
    let folder = Folder::new("old-crew");
    let cgroup = Cgroup::new("kmote-old-crew");
    let crew = Crew::start("kmote-crew", &cgroup, &folder);
    let mut netdata = Netdata::start_grouping("[global]\n apps = old\n", "deck: kmote-crew\n");
    netdata.wait_for_chart("apps.process_create");
    let shown = || netdata.get("/api/v1/chart?chart=apps.process_create");
    let has_crew = || shown().contains("\"deck\": { \"name\": \"deck\" }");
    assert!(crate::holds_within(crate::LONG, has_crew), "no deck in\n{}", shown());
    for part in ["\"context\": \"apps.process_create\"", "process (eBPF)", "20065", "stacked", "\"other\""] {
        assert!(shown().contains(part), "no {part} in\n{}", shown());
    }
    crate::has_no_complaint(&netdata);
    drop((crew, netdata));
}
