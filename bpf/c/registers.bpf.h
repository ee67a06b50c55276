// SPDX-License-Identifier: GPL-3.0-or-later
// Arguments and results of functions, by every mechanism that sees them.
//
// A probe sees the registers as they lie in the kernel's struct pt_regs, which depends on the kernel and not
// on the program that loads: a kmote of 32 bits may run on a kernel of 64. So each program is there twice,
// and the loader takes the one with 32 in its name on a 32-bit kernel. Places count 64-bit words here and
// 32-bit words there.
#ifndef KMOTE_REGISTERS_BPF_H
#define KMOTE_REGISTERS_BPF_H

#include "module.bpf.h"

#if defined(__TARGET_ARCH_x86)
// arch/x86/include/asm/ptrace.h: rax; rdi, rsi, rdx. On 32 bits: eax; with regparm(3) eax, edx, ecx.
#define RESULT_AT       10
#define ARGUMENT_1_AT   14
#define ARGUMENT_2_AT   13
#define ARGUMENT_3_AT   12
#define RESULT32_AT     6
#define ARGUMENT_1_AT32 6
#define ARGUMENT_2_AT32 2
#define ARGUMENT_3_AT32 1
#elif defined(__TARGET_ARCH_arm64) || defined(__TARGET_ARCH_arm)
// arch/arm64/include/uapi/asm/ptrace.h and arch/arm's: x0 and r0 come first.
#define RESULT_AT       0
#define ARGUMENT_1_AT   0
#define ARGUMENT_2_AT   1
#define ARGUMENT_3_AT   2
#define RESULT32_AT     0
#define ARGUMENT_1_AT32 0
#define ARGUMENT_2_AT32 1
#define ARGUMENT_3_AT32 2
#elif defined(__TARGET_ARCH_riscv)
// arch/riscv/include/uapi/asm/ptrace.h: a0 comes after pc, ra, sp, gp, tp, t0 to t2, s0, s1.
#define RESULT_AT       10
#define ARGUMENT_1_AT   10
#define ARGUMENT_2_AT   11
#define ARGUMENT_3_AT   12
#define RESULT32_AT     10
#define ARGUMENT_1_AT32 10
#define ARGUMENT_2_AT32 11
#define ARGUMENT_3_AT32 12
#elif defined(__TARGET_ARCH_mips)
// arch/mips/include/asm/ptrace.h: the registers by their numbers, v0 is 2 and a0 is 4; on 32 bits after room for
// 8 arguments.
#define RESULT_AT       2
#define ARGUMENT_1_AT   4
#define ARGUMENT_2_AT   5
#define ARGUMENT_3_AT   6
#define RESULT32_AT     10
#define ARGUMENT_1_AT32 12
#define ARGUMENT_2_AT32 13
#define ARGUMENT_3_AT32 14
#else
#error "where this architecture keeps arguments and results is not written down yet"
#endif

#define WORD32(place) ((__s64)((__s32 *)ctx)[place])

// Programs of an event at the return of a function, by fexit of functions with 1 to 6 parameters. The body
// sees the `result`; of a function that returns int only its lower half is meant.
#define AT_RETURN_BY_FEXIT(event)                                                                            \
    static __always_inline int event##_returned(__s64 result);                                               \
    PROGRAM_OF(event, fexit1) { return event##_returned(ctx[1]); }                                           \
    PROGRAM_OF(event, fexit2) { return event##_returned(ctx[2]); }                                           \
    PROGRAM_OF(event, fexit3) { return event##_returned(ctx[3]); }                                           \
    PROGRAM_OF(event, fexit4) { return event##_returned(ctx[4]); }                                           \
    PROGRAM_OF(event, fexit5) { return event##_returned(ctx[5]); }                                           \
    PROGRAM_OF(event, fexit6) { return event##_returned(ctx[6]); }                                           \
    static __always_inline int event##_returned(__s64 result)

// The same by kretprobe.
#define AT_RETURN_BY_PROBE(event)                                                                            \
    static __always_inline int event##_returned(__s64 result);                                               \
    PROGRAM_OF(event, kretprobe) { return event##_returned(ctx[RESULT_AT]); }                                \
    PROGRAM_OF(event, kretprobe32) { return event##_returned(WORD32(RESULT32_AT)); }                         \
    static __always_inline int event##_returned(__s64 result)

// By either.
#define AT_RETURN(event)                                                                                     \
    AT_RETURN_BY_PROBE(event);                                                                               \
    AT_RETURN_BY_FEXIT(event)

// The same at the exit of system calls by their tracepoints, for a body that is there already: the record has
// the result after the event's header of 8 bytes and the call's number of 4, at the next long.
#define AT_SYSCALL_EXIT(event)                                                                               \
    PROGRAM_OF(event, tp) { return event##_returned(ctx[2]); }                                               \
    PROGRAM_OF(event, tp32) { return event##_returned(WORD32(3)); }

// Programs of an event at the return of a system call, whose function has one parameter.
#define AT_SYSCALL_RETURN(event)                                                                             \
    AT_RETURN_BY_PROBE(event);                                                                               \
    PROGRAM_OF(event, fexit1) { return event##_returned(ctx[1]); }                                           \
    AT_SYSCALL_EXIT(event)                                                                                   \
    static __always_inline int event##_returned(__s64 result)

// Programs of an event at the entry of a function, by fentry and by kprobe. The body sees two of its
// arguments, `first` and `second`, whose places among the function's first three are given.
#define AT_ENTRY(event, one, other)                                                                          \
    AT_ENTRY_BY_PROBE(event, one, other);                                                                    \
    PROGRAM_OF(event, fentry) { return event##_entered(ctx[(one) - 1], ctx[(other) - 1]); }                  \
    static __always_inline int event##_entered(__u64 first, __u64 second)

// The same by kprobe alone.
#define AT_ENTRY_BY_PROBE(event, one, other)                                                                 \
    static __always_inline int event##_entered(__u64 first, __u64 second);                                   \
    PROGRAM_OF(event, kprobe) {                                                                              \
        return event##_entered(ctx[ARGUMENT_##one##_AT], ctx[ARGUMENT_##other##_AT]);                        \
    }                                                                                                        \
    PROGRAM_OF(event, kprobe32) {                                                                            \
        return event##_entered((__u32)WORD32(ARGUMENT_##one##_AT32),                                         \
                               (__u32)WORD32(ARGUMENT_##other##_AT32));                                      \
    }                                                                                                        \
    static __always_inline int event##_entered(__u64 first, __u64 second)

#endif
