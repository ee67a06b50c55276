/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * std asks for a libunwind. With panic=abort nothing unwinds; what is left is std's wish to print a
 * backtrace, and this one says that the stack ends here. So no unwinder and no unwind tables are in the
 * binary.
 */
#include <stddef.h>
#include <stdint.h>

#define END_OF_STACK 5

int _Unwind_Backtrace(void *each, void *argument) {
    (void)each;
    (void)argument;
    return END_OF_STACK;
}

uintptr_t _Unwind_GetIP(void *context) {
    (void)context;
    return 0;
}

uintptr_t _Unwind_GetIPInfo(void *context, int *before_instruction) {
    (void)context;
    *before_instruction = 0;
    return 0;
}

uintptr_t _Unwind_GetCFA(void *context) {
    (void)context;
    return 0;
}

void *_Unwind_FindEnclosingFunction(void *address) {
    (void)address;
    return NULL;
}

/* ARM's ABI reads the registers through these two. */
int _Unwind_VRS_Get(void *context, int class, uint32_t number, int kind, void *value) {
    (void)context;
    (void)class;
    (void)number;
    (void)kind;
    *(uint32_t *)value = 0;
    return 0;
}

int _Unwind_VRS_Set(void *context, int class, uint32_t number, int kind, void *value) {
    (void)context;
    (void)class;
    (void)number;
    (void)kind;
    (void)value;
    return 0;
}
