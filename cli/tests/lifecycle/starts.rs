// SPDX-License-Identifier: GPL-3.0-or-later
//! What the binary says and how it leaves when it is asked for words, or for what it cannot do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::machine::Folder;
use crate::support::run::{Ended, KMOTE, LONG, Running, kmote, kmote_under};

fn run(arguments: &[&str]) -> Ended {
    Running::start(kmote(arguments)).ends_within(LONG)
}

#[test]
fn version_is_one_line() {
    let ended = run(&["--version"]).with_status(0);
    assert_eq!(ended.stdout, format!("kmote {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(ended.stderr, "");
}

#[test]
fn help_names_every_option() {
    let ended = run(&["--help"]).with_status(0);
    for word in ["check", "--modules", "--ticks", "--only", "--mode", "--help", "--version"] {
        assert!(ended.stdout.contains(word), "no {word} in\n{}", ended.stdout);
    }
}

/// Expects a refusal: nothing on stdout, status 2, and these words on stderr.
fn refused(arguments: &[&str], words: &[&str]) {
    let ended = run(arguments).with_status(2);
    assert_eq!(ended.stdout, "", "{arguments:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "no {word} for {arguments:?} in\n{}", ended.stderr);
    }
}

#[test]
fn wrong_arguments_are_refused_with_words() {
    refused(&["--nonsense"], &["--nonsense"]);
    refused(&["--modules"], &["--modules"]);
    refused(&["--modules", "proces"], &["proces", "process", "cachestat"]);
    refused(&["--only", "magic"], &["magic", "fentry", "raw_tp", "kprobe", "tp"]);
    refused(&["--mode", "magic"], &["magic", "entry", "return"]);
    refused(&["--ticks", "many", "1"], &["many"]);
    refused(&["0"], &["0"]);
    refused(&["soon"], &["soon"]);
}

/// Runs a copy that every user may execute, wherever the build's folder lies.
fn run_under(wrapper: &[&str]) -> Ended {
    let folder = Folder::new("unprivileged");
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let copy = folder.path().join("kmote");
    fs::copy(KMOTE, &copy).unwrap();
    let command = kmote_under(wrapper, copy.to_str().unwrap(), &["--modules", "process", "1"]);
    Running::start(command).ends_within(LONG)
}

/// Expects that Netdata is told not to come back, and a person which capability lacks.
fn disabled(ended: Ended, capability: &str) {
    let ended = ended.with_status(1);
    assert_eq!(ended.stdout, "DISABLE\n");
    assert!(ended.stream().disabled);
    assert!(ended.stderr.contains(capability), "no {capability} in\n{}", ended.stderr);
}

#[test]
fn a_user_without_capabilities_is_told_which_one_lacks() {
    disabled(run_under(&["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]), "CAP_BPF");
}

#[test]
fn root_without_capabilities_is_told_which_one_lacks() {
    disabled(run_under(&["setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin"]), "CAP_BPF");
    disabled(run_under(&["setpriv", "--bounding-set=-perfmon,-sys_admin"]), "CAP_PERFMON");
}

#[test]
fn on_a_terminal_it_says_what_the_stream_is_and_what_is_for_people() {
    let line = format!("{KMOTE} --modules process --ticks 1 1");
    let command = kmote_under(&["script", "-qec"], &line, &["/dev/null"]);
    let ended = Running::start(command).ends_within(LONG);
    let hint = ended.stdout.lines().next().unwrap();
    assert!(hint.starts_with("kmote: "), "{hint}");
    assert!(hint.contains("Netdata") && hint.contains("`kmote check`"), "{hint}");
    assert_eq!(ended.stdout.matches("`kmote check`").count(), 1, "{}", ended.stdout);
}
