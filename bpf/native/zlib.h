/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three functions of zlib that libbpf calls, to read a compressed kernel configuration; see no_zlib.c. */
#pragma once
typedef void *gzFile;
gzFile gzopen(const char *path, const char *mode);
char *gzgets(gzFile file, char *line, int length);
int gzclose(gzFile file);
