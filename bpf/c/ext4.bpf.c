// SPDX-License-Identifier: GPL-3.0-or-later
// ext4: how long reads, writes, opens and syncs take.
#define FILESYSTEM ext4
#define FOURTH     sync
#include "filesystem.bpf.h"
