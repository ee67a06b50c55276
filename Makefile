# SPDX-License-Identifier: GPL-3.0-or-later
# Thin on purpose: what is done stands beside what it serves.

.PHONY: run test matrix soak cost dist package fuzz format clean

# Installs what is missing, builds, and collects: ^C ends it.
run:
	.ci/install build
	cargo build --release --package kmote
	target/release/kmote check || true
	target/release/kmote 1

# Every test, fastest first.
test:
	.ci/install build test
	.ci/test

# Every kernel × module × mechanism.
matrix:
	.ci/install build test matrix
	cargo run --release --package qemu-tests -- --all

# Every chart in a real Netdata, from a guest under load, for ten minutes; and ten minutes of a guest's clock in which 500
# processes a second come and go.
soak:
	.ci/install build test
	cargo run --release --package qemu-tests -- --kernel 6.12 --only endurance
	KMOTE_SECONDS=600 cargo test --package kmote --test charts -- --nocapture

# Instructions an event and a tick.
cost:
	.ci/install build test
	cargo run --release --package qemu-tests -- --cost

# One static file for each target, into dist/.
dist:
	.ci/install build
	cross/dist.sh $(TARGET)

# Debian packages and tarballs of what is in dist/.
package: dist
	cross/package.sh $(TARGET)

# Each fuzz target for SECONDS (60). The flags are what cargo-fuzz passes, without its nightly toolchain.
SECONDS ?= 60
fuzz:
	.ci/install build test
	for target in core/fuzz/src/bin/*.rs; do \
	    RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table" \
	    cargo run --release --manifest-path core/fuzz/Cargo.toml --target $$(rustc --print host-tuple) \
	        --bin $$(basename $$target .rs) -- -max_total_time=$(SECONDS) || exit 1; \
	done

format:
	cargo fmt
	clang-format-19 -i bpf/c/*.c bpf/c/*.h

clean:
	cargo clean
	rm -rf dist
