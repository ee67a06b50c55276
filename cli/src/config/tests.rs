// SPDX-License-Identifier: GPL-3.0-or-later
//! Configuration from literal files to settings and sentences.

use super::files::{Scope, Text};
use super::layers::Layers;
use super::settings::{ModuleSettings, Origin, Settings};
use super::{Directories, keys, show};
use crate::apps::Layout;
use crate::args::Options;
use kmote_core::chart::Mode;
use kmote_core::module::Module;
use kmote_core::modules::MODULES;
use std::ffi::OsString;

fn row(name: &str) -> &'static Module {
    MODULES.iter().find(|module| module.name == name).unwrap()
}

fn of<'a>(settings: &'a Settings, name: &str) -> &'a ModuleSettings {
    settings.modules.iter().find(|of| of.module.name == name).unwrap()
}

fn options(arguments: &[&str], variables: &[(&str, &str)]) -> Options {
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    };
    Options::parse(arguments.iter().map(OsString::from), variable).unwrap()
}

fn text(path: &str, scope: Scope, content: &str) -> Text {
    Text { path: path.into(), scope, stock: path.starts_with("stock"), bytes: content.as_bytes().to_vec() }
}

fn effective(texts: &[Text], options: &Options) -> (Settings, Vec<String>) {
    let mut layers = Layers::default();
    texts.iter().for_each(|text| layers.apply(text));
    let settings = Settings::new(&layers, options);
    let complaints = layers.complaints(&settings);
    (settings, complaints)
}

fn main_file(content: &str) -> (Settings, Vec<String>) {
    effective(&[text("user/ebpf.d.conf", Scope::Main, content)], &options(&[], &[]))
}

#[test]
fn each_file_wins_over_the_weaker_ones_whichever_are_there() {
    let module = row("process");
    let files = [
        ("stock/ebpf.d.conf", Scope::Main),
        ("stock/ebpf.d/process.conf", Scope::Module(module)),
        ("user/ebpf.d.conf", Scope::Main),
        ("user/ebpf.d/process.conf", Scope::Module(module)),
        ("user/kmote.conf", Scope::Own),
    ];
    for present in 0..1u32 << files.len() {
        let there = files.iter().enumerate().filter(|(place, _)| present >> place & 1 == 1);
        let texts: Vec<_> = there
            .map(|(place, (path, scope))| {
                text(path, *scope, &format!("[global]\nupdate every = {}\n", 100 + place))
            })
            .collect();
        let (settings, complaints) = effective(&texts, &options(&[], &[]));
        assert_eq!(complaints, Vec::<String>::new());
        let strongest = |of: &dyn Fn(&Scope) -> bool| {
            let place = files
                .iter()
                .enumerate()
                .rposition(|(place, (_, scope))| present >> place & 1 == 1 && of(scope))?;
            Some((100 + place as u32, Origin::File(files[place].0.into(), 2)))
        };
        let for_all = strongest(&|scope| !matches!(scope, Scope::Module(_))).unwrap_or((1, Origin::BuiltIn));
        let for_it = strongest(&|_| true).unwrap_or((1, Origin::BuiltIn));
        let own_settings = of(&settings, "process");
        assert_eq!(
            (settings.update_every.value, settings.update_every.origin.clone()),
            for_all,
            "{present:05b}"
        );
        // A module is read on the ticks of all: its own interval is a multiple, and never shorter.
        let (own, all) = (for_it.0, for_all.0);
        assert_eq!(
            own_settings.update_every.value,
            if own > all { own.div_ceil(all) * all } else { all },
            "{present:05b}"
        );
        assert_eq!(of(&settings, "cachestat").update_every.value, all, "{present:05b}");
    }
}

#[test]
fn the_interval_is_the_largest_of_those_given() {
    for argument in [0, 1, 5] {
        for variable in [0, 1, 2] {
            for global in [0, 1, 5, 10] {
                for own in [0, 1, 5, 7] {
                    let given = |word: u32| (word > 0).then(|| word.to_string());
                    let (argument_word, variable_word) = (given(argument), given(variable));
                    let line = |word: u32| given(word).map(|word| format!("[global]\nupdate every = {word}"));
                    let texts = [
                        text("user/ebpf.d.conf", Scope::Main, &line(global).unwrap_or_default()),
                        text(
                            "user/ebpf.d/x.conf",
                            Scope::Module(row("process")),
                            &line(own).unwrap_or_default(),
                        ),
                    ];
                    let arguments: Vec<_> = argument_word.iter().map(String::as_str).collect();
                    let variables: Vec<_> =
                        variable_word.iter().map(|word| ("NETDATA_UPDATE_EVERY", word.as_str())).collect();
                    let (settings, _) = effective(&texts, &options(&arguments, &variables));
                    let all = argument.max(variable).max(global).max(1);
                    let expected = own.max(all).div_ceil(all) * all;
                    let case =
                        format!("argument {argument} environment {variable} global {global} own {own}");
                    assert_eq!(settings.update_every.value, all, "{case}");
                    assert_eq!(of(&settings, "process").update_every.value, expected, "{case}");
                    assert_eq!(
                        settings.wanted().iter().find(|one| one.module.name == "process").unwrap().ticks,
                        expected / all,
                        "{case}"
                    );
                }
            }
        }
    }
}

#[test]
fn modules_are_switched_and_arguments_win() {
    let file = "[ebpf programs]\n process = no\n cachestat = yes\n";
    let names = |settings: &Settings| -> Vec<_> {
        settings
            .wanted()
            .iter()
            .map(|wanted| wanted.module.name)
            .filter(|name| ["process", "cachestat"].contains(name))
            .collect()
    };
    assert_eq!(names(&main_file("").0), ["process", "cachestat"]);
    assert_eq!(names(&main_file(file).0), ["cachestat"]);
    let texts = [text("user/ebpf.d.conf", Scope::Main, file)];
    let (settings, _) = effective(&texts, &options(&["--modules", "process", "--mode", "return"], &[]));
    assert_eq!(settings.wanted().len(), 1);
    assert_eq!(
        (settings.wanted()[0].module.name, settings.wanted()[0].extent.mode),
        ("process", Mode::Return)
    );
    let all_off: String = MODULES.iter().map(|module| format!("{} = no\n", module.name)).collect();
    assert!(main_file(&format!("[ebpf programs]\n{all_off}")).0.wanted().is_empty());
}

#[test]
fn a_module_has_a_mode_of_its_own() {
    let texts = [
        text("stock/ebpf.d/cachestat.conf", Scope::Module(row("cachestat")), "[global]\n load = return"),
        text("user/kmote.conf", Scope::Own, "[process]\nebpf load mode = return\n"),
    ];
    let (settings, _) = effective(&texts, &options(&[], &[]));
    assert_eq!(settings.mode.value, Mode::Entry);
    assert_eq!(of(&settings, "process").mode.value, Mode::Return);
    assert_eq!(of(&settings, "process").mode.origin, Origin::File("user/kmote.conf".into(), 2));
    // A stronger file that speaks of all speaks of the module too.
    let stronger =
        [texts[0].clone(), text("user/ebpf.d.conf", Scope::Main, "[global]\nebpf load mode = entry")];
    assert_eq!(of(&effective(&stronger, &options(&[], &[])).0, "cachestat").mode.value, Mode::Entry);
}

#[test]
fn a_bad_value_is_named_and_nothing_else_fails() {
    let (settings, complaints) = main_file(
        "[global]\n\
         update every = 0\n\
         update every = 7\n\
         ebpf load mode = exit\n\
         nonsense\n\
         [ebpf programs]\n\
         process = maybe\n\
         cachestat = no\n",
    );
    assert_eq!(
        complaints,
        [
            "user/ebpf.d.conf:2: update every = 0: a whole number of seconds from 1 to 86400 is wanted; 7 is used",
            "user/ebpf.d.conf:4: ebpf load mode = exit: entry or return is wanted; entry is used",
            "user/ebpf.d.conf:5: at byte 1: neither [section] nor key = value; the line is passed over",
            "user/ebpf.d.conf:7: process = maybe: yes or no is wanted; yes is used",
        ]
    );
    assert_eq!(settings.update_every.value, 7);
    assert!(of(&settings, "process").on.value && !of(&settings, "cachestat").on.value);
}

#[test]
fn every_bad_interval_is_refused() {
    for word in ["0", "-1", "abc", "1.5", "99999999999", ""] {
        let (settings, complaints) = main_file(&format!("[global]\nupdate every = {word}"));
        assert_eq!(settings.update_every.value, 1, "{word}");
        assert_eq!(complaints.len(), 1, "{word}: {complaints:?}");
    }
}

#[test]
fn keys_without_meaning_are_said_once_and_not_when_they_change_nothing() {
    let content = "[global]\n disable apps = no\n lifetime = 300\n lifetime = 60\n frobnicate = 1\n\
                   [ebpf programs]\n network connections = yes\n dns = no\n\
                   [syscalls]\n msync = no\n fsync = yes\n[zoo]\n lion = 1\n";
    let texts = [
        text("stock/ebpf.d.conf", Scope::Main, content),
        text("user/ebpf.d.conf", Scope::Main, content),
        text("user/ebpf.d/process.conf", Scope::Module(row("process")), content),
    ];
    let (_, complaints) = effective(&texts, &options(&[], &[]));
    assert_eq!(
        complaints,
        [
            "user/ebpf.d.conf:2: disable apps = no: its new name is apps",
            "user/ebpf.d.conf:4: lifetime = 60: kmote runs until it is stopped",
            "user/ebpf.d.conf:5: frobnicate: there is no such key here; it is passed over",
            "user/ebpf.d.conf:7: network connections = yes: kmote does not list connections",
            "user/ebpf.d.conf:10: msync = no: no such call is counted here; each is switched in the file of its module",
            "user/ebpf.d.conf:12: [zoo]: there is no such section here; it is passed over",
        ]
    );
}

#[test]
fn groups_of_processes_are_asked_for_by_netdatas_keys() {
    let asked = |text_of: &str, arguments: &[&str]| {
        let (settings, complaints) =
            effective(&[text("user/ebpf.d.conf", Scope::Main, text_of)], &options(arguments, &[]));
        assert_eq!(complaints, Vec::<String>::new());
        let nowhere = || "/nowhere".into();
        let nowhere = Directories { user: nowhere(), stock: nowhere(), by_netdata: false, state: nowhere() };
        settings.groups(&nowhere).map(|asked| (asked.apps, asked.cgroups, asked.processes))
    };
    assert_eq!(asked("", &[]), None);
    assert_eq!(asked("", &["--apps"]), Some((Layout::New, false, None)));
    assert_eq!(asked("", &["--cgroups"]), Some((Layout::Off, true, None)));
    assert_eq!(
        asked("[global]\n cgroups = yes\n pid table size = 32768\n", &[]),
        Some((Layout::Off, true, None))
    );
    assert_eq!(
        asked("[global]\n apps = yes\n pid table size = 500\n", &[]),
        Some((Layout::New, false, Some(500)))
    );
    assert_eq!(asked("", &["--old-apps"]), Some((Layout::Old, false, None)));
    assert_eq!(asked("[global]\n apps = old\n", &[]), Some((Layout::Old, false, None)));
    assert_eq!(asked("[global]\n apps = no\n", &["--apps"]), Some((Layout::New, false, None)));
}

/// The keys that releases 1.31 to 2.10 of Netdata set in their stock files (in our words), as a user has them who copied the
/// files to edit them.
#[test]
fn netdatas_own_files_are_understood() {
    let main = "[global]\n ebpf load mode = entry\n apps = no\n cgroups = no\n update every = 5\n\
                pid table size = 32768\n btf path = /sys/kernel/btf/\n maps per core = yes\n lifetime = 300\n\
                [ebpf programs]\n cachestat = no\n dcstat = no\n disk = no\n fd = no\n filesystem = no\n hardirq = no\n\
                mdflush = no\n mount = yes\n oomkill = yes\n process = no\n shm = no\n socket = no\n softirq = yes\n\
                sync = no\n swap = no\n vfs = no\n network connections = no\n network viewer = no\n";
    let module = "[global]\n ebpf type format = auto\n ebpf co-re tracing = trampoline\n collect pid = real parent\n\
                  lifetime = 300\n[syscalls]\n sync = yes\n[filesystem]\n ext4dist = yes\n\
                  [network connections]\n enabled = yes\n ports = *\n[service name]\n 19999 = Netdata\n";
    let texts = [
        text("user/ebpf.d.conf", Scope::Main, main),
        text("user/ebpf.d/process.conf", Scope::Module(row("process")), module),
    ];
    let (settings, complaints) = effective(&texts, &options(&[], &[]));
    // A module that is on in them and not in kmote is the only thing that is missed.
    let expected: Vec<_> =
        ["mount", "oomkill", "softirq"].into_iter().filter(|name| keys::module(name).is_none()).collect();
    assert_eq!(complaints.len(), expected.len(), "{complaints:?}");
    assert!(complaints.iter().all(|line| line.ends_with("kmote has no such module")), "{complaints:?}");
    assert_eq!(settings.update_every.value, 5);
    assert!(
        settings
            .modules
            .iter()
            .all(|of| of.on.value == ["mount", "oomkill", "softirq"].contains(&of.module.name))
    );
}

#[test]
fn a_file_of_another_kind_is_a_bounded_number_of_sentences() {
    let (settings, complaints) = main_file(&"\u{1}x\n".repeat(10_000));
    assert_eq!(complaints.len(), 21);
    assert!(complaints[20].contains("9980 more lines"), "{}", complaints[20]);
    assert_eq!(settings.update_every.value, 1);
}

#[test]
fn what_is_printed_is_a_configuration_with_the_same_effect() {
    let texts = [
        text("stock/ebpf.d.conf", Scope::Main, "[global]\nupdate every = 5\n[ebpf programs]\nprocess = no\n"),
        text(
            "user/ebpf.d/cachestat.conf",
            Scope::Module(row("cachestat")),
            "[global]\nupdate every = 7\nload = return\n",
        ),
    ];
    let texts = [
        texts,
        [
            text("user/ebpf.d/shm.conf", Scope::Module(row("shm")), "[syscalls]\nshmctl = no\n"),
            text(
                "user/kmote.conf",
                Scope::Own,
                "[global]\nkernel memory budget = 900\n[process]\nexec = no\n",
            ),
        ],
    ]
    .concat();
    let asked = options(&["--no-kprobes"], &[]);
    let (settings, complaints) = effective(&texts, &asked);
    let printed = show::text(&settings, &texts, &complaints);
    for line in [
        "# read: stock/ebpf.d.conf",
        "    update every = 5         # stock/ebpf.d.conf:2",
        "    ebpf load mode = entry   # built in",
        "    kprobes = no             # the argument --no-kprobes",
        "    process = no             # stock/ebpf.d.conf:4",
        "[cachestat]",
        "    update every = 10        # user/ebpf.d/cachestat.conf:2",
        "    ebpf load mode = return  # user/ebpf.d/cachestat.conf:3",
        "    kernel memory budget = 900 # user/kmote.conf:2",
        "    exec = no                # user/kmote.conf:4",
        "    ctl = no                 # user/ebpf.d/shm.conf:2",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "no {line:?} in\n{printed}");
    }
    let (again, complaints) = effective(&[text("user/kmote.conf", Scope::Own, &printed)], &options(&[], &[]));
    assert_eq!(complaints, Vec::<String>::new());
    let values = |settings: &Settings| {
        let modules = settings
            .modules
            .iter()
            .map(|of| (of.on.value, of.update_every.value, of.mode.value, of.without.value));
        (
            settings.update_every.value,
            settings.kprobes.value,
            settings.sandbox.value,
            settings.budget(),
            modules.collect::<Vec<_>>(),
        )
    };
    assert_eq!(values(&again), values(&settings));
}

#[test]
fn single_calls_are_switched_as_in_netdatas_files() {
    let stock = "[syscalls]\n sync = yes\n msync = yes\n";
    let texts = [
        Text { stock: true, ..text("stock/ebpf.d/sync.conf", Scope::Module(row("sync")), stock) },
        text(
            "user/ebpf.d/sync.conf",
            Scope::Module(row("sync")),
            "[syscalls]\nmsync = no\nsync = no\nsyncfs = 2\nopen = no\n",
        ),
        text("user/kmote.conf", Scope::Own, "[sync]\nsync = yes\nnonsense = 1\n[shm]\nshmget = never\n"),
    ];
    let (settings, complaints) = effective(&texts, &options(&[], &[]));
    assert_eq!(
        complaints,
        [
            "user/ebpf.d/sync.conf:4: syncfs = 2: yes or no is wanted; yes is used",
            "user/ebpf.d/sync.conf:5: open = no: no such call is counted here; each is switched in the file of its module",
            "user/kmote.conf:3: nonsense: there is no such key here; it is passed over",
            "user/kmote.conf:5: shmget = never: yes or no is wanted; yes is used",
        ]
    );
    let wanted = settings.wanted();
    let sync = wanted.iter().find(|one| one.module.name == "sync").unwrap();
    let events: Vec<_> =
        sync.module.probes.iter().filter(|probe| sync.extent.wants(probe)).map(|probe| probe.event).collect();
    assert_eq!(events, ["fsync", "fdatasync", "sync_call", "syncfs", "sync_file_range"]);
}

#[test]
fn filesystems_are_switched_together_and_taken_out_singly() {
    let on = |texts: &[Text]| -> Vec<_> {
        let (settings, complaints) = effective(texts, &options(&[], &[]));
        assert_eq!(complaints, Vec::<String>::new());
        let names = ["ext4", "xfs", "nfs", "zfs", "btrfs"];
        names.into_iter().filter(|name| of(&settings, name).on.value).collect()
    };
    let main = text("user/ebpf.d.conf", Scope::Main, "[ebpf programs]\nfilesystem = yes\n");
    let own = |name| {
        let content = "[global]\nlifetime = 300\n[filesystem]\next4dist = yes\nxfsdist = no\n";
        text("user/ebpf.d/filesystem.conf", Scope::Module(row(name)), content)
    };
    assert!(on(&[]).is_empty());
    assert_eq!(on(std::slice::from_ref(&main)), ["ext4", "xfs", "nfs", "zfs", "btrfs"]);
    assert_eq!(on(&[main, own("ext4"), own("xfs"), own("nfs")]), ["ext4", "nfs", "zfs", "btrfs"]);
    assert_eq!(keys::stems(row("xfs")).collect::<Vec<_>>(), ["filesystem", "xfs"]);
    assert_eq!(keys::stems(row("socket")).collect::<Vec<_>>(), ["network", "socket"]);
}
