// SPDX-License-Identifier: GPL-3.0-or-later
// disk: how long each disk takes from the issue of a request to its completion.
#include "table.bpf.h"
#include "gendisk.bpf.h"
#include "histogram.bpf.h"

struct disk {
    __u64 lost;
    __u64 unknown;
};
COUNTERS(disk)

// struct histogram without its last counter: what cannot be told is counted in struct disk.
struct disk_row {
    __u64 bucket[BUCKETS];
};
TABLE(disk, 128)

struct disk_offsets {
    __u64 request_rq_disk;
    __u64 request_q;
    __u64 request_queue_disk;
    __u64 request___data_len;
    __u64 gendisk_major;
    __u64 gendisk_first_minor;
};
OFFSETS(disk)

// A request under way. By raw_tp it is known by its address, which nothing changes and which is used again,
// so that a completion that was not seen leaves nothing for ever: (address, 0). By tp, by where it begins,
// and whether it has sectors at all, since a flush begins nowhere: (device | EMPTY, sector).
struct request {
    __u64 where;
    __u64 sector;
};

struct start {
    __u64 began;
    // By raw_tp the device, by tp the sectors that are still to be completed.
    __u64 what;
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, struct request);
    __type(value, struct start);
} disk_starts SEC(".maps");

#define EMPTY (1ULL << 32)

// include/uapi/linux/major.h: what has no medium of its own.
#define RAMDISK_MAJOR 1
#define LOOP_MAJOR    7

static __always_inline int is_counted(__u64 device) {
    __u64 major = device >> 20;
    return major != RAMDISK_MAJOR && major != LOOP_MAJOR;
}

static __always_inline int begin(struct disk *all, struct request *request, __u64 what) {
    struct start start = {.began = bpf_ktime_get_ns(), .what = what};
    // A request that is issued again after a requeue counts from then.
    if (bpf_map_update_elem(&disk_starts, request, &start, BPF_ANY))
        ADD(all->lost, 1);
    return 0;
}

static __always_inline int end(struct disk *all, struct request *request, __u64 device, __u64 began) {
    __u64 now = bpf_ktime_get_ns();
    struct disk_row *disk;
    bpf_map_delete_elem(&disk_starts, request);
    disk = row(device);
    if (disk)
        count_latency((struct histogram *)disk, now - began);
    else
        ADD(all->lost, 1);
    return 0;
}

// Since v5.17 (f3fa33acca9f) a request has no disk of its own, but its queue has.
static __always_inline __u64 device_of(struct disk_offsets *at, __u64 request) {
    __u64 disk = at->request_rq_disk != UNKNOWN
                     ? pointer_at(request, at->request_rq_disk)
                     : pointer_at(pointer_at(request, at->request_q), at->request_queue_disk);
    return DEVICE(number_at(disk, at->gendisk_major), number_at(disk, at->gendisk_first_minor));
}

static __always_inline int issued(__u64 address) {
    struct disk *all = counters();
    struct disk_offsets *at = offsets();
    struct request request = {.where = address};
    __u64 device;
    if (!all || !at)
        return 0;
    device = device_of(at, address);
    if (!device) {
        // The paths of an nvme multipath have no number of their own, nor have commands to no disk.
        ADD(all->unknown, 1);
        return 0;
    }
    return is_counted(device) ? begin(all, &request, device) : 0;
}

// Up to v5.10 the queue comes first (a54895fa057c).
PROGRAM_OF(issue, raw_tp2) { return issued(ctx[1]); }
PROGRAM_OF(issue, raw_tp1) { return issued(ctx[0]); }

// (request, error, bytes). Without a start: not counted, or the end of a sequence of flushes, whose parts
// are.
PROGRAM_OF(complete, raw_tp3) {
    struct request request = {.where = ctx[0]};
    struct start *start = bpf_map_lookup_elem(&disk_starts, &request);
    struct disk *all = counters();
    struct disk_offsets *at = offsets();
    __u64 bytes = ctx[2];
    if (!start || !all || !at)
        return 0;
    // A part of it: the rest is still under way.
    if ((__u32)bytes < number_at(ctx[0], at->request___data_len))
        return 0;
    return end(all, &request, start->what, start->began);
}

// The records' dev, sector and nr_sector, at offsets 8, 16 and 24, as the row says.
#define RECORD_DEVICE  FIELD(__u32, 8)
#define RECORD_SECTOR  FIELD(__u64, 16)
#define RECORD_SECTORS FIELD(__u32, 24)

PROGRAM_OF(issue, tp) {
    struct request request = {};
    struct disk *all = counters();
    __u64 device = RECORD_DEVICE, sectors = RECORD_SECTORS;
    if (!all)
        return 0;
    if (!device) {
        ADD(all->unknown, 1);
        return 0;
    }
    request.where = sectors ? device : device | EMPTY;
    request.sector = RECORD_SECTOR;
    return is_counted(device) ? begin(all, &request, sectors) : 0;
}

PROGRAM_OF(complete, tp) {
    struct request request = {};
    struct start rest = {};
    struct start *start;
    struct disk *all = counters();
    __u64 device = RECORD_DEVICE, sectors = RECORD_SECTORS;
    request.where = sectors ? device : device | EMPTY;
    request.sector = RECORD_SECTOR;
    start = bpf_map_lookup_elem(&disk_starts, &request);
    if (!start || !all)
        return 0;
    if (sectors >= start->what)
        return end(all, &request, device, start->began);
    // A part of it: the rest begins where this ends.
    rest.began = start->began;
    rest.what = start->what - sectors;
    bpf_map_delete_elem(&disk_starts, &request);
    request.sector += sectors;
    if (bpf_map_update_elem(&disk_starts, &request, &rest, BPF_ANY))
        ADD(all->lost, 1);
    return 0;
}

LICENCE;
