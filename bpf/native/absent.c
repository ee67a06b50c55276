/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of libbpf that its tables reach and kmote does not use: probes on user programs (usdt.c, elf.c,
 * zip.c), loader programs (gen_loader.c), CO-RE (relo_core.c, btf_relocate.c) and the hash of a program that
 * alone may use a map, 27 KB of the binary.
 * Whoever calls one of these after all is told that it is not supported; as a pointer the value is one of
 * libbpf's error pointers.
 */
#include <errno.h>

#define ABSENT(function)                                                                                     \
    long function(void) { return -EOPNOTSUPP; }

ABSENT(usdt_manager_new)
ABSENT(usdt_manager_free)
ABSENT(usdt_manager_attach_usdt)

ABSENT(elf_find_func_offset)
ABSENT(elf_find_func_offset_from_file)
ABSENT(elf_resolve_pattern_offsets)
ABSENT(elf_resolve_syms_offsets)

ABSENT(zip_archive_open)
ABSENT(zip_archive_find_entry)
ABSENT(zip_archive_close)

ABSENT(bpf_gen__init)
ABSENT(bpf_gen__finish)
ABSENT(bpf_gen__free)
ABSENT(bpf_gen__load_btf)
ABSENT(bpf_gen__map_create)
ABSENT(bpf_gen__map_freeze)
ABSENT(bpf_gen__map_update_elem)
ABSENT(bpf_gen__populate_outer_map)
ABSENT(bpf_gen__prog_load)
ABSENT(bpf_gen__record_attach_target)
ABSENT(bpf_gen__record_extern)
ABSENT(bpf_gen__record_relo_core)

ABSENT(bpf_core_calc_relo_insn)
ABSENT(bpf_core_patch_insn)
ABSENT(__bpf_core_types_are_compat)
ABSENT(__bpf_core_types_match)
ABSENT(btf_relocate)

ABSENT(libbpf_sha256)
