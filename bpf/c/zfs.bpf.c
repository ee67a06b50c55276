// SPDX-License-Identifier: GPL-3.0-or-later
// zfs: how long reads, writes, opens and syncs take.
#define FILESYSTEM zfs
#define FOURTH     sync
#include "filesystem.bpf.h"
