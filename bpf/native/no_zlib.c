/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stands in for zlib, which would be 49 KB of the binary. It is wanted for two things that kmote does not
 * use:
 * __kconfig variables (libbpf reads /proc/config.gz for them) and compressed sections in our own BPF objects.
 * Each function fails in the way its callers expect.
 */
#include <stddef.h>

#include <libelf.h>
#include <libelfP.h>
#include <zlib.h>

gzFile gzopen(const char *path, const char *mode) {
    (void)path;
    (void)mode;
    return NULL;
}

char *gzgets(gzFile file, char *line, int length) {
    (void)file;
    (void)line;
    (void)length;
    return NULL;
}

int gzclose(gzFile file) {
    (void)file;
    return 0;
}

void *__libelf_decompress_elf(Elf_Scn *scn, size_t *size, size_t *align) {
    (void)scn;
    (void)size;
    (void)align;
    __libelf_seterrno(ELF_E_UNKNOWN_COMPRESSION_TYPE);
    return NULL;
}
