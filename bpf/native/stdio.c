/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What libbpf prints and scans, which is little: names and whole numbers. libc's own functions bring 22 KB along, for
 * floating-point numbers, wide characters and streams; build.rs gives libbpf these in their place.
 *
 * Printed: %s %.*s %c %d %i %u %x %p with l, ll or z before the letter. Scanned: %u %d %i %x %s with an asterisk or a
 * width, and %n; a blank skips blanks. Whatever else is asked for ends the text, or the scan.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Not <stdio.h>: it would declare the functions that these stand in for. */
struct _IO_FILE;
char *fgets(char *line, int size, struct _IO_FILE *file);

struct text {
    char *to;
    size_t room, length;
};

static void put(struct text *text, const char *from, size_t length) {
    for (size_t i = 0; i < length; i++, text->length++)
        if (text->length + 1 < text->room)
            text->to[text->length] = from[i];
}

static void put_number(struct text *text, unsigned long long number, unsigned base) {
    char digits[24];
    size_t at = sizeof(digits);
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while (number /= base);
    put(text, digits + at, sizeof(digits) - at);
}

static unsigned long long next_unsigned(va_list *arguments, int longs) {
    if (longs > 1)
        return va_arg(*arguments, unsigned long long);
    return longs ? va_arg(*arguments, unsigned long) : va_arg(*arguments, unsigned);
}

static long long next_signed(va_list *arguments, int longs) {
    if (longs > 1)
        return va_arg(*arguments, long long);
    return longs ? va_arg(*arguments, long) : va_arg(*arguments, int);
}

int small_vsnprintf(char *to, size_t room, const char *format, va_list given) {
    struct text text = {to, room, 0};
    va_list arguments;
    va_copy(arguments, given);
    for (; *format; format++) {
        if (*format != '%') {
            put(&text, format, 1);
            continue;
        }
        size_t most = (size_t)-1;
        int longs = 0;
        if (!strncmp(++format, ".*", 2)) {
            most = va_arg(arguments, int);
            format += 2;
        }
        for (; *format == 'l' || *format == 'z'; format++)
            longs++;
        if (*format == 's') {
            const char *string = va_arg(arguments, const char *);
            put(&text, string, strnlen(string, most));
        } else if (*format == 'c') {
            char character = va_arg(arguments, int);
            put(&text, &character, 1);
        } else if (*format == 'p') {
            put_number(&text, (size_t)va_arg(arguments, void *), 16);
        } else if (*format == 'u' || *format == 'x') {
            put_number(&text, next_unsigned(&arguments, longs), *format == 'x' ? 16 : 10);
        } else if (*format == 'd' || *format == 'i') {
            long long number = next_signed(&arguments, longs);
            put(&text, "-", number < 0);
            put_number(&text, number < 0 ? -(unsigned long long)number : (unsigned long long)number, 10);
        } else {
            break;
        }
    }
    va_end(arguments);
    if (room)
        to[text.length < room ? text.length : room - 1] = 0;
    return text.length;
}

int small_snprintf(char *to, size_t room, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = small_vsnprintf(to, room, format, arguments);
    va_end(arguments);
    return length;
}

int small_sprintf(char *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = small_vsnprintf(to, (size_t)-1, format, arguments);
    va_end(arguments);
    return length;
}

static const char *skip_blanks(const char *text) {
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static int scan(const char *text, const char *format, va_list *arguments) {
    const char *begin = text;
    int taken = 0;
    for (; *format; format++) {
        if (isspace((unsigned char)*format)) {
            text = skip_blanks(text);
            continue;
        }
        if (*format != '%') {
            if (*text++ != *format)
                return taken;
            continue;
        }
        if (*++format == 'n') {
            *va_arg(*arguments, int *) = text - begin;
            continue;
        }
        int keep = *format != '*';
        char *end = (char *)(text = skip_blanks(text));
        format += !keep;
        size_t most = strtoul(format, (char **)&format, 10);
        if (*format == 's') {
            while (*end && !isspace((unsigned char)*end) && (!most || (size_t)(end - text) < most))
                end++;
            if (keep && end > text) {
                char *to = va_arg(*arguments, char *);
                memcpy(to, text, end - text);
                to[end - text] = 0;
            }
        } else if (*format && strchr("udix", *format)) {
            unsigned number = strtoul(text, &end, *format == 'x' ? 16 : *format == 'i' ? 0 : 10);
            if (keep && end > text)
                *va_arg(*arguments, unsigned *) = number;
        }
        if (end == text)
            return taken;
        text = end;
        taken += keep;
    }
    return taken;
}

int small_sscanf(const char *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int taken = scan(text, format, &arguments);
    va_end(arguments);
    return taken;
}

/* Of a line, which all that libbpf scans is. */
int small_fscanf(struct _IO_FILE *file, const char *format, ...) {
    char line[512];
    va_list arguments;
    if (!fgets(line, sizeof(line), file))
        return -1;
    va_start(arguments, format);
    int taken = scan(line, format, &arguments);
    va_end(arguments);
    return taken;
}

/* Its messages are compiled out. */
int small_fprintf(struct _IO_FILE *file, const char *format, ...) {
    (void)file;
    (void)format;
    return 0;
}

int small_vfprintf(struct _IO_FILE *file, const char *format, va_list arguments) {
    (void)file;
    (void)format;
    (void)arguments;
    return 0;
}
