// SPDX-License-Identifier: GPL-3.0-or-later
// nfs: how long reads, writes, opens and looks at attributes take.
#define FILESYSTEM nfs
#define FOURTH     attribute
#include "filesystem.bpf.h"
