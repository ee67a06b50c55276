// SPDX-License-Identifier: GPL-3.0-or-later
// xfs: how long reads, writes, opens and syncs take.
#define FILESYSTEM xfs
#define FOURTH     sync
#include "filesystem.bpf.h"
