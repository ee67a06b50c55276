// SPDX-License-Identifier: GPL-3.0-or-later
//! The buckets of C against those of core: the header, compiled for this machine, must agree on every number.
#![allow(clippy::unwrap_used, clippy::panic)]

use kmote_core::histogram::{BUCKETS, bucket};
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Reads 64-bit nanoseconds, writes 64-bit words: the microseconds, their bucket, and the bucket that is counted.
const PROGRAM: &str = r#"
#include <stdio.h>
typedef unsigned long long __u64;
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#include "histogram.bpf.h"
int main(void) {
    __u64 ns;
    while (fread(&ns, 8, 1, stdin)) {
        struct histogram counted = {};
        __u64 said[3] = {microseconds(ns), bucket_of(microseconds(ns)), BUCKETS};
        count_latency(&counted, ns);
        for (__u64 i = 0; i < BUCKETS; i++)
            if (counted.bucket[i])
                said[2] = i;
        fwrite(said, 8, 3, stdout);
    }
}
"#;

fn compiled() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("histogram");
    let named = env::var("CLANG").ok();
    let clangs = named.iter().map(String::as_str).chain(["clang-19", "clang", "cc"]);
    for clang in clangs {
        let mut command = Command::new(clang);
        command.args(["-O2", "-x", "c", "-", "-o"]).arg(&program).arg("-I").arg(manifest.join("c"));
        let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { continue };
        child.stdin.take().unwrap().write_all(PROGRAM.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "{clang} refused the header");
        return program;
    }
    panic!("no C compiler");
}

/// Numbers around every power of two, around every bound, and many of all sizes.
fn nanoseconds() -> Vec<u64> {
    let mut all: Vec<u64> = (0..5000).collect();
    for exponent in 0..64 {
        let power = 1u64 << exponent;
        for around in [power, power.saturating_mul(1000)] {
            all.extend((0..3).flat_map(|by| [around.saturating_sub(by), around.saturating_add(by)]));
        }
    }
    let mut random = 7u64;
    for _ in 0..100_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.push(random >> (random >> 58));
    }
    // So near to the end of the numbers no machine runs, and rounding up would go round.
    all.retain(|ns| *ns < u64::MAX - 1000);
    all
}

#[test]
fn the_buckets_of_c_are_those_of_core() {
    let all = nanoseconds();
    let mut child = Command::new(compiled()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, bytes) =
        (child.stdin.take().unwrap(), all.iter().flat_map(|ns| ns.to_ne_bytes()).collect::<Vec<_>>());
    let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let words: Vec<u64> =
        output.stdout.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words.len(), 3 * all.len());
    let mut hit = [0; BUCKETS];
    for (ns, said) in all.iter().zip(words.chunks_exact(3)) {
        let expected = bucket(ns.div_ceil(1000));
        assert_eq!(said, [ns.div_ceil(1000), expected as u64, expected as u64], "{ns} ns");
        hit[expected] += 1;
    }
    assert!(hit.iter().all(|times| *times > 100), "{hit:?}");
}
