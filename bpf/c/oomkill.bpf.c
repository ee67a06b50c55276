// SPDX-License-Identifier: GPL-3.0-or-later
// oomkill: processes killed for want of memory.
#include "module.bpf.h"

struct oomkill {
    __u64 kill;
};
COUNTERS(oomkill)

#ifdef ATTRIBUTE
// The program runs in whatever process has run out.
static __always_inline int killed(__u64 id) {
    struct oomkill *all = counters();
    if (!all)
        return 0;
    ADD_HERE(all->kill, 1);
    struct process_entry *entry = marked_or_no_room(entry_of(id), id);
    if (entry)
        book(entry, PLACE, 1);
    return 0;
}

// The record's pid, at offset 8, as the row says. One that has done nothing yet gets an entry without a name, which its
// end fills in.
PROGRAM_OF(kill, tp) {
    __u64 id = FIELD(__u32, 8);
    struct process_entry none = {};
    if (!entry_of(id))
        bpf_map_update_elem(&processes, &id, &none, BPF_NOEXIST);
    return killed(id);
}

// Where it is not told who is killed, it belongs to nobody.
PROGRAM(kill) { return killed(NO_ROOM); }
#else
COUNT(kill)
#endif

LICENCE;
