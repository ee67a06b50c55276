// SPDX-License-Identifier: GPL-3.0-or-later
// btrfs: how long reads, writes, opens and syncs take.
#define FILESYSTEM btrfs
#define FOURTH     sync
#include "filesystem.bpf.h"
