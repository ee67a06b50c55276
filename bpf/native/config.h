/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libelf's configure would find on any Linux of ours: musl or glibc, clang or gcc. No zstd, no locks:
 * one thread. */
#define HAVE_STDATOMIC_H       1
#define HAVE_ERR_H             1
#define HAVE_VISIBILITY        1
#define HAVE_FALLTHROUGH       1
#define HAVE_DECL_MEMRCHR      1
#define HAVE_DECL_RAWMEMCHR    0
#define HAVE_DECL_REALLOCARRAY 1
#define HAVE_DECL_POWEROF2     1
#define HAVE_DECL_MEMPCPY      1
#include <eu-config.h>

/* Its messages need no translation. */
#undef _
#define _(text) text
