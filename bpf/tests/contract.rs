// SPDX-License-Identifier: GPL-3.0-or-later
//! The contract between C and the table: the objects' own BTF and programs against the rows. Needs no privilege.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use kmote_bpf::objects;
use kmote_bpf::programs;
use kmote_core::apps::life::LIFE;
use kmote_core::memory::Keep;
use kmote_core::module::Module;
use kmote_core::modules::MODULES;
use kmote_core::share;
use libbpf_rs::btf::types::{Array, Int, Struct};
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::{MapType, ObjectBuilder, OpenObject};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A program may take this many instructions on the oldest kernels (BPF_MAXINSNS).
const MOST_INSTRUCTIONS: usize = 4096;

fn object(name: &str) -> (Btf<'static>, OpenObject) {
    let bytes = objects::find(name).unwrap_or_else(|| panic!("no object {name}"));
    // A file a test, since tests run side by side.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.{name}.bpf.o"));
    std::fs::write(&path, &bytes).unwrap();
    (Btf::from_path(&path).unwrap(), ObjectBuilder::default().open_memory(&bytes).unwrap())
}

/// Every row with the objects that serve it: its own, and the one that books on processes too.
fn variants() -> Vec<(&'static Module, String)> {
    let own = MODULES.iter().chain([&LIFE]).map(|module| (module, module.name.to_owned()));
    let shared = MODULES.iter().filter(|module| !module.shares.is_empty());
    own.chain(shared.map(|module| (module, format!("{}.apps", module.name)))).collect()
}

#[test]
fn every_object_has_its_row_and_every_row_its_object() {
    let present: BTreeSet<_> = objects::names().collect();
    let rows = variants();
    assert_eq!(present, rows.iter().map(|(_, name)| name.as_str()).collect());
}

/// The names of a structure's 64-bit numbers: of a histogram's, the member's name and their own, or their place.
fn names(btf: &Btf<'_>, counters: &Struct<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for member in counters.iter() {
        let name = member.name.unwrap().to_str().unwrap();
        let kind = btf.type_by_id::<BtfType<'_>>(member.ty).unwrap().skip_mods_and_typedefs();
        if let Ok(array) = Array::try_from(kind) {
            assert_eq!(number_bits(array.contained_type()), 64);
            all.extend((0..array.capacity()).map(|place| place.to_string()));
        } else if let Ok(inner) = Struct::try_from(kind) {
            all.extend(names(btf, &inner).iter().map(|own| format!("{name}_{own}")));
        } else {
            assert_eq!(number_bits(kind), 64, "{name}");
            all.push(name.to_owned());
        }
    }
    all
}

fn number_bits(kind: BtfType<'_>) -> u8 {
    Int::try_from(kind.skip_mods_and_typedefs()).unwrap().bits
}

#[test]
fn the_counters_are_the_slots() {
    for (module, name) in variants() {
        let (btf, object) = object(&name);
        let counters: Struct<'_> = btf.type_by_name(module.name).unwrap();
        assert_eq!(names(&btf, &counters), module.slots, "{}", module.name);
        let map = object.maps().find(|map| map.name() == module.name).unwrap();
        assert_eq!(map.map_type(), MapType::PercpuArray, "{}", module.name);
        assert_eq!(
            (map.max_entries(), map.key_size(), map.value_size() as usize),
            (1, 4, 8 * module.slots.len())
        );
    }
}

/// The map of a prepared object: its type, entries, and bytes of key and value.
fn shape(object: &OpenObject, name: &str) -> (MapType, u32, u32, u32) {
    let map = object.maps().find(|map| map.name() == name).unwrap_or_else(|| panic!("no map {name}"));
    (map.map_type(), map.max_entries(), map.key_size(), map.value_size())
}

#[test]
fn the_other_maps_are_those_of_the_row() {
    for (module, name) in variants() {
        let (btf, object) = object(&name);
        let mut planned = BTreeSet::from([module.name.to_owned()]);
        if name.ends_with("apps") {
            let expected = (MapType::Hash, 1, 8, 8 * share::words(MODULES) as u32);
            assert_eq!(shape(&object, "processes"), expected, "{name}");
            assert_eq!(shape(&object, "marked"), (MapType::Hash, 1, 8, 8), "{name}");
            assert_eq!(shape(&object, "rounds"), (MapType::Array, 2, 4, 8), "{name}");
            planned.extend(["processes", "marked", "rounds"].map(str::to_owned));
        }
        for keep in module.keeps {
            let (name, expected) = match *keep {
                Keep::PerCpu { map, words } => (map, (MapType::PercpuArray, 1, 4, 8 * words as u32)),
                Keep::Hash { map, words: (key, value), entries } => {
                    (map, (MapType::Hash, entries as u32, 8 * key as u32, 8 * value as u32))
                }
                Keep::Members { map, members } => {
                    let offsets: Struct<'_> = btf.type_by_name(map).unwrap();
                    let expected: Vec<_> =
                        members.iter().map(|(structure, member)| format!("{structure}_{member}")).collect();
                    assert_eq!(names(&btf, &offsets), expected, "{}", module.name);
                    (map, (MapType::Array, 1, 4, 8 * members.len() as u32))
                }
            };
            assert_eq!(shape(&object, name), expected, "{}: {name}", module.name);
            planned.insert(name.to_owned());
        }
        if let Some(table) = module.table {
            let name = format!("{}_rows", module.name);
            let expected = (MapType::Hash, table.capacity as u32, 8, 8 * table.slots.len() as u32);
            assert_eq!(shape(&object, &name), expected, "{}", module.name);
            let row: Struct<'_> = btf.type_by_name(&format!("{}_row", module.name)).unwrap();
            let members = names(&btf, &row);
            // The slots of a histogram are named by its buckets.
            let named = members.iter().zip(table.slots).all(|(member, slot)| {
                member == slot || slot.contains("->") && member.parse::<usize>().is_ok()
            });
            assert!(named && members.len() == table.slots.len(), "{}: {members:?}", module.name);
            planned.insert(name);
        }
        let maps: BTreeSet<_> = object.maps().map(|map| map.name().to_str().unwrap().to_owned()).collect();
        assert_eq!(maps, planned, "{}: maps of the object and of the row", module.name);
    }
}

#[test]
fn every_hook_has_its_program_and_every_program_its_event() {
    for (module, name) in variants() {
        let (_, object) = object(&name);
        let present: BTreeSet<_> = object.progs().map(|p| p.name().to_str().unwrap().to_owned()).collect();
        let mut used = BTreeSet::new();
        for probe in module.probes {
            for hook in probe.hooks.iter().filter(|hook| hook.places().next().is_some()) {
                let fitting = programs::all_names(probe.event, hook);
                let fitting: Vec<_> = fitting.into_iter().filter(|name| present.contains(name)).collect();
                assert!(!fitting.is_empty(), "{}: no program for {} by {hook:?}", module.name, probe.event);
                used.extend(fitting);
            }
        }
        assert_eq!(present, used, "{}: a program that no hook uses", module.name);
    }
}

#[test]
fn programs_are_what_the_oldest_kernels_take() {
    for (module, name) in variants() {
        let (btf, object) = object(&name);
        for program in object.progs() {
            assert!(program.insn_cnt() < MOST_INSTRUCTIONS, "{}: {:?}", module.name, program.name());
            for instruction in program.insns() {
                let class = instruction.code & 0x07;
                // JMP32, and JLT, JLE, JSLT, JSLE of BPF_JMP, are of instruction sets after v1.
                let is_late_jump = class == 0x05 && (0xa0..=0xd0).contains(&(instruction.code & 0xf0));
                assert!(
                    class != 0x06 && !is_late_jump,
                    "{}: {:?} is not -mcpu=v1",
                    module.name,
                    program.name()
                );
                // A read of whatever address, which has brought kernels down (netdata#12027): only of the kernel's own. The
                // loader has the older call for kernels before v5.5.
                assert!(
                    instruction.code != 0x85 || ![4, 45].contains(&instruction.imm),
                    "{}: {:?} reads any address",
                    module.name,
                    program.name()
                );
                // A call of another function of the object (source register 1), which 4.9 does not know.
                assert!(
                    instruction.code != 0x85 || instruction.src_reg() != 1,
                    "{}: a sub-function",
                    module.name
                );
            }
        }
        for section in [".rodata", ".data", ".bss"] {
            let data = btf.type_by_name::<BtfType<'_>>(section).is_some();
            assert!(!data, "{}: global data in {section}", module.name);
        }
    }
}
