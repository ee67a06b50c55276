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

// When each request that is under way was issued. By raw_tp it is known by its address, which nothing
// changes; by tp, by where it begins on which device, and whether it has sectors at all, since a flush begins
// nowhere.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, __u64);
    __type(value, __u64);
} starts SEC(".maps");

// include/uapi/linux/major.h: what has no medium of its own.
#define RAMDISK_MAJOR 1
#define LOOP_MAJOR    7

static __always_inline int is_counted(__u64 device) {
    __u64 major = device >> 20;
    return major != RAMDISK_MAJOR && major != LOOP_MAJOR;
}

static __always_inline int begin(struct disk *all, __u64 request) {
    __u64 now = bpf_ktime_get_ns();
    // A request that is issued again after a requeue counts from then.
    if (bpf_map_update_elem(&starts, &request, &now, BPF_ANY))
        ADD(all->lost, 1);
    return 0;
}

static __always_inline int end(struct disk *all, __u64 device, __u64 time) {
    struct disk_row *disk;
    if (!device) {
        // The paths of an nvme multipath have no number of their own, nor have commands to no disk.
        ADD(all->unknown, 1);
        return 0;
    }
    if (!is_counted(device))
        return 0;
    disk = row(device);
    if (disk)
        count_latency((struct histogram *)disk, time);
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

static __always_inline int issued(__u64 request) {
    struct disk *all = counters();
    return all ? begin(all, request) : 0;
}

// Up to v5.10 the queue comes first (a54895fa057c).
PROGRAM_OF(issue, raw_tp2) { return issued(ctx[1]); }
PROGRAM_OF(issue, raw_tp1) { return issued(ctx[0]); }

// (request, error, bytes). Without a start it is the end of a sequence of flushes, whose parts are counted.
PROGRAM_OF(complete, raw_tp3) {
    __u64 request = ctx[0], bytes = ctx[2], now = bpf_ktime_get_ns();
    __u64 *start = bpf_map_lookup_elem(&starts, &request);
    struct disk *all = counters();
    struct disk_offsets *at = offsets();
    if (!start || !all || !at)
        return 0;
    // A part of it: the rest is still under way.
    if ((__u32)bytes < number_at(request, at->request___data_len))
        return 0;
    now -= *start;
    bpf_map_delete_elem(&starts, &request);
    return end(all, device_of(at, request), now);
}

// The records' dev, sector and nr_sector, at offsets 8, 16 and 24, as the row says.
#define RECORD_DEVICE  FIELD(__u32, 8)
#define RECORD_SECTOR  FIELD(__u64, 16)
#define RECORD_SECTORS FIELD(__u32, 24)

// One number for all three: of one device no two requests get the same, of two devices hardly ever.
static __always_inline __u64 place(__u64 device, __u64 sector, __u64 sectors) {
    return (device << 1 | !sectors) * 0x9e3779b97f4a7c15ULL ^ sector;
}

PROGRAM_OF(issue, tp) {
    struct disk *all = counters();
    __u64 device = RECORD_DEVICE;
    if (!all || !is_counted(device))
        return 0;
    return begin(all, place(device, RECORD_SECTOR, RECORD_SECTORS));
}

// Where only a part completes, which begins where the request did, it is timed to that.
PROGRAM_OF(complete, tp) {
    struct disk *all = counters();
    __u64 device = RECORD_DEVICE, now = bpf_ktime_get_ns();
    __u64 request = place(device, RECORD_SECTOR, RECORD_SECTORS);
    __u64 *start = bpf_map_lookup_elem(&starts, &request);
    if (!start || !all)
        return 0;
    now -= *start;
    bpf_map_delete_elem(&starts, &request);
    return end(all, device, now);
}

LICENCE;
